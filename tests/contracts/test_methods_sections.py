"""The sections on agreement, mediation and speed, from results whose answer is known."""

from __future__ import annotations

import json
from dataclasses import replace
from math import nan

import stored
import sweep_section
from agreement_section import agreement_rows, agreement_section
from mediation_section import mediation_section, most_seeds
from plots.made_up import comparison, mediation


def of_tasks(**correlations):
    """A comparison of two methods on every task, with its correlation."""
    made = comparison(names=(None,), kinds=("gating", "ablation"))
    (row,) = made.rows
    return [
        replace(
            made,
            task=task,
            method="gating / ablation",
            rows=(
                replace(
                    row,
                    spearman=value,
                    within=value / 2,
                    reliability=(0.64, 0.64),
                    within_reliability=(0.25, 0.25),
                ),
            ),
        )
        for task, value in correlations.items()
    ]


def test_correlations_are_means_over_tasks_beside_their_ceiling():
    (cells,) = agreement_rows(of_tasks(ioi=0.2, aba=0.6))
    maps, tasks, correlation, ceiling, _, within, ceiling_within = cells
    assert (maps, tasks) == ("ablation – gating", "2")
    assert correlation == "+0.40 (+0.20 … +0.60)"
    assert within == "+0.20"
    assert (ceiling, ceiling_within) == ("0.64", "0.25")


def test_what_is_not_known_is_left_empty():
    (made,) = of_tasks(ioi=0.2)
    row = replace(made.rows[0], reliability=(nan, nan), disattenuated=nan)
    ((_, _, _, ceiling, without_noise, *_),) = agreement_rows([replace(made, rows=(row,))])
    assert (ceiling, without_noise) == ("", "")


def test_only_different_methods_on_one_task_are_counted():
    (made,) = of_tasks(ioi=0.2)
    others = [replace(made, task="ioi / aba"), replace(made, method="gating")]
    assert agreement_rows(others) == []
    assert agreement_section({"A": others}) == []
    assert "### B" in agreement_section({"A": others, "B": [made]})


def test_of_a_task_the_gating_map_of_most_seeds_is_tested():
    few, many, other = mediation(seeds=2), mediation(seeds=10), mediation(task="ioi")
    assert most_seeds([many, other, few]) == [other, many]
    words = " ".join("\n".join(mediation_section({"A": [few, many]})).split())
    assert "10 seeds" in words
    assert "2 seeds" not in words
    assert mediation_section({"A": []}) == []


def test_a_benchmark_of_the_sweep_is_a_table_of_ratios(tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "RESULTS", tmp_path)
    assert sweep_section.sweep_section() == []
    turns = [{"times_faster": ratio} for ratio in (28.0, 32.0)]
    lens = {"version": "4.3.0", "seconds_scaled_to_all_heads": 3000.0, "times_faster": 30.0}
    lens |= {"largest_difference": 2e-5, "measured_heads": 2, "turns": turns}
    bench = {"heads": 270, "examples": 64, "task": "singular-plural", "threads": 2}
    bench |= {"seconds": {"sweep": 100.0, "loop of whole passes": 185.0}, "times_faster": 1.85}
    bench |= {"largest_difference": 0.0, "transformer_lens": lens}
    (tmp_path / sweep_section.RECORD).write_text(json.dumps(bench), encoding="utf-8")
    section = "\n".join(sweep_section.sweep_section())
    assert "| loop of whole passes | 185 | 1.85 × | 0.0e+00 |" in section
    assert "| TransformerLens 4.3.0 | 3000 | 30.0 × (28.0–32.0) | 2.0e-05 |" in section
