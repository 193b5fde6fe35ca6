"""Broken files: never a traceback, and the place is named."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broken_files import FIELDS, break_parquet, check_broken_file, files

FIXED = settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@given(files())
@FIXED
def test_broken_files_are_reported_not_raised(tmp_path_factory, file):
    check_broken_file(tmp_path_factory.getbasetemp(), *file)


@given(st.integers(0, 2000), st.binary(max_size=40))
@settings(FIXED, max_examples=30)
def test_broken_parquet_is_reported_not_raised(tmp_path_factory, at, wound):
    check_broken_file(tmp_path_factory.getbasetemp(), ".parquet", break_parquet(at, wound))


@pytest.mark.parametrize("value", [[], 3, "text", {}, None, [[]], [None]])
def test_odd_values_in_every_column(tmp_path, value):
    for field in FIELDS:
        row = {"prompt": "a", "target": "b", field: value}
        check_broken_file(tmp_path, ".jsonl", json.dumps(row).encode())
