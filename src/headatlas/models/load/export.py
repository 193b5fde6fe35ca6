"""Gates folded into the weights: an ordinary checkpoint that any loader runs."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from headatlas.errors import EditError, StoreError
from headatlas.models.edit import Edit
from headatlas.models.heads.survey import head_columns
from headatlas.models.load.cache import made_once
from headatlas.models.model import Model
from headatlas.models.spec import LayerSpec
from headatlas.models.weights import load_state, load_weight


def projection_scales(model: Model, gate: Tensor) -> Iterator[tuple[LayerSpec, Tensor]]:
    """Every layer with heads, and what its output projection's input columns are multiplied by.

    `gate` is layer × head; a head's gate stands at each of its `d_head` columns.
    """
    if gate.ndim != 2:
        raise EditError(f"only a gate of layer × head can be folded, not one of {gate.ndim} axes.")
    Edit(gate=gate).check(model.spec)
    for layer, spec in enumerate(model.spec.layers):
        if spec is not None:
            own = gate[layer, : spec.heads].detach().float()
            yield spec, own.repeat_interleave(spec.d_head)  # head → head·d_head


def fold_gates(model: Model, gate: Tensor) -> dict[str, Tensor]:
    """The model's weights with every head's output-projection columns times its gate.

    `gate` is layer × head. The columns of head h multiply z[h], so W·(g·z) = (W·g)·z: the folded
    model gives the logits of the edited one. The model itself is not changed.
    """
    scales = list(projection_scales(model, gate))
    modules = dict(model.hf.named_modules())
    state = load_state(model.hf)
    for spec, scale in scales:
        weight = load_weight(model.hf, f"{spec.projection}.weight").detach().clone()
        head_columns(modules[spec.projection], weight).mul_(scale.to(weight))  # out head·d_head
        for projection in (spec.projection, *(path for _, path in spec.copies)):
            state[f"{projection}.weight"] = weight
    return state


def check_new_folder(folder: str | Path) -> None:
    """Raise if the folder for an exported model is there already."""
    if Path(folder).exists():
        raise StoreError(f"{folder} exists already: choose a new folder for the exported model.")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a temporary folder to fill, which then appears as `folder`, whole or not at all."""
    check_new_folder(folder)
    with made_once(folder) as temporary:
        assert temporary is not None
        yield temporary
        for path in temporary.iterdir():
            path.chmod(0o644)  # whoever may enter the folder may load the model
    (folder.parent / f".{folder.name}.lock").unlink(missing_ok=True)


@torch.no_grad()
def export_model(model: Model, gate: Tensor, folder: str | Path) -> Path:
    """Save the model with the gates (layer × head) folded in, for any loader of `transformers`.

    The folder appears whole or not at all.

    >>> import tempfile, torch
    >>> from headatlas import export_model, load_model
    >>> model = load_model("smollm2-135m")
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     folder = export_model(model, torch.ones(30, 9), f"{parent}/same")
    ...     (folder / "config.json").is_file()
    True
    """
    folder = Path(folder)
    check_new_folder(folder)
    state = fold_gates(model, gate)
    with new_folder(folder) as temporary:
        with _quietly():
            model.hf.save_pretrained(temporary, state_dict=state)
        if model.tokenizer is not None:
            model.tokenizer.save_pretrained(temporary)
    return folder


@contextmanager
def _quietly() -> Iterator[None]:
    """Run without the progress bars of `transformers`, nor its warning about offloaded weights."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Attempting to save a model with offloaded")
            yield
    finally:
        if shown:
            logging.enable_progress_bar()
