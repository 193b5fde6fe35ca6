"""Ten thousand broken files, new ones in every run."""

from __future__ import annotations

import secrets

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from broken_files import break_parquet, check_broken_file, files, fuzzing

pytestmark = pytest.mark.long

SEED = secrets.randbits(32)


@pytest.fixture(autouse=True)
def _name_the_seed():
    print(f"the examples were drawn with @seed({SEED})")  # shown if the test fails


@seed(SEED)
@given(files())
@fuzzing(10_000, derandomize=False)
def test_broken_files_are_reported_not_raised(tmp_path_factory, file):
    check_broken_file(tmp_path_factory.getbasetemp(), *file)


@seed(SEED)
@given(st.integers(0, 2000), st.binary(max_size=40))
@fuzzing(300, derandomize=False)
def test_broken_parquet_is_reported_not_raised(tmp_path_factory, at, wound):
    check_broken_file(tmp_path_factory.getbasetemp(), ".parquet", break_parquet(at, wound))
