"""An exported model gives the edited model's logits in stock transformers."""

from __future__ import annotations

import copy
import subprocess
import sys

import pytest
import torch
from safetensors.torch import save_file

from architectures.small_models import build
from headatlas.errors import EditError, StoreError
from headatlas.models.edit import Edit
from headatlas.models.load.export import export_model, fold_gates
from headatlas.models.model import Model

STOCK = """
import sys, torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32)
ids = load_file(sys.argv[2])["ids"]
with torch.no_grad():
    logits = model(ids).logits
assert "headatlas" not in sys.modules
save_file({"logits": logits}, sys.argv[3])
"""


def stock_logits(folder, ids, tmp_path):
    """Load the folder in another process that knows nothing of Head Atlas."""
    from safetensors.torch import load_file

    save_file({"ids": ids}, tmp_path / "ids.safetensors")
    out = tmp_path / "logits.safetensors"
    arguments = [str(folder), str(tmp_path / "ids.safetensors"), str(out)]
    subprocess.run([sys.executable, "-c", STOCK, *arguments], check=True, capture_output=True)
    return load_file(out)["logits"]


def edited_logits(model, ids, gate):
    with torch.no_grad(), model.editing(Edit(gate)):
        return model.hf(ids).logits


@pytest.mark.long
def test_the_real_model_exported_equals_the_edited_one(embedded, tmp_path):
    gate = torch.rand(30, 9, generator=torch.Generator().manual_seed(0)) ** 0.1
    gate[3, 4] = 0.0
    ids = torch.tensor([embedded.encode("The capital of France is", " Paris").ids])
    folder = export_model(embedded, gate, tmp_path / "exported")
    wanted = edited_logits(embedded, ids, gate)
    exported = stock_logits(folder, ids, tmp_path)
    assert (exported - wanted).abs().max() < 1e-4 * wanted.abs().max()
    assert not torch.allclose(exported, embedded.hf(ids).logits, atol=0.1)


@pytest.mark.parametrize("name", ["gpt2", "bloom", "bitnet", "qwen3_next", "zamba2", "gemma2"])
def test_every_kind_of_projection_folds(name):
    """Input columns stored first, hooked, normalised, gated, shared, soft-capped."""
    model = Model(build(name), None, name)
    shape = (model.spec.n_layers, model.spec.n_heads)
    gate = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    ids = torch.arange(5, 14)[None]
    wanted = edited_logits(model, ids, gate)
    folded = copy.deepcopy(model.hf)
    folded.load_state_dict(fold_gates(model, gate))
    torch.testing.assert_close(folded(ids).logits, wanted, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(model.hf(ids).logits, wanted, atol=1e-2)


def test_export_keeps_the_model_and_says_no_to_existing_folders(tiny, tmp_path):
    before = {name: value.clone() for name, value in tiny.hf.state_dict().items()}
    export_model(tiny, torch.zeros(3, 4), tmp_path / "one")
    assert all(torch.equal(value, before[name]) for name, value in tiny.hf.state_dict().items())
    with pytest.raises(StoreError, match="exists already"):
        export_model(tiny, torch.zeros(3, 4), tmp_path / "one")
    with pytest.raises(EditError, match="only a gate of layer × head can be folded"):
        export_model(tiny, torch.zeros(2, 3, 4), tmp_path / "two")
    assert not (tmp_path / "two").exists()
