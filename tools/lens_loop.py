"""One head removed with TransformerLens, the way its users write it; `bench_ablation.py` asks.

Runs in an environment of its own and answers line by line. The first line says what to measure:
{"folder": a stock checkpoint, "rows": [[token ids, start of the target], ...], "threads": n}; the
answer says which version runs and which batch size turned out fastest. Each further line is a head
[layer, head], or null for the model as it is; the answer is {"seconds": time of the passes over
all rows, "scores": mean log-probability of every row's target}.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor

BATCH_SIZES = (64, 32, 16, 8)
Rows = list[tuple[list[int], int]]
Hooks = list[tuple[str, Any]]


class LensLoop:
    """Rows in batches, padded on the right, with one head's `hook_z` set to zero."""

    def __init__(self, folder: str, rows: Rows) -> None:
        from transformer_lens.model_bridge import TransformerBridge

        self.model = TransformerBridge.boot_transformers(folder, device="cpu")
        self.rows = rows
        self.batch_size = BATCH_SIZES[0]
        self.seconds(None)  # to warm up
        by_size = {}
        for self.batch_size in BATCH_SIZES:
            by_size[self.batch_size] = min(self.seconds(None)[0] for _ in range(2))
        self.batch_size = min(by_size, key=lambda size: by_size[size])

    def seconds(self, head: list[int] | None) -> tuple[float, list[float]]:
        """The time that `scores` takes, and what it gives."""
        began = time.perf_counter()
        scores = self.scores(head)
        return time.perf_counter() - began, scores

    @torch.no_grad()
    def scores(self, head: list[int] | None) -> list[float]:
        """Mean log-probability of every row's target without a head."""

        def remove(z: Tensor, hook: Any) -> Tensor:  # row pos head d_head
            assert head is not None
            z[:, :, head[1]] = 0.0
            return z

        hooks = [] if head is None else [(f"blocks.{head[0]}.attn.hook_z", remove)]
        scores: list[float] = []
        for first in range(0, len(self.rows), self.batch_size):
            scores += self._batch_scores(self.rows[first : first + self.batch_size], hooks)
        return scores

    def _batch_scores(self, rows: Rows, hooks: Hooks) -> list[float]:
        # The last token of a row predicts nothing that is measured. What a causal model computes
        # does not depend on padding to the right, so any token will do.
        inputs = [torch.tensor(ids[:-1]) for ids, _ in rows]
        tokens = torch.nn.utils.rnn.pad_sequence(inputs, batch_first=True)  # row pos
        logits = self.model.run_with_hooks(tokens, fwd_hooks=hooks)  # row pos token
        scores = []
        for (ids, start), own in zip(rows, logits, strict=True):
            logprobs = own[start - 1 : len(ids) - 1].log_softmax(-1)  # target token
            scores.append(float(logprobs.gather(-1, torch.tensor(ids[start:])[:, None]).mean()))
        return scores


def main() -> None:
    """Answer until the questions end."""
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # what the libraries print is no answer
        settings = json.loads(sys.stdin.readline())
        torch.set_num_threads(settings["threads"])
        loop = LensLoop(settings["folder"], settings["rows"])
        about = {"version": version("transformer-lens"), "batch_size": loop.batch_size}
        print(json.dumps(about), file=answers, flush=True)
        for line in sys.stdin:
            seconds, scores = loop.seconds(json.loads(line))
            print(json.dumps({"seconds": seconds, "scores": scores}), file=answers, flush=True)


if __name__ == "__main__":
    main()
