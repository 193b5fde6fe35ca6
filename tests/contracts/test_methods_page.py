"""What the page of methods says, from leaderboards and maps whose answer is known."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import methods_page
import methods_sentences
from headatlas.maps import save_map
from plots.made_up import ablation_map, change, leaderboard

TASKS = ("ioi", "math", "syntax", "induction")


def board(lost=(0.4, 0.4, 0.4, 0.4)):
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


LOWER, HIGHER = (0.40, 0.41, 0.39, 0.40), (-0.40, -0.41, -0.39, -0.40)


def test_five_sentences_name_the_uses_the_cost_and_the_models():
    found = methods_page.sentences({"methods": board(LOWER), "methods-gemma": board(LOWER)})
    assert len(found) == 5
    assert "trust ablation (mean)" in found[0]
    assert "SmolLM2-135M-Instruct: Attribution takes 10.0% of the forward passes" in found[3]
    assert "ablation (mean) (on 4 of 4 tasks) on Gemma-3-270M" in found[4]


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        (LOWER, "lower by 0.40 on average over 4 tasks (0.39 … 0.41)"),
        (HIGHER, "higher by 0.40 on average over 4 tasks (0.39 … 0.41)"),
        ((0.4, -0.3, 0.2, -0.1), "not shown to differ (-0.05 on average over 4 tasks; -0.54"),
        ((0.4,) * 4, "not shown to differ (-0.40 on average over 4 tasks; no interval)"),
    ],
)
def test_the_estimate_is_called_lower_or_higher_only_where_an_interval_shows_it(lost, words):
    assert f"its CPR is {words}" in methods_sentences.cost_sentence(board(lost))


def test_cost_is_not_compared_where_no_task_has_both_maps():
    made = board()
    rows = tuple(row for row in made.rows if row.method == "attribution")
    assert "not compared" in methods_sentences.cost_sentence(replace(made, rows=rows))


def test_models_differ_only_where_two_methods_are_shown_in_opposite_orders():
    same = methods_sentences.models_sentence({"A": board(LOWER), "B": board(LOWER)})
    assert "not shown to differ" in same
    assert "Models differ" not in same
    other = methods_sentences.models_sentence({"A": board(LOWER), "B": board(HIGHER)})
    assert "Models differ: ablation (mean) is above attribution on A and below it on B" in other
    unsure = methods_sentences.models_sentence({"A": board(LOWER), "B": board((-1, 1, -1, 0.1))})
    assert "not shown to differ" in unsure
    assert "One model" in methods_sentences.models_sentence({"A": board(LOWER)})


def test_the_more_pairs_of_methods_the_surer_an_order_must_be():
    """Four tasks show a difference of 0.1 ± 0.04 between two methods, but not among 28 pairs."""
    lost = (0.05, 0.15, 0.08, 0.12)
    boards = {"A": board(lost), "B": board([-one for one in lost])}
    assert methods_sentences.opposite_orders(boards)

    def with_more(made):
        more = [
            replace(row, method=f"method {i}")
            for i in range(6)
            for row in made.rows
            if row.method == "attribution"
        ]
        return replace(made, rows=(*made.rows, *more))

    assert not methods_sentences.opposite_orders({k: with_more(b) for k, b in boards.items()})


def test_no_method_is_named_first_where_none_serves():
    made = board(LOWER)
    nothing = dict.fromkeys(made.rows[0].beats_chance)
    rows = tuple(replace(row, beats_chance=nothing) for row in made.rows)
    said = methods_sentences.models_sentence({"A": replace(made, rows=rows), "B": made})
    assert "none on A; ablation (mean) (on 4 of 4 tasks) on B" in said


def test_methods_that_serve_on_as_many_tasks_are_all_named():
    made = board(LOWER)
    none_better = made.rows[0].better_maps
    rows = tuple(replace(row, better_maps=none_better) for row in made.rows)
    said = methods_sentences.models_sentence({"A": replace(made, rows=rows)})
    assert "ablation (mean), attribution (on 4 of 4 tasks) on A" in said


def test_a_row_marks_what_serves_and_leaves_out_what_is_not_known():
    best, behind = board().rows[:2]
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
