"""The default schedule of gating against the published one: `python tools/schedules.py FOLDER`.

Four seeds of both on one task, with the published learning rates and 500 + 500 + 500 updates of
batch size 16: hours. Continues where it stopped. Then an update of either is timed, in turns.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import torch

import headatlas as ha

TASK = "singular-plural"
DEFAULT_SEEDS = range(4, 8)
"""Other seeds than those of the published schedule, so that the two share no first gates."""

SCHEDULES = {
    "published": (ha.Gating.published(batch_size=16), 4),
    "default": (ha.Gating(), 8),
}
ROUNDS = 7


def times(model: ha.Model, task: ha.Task) -> dict[str, dict[str, float]]:
    """Seconds per update of either schedule, measured in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in SCHEDULES}
    streams = {name: task.batches("train", m.batch_size, 0) for name, (m, _) in SCHEDULES.items()}
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
            "seconds_an_update": round(statistics.median(seconds[name][1:]), 3),
        }
        for name, (method, _) in SCHEDULES.items()
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    loaded = ha.load_model("smollm2-135m")
    for name, (method, seeds) in SCHEDULES.items():
        ha.Atlas(folder / name, loaded).map(method, TASK, seeds)
    own_task = ha.load_task(TASK).for_tokenizer(loaded.tokenizer)
    path = folder / "schedule-times.json"
    path.write_text(json.dumps(times(loaded, own_task), indent=1) + "\n", encoding="utf-8")
