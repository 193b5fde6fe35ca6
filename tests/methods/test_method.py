"""What all methods share: verification before the work, plain seeds, and cheap provenance."""

from __future__ import annotations

import pytest
import torch

from headatlas.errors import HeadAtlasError, VerificationError
from headatlas.methods import METHODS, Ablation
from headatlas.methods.features import Reading, read_features
from headatlas.methods.method import provenance
from headatlas.models.model import Model
from headatlas.tasks import Example, Task
from headatlas.tasks.pairs import TaskPairs
from small_things import byte_tokenizer, tiny_hf, tiny_llama


def some_task(name="t"):
    return Task.of(name, [Example(f"{name} {i} ab", "cd", function="fg"[i % 2]) for i in range(80)])


def subject_of(method):
    task = some_task()
    return task if method.subject is Task else TaskPairs((task,), (some_task("u"),))


@pytest.fixture
def broken():
    """A model that answers with noise: an edit of a head cannot be told from anything else."""
    hf = tiny_hf()

    def add_noise(module, args, logits):
        return logits + torch.randn_like(logits)

    hf.lm_head.register_forward_hook(add_noise)
    return Model(hf, byte_tokenizer(), "noisy")


@pytest.mark.parametrize("name", METHODS)
def test_every_method_refuses_a_model_that_fails_verification(name, broken):
    method = METHODS[name]
    with pytest.raises(VerificationError, match="noisy cannot be mapped, since edits of its heads"):
        method().run(broken, subject_of(method))


def test_reading_features_refuses_it_too(broken):
    with pytest.raises(VerificationError, match="noisy cannot be mapped"):
        read_features(broken, some_task(), Reading())


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("seed", [-1, 1.5, "0", True, None])
def test_seeds_that_are_no_whole_numbers_are_one_sentence(name, seed, tiny):
    method = METHODS[name]
    with pytest.raises(HeadAtlasError, match="seed must be a non-negative integer, not"):
        method().run(tiny, subject_of(method), seed)


def test_provenance_runs_no_model():
    model = tiny_llama()
    passes = []
    model.hf.register_forward_hook(lambda *_: passes.append(1))
    facts = provenance(model, some_task(), Ablation(), 3)
    assert passes == []
    assert facts["model_hash"] == model.fingerprint
    assert (facts["method"], facts["seed"], facts["task"]) == ("ablation", 3, "t")
    model.score([model.encode("ab", "cd")])
    assert passes  # the hook does count


def test_the_model_is_verified_once(monkeypatch):
    from headatlas.models import model as module

    counted = []
    real = module.verify
    monkeypatch.setattr(module, "verify", lambda model: counted.append(1) or real(model))
    model = tiny_llama()
    for _ in range(2):
        Ablation(heads=((0, 0),)).run(model, some_task())
    assert counted == [1]
