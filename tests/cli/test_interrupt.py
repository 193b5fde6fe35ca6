"""Ctrl-C at any moment ends the program without a traceback."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest


@pytest.mark.parametrize("delay", [0.15, 0.3, 0.6, 1.2])
def test_ctrl_c_in_the_first_moments(delay):
    process = subprocess.Popen(
        [sys.executable, "-m", "headatlas", "list", "tasks"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    printed, error = process.communicate(timeout=60)
    assert "Traceback" not in error
    assert process.returncode in (0, 1, 130)
    assert error.strip() in ("", "stopped.")
    assert printed or error
