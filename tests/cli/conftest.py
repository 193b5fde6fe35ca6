"""The program, run in this process."""

from __future__ import annotations

import io
import logging
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

import pytest

from headatlas.cli import main as program
from headatlas.plots import saving
from small_things import write_task
from suite_files import write_suite

WIDE = "300"
"""Columns of the pretended screen, so that tables are not cut."""


def run_program(*arguments):
    """Run the program as the shell does; give exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []  # pytest's would keep the program's away
    try:
        with (
            mock.patch.object(sys, "argv", ["headatlas", *map(str, arguments)]),
            mock.patch.dict(os.environ, COLUMNS=WIDE),
            redirect_stdout(out),
            redirect_stderr(err),
            pytest.raises(SystemExit) as caught,
        ):
            program.main()
    finally:
        root.handlers = handlers
    return caught.value.code or 0, out.getvalue(), err.getvalue()


@pytest.fixture(scope="session")
def headatlas():
    """Run the program in this process; give exit code, standard output and standard error."""
    return run_program


@pytest.fixture(scope="session")
def succeed():
    """Run the program, see that it succeeds, and give what it printed."""

    def run(*arguments):
        code, printed, error = run_program(*arguments)
        assert code == 0, error
        return printed

    return run


@pytest.fixture
def svg_only(monkeypatch):
    """Draw figures in the quickest format alone."""
    monkeypatch.setattr(saving, "FORMATS", (".svg",))


@pytest.fixture(scope="session")
def tasks(tmp_path_factory):
    """Two task files."""
    folder = tmp_path_factory.mktemp("tasks")
    return [
        write_task(folder / f"{name}.jsonl", count=count) for name, count in (("a", 24), ("b", 30))
    ]


@pytest.fixture(scope="session")
def suite(tmp_path_factory):
    """A file of labelled steps."""
    return write_suite(tmp_path_factory.mktemp("suites") / "steps.jsonl")
