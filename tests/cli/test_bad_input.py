"""A mistake in what was given: one sentence, exit code 2, nothing written."""

from __future__ import annotations

import errno
import os

import pytest

from architectures.small_models import build
from small_things import write_gguf, write_task


@pytest.fixture
def refused(headatlas, tmp_path, monkeypatch):
    """Run the program, see that it refuses, and give its sentence."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def run(*arguments):
        code, printed, said = headatlas(*arguments)
        assert code == 2
        lines = [line for line in said.splitlines() if line and "it/s]" not in line]  # no bars
        assert len(lines) == 1, said
        assert lines[0].startswith("error: ")
        assert lines[0].endswith((".", "?"))
        assert not printed.strip()
        assert not list(work.iterdir()), "something was written"
        return lines[0]

    return run


@pytest.mark.parametrize("command", ["ablate", "doctor"])
def test_unknown_model(refused, command):
    out = ["--out", "out"] if command == "ablate" else []
    assert "no model 'nobody/nothing'" in refused(command, "--model", "nobody/nothing", *out)


def test_folder_without_a_config(refused, tmp_path):
    (tmp_path / "empty").mkdir()
    said = refused("ablate", "--model", tmp_path / "empty", "--out", "out")
    assert "has no config.json" in said


def test_truncated_gguf(refused, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADATLAS_CACHE", str(tmp_path / "cache"))
    path = write_gguf(tmp_path / "cut.gguf")
    path.write_bytes(path.read_bytes()[:-5000])
    assert "is not a whole GGUF file" in refused("ablate", "--model", path, "--out", "out")
    assert not (tmp_path / "cache").exists()


def test_encoder_only_model(refused, tmp_path):
    from transformers import BertConfig, BertForMaskedLM

    small = BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2)
    BertForMaskedLM(small).save_pretrained(tmp_path / "bert")
    assert "encoder-only" in refused("ablate", "--model", tmp_path / "bert", "--out", "out")


def test_model_without_attention(refused, tmp_path):
    build("mamba").save_pretrained(tmp_path / "mamba")
    said = refused("ablate", "--model", tmp_path / "mamba", "--out", "out")
    assert "no attention heads were found" in said


def test_head_out_of_range(refused, tiny_folder):
    said = refused("ablate", "--model", tiny_folder, "--heads", "0.1,2.9", "--out", "out")
    assert "no head 2.9 in" in said
    said = refused("ablate", "--model", tiny_folder, "--heads", "12.0", "--out", "out")
    assert "no layer 12" in said
    assert "write LAYER.HEAD" in refused("ablate", "--heads", "five", "--out", "out")


def test_missing_task(refused):
    assert "cannot be read" in refused("ablate", "--task", "none.jsonl", "--out", "out")
    assert "Did you mean" in refused("ablate", "--task", "singular", "--out", "out")


def test_output_that_cannot_be_written(refused, tmp_path):
    (tmp_path / "file").write_text("")
    said = refused("ablate", "--out", tmp_path / "file" / "out")
    assert "cannot be created" in said


def test_output_on_a_file_system_that_refuses(refused, tiny_folder, tmp_path):
    """Also where permissions look fine until the folder is made."""
    task = write_task(tmp_path / "task.jsonl", count=96)
    said = refused("ablate", "--model", tiny_folder, "--task", task, "--out", "/proc/headatlas/out")
    assert "cannot be written" in said


def test_disk_full_while_caching(refused, tmp_path, monkeypatch):
    from transformers import PreTrainedModel

    def full(self, folder, **options):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    cache = tmp_path / "cache"
    monkeypatch.setenv("HEADATLAS_CACHE", str(cache))
    path = write_gguf(tmp_path / "small.gguf")
    with monkeypatch.context() as context:
        context.setattr(PreTrainedModel, "save_pretrained", full)
        assert "is full" in refused("ablate", "--model", path, "--out", "out")
    assert [p for p in (cache / "models").iterdir() if p.suffix != ".lock"] == []


def test_a_refused_model_says_why(refused, tiny_folder, tmp_path, monkeypatch):
    from headatlas.models.edit import Edit

    monkeypatch.setattr(Edit, "apply", lambda self, z, layer, offset: z)
    said = refused("ablate", "--model", tiny_folder, "--out", "out")
    assert "cannot be mapped" in said
    assert "gate 0" in said


def test_plots(refused, tmp_path):
    assert "there is no folder" in refused("plot", tmp_path / "none", "--out", "map.png")
    assert "should end in" in refused("plot", tmp_path, "--out", "map.gif")
    assert "there are no maps" in refused("plot", tmp_path, "--out", "map.png")
    (tmp_path / "run" / "maps").mkdir(parents=True)
    (tmp_path / "run" / "maps" / "bad.nc").write_text("broken")
    assert "is damaged" in refused("plot", tmp_path / "run", "--out", "map.png")
