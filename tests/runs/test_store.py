"""Units are whole or not there, found again, and never computed twice."""

from __future__ import annotations

import os
import socket

import numpy as np
import pytest

from headatlas.errors import StoreError
from headatlas.maps.naming import map_name, safe_name
from headatlas.methods import Ablation
from headatlas.runs.assemble import assemble
from headatlas.runs.engine import Outcome, run_units
from headatlas.runs.leaderboard import _seconds
from headatlas.runs.store import SECONDS, Store, find_name
from headatlas.runs.unit import Unit, cut
from headatlas.tasks import Example, Task

TASK = Task.of("t", [Example("ab " * i, "cd") for i in range(1, 4)])


def unit(**changes):
    facts = {
        "model_hash": "m",
        "task_hash": "t",
        "method": "x",
        "method_version": 1,
        "settings": {"a": 1, "b": [1, 2]},
        "seed": 0,
        "part": {"heads": [[0, 1]]},
    }
    return Unit(**(facts | changes))


def test_the_key_follows_everything_that_determines_the_result():
    assert unit().key == unit(settings={"b": [1, 2], "a": 1}).key
    for change in (
        {"model_hash": "n"},
        {"task_hash": "u"},
        {"method": "y"},
        {"method_version": 2},
        {"settings": {"a": 2, "b": [1, 2]}},
        {"seed": 1},
        {"part": {"heads": [[0, 2]]}},
    ):
        assert unit(**change).key != unit().key
    assert unit(seed=4).group == unit(part={}).group != unit(method="y").group


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "out")
    store.open()
    return store


def run(store, model, method=None, seeds=1):
    method = method or Ablation()
    units = cut(model, TASK, method, range(seeds))
    steps = []
    outcome = Outcome()
    run_units(units, model, TASK, method, store, lambda n, words: steps.append(n), outcome)
    return units, outcome, sum(steps)


def test_finished_units_are_skipped(store, tiny):
    units, first, steps = run(store, tiny)
    assert (len(first.computed), len(first.skipped), steps) == (3, 0, 12)
    store.path(units[1]).unlink()
    stamps = {path: path.stat().st_mtime_ns for path in store.units.glob("*.nc")}
    _, second, steps = run(store, tiny)
    assert (list(second.computed), len(second.skipped), steps) == ([units[1].key], 2, 12)
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())


def test_the_time_of_a_unit_is_known_whichever_run_computed_it(store, tiny, caplog):
    _, outcome, _ = run(store, tiny)
    run(store, tiny)  # computes nothing
    assert store.seconds() == outcome.computed
    with (store.units / SECONDS).open("a") as file:
        file.write('{"unit": "ha')
    assert store.seconds() == outcome.computed
    assert "cannot be read" in caplog.text


def test_a_map_with_a_unit_of_unknown_time_has_none(store, tiny):
    units, outcome, _ = run(store, tiny)
    name = store.save_map(assemble(units, outcome, store, {})).stem
    assert _seconds(store) == {name: pytest.approx(sum(outcome.computed.values()))}
    lines = (store.units / SECONDS).read_text().splitlines()
    (store.units / SECONDS).write_text("\n".join(lines[1:]))
    assert _seconds(store) == {}


def test_a_damaged_unit_is_reported_and_computed_again(store, tiny, caplog):
    units, _, _ = run(store, tiny)
    store.path(units[0]).write_bytes(b"half")
    _, outcome, _ = run(store, tiny)
    assert list(outcome.computed) == [units[0].key]
    assert "is damaged" in caplog.text
    assert "The unit is computed again." in caplog.text


def test_maps_are_assembled_from_units_of_all_runs(store, tiny):
    run(store, tiny, Ablation(heads=((2, 1),)))
    units, outcome, _ = run(store, tiny, Ablation(), seeds=2)
    whole = assemble(units, outcome, store, {"task": "renamed"})
    assert whole["effect"].sizes == {"seed": 2, "layer": 3, "head": 4}
    assert np.isfinite(whole["effect"]).all()
    assert whole.provenance["seeds"] == [0, 1]
    assert whole.provenance["task"] == "renamed"
    assert not {"seed", "part", "unfinished"} & set(whole.provenance)
    units, outcome, _ = run(store, tiny, Ablation(heads=((0, 0),)))
    assert assemble(units, outcome, store, {}).data.equals(whole.data)


def test_parts_of_other_seeds_wait_until_these_are_complete(store, tiny):
    units, outcome, _ = run(store, tiny, Ablation(), seeds=2)
    of_second = next(unit for unit in units if unit.seed == 1)
    store.path(of_second).unlink()
    first = [unit for unit in units if unit.seed == 0]
    assert assemble(first, outcome, store, {}).provenance["seeds"] == [0]


def test_nothing_finished_is_no_map(store, tiny):
    units = cut(tiny, TASK, Ablation(), range(1))
    assert assemble(units, Outcome(), store, {}) is None


def test_leftovers_of_dead_processes_are_removed_but_not_of_living_ones(store):
    here = socket.gethostname()
    living = store.units / f".part-{here}-{os.getpid()}-abc"
    elsewhere = store.units / ".part-other-machine-999999999-abc"
    dead = store.units / f".part-{here}-999999999-abc"
    for path in (living, elsewhere, dead):
        path.write_text("half")
    store.open()
    assert living.exists()
    assert elsewhere.exists()
    assert not dead.exists()


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="is a file"):
        Store(tmp_path / "file" / "out").check()
    with pytest.raises(StoreError, match="cannot be written"):
        Store(tmp_path / "file" / "out").open()
    Store(tmp_path / "new" / "deep").check()
    assert not (tmp_path / "new").exists()


def test_names_of_files(tmp_path):
    named = map_name("/some/where/model", "task", "ablation", "0123456789abcdef")
    assert named == "model.task.ablation-01234567"
    assert safe_name("a/b c:ü.x") == "a-b-c-ü.x"
    with pytest.raises(StoreError, match="there is no folder"):
        Store(tmp_path / "none").map_paths()
    with pytest.raises(StoreError, match="there are no maps"):
        Store(tmp_path).map_paths()


def test_a_part_of_a_name_is_enough_if_it_is_the_only_one():
    names = ["m.math.gating-01", "m.math.ablation-02", "m.mathematics.gating-03"]
    assert find_name("ABLATION", names) == names[1]
    assert find_name("matics", names) == names[2]
    assert find_name("a", ["a", "ab"]) == "a"  # a whole name is never ambiguous
    with pytest.raises(StoreError) as several:
        find_name("gating", names)
    assert str(several.value) == (
        "'gating' matches several: choose one of m.math.gating-01, m.mathematics.gating-03."
    )
    with pytest.raises(
        StoreError, match=r"nothing matches 'x': choose one of m\.math\.gating-01, "
    ):
        find_name("x", names)
