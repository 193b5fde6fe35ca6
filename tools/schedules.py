"""The default schedule of gating against the published one: `python tools/schedules.py FOLDER`.

Four seeds of both on one task, with the published learning rates and 500 + 500 + 500 updates at
batch 16: hours. Goes on where it stopped. Then an update of either is timed, in turns.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import torch

from headatlas.methods import Gating
from headatlas.models.edit import Edit
from headatlas.models.load.loader import load_model
from headatlas.models.model import Model
from headatlas.runs.engine import run_units
from headatlas.runs.store import Store, map_name
from headatlas.runs.unit import cut
from headatlas.tasks import Task, load_task

TASK = "singular-plural"
SCHEDULES = {
    "published": (Gating.published(batch_size=16), range(4)),
    "default": (Gating(), range(4, 8)),
}
ROUNDS = 7


def run(model: Model, task: Task, folder: Path) -> None:
    """Learn the gates of all seeds of both schedules."""
    for name, (method, seeds) in SCHEDULES.items():
        store = Store(folder / name)
        store.open()
        units = cut(model, task, method, seeds)

        def show(steps: int, words: str, name: str = name) -> None:
            if words:
                print(f"\r{name}: {words}      ", end="", flush=True)

        run_units(units, model, task, method, store, show)
        store.assemble(units[0].group, map_name(model.spec.name, TASK, name, units[0].group))
        print()


def times(model: Model, task: Task) -> dict[str, dict[str, float]]:
    """Seconds of an update of either schedule, measured in turns."""
    found: dict[str, list[float]] = {name: [] for name in SCHEDULES}
    streams = {name: task.batches("train", m.batch, 0) for name, (m, _) in SCHEDULES.items()}
    for _ in range(ROUNDS):
        for name, stream in streams.items():
            rows = [model.encode(each.prompt, each.target) for each in next(stream)]
            gate = torch.full((model.spec.n_layers, model.spec.n_heads), 0.5, requires_grad=True)
            start = time.perf_counter()
            (-model.score(rows, Edit(gate=gate)).mean().mean()).backward()
            found[name].append(time.perf_counter() - start)
    return {
        name: {
            "updates": method.reports({}),
            "seconds_an_update": round(statistics.median(found[name][1:]), 3),
        }
        for name, (method, _) in SCHEDULES.items()
    }


if __name__ == "__main__":
    loaded = load_model("smollm2-135m")
    asked = load_task(TASK).for_tokenizer(loaded.tokenizer)
    run(loaded, asked, Path(sys.argv[1]))
    path = Path(sys.argv[1]) / "schedule-times.json"
    path.write_text(json.dumps(times(loaded, asked), indent=1) + "\n", encoding="utf-8")
