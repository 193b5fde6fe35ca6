"""Killed at any moment and started again, a run ends with the same file as an undisturbed one."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

import pytest

from small_things import save_tiny_folder, write_task

LAYERS = 8


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kill")
    save_tiny_folder(folder / "model", layers=LAYERS)
    write_task(folder / "task.jsonl", count=40)
    return folder


def start(work, out):
    arguments = ["ablate", "--model", work / "model", "--task", work / "task.jsonl", "--out", out]
    return subprocess.Popen(
        [sys.executable, "-m", "headatlas", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def wait_for_a_unit(process, out):
    """Wait until a unit more is stored, or the process has ended."""
    before = len(units(out))
    while process.poll() is None and len(units(out)) == before:
        time.sleep(0.001)


def units(out):
    return {path.name: path.stat() for path in (out / "units").glob("[!.]*.nc")}


def map_bytes(out):
    (path,) = (out / "maps").glob("[!.]*.nc")
    return path.read_bytes()


@pytest.fixture(scope="module")
def undisturbed(work):
    began = time.monotonic()
    process = start(work, work / "undisturbed")
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    return map_bytes(work / "undisturbed"), time.monotonic() - began


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
        if process.poll() is None:
            process.kill()
            counts.append(len(units(out)))
        process.communicate()
        now = units(out)
        for name, before in finished.items():
            assert now[name].st_ino == before.st_ino, f"{name} was computed again"
        finished = now
        if len(counts) == kills:
            break
    assert len(counts) == kills
    assert any(0 < count < LAYERS for count in counts), "no kill fell among the units"
    process = start(work, out)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
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
    processes = [start(work, out) for _ in range(2)]
    for process in processes:
        output, _ = process.communicate(timeout=300)
        assert process.returncode == 0, output
    assert map_bytes(out) == undisturbed[0]
