"""An edit of head outputs: the one operation behind every intervention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headatlas.errors import EditError
from headatlas.models.broadcast import Vectors, gate_for, open_past_end, vectors_for

if TYPE_CHECKING:
    from headatlas.models.spec import Head, ModelSpec

_GATE_AXES = {2: "layer head", 3: "row layer head", 4: "row layer head position"}
_VECTOR_AXES = {
    3: "layer head d_head",
    4: "row layer head d_head",
    5: "row layer head position d_head",
}


@dataclass(frozen=True, eq=False)
class Edit:
    """`z ← g·z + (1 − g)·r + s` on the output z of every head, before the output projection.

    Shapes (row = one example of the batch; a row axis of 1 serves all rows):

    | part | all rows | one per row | one per position |
    |---|---|---|---|
    | gate g | layer head | row layer head | row layer head position |
    | replacement r, shift s | layer head d_head | row layer head d_head | row … position d_head |

    `replacement` and `shift` may also map a layer number to a tensor without the layer axis; layers
    that are not named get none. Positions count from the first token of the text; positions past
    the end of a per-position edit are left alone. Every part may require gradient. Gates of
    integers or booleans become float32.

    >>> import torch
    >>> from headatlas import Edit
    >>> Edit(gate=torch.ones(30, 9)).rows
    1
    """

    gate: Tensor | None = None
    replacement: Vectors | None = None
    shift: Vectors | None = None

    @classmethod
    def ablate(cls, spec: ModelSpec, heads: Sequence[Head]) -> Edit:
        """The edit that removes the given heads together: gate 0 at every position.

        >>> from headatlas import Edit, load_model
        >>> edit = Edit.ablate(load_model("smollm2-135m").spec, [(0, 3), (5, 1)])
        >>> int((edit.gate == 0).sum())
        2
        """
        gate = torch.ones(spec.n_layers, spec.n_heads)
        for layer, head in heads:
            spec.check_head((layer, head))
            gate[layer, head] = 0.0
        return cls(gate=gate)

    def __post_init__(self) -> None:
        for name, value in self._parts().items():
            axes_of = _GATE_AXES if name == "gate" else _VECTOR_AXES
            for tensor, dropped in _tensors(value):
                _check_numbers(name, tensor)
                if tensor.ndim + dropped not in axes_of:
                    raise EditError(
                        f"a {name} has the axes {' or '.join(axes_of.values())}, but this one has "
                        f"{tensor.ndim} axes."
                    )
        if self.gate is not None and not self.gate.is_floating_point():
            object.__setattr__(self, "gate", self.gate.float())
        if self.replacement is not None and self.gate is None:
            raise EditError("a replacement does nothing without a gate: give both.")
        if len(sizes := {rows for rows in self._row_counts() if rows > 1}) > 1:
            raise EditError(f"the parts of an edit differ in rows: {sorted(sizes)}.")

    def _parts(self) -> dict[str, Vectors | None]:
        return {"gate": self.gate, "replacement": self.replacement, "shift": self.shift}

    def _row_counts(self) -> list[int]:
        counts = [self.gate.shape[0]] if self.gate is not None and self.gate.ndim > 2 else []
        for value in (self.replacement, self.shift):
            counts += [t.shape[0] for t, dropped in _tensors(value) if t.ndim + dropped > 3]
        return counts

    @property
    def rows(self) -> int:
        """The number of rows that have an edit of their own; 1 if all share it."""
        return max(self._row_counts(), default=1)

    @property
    def by_position(self) -> bool:
        """Whether the edit differs between positions."""
        return (self.gate is not None and self.gate.ndim == 4) or any(
            tensor.ndim + dropped == 5
            for value in (self.replacement, self.shift)
            for tensor, dropped in _tensors(value)
        )

    @property
    def requires_grad(self) -> bool:
        """Whether any part of the edit is to be learned."""
        parts = self._parts().values()
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
            self, gate=gate, replacement=pick_all(self.replacement), shift=pick_all(self.shift)
        )

    def check(self, spec: ModelSpec) -> None:
        """Raise unless the edit has the layers and heads of the model."""
        wanted = (spec.n_layers, spec.n_heads)
        for name, value in self._parts().items():
            for layer in value if isinstance(value, Mapping) else ():
                spec.layer(layer)
            for tensor, dropped in _tensors(value):
                with_rows = tensor.ndim + dropped - (name != "gate") > 2
                axes = tuple(tensor.shape[with_rows : with_rows + 2 - dropped])
                shape = (spec.n_layers, *axes) if dropped else axes
                if shape != wanted:
                    raise EditError(
                        f"the {name} is made for {shape[0]} layers × {shape[1]} heads, but "
                        f"{spec.name} has {wanted[0]} × {wanted[1]}."
                    )
                if name != "gate" and tensor.shape[-1] != spec.d_head:
                    raise EditError(
                        f"the {name} has vectors of {tensor.shape[-1]} numbers, but the heads of "
                        f"{spec.name} have {spec.d_head}."
                    )

        self._check_finite(spec)

    def _check_finite(self, spec: ModelSpec) -> None:
        """Raise if a head that exists has no number for a gate.

        A gate that is being learned is not looked at: a fit that diverges has its own message.
        """
        if self.gate is None or self.gate.requires_grad or self.gate.isfinite().all():
            return
        gate = self.gate[None] if self.gate.ndim == 2 else self.gate  # row layer head …
        bad = [head for head in spec.heads() if not gate[:, head[0], head[1]].isfinite().all()]
        if bad:
            names = ", ".join(f"{layer}.{head}" for layer, head in bad[:4])
            more = ", …" if len(bad) > 4 else ""
            raise EditError(
                f"the gate is NaN or infinite for {len(bad)} of the heads of {spec.name} "
                f"({names}{more}): use 1 for heads to leave alone."
            )

    def check_rows(self, rows: int) -> None:
        """Raise unless all rows share the edit, or it has exactly this many rows."""
        if self.rows not in (1, rows):
            raise EditError(f"the edit has {self.rows} rows, but the batch has {rows}.")

    def repeated(self, batch: int) -> Edit:
        """The edit for a batch that holds several copies (beams, samples) of every row in turn."""
        if self.rows in (1, batch):
            return self
        if batch % self.rows:
            raise EditError(f"the edit has {self.rows} rows, but the batch has {batch}.")
        copies = batch // self.rows
        return self.select_rows([row for row in range(self.rows) for _ in range(copies)])

    def apply(self, z: Tensor, layer: int, offset: int) -> Tensor:
        """Edit the head outputs of one layer.

        `z` is batch × position × head × d_head; `offset` is the position of its first token.
        """
        self.check_rows(z.shape[0])
        gate = None if self.gate is None else gate_for(self.gate, layer, z, offset)
        replacement = vectors_for(self.replacement, layer, z, offset)
        shift = vectors_for(self.shift, layer, z, offset)
        if gate is not None and replacement is not None:
            gate = open_past_end(gate, self.replacement, layer, z, offset)
            z = gate * z + (1 - gate) * replacement
        elif gate is not None:
            z = gate * z
        return z if shift is None else z + shift


def _check_numbers(name: str, tensor: Tensor) -> None:
    """Raise unless a part of an edit holds real numbers, in a tensor."""
    if not isinstance(tensor, Tensor):
        raise EditError(
            f"a {name} is a torch tensor, but this one is a {type(tensor).__name__}: use "
            "torch.as_tensor."
        )
    if tensor.is_complex():
        raise EditError(f"a {name} has real numbers, but this one is {tensor.dtype}.")


def _tensors(value: Vectors | Tensor | None) -> list[tuple[Tensor, int]]:
    """The tensors of a part, each with the number of axes (the layer's) that it leaves out."""
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [(tensor, 1) for tensor in value.values()]
    return [(value, 0)]
