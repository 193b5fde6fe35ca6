"""The sections of docs/results/gating.md that intervene: toggling, and loss on test questions."""

from __future__ import annotations

from typing import Any

import numpy as np

import headatlas as ha
from headatlas.checks.gating.held_out import SELECT_QUESTIONS
from headatlas.stats.intervals import Change
from markdown import table, text
from stored import RESULTS, checks_of, maps_of

LETTERS = {"facilitation": "F", "interference": "N", "irrelevance": "R"}
WIDER = 1.5
"""How much wider intervals are made to see which verdicts would not survive."""

VERDICTS = {True: "yes", False: "no", None: "inconclusive"}


def toggling_section() -> list[str]:
    """Ordered toggling beside matched random heads."""
    checks = {**checks_of("gating"), **checks_of("default")}
    maps = {**maps_of("gating"), **maps_of("default")}
    rows = []
    for task, check in checks.items():
        toggling = check.toggling
        rows += [
            [
                task,
                str(curve.seeds),
                LETTERS[curve.score],
                f"{curve.toggled:.0f} of {curve.count:.0f}",
                _interval(curve.own),
                _interval(curve.control),
                f"{curve.size_ratio:.0%}",
                "" if curve.score == "irrelevance" else _interval(curve.difference),
                f"± {toggling.bound:.2f}" if curve.score == "irrelevance" else "",
                f"{allowed_by_push(maps[task], curve.count):.2f}"
                if curve.score == "irrelevance"
                else "",
                VERDICTS[check.holds[curve.score]],
            ]
            for curve in toggling.curves
        ]
    return [
        "## Do heads do what their scores say?",
        text(
            "Ordered toggling (`headatlas check`): starting from G⁺, heads with a score of at "
            "least 0.5 are set to 0 and, separately, to 1; the number is log P(target | 0) − log "
            "P(target | 1) on test questions, in nats per token. Verdicts are read at a number of "
            "heads fixed beforehand: for F and N a tenth of the model's heads, highest scores "
            "first (all of them where there are fewer), for R all. Beside them as many random "
            "heads of the same layers, which have neither that role nor (for F and N) the "
            "opposite one: each one of the four nearest in output size that are left. Few are "
            "left in most layers, so that they write less than the heads they stand for, and for "
            "R more (*size*: their mean, in percent of the others'). Heads without such a partner "
            "are toggled for R only; for F and N the next heads of the order take their places. F "
            "holds if the change and the difference lie below 0; N if both lie above 0; R if the "
            "change lies within the harmless bound, on average and in nine of ten seeds, and "
            "random heads do not (at most one draw in 20). The bound is a quarter of the "
            "untouched loss, or of the gain over other questions' targets where that is less, "
            "taken as given: the better a model does a task, the less may R change it. Anything "
            "else is inconclusive. A map of random heads fails (`tests/checks/test_toggling.py`); "
            "but the controls of F are heads that the same fits found droppable, so that any fit "
            "that carries over to new questions passes, and the order among F heads is not "
            "tested. For R the other heads are nearly all that "
            "the same layers have, mostly facilitating ones: that these do harm is hardly in "
            "doubt, and the test of R is the bound. *λ allows*: what the push itself counts as "
            "nothing, 4λ/H nats per head, times the number of heads; where that is more than the "
            "bound, heads may have been pushed aside rightly and still fail R together. Every "
            "verdict stands alone, without a correction for their number. *Look 1* is the first "
            "look at these maps. The rules were revised once after checks of maps of an earlier, "
            "shorter schedule had been seen, of these tasks among others and with the same test "
            "questions; the maps here were made and checked after that. This tests whether "
            "learned gates do on new questions what they did on those they were learned from, "
            "inside each seed's G⁺: it does not show that a head interferes in the untouched "
            "model."
        ),
        "\n".join(text(f"{task}: {_measured(check)}.", "- ") for task, check in checks.items()),
        table(
            [
                "task",
                "seeds",
                "score",
                "heads",
                "change",
                "random heads",
                "size",
                "difference",
                "harmless",
                "λ allows",
                "holds",
            ],
            rows,
        ),
        "\n".join(
            text(line, "- ")
            for line in [
                *_counted(checks),
                _beyond_reach(checks, maps),
                _wider(checks),
            ]
        ),
        *(
            f"![Toggling curves]({run}/figures/both.toggling.png)"
            for run in ("gating", "default")
            if (RESULTS / run / "figures" / "both.toggling.png").exists()
        ),
    ]


def allowed_by_push(head_map: ha.Map, heads: float) -> float:
    """What closing a number of heads may cost by the push alone, in nats: 4λ/H for each."""
    existing = int(np.isfinite(head_map["gate"].isel(seed=0)).sum())
    regularization = head_map.provenance["settings"]["regularization"]
    return float(4 * regularization / existing * heads)


def _beyond_reach(checks: dict[str, ha.GatingCheck], maps: dict[str, ha.Map]) -> str:
    """On which tasks R could hardly pass, since the push allows more than the bound."""
    tasks = [
        task
        for task, check in checks.items()
        for curve in check.toggling.curves
        if curve.score == "irrelevance"
        and allowed_by_push(maps[task], curve.count) > check.toggling.bound
    ]
    return (
        f"On {' and '.join(tasks) or 'no task'} λ allows more than the bound, so that R could "
        "hardly hold there."
    )


def _interval(change: Any) -> str:
    return f"{change.mean:+.2f} ({change.low:+.2f} … {change.high:+.2f})"


def _measured(check: ha.GatingCheck) -> str:
    """What a check of toggling rests on, and why it says nothing if it does not."""
    toggling = check.toggling
    left_out = {LETTERS[curve.score]: curve.left_out for curve in toggling.curves if curve.left_out}
    words = (
        f"look {check.about.look}, {toggling.scope}; {toggling.questions} questions after "
        f"{toggling.prefixes} few-shot prompts and {toggling.draws} draws per seed"
    )
    if left_out:
        counts = ", ".join(f"{number:.0f} of {letter}" for letter, number in left_out.items())
        words += f"; heads without a partner in their layer: {counts}"
    return "; ".join([words, *check.warnings])


def _counted(checks: dict[str, ha.GatingCheck]) -> list[str]:
    """On how many tasks each score holds, fails, or is inconclusive, by intervals."""
    lines = []
    for score in LETTERS:
        held = [check.holds[score] for check in checks.values()]
        lines.append(
            f"{score.capitalize()} holds on {held.count(True)} of {len(held)} tasks, fails on "
            f"{held.count(False)}, and is inconclusive on {held.count(None)}."
        )
    return lines


def _wider(checks: dict[str, ha.GatingCheck]) -> str:
    """What would still be shown with wider intervals, for readers who count earlier looks."""
    lost = []
    for task, check in checks.items():
        for curve in check.toggling.curves:
            if curve.score == "irrelevance" or not check.holds[curve.score]:
                continue
            if not all(_leaves_out_0(change, WIDER) for change in (curve.own, curve.difference)):
                lost.append(f"{LETTERS[curve.score]} on {task}")
        for row in check.held_out:
            change = Change(row.change, row.low, row.high)
            if row.gates == "G⁺" and row.lowers is not None and not _leaves_out_0(change, WIDER):
                lost.append(f"what G⁺ does on {task}")
    outcome = f"these would be inconclusive: {', '.join(lost)}" if lost else "nothing would change"
    return (
        "Whoever counts the earlier maps as a first look may want 99 % intervals, wider by 1.3 to "
        f"1.5 with ten seeds (by up to 1.7 with five). With all intervals wider by {WIDER:g}, of "
        f"the verdicts on F, N and G⁺ (below) {outcome}."
    )


def _leaves_out_0(change: Change, factor: float) -> bool:
    half_width = factor * (change.high - change.low) / 2
    return abs(change.mean) > half_width


def held_out_section() -> list[str]:
    """Loss on test questions."""
    rows, hard = [], []
    shown = ("untouched", "G", "G⁺", "G⁻")
    checks = {**checks_of("gating"), **checks_of("default")}
    for task, check in checks.items():
        by_gates = {row.gates: row for row in check.held_out}
        plus = by_gates["G⁺"]
        rows.append(
            [
                task,
                str(plus.seeds),
                *(f"{by_gates[name].loss:.3f}" for name in shown),
                f"{plus.change:+.3f} ({plus.low:+.3f} … {plus.high:+.3f})",
                f"{by_gates['untouched'].accuracy:.0%} → {plus.accuracy:.0%}",
            ]
        )
        hard += [_hard_row(task, by_gates, row) for row in check.held_out if row.thresholds]
    lowers = [
        row.lowers for check in checks.values() for row in check.held_out if row.gates == "G⁺"
    ]
    return [
        "## Held-out loss",
        text(
            "Nats per token on test questions that no gate has seen, means over seeds; intervals "
            "allow for few-shot prompts and questions, and from three seeds on for seeds. Accuracy "
            "counts targets that are given exactly, word for word (`math` has whole worked "
            "solutions as targets), and has no interval; [tasks.md](../tasks.md) counts the "
            "likeliest choice where a task has choices, on all test questions, and is higher."
        ),
        table(["task", "seeds", *shown, "change with G⁺", "accuracy with G⁺"], rows),
        text(
            f"G⁺ lowers the loss on {lowers.count(True)} of {len(lowers)} tasks, raises it on "
            f"{lowers.count(False)}, and on {lowers.count(None)} it is inconclusive."
        ),
        text(
            "Hard gates are 0 or 1, cut at the threshold (0.05, 0.15 … 0.95) with the lowest loss "
            f"on {SELECT_QUESTIONS} `select` questions, for each seed. They work if the loss on "
            "test questions is at most the harmless bound above that of the untouched model. For "
            "G⁺, which keeps nearly all heads, that is easily done; whether a small set of heads "
            "is enough is asked by G⁻. Losses on `select` are of these few questions, and not to "
            "be compared with those on test questions."
        ),
        table(
            [
                "task",
                "gates",
                "heads on",
                "threshold",
                "soft",
                "hard",
                "untouched",
                "change when hard",
                "seeds that work",
                "select loss at the threshold (untouched model)",
                "works",
            ],
            hard,
        ),
    ]


def _hard_row(task: str, by_gates: dict[str, Any], row: Any) -> list[str]:
    soft = by_gates[row.gates.removesuffix(" (hard)")]
    low, high = min(row.thresholds), max(row.thresholds)
    return [
        task,
        soft.gates,
        f"{row.heads_on:.0%}",
        f"{low:.2f}" if low == high else f"{low:.2f} … {high:.2f}",
        f"{soft.loss:.3f}",
        f"{row.loss:.3f}",
        f"{row.untouched:.3f}",
        f"{row.change:+.3f} ({row.low:+.3f} … {row.high:+.3f})",
        f"{row.working} of {row.seeds}",
        f"{row.select_loss:.3f} ({row.select_untouched:.3f})",
        VERDICTS[row.works],
    ]
