"""Models whose responsible heads are known, trained once per session and loaded from a folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from transformers import LlamaForCausalLM

from ground_truth.backup import WithBackup, add_backup
from ground_truth.puzzles import INDUCTION, PUZZLES, Puzzle
from ground_truth.trained import Trained, train
from ground_truth.truth import Truth, find_truth
from headatlas import load_model
from headatlas.models.model import Model
from headatlas.tasks import Task


@dataclass(frozen=True)
class Known:
    """A trained model, what is true of it, and the same model as Head Atlas loads it."""

    trained: Trained
    truth: Truth
    model: Model
    task: Task


@dataclass(frozen=True)
class KnownBackup:
    """A model in which one head has a twin."""

    made: WithBackup
    truth: Truth
    model: Model
    task: Task


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Known]:
    """The model of a puzzle, by its name."""

    @cache
    def get(name: str) -> Known:
        puzzle = PUZZLES[name]
        trained = train(puzzle)
        model = _load(trained.hf, puzzle, tmp_path_factory.mktemp(name))
        return Known(trained, find_truth(trained.hf, puzzle), model, puzzle.task())

    return get


@pytest.fixture(scope="session")
def backup(known: Callable[[str], Known], tmp_path_factory: pytest.TempPathFactory) -> KnownBackup:
    """The model of induction, with a twin of the head that fetches the answer."""
    plain = known("induction")
    made = add_backup(plain.trained, plain.truth)
    model = _load(made.hf, INDUCTION, tmp_path_factory.mktemp("backup"))
    return KnownBackup(made, find_truth(made.hf, INDUCTION), model, plain.task)


def _load(hf: LlamaForCausalLM, puzzle: Puzzle, folder: Path) -> Model:
    hf.save_pretrained(folder)
    puzzle.tokenizer().save_pretrained(folder)
    return load_model(str(folder))
