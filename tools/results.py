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
from headatlas.maps.reliability import reliability
from headatlas.maps.roles import role_overlap, seed_overlap, shares, unstable_heads
from headatlas.plots.captions import schedule_text
from markdown import table, text
from schedule_page import schedule_section

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
MODELS = {"gating": "SmolLM2-135M", "gemma": "Gemma-3-270M"}
"""The models whose maps stand beside the published ones, by run."""

RUNS = (*MODELS, "default", "contrast", "reference")
KEPT = ("maps/*.nc", "checks/*.json", "figures/both.*.png")
PROBED = (*cognition_page.RUNS, cognition_page.SEEDS_RUN)
KEPT_PROBED = ("maps/*.probing-*.nc", "checks/*.probing-*.json")
SCHEDULE_TIMES = "schedule-times.json"
RECORDS = ("bench.json", SCHEDULE_TIMES)
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
    for run in (run for run in MODELS if (RESULTS / run).exists()):
        folder, atlas = RESULTS / run / "figures", atlas_of(run)
        ha.save_figure(atlas.plot("always-any"), folder / "both.always-any.png")
        if checks_of(run):
            ha.save_figure(atlas.plot("toggling"), folder / "both.toggling.png")
    if (RESULTS / "contrast" / "checks").exists():
        path = RESULTS / "contrast" / "figures" / "accuracy.png"
        ha.save_figure(contrasts().plot(), path)


def page() -> str:
    """docs/results/gating.md"""
    sections = {
        "gating/maps": shares_section,
        "gating/checks": lambda: [*toggling_section(), *held_out_section()],
        "contrast/checks": contrast_section,
        "reference/maps": schedules,
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
    runs = {run: maps_of(run) for run in MODELS if (RESULTS / run).exists()}
    fewest = min(each.data.sizes["seed"] for maps in runs.values() for each in maps.values())
    maps = runs["gating"]
    models = list(dict.fromkeys(model for model, _, _ in PUBLISHED))
    rows, notes = [], []
    for task in sorted(maps):
        own = [shares(found[task].sel(seed=range(fewest))) for found in runs.values()]
        for rule in own[0]:
            found = [(each[rule]["facilitation"], each[rule]["interference"]) for each in own]
            cells = [f"{100 * f:.1f} / {100 * n:.1f}" for f, n in found]
            others = ["{} / {}".format(*PUBLISHED[model, task, rule]) for model in models]
            rows.append([task, rule, *cells, *others])
    for task, head_map in sorted(maps.items()):
        common = [seed_overlap(head_map, name) for name in ("facilitation", "interference")]
        heads = int(np.isfinite(head_map["gate"].isel(seed=0)).sum())
        notes.append(
            f"{task} ({head_map.data.sizes['seed']} seeds): "
            f"{len(unstable_heads(head_map))} of {heads} heads facilitate in some seeds and "
            "interfere in others. Two seeds have "
            f"{common[0].share:.0%} of their facilitating heads in common, and "
            f"{common[1].share:.0%} of their interfering ones (shares of the union; by chance "
            f"{common[0].expected:.0%} and {common[1].expected:.0%}, with as many heads in every "
            "layer)."
        )
    for one, two in combinations(sorted(maps), 2):
        first, second = (maps[task].aggregate("always")["facilitation"] for task in (one, two))
        both = role_overlap(first, second)
        notes.append(
            f"Always facilitating for {one} and for {two}: {both.common} heads, {both.share:.0%} "
            f"of the union; by chance it would be {both.expected:.0%}."
        )
    return [
        "## Always and any",
        *(f"![Roles of heads, {MODELS[run]}]({run}/figures/both.always-any.png)" for run in runs),
        text(
            f"Percent of heads with F ≥ 0.5 / N ≥ 0.5 in {fewest} seeds ({schedules_of(maps)}; the "
            f"default is now {default_schedule()}). Beside it the published values of "
            "other models (table 2 of [arXiv 2505.13737](https://arxiv.org/abs/2505.13737): ten "
            "seeds of 500 + 500 + 500 updates of 64 questions, other data for the same kinds of "
            "task). Models, data, the length of fits and perhaps the number of seeds differ, with "
            "which less holds always and more in any: compare only roughly."
        ),
        table(["task", "heads", *(MODELS[run] for run in runs), *models], rows),
        "\n".join(text(note, "- ") for note in notes),
        *trust_section(maps),
    ]


def schedules_of(maps: dict[str, ha.Map]) -> str:
    """The schedules of maps in words."""
    return "; ".join(f"{task}: {schedule_text(each)}" for task, each in sorted(maps.items()))


def default_schedule() -> str:
    """The schedule that users get."""
    method = ha.Gating()
    updates = " + ".join(str(fit.steps) for fit in method.fits().values())
    return f"{updates} updates of {method.batch_size}"


VERDICTS = {True: "yes", False: "no", None: "cannot be told"}


def trust_section(maps: dict[str, ha.Map]) -> list[str]:
    """How far the maps can be trusted, by their own seeds and fits."""
    rows, warnings = [], []
    for task, head_map in sorted(maps.items()):
        found = reliability(head_map)
        rows.append(
            [
                task,
                schedule_text(head_map),
                str(found.seeds),
                *(
                    f"{each.mean_map:.2f} ({each.low:.2f} … {each.high:.2f})"
                    for each in (found.scores[name] for name in LETTERS)
                ),
                f"{found.roles.agreement:.0%} / {found.roles.chance:.0%} / {found.roles.kappa:.2f}",
                " / ".join(f"{fit.undecided:.0%}" for fit in found.fits.values()),
                " / ".join(f"{fit.moved:.3f}" for fit in found.fits.values()),
                f"{found.from_start['facilitation']:.2f} / {found.start_share:.0%}",
            ]
        )
        warnings += [f"{task}: {warning}." for warning in found.warnings]
    return [
        "### How far these maps can be trusted",
        text(
            "*Reliability*: of the mean over seeds, from halves of the seeds (Spearman–Brown), "
            "with 95 % intervals over heads. *Roles*: how often two seeds give a head the same "
            "role / how often by chance / Fleiss' kappa. *Undecided*: gates of G⁺ / G⁻ that are "
            "neither open (≥ 0.9) nor closed (≤ 0.1) nor held between by the data. *Moved*: mean "
            "change of a gate in the last quarter of its fit. *Start*: correlation of F with the "
            "first gates / share of the difference between seeds that goes with them."
        ),
        table(
            ["task", "updates", "seeds", "F", "N", "R", "roles", "undecided", "moved", "start"],
            rows,
        ),
        "\n".join(text(warning, "- ") for warning in warnings) or "No warning.",
    ]


def toggling_section() -> list[str]:
    """Ordered toggling beside matched random heads."""
    checks = {**checks_of("gating"), **checks_of("default")}
    rows = []
    for task, check in checks.items():
        found = check.toggling
        rows += [
            [
                task,
                str(curve.seeds),
                LETTERS[curve.score],
                f"{curve.toggled:.0f} of {curve.count:.0f}",
                _interval(curve.own),
                _interval(curve.control),
                _interval(curve.difference),
                f"± {found.bound:.2f}" if curve.score == "irrelevance" else "",
                VERDICTS[found.holds[curve.score]],
            ]
            for curve in found.curves
        ]
    return [
        "## Do heads do what their scores say?",
        text(
            "Ordered toggling (`headatlas check`): starting from G⁺, heads with a score of at "
            "least 0.5 are set to 0 and, separately, to 1; the number is log P(target | 0) − "
            "log P(target | 1) on test questions, in nats per token. Verdicts are read at a number "
            "of heads fixed beforehand: for F and N a tenth of the model's heads, highest scores "
            "first (all of them where there are fewer), for R all. Beside them the same number of "
            "random heads that do not have the role, of the same layers and of similar output "
            "size. F holds if the difference lies below 0; N if it lies above 0 and the change "
            "does too; R if the change lies within the harmless bound, on average and in nine of "
            "ten seeds, and random heads do not (at most one draw in 20). The bound is a quarter "
            "of the untouched loss, or of the gain over other questions' targets where that is "
            'less. Intervals that allow for both are "cannot be told".'
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
        "\n".join(text(line, "- ") for line in _counted(list(checks.values()))),
        "![Toggling curves](gating/figures/both.toggling.png)",
    ]


def _interval(change: Any) -> str:
    return f"{change.mean:+.2f} ({change.low:+.2f} … {change.high:+.2f})"


def _measured(check: ha.GatingCheck) -> str:
    """What a check of toggling rests on, and why it says nothing if it does not."""
    found = check.toggling
    left_out = {LETTERS[curve.score]: curve.left_out for curve in found.curves if curve.left_out}
    words = (
        f"look {check.about.look}, {found.scope}; {found.questions} questions after "
        f"{found.prefixes} few-shot prompts and {found.draws} draws per seed"
    )
    if left_out:
        each = ", ".join(f"{number:.0f} of {letter}" for letter, number in left_out.items())
        words += f"; heads without a partner in their layer: {each}"
    return "; ".join([words, *check.cautions])


def _counted(checks: list[ha.GatingCheck]) -> list[str]:
    """On how many tasks each score holds, is reversed, or cannot be told, by intervals."""
    lines = []
    for score in LETTERS:
        held = [check.toggling.holds[score] for check in checks]
        lines.append(
            f"{score.capitalize()} holds on {held.count(True)} of {len(held)} tasks, is reversed "
            f"on {held.count(False)}, and cannot be told on {held.count(None)}."
        )
    return lines


def held_out_section() -> list[str]:
    """Loss on test questions."""
    rows, hard = [], []
    shown = ("untouched", "G", "G⁺", "G⁻")
    checks = {**checks_of("gating"), **checks_of("default")}
    for task, check in checks.items():
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
        hard += [_hard_row(task, found, row) for row in check.held_out if row.thresholds]
    lowers = [
        row.lowers for check in checks.values() for row in check.held_out if row.gates == "G⁺"
    ]
    return [
        "## Held-out loss",
        text(
            "Nats a token on test questions that no gate has seen, means over seeds; intervals "
            "allow for few-shot prompts and questions, and from three seeds on for seeds. Accuracy "
            "counts targets given exactly (`math` has whole worked solutions as targets)."
        ),
        table(["task", "seeds", *shown, "change with G⁺", "accuracy with G⁺"], rows),
        text(
            f"G⁺ surely lowers the loss on {lowers.count(True)} of {len(lowers)} tasks, surely "
            f"raises it on {lowers.count(False)}, and on {lowers.count(None)} it cannot be told."
        ),
        text(
            "Hard gates are 0 or 1, cut at the threshold (0.05, 0.15 … 0.95) with the lowest loss "
            "on `select` questions, for each seed. They are a working circuit if the loss on test "
            "questions is surely at most the harmless bound above that of the untouched model."
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
                "best on select (untouched)",
                "works",
            ],
            hard,
        ),
    ]


def _hard_row(task: str, found: dict[str, Any], row: Any) -> list[str]:
    soft = found[row.gates.removesuffix(" (hard)")]
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


def contrasts() -> ha.ContrastCheck:
    """The stored accuracies of contrastive gating."""
    (path,) = (RESULTS / "contrast" / "checks").glob("*.contrast.json")
    return ha.ContrastCheck.from_dict(json.loads(path.read_text(encoding="utf-8")))


def _with_interval(share: float, interval: tuple[float, float]) -> str:
    return f"{share:.0%} ({100 * interval[0]:.0f}–{100 * interval[1]:.0f})"


def contrast_section() -> list[str]:
    """Contrastive gating, leaving one task out."""
    check = contrasts()
    found = check.contrasts
    rows = [
        [
            row.retain,
            row.forget,
            f"{row.retain_before:.0%} → "
            f"{_with_interval(row.retain_after, row.retain_after_interval)}",
            f"{row.forget_before:.0%} → "
            f"{_with_interval(row.forget_after, row.forget_after_interval)}",
            row.verdict,
        ]
        for row in found
    ]
    seeds = max(row.seeds for row in found)
    over = f"questions and {seeds} seeds" if seeds > 1 else "questions, for the gates of one seed"
    (summary,) = check.summary()
    return [
        "## Contrast: one form kept, the other forgotten",
        text(
            "`headatlas contrast`: gates learned from other tasks and tested on one that they have "
            "not seen; exact answers to up to "
            f"{max(row.questions for row in found)} test questions, with 95 % intervals over "
            f"{over}. A pair holds if the intervals show that the forgotten form loses at least "
            "80 % of its accuracy and that the retained one keeps at least 60 %; it does not hold "
            "if they show the opposite of one; else it cannot be told. The model can do a form "
            "if the lower bound of its accuracy lies at least 0.1 above chance. The length of the "
            "fits was chosen with these pairs in view."
        ),
        table(["retain", "forget", "accuracy, retained", "accuracy, forgotten", "verdict"], rows),
        text(f"{summary[0].upper()}{summary[1:]}."),
        "![Accuracy before and after contrastive gating](contrast/figures/accuracy.png)",
    ]


def schedules() -> list[str]:
    """The default schedule against long references."""
    default = {**maps_of("default"), **maps_of("gating")}
    return schedule_section(default, maps_of("reference"), record(SCHEDULE_TIMES))


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
