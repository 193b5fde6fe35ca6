"""The task of the planted models, and its gates on the model that a file plants."""

from __future__ import annotations

import pytest

from headatlas.tasks import load_task
from planted.variants import gate


@pytest.fixture(scope="module")
def task():
    return load_task("singular-plural")


@pytest.fixture(scope="module")
def gates(planted, task):
    return gate(planted, task)
