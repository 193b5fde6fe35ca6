"""Ctrl-C at any moment ends the program without a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

PROGRAM = "from headatlas.__main__ import main; print('started', flush=True); main()"
"""The program as it is installed, which tells when the interpreter itself has started."""

STOPPED = (0, 1, 130, -signal.SIGINT)
"""Exit codes: finished before, stopped, and what Python and shells make of an interruption."""


LATER = [pytest.param(delay, marks=pytest.mark.long) for delay in (0.02, 0.3, 0.8)]


@pytest.mark.parametrize("delay", [0.1, *LATER])
def test_ctrl_c_in_the_first_moments(delay):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "list", "tasks"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "started\n"
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    printed, error = process.communicate(timeout=60)
    assert "Traceback" not in error
    assert process.returncode in STOPPED
    assert error.strip() in ("", "stopped.")
    assert printed or error
