"""An atlas loads once, keeps what is finished, goes on where it stopped, and loses nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import headatlas as ha
from headatlas.maps import load_map
from headatlas.models.heads import verify as verification
from headatlas.models.model import Model
from headatlas.runs import mapping, reload, store
from small_things import write_task
from suite_files import write_suite

GATING = ha.Gating(steps=2, batch_size=4)


@pytest.fixture
def task(tmp_path):
    return ha.load_task(write_task(tmp_path / "task.jsonl", count=24))


@pytest.fixture
def atlas(tmp_path, tiny):
    return ha.Atlas(tmp_path / "atlas", tiny, progress=None)


def units_of(atlas):
    return atlas.records[-1]["units"]


def count_calls(monkeypatch, place, name):
    """Count the calls of a function or method; give the list that grows by one per call."""
    calls, plain = [], getattr(place, name)

    def counted(*given, **named):
        calls.append(given)
        return plain(*given, **named)

    monkeypatch.setattr(place, name, counted)
    return calls


def interrupt(monkeypatch, method, at):
    """Press Ctrl-C when a method is run for the n-th time."""
    calls, plain = [], method.run

    def interrupted(self, *given, **named):
        calls.append(1)
        if len(calls) == at:
            raise KeyboardInterrupt
        return plain(self, *given, **named)

    monkeypatch.setattr(method, "run", interrupted)


def test_a_model_is_loaded_and_verified_once_on_first_use(tmp_path, tiny_folder, task, monkeypatch):
    loaded = count_calls(monkeypatch, reload, "load_model")
    verified = count_calls(monkeypatch, verification, "_run_checks")
    atlas = ha.Atlas(tmp_path / "atlas", tiny_folder, progress=None)
    assert not loaded
    assert not (tmp_path / "atlas").exists()
    gates = atlas.map(GATING, task)
    atlas.map(ha.Ablation(heads=((0, 0),)), task)
    atlas.check(gates, task, questions=2)
    atlas.baseline(task)
    assert (len(loaded), len(verified)) == (1, 1)


def test_a_loaded_model_is_used_as_it_is(atlas, tiny, task, monkeypatch):
    loaded = count_calls(monkeypatch, reload, "load_model")
    head_map = atlas.map(GATING, task)
    assert atlas.model is tiny
    assert head_map.provenance["model_hash"] == tiny.fingerprint
    assert atlas.model_of(head_map) is tiny
    assert not loaded


def test_finished_units_are_kept(atlas, task, tmp_path, tiny):
    first = atlas.map(ha.Ablation(), task, seeds=2)
    assert (len(units_of(atlas)["computed"]), len(units_of(atlas)["skipped"])) == (6, 0)
    again = ha.Atlas(tmp_path / "atlas", tiny, progress=None)
    assert again.map(ha.Ablation(), task, seeds=2).data.identical(first.data)
    assert (len(units_of(again)["computed"]), len(units_of(again)["skipped"])) == (0, 6)
    again.map(ha.Ablation(), task, seeds=3)
    assert (len(units_of(again)["computed"]), len(units_of(again)["skipped"])) == (3, 6)


def test_a_damaged_unit_is_computed_again_with_a_note(atlas, task, caplog):
    first = atlas.map(ha.Ablation(), task)
    unit = sorted((atlas.folder / "units").glob("*.nc"))[0]
    unit.write_bytes(b"half")
    assert atlas.map(ha.Ablation(), task).data.identical(first.data)
    assert list(units_of(atlas)["computed"]) == [unit.stem]
    assert "The unit is computed again." in caplog.text
    assert load_map(unit) is not None


def test_an_interrupted_run_goes_on_and_its_map_says_so_meanwhile(
    atlas, task, tmp_path, tiny, monkeypatch
):
    undisturbed = ha.Atlas(tmp_path / "undisturbed", tiny, progress=None)
    wanted = undisturbed.map(GATING, task, seeds=3)
    with monkeypatch.context() as context:
        interrupt(context, ha.Gating, at=3)
        with pytest.raises(KeyboardInterrupt):
            atlas.map(GATING, task, seeds=3)
    partial = atlas.load("gating")
    assert partial.provenance["unfinished"] == "2 of 3 seeds"
    assert partial.data.sizes["seed"] == 2
    assert "UNFINISHED: this map has 2 of 3 seeds." in atlas.summary(partial)
    whole = atlas.map(GATING, task, seeds=3)
    assert len(units_of(atlas)["computed"]) == 1
    assert "unfinished" not in whole.provenance
    (path,) = (atlas.folder / "maps").iterdir()
    assert path.read_bytes() == (undisturbed.folder / "maps" / path.name).read_bytes()
    assert whole.data.identical(wanted.data)


def test_an_interrupted_seed_says_how_many_parts_it_has(atlas, task, monkeypatch):
    with monkeypatch.context() as context:
        interrupt(context, ha.Ablation, at=2)
        with pytest.raises(KeyboardInterrupt):
            atlas.map(ha.Ablation(), task)
    assert atlas.load("ablation").provenance["unfinished"] == "1 of 3 parts"


def test_fewer_seeds_keep_the_map_of_more(atlas, task):
    whole = atlas.map(GATING, task, seeds=3)
    (path,) = (atlas.folder / "maps").iterdir()
    before = path.read_bytes()
    assert atlas.map(GATING, task, seeds=1).data.identical(whole.data)
    assert path.read_bytes() == before


def test_some_heads_keep_the_map_of_all(atlas, task):
    whole = atlas.map(ha.Ablation(), task)
    assert atlas.map(ha.Ablation(heads=((1, 1),)), task).data.identical(whole.data)
    (path,) = (atlas.folder / "maps").iterdir()
    assert load_map(path).data.identical(whole.data)


@pytest.mark.parametrize("method", [ha.Ablation(), GATING], ids=lambda method: method.name)
def test_progress_never_falls_and_reaches_its_total(tmp_path, tiny_folder, task, method):
    told = {}
    news = []

    def listen(progress):
        news.append(progress)
        told.setdefault(progress.work, []).append(progress)

    atlas = ha.Atlas(tmp_path / "atlas", tiny_folder, progress=listen)
    atlas.map(method, task, seeds=2)
    assert {f"{method.name} of task", "baseline of task"} <= set(told)
    assert any(work.startswith("loading") for work in told)
    assert any(work.startswith("verifying") for work in told)
    for steps in told.values():
        counts = [step.done for step in steps]
        assert counts == sorted(counts)
        assert [step.finished for step in steps] == [False] * (len(steps) - 1) + [True]
        if steps[0].total is not None:
            assert counts[-1] == steps[-1].total == steps[0].total
    assert all(step.total is None or step.done <= step.total for step in news)


def test_progress_of_an_export_reaches_its_total(tmp_path, tiny_folder, task):
    told = {}
    atlas = ha.Atlas(
        tmp_path / "atlas",
        tiny_folder,
        progress=lambda progress: told.setdefault(progress.work, []).append(progress),
    )
    gates = atlas.map(GATING, task, seeds=2)
    atlas.export(gates, tmp_path / "model", hard=True, task=task)
    for work in ("choosing a seed", "test questions"):
        assert told[work][-1].done == told[work][0].total > 10


@pytest.fixture
def without_select():
    rows = [ha.Example(f"What is {i}?", f" {i % 5}") for i in range(24)]
    return ha.Task("two", 1, "", {"train": tuple(rows[:12]), "test": tuple(rows[12:])})


def test_the_only_seed_is_exported_without_questions_to_choose_by(atlas, without_select, tmp_path):
    gates = atlas.map(GATING, without_select)
    exported = atlas.export(gates, tmp_path / "model", task=without_select)
    assert exported.seed == 0
    card = exported.card.read_text(encoding="utf-8")
    assert any("at chance level" in caution for caution in exported.cautions)
    assert all(f"Caution: {caution}" in card for caution in exported.cautions)


def test_what_an_adapter_cannot_express_is_known_before_questions_are_asked(
    atlas, without_select, tmp_path, monkeypatch
):
    gates = atlas.map(GATING, without_select, baseline=False)
    scored = count_calls(monkeypatch, Model, "score")
    with pytest.raises(ha.HeadAtlasError, match="as 'lora': as checkpoint or adapter"):
        atlas.export(gates, tmp_path / "model", form="lora", task=without_select)
    layers = atlas.model.spec.layers
    shared = replace(layers[0], copies=((layers[1].module, layers[1].projection),))
    spec = replace(atlas.model.spec, layers=(shared, *layers[2:]))
    monkeypatch.setattr(atlas.model, "spec", spec)
    with pytest.raises(ha.HeadAtlasError, match="layer 0 shares its output projection"):
        atlas.export(gates, tmp_path / "model", form="adapter", task=without_select)
    assert not scored
    assert not (tmp_path / "model").exists()


def test_what_is_chosen_on_select_questions_needs_some(
    atlas, without_select, tmp_path, monkeypatch
):
    gates = atlas.map(GATING, without_select, seeds=2, baseline=False)
    scored = count_calls(monkeypatch, Model, "score")
    with pytest.raises(ha.HeadAtlasError, match=r"'select' questions, and 'two' has none: export"):
        atlas.export(gates, tmp_path / "model", hard=True, seed=0, task=without_select)
    with pytest.raises(ha.HeadAtlasError, match=r"'two' has none: choose one .* \(it has 0, 1\)"):
        atlas.export(gates, tmp_path / "model", task=without_select)
    assert not scored
    assert not (tmp_path / "model").exists()
    assert atlas.export(gates, tmp_path / "model", seed=1, task=without_select).seed == 1


def test_without_a_callback_nothing_is_printed(tmp_path, tiny_folder, task, capfd):
    atlas = ha.Atlas(tmp_path / "atlas", tiny_folder, progress=None)
    atlas.map(ha.Ablation(heads=((0, 0),)), task)
    assert capfd.readouterr() == ("", "")


def test_the_baseline_is_measured_once_and_kept(atlas, task, tmp_path, tiny, monkeypatch):
    measured = count_calls(monkeypatch, mapping, "measure_baseline")
    head_map = atlas.map(ha.Ablation(heads=((0, 0),)), task)
    assert "task_warning" in head_map.provenance  # a random model can do nothing
    passes = count_calls(monkeypatch, Model, "score")
    again = ha.Atlas(tmp_path / "atlas", tiny, progress=None)
    assert again.map(ha.Ablation(heads=((0, 0),)), task).provenance == head_map.provenance
    assert (
        again.baseline(task).as_dict()
        == ha.Atlas(tmp_path / "atlas", tiny, progress=None).baseline(task).as_dict()
    )
    assert (len(measured), len(passes)) == (1, 0)


def test_the_baseline_can_be_left_out(atlas, task, monkeypatch):
    measured = count_calls(monkeypatch, mapping, "measure_baseline")
    head_map = atlas.map(ha.Ablation(heads=((0, 0),)), task, baseline=False)
    assert not measured
    assert "task_warning" not in head_map.provenance


def test_a_map_is_written_once(atlas, task, monkeypatch):
    written = count_calls(monkeypatch, store, "save_map")
    atlas.map(ha.Ablation(), task, seeds=2)
    paths = [path for _, path in written]
    assert sum(path.parent.name == "maps" for path in paths) == 1
    assert len(paths) == len(set(paths)) == 7  # and every unit once


def test_equal_questions_under_another_name_are_the_same_units(atlas, task, tmp_path):
    """The map has the name that was given last, and the warning stays."""
    atlas.map(ha.Ablation(heads=((0, 0),)), task)
    renamed = ha.load_task(write_task(tmp_path / "other.jsonl", count=24))
    whole = atlas.map(ha.Ablation(heads=((1, 1),)), renamed)
    assert whole.provenance["task"] == "other"
    assert "not shown to be above chance" in whole.provenance["task_warning"]
    assert int(whole["effect"].notnull().sum()) == 2


def test_any_part_of_a_name_finds_a_map(atlas, task):
    atlas.map(ha.Ablation(heads=((0, 0),)), task)
    gates = atlas.map(GATING, task)
    assert atlas.load("gating").name == gates.name == atlas.load(gates.name).name
    assert list(atlas.maps(method="gating")) == [gates.name]
    with pytest.raises(ha.HeadAtlasError) as several:
        atlas.load("task")
    assert all(name in str(several.value) for name in atlas.names)
    with pytest.raises(ha.HeadAtlasError, match="nothing matches 'patching': choose one of tiny"):
        atlas.load("patching")
    with pytest.raises(ha.HeadAtlasError, match=r"no map of the task 'math' in .*: it has task\."):
        atlas.maps(task="math")


def test_a_method_says_what_it_is_run_on(atlas, task, tmp_path):
    other = ha.load_task(write_task(tmp_path / "other.jsonl", count=30))
    pairs = ha.TaskPairs((task,), (other,))
    with pytest.raises(ha.HeadAtlasError, match=r"^gating is run on one task, not on '.*'\.$"):
        atlas.map(GATING, pairs)
    with pytest.raises(ha.HeadAtlasError, match=r"^contrast is run on pairs of tasks, not on 'ta"):
        atlas.map(ha.Contrast(), task)
    with pytest.raises(ha.HeadAtlasError, match="seeds must be at least 1, not 0"):
        atlas.map(GATING, task, seeds=0)
    assert not (atlas.folder / "maps").exists()


def test_a_map_made_from_a_file_needs_its_task_to_be_checked(atlas, task, tmp_path):
    gates = atlas.map(GATING, task)
    with pytest.raises(ha.HeadAtlasError, match="the map of 'task' was made from a file"):
        atlas.check(gates)
    other = write_task(tmp_path / "sub.jsonl", count=20).rename(tmp_path / "task.jsonl")
    with pytest.raises(ha.HeadAtlasError, match="the questions of 'task' have changed since"):
        atlas.check(gates, other)
    with pytest.raises(ha.HeadAtlasError, match="made from the task 'task', not from 'antonym'"):
        atlas.check(gates, "antonym")
    renamed = write_task(tmp_path / "renamed.jsonl", count=24)
    assert atlas.task_of(gates, renamed).name == "task"  # the same questions
    effects = atlas.map(ha.Ablation(heads=((0, 0),)), task)
    with pytest.raises(ha.HeadAtlasError, match="1 of 12 heads: a curve needs all"):
        atlas.check(effects, task)
    with pytest.raises(ha.HeadAtlasError, match="the check 'probe' is not for gating maps"):
        atlas.check(gates, kind="probe")
    with pytest.raises(ha.HeadAtlasError, match="a check needs at least 2 questions, not 1"):
        atlas.check(gates, task, questions=1)


def test_a_check_is_stored_beside_the_map_and_does_not_touch_it(atlas, task, caplog):
    gates = atlas.map(GATING, task)
    (path,) = (atlas.folder / "maps").iterdir()
    before, stamp = path.read_bytes(), path.stat().st_mtime_ns
    assert atlas.result(gates) is None
    result = atlas.check(gates, task, questions=4)
    assert repr(atlas.result("gating")) == repr(result)  # NaN does not equal itself
    assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, stamp)
    assert "checked before" not in caplog.text
    assert repr(atlas.check(gates, questions=3)) == repr(result)  # fewer: known, needs no task
    assert "checked before" in caplog.text
    assert result.about.look == 1
    second = atlas.check(gates, task, questions=5)
    assert (second.about.requested, second.about.look) == (5, 2)
    assert second.toggling.level == pytest.approx(0.99)
    atlas.map(GATING, task, seeds=2)
    assert atlas.result("gating") is None  # the map has changed


def test_marks_of_a_check_are_joined_when_a_map_is_loaded_and_not_written_into_it(atlas, tmp_path):
    suite = ha.load_task(write_suite(tmp_path / "suite.jsonl"))
    method = ha.Probing(epochs=2)
    functions = atlas.map(method, suite)
    assert "causal" not in functions.data.coords
    (path,) = (atlas.folder / "maps").iterdir()
    before = path.read_bytes()
    result = atlas.check(functions, suite, questions=8)
    assert path.read_bytes() == before
    for marked in (atlas.load("probing"), atlas.map(method, suite)):
        assert marked.data["causal"].dims == ("function",)
        assert marked.provenance["causal_questions"] == result.questions
    assert "causal" not in load_map(path).data.coords
    assert path.read_bytes() == before
    atlas.map(method, suite, seeds=2)  # another map: the check was not of this one
    assert "causal" not in atlas.load("probing").data.coords


def test_files_that_are_being_written_are_neither_maps_nor_results(atlas, task):
    gates = atlas.map(GATING, task)
    atlas.check(gates, task, questions=2)
    for name in ("maps/.part-elsewhere-1-x.nc", "checks/.part-elsewhere-1-x.json"):
        (atlas.folder / name).write_text("half")
    assert atlas.names == [gates.name]
    assert "1 map" in repr(atlas)
    assert atlas.plot("toggling") is not None


def test_a_result_of_another_version_is_not_drawn(atlas, task, caplog):
    atlas.check(atlas.map(GATING, task), task, questions=4)
    (path,) = (atlas.folder / "checks").glob("*.json")
    content = json.loads(path.read_text())
    content["about"]["version"] -= 1
    path.write_text(json.dumps(content))
    with pytest.raises(ha.HeadAtlasError, match="holds none"):
        atlas.plot("toggling")
    assert "it is of another version" in caplog.text
