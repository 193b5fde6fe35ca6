"""How fast a whole ablation sweep is: every head removed alone, against loops of whole passes.

One loop is our own scoring, one pass a head. The other (with `--lens`) is what users of
TransformerLens write; it runs in its own environment (`lens_loop.py`) and, as it takes long, on one
head of every third layer: a pass takes as long whichever head is removed, so its time is scaled to
all heads. All sides run in turns layer by layer, on the same weights, token ids and threads, and
must give the same effects; the speed is given as a ratio. `make bench` writes bench-ablation.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headatlas.methods.heads import closed_gates
from headatlas.models.edit import Edit
from headatlas.models.load.export import export_model
from headatlas.models.load.loader import load_model
from headatlas.models.model import Model
from headatlas.models.run.sweep import SweepPlan
from headatlas.models.tokens import Tokens
from headatlas.tasks import load_task

EXAMPLES = 64
TASK = "singular-plural"
LAYERS_PER_LENS_HEAD = 3
LARGEST_DIFFERENCE = 1e-4


class Lens:
    """TransformerLens in a process of its own, which waits while others are timed."""

    def __init__(self, process: subprocess.Popen[str], settings: dict[str, Any]) -> None:
        self._process = process
        self.about = self._ask(settings)  # warm now
        self.plain = torch.tensor(self._ask(None)["scores"])  # row
        self.turns: list[dict[str, Any]] = []

    def _ask(self, question: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            sys.exit("bench: the process of TransformerLens ended; its last words are above.")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def measure(self, layer: int, head: int, effects: Tensor) -> None:
        """Time the removal of one head, whose effects (row) must be those given."""
        answer = self._ask([layer, head])
        difference = float((torch.tensor(answer["scores"]) - self.plain - effects).abs().max())
        if not difference <= LARGEST_DIFFERENCE:
            sys.exit(
                f"bench: TransformerLens is {difference:.1e} from our effects of L{layer}H{head}."
            )
        turn = {"layer": layer, "head": head, "seconds": answer["seconds"]}
        self.turns.append({**turn, "largest_difference": difference})

    def result(self, heads: int, sweep_seconds: float) -> dict[str, Any]:
        """The measured heads, and the time of all heads as a multiple of the sweep's."""
        seconds = [turn["seconds"] for turn in self.turns]
        per_head = statistics.fmean(seconds)
        return {
            **self.about,
            "measured_heads": len(seconds),
            "seconds_per_head": per_head,
            "seconds_scaled_to_all_heads": per_head * heads,
            "times_faster": per_head * heads / sweep_seconds,
            "largest_difference": max(turn["largest_difference"] for turn in self.turns),
            "turns": [
                {**turn, "times_faster": turn["seconds"] * heads / sweep_seconds}
                for turn in self.turns
            ],
        }


@contextmanager
def started_lens(python: Path, model: Model, rows: Sequence[Tokens]) -> Iterator[Lens]:
    """TransformerLens with the model's weights and the rows' token ids."""
    script = Path(__file__).with_name("lens_loop.py")
    with tempfile.TemporaryDirectory() as parent:
        gate = torch.ones(model.spec.n_layers, model.spec.n_heads)
        settings = {
            "folder": str(export_model(model, gate, Path(parent) / "model")),
            "rows": [(row.ids, row.target_start) for row in rows],
            "threads": torch.get_num_threads(),
        }
        process = subprocess.Popen(
            [python, "-I", script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
        with process:
            try:
                yield Lens(process, settings)
            finally:
                process.terminate()


@torch.no_grad()
def bench(model: Model, rows: tuple[Tokens, ...], lens: Lens | None) -> dict[str, Any]:
    """Seconds of the sweep and of the loops for every layer, and their largest differences."""
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
        swept = sweep.scores(gates).mean() - plain  # head row
        middle = time.perf_counter()
        looped = torch.stack([model.score(rows, Edit(gate=gate)).mean() for gate in gates]) - plain
        layers.append((middle - began, time.perf_counter() - middle))
        gap = max(gap, float((swept - looped).abs().max()))
        print(f"layer {layer}: {layers[-1][0]:.2f} s, loop {layers[-1][1]:.2f} s", flush=True)
        if lens and layer % LAYERS_PER_LENS_HEAD == 0:
            head = layer % len(heads)
            lens.measure(layer, head, swept[head])
            print(f"  TransformerLens: {lens.turns[-1]['seconds']:.2f} s for one head", flush=True)
    mine = first + sum(sweep_seconds for sweep_seconds, _ in layers)
    loop = sum(loop_seconds for _, loop_seconds in layers)
    result = {
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
    if lens:
        result["transformer_lens"] = lens.result(len(model.spec.heads()), mine)
    return result


def show(result: dict[str, Any]) -> None:
    """Print the ratios."""
    print(
        f"{result['heads']} heads, {result['examples']} examples: sweep "
        f"{result['seconds']['sweep']:.0f} s, loop {result['seconds']['loop of whole passes']:.0f} "
        f"s: {result['times_faster']:.2f} times as fast; effects differ by at most "
        f"{result['largest_difference']:.1e}"
    )
    if lens := result.get("transformer_lens"):
        ratios = [turn["times_faster"] for turn in lens["turns"]]
        print(
            f"TransformerLens {lens['version']}: {lens['seconds_per_head']:.2f} s a head over "
            f"{lens['measured_heads']} heads, {lens['seconds_scaled_to_all_heads']:.0f} s for all "
            f"at that rate: the sweep is {lens['times_faster']:.1f} times as fast "
            f"({min(ratios):.1f}–{max(ratios):.1f} by turn); effects differ by at most "
            f"{lens['largest_difference']:.1e}"
        )


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lens", type=Path, help="python of an environment with TransformerLens")
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    parser.add_argument("--out", type=Path, default=Path("bench-ablation.json"))
    given = parser.parse_args()
    model = load_model("smollm2-135m")
    task = load_task(TASK).for_tokenizer(model.tokenizer)
    prompts = task.prompts("train", 0, given.examples)  # all after the same demonstrations
    rows = tuple(model.encode(example.prompt, example.target) for example in prompts)
    if given.lens:
        with started_lens(given.lens, model, rows) as lens:
            result = bench(model, rows, lens)
    else:
        result = bench(model, rows, None)
    show(result)
    given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
