"""Results on the embedded model: `make results` computes them, this writes docs/results/*.md.

`python tools/results.py FOLDER` takes maps, checks and figures from the runs in FOLDER into
docs/results/; without FOLDER only the pages are written again, from what is there.
"""

from __future__ import annotations

import json
import shutil
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import cognition_page
import headatlas as ha
from headatlas.maps.published import PUBLISHED
from headatlas.maps.roles import role_overlap, seed_overlap, shares, unstable_heads
from markdown import table, text
from schedules import DEFAULT_SEEDS

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
RUNS = ("gating", "word-pairs", "contrast", "published", "default")
KEPT = ("maps/*.nc", "checks/*.json", "figures/both.*.png")
PROBED = (*cognition_page.RUNS, cognition_page.SEEDS_RUN)
KEPT_PROBED = ("maps/*.probing-*.nc", "checks/*.probing-*.json")
RECORDS = ("bench.json", "schedule-times.json")
LETTERS = {"facilitation": "F", "interference": "N", "irrelevance": "R"}


def collect(folder: Path) -> None:
    """Take what the page needs from the folders of the runs, in place of what was there."""
    for run in (*RUNS, *PROBED):
        if (folder / run).is_dir():
            shutil.rmtree(RESULTS / run, ignore_errors=True)
        for pattern in KEPT_PROBED if run in PROBED else KEPT:
            for path in sorted((folder / run).glob(pattern)):
                target = RESULTS / run / path.relative_to(folder / run)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    for name in RECORDS:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, RESULTS / name)


def draw_figures() -> None:
    """The figures of the page."""
    folder = RESULTS / "gating" / "figures"
    atlas = atlas_of("gating")
    ha.save_figure(atlas.plot("always-any"), folder / "both.always-any.png")
    if checks_of("gating"):
        ha.save_figure(atlas.plot("toggling"), folder / "both.toggling.png")
    if (RESULTS / "contrast" / "checks").exists():
        path = RESULTS / "contrast" / "figures" / "accuracy.png"
        ha.save_figure(contrasts().plot(), path)


def page() -> str:
    """docs/results/gating.md"""
    sections = {
        "gating/maps": shares_section,
        "gating/checks": toggling_section,
        "word-pairs/checks": held_out_section,
        "contrast/checks": contrast_section,
        "schedule-times.json": schedule_section,
        "bench.json": speed_section,
    }
    there = [section for needed, section in sections.items() if (RESULTS / needed).exists()]
    start = [
        "# Gating on the embedded model",
        text(
            "What causal head gating finds on SmolLM2-135M-Instruct (30 layers × 9 heads) with two "
            "CPU cores. Written by `tools/results.py` from the maps and checks stored beside this "
            "page; `make results` and `make bench` compute everything again, which takes hours."
        ),
    ]
    parts = [*start, *(part for section in there for part in section())]
    return "\n\n".join(parts) + "\n"


def atlas_of(run: str) -> ha.Atlas:
    """The atlas of a stored run."""
    return ha.Atlas(RESULTS / run, progress=None)


def maps_of(run: str) -> dict[str, ha.Map]:
    """The maps of a run by task."""
    maps = atlas_of(run).maps().values()
    return {str(head_map.provenance["task"]): head_map for head_map in maps}


def checks_of(run: str) -> dict[str, ha.GatingCheck]:
    """The checks of a run by task."""
    results = {task: atlas_of(run).result(head_map) for task, head_map in maps_of(run).items()}
    return {task: check for task, check in results.items() if isinstance(check, ha.GatingCheck)}


def record(name: str) -> dict[str, Any]:
    """Plain data beside the page."""
    found: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return found


def shares_section() -> list[str]:
    """What holds always, and what in any seed."""
    maps = maps_of("gating")
    models = list(dict.fromkeys(model for model, _, _ in PUBLISHED))
    rows, notes = [], []
    for task, head_map in sorted(maps.items()):
        for rule, found in shares(head_map).items():
            own = f"{100 * found['facilitation']:.1f} / {100 * found['interference']:.1f}"
            others = ["{} / {}".format(*PUBLISHED[model, task, rule]) for model in models]
            rows.append([task, rule, own, *others])
        common = [seed_overlap(head_map, name) for name in ("facilitation", "interference")]
        heads = int(np.isfinite(head_map["gate"].isel(seed=0)).sum())
        notes.append(
            f"{task} ({head_map.data.sizes['seed']} seeds, batch size "
            f"{head_map.provenance['settings']['batch_size']}): "
            f"{len(unstable_heads(head_map))} of {heads} heads facilitate in some seeds and "
            f"interfere in others. Two seeds have {common[0]:.0%} of their facilitating heads in "
            f"common, and {common[1]:.0%} of their interfering ones (shares of the union)."
        )
    for one, two in combinations(sorted(maps), 2):
        first, second = (maps[task].aggregate("always")["facilitation"] for task in (one, two))
        both = role_overlap(first, second)
        notes.append(
            f"Always facilitating for {one} and for {two}: {both.common} heads, {both.share:.0%} "
            f"of the union; by chance it would be {both.expected:.0%}. (A seed starts from the "
            "same gates in all tasks, which by itself makes their maps a little more alike.)"
        )
    inside = all(
        bool((head_map.aggregate("always")[name] <= head_map.aggregate("any")[name]).all())
        for head_map in maps.values()
        for name in ("facilitation", "interference")
    )
    notes.append(f"Always ≤ any for every head and score: {'yes' if inside else 'NO'}.")
    return [
        "## Always and any",
        "![Roles of all heads](gating/figures/both.always-any.png)",
        text(
            "Percent of heads with F ≥ 0.5 / N ≥ 0.5. Beside it the published values of other "
            "models (table 2 of [arXiv 2505.13737](https://arxiv.org/abs/2505.13737); other data "
            "for the same kinds of task):"
        ),
        table(["task", "heads", "SmolLM2-135M", *models], rows),
        "\n".join(text(note, "- ") for note in notes),
    ]


def toggling_section() -> list[str]:
    """Ordered toggling."""
    rows = []
    for task, check in {**checks_of("gating"), **checks_of("word-pairs")}.items():
        found = check.toggling
        fall = next(curve.end for curve in found.curves if curve.score == "facilitation")
        rows += [
            [
                task,
                str(found.seeds),
                LETTERS[curve.score],
                f"{curve.count:.0f}",
                f"{curve.end:+.2f}",
                f"{curve.low:+.2f} … {curve.high:+.2f}",
                f"{abs(curve.end / fall):.0%}",
                {True: "yes", False: "no", None: "cannot be told"}[found.holds[curve.score]],
            ]
            for curve in found.curves
        ]
    return [
        "## Do heads do what their scores say?",
        text(
            "Ordered toggling (`headatlas check`): starting from G⁺, the heads with a score of at "
            "least 0.5 are set to 0 and, separately, to 1. The number is log P(target | 0) − "
            "log P(target | 1) on test questions, in nats per token, with its 95 % interval over "
            "seeds and questions. Expected: F falls and N rises (intervals without 0), R stays "
            "within 15 % of F's drop."
        ),
        table(
            ["task", "seeds", "score", "heads", "change", "95 %", "of F's drop", "as expected"],
            rows,
        ),
        "![Toggling curves](gating/figures/both.toggling.png)",
    ]


def held_out_section() -> list[str]:
    """Loss on test questions."""
    rows = []
    shown = ("untouched", "G", "G⁺", "G⁻", "G⁺ (hard)", "G⁻ (hard)")
    pairs = checks_of("word-pairs")
    for task, check in {**pairs, **checks_of("gating")}.items():
        found = {row.gates: row for row in check.held_out}
        plus = found["G⁺"]
        rows.append(
            [
                task,
                str(plus.seeds),
                *(f"{found[name].loss:.3f}" for name in shown),
                f"{plus.change:+.3f} ({plus.low:+.3f} … {plus.high:+.3f})",
                f"{found['untouched'].accuracy:.0%} → {plus.accuracy:.0%}",
            ]
        )
    changes = [
        row.change for check in pairs.values() for row in check.held_out if row.gates == "G⁺"
    ]
    return [
        "## Held-out loss",
        text(
            "Nats a token on test questions that no gate has seen, means over seeds; the interval "
            "is over questions. Accuracy counts targets given exactly (`math` has whole "
            "worked solutions as targets)."
        ),
        table(["task", "seeds", *shown, "change with G⁺", "accuracy with G⁺"], rows),
        text(
            f"G⁺ lowers the loss on {sum(change < 0 for change in changes)} of the {len(pairs)} "
            "word-pair tasks."
        ),
    ]


def contrasts() -> ha.ContrastCheck:
    """The stored accuracies of contrastive gating."""
    (path,) = (RESULTS / "contrast" / "checks").glob("*.contrast.json")
    return ha.ContrastCheck.from_dict(json.loads(path.read_text(encoding="utf-8")))


def _with_interval(share: float, interval: tuple[float, float]) -> str:
    return f"{share:.0%} ({100 * interval[0]:.0f}–{100 * interval[1]:.0f})"


def contrast_section() -> list[str]:
    """Contrastive gating, leaving one task out."""
    found = contrasts().contrasts
    rows = [
        [
            row.retain,
            row.forget,
            f"{row.retain_before:.0%} → "
            f"{_with_interval(row.retain_after, row.retain_after_interval)}",
            f"{row.forget_before:.0%} → "
            f"{_with_interval(row.forget_after, row.forget_after_interval)}",
            {True: "yes", False: "no", None: "the model cannot do both"}[row.holds],
        ]
        for row in found
    ]
    possible = [row for row in found if row.possible]
    return [
        "## Contrast: one form kept, the other forgotten",
        text(
            "`headatlas contrast`: gates learned from five tasks and tested on the sixth; exact "
            f"answers to up to {max(row.questions for row in found)} test questions, with 95 % "
            "intervals after it. A pair "
            "holds if the forgotten form loses at least 80 % of its accuracy and the retained one "
            "keeps at least 60 %, by the point estimates of one seed. The model can do a form if "
            "it answers more than 10 %. The length of the fits was chosen with these pairs in view."
        ),
        table(["retain", "forget", "accuracy, retained", "accuracy, forgotten", "holds"], rows),
        text(
            f"Holds for {sum(bool(row.holds) for row in possible)} of {len(possible)} pairs that "
            "the model can do."
        ),
        "![Accuracy before and after contrastive gating](contrast/figures/accuracy.png)",
    ]


NAMES = {"published": "long one", "default": "default one"}
"""What the two schedules are called on the page."""


def schedule_section() -> list[str]:
    """The default schedule against a long one with the published learning rates."""
    (published,), (default,) = (list(maps_of(run).values()) for run in ("published", "default"))
    default = default.sel(seed=list(DEFAULT_SEEDS))
    rows = []
    for name in ("facilitation", "interference"):
        values = published[name].transpose("seed", ...).to_numpy()
        halves = [
            _correlation(values[half].mean(0), np.delete(values, half, axis=0).mean(0))
            for half in _halves(len(values))
        ]
        others = default[name].transpose("seed", ...).to_numpy()
        between = _correlation(values.mean(0), others.mean(0))
        size = len(values) // 2
        alike = [
            _correlation(values[list(a)].mean(0), others[list(b)].mean(0))
            for a in combinations(range(len(values)), size)
            for b in combinations(range(len(others)), size)
        ]
        each = ", ".join(f"{half:.2f}" for half in halves)
        rows.append(
            [
                LETTERS[name],
                f"{between:.2f}",
                f"{np.mean(halves):.2f} ({each})",
                f"{np.mean(alike):.2f}",
            ]
        )
    timed = record("schedule-times.json")
    took = {
        name: f"{each['updates']} updates of {each['seconds_an_update']:.2f} s with the "
        f"{NAMES[name]} ({each['updates'] * each['seconds_an_update']:.0f} s)"
        for name, each in timed.items()
    }
    return [
        "## The default schedule against a long one",
        text(
            f"On `{published.provenance['task']}`, the task that the default was tuned on. The "
            "long schedule has the published learning rates, but a quarter of the published batch: "
            f"{_schedule(published)}. The default: {_schedule(default)}. The seeds of the "
            "two differ, so that they share no first gates. Correlation of the two mean maps over "
            "all heads; beside it that of the long schedule's two halves of seeds, on "
            "average and in each way to divide them. Means over more seeds correlate better by "
            "themselves, so the first two columns do not compare; the last two do: it has as many "
            "seeds of each schedule as a half has, over all choices."
        ),
        table(
            ["score", "all seeds", "long against long, halves", "default against long, halves"],
            rows,
        ),
        text(
            f"A seed takes {took['published']} and {took['default']}; updates timed in turns in "
            "one run on both cores."
        ),
    ]


def _halves(seeds: int) -> list[list[int]]:
    """The ways to divide seeds into two halves, by the half that the first one is in."""
    rest = combinations(range(1, seeds), seeds // 2 - 1)
    return [[0, *half] for half in rest]


def _schedule(head_map: ha.Map) -> str:
    settings = head_map.provenance["settings"]
    losses = head_map["loss"].isel(seed=0).transpose("stage", "step")
    updates = " + ".join(str(int(np.isfinite(each).sum())) for each in losses)
    rates = [
        " → ".join(map(str, settings[key])) for key in ("learning_rate", "pushed_learning_rate")
    ]
    seeds = ", ".join(map(str, head_map["seed"].to_numpy().tolist()))
    return (
        f"{updates} updates at batch size {settings['batch_size']}, learning rates "
        f"{rates[0]} and {rates[1]}, seeds {seeds}"
    )


def _correlation(one: Any, other: Any) -> float:
    return float(np.corrcoef(one.ravel(), other.ravel())[0, 1])


def _range(found: dict[str, Any], other: str, form: str) -> str:
    ratios = [b / a for a, b in found["rounds"][other]]
    return f"{min(ratios):{form}}–{max(ratios):{form}}"


def _strictest(found: dict[str, Any]) -> float:
    fastest = min(limit for _, limit in found["rounds"]["limit"])
    return float(fastest / found["seconds_an_update"]["headatlas"])


def speed_section() -> list[str]:
    """The benchmark."""
    bench = record("bench.json")
    sides = next(iter(bench["cases"].values()))["seconds_an_update"]
    rows = [
        [
            case,
            *(f"{found['seconds_an_update'][side]:.2f}" for side in sides),
            f"{found['times_faster']:.1f} × ({_range(found, 'package', '.1f')})",
            f"{found['share_of_limit']:.0%} ({_range(found, 'limit', '.0%')})",
            f"{_strictest(found):.0%}",
        ]
        for case, found in bench["cases"].items()
    ]
    return [
        "## Speed",
        text(
            "`make bench`: seconds per update of this project and of the package "
            "`nam-causal-head-gating`, in turns in one run (32 prompts; few-shot: 64 shared tokens "
            "and 8 of their own). On a CPU the package computes in bfloat16, which takes minutes "
            "an update where the processor only emulates it; here its autocast is switched off, "
            "so that it computes in float32 as this project does (`tools/bench.py --as-it-is` "
            "times the other too)."
        ),
        text(
            "Medians, with the range over seven rounds: the machine is shared, and single rounds "
            "stray. The limit is what large matrix products reach in turns as long as ours; the "
            "operations counted are those of the weights, and of attention between tokens in view. "
            "The last column compares our median with the fastest turn of those products. Ratios "
            "are medians over the rounds in which the two sides took turns, so they differ from "
            "the ratio of two columns."
        ),
        table(
            ["prompts", *sides, "faster", "of the matrix-multiply limit", "of its fastest turn"],
            rows,
        ),
        text(
            f"Peak memory of the few-shot update: {bench['peak_memory_above_model_gb']:.2f} GB "
            "above the loaded model."
        ),
    ]


if __name__ == "__main__":
    if len(sys.argv) > 1:
        collect(Path(sys.argv[1]))
        draw_figures()
        cognition_page.draw_figures()
    (RESULTS / "gating.md").write_text(page(), encoding="utf-8")
    (RESULTS / "cognition.md").write_text(cognition_page.page(), encoding="utf-8")
