"""The examples in the docstrings run, and print what they say."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = ["edit", "model", "tokens", "heads.verify", "load.adapter", "load.export", "load.loader"]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_docstrings_run(name):
    outcome = doctest.testmod(importlib.import_module(f"headatlas.models.{name}"))
    assert outcome.attempted > 0
    assert outcome.failed == 0
