"""How fast a gate update is: this project, the published package and the machine's limit.

Everything is measured in one run on one machine, in turns, on the same model and prompts; speeds
are given as ratios. `make bench` installs the package for it and writes bench.json.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import psutil
import torch

from headatlas.methods.fitting import FitSettings, existing_heads, first_theta, fit_gates
from headatlas.models.edit import Edit
from headatlas.models.load.loader import load_model
from headatlas.models.model import Model
from headatlas.models.run.packing import packing_pays
from headatlas.models.run.scoring import shared_prefix
from headatlas.models.tokens import Tokens
from headatlas.tasks import load_task

PREFIX, SUFFIX, ROWS = 64, 8, 32
ROUNDS = 7

Side = Callable[[int], float]
"""Makes a number of updates and gives the seconds that one took."""


def few_shot_rows(model: Model) -> list[Tokens]:
    """Real text cut to size: a shared prefix, then rows that end in one target token."""
    task = load_task("singular-plural").for_tokenizer(model.tokenizer)
    ids = [
        i
        for example in task.prompts("train")
        for i in model.encode(example.prompt, example.target).ids[-40:]
    ]
    prefix, others = ids[:PREFIX], ids[PREFIX:]
    tails = [others[SUFFIX * i + i : SUFFIX * (i + 1) + i] for i in range(ROWS)]
    tails = [[100 + i, *tail[1:]] for i, tail in enumerate(tails)]  # no two start alike
    return [Tokens((*prefix, *tail), PREFIX + SUFFIX - 1) for tail in tails]


def unlike_rows(model: Model) -> list[Tokens]:
    """Questions of a built-in task as they are, without solved examples: nothing in common."""
    task = load_task("syntax:plain").for_tokenizer(model.tokenizer)
    return [
        model.encode(example.prompt, example.target)
        for example in task.prompts("train", limit=ROWS)
    ]


def ours(model: Model, rows: list[Tokens]) -> Side:
    """Seconds of an update of this project."""
    exists = existing_heads(model.spec)
    start = first_theta(model.spec, torch.Generator().manual_seed(0))

    def run(updates: int) -> float:
        def loss(gate: torch.Tensor, step: int) -> torch.Tensor:
            return -model.score(rows, Edit(gate=gate)).mean().mean()

        began = time.perf_counter()
        fit_gates(start, exists, loss, FitSettings(updates, (0.1, 0.01), 0.0))
        return (time.perf_counter() - began) / updates

    return run


def theirs(model: Model, rows: list[Tokens], *, float32: bool) -> Side:
    """Seconds of an update of the package, with its own training loop.

    On a CPU the package computes in bfloat16 (autocast), which takes minutes an update without
    hardware for it; with `float32` its autocast is switched off.
    """
    from causal_head_gating.core.trainer import CHGTrainer
    from causal_head_gating.data.datasets import MaskedSequenceDataset

    length = max(len(row) for row in rows)
    pad = 0
    ids = torch.full((len(rows), length), pad)
    target = torch.zeros(len(rows), length, dtype=torch.bool)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row.ids)
        target[number, row.target_start : len(row)] = True
    data = MaskedSequenceDataset(pad_token_id=pad, input_ids=ids, loss_masks=target)
    trainer = CHGTrainer(model.hf, data, batch_size=len(rows), lr=0.1, lr_end=0.01)

    def run(updates: int) -> float:
        off = mock.patch("torch.amp.autocast", return_value=nullcontext())
        with off if float32 else nullcontext():
            began = time.perf_counter()
            for _ in trainer.fit_stage("none", updates, show_progress=False):
                pass
            return (time.perf_counter() - began) / updates

    return run


def in_turns(mine: Side, other: Side, updates: int) -> dict[str, Any]:
    """Two sides in turns, after one to warm up: seconds an update, and the median over rounds of
    what the other takes in our time. Turns next to each other share what else the machine does."""
    mine(1)
    other(1)
    rounds = [(mine(updates), other(updates)) for _ in range(ROUNDS)]
    return {
        "seconds": [statistics.median(side) for side in zip(*rounds, strict=True)],
        "ratio": statistics.median(b / a for a, b in rounds),
        "rounds": rounds,
    }


def limit(operations: float) -> Side:
    """Seconds that an update would take if matrix products were all there is to it, at the size
    that is fastest here; measured for as long as the other sides."""
    speeds: dict[int, float] = {}
    for size in (1024, 1536, 2048):
        speeds[size] = 2 * size**3 / min(_product_seconds(size, 1) for _ in range(6))
    best = max(speeds, key=lambda size: speeds[size])

    def run(updates: int) -> float:
        repeats = round(updates * operations / (2 * best**3)) + 1
        return _product_seconds(best, repeats) * operations / (2 * best**3)

    return run


def _product_seconds(size: int, repeats: int) -> float:
    a, b = torch.randn(size, size), torch.randn(size, size)
    began = time.perf_counter()
    for _ in range(repeats):
        a @ b
    return (time.perf_counter() - began) / repeats


def update_operations(model: Model, rows: list[Tokens]) -> tuple[float, int]:
    """Operations of the matrix products that an update needs, and the tokens that run.

    Forward and back to the inputs: 4 a weight and token. Attention: 4 forward and 8 back for every
    pair of tokens, one in view of the other, and dimension of the heads.
    """
    spec, hf = model.spec, model.hf
    embeddings = {id(hf.get_input_embeddings().weight), id(hf.get_output_embeddings().weight)}
    trunk = sum(p.numel() for p in hf.parameters() if id(p) not in embeddings)
    prefix = shared_prefix(rows)
    suffixes = [len(row) - 1 - prefix for row in rows]
    tokens = prefix + sum(suffixes)
    pairs = sum(range(1, prefix + 1)) + sum(
        prefix + place for suffix in suffixes for place in range(1, suffix + 1)
    )
    places = sum(len(row.target) for row in rows)
    vocabulary = hf.get_output_embeddings().weight.numel()
    attention = 12.0 * pairs * spec.n_layers * spec.n_heads * spec.d_head
    return 4.0 * (trunk * tokens + vocabulary * places) + attention, tokens


@contextmanager
def watching_memory() -> Iterator[list[int]]:
    """The largest memory of this process while something runs, as the list's only number."""
    process, peak, stop = psutil.Process(), [0], threading.Event()

    def watch() -> None:
        while not stop.wait(0.002):
            peak[0] = max(peak[0], process.memory_info().rss)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()


def bench(updates: int, *, as_it_is: bool) -> dict[str, Any]:
    """All measurements; the package `as_it_is` takes minutes an update where bfloat16 is slow."""
    model = load_model("smollm2-135m")
    rows = few_shot_rows(model)
    loaded = psutil.Process().memory_info().rss
    with watching_memory() as peak:
        ours(model, rows)(2)
    cases = {}
    for case, given in (("few-shot", rows), ("no common prefix", unlike_rows(model))):
        print(f"{case}: {len(given)} prompts, {ROUNDS} rounds of {updates} updates …", flush=True)
        operations, tokens = update_operations(model, given)
        mine = ours(model, given)
        machine = in_turns(mine, limit(operations), 2 * updates)
        package = in_turns(mine, theirs(model, given, float32=True), updates)
        seconds = {
            "headatlas": machine["seconds"][0],
            "matrix limit": machine["seconds"][1],
            "package, float32": package["seconds"][1],
        }
        if as_it_is:
            print("  the package as it is, one update …", flush=True)
            seconds["package as it is"] = theirs(model, given, float32=False)(1)
        cases[case] = {
            "prompts": len(given),
            "prompt_tokens": sum(map(len, given)),
            "tokens_run": tokens,
            "packed": packing_pays(given, shared_prefix(given)),
            "seconds_an_update": seconds,
            "times_faster": package["ratio"],
            "share_of_limit": machine["ratio"],
            "gflops": operations / seconds["headatlas"] / 1e9,
            "rounds": {"package": package["rounds"], "limit": machine["rounds"]},
        }
    return {
        "model": model.spec.name,
        "cases": cases,
        "peak_memory_above_model_gb": (peak[0] - loaded) / 1e9,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "machine": platform.processor() or platform.machine(),
    }


def show(result: dict[str, Any]) -> None:
    """Print the ratios."""
    for case, timings in result["cases"].items():
        print(f"\n{case}: {timings['prompts']} prompts, {timings['prompt_tokens']} tokens")
        for side, seconds in timings["seconds_an_update"].items():
            print(f"  {side:18} {seconds:7.2f} s an update")
        print(f"  {timings['times_faster']:.1f} times the speed of the package in float32")
        print(
            f"  {timings['share_of_limit']:.0%} of the matrix-multiply limit "
            f"({timings['gflops']:.0f} GFLOP/s)"
        )
    print(f"\npeak memory: {result['peak_memory_above_model_gb']:.2f} GB above the loaded model")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=2, help="updates a round")
    parser.add_argument("--package", type=Path, help="folder that holds the published package")
    parser.add_argument("--as-it-is", action="store_true", help="the package in bfloat16 too")
    parser.add_argument("--out", type=Path, default=Path("bench.json"))
    given = parser.parse_args()
    if given.package:
        sys.path.append(str(given.package))
    result = bench(given.updates, as_it_is=given.as_it_is)
    show(result)
    given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
