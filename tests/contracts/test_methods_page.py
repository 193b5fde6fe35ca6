"""What the page of methods says, from leaderboards and maps whose answer is known."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import methods_page
import methods_sentences
from checks.test_leaderboard import judged
from headatlas.checks.yardstick.leaderboard import rank_maps
from headatlas.maps import save_map
from plots.made_up import ablation_map, change, leaderboard

TASKS = ("ioi", "math", "syntax", "induction")


LOWER, HIGHER = (0.40, 0.41, 0.39, 0.40), (-0.40, -0.41, -0.39, -0.40)


def board(lost=LOWER):
    """Attribution takes a tenth of ablation's passes; its CPR is lower by `lost` on every task."""
    ablation, attribution = leaderboard().rows[:2]
    rows = []
    for task, less in zip(TASKS, lost, strict=True):
        rows += [
            replace(ablation, task=task, method="ablation (mean)", forward_passes=640.0),
            replace(
                attribution,
                task=task,
                method="attribution",
                scores=attribution.scores | {"cpr": change(0.7 - less)},
            ),
        ]
    return replace(leaderboard(), rows=tuple(rows))


def pair(lost, noise=0.02):
    """Results of two methods on four tasks; attribution keeps less by what is `lost`."""
    return [
        replace(judged(method, 0.6 - less, noise=noise, task=task, seed=number), method=method)
        for number, (task, lack) in enumerate(zip(TASKS, lost, strict=True))
        for method, less in (("ablation (mean)", 0.0), ("attribution", lack))
    ]


def test_five_sentences_name_the_uses_the_cost_and_the_models(monkeypatch):
    results = {"methods": pair(LOWER), "methods-gemma": pair(LOWER)}
    monkeypatch.setattr(methods_page, "_results", lambda run, *_: results[run])
    found = methods_page.sentences({run: rank_maps(own, {}) for run, own in results.items()})
    assert len(found) == 5
    assert "trust ablation (mean)" in found[0]
    assert "SmolLM2-135M-Instruct: Attribution takes 100.0% of the forward passes" in found[3]
    assert "ablation (mean) on SmolLM2-135M-Instruct; ablation (mean) on Gemma-3-270M" in found[4]


@pytest.mark.parametrize(
    ("results", "words"),
    [
        (pair(LOWER), "its mean CPR is lower (-0."),
        (pair(HIGHER), "its mean CPR is higher (+0."),
        (pair((0.0,) * 4, noise=0.5), "its mean CPR is not shown to differ ("),
    ],
)
def test_the_estimate_is_called_lower_or_higher_only_where_that_is_shown(results, words):
    assert words in methods_sentences.cost_sentence(rank_maps(results, {}))


def test_cost_is_not_compared_where_no_task_has_both_maps():
    results = [one for one in pair(LOWER) if one.method == "attribution"]
    said = methods_sentences.cost_sentence(rank_maps(results, {}))
    assert "no tasks in common" in said


def test_models_differ_only_where_two_methods_are_shown_in_opposite_orders():
    same = methods_sentences.models_sentence({"A": pair(LOWER), "B": pair(LOWER)})
    assert "not shown to differ" in same
    other = methods_sentences.models_sentence({"A": pair(LOWER), "B": pair(HIGHER)})
    assert "Models differ: ablation (mean) is above attribution on A and below it on B" in other
    unsure = pair((0.0,) * 4, noise=0.5)
    assert "not shown to differ" in methods_sentences.models_sentence(
        {"A": pair(LOWER), "B": unsure}
    )
    assert "One model" in methods_sentences.models_sentence({"A": pair(LOWER)})


def test_models_are_compared_on_what_they_share():
    more = [replace(one, method="gating") for one in pair(LOWER) if one.method == "attribution"]
    fewer = [one for one in pair(LOWER) if one.about.task != "math"]
    boards = methods_sentences.shared_boards({"A": [*pair(LOWER), *more], "B": fewer})
    assert [board.tasks for board in boards.values()] == [("ioi", "syntax", "induction")] * 2
    assert {method for board in boards.values() for method in board.methods} == {
        "ablation (mean)",
        "attribution",
    }


def test_a_row_marks_what_serves_and_leaves_out_what_is_not_known():
    best, behind = board().rows[:2]
    unknown = change(float("nan"))
    assert methods_page._score(replace(best, scores={"cpr": unknown}), "cpr") == ""
    assert methods_page._score(best, "cpr") == "**0.70*** (0.60 … 0.80)"
    assert methods_page._score(behind, "cpr") == "0.30* (0.20 … 0.40)"
    assert methods_page._cost(replace(best, seconds=float("nan"))) == ["0.90", "640", ""]


@pytest.fixture
def results(tmp_path, monkeypatch):
    """An empty folder in place of docs/results/."""
    for module in ("methods_page", "stored"):
        monkeypatch.setattr(f"{module}.RESULTS", tmp_path)
    return tmp_path


def store_map(results, run, **settings):
    head_map = ablation_map(task="ioi", settings={"examples": 16, **settings}, examples_used=16)
    folder = results / run / "maps"
    folder.mkdir(parents=True)
    save_map(head_map, folder / "one.nc")


def test_the_page_is_written_where_models_or_leaderboards_are_missing(results):
    assert "There is no leaderboard here yet" in methods_page.page()
    store_map(results, "methods-gemma", replacement="mean")
    page = methods_page.page()
    assert "Gemma-3-270M" in page
    assert "SmolLM2" not in page
    assert "In five sentences" not in page
    (results / "methods-gemma" / "checks").mkdir()
    path = results / "methods-gemma" / "checks" / "leaderboard.json"
    path.write_text(json.dumps(board(LOWER).as_dict()))
    page = " ".join(methods_page.page().split())
    assert "On Gemma-3-270M: To find a small circuit" in page
    assert "There is no leaderboard here yet" not in page
    assert "4 tasks, up to 24 test questions each." in page


def test_the_page_states_how_maps_were_made_and_how_many_questions_judge_them(results):
    store_map(results, "methods", replacement="mean", positions="last")
    page = " ".join(methods_page.page().split())
    row = "| ablation (mean, last) | ioi | 2 | 16 | positions last, replacement mean |"
    assert row in page
    assert "SmolLM2-135M-Instruct:" in page
