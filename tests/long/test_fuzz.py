"""Ten thousand broken files, new ones in every run."""

from __future__ import annotations

import secrets

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from broken_files import break_parquet, check_broken_file, files

pytestmark = pytest.mark.long

SEED = secrets.randbits(32)
MANY = settings(
    max_examples=10_000,
    deadline=None,
    derandomize=False,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(autouse=True)
def _name_the_seed():
    print(f"the examples were drawn with @seed({SEED})")  # shown if the test fails


@seed(SEED)
@given(files())
@MANY
def test_broken_files_are_reported_not_raised(tmp_path_factory, file):
    check_broken_file(tmp_path_factory.getbasetemp(), *file)


@seed(SEED)
@given(st.integers(0, 2000), st.binary(max_size=40))
@settings(MANY, max_examples=300)
def test_broken_parquet_is_reported_not_raised(tmp_path_factory, at, wound):
    check_broken_file(tmp_path_factory.getbasetemp(), ".parquet", break_parquet(at, wound))
