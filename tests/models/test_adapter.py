"""An adapter gives the edited model's logits in stock peft, in a process without Head Atlas."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from architectures.small_models import architectures, build
from headatlas.errors import EditError, ModelError, StoreError
from headatlas.models.edit import Edit
from headatlas.models.load.adapter import CONFIG, WEIGHTS, export_adapter
from headatlas.models.load.loader import load_model
from headatlas.models.model import Model
from small_things import tiny_llama

FAMILIES = ["gpt2", "gemma3_text", "qwen3", "lfm2"]
"""Input columns stored first; heads wider than the hidden size; a usual one; layers without."""

STOCK = """
import sys, torch
from pathlib import Path
from peft import PeftModel
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM
for place in map(Path, sys.argv[1:]):
    stock = AutoModelForCausalLM.from_pretrained(place / "base", dtype=torch.float32)
    model = PeftModel.from_pretrained(stock, place / "adapter").eval()
    ids = load_file(place / "ids.safetensors")["ids"]
    with torch.no_grad():
        logits = {"adapted": model(ids).logits, "merged": model.merge_and_unload()(ids).logits}
    save_file(logits, place / "logits.safetensors")
assert "headatlas" not in sys.modules
"""


def random_gate(model):
    shape = (model.spec.n_layers, model.spec.n_heads)
    gate = torch.rand(shape, generator=torch.Generator().manual_seed(0)) ** 0.5
    layer, head = model.spec.heads()[1]
    gate[layer, head] = 0.0
    return gate


def edited_logits(model, ids, gate):
    with torch.no_grad(), model.editing(Edit(gate)):
        return model.hf(ids).logits


def prepare(place, model, ids):
    """Write an untouched model, an adapter and tokens; give what the edited model says."""
    if not (place / "base").exists():
        model.hf.save_pretrained(place / "base")
    gate = random_gate(model)
    export_adapter(model, gate, place / "adapter")
    save_file({"ids": ids}, place / "ids.safetensors")
    wanted = edited_logits(model, ids, gate)
    assert (wanted - model.hf(ids).logits).abs().max() > 0.05
    return wanted


def run_stock(*places):
    words = [sys.executable, "-W", "error::UserWarning", "-c", STOCK, *map(str, places)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [load_file(place / "logits.safetensors") for place in places]


@pytest.fixture(scope="module")
def logits(tmp_path_factory, tiny_folder):
    """By name: the edited model's logits, and those of peft."""
    root = tmp_path_factory.mktemp("adapters")
    models = {name: Model(build(name), None, name) for name in FAMILIES}
    models["folder"] = load_model(str(tiny_folder))
    ids = torch.arange(5, 14)[None]
    wanted = {}
    for name, model in models.items():
        (root / name).mkdir()
        if name == "folder":
            (root / name / "base").symlink_to(tiny_folder)
        wanted[name] = prepare(root / name, model, ids)
    stock = run_stock(*(root / name for name in models))
    return {name: (wanted[name], *pair.values()) for name, pair in zip(models, stock, strict=True)}


@pytest.mark.parametrize("name", [*FAMILIES, "folder"])
def test_stock_peft_gives_the_logits_of_the_edited_model(logits, name):
    wanted, adapted, merged = logits[name]
    torch.testing.assert_close(adapted, wanted, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(merged, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of transformers, about sizes and kernels of small models
def test_every_architecture_is_exact_or_refused(tmp_path):
    from peft import PeftModel

    ids = torch.arange(5, 14)[None]
    refused, differ, exact = [], [], 0
    for name in architectures():
        try:
            model = Model(build(name), None, name)
        except Exception:  # those without a known place for heads, see docs/architectures.md
            continue
        gate = random_gate(model)
        try:
            export_adapter(model, gate, tmp_path / name)
        except ModelError:
            refused.append(name)
            continue
        with torch.no_grad(), model.editing(Edit(gate)):
            wanted = model.hf(ids, use_cache=False).logits
        stock = PeftModel.from_pretrained(build(name), tmp_path / name).eval()
        with torch.no_grad():
            adapted = stock(ids, use_cache=False).logits
        same = torch.allclose(adapted, wanted, rtol=1e-4, atol=1e-4)
        exact += same
        differ += [] if same else [name]
    assert not differ
    assert refused == ["zamba", "zamba2"]  # their layers share an output projection
    assert exact >= 150


@pytest.mark.long
def test_an_adapter_of_the_real_model(embedded, tmp_path):
    ids = torch.tensor([embedded.encode("The capital of France is", " Paris").ids])
    wanted = prepare(tmp_path, embedded, ids)
    (stock,) = run_stock(tmp_path)
    assert (stock["adapted"] - wanted).abs().max() < 1e-4
    # merging rounds every weight again
    assert (stock["merged"] - wanted).abs().max() < 1e-4 * wanted.abs().max()
    size = (tmp_path / "adapter" / WEIGHTS).stat().st_size
    assert 30 * 9 * 64 * 4 < size < 75_000  # one float32 per column, and little else
    config = json.loads((tmp_path / "adapter" / CONFIG).read_text())
    assert config["base_model_name_or_path"] == "HuggingFaceTB/SmolLM2-135M-Instruct"


def test_an_adapter_holds_a_vector_per_projection(tiny, tmp_path):
    gate = random_gate(tiny)
    folder = export_adapter(tiny, gate, tmp_path / "adapter")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["adapter"]
    config = json.loads((folder / CONFIG).read_text())
    names = [f"model.layers.{layer}.self_attn.o_proj" for layer in range(3)]
    assert config["target_modules"] == config["feedforward_modules"] == names
    assert config["base_model_name_or_path"] == "tiny"
    assert config["fan_in_fan_out"] is False
    vectors = load_file(folder / WEIGHTS)
    assert set(vectors) == {f"base_model.model.{name}.ia3_l" for name in names}
    last = vectors[f"base_model.model.{names[2]}.ia3_l"]
    assert torch.equal(last, gate[2].repeat_interleave(16)[None])
    assert (folder / WEIGHTS).stat().st_size < 2_000


def test_what_cannot_be_an_adapter_gets_a_sentence(tmp_path):
    tiny = tiny_llama()
    shared = Model(build("zamba2"), None, "zamba2")
    with pytest.raises(ModelError, match="shares its output projection with other layers: export"):
        export_adapter(shared, random_gate(shared), tmp_path / "one")
    with pytest.raises(EditError, match="only a gate of layer × head can be folded"):
        export_adapter(tiny, torch.zeros(2, 3, 4), tmp_path / "two")
    tiny.hf.model.layers[1].self_attn.o_proj = torch.nn.Bilinear(1, 1, 1)
    with pytest.raises(ModelError, match="the output projection of layer 1 is a Bilinear"):
        export_adapter(tiny, random_gate(tiny), tmp_path / "three")
    assert not list(tmp_path.iterdir())
    (tmp_path / "four").mkdir()
    with pytest.raises(StoreError, match="exists already"):
        export_adapter(tiny, random_gate(tiny), tmp_path / "four")
