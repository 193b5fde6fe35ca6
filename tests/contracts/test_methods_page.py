"""What the page of methods says, from leaderboards whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import methods_page
from plots.made_up import leaderboard


def board():
    """Attribution takes a tenth of ablation's passes; its CPR is 0.4 lower."""
    made = leaderboard()
    names = {"ablation": ("ablation (mean)", 640.0), "attention": ("attribution", 64.0)}
    rows = [
        replace(row, method=names[row.method][0], forward_passes=names[row.method][1])
        for row in made.rows
    ]
    return replace(made, rows=tuple(rows))


def test_sentences_name_the_uses_the_replacement_the_cost_and_the_models():
    found = methods_page.sentences({"methods": board(), "methods-gemma": board()})
    assert len(found) == 6
    assert "To find a small circuit, trust ablation (mean): on 2 of 2 tasks" in found[0]
    assert "maps that were made with the same replacement" in found[3]
    assert "takes 10.0% of the forward passes" in found[4]
    assert "lower by 0.40 on average over 2 tasks" in found[4]
    assert "ablation (mean) on Gemma-3-270M" in found[5]


def test_a_row_marks_what_serves_and_leaves_out_what_is_not_known():
    best, behind = board().rows[:2]
    assert methods_page._score(best, "cpr") == "**0.70*** (0.60 … 0.80)"
    assert methods_page._score(behind, "cpr") == "0.30* (0.20 … 0.40)"
    assert methods_page._cost(replace(best, seconds=float("nan"))) == ["0.90", "640", ""]
