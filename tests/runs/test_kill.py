"""Killed at any moment and started again, a run ends with the same file as an undisturbed one."""

from __future__ import annotations

import random
import time

import pytest

from small_things import save_tiny_folder, write_task
from started_programs import start_program

LAYERS = 8


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kill")
    save_tiny_folder(folder / "model", layers=LAYERS)
    write_task(folder / "task.jsonl", count=40)
    return folder


def start(work, out):
    words = ("ablate", "--model", work / "model", "--task", work / "task.jsonl", "--out", out)
    return start_program(work / f"{out.name}.log", *words)


def finish(work, out, process):
    """Wait for the end of a run that is not disturbed."""
    process.join(timeout=300)
    assert process.exitcode == 0, (work / f"{out.name}.log").read_text()


def wait_for_a_unit(process, out):
    """Wait until a unit more is stored, or the process has ended."""
    before = len(units(out))
    while process.is_alive() and len(units(out)) == before:
        time.sleep(0.001)


def units(out):
    return {path.name: path.stat() for path in (out / "units").glob("[!.]*.nc")}


def map_bytes(out):
    (path,) = (out / "maps").glob("[!.]*.nc")
    return path.read_bytes()


@pytest.fixture(scope="module")
def undisturbed(work):
    out = work / "undisturbed"
    start_program(work / "version.log", "--version").join()  # loads the libraries
    began = time.monotonic()
    finish(work, out, start(work, out))
    return map_bytes(out), time.monotonic() - began


def kill_again_and_again(work, out, wanted, usual, kills):
    """Kill runs at many moments, then let one end: it has the same bytes as undisturbed ones."""
    moments = random.Random(0)
    finished = {}
    counts = []
    for attempt in range(3 * kills):
        process = start(work, out)
        if attempt % 4 == 0 and len(units(out)) < LAYERS:
            wait_for_a_unit(process, out)
        else:
            time.sleep(moments.uniform(0.1, 0.7 * usual))
        if process.is_alive():
            process.kill()
            counts.append(len(units(out)))
        process.join()
        now = units(out)
        for name, before in finished.items():
            assert now[name].st_ino == before.st_ino, f"{name} was computed again"
        finished = now
        if len(counts) == kills:
            break
    assert len(counts) == kills
    assert any(0 < count < LAYERS for count in counts), "no kill fell among the units"
    finish(work, out, start(work, out))
    assert map_bytes(out) == wanted
    assert len(units(out)) == LAYERS
    assert all(units(out)[name].st_ino == before.st_ino for name, before in finished.items())
    assert not list((out / "units").glob(".part-*"))


def test_three_kills(work, undisturbed):
    kill_again_and_again(work, work / "killed", *undisturbed, kills=3)


@pytest.mark.long
def test_twenty_kills(work, undisturbed):
    kill_again_and_again(work, work / "killed-often", *undisturbed, kills=20)


def test_two_processes_on_one_folder(work, undisturbed):
    out = work / "together"
    for process in [start(work, out) for _ in range(2)]:
        finish(work, out, process)
    assert map_bytes(out) == undisturbed[0]
