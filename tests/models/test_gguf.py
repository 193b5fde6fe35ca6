"""GGUF files: converted once, whole or not there, with the tokenizer that the file means."""

from __future__ import annotations

import errno
import multiprocessing
import os

import pytest
import torch
from transformers import PreTrainedModel

from headatlas.errors import ModelError, StoreError
from headatlas.models.load.cache import cache_folder, made_once
from headatlas.models.load.loader import load_model
from headatlas.models.tokens import leading_special_tokens
from small_things import write_gguf


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADATLAS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


def folders(cache):
    return sorted(path.name for path in cache.iterdir() if not path.name.endswith(".lock"))


def test_a_file_is_converted_once(own_cache, tmp_path, monkeypatch):
    path = write_gguf(tmp_path / "small.gguf")
    first = load_model(str(path))
    monkeypatch.setattr("headatlas.models.load.gguf._convert", lambda *args: pytest.fail("again"))
    second = load_model(str(path))
    assert first.fingerprint == second.fingerprint
    assert len(folders(own_cache)) == 1


def test_bos_is_added_as_the_file_says(own_cache, tmp_path):
    without = load_model(str(write_gguf(tmp_path / "without.gguf", add_bos=False)))
    with_bos = load_model(str(write_gguf(tmp_path / "with.gguf", add_bos=True)))
    assert leading_special_tokens(without.tokenizer) == ()
    assert leading_special_tokens(with_bos.tokenizer) == (0,)
    tokens = with_bos.encode("ab", "c")
    assert (tokens.ids[0], tokens.target_start) == (0, 3)


def test_the_model_is_an_ordinary_one(own_cache, tmp_path):
    model = load_model(str(write_gguf(tmp_path / "small.gguf")))
    assert model.hf.dtype == torch.float32
    assert not getattr(model.hf, "is_quantized", False)
    model.hf.save_pretrained(tmp_path / "saved")


@pytest.mark.parametrize("kept", [0.05, 0.5, 0.98])
def test_a_truncated_file_is_one_sentence_and_leaves_nothing(own_cache, tmp_path, kept):
    path = write_gguf(tmp_path / "cut.gguf")
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])
    with pytest.raises(ModelError, match="is not a whole GGUF file") as caught:
        load_model(str(path))
    assert "\n" not in str(caught.value)
    assert not own_cache.exists() or folders(own_cache) == []


def test_a_file_of_another_kind(own_cache, tmp_path):
    path = tmp_path / "text.gguf"
    path.write_text("this is not a model")
    with pytest.raises(ModelError, match="is not a whole GGUF file"):
        load_model(str(path))


def test_a_full_disk_is_one_sentence_and_the_cache_stays_usable(own_cache, tmp_path, monkeypatch):
    path = write_gguf(tmp_path / "small.gguf")
    right = PreTrainedModel.save_pretrained

    def full(self, folder, **options):
        (folder / "model.safetensors").write_bytes(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(PreTrainedModel, "save_pretrained", full)
    with pytest.raises(StoreError, match=r"the disk of the cache folder .* is full"):
        load_model(str(path))
    assert folders(own_cache) == []
    monkeypatch.setattr(PreTrainedModel, "save_pretrained", right)
    assert load_model(str(path)).spec.n_heads == 4


def test_too_little_space_is_said_before_converting(own_cache, tmp_path, monkeypatch):
    path = write_gguf(tmp_path / "small.gguf")
    usage = type("Usage", (), {"free": 1000})
    monkeypatch.setattr("headatlas.models.load.cache.shutil.disk_usage", lambda folder: usage)
    with pytest.raises(StoreError, match="is full"):
        load_model(str(path))


def load_in_process(path, cache, results):
    os.environ["HEADATLAS_CACHE"] = str(cache)
    results.put(load_model(str(path)).fingerprint)


@pytest.mark.long
def test_two_processes_may_convert_at_once(own_cache, tmp_path):
    path = write_gguf(tmp_path / "small.gguf")
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    arguments = (path, own_cache.parent, results)
    workers = [context.Process(target=load_in_process, args=arguments) for _ in range(2)]
    for worker in workers:
        worker.start()
    hashes = [results.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    assert hashes[0] == hashes[1]
    assert len(folders(own_cache)) == 1


def test_leftovers_of_a_killed_process_are_removed(own_cache):
    target = cache_folder() / "models" / "thing"
    leftover = target.parent / ".thing.part-abc"
    leftover.mkdir(parents=True)
    with made_once(target) as folder:
        (folder / "file").write_text("whole")
    assert (target / "file").read_text() == "whole"
    assert not leftover.exists()


def test_a_failure_inside_leaves_nothing(own_cache):
    target = cache_folder() / "models" / "thing"
    with pytest.raises(RuntimeError, match="on purpose"), made_once(target) as folder:
        (folder / "file").write_text("half")
        raise RuntimeError("on purpose")
    assert folders(own_cache) == []
