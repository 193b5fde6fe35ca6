"""The section of docs/results/gating.md on `make bench`."""

from __future__ import annotations

from typing import Any

from markdown import table, text
from stored import record


def _range(timings: dict[str, Any], other: str, form: str) -> str:
    ratios = [b / a for a, b in timings["rounds"][other]]
    return f"{min(ratios):{form}}–{max(ratios):{form}}"


def _strictest(timings: dict[str, Any]) -> float:
    fastest = min(limit for _, limit in timings["rounds"]["limit"])
    return float(fastest / timings["seconds_an_update"]["headatlas"])


def speed_section() -> list[str]:
    """The benchmark."""
    bench = record("bench.json")
    sides = next(iter(bench["cases"].values()))["seconds_an_update"]
    rows = [
        [
            case,
            *(f"{timings['seconds_an_update'][side]:.2f}" for side in sides),
            f"{timings['times_faster']:.1f} × ({_range(timings, 'package', '.1f')})",
            f"{timings['share_of_limit']:.0%} ({_range(timings, 'limit', '.0%')})",
            f"{_strictest(timings):.0%}",
        ]
        for case, timings in bench["cases"].items()
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
