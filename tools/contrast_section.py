"""The section of docs/results/gating.md on contrastive gating."""

from __future__ import annotations

import json
from math import isnan
from statistics import fmean

import headatlas as ha
from markdown import table, text
from stored import RESULTS


def contrasts() -> ha.ContrastCheck:
    """The stored accuracies of contrastive gating."""
    (path,) = (RESULTS / "contrast" / "checks").glob("*.contrast.json")
    return ha.ContrastCheck.from_dict(json.loads(path.read_text(encoding="utf-8")))


def _change(before: float, after: float, interval: tuple[float, float]) -> str:
    if isnan(after):  # the model cannot do it, and no gates were learned
        return f"{before:.0%}"
    return f"{before:.0%} → {after:.0%} ({100 * interval[0]:.0f}–{100 * interval[1]:.0f})"


def _shuffled(accuracies: tuple[float, ...]) -> str:
    """Mean and range of the draws."""
    if not accuracies:
        return ""
    low, high = 100 * min(accuracies), 100 * max(accuracies)
    return f"{fmean(accuracies):.0%} ({low:.0f}–{high:.0f})"


def _control(draws: int) -> str:
    """What the control is, and what can be read from it."""
    if not draws:
        return (
            "These results were stored before gates shuffled within layers were measured as a "
            "control: how far shuffled gates would do the same is not known, and the verdicts do "
            "not allow for it."
        )
    return (
        "*Shuffled* is the control: the same gates permuted among the heads of every layer, on the "
        f"same questions, mean and range of {draws} draws. Where shuffled gates forget as much, "
        "forgetting alone says nothing about which heads were chosen. A pair holds only if "
        "retained − forgotten accuracy under the learned gates is above that of every draw; if "
        f"not, it is inconclusive. By chance alone it would be above all {draws} in 1 of "
        f"{draws + 1} cases, so that passing is necessary and proves little by itself."
    )


def contrast_section() -> list[str]:
    """Contrastive gating, leaving one task out."""
    check = contrasts()
    pairs = check.contrasts
    rows = [
        [
            row.retain,
            row.forget,
            _change(row.retain_before, row.retain_after, row.retain_after_interval),
            _shuffled(row.retain_shuffled),
            _change(row.forget_before, row.forget_after, row.forget_after_interval),
            _shuffled(row.forget_shuffled),
            row.verdict,
        ]
        for row in pairs
    ]
    seeds = max(row.seeds for row in pairs)
    over = (
        f"questions (clustered by few-shot prompt) and {seeds} seeds"
        if seeds > 1
        else "questions, for the gates of one seed"
    )
    (summary,) = check.summary()
    return [
        "## Contrast: one form kept, the other forgotten",
        text(
            "`headatlas contrast`: gates learned from other tasks and tested on one that they have "
            f"not seen; exact answers to up to {max(row.questions for row in pairs)} test "
            f"questions, with 95 % intervals over {over}. A pair holds if the intervals show that "
            "the forgotten form loses at least 80 % of its accuracy and that the retained one "
            "keeps at least 60 %; it does not hold if they show the opposite of one; otherwise it "
            "is inconclusive. Gates are picked along a fit on `select` questions of the pairs that "
            "it learns from. The model can do a form if the lower bound of its accuracy lies at "
            "least 0.1 above chance. Where all seeds give all or none of the answers, the interval "
            "speaks of these seeds only. The length of the fits was chosen with these pairs in "
            "view. Verdicts are not corrected for their number, and pairs share the tasks that "
            "gates are learned from, so that they are not independent tries."
        ),
        text(_control(max(len(row.retain_shuffled) for row in pairs))),
        table(
            [
                "retain",
                "forget",
                "accuracy, retained",
                "retained, shuffled",
                "accuracy, forgotten",
                "forgotten, shuffled",
                "verdict",
            ],
            rows,
        ),
        text(f"{summary[0].upper()}{summary[1:]}."),
        "![Accuracy before and after contrastive gating](contrast/figures/accuracy.png)",
    ]
