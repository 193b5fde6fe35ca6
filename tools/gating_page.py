"""docs/results/gating.md, from the stored maps and checks."""

from __future__ import annotations

from itertools import combinations

import numpy as np

import headatlas as ha
from contrast_section import contrast_section
from gating_checks import LETTERS, held_out_section, toggling_section
from headatlas.maps.published import PUBLISHED
from headatlas.maps.reliability import MAX_UNDECIDED, MIN_RELIABILITY, reliability
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
from markdown import table, text
from schedule_section import SCHEDULE_TIMES, schedule_section
from seeds_section import seeds_section
from speed_section import speed_section
from stored import RESULTS, equal_seeds, maps_of, record

MODELS = {"gating": "SmolLM2-135M", "gemma": "Gemma-3-270M"}
"""The models whose maps stand beside the published ones, by run."""

TRUSTED = {
    "gating": "SmolLM2-135M",
    "default": "SmolLM2-135M",
    "gemma": "Gemma-3-270M",
    "gemma-short": "Gemma-3-270M, shorter fits",
}
"""The runs whose maps' reliability is stated, and their models."""

FACTS = ("roles", "undecided", "moved", "loss", "start")
"""What is stated beside the reliabilities."""


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
            "cores. Verdicts are about the embedded model alone. Written by `tools/results.py` "
            "from the maps and checks stored beside this page; `make results` and `make bench` "
            "compute everything again, which takes hours."
        ),
    ]
    parts = [*start, *(part for section in there for part in section())]
    return "\n\n".join(parts) + "\n"


def shares_section() -> list[str]:
    """What holds always, and what in any seed."""
    runs = {run: equal_seeds(maps_of(run)) for run in MODELS if (RESULTS / run).exists()}
    names = {run: f"{MODELS[run]}, {_seeds(maps)} seeds" for run, maps in runs.items()}
    models = list(dict.fromkeys(model for model, _, _ in PUBLISHED))
    rows = []
    for task in sorted(runs["gating"]):
        tables = [
            shares_of(maps[task]) if task in maps else {}
            for maps in runs.values()
            for shares_of in (shares, independent_shares)
        ]
        for rule in tables[0]:
            cells = [_pair(by_rule[rule]) if by_rule else "–" for by_rule in tables]
            others = ["{} / {}".format(*PUBLISHED[model, task, rule]) for model in models]
            rows.append([task, rule, *cells, *others])
    columns = [name for run in runs for name in (names[run], "independent")]
    notes = [note for run, maps in runs.items() for note in _in_common(names[run], maps)]
    return [
        "## Always and any",
        *(f"![Roles of heads, {MODELS[run]}]({run}/figures/both.always-any.png)" for run in runs),
        text(
            f"Percent of heads with F ≥ 0.5 / N ≥ 0.5 ({schedules_of(runs)}). *Independent*: what "
            "it would be if seeds had nothing in common but how many heads of each layer have the "
            "role. Beside it the published values of other models (table 2 of [arXiv "
            "2505.13737](https://arxiv.org/abs/2505.13737): ten seeds of 500 + 500 + 500 updates "
            "of 64 questions, other data for the same kinds of task). Models, data, the length of "
            "fits and the number of seeds (the first ones where a map has more than the other map "
            "of its model) differ, and more seeds leave fewer heads in *always* and bring more "
            "into *any*: compare only roughly."
        ),
        table(
            ["task", "heads", *columns, *models],
            rows,
        ),
        text(
            "In these seeds (*by chance*: with as many heads of each role in every layer and seed):"
        ),
        "\n".join(text(note, "- ") for note in notes),
        *trust_section(),
    ]


def _seeds(maps: dict[str, ha.Map]) -> int:
    """The number of seeds of maps that have equally many."""
    return int(next(iter(maps.values())).data.sizes["seed"])


def _pair(by_score: dict[str, float]) -> str:
    return f"{100 * by_score['facilitation']:.1f} / {100 * by_score['interference']:.1f}"


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
    """The schedules of all models' maps in words."""
    return "; ".join(f"{MODELS[run]}: {_schedules(maps)}" for run, maps in runs.items())


def _schedules(maps: dict[str, ha.Map]) -> str:
    """The schedule of a model's maps, or of each task's if they differ."""
    texts = {task: schedule_text(head_map) for task, head_map in sorted(maps.items())}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return ", ".join(f"{task} {words}" for task, words in texts.items())


def trust_section() -> list[str]:
    """How far the maps can be trusted, by their own seeds and fits."""
    rows, remarks = [], []
    maps = [
        (model, task, head_map)
        for run, model in TRUSTED.items()
        for task, head_map in sorted(maps_of(run).items())
    ]
    for model, task, head_map in maps:
        stated = reliability(head_map)
        rows.append(
            [
                model,
                task,
                str(stated.seeds),
                *(stated.scores[name].text for name in LETTERS),
                f"{stated.roles.agreement:.0%} / {stated.roles.chance:.0%} / "
                f"{stated.roles.kappa:.2f}",
                " / ".join(f"{fit.undecided:.0%}" for fit in stated.fits.values()),
                " / ".join(f"{fit.moved:.3f}" for fit in stated.fits.values()),
                " / ".join(f"{loss:.2f}" for loss in stated.losses.values()),
                " / ".join(f"{stated.from_start[name]:.2f}" for name in list(LETTERS)[:2]),
            ]
        )
        remarks += [f"{model}, {task}: {remark}." for remark in _remarks(head_map)]
    return [
        "### How far these maps can be trusted",
        text(
            "All maps on this page that heads are judged by. *F*, *N*, *R*: reliability of the "
            "mean over seeds, for these train questions, from halves of the seeds "
            "(Spearman–Brown), with 95 % intervals over layers and seeds. *Always* and *any* are "
            "not means: how far they reproduce stands below the table. *Roles*: how often two "
            "seeds give a head the same role / how often by chance within layers / kappa by "
            "Fleiss' formula with that chance (lower than the usual one); means over all pairs of "
            "seeds, without an interval. *Undecided*: gates of G⁺ / G⁻ that are neither open (≥ "
            "0.9) nor closed (≤ 0.1) nor held in between by the data. *Moved*: mean change of a "
            "gate in the last quarter of its fit. *Loss*: at the end of the fits of G / G⁺ / G⁻, "
            "on training questions. *Start*: correlation of F / N with the first gates."
        ),
        table(
            ["model", "task", "seeds", *LETTERS.values(), *FACTS],
            rows,
        ),
        "\n".join(text(remark, "- ") for remark in remarks),
        *_fitted_again(),
    ]


def _fitted_again() -> list[str]:
    """Why the maps of a task were fitted twice, with other lengths."""
    notes = []
    longer = maps_of("gemma")
    for task, shorter in sorted(maps_of("gemma-short").items()):
        before, after = (reliability(m).undecided for m in (shorter, longer[task]))
        notes.append(
            text(
                f"{MODELS['gemma']}, {task}: the first fits ({schedule_text(shorter)}) left "
                f"{before:.0%} of the pushed gates undecided, above the {MAX_UNDECIDED:.0%} at "
                f"which a map warns. They were made again ({schedule_text(longer[task])}: "
                f"{after:.0%}), and it was decided before that the figure and the shares above "
                "would be those of the longer fits, whatever these gave."
            )
        )
    return notes


def _remarks(head_map: ha.Map) -> list[str]:
    """What a map's reliability warns of, and what to know of its free fit and its rules."""
    stated = reliability(head_map)
    remarks = list(stated.warnings)
    remarks += [
        f"the lower end of {LETTERS[name]}'s interval lies below the {least:g} from which a map "
        "warns; warnings go by the estimate"
        for name, least in MIN_RELIABILITY.items()
        if stated.scores[name].low < least <= stated.scores[name].mean_map
    ]
    if short := stated.free_above:
        remarks.append(
            f"in {short} of {stated.seeds} seeds the free fit G ended above G⁺ or G⁻, short of its "
            "optimum: G says little, and roles come from G⁺ and G⁻"
        )
    return [*remarks, _halves(head_map)]


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


def schedules() -> list[str]:
    """The default schedule against long references."""
    default = {**maps_of("default"), **maps_of("gating")}
    return schedule_section(default, maps_of("reference"), record(SCHEDULE_TIMES))
