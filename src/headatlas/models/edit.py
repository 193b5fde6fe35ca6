"""An edit of head outputs: the one operation behind every intervention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headatlas.errors import EditError

if TYPE_CHECKING:
    from headatlas.models.spec import Head, ModelSpec

Vectors = Tensor | Mapping[int, Tensor]
"""Head vectors for all layers in one tensor, or for some layers by number."""

_GATE_AXES = {2: "layer head", 3: "row layer head", 4: "row layer head position"}
_VECTOR_AXES = {
    3: "layer head d_head",
    4: "row layer head d_head",
    5: "row layer head position d_head",
}


@dataclass(frozen=True, eq=False)
class Edit:
    """`z ← g·z + (1 − g)·b + s` on the output z of every head, before the output projection.

    Shapes (row = one example of the batch; a row axis of 1 serves all rows):

    | part | all rows | every row its own | every position its own |
    |---|---|---|---|
    | `gate` g | layer head | row layer head | row layer head position |
    | `baseline` b, `shift` s | layer head d_head | row layer head d_head | row … position d_head |

    `baseline` and `shift` may also map a layer number to a tensor without the layer axis; layers
    that are not named get none. Positions count from the first token of the text; positions past
    the end of a per-position edit are left alone. Every part may require gradient.

    >>> Edit(gate=torch.ones(30, 9)).rows
    1
    """

    gate: Tensor | None = None
    baseline: Vectors | None = None
    shift: Vectors | None = None

    def __post_init__(self) -> None:
        if self.gate is not None and self.gate.ndim not in _GATE_AXES:
            raise EditError(
                f"a gate has the axes {' or '.join(_GATE_AXES.values())}, but this one has "
                f"{self.gate.ndim} axes."
            )
        for name, value in (("baseline", self.baseline), ("shift", self.shift)):
            for tensor, dropped in _tensors(value):
                if tensor.ndim + dropped not in _VECTOR_AXES:
                    raise EditError(
                        f"a {name} has the axes {' or '.join(_VECTOR_AXES.values())}, but this one "
                        f"has {tensor.ndim} axes."
                    )
        if self.baseline is not None and self.gate is None:
            raise EditError("a baseline does nothing without a gate: give both.")
        if len(sizes := {rows for rows in self._row_counts() if rows > 1}) > 1:
            raise EditError(f"the parts of an edit differ in rows: {sorted(sizes)}.")

    def _row_counts(self) -> list[int]:
        counts = [self.gate.shape[0]] if self.gate is not None and self.gate.ndim > 2 else []
        for value in (self.baseline, self.shift):
            counts += [t.shape[0] for t, dropped in _tensors(value) if t.ndim + dropped > 3]
        return counts

    @property
    def rows(self) -> int:
        """How many rows have an edit of their own; 1 if all share it."""
        return max(self._row_counts(), default=1)

    @property
    def by_position(self) -> bool:
        """Whether the edit differs between positions."""
        return (self.gate is not None and self.gate.ndim == 4) or any(
            tensor.ndim + dropped == 5
            for value in (self.baseline, self.shift)
            for tensor, dropped in _tensors(value)
        )

    @property
    def requires_grad(self) -> bool:
        """Whether any part of the edit is to be learned."""
        parts = (self.gate, self.baseline, self.shift)
        return any(tensor.requires_grad for part in parts for tensor, _ in _tensors(part))

    def select_rows(self, rows: Sequence[int]) -> Edit:
        """The edit of the given rows, for a part of the batch."""
        if self.rows == 1:
            return self
        index = torch.tensor(list(rows))

        def pick(tensor: Tensor, has_rows: bool) -> Tensor:
            return tensor[index.to(tensor.device)] if has_rows and tensor.shape[0] > 1 else tensor

        def pick_all(value: Vectors | None) -> Vectors | None:
            if isinstance(value, Mapping):
                return {layer: pick(tensor, tensor.ndim > 2) for layer, tensor in value.items()}
            return None if value is None else pick(value, value.ndim > 3)

        gate = None if self.gate is None else pick(self.gate, self.gate.ndim > 2)
        return replace(
            self, gate=gate, baseline=pick_all(self.baseline), shift=pick_all(self.shift)
        )

    def check(self, spec: ModelSpec) -> None:
        """Raise unless the edit has the layers and heads of the model."""
        wanted = (spec.n_layers, spec.n_heads)
        parts = {"gate": self.gate, "baseline": self.baseline, "shift": self.shift}
        for name, value in parts.items():
            for layer in value if isinstance(value, Mapping) else ():
                spec.layer(layer)
            for tensor, dropped in _tensors(value):
                with_rows = tensor.ndim + dropped - (name != "gate") > 2
                axes = tuple(tensor.shape[with_rows : with_rows + 2 - dropped])
                found = (spec.n_layers, *axes) if dropped else axes
                if found != wanted:
                    raise EditError(
                        f"the {name} is made for {found[0]} layers × {found[1]} heads, but "
                        f"{spec.name} has {wanted[0]} × {wanted[1]}."
                    )
                if name != "gate" and tensor.shape[-1] != spec.d_head:
                    raise EditError(
                        f"the {name} has vectors of {tensor.shape[-1]} numbers, but the heads of "
                        f"{spec.name} have {spec.d_head}."
                    )

    def check_rows(self, rows: int) -> None:
        """Raise unless the edit is for all rows, or for just so many."""
        if self.rows not in (1, rows):
            raise EditError(f"the edit has {self.rows} rows, but {rows} were given to run.")

    def apply(self, z: Tensor, layer: int, offset: int) -> Tensor:
        """Edit the head outputs of one layer.

        `z` is batch × position × head × d_head; `offset` is the position of its first token.
        """
        gate = None if self.gate is None else _as_gate(self.gate, layer, z, offset)
        baseline = _as_vectors(self.baseline, layer, z, offset)
        shift = _as_vectors(self.shift, layer, z, offset)
        if gate is not None and baseline is not None:
            gate = _open_past_end(gate, self.baseline, layer, z, offset)
            z = gate * z + (1 - gate) * baseline
        elif gate is not None:
            z = gate * z
        return z if shift is None else z + shift


def remove_heads(spec: ModelSpec, heads: Sequence[Head]) -> Edit:
    """The edit that removes the given heads together: gate 0 at every position."""
    gate = torch.ones(spec.n_layers, spec.n_heads)
    for layer, head in heads:
        spec.check_head((layer, head))
        gate[layer, head] = 0.0
    return Edit(gate=gate)


def _tensors(value: Vectors | Tensor | None) -> list[tuple[Tensor, int]]:
    """The tensors of a part, each with the number of axes (the layer's) that it leaves out."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [(tensor, 1) for tensor in value.values()]
    return [(value, 0)]


def _as_gate(gate: Tensor, layer: int, z: Tensor, offset: int) -> Tensor:
    heads = z.shape[2]
    if gate.ndim == 2:
        gate = gate[layer, :heads]  # head
        return gate.to(z)[None, None, :, None]
    gate = gate[:, layer, :heads]  # row head [position]
    gate = gate[:, :, None] if gate.ndim == 2 else _at_positions(gate, z, offset, fill=1.0)
    return _over_batch(gate.to(z), z).transpose(1, 2)[..., None]  # row position head 1


def _of_layer(value: Vectors | None, layer: int) -> Tensor | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return value.get(layer)
    return value[layer] if value.ndim == 3 else value[:, layer]


def _open_past_end(
    gate: Tensor, baseline: Vectors | None, layer: int, z: Tensor, offset: int
) -> Tensor:
    """Open the gate (1) at positions past the end of a per-position baseline."""
    vectors = _of_layer(baseline, layer)
    if vectors is None or vectors.ndim < 4 or (covered := vectors.shape[2] - offset) >= z.shape[1]:
        return gate
    inside = torch.arange(z.shape[1], device=z.device) < covered
    return torch.where(inside[None, :, None, None], gate, 1.0)


def _as_vectors(value: Vectors | None, layer: int, z: Tensor, offset: int) -> Tensor | None:
    heads, d_head = z.shape[2:]
    vectors = _of_layer(value, layer)
    if vectors is None:
        return None
    if vectors.ndim == 2:  # head d_head
        return vectors[:heads, :d_head].to(z)[None, None]
    vectors = vectors[:, :heads, ..., :d_head]  # row head [position] d_head
    if vectors.ndim == 3:
        vectors = vectors[:, :, None]
    else:
        vectors = _at_positions(vectors, z, offset, fill=0.0)
    return _over_batch(vectors.to(z), z).transpose(1, 2)  # row position head d_head


def _at_positions(value: Tensor, z: Tensor, offset: int, fill: float) -> Tensor:
    """Cut the position axis (the third) to the positions of z; past its end comes `fill`."""
    length = z.shape[1]
    value = value[:, :, offset : offset + length]
    missing = length - value.shape[2]
    if missing:
        rest = value.new_full((*value.shape[:2], missing, *value.shape[3:]), fill)
        value = torch.cat([value, rest], dim=2)
    return value


def _over_batch(value: Tensor, z: Tensor) -> Tensor:
    """Fit the row axis to the batch; a batch of copies (beams, samples) repeats every row."""
    rows, batch = value.shape[0], z.shape[0]
    if rows in (1, batch):
        return value
    if batch % rows:
        raise EditError(f"the edit has {rows} rows, but the batch has {batch}.")
    return value.repeat_interleave(batch // rows, dim=0)
