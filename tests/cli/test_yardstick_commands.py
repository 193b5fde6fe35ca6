"""Maps of several methods that are checked by the yardstick at once."""

from __future__ import annotations

import pytest

import headatlas as ha
from headatlas.runs.atlas import Atlas
from small_things import save_tiny_folder, write_task


@pytest.fixture(scope="module")
def judged(tmp_path_factory, tiny_folder, tasks):
    """A folder with two maps of one task, and one of a task that has only test questions."""
    out = tmp_path_factory.mktemp("judged")
    few = write_task(tmp_path_factory.mktemp("few") / "few.jsonl", count=5)
    atlas = ha.Atlas(out, model=tiny_folder, progress=None)
    for method in (ha.Ablation(examples=4), ha.Attribution(examples=4)):
        atlas.map(method, tasks[0], baseline=False)
    atlas.map(ha.Ablation(examples=4), few, baseline=False)
    return out, tasks[0], few


def words(folder, *tasks):
    given = [word for task in tasks for word in ("--task", task)]
    return ("check", folder, "--kind", "faithfulness", *given)


def test_maps_with_other_questions_are_left_out_and_told(headatlas, judged, quick_output):
    folder, task, _ = judged
    named = ("--map", "a.ablation", "--map", "attribution")
    assert headatlas(*words(folder, task), "--questions", 4, *named)[0] == 0
    code, printed, error = headatlas(*words(folder, task), "--questions", 6, "--map", "attribution")
    assert code == 0, error
    assert "(judged on other questions)" in printed
    assert printed.index("shuffled within layers; all heads") < printed.index("Not ranked")


def test_results_are_shown_before_a_leaderboard_fails(headatlas, judged, quick_output, monkeypatch):
    def fails(self, **options):
        raise ha.HeadAtlasError("no leaderboard today.")

    monkeypatch.setattr(Atlas, "leaderboards", fails)
    folder, task, _ = judged
    code, printed, error = headatlas(*words(folder, task), "--questions", 4)
    assert code == 2
    assert "no leaderboard today" in error
    assert "orders shuffled within layers" in printed


def test_a_map_of_test_questions_is_passed_over_unless_it_is_named(headatlas, judged, quick_output):
    folder, task, few = judged
    code, _, error = headatlas(*words(folder, task, few), "--questions", 4)
    assert code == 0, error
    assert "'few' has no others, so add questions (from 8 on they are divided)" in " ".join(
        error.split()
    )
    named = ("--questions", 4, "--map", "few", "--map", "attribution")
    code, _, error = headatlas(*words(folder, task, few), *named)
    assert code == 2
    assert "error: not checked, for the reasons above: " in error


def test_a_model_that_joins_leaves_no_old_board(judged, tiny_folder, tmp_path):
    """The boards of two models have names of their own; that of one alone is gone."""
    _, task, _ = judged
    atlas = ha.Atlas(tmp_path / "out", model=tiny_folder, progress=None)

    def judge(study):
        made = study.map(ha.Ablation(examples=4), task, baseline=False)
        study.check(made, task, kind="faithfulness", questions=4)
        boards = study.leaderboards()
        return boards, sorted(path.name for path in (atlas.folder / "checks").glob("leader*"))

    boards, files = judge(atlas)
    assert (len(boards), files) == (1, ["leaderboard.json"])
    other = save_tiny_folder(tmp_path / "other", layers=2)
    boards, files = judge(ha.Atlas(atlas.folder, model=other, progress=None))
    assert len(boards) == len(files) == 2
    assert "leaderboard.json" not in files
    assert {f"{board.file_name}.json" for board in boards} == set(files)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"replacment": "zero"}, "no option 'replacment'"),
        ({"replacement": "median"}, "no replacement 'median'"),
        ({"measure": "diff"}, "diff"),
    ],
)
def test_options_of_a_leaderboard_that_there_are_not(judged, options, message):
    with pytest.raises(ha.HeadAtlasError, match=message):
        ha.Atlas(judged[0], progress=None).leaderboard(**options)


def test_specificity_of_one_task_says_what_it_needs(headatlas, judged, quick_output):
    folder, task, _ = judged
    code, _, error = headatlas("check", folder, "--kind", "specificity", "--task", task)
    assert code == 2
    assert "specificity needs maps of two or more tasks by one method" in " ".join(error.split())
