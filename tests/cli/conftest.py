"""The program, run in this process."""

from __future__ import annotations

import io
import logging
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest import mock

import pytest
from rich.console import ConsoleDimensions

from headatlas.cli import main as program
from headatlas.cli import screen
from headatlas.plots import save_figure
from headatlas.runs import drawing
from headatlas.stats.agreement import agreement_of
from small_things import write_task
from suite_files import write_suite

for console in (screen.stdout, screen.stderr):
    console.size = ConsoleDimensions(300, 100)  # so that tables are not cut


def run_program(*arguments):
    """Run the program as the shell does; give exit code, standard output and standard error."""
    out, err = io.StringIO(), io.StringIO()
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []  # pytest's would keep the program's away
    try:
        with (
            mock.patch.object(sys, "argv", ["headatlas", *map(str, arguments)]),
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


def make_output_quick(patch):
    """Draw figures in the quickest format alone, and intervals of agreement from few resamples."""
    patch.setitem(agreement_of.__kwdefaults__, "draws", 20)
    patch.setattr(
        drawing, "save_in_all_formats", lambda figure, base: [save_figure(figure, f"{base}.svg")]
    )


@pytest.fixture
def quick_output(monkeypatch):
    """Little time is spent on figures and intervals, in one test."""
    make_output_quick(monkeypatch)


@pytest.fixture(scope="module")
def quick_output_in_module():
    """The same in a whole file."""
    with pytest.MonkeyPatch.context() as patch:
        make_output_quick(patch)
        yield


@pytest.fixture
def continues(headatlas, monkeypatch):
    """Press Ctrl-C in a check, and see that the same command then computes only what is missing."""

    def check(words, folder, name, places, at):
        """`places` are the modules that call the function `name`; its call number `at` is hit."""
        calls, plain = [], getattr(places[0], name)

        def counted(*given):
            calls.append(given)
            if len(calls) == at:
                raise KeyboardInterrupt
            return plain(*given)

        for place in places:
            monkeypatch.setattr(place, name, counted)
        code, _, error = headatlas(*words)
        assert code == 1
        assert "the same command continues from there" in error
        assert headatlas(*words)[0] == 0
        whole = len(calls)
        assert whole > at
        (folder / "checks").rename(folder / "elsewhere")
        assert headatlas(*words)[0] == 0
        assert len(calls) == whole

    return check


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
