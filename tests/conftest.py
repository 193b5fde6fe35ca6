"""Models for tests: the real embedded one, and tiny random ones for mechanics."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from headatlas.models.load.loader import load_model
from headatlas.models.model import Model
from small_things import save_tiny_folder, tiny_llama

# Some virtual machines announce AMX units and stop a process that uses them, as torch does for
# bfloat16; read when torch first multiplies, also in processes that tests start.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")


@pytest.fixture(scope="session")
def embedded() -> Model:
    """The real default model."""
    return load_model("smollm2-135m")


@pytest.fixture(scope="session")
def tiny() -> Model:
    """A random Llama of 3 layers × 4 heads (2 key/value heads) with a byte tokenizer."""
    return tiny_llama()


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model as a folder on disk."""
    return save_tiny_folder(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(autouse=True)
def _grad_mode_is_restored():
    before = torch.is_grad_enabled()
    yield
    assert torch.is_grad_enabled() == before
