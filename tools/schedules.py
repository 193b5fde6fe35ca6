"""The default schedule of gating against long references: `python tools/schedules.py FOLDER`.

References have the published learning rates and 250 + 250 + 250 updates, four seeds: hours. The
default has as many seeds as `headatlas gate` gives. Every seed is kept, and the run continues where
it stopped. At the end an update of either is timed on every task, in turns.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import torch

import headatlas as ha

TUNED_ON = ("singular-plural", "aba")
"""The tasks that the default schedule was chosen on."""

SEEN_BEFORE = ("present-past", "ioi")
"""Tasks among the stated ones on which an earlier candidate had been tried."""

STATED_ON = {"present-past": 16, "ioi": 16, "syntax": 8}
"""The tasks that its quality is stated on, and the reference's questions per update."""

SEEDS, REFERENCE_SEEDS = 10, 4
"""Seeds of the default, as `headatlas gate` gives them, and of the reference."""

FIGURED = ("math", "syntax")
"""Tasks whose maps are in the run `gating`; those of others are in `default`."""

ROUNDS = 7


def reference(task: str) -> ha.Gating:
    """The long schedule that the default is compared with."""
    return ha.Gating.published(steps=250, batch_size=STATED_ON[task])


def times(model: ha.Model, task: str) -> dict[str, dict[str, float]]:
    """Seconds per update of either schedule on a task, measured in turns."""
    methods = {"reference": reference(task), "default": ha.Gating()}
    own_task = ha.load_task(task).for_tokenizer(model.tokenizer)
    streams = {name: own_task.batches("train", m.batch_size, 0) for name, m in methods.items()}
    seconds: dict[str, list[float]] = {name: [] for name in methods}
    for _ in range(ROUNDS):
        for name, stream in streams.items():
            rows = [model.encode(example.prompt, example.target) for example in next(stream)]
            gate = torch.full((model.spec.n_layers, model.spec.n_heads), 0.5, requires_grad=True)
            start = time.perf_counter()
            (-model.score(rows, ha.Edit(gate=gate)).mean().mean()).backward()
            seconds[name].append(time.perf_counter() - start)
    return {
        name: {
            "updates": method.reports({}),
            "seconds_per_update": round(statistics.median(seconds[name][1:]), 3),
        }
        for name, method in methods.items()
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    loaded = ha.load_model("smollm2-135m")
    for subject in STATED_ON:
        run = "gating" if subject in FIGURED else "default"
        ha.Atlas(folder / run, loaded).map(ha.Gating(), subject, SEEDS)
    for subject in STATED_ON:
        ha.Atlas(folder / "reference", loaded).map(reference(subject), subject, REFERENCE_SEEDS)
    path = folder / "schedule-times.json"
    timed = {subject: times(loaded, subject) for subject in STATED_ON}
    path.write_text(json.dumps(timed, indent=1) + "\n", encoding="utf-8")
