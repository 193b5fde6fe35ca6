"""What a model is made of, read from the model itself and never guessed from its name."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from headatlas.errors import EditError

Head = tuple[int, int]
"""A head: its layer and its number in the layer."""


@dataclass(frozen=True)
class LayerSpec:
    """The attention of one layer.

    `module` is the path of the attention module; `projection` the path of its output projection;
    `site` says where the head output is edited: at the "attention" function, or at the input of
    the "projection" for models whose attention cannot be reached otherwise. `copies` are further
    (module, projection) paths that share this projection's weight: the same heads, used again.
    """

    heads: int
    kv_heads: int
    d_head: int
    module: str
    projection: str
    site: str
    copies: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class ModelSpec:
    """Sizes of a model; layers without attention heads are `None` in `layers`."""

    name: str
    architecture: str
    layers: tuple[LayerSpec | None, ...]
    parameters: int
    dtype: str
    attn_implementation: str
    context: int | None

    @property
    def n_layers(self) -> int:
        return len(self.layers)

    @property
    def n_heads(self) -> int:
        """The largest number of query heads in any layer: the width of a map."""
        return max(layer.heads for layer in self.layers if layer)

    @property
    def n_kv_heads(self) -> int:
        return max(layer.kv_heads for layer in self.layers if layer)

    @property
    def d_head(self) -> int:
        """The largest size of a head's output in any layer."""
        return max(layer.d_head for layer in self.layers if layer)

    def heads(self) -> list[Head]:
        """Every head that exists, in reading order."""
        return [(i, h) for i, layer in enumerate(self.layers) if layer for h in range(layer.heads)]

    def kv_group(self, layer: int, head: int) -> int:
        """The key/value head that a query head reads from."""
        spec = self.layer(layer)
        return head // (spec.heads // spec.kv_heads)

    @property
    def kv_groups(self) -> dict[Head, int]:
        """The key/value head of every query head."""
        return {head: self.kv_group(*head) for head in self.heads()}

    def layer(self, layer: int) -> LayerSpec:
        """The attention of a layer; raises if it has none."""
        if not 0 <= layer < self.n_layers:
            raise EditError(
                f"no layer {layer} in {self.name}: its layers run from 0 to {self.n_layers - 1}."
            )
        spec = self.layers[layer]
        if spec is None:
            have = [i for i, other in enumerate(self.layers) if other]
            raise EditError(
                f"layer {layer} of {self.name} has no attention heads: layers {have} have some."
            )
        return spec

    def check_head(self, head: Head) -> None:
        """Raise unless the head exists."""
        layer, index = head
        spec = self.layer(layer)
        if not 0 <= index < spec.heads:
            raise EditError(
                f"no head {layer}.{index} in {self.name}: the heads of layer {layer} run from 0 to "
                f"{spec.heads - 1}."
            )

    def as_dict(self) -> dict[str, Any]:
        """The spec as plain data."""
        totals = {
            "n_layers": self.n_layers,
            "n_heads": self.n_heads,
            "n_kv_heads": self.n_kv_heads,
            "d_head": self.d_head,
        }
        return totals | asdict(self)
