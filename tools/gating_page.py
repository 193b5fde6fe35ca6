"""docs/results/gating.md, from the stored maps and checks."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

import headatlas as ha
from contrast_section import contrast_section
from headatlas.checks.gating.held_out import SELECT_QUESTIONS
from headatlas.maps.published import PUBLISHED
from headatlas.maps.reliability import reliability
from headatlas.maps.roles import (
    independent_shares,
    role_overlap,
    rule_overlap,
    seed_overlap,
    shares,
    unstable_by_chance,
    unstable_heads,
)
from headatlas.plots.captions import schedule_text
from headatlas.stats.intervals import Change
from markdown import table, text
from schedule_section import SCHEDULE_TIMES, schedule_section
from seeds_section import seeds_section
from speed_section import speed_section
from stored import RESULTS, checks_of, maps_of, record

MODELS = {"gating": "SmolLM2-135M", "gemma": "Gemma-3-270M"}
"""The models whose maps stand beside the published ones, by run."""

LETTERS = {"facilitation": "F", "interference": "N", "irrelevance": "R"}
WIDER = 1.5
"""How much wider intervals are made to see which verdicts would not survive."""

VERDICTS = {True: "yes", False: "no", None: "inconclusive"}


def page() -> str:
    """docs/results/gating.md"""
    sections = {
        ("gating/maps",): shares_section,
        ("varied/maps",): seeds_section,
        ("gating/checks", "default/checks"): lambda: [*toggling_section(), *held_out_section()],
        ("contrast/checks",): contrast_section,
        (SCHEDULE_TIMES,): schedules,
        ("bench.json",): speed_section,
    }
    there = [
        section
        for needed, section in sections.items()
        if any((RESULTS / path).exists() for path in needed)
    ]
    start = [
        "# Gating on real models",
        text(
            "What causal head gating finds on the embedded model, SmolLM2-135M-Instruct (30 layers "
            "× 9 heads), and where it is named on Gemma-3-270M (18 layers × 4 heads), with two CPU "
            "cores. Written by `tools/results.py` from the maps and checks stored beside this "
            "page; `make results` and `make bench` compute everything again, which takes hours."
        ),
    ]
    parts = [*start, *(part for section in there for part in section())]
    return "\n\n".join(parts) + "\n"


def shares_section() -> list[str]:
    """What holds always, and what in any seed."""
    runs = {run: maps_of(run) for run in MODELS if (RESULTS / run).exists()}
    fewest = min(
        head_map.data.sizes["seed"] for maps in runs.values() for head_map in maps.values()
    )
    cut = {
        run: {task: head_map.sel(seed=range(fewest)) for task, head_map in maps.items()}
        for run, maps in runs.items()
    }
    models = list(dict.fromkeys(model for model, _, _ in PUBLISHED))
    rows = []
    for task in sorted(cut["gating"]):
        tables = [
            table
            for maps in cut.values()
            for table in (shares(maps[task]), independent_shares(maps[task]))
        ]
        for rule in tables[0]:
            pairs = [
                (by_rule[rule]["facilitation"], by_rule[rule]["interference"]) for by_rule in tables
            ]
            cells = [f"{100 * f:.1f} / {100 * n:.1f}" for f, n in pairs]
            others = ["{} / {}".format(*PUBLISHED[model, task, rule]) for model in models]
            rows.append([task, rule, *cells, *others])
    notes = [note for run, maps in cut.items() for note in _in_common(MODELS[run], maps)]
    return [
        "## Always and any",
        *(f"![Roles of heads, {MODELS[run]}]({run}/figures/both.always-any.png)" for run in runs),
        text(
            f"Percent of heads with F ≥ 0.5 / N ≥ 0.5 in {fewest} seeds ({schedules_of(cut)}). "
            "*Independent*: what it would be if seeds had nothing in common but how many heads of "
            "each layer have the role. Beside it the published values of other models (table 2 of "
            "[arXiv 2505.13737](https://arxiv.org/abs/2505.13737): ten seeds of 500 + 500 + 500 "
            "updates of 64 questions, other data for the same kinds of task). Models, data, the "
            f"length of fits and the number of seeds ({fewest} here: the first {fewest} where a "
            "map has more) differ, and more seeds leave fewer heads in *always* and bring more "
            "into *any*: compare only roughly."
        ),
        table(
            [
                "task",
                "heads",
                *(name for run in runs for name in (MODELS[run], "independent")),
                *models,
            ],
            rows,
        ),
        text(
            f"In these {fewest} seeds (*by chance*: with as many heads of each role in every layer "
            "and seed):"
        ),
        "\n".join(text(note, "- ") for note in notes),
        *trust_section(runs),
    ]


def _in_common(model: str, maps: dict[str, ha.Map]) -> list[str]:
    """What the seeds of a model's maps, and its tasks, have in common."""
    notes = []
    for task, head_map in sorted(maps.items()):
        common = [seed_overlap(head_map, name) for name in ("facilitation", "interference")]
        heads = int(np.isfinite(head_map["gate"].isel(seed=0)).sum())
        notes.append(
            f"{model}, {task}: {len(unstable_heads(head_map))} of {heads} heads facilitate in some "
            f"seeds and interfere in others; by chance it would be "
            f"{unstable_by_chance(head_map):.0f}. Two seeds have {common[0].share:.0%} of their "
            f"facilitating heads in common, and {common[1].share:.0%} of their interfering ones "
            f"(shares of the union; by chance {common[0].expected:.0%} and "
            f"{common[1].expected:.0%})."
        )
    for one, two in combinations(sorted(maps), 2):
        first, second = (maps[task].aggregate("always")["facilitation"] for task in (one, two))
        both = role_overlap(first, second)
        notes.append(
            f"{model}: always facilitating for {one} and for {two} are {both.common} heads, "
            f"{both.share:.0%} of the union; by chance it would be {both.expected:.0%}."
        )
    return notes


def schedules_of(runs: dict[str, dict[str, ha.Map]]) -> str:
    """The schedules of all maps in words."""
    texts = {schedule_text(head_map) for maps in runs.values() for head_map in maps.values()}
    return "; ".join(sorted(texts))


def trust_section(runs: dict[str, dict[str, ha.Map]]) -> list[str]:
    """How far the maps can be trusted, by their own seeds and fits."""
    rows, warnings = [], []
    for model, task, head_map in (
        (MODELS[run], task, head_map)
        for run, maps in runs.items()
        for task, head_map in sorted(maps.items())
    ):
        map_reliability = reliability(head_map)
        rows.append(
            [
                model,
                task,
                str(map_reliability.seeds),
                *(score.text for score in (map_reliability.scores[name] for name in LETTERS)),
                f"{map_reliability.roles.agreement:.0%} / {map_reliability.roles.chance:.0%} / "
                f"{map_reliability.roles.kappa:.2f}",
                " / ".join(f"{fit.undecided:.0%}" for fit in map_reliability.fits.values()),
                " / ".join(f"{fit.moved:.3f}" for fit in map_reliability.fits.values()),
                " / ".join(f"{loss:.2f}" for loss in map_reliability.losses.values()),
                " / ".join(f"{map_reliability.from_start[name]:.2f}" for name in list(LETTERS)[:2]),
            ]
        )
        where = f"{model}, {task}"
        warnings += [f"{where}: {warning}." for warning in map_reliability.warnings]
        if short := map_reliability.free_above:
            warnings.append(
                f"{where}: in {short} of {map_reliability.seeds} seeds the free fit G ended above "
                "G⁺ or G⁻, short of its optimum: G says little, and roles come from G⁺ and G⁻."
            )
        warnings.append(f"{where}: {_halves(head_map)}.")
    return [
        "### How far these maps can be trusted",
        text(
            "*F*, *N*, *R*: reliability of the mean over seeds, for these train questions, from "
            "halves of the seeds (Spearman–Brown), with 95 % intervals over layers and seeds. "
            "*Always* and *any* are not means: how far they reproduce stands below the table. "
            "*Roles*: how often two seeds give a head the same role / how often by chance within "
            "layers / kappa by Fleiss' formula with that chance (lower than the usual one); means "
            "over all pairs of seeds, without an interval. *Undecided*: gates of G⁺ / G⁻ that are "
            "neither open (≥ 0.9) nor closed (≤ 0.1) nor held in between by the data. *Moved*: "
            "mean change of a gate in the last quarter of its fit. *Loss*: at the end of the fits "
            "of G / G⁺ / G⁻, on training questions. *Start*: correlation of F / N with the first "
            "gates."
        ),
        table(
            [
                "model",
                "task",
                "seeds",
                "F",
                "N",
                "R",
                "roles",
                "undecided",
                "moved",
                "loss",
                "start",
            ],
            rows,
        ),
        "\n".join(text(warning, "- ") for warning in warnings),
    ]


def _halves(head_map: ha.Map) -> str:
    """How far what holds always, and in any seed, is the same in two sets of half the seeds."""
    parts = []
    for rule in ("always", "any"):
        for name, word in (("facilitation", "facilitate"), ("interference", "interfere")):
            overlap = rule_overlap(head_map, name, rule)
            when = f"always {word}" if rule == "always" else f"{word} in any"
            parts.append(f"{overlap.share:.0%} of those that {when} ({overlap.expected:.0%})")
    half = head_map.data.sizes["seed"] // 2
    return f"two sets of {half} seeds share {', '.join(parts)}; in brackets by chance"


def toggling_section() -> list[str]:
    """Ordered toggling beside matched random heads."""
    checks = {**checks_of("gating"), **checks_of("default")}
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
                "" if curve.score == "irrelevance" else _interval(curve.difference),
                f"± {toggling.bound:.2f}" if curve.score == "irrelevance" else "",
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
            "heads of the same layers and of similar output size, which have neither that role nor "
            "(for F and N) the opposite one; heads without such a partner are toggled for R only. "
            "F holds if the change and the difference lie below 0; N if both lie above 0; R if the "
            "change lies within the harmless bound, on average and in nine of ten seeds, and "
            "random heads do not (at most one draw in 20). The bound is a quarter of the untouched "
            "loss, or of the gain over other questions' targets where that is less, taken as "
            "given: the better a model does a task, the less may R change it. Anything else is "
            "inconclusive. For R the other heads are nearly all that the same layers have, mostly "
            "facilitating ones: that these do harm is hardly in doubt, and the test of R is the "
            "bound. Every verdict stands alone, without a correction for their number. *Look 1* is "
            "the first look at these maps. The rules were revised once after checks of maps of an "
            "earlier, shorter schedule had been seen, of these tasks among others and with the "
            "same test questions; the maps here were made and checked after that. This tests "
            "whether learned gates do on new questions what they did on those they were learned "
            "from, inside each seed's G⁺: it does not show that a head interferes in the untouched "
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
                "difference",
                "harmless",
                "holds",
            ],
            rows,
        ),
        "\n".join(text(line, "- ") for line in [*_counted(list(checks.values())), _wider(checks)]),
        *(
            f"![Toggling curves]({run}/figures/both.toggling.png)"
            for run in ("gating", "default")
            if (RESULTS / run / "figures" / "both.toggling.png").exists()
        ),
    ]


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


def _counted(checks: list[ha.GatingCheck]) -> list[str]:
    """On how many tasks each score holds, fails, or is inconclusive, by intervals."""
    lines = []
    for score in LETTERS:
        held = [check.holds[score] for check in checks]
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
        f"1.5 with ten seeds. With all intervals wider by {WIDER:g}, of the verdicts on F, N and "
        f"G⁺ (below) {outcome}."
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
            f"on {SELECT_QUESTIONS} `select` questions, for each seed. They are a working circuit "
            "if the loss on test questions is at most the harmless bound above that of the "
            "untouched model. Losses on `select` are of these few questions, and not to be "
            "compared with those on test questions."
        ),
        table(
            [
                "task",
                "gates",
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
        f"{low:.2f}" if low == high else f"{low:.2f} … {high:.2f}",
        f"{soft.loss:.3f}",
        f"{row.loss:.3f}",
        f"{row.untouched:.3f}",
        f"{row.change:+.3f} ({row.low:+.3f} … {row.high:+.3f})",
        f"{row.working} of {row.seeds}",
        f"{row.select_loss:.3f} ({row.select_untouched:.3f})",
        VERDICTS[row.works],
    ]


def schedules() -> list[str]:
    """The default schedule against long references."""
    default = {**maps_of("default"), **maps_of("gating")}
    return schedule_section(default, maps_of("reference"), record(SCHEDULE_TIMES))
