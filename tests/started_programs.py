"""The program in processes of its own, which start at once because the libraries are loaded."""

from __future__ import annotations

import multiprocessing
import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

PRELOADED = ["headatlas.cli.main", "headatlas.runs.atlas", "matplotlib.figure", "scipy.stats"]


def start_program(log: Path, *arguments: Any) -> BaseProcess:
    """Run the program in a process that writes what it prints to a file."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *PRELOADED])
    process = context.Process(target=_run, args=(str(log), [str(word) for word in arguments]))
    process.start()
    return process


def _run(log: str, arguments: list[str]) -> None:
    with open(log, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    sys.argv = ["headatlas", *arguments]
    from headatlas.__main__ import main

    main()
