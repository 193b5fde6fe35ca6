"""The program, run in this process."""

from __future__ import annotations

import sys

import pytest

from headatlas.cli import main as program


@pytest.fixture
def headatlas(monkeypatch, capsys):
    """Run the program in this process; give exit code, standard output and standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["headatlas", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "300")
        with pytest.raises(SystemExit) as caught:
            program.main()
        captured = capsys.readouterr()
        return caught.value.code or 0, captured.out, captured.err

    return run
