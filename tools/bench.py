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

from headatlas.methods.fitting import Fit, existing_heads, first_theta, fit_gates
from headatlas.models.edit import Edit
from headatlas.models.load import load_model
from headatlas.models.model import Model
from headatlas.models.packing import packing_pays
from headatlas.models.scoring import shared_prefix
from headatlas.models.tokens import Tokens
from headatlas.tasks import load_task

PREFIX, SUFFIX, ROWS = 64, 8, 32
ROUNDS = 3


def few_shot_rows(model: Model) -> list[Tokens]:
    """Real text cut to size: a shared prefix, then rows that end in one target token."""
    task = load_task("singular-plural").for_tokenizer(model.tokenizer)
    ids = [
        i for each in task.ask("train") for i in model.encode(each.prompt, each.target).ids[-40:]
    ]
    prefix, rest = ids[:PREFIX], ids[PREFIX:]
    tails = [rest[SUFFIX * i + i : SUFFIX * (i + 1) + i] for i in range(ROWS)]
    tails = [[100 + i, *tail[1:]] for i, tail in enumerate(tails)]  # no two start alike
    return [Tokens((*prefix, *tail), PREFIX + SUFFIX - 1) for tail in tails]


def unlike_rows(model: Model) -> list[Tokens]:
    """Questions of a built-in task as they are, without solved examples: nothing in common."""
    task = load_task("syntax:plain").for_tokenizer(model.tokenizer)
    return [model.encode(each.prompt, each.target) for each in task.ask("train", limit=ROWS)]


def ours(model: Model, rows: list[Tokens]) -> Callable[[int], float]:
    """Seconds of an update of this project."""
    exists = existing_heads(model.spec)
    start = first_theta(model.spec, torch.Generator().manual_seed(0))

    def run(updates: int) -> float:
        def loss(gate: torch.Tensor, step: int) -> torch.Tensor:
            return -model.score(rows, Edit(gate=gate)).mean().mean()

        began = time.perf_counter()
        fit_gates(start, exists, loss, Fit(updates, (0.1, 0.01), 0.0))
        return (time.perf_counter() - began) / updates

    return run


def theirs(model: Model, rows: list[Tokens], *, float32: bool) -> Callable[[int], float]:
    """Seconds of an update of the package, with its own training loop.

    On a CPU the package computes in emulated bfloat16 (autocast), which is slow without hardware
    for it; with `float32` its autocast is switched off.
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


def in_turns(sides: dict[str, Callable[[int], float]], updates: int) -> dict[str, float]:
    """The median seconds of an update of every side, measured in turns after one to warm up."""
    for run in sides.values():
        run(1)
    found: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(ROUNDS):
        for name, run in sides.items():
            found[name].append(run(updates))
    return {name: statistics.median(times) for name, times in found.items()}


def matrix_limit() -> float:
    """The most floating-point operations a second that a matrix product reaches here."""
    best = 0.0
    for size in (1024, 1536, 2048):
        a, b = torch.randn(size, size), torch.randn(size, size)
        for _ in range(6):
            began = time.perf_counter()
            a @ b
            best = max(best, 2 * size**3 / (time.perf_counter() - began))
    return best


def update_operations(model: Model, rows: list[Tokens]) -> tuple[float, int]:
    """Operations that an update needs, forward and back, and the tokens that run."""
    embeddings = {id(model.hf.get_input_embeddings().weight)}
    embeddings.add(id(model.hf.get_output_embeddings().weight))
    trunk = sum(p.numel() for p in model.hf.parameters() if id(p) not in embeddings)
    prefix = shared_prefix(rows)
    tokens = prefix + sum(len(row) - 1 - prefix for row in rows)
    places = sum(len(row.target) for row in rows)
    vocabulary = model.hf.get_output_embeddings().weight.numel()
    return 4.0 * (trunk * tokens + vocabulary * places), tokens


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


def bench(updates: int) -> dict[str, Any]:
    """All measurements."""
    model = load_model("smollm2-135m")
    rows = few_shot_rows(model)
    loaded = psutil.Process().memory_info().rss
    with watching_memory() as peak:
        ours(model, rows)(2)
    cases = {}
    for case, given in (("few-shot", rows), ("no common prefix", unlike_rows(model))):
        print(f"{case}: {len(given)} prompts, {ROUNDS} rounds of {updates} updates …", flush=True)
        sides = {
            "headatlas": ours(model, given),
            "package, float32": theirs(model, given, float32=True),
        }
        seconds = in_turns(sides, updates)
        print("  the package as it is, one update …", flush=True)
        seconds["package as it is"] = theirs(model, given, float32=False)(1)
        best = min(seconds["package, float32"], seconds["package as it is"])
        operations, tokens = update_operations(model, given)
        limit = matrix_limit()
        reached = operations / seconds["headatlas"]
        cases[case] = {
            "prompts": len(given),
            "prompt_tokens": sum(map(len, given)),
            "tokens_run": tokens,
            "packed": packing_pays(given, shared_prefix(given)),
            "seconds_an_update": seconds,
            "times_faster": best / seconds["headatlas"],
            "times_faster_than_as_it_is": seconds["package as it is"] / seconds["headatlas"],
            "gflops": reached / 1e9,
            "matrix_limit_gflops": limit / 1e9,
            "share_of_limit": reached / limit,
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
    for case, found in result["cases"].items():
        print(f"\n{case}: {found['prompts']} prompts, {found['prompt_tokens']} tokens")
        for side, seconds in found["seconds_an_update"].items():
            print(f"  {side:18} {seconds:7.2f} s an update")
        print(f"  {found['times_faster']:.1f} times the speed of the package at its best")
        print(
            f"  {found['share_of_limit']:.0%} of the matrix-multiply limit "
            f"({found['gflops']:.0f} of {found['matrix_limit_gflops']:.0f} GFLOP/s)"
        )
    print(f"\npeak memory: {result['peak_memory_above_model_gb']:.2f} GB above the loaded model")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=2, help="updates a round")
    parser.add_argument("--package", type=Path, help="folder that holds the published package")
    parser.add_argument("--out", type=Path, default=Path("bench.json"))
    given = parser.parse_args()
    if given.package:
        sys.path.append(str(given.package))
    result = bench(given.updates)
    show(result)
    given.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
