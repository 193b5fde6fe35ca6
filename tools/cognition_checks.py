"""The sections of docs/results/cognition.md that intervene: do the heads of a function matter?"""

from __future__ import annotations

from collections.abc import Iterator

import headatlas as ha
from cognition_runs import runs
from headatlas.checks.results.functions import MaskingRow, change_text
from headatlas.checks.results.verdict import HOLDS
from headatlas.maps.functions import CAUSAL
from headatlas.stats.intervals import Change
from markdown import table, text

MIN_STEPS = 10
"""Steps from which an accuracy has an interval."""

CLAIMS = {
    "masking": (
        "1. Masking a function's heads harms it more than masking random heads.",
        "own heads minus random heads",
    ),
    "shuffled": (
        "1b. … more than masking the heads of a probe that learned shuffled labels.",
        "own heads minus those heads",
    ),
    "specificity": (
        "2. Masking a function's heads harms it more than masking other functions' heads.",
        "own heads minus other functions' heads",
    ),
    "order": (
        "3. High-order functions depend on low-order functions' heads more than the reverse.",
        "low → high minus high → low",
    ),
    "strengthening": (
        "4. Pushing a function's heads along its direction improves it, more than other pushes.",
        "change",
    ),
}


def claims_section() -> Iterator[str]:
    """The four published claims, in a sentence each."""
    yield "## The paper's four claims"
    rows = []
    for name, (claim, what) in CLAIMS.items():
        for run in runs():
            check = run.check
            outcome = check and check.claims[name]
            if not check or not outcome:
                continue
            also = "".join(
                f"; {words} {change_text(change)}" for words, change in outcome.also.items()
            )
            remark = _masking_remark(check) if name == "masking" else ""
            rows.append(
                [
                    claim,
                    run.title,
                    f"**{HOLDS[outcome.holds]}**",
                    f"{what}: {change_text(outcome.change)}{also}{remark}",
                    f"{check.examples} steps of {check.questions} questions, look "
                    f"{check.about.look}, {100 * check.level:g} %",
                ]
            )
    yield text(
        "Over the test steps that were checked, in nats per token of the answer, with intervals "
        "over questions and over sets of heads: an interval also covers what other random heads, "
        "or the same sets of heads under other functions' names, might do, so that a map of random "
        "heads seldom passes. A claim *holds* if its interval lies on the claimed side of 0, *does "
        "not hold* if on the other, and *is inconclusive* if it contains 0. Order needs two such "
        "numbers, the difference and the comparison on the same steps, strengthening three; such a "
        "claim does not hold if one of them lies on the other side. The intervals of single "
        "directions (low → high, high → low) are over questions only, and decide nothing."
    )
    yield table(["claim", "data", "on this model", "number", "from"], rows)


def _masking_remark(check: ha.FunctionCheck) -> str:
    """For how many functions masking shows it by itself, and how unlike the random heads are."""
    alone = [row.function for row in check.masking if row.holds]
    sizes = [row.size_ratio for row in check.masking]
    which = f" ({', '.join(alone)})" if alone else ""
    return (
        f"; shown for {len(alone)} of {len(check.masking)} functions alone{which}; random heads "
        f"write {min(sizes):.0%} to {max(sizes):.0%} as much: if their effect grew with that, "
        f"{change_text(_at_equal_size(check))}"
    )


def _at_equal_size(check: ha.FunctionCheck) -> Change:
    """The pooled difference of masking if random heads wrote as much and their effect grew alike.

    Every function's mean over draws is divided by its size ratio; functions count by their steps,
    and the interval is as wide as that of the claim.
    """
    pooled = check.claims["masking"].change
    steps = sum(row.examples for row in check.masking)
    shift = sum(
        row.examples / steps * row.control * (1 - 1 / row.size_ratio) for row in check.masking
    )
    return Change(pooled.mean + shift, pooled.low + shift, pooled.high + shift)


def masking_section() -> Iterator[str]:
    """Masking against random heads."""
    yield "## Mask a function's heads"
    yield text(
        "Change of the mean log-probability of the function's test answers when the heads before "
        "its elbow are masked (gate 0 at all positions), beside random heads of the same layers "
        "that exclude them, each among the nearest in the size of what it writes; *size* is the "
        "mean size of these relative to the masked heads. A layer with too few others keeps its "
        "most important heads only. The interval of the difference is over questions and over "
        "draws, and covers what a further draw might do; verdicts are corrected for the number of "
        "functions. Where a few heads matter very much, random heads that hold one of them pass a "
        "single row more often than the level says, so trust the pooled claim first. *Shuffled*: "
        "own heads minus as many heads of a probe that learned shuffled labels, over questions. "
        "Accuracy: answers given exactly, and how masking own and random heads changes that; the "
        f"interval is of the difference, and left out under {MIN_STEPS} steps. A star in the "
        "figure of the map comes from the corrected verdict in the last column."
    )
    for run in runs():
        if not (check := run.check):
            continue
        rows = [
            [
                row.function,
                f"{row.heads} of {row.chosen}",
                f"{row.change.mean:+.3f}",
                f"{row.control:+.3f} ({min(row.controls):+.2f} … {max(row.controls):+.2f})",
                f"{row.size_ratio:.2f}",
                change_text(row.difference),
                change_text(row.over_shuffled) if row.over_shuffled else "",
                str(row.examples),
                _accuracy(row),
                CAUSAL[row.holds],
            ]
            for row in check.masking
        ]
        yield f"{run.title}, {check.questions} questions, {check.draws} draws (their range):"
        columns = ["function", "heads", "change", "random heads", "size", "difference"]
        yield table([*columns, "shuffled", "steps", "accuracy", "shown"], rows)
        for row in check.masking:
            if row.shortfall:
                yield f"{row.function}: {row.shortfall}."
        yield f"![Masking, {run.folder.name}]({run.folder.name}/figures/masking.png)"


def _accuracy(row: MaskingRow) -> str:
    """The accuracy of a function's steps, and how masking changes it."""
    difference = row.accuracy_difference
    words = (
        f"{row.accuracy:.0%}: own {row.accuracy_change.mean:+.0%}, random "
        f"{row.accuracy_control:+.0%}, difference {difference.mean:+.0%}"
    )
    if row.examples < MIN_STEPS:
        return words
    return f"{words} ({max(difference.low, -1):+.0%} … {min(difference.high, 1):+.0%})"


def specificity_section() -> Iterator[str]:
    """Mask one function, measure another."""
    yield "## Mask one function's heads, measure another"
    yield text(
        "Change of log-probability in nats per token; rows: whose heads are masked, the same "
        "number for every function (the median of their elbows). Bold: the interval leaves out 0. "
        "A solid frame marks the heads that harm a function most, a dotted one the function that "
        "heads harm most. P-values are shares of all assignments of the sets of heads to functions."
    )
    for run in runs():
        if not (check := run.check):
            continue
        specificity = check.specificity
        ranks = ", ".join(
            f"{n} {r}" for n, r in zip(specificity.functions, specificity.ranks, strict=True)
        )
        yield text(
            f"{run.title}, {specificity.heads} heads each: own heads harm most for "
            f"{specificity.most} of {len(specificity.functions)} functions (chance 1, p = "
            f"{specificity.p_most:.2g}); their mean advantage has p = {specificity.p:.2g}, "
            "one-sided and for these questions (the interval of claim 2 also allows for other "
            f"questions, and decides). Ranks of own heads: {ranks}."
        )
        yield f"![Specificity, {run.folder.name}]({run.folder.name}/figures/specificity.png)"


def order_section() -> Iterator[str]:
    """Low-order heads on high-order functions, and the reverse."""
    yield "## Low-order heads and high-order functions"
    yield text(
        "Change of the other order's answers when a function's heads are masked, with intervals "
        "over questions. If low-order functions come first, low → high harms more than high → low. "
        "Some steps suffer more from any loss of heads, so that low-order and high-order heads are "
        "also compared on the same steps: those of all other functions."
    )
    for run in runs():
        if not (check := run.check) or not (order := check.order):
            continue
        rows = [[row.masked, row.measured, change_text(row.change)] for row in order.rows]
        rows += [
            ["**low order**", "high order", change_text(order.low_to_high)],
            ["**high order**", "low order", change_text(order.high_to_low)],
            ["low → high minus high → low", "", change_text(order.difference)],
            ["low-order minus high-order heads", "same steps", change_text(order.same_steps)],
        ]
        yield f"{run.title}, {order.heads} heads each:"
        yield table(["masked", "measured", "change"], rows)


def strengthening_section() -> Iterator[str]:
    """Shift along the direction."""
    yield "## Push heads along their function's direction"
    yield text(
        "The direction of a head is its mean output in the function's training answers minus that "
        "in all other answers; a multiple of it is added at the function's heads, at all "
        "positions. The multiple is the one of a fixed list with the largest mean gain on `select` "
        "questions; the numbers are from `test` questions. Controls are as large at the same "
        "heads: random directions, and other functions' directions."
    )
    for run in runs():
        if not (check := run.check):
            continue
        strengthening = check.strengthening
        tried = ", ".join(
            f"{trial.strength:g}: {trial.change.mean:+.3f}" for trial in strengthening.tried
        )
        weakest = min(trial.strength for trial in strengthening.tried)
        edge = ", the weakest tried: a weaker push may do better"
        yield text(
            f"{run.title}, strength {strengthening.strength:g} (mean gain on `select`: {tried}"
            f"{edge if strengthening.strength == weakest else ''}); {strengthening.draws} random "
            "directions and as many of other functions for every function, which is a weak test:"
        )
        rows = [
            [
                row.function,
                change_text(row.change),
                change_text(row.over_random),
                change_text(row.over_others) if row.over_others else "",
                f"{row.accuracy:.0%}: {row.accuracy_change.mean:+.0%}",
            ]
            for row in strengthening.rows
        ]
        columns = ["function", "change", "minus random directions", "minus others' directions"]
        yield table([*columns, "accuracy"], rows)
        yield f"![Strengthening, {run.folder.name}]({run.folder.name}/figures/strengthening.png)"
