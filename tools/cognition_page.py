"""docs/results/cognition.md: what probing finds on the embedded model, and whether it is true."""

from __future__ import annotations

from collections.abc import Iterator

import headatlas as ha
import task_page
from cognition_checks import (
    claims_section,
    masking_section,
    order_section,
    specificity_section,
    strengthening_section,
)
from cognition_probe import causes_section, counts_section, probe_section
from cognition_runs import Run, runs
from headatlas.methods.baseline import QUESTIONS
from markdown import text


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
        unchecked_section: True,
        claims_section: checked,
        map_section: True,
        probe_section: True,
        counts_section: True,
        masking_section: checked,
        specificity_section: checked,
        order_section: checked,
        strengthening_section: checked,
        causes_section: True,
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
            f"On {run.title} the untouched model gives {accuracy_text(run)} of the test answers "
            f"exactly; always giving the most common one would reach {facts['task_chance']:.0%}. "
            "Changes that a check measures are of the log-probability of the right answer. They "
            "say what heads do to that probability, not to steps that are solved."
        )


def unchecked_section() -> Iterator[str]:
    """Which maps have no causal check, and why."""
    for run in runs():
        if run.check is None:
            yield text(
                f"The map of {run.title} has no causal check: with its long prompts one takes "
                "hours on two cores."
            )


def accuracy_text(run: Run) -> str:
    """What the untouched model gets right: on the whole split if it is a built-in task."""
    figures = task_page.read_figures().get(run.folder.name)
    if figures is None:
        accuracy = run.head_map.provenance["task_accuracy"]
        return f"{accuracy:.0%} (of a sample of at most {QUESTIONS} questions, no interval stored)"
    baseline = task_page.stored_baseline(figures)
    return (
        f"{baseline.accuracy:.0%} ({baseline.accuracy_low:.0%} … {baseline.accuracy_high:.0%}, "
        f"{baseline.examples} steps)"
    )


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
