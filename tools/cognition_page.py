"""docs/results/cognition.md: what probing finds on the embedded model, and whether it is true."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import headatlas as ha
from headatlas.checks.results.functions import change_text
from headatlas.checks.results.probe import TEXTS
from headatlas.checks.results.verdict import HOLDS
from headatlas.maps.aggregate import next_interval
from headatlas.maps.functions import CAUSAL, head_counts
from headatlas.runs.causes import EXAMPLES
from markdown import table, text

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
RUNS = {"cognition": "`cognition`", "cogqa": "CogQA"}
SEEDS_RUN = "cognition-seeds"
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


@dataclass(frozen=True)
class Run:
    """A stored run: its map, the probe's report, the causal checks, agreement with other maps."""

    folder: Path
    title: str

    @property
    def atlas(self) -> ha.Atlas:
        return ha.Atlas(self.folder, progress=None)

    @property
    def head_map(self) -> ha.Map:
        """The probing map, with the marks of its check."""
        return self.atlas.load("probing")

    @property
    def check(self) -> ha.FunctionCheck | None:
        """The causal checks, if there are any."""
        result = self.atlas.result("probing")
        assert result is None or isinstance(result, ha.FunctionCheck)
        return result

    @property
    def report(self) -> ha.ProbeReport:
        """The report on the probe."""
        result = self.atlas.result("probing", "probe")
        assert isinstance(result, ha.ProbeReport)
        return result

    @property
    def complete(self) -> bool:
        """Whether the run has a map and the report on its probe."""
        if not (self.folder / "maps").is_dir():
            return False
        return self.atlas.result("probing", "probe") is not None

    @property
    def causes(self) -> ha.Comparison | None:
        """Agreement with an ablation map, if there is any."""
        for path in (self.folder / "checks").glob("*.causes.json"):
            return ha.Comparison.from_dict(json.loads(path.read_text(encoding="utf-8")))
        return None


def runs() -> list[Run]:
    """The data sets of which there are stored runs."""
    candidates = [Run(RESULTS / name, title) for name, title in RUNS.items()]
    return [run for run in candidates if run.complete]


def draw_figures() -> None:
    """The figures of the page."""
    for run in runs():
        folder = run.folder / "figures"
        for name in ("functions", "function-layers", "function-overlap", "head-profiles"):
            ha.save_figure(run.head_map.plot(name), folder / f"{name}.png")
        if check := run.check:
            for name in ("masking", "specificity", "strengthening"):
                ha.save_figure(check.plot(name), folder / f"{name}.png")
        if causes := run.causes:
            ha.save_figure(causes.plot(), folder / "causes.png")


def page() -> str:
    """The whole page."""
    start = [
        "# Cognitive functions on the embedded model",
        text(
            "Which heads of SmolLM2-135M-Instruct (30 layers × 9 heads) tell a probe what kind of "
            "thinking a step needs (Ma et al., [arXiv "
            "2512.10978](https://arxiv.org/abs/2512.10978)), and whether those heads matter for "
            "it. Written by `tools/results.py` from the maps and checks stored beside this page; "
            "`make results` computes them again."
        ),
    ]
    if not runs():
        return "\n\n".join([*start, "There is no run beside this page."]) + "\n"
    checked = any(run.check for run in runs())
    sections = {
        ability_section: True,
        claims_section: checked,
        map_section: True,
        probe_section: True,
        counts_section: True,
        masking_section: checked,
        specificity_section: checked,
        order_section: checked,
        strengthening_section: checked,
        causes_section: True,
        seeds_section: True,
    }
    parts = [*start, *(part for section, there in sections.items() if there for part in section())]
    return "\n\n".join(parts) + "\n"


def ability_section() -> Iterator[str]:
    """How much of the steps the untouched model can do at all."""
    for run in runs():
        facts = run.head_map.provenance
        if "task_accuracy" not in facts:
            continue
        yield text(
            f"On {run.title} the untouched model gives {facts['task_accuracy']:.0%} of the test "
            f"answers exactly; always giving the most common one would reach "
            f"{facts['task_chance']:.0%}. All changes below are of the log-probability of the "
            "right answer, which is far above that of other questions' answers, partly because "
            "words of the prompt return in it. They say what heads do to that probability, not to "
            "steps that are solved."
        )


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
            rows.append(
                [
                    claim,
                    run.title,
                    f"**{HOLDS[outcome.holds]}**",
                    f"{what}: {change_text(outcome.change)}{also}",
                    f"{check.examples} steps of {check.questions} questions, "
                    f"{100 * check.level:g} %",
                ]
            )
    yield text(
        "Over the test steps that were checked, in nats per token of the answer, with intervals "
        "over questions and over sets of heads: an interval also covers what other random heads, "
        "or the same sets of heads under other functions' names, might do, so that a map of random "
        "heads seldom passes. A claim *holds* if its interval lies on the claimed side of 0, *does "
        "not hold* if on the other, and *inconclusive* if it contains 0. Order and strengthening "
        "have several numbers: all must lie on the claimed side."
    )
    yield table(["claim", "data", "on this model", "number", "from"], rows)


def map_section() -> Iterator[str]:
    """The figure."""
    yield "## The maps"
    for run in runs():
        facts = run.head_map.provenance
        yield text(
            f"{run.title}: importance of every head for every function, mean of "
            f"{run.head_map.data.sizes['seed']} probe seeds; tokens: "
            f"{facts['settings']['tokens']}, answers: {facts['settings']['answers']}."
        )
        yield f"![Importance of heads, {run.folder.name}]({run.folder.name}/figures/functions.png)"
    first = runs()[0].folder.name
    for name, words in (
        ("function-layers", "Heads before the elbow, by layer"),
        ("function-overlap", "Heads that two functions share, of those that either has"),
        ("head-profiles", "Heads by their importances for all functions, in two dimensions"),
    ):
        yield f"![{words}]({first}/figures/{name}.png)"


def probe_section() -> Iterator[str]:
    """How good the probe is, beside what needs no heads."""
    yield "## How good is the probe?"
    yield text(
        "Accuracy on the test split, with 95 % intervals over questions. Text classifiers see what "
        "the probe's states may hold: the prompt, the last step, the answer, or all of it; the "
        "*strongest* is the one with the highest accuracy on these very test questions, so that "
        "the choice favours text. *Embeddings* and *residual stream* are linear probes of the same "
        "tokens, before the first layer and after some; what they reach needs no look at single "
        "heads. *Number and length of the step* say where in its question a step stands; the gain "
        "over *shuffled labels* is the probe's selectivity."
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
        "*Elbow*: heads before the bend of the sorted curve, as published, where it gives under "
        "7 % of the heads for every function. The bend of one curve hangs on its two ends, so the "
        "median over 200 maps is taken whose seeds and questions are drawn again, and in brackets "
        "where 95 % of them have it. *Beyond chance*: heads whose activations, counted from their "
        "mean, go with the labels in every seed, more than labels shuffled within questions let "
        "any head (p ≤ 0.05, corrected for the number of heads). The elbow always finds heads, "
        "also where chance would do as well; the null counts every head that tells anything, "
        "however little."
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
        "own heads minus as many heads "
        "of a probe that learned shuffled labels, over questions. Accuracy: answers given exactly."
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
                f"{row.accuracy:.0%}: {row.accuracy_change.mean:+.0%}, random "
                f"{row.accuracy_control:+.0%} ({row.accuracy_difference.low:+.0%} … "
                f"{row.accuracy_difference.high:+.0%})",
                CAUSAL[row.holds],
            ]
            for row in check.masking
        ]
        yield f"{run.title}, {check.questions} questions, {check.draws} draws (their range):"
        columns = ["function", "heads", "change", "random heads", "size", "difference"]
        yield table([*columns, "shuffled", "accuracy", ""], rows)
        for row in check.masking:
            if row.shortfall:
                yield f"{row.function}: {row.shortfall}."
        yield f"![Masking, {run.folder.name}]({run.folder.name}/figures/masking.png)"


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
            f"{specificity.p_most:.2g}); their mean advantage has p = {specificity.p:.2g}. "
            f"Ranks of own heads: {ranks}."
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
        yield f"{run.title}, strength {strengthening.strength:g} (mean gain on `select`: {tried}):"
        rows = [
            [
                row.function,
                change_text(row.change),
                f"{row.over_random.mean:+.3f}",
                f"{row.over_others.mean:+.3f}" if row.over_others else "",
                f"{row.accuracy:.0%}: {row.accuracy_change.mean:+.0%}",
            ]
            for row in strengthening.rows
        ]
        columns = ["function", "change", "minus random directions", "minus others' directions"]
        yield table([*columns, "accuracy"], rows)
        yield f"![Strengthening, {run.folder.name}]({run.folder.name}/figures/strengthening.png)"


def causes_section() -> Iterator[str]:
    """Agreement of probing and ablation, beside its ceiling."""
    for run in runs():
        if not (causes := run.causes):
            continue
        yield "## Does reading predict removing?"
        yield text(
            f"{run.title}: rank correlation over heads between importance (probing) and the fall "
            "of log-probability when a head is removed (ablation), for every function's own "
            "examples, with 95 % bootstrap intervals over layers; *within layers* the same with "
            "every layer's mean subtracted. Ablation uses the steps of whole test questions, at "
            f"least {EXAMPLES} over all functions (of `cognition`, whose questions have 16 steps, "
            "those of six questions). Both maps are noisy, and noise makes a "
            "correlation smaller than it is: the *reliability* of each is the correlation of its "
            "halves (other questions; for probing also other seeds), stepped up by Spearman and "
            "Brown, the *ceiling* the root of their product, and *without noise* the correlation "
            "divided by it. *Top heads*: share of the 20 largest that both have, and how often "
            "chance gives as many."
        )
        rows = [
            [
                str(row.function),
                f"{row.spearman:+.2f} ({row.low:+.2f} … {row.high:+.2f})",
                " / ".join(f"{value:.2f}" for value in row.reliability),
                _known(row.ceiling),
                _known(row.disattenuated)
                + (
                    f" ({row.disattenuated_low:+.2f} … {row.disattenuated_high:+.2f})"
                    if np.isfinite(row.disattenuated_low)
                    else ""
                ),
                f"{row.within:+.2f} ({row.within_low:+.2f} … {row.within_high:+.2f})",
                f"{row.top_overlap:.0%} (p = {row.top_p:.2g})",
            ]
            for row in causes.rows
        ]
        columns = ["all heads", "reliability", "ceiling", "without noise", "within layers"]
        chance = f"top heads (chance {causes.rows[0].top_expected:.0%})"
        yield table(["function", *columns, chance], rows)
        yield f"![Reading and removing]({run.folder.name}/figures/causes.png)"
        above = sum(row.low > 0 for row in causes.rows)
        below = sum(row.high < 0 for row in causes.rows)
        inside = sum(row.within_low > 0 for row in causes.rows)
        shared = sum(row.top_p <= 0.025 for row in causes.rows)
        whole, within, top = (
            float(np.mean([getattr(row, key) for row in causes.rows]))
            for key in ("spearman", "within", "top_overlap")
        )
        ceilings = [row.ceiling for row in causes.rows if np.isfinite(row.ceiling)]
        known = f" of at most {np.mean(ceilings):.2f}" if ceilings else ""
        yield text(
            f"Importance and removal correlate at {whole:+.2f}{known} on average: above 0 "
            f"for {above} of {len(causes.rows)} functions and below for {below}; within "
            f"layers at {within:+.2f}, above 0 for {inside}. Of the 20 most important heads "
            f"{top:.0%} are among the 20 whose removal harms most (by chance "
            f"{causes.rows[0].top_expected:.0%}), more than chance for {shared} (p ≤ 0.025)."
        )


def _known(value: float) -> str:
    return f"{value:+.2f}" if np.isfinite(value) else "–"


def seeds_section() -> Iterator[str]:
    """Whether other seeds lie in the stated interval."""
    folder = RESULTS / SEEDS_RUN
    if not (folder / "maps").is_dir():
        return
    values = Run(folder, "").head_map["importance"]
    half = values.sizes["seed"] // 2
    bounds = next_interval(values.isel(seed=slice(0, half)))
    later = values.isel(seed=slice(half, None))
    exists = np.isfinite(later)
    inside = (later >= bounds.sel(bound="lower")) & (later <= bounds.sel(bound="upper"))
    share = float(inside.where(exists).mean())
    first, second = (part.mean("seed") for part in (values.isel(seed=slice(0, half)), later))
    alike = float(np.corrcoef(first.to_numpy().ravel(), second.to_numpy().ravel())[0, 1])
    yield "## Other seeds"
    yield text(
        f"The interval of every head and function (95 %, where the next seed is expected) from the "
        f"first {half} seeds holds {share:.1%} of the numbers of {later.sizes['seed']} further "
        f"seeds. The mean maps of the two halves correlate at {alike:.3f}."
    )
