"""docs/results/cognition.md: what probing finds on the embedded model, and whether it is true."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import headatlas as ha
from headatlas.checks.results.functions import HOLDS
from headatlas.maps.aggregate import next_interval
from headatlas.maps.functions import CAUSAL, head_counts
from headatlas.runs.causes import EXAMPLES, SEEDS
from headatlas.stats.intervals import Change
from markdown import table, text

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
RUNS = {"cognition": "`cognition`", "cogqa": "CogQA"}
SEEDS_RUN = "cognition-seeds"
CLAIMS = {
    "masking": (
        "1. Masking a function's heads harms it more than masking random heads.",
        "own heads minus random heads",
    ),
    "specificity": (
        "2. Masking a function's heads harms it more than masking other functions' heads.",
        "own heads minus other functions' heads",
    ),
    "order": (
        "3. High-order functions depend on low-order functions' heads, more than on random heads.",
        "low-order heads minus random heads, on high-order steps",
    ),
    "strengthening": (
        "4. Pushing a function's heads along its direction improves it.",
        "change with strength 1",
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
    def causes(self) -> ha.Comparison | None:
        """Agreement with ablation and gating maps, if there is any."""
        for path in (self.folder / "checks").glob("*.causes.json"):
            return ha.Comparison.from_dict(json.loads(path.read_text(encoding="utf-8")))
        return None


def runs() -> list[Run]:
    """The data sets of which there are stored runs."""
    found = [Run(RESULTS / name, title) for name, title in RUNS.items()]
    return [run for run in found if (run.folder / "maps").is_dir()]


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
    parts = [
        "# Cognitive functions on the embedded model",
        text(
            "Which heads of SmolLM2-135M-Instruct (30 layers × 9 heads) tell a probe what kind of "
            "thinking a step needs (Ma et al., [arXiv "
            "2512.10978](https://arxiv.org/abs/2512.10978)), and whether those heads matter for "
            "it. Written by `tools/results.py` from the maps and checks stored beside this page; "
            "`make results` computes them again."
        ),
        *claims_section(),
        *map_section(),
        *probe_section(),
        *counts_section(),
        *masking_section(),
        *specificity_section(),
        *order_section(),
        *strengthening_section(),
        *causes_section(),
        *seeds_section(),
    ]
    return "\n\n".join(parts) + "\n"


def claims_section() -> Iterator[str]:
    """The four published claims, in a sentence each."""
    yield "## The paper's four claims"
    rows = []
    for name, (claim, what) in CLAIMS.items():
        for run in runs():
            check = run.check
            found = check and check.claims[name]
            if not check or not found:
                continue
            rows.append(
                [
                    claim,
                    run.title,
                    f"**{HOLDS[found.holds]}**",
                    f"{what}: {_nats(found.change)}",
                    f"{check.examples} steps of {check.questions} questions",
                ]
            )
    yield text(
        "Over the test steps that were checked, in nats per token of the answer, with 95 % "
        "intervals over questions and, where random heads are compared with, over draws. A "
        "claim *holds* if its interval lies on the claimed side of 0, *does not hold* if on the "
        "other, and is *undecided* if it contains 0."
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
    rows = []
    for run in runs():
        report = run.report
        rows.append(
            [
                run.title,
                f"{report.examples} ({report.questions})",
                f"{report.accuracy:.1%} ({report.low:.1%} … {report.high:.1%})",
                f"{report.chance:.1%}",
                *(
                    f"{control.accuracy:.1%} ({control.gain:+.1%}; "
                    f"{control.low:+.1%} … {control.high:+.1%})"
                    for control in report.controls.values()
                ),
            ]
        )
    yield text(
        "Accuracy on the test split, with 95 % intervals over questions, and in brackets what the "
        "probe gains over each control. *Words* is a bag of words of the same prompts; *place* "
        "is the number of the step in its question and the length of its prompt; *shuffled* is the "
        "same probe trained on shuffled labels, so that the gain over it is its selectivity."
    )
    columns = ["data", "test steps (questions)", "probe", "chance"]
    yield table([*columns, "commonest function", "words", "place", "shuffled"], rows)
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
        "7 % of the heads for every function. *Beyond chance*: heads whose importance exceeds in "
        "every seed what labels shuffled within questions give any head (p ≤ 0.05, corrected for "
        "the number of heads). The elbow always finds heads, also where chance would do as well; "
        "the null counts every head that tells anything, however little."
    )
    for run in runs():
        head_map = run.head_map
        heads = int(np.isfinite(head_map["importance"].isel(function=0, seed=0)).sum())
        rows = [
            [
                name,
                f"{count.elbow} ({count.elbow / heads:.0%})",
                str(count.significant),
                str(count.both),
            ]
            for name, count in head_counts(head_map).items()
        ]
        yield f"{run.title}, of {heads} heads:"
        yield table(["function", "elbow", "beyond chance", "both"], rows)


def masking_section() -> Iterator[str]:
    """Masking against random heads."""
    yield "## Mask a function's heads"
    yield text(
        "Change of the mean log-probability of the function's test answers when its top heads are "
        "masked (gate 0 at all positions), beside random heads of the same layers that exclude "
        "them; the interval of the difference is over questions and over draws. Accuracy: answers "
        "given exactly."
    )
    for run in runs():
        if not (check := run.check):
            continue
        rows = [
            [
                row.function,
                f"{row.heads}{' (elbow)' if row.elbow else ''}",
                f"{row.change.mean:+.3f}",
                f"{row.control:+.3f}",
                _nats(row.difference),
                f"{row.accuracy:.0%}: {row.accuracy_change.mean:+.0%}, random "
                f"{row.accuracy_control:+.0%} ({row.accuracy_difference.low:+.0%} … "
                f"{row.accuracy_difference.high:+.0%})",
                CAUSAL[row.holds],
            ]
            for row in check.masking
        ]
        yield f"{run.title}, {check.questions} questions, {check.draws} draws:"
        columns = ["function", "heads", "change", "random heads", "difference", "accuracy", ""]
        yield table(columns, rows)
        yield f"![Masking, {run.folder.name}]({run.folder.name}/figures/masking.png)"


def specificity_section() -> Iterator[str]:
    """Mask one function, measure another."""
    yield "## Mask one function's heads, measure another"
    yield text(
        "Change of log-probability in nats per token; rows: whose heads (before the elbow) are "
        "masked, with their number. Bold: the 95 % interval leaves out 0."
    )
    for run in runs():
        if run.check:
            yield f"![Specificity, {run.folder.name}]({run.folder.name}/figures/specificity.png)"


def order_section() -> Iterator[str]:
    """Low-order heads, high-order functions."""
    yield "## Low-order heads and high-order functions"
    yield text(
        "Change of the high-order functions' answers when a low-order function's heads are masked, "
        "and how it differs from masking random heads."
    )
    for run in runs():
        if not (check := run.check):
            continue
        rows = [
            [row.masked, row.measured, _nats(row.change), _nats(row.difference)]
            for row in check.order
        ]
        yield f"{run.title}:"
        yield table(["masked", "measured", "change", "minus random heads"], rows)


def strengthening_section() -> Iterator[str]:
    """Shift along the direction."""
    yield "## Push heads along their function's direction"
    yield text(
        "The direction of a head is its mean output in the function's training answers minus that "
        "in all other answers; multiples of it are added at the function's heads, at all "
        "positions. Strength 1 decides the claim; the others show how much it depends on that."
    )
    for run in runs():
        if not (check := run.check):
            continue
        strengths = sorted({row.strength for row in check.strengthening})
        pushes = {(row.function, row.strength): row for row in check.strengthening}
        names = list(dict.fromkeys(name for name, _ in pushes))
        rows = [
            [name, *(_nats(pushes[name, strength].change) for strength in strengths)]
            for name in names
        ]
        yield f"{run.title}, change of log-probability by strength:"
        rows.append(["all steps", *(_nats(each.change) for each in check.strengthening_of_all)])
        yield table(["function", *(f"{strength:+g}" for strength in strengths)], rows)
        yield f"![Strengthening, {run.folder.name}]({run.folder.name}/figures/strengthening.png)"


def causes_section() -> Iterator[str]:
    """Agreement of probing, ablation and gating."""
    for run in runs():
        if not (causes := run.causes):
            continue
        yield "## Does reading predict removing?"
        yield text(
            f"{run.title}: rank correlation over heads between importance (probing), the fall of "
            "log-probability when a head is removed (ablation), and facilitation (gating), for "
            "every function's own examples, with 95 % bootstrap intervals over heads; *within "
            "layers* the same with every layer's mean subtracted. *Top heads*: share of the 20 "
            f"largest that both have. Ablation uses {EXAMPLES} steps or a few more over all "
            f"functions, and gating has {SEEDS} seed per function: their noise makes every "
            "correlation smaller than it is."
        )
        rows = [
            [
                str(row.function),
                " – ".join(row.pair),
                f"{row.spearman:+.2f} ({row.low:+.2f} … {row.high:+.2f})",
                f"{row.within:+.2f} ({row.within_low:+.2f} … {row.within_high:+.2f})",
                f"{row.top_overlap:.0%} (chance {row.top_expected:.0%})",
            ]
            for row in causes.rows
        ]
        yield table(["function", "kinds of map", "all heads", "within layers", "top heads"], rows)
        yield f"![Agreement of three kinds of map]({run.folder.name}/figures/causes.png)"
        read = [row for row in causes.rows if row.pair == ("probing", "ablation")]
        above = sum(row.low > 0 for row in read)
        below = sum(row.high < 0 for row in read)
        inside = sum(row.within_low > 0 for row in read)
        whole, within, top = (
            float(np.mean([getattr(row, key) for row in read]))
            for key in ("spearman", "within", "top_overlap")
        )
        yield text(
            f"Importance and removal correlate at {whole:+.2f} on average: surely above 0 for "
            f"{above} of {len(read)} functions and surely below for {below}; within layers at "
            f"{within:+.2f}, surely above 0 for {inside}. Of the 20 most important heads {top:.0%} "
            "are among the 20 whose removal harms most (by chance "
            f"{read[0].top_expected:.0%})."
        )


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
    first, second = (each.mean("seed") for each in (values.isel(seed=slice(0, half)), later))
    alike = float(np.corrcoef(first.to_numpy().ravel(), second.to_numpy().ravel())[0, 1])
    yield "## Other seeds"
    yield text(
        f"The interval of every head and function (95 %, where the next seed is expected) from the "
        f"first {half} seeds holds {share:.1%} of the numbers of {later.sizes['seed']} further "
        f"seeds. The mean maps of the two halves correlate at {alike:.3f}."
    )


def _nats(change: Change) -> str:
    return f"{change.mean:+.3f} ({change.low:+.3f} … {change.high:+.3f})"
