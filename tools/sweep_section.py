"""The section of docs/results/methods.md on how fast all heads are removed."""

from __future__ import annotations

from typing import Any

import stored
from markdown import table, text

RECORD = "bench-ablation.json"
"""What `make bench` writes."""


def sweep_section() -> list[str]:
    """The benchmark of the sweep; nothing where it was not run."""
    if not (stored.RESULTS / RECORD).exists():
        return []
    bench = stored.record(RECORD)
    seconds, lens = bench["seconds"], bench.get("transformer_lens")
    rows = [
        ["`headatlas ablate`", f"{seconds['sweep']:.0f}", "", ""],
        [
            "loop of whole passes",
            f"{seconds['loop of whole passes']:.0f}",
            f"{bench['times_faster']:.2f} ×",
            f"{bench['largest_difference']:.1e}",
        ],
    ]
    if lens:
        rows.append(_lens_row(lens))
    parts = [
        "## How fast are all heads removed?",
        text(
            f"`make bench`: every one of the {bench['heads']} heads of the embedded model removed "
            f"alone, on {bench['examples']} examples of `{bench['task']}` after the same "
            "demonstrations; both loops in turns with ours, layer by layer, on the same weights, "
            f"token ids and {bench['threads']} threads. *Faster*: how many times as long that loop "
            "takes; *difference*: the largest of any effect, in nats."
        ),
        table(["", "seconds", "faster", "difference"], rows),
    ]
    return [*parts, text(_lens_words(lens))] if lens else parts


def _lens_row(lens: dict[str, Any]) -> list[str]:
    turns = [turn["times_faster"] for turn in lens["turns"]]
    return [
        f"TransformerLens {lens['version']}",
        f"{lens['seconds_scaled_to_all_heads']:.0f}",
        f"{lens['times_faster']:.1f} × ({min(turns):.1f}–{max(turns):.1f})",
        f"{lens['largest_difference']:.1e}",
    ]


def _lens_words(lens: dict[str, Any]) -> str:
    return (
        "TransformerLens as its users write it: `hook_z` of one head set to 0, rows in padded "
        "batches of the size that it is fastest with, one head after the other. It was timed on "
        f"{lens['measured_heads']} heads, "
        "as a pass takes as long whichever head is removed, and scaled to all; in brackets the "
        "range over these heads."
    )
