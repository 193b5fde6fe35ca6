"""How fast a whole ablation sweep is: every head removed alone, against a loop of whole passes.

Both sides run in one process, in turns layer by layer, on the same model and few-shot prompts, and
must give the same effects; the speed is given as a ratio. `make bench` writes bench-ablation.json.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from typing import Any

import torch

from headatlas.methods.heads import closed_gates
from headatlas.models.edit import Edit
from headatlas.models.load.loader import load_model
from headatlas.models.run.sweep import SweepPlan
from headatlas.tasks import load_task

EXAMPLES = 64
TASK = "singular-plural"


@torch.no_grad()
def bench() -> dict[str, Any]:
    """Seconds of the sweep and of the loop for every layer, and their largest difference."""
    model = load_model("smollm2-135m")
    task = load_task(TASK).for_tokenizer(model.tokenizer)
    prompts = task.prompts("train", 0, EXAMPLES)  # all after the same demonstrations
    rows = tuple(model.encode(example.prompt, example.target) for example in prompts)
    _ = model.packs, model.resumes
    began = time.perf_counter()
    sweep = model.sweep(SweepPlan(rows))
    plain = sweep.plain.mean()
    first = time.perf_counter() - began
    model.score(rows)
    layers, gap = [], 0.0
    for layer in range(model.spec.n_layers):
        heads = [[head] for head in model.spec.heads() if head[0] == layer]
        gates = closed_gates(model.spec, heads)
        began = time.perf_counter()
        swept = sweep.scores(gates).mean() - plain
        middle = time.perf_counter()
        looped = torch.stack([model.score(rows, Edit(gate=gate)).mean() for gate in gates]) - plain
        layers.append((middle - began, time.perf_counter() - middle))
        gap = max(gap, float((swept - looped).abs().max()))
        print(f"layer {layer}: {layers[-1][0]:.2f} s, loop {layers[-1][1]:.2f} s", flush=True)
    mine = first + sum(sweep_seconds for sweep_seconds, _ in layers)
    loop = sum(loop_seconds for _, loop_seconds in layers)
    return {
        "model": model.spec.name,
        "task": TASK,
        "examples": len(rows),
        "heads": len(model.spec.heads()),
        "seconds": {"sweep": mine, "loop of whole passes": loop},
        "times_faster": loop / mine,
        "largest_difference": gap,
        "layers": layers,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "machine": platform.processor() or platform.machine(),
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench-ablation.json"))
    out = parser.parse_args().out
    result = bench()
    print(
        f"{result['heads']} heads, {result['examples']} examples: sweep "
        f"{result['seconds']['sweep']:.0f} s, loop {result['seconds']['loop of whole passes']:.0f} "
        f"s: {result['times_faster']:.2f} times as fast; effects differ by at most "
        f"{result['largest_difference']:.1e}"
    )
    out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
