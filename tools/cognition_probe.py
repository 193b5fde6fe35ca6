"""The sections of docs/results/cognition.md on the probe: what it reads, and from which heads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cognition_runs import runs
from headatlas.checks.results.probe import TEXTS
from headatlas.maps.functions import head_counts
from headatlas.runs.causes import EXAMPLES
from markdown import table, text


def probe_section() -> Iterator[str]:
    """How good the probe is, beside what needs no heads."""
    yield "## How good is the probe?"
    yield text(
        "Accuracy on the test split, with 95 % intervals over questions. Text classifiers see what "
        "the probe's states may hold: the prompt, the last step, the answer, or all of it; the "
        "*strongest* is the one with the highest accuracy on these very test questions, so that "
        "the choice favours text. *Embeddings* and *residual stream* are linear probes of the same "
        "tokens, before the first layer and after some of the layers; what they reach needs no "
        "look at single heads (the probe of heads has a hidden layer, so that it may reach more "
        "for that alone). *Number and length of the step* say where in its question a step stands; "
        "the gain over *shuffled labels* is the probe's selectivity. Every row is judged for "
        "itself, at 95 % and without a correction for their number."
    )
    for run in runs():
        report = run.report
        gain, majority = report.over_text, report.controls["majority"].accuracy
        yield text(
            f"{run.title}: the probe reaches {report.accuracy:.1%} ({report.low:.1%} … "
            f"{report.high:.1%}) of {report.examples} steps of {report.questions} questions, mean "
            f"of {report.seeds} seeds; chance is {report.chance:.1%}, the most common function "
            f"{majority:.1%}. The strongest text ({TEXTS[report.strongest_text]}) reaches "
            f"{gain.accuracy:.1%}: a gain of **{gain.gain_text}**, {gain.verdict}."
        )
        rows = [
            [words, f"{control.accuracy:.1%}", control.gain_text, control.verdict]
            for words, control in report.rows()
        ]
        yield table(["compared with", "accuracy", "the probe's gain", ""], rows)
    for run in runs():
        report = run.report
        yield f"Confusion on {run.title}, percent of each function's steps (row) taken for another:"
        confusion = zip(report.functions, report.confusion, strict=True)
        yield table(
            ["", *report.functions],
            [[name, *(f"{100 * share:.0f}" for share in row)] for name, row in confusion],
        )


def counts_section() -> Iterator[str]:
    """How many heads count, by both rules."""
    yield "## How many heads count?"
    yield text(
        "*Elbow*: heads before the bend of the sorted curve, as in the paper, which reports under "
        "7 % of the heads for every function. The bend of one curve depends on its two ends, so "
        "the median over 200 maps is taken whose seeds and questions are drawn again, and in "
        "brackets where 95 % of them have it. *Beyond chance*: heads whose activations, counted "
        "from their mean, are associated with the labels in every seed, more than labels shuffled "
        "within questions let any head (p ≤ 0.05, corrected for the number of heads). The elbow "
        "always finds heads, also where chance would do as well. The test is a weak one: it has "
        "the `select` steps alone, a few dozen of a function, and asks for all seeds; that no head "
        "passes does not show that none distinguishes the function."
    )
    for run in runs():
        head_map = run.head_map
        heads = int(np.isfinite(head_map["importance"].isel(function=0, seed=0)).sum())
        rows = [
            [
                name,
                f"{count.elbow} ({count.elbow_low} … {count.elbow_high})",
                f"{count.elbow / heads:.0%}",
                str(count.significant),
                str(count.both),
            ]
            for name, count in head_counts(head_map).items()
        ]
        yield f"{run.title}, of {heads} heads:"
        yield table(["function", "elbow", "of all heads", "beyond chance", "both"], rows)


def causes_section() -> Iterator[str]:
    """Agreement of probing and ablation, beside its ceiling."""
    compared = [(run, run.causes) for run in runs()]
    if any(causes for _, causes in compared):
        yield "## Does reading predict removing?"
    for run, causes in compared:
        if not causes:
            continue
        yield text(
            f"{run.title}: rank correlation over heads between importance (probing) and the fall "
            "of log-probability when a head is removed (ablation), for every function's own "
            "examples, with 95 % bootstrap intervals over layers; *within layers* the same with "
            "every layer's mean subtracted. Ablation uses the steps of whole test questions, at "
            f"least {EXAMPLES} over all functions (of `cognition`, whose questions have 16 steps, "
            "those of six questions). Both maps are noisy, and noise makes a correlation smaller "
            "than it is: the *reliability* of each is the correlation of its halves (other "
            "questions; for probing also other seeds), stepped up by Spearman and Brown (for "
            "probing by the number of seeds, so that *without noise* is rather too small), the "
            "*ceiling* the root of their product, and *without noise* the correlation divided by "
            "it. *Top heads*: share of the 20 largest that both have, and how often chance gives "
            "as many. Intervals are for these questions and these probes; functions share them, "
            "and rows are not corrected for their number. Removal lowers the probability of "
            "answers that the untouched model mostly does not give: it is not the loss of an "
            "ability."
        )
        rows = [
            [
                str(row.function),
                f"{row.spearman:+.2f} ({row.low:+.2f} … {row.high:+.2f})",
                " / ".join("–" if np.isnan(value) else f"{value:.2f}" for value in row.reliability),
                f"{row.ceiling:.2f}" if np.isfinite(row.ceiling) else "–",
                _known(row.disattenuated)
                + (
                    f" ({row.disattenuated_low:+.2f} … {row.disattenuated_high:+.2f})"
                    if np.isfinite(row.disattenuated_low)
                    else ""
                ),
                f"{row.within:+.2f} ({row.within_low:+.2f} … {row.within_high:+.2f})",
                f"{row.top_overlap:.0%} ({row.top_expected:.0%}, p = {row.top_p:.2g})",
            ]
            for row in causes.rows
        ]
        columns = ["all heads", "reliability", "ceiling", "without noise", "within layers"]
        chance = "top heads (by chance)"
        yield table(["function", *columns, chance], rows)
        yield f"![Reading and removing]({run.folder.name}/figures/causes.png)"
        above = sum(row.low > 0 for row in causes.rows)
        below = sum(row.high < 0 for row in causes.rows)
        inside = sum(row.within_low > 0 for row in causes.rows)
        shared = sum(row.top_p <= 0.025 for row in causes.rows)
        whole, within, top, by_chance = (
            float(np.mean([getattr(row, key) for row in causes.rows]))
            for key in ("spearman", "within", "top_overlap", "top_expected")
        )
        known = [row for row in causes.rows if np.isfinite(row.ceiling)]
        ceiling = (
            f" (for the {len(known)} functions whose maps reproduce at all "
            f"{np.mean([row.spearman for row in known]):+.2f}, where maps that differ by noise "
            f"alone would reach about {np.mean([row.ceiling for row in known]):.2f})"
            if known
            else ""
        )
        yield text(
            f"Importance and removal correlate at {whole:+.2f} on average{ceiling}: above 0 for "
            f"{above} of {len(causes.rows)} functions and below for {below}; within layers at "
            f"{within:+.2f}, above 0 for {inside}. Of the 20 most important heads {top:.0%} are "
            f"among the 20 whose removal harms most (by chance {by_chance:.0%}, with as many in "
            f"every layer), more than chance for {shared} (p ≤ 0.025, not corrected for the number "
            "of functions)."
        )


def _known(value: float) -> str:
    return f"{value:+.2f}" if np.isfinite(value) else "–"
