"""Gates as an adapter: a small file that `peft` puts on top of the untouched model."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors.torch import save_file
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headatlas.errors import ModelError
from headatlas.models.load.embedded import EMBEDDED, HUB_NAME
from headatlas.models.load.export import check_new_folder, new_folder, projection_scales
from headatlas.models.model import Model

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"


def export_adapter(model: Model, gate: Tensor, folder: str | Path) -> Path:
    """Save gates (layer × head) as an (IA)³ adapter for stock `peft`, which is not needed here.

    (IA)³ (Liu et al., arXiv 2205.05638) multiplies activations by learned vectors. At the input x
    of the output projection W, as in peft's `feedforward_modules`, that is W·(l ⊙ x); with l = g_h
    at the columns of head h it is the head gate with zero replacement, z_h ← g_h·z_h. The folder
    appears whole or not at all; numbers are float32.

    >>> import tempfile, torch
    >>> from headatlas import export_adapter, load_model
    >>> model = load_model("smollm2-135m")
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     folder = export_adapter(model, torch.ones(30, 9), f"{parent}/same")
    ...     sorted(path.name for path in folder.iterdir())
    ['adapter_config.json', 'adapter_model.safetensors']
    """
    folder = Path(folder)
    check_new_folder(folder)
    check_adapter(model)
    vectors = {
        f"base_model.model.{spec.projection}.ia3_l": scale[None].cpu()  # 1 head·d_head
        for spec, scale in projection_scales(model, gate)
    }
    with new_folder(folder) as temporary:
        save_file(vectors, temporary / WEIGHTS, metadata={"format": "pt"})
        text = json.dumps(_config(model), indent=2, ensure_ascii=False)
        (temporary / CONFIG).write_text(text, encoding="utf-8")
    return folder


def check_adapter(model: Model) -> None:
    """Raise if an (IA)³ adapter of `peft` cannot express gates of this model."""
    modules = dict(model.hf.named_modules())
    reason = None
    for layer, spec in enumerate(model.spec.layers):
        if spec is None:
            continue
        projection = modules[spec.projection]
        if spec.copies:
            reason = f"layer {layer} shares its output projection with other layers"
        elif not isinstance(projection, nn.Linear | Conv1D):
            reason = f"the output projection of layer {layer} is a {type(projection).__name__}"
        if reason is not None:
            raise ModelError(
                f"peft has no (IA)³ adapter for the heads of {model.spec.name}, because {reason}: "
                "export a checkpoint instead."
            )


def _config(model: Model) -> dict[str, object]:
    """What `peft` reads as `IA3Config`; paths are whole, so that nothing else matches them."""
    name = model.spec.name
    projections = [spec.projection for spec in model.spec.layers if spec is not None]
    return {
        "peft_type": "IA3",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": HUB_NAME if name == EMBEDDED else name,
        "target_modules": projections,
        "feedforward_modules": projections,
        "fan_in_fan_out": isinstance(model.hf.get_submodule(projections[0]), Conv1D),
        "inference_mode": True,
    }
