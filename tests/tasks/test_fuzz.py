"""Broken files: never a traceback, and the place is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broken_files import FIELDS, break_parquet, check_broken_file, files, fuzzing


@given(files())
@fuzzing(300, derandomize=True)
def test_broken_files_are_reported_not_raised(tmp_path_factory, file):
    check_broken_file(tmp_path_factory.getbasetemp(), *file)


@given(st.integers(0, 2000), st.binary(max_size=40))
@fuzzing(30, derandomize=True)
def test_broken_parquet_is_reported_not_raised(tmp_path_factory, at, wound):
    check_broken_file(tmp_path_factory.getbasetemp(), ".parquet", break_parquet(at, wound))


@pytest.mark.parametrize("value", [[], 3, "text", {}, None, [[]], [None]])
def test_odd_values_in_every_column(tmp_path, value):
    for field in FIELDS:
        row = {"prompt": "a", "target": "b", field: value}
        check_broken_file(tmp_path, ".jsonl", json.dumps(row).encode())
