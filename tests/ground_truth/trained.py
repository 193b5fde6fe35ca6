"""Small Llamas trained from scratch, in which few heads do the work and the others only make noise.

A transformer that is simply trained spreads a puzzle over all its heads, so that no head is
responsible. Here it first learns with all heads; then they are taken away one by one, the least
needed first, until as many are left as the puzzle has `heads`. A head that was taken away gets
random weights, new ones at every step, so that the others learn to work beside it but cannot use
it. At positions that ask nothing the model predicts the word two before: a head that works hard,
though not for the puzzle.

Training is deterministic on one machine. On another, rounding makes it another model, and the
responsible heads others: they are found anew for every model (`truth.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from ground_truth.puzzles import START, Practice, Puzzle
from headatlas.models.model import Model

Head = tuple[int, int]

LAYERS, HEADS, D_HEAD, WIDTH = 3, 4, 16, 64
ALL_HEADS = tuple((layer, head) for layer in range(LAYERS) for head in range(HEADS))

ROWS = 96
LEARNING_RATE = 4e-3
STEPS_OF_WARM_UP, STEPS_PER_HEAD, STEPS_AT_END, MOST_STEPS = 50, 20, 150, 1_500
LEARNED = 0.05
"""The loss below which the next head is taken away, at least `STEPS_PER_HEAD` after the last."""

BACK = 2
BACK_WEIGHT = 0.1
"""The loss for the word two before counts less than the loss for the answer."""

NOISE = {"q_proj": 0.3, "k_proj": 0.3, "v_proj": 0.05, "o_proj": 0.05}
"""Standard deviations of the weights of heads that were taken away."""


@dataclass(frozen=True)
class Trained:
    """A trained model and its puzzle; `kept` are the heads that were not taken away."""

    hf: LlamaForCausalLM
    puzzle: Puzzle
    kept: tuple[Head, ...]
    steps: int

    def model(self) -> Model:
        """The model as Head Atlas sees it."""
        return Model(self.hf, self.puzzle.tokenizer(), self.puzzle.name)


@cache
def train(puzzle: Puzzle, seed: int = 0) -> Trained:
    """Learn a puzzle; the same seed gives the same model."""
    hf, rng = _new_model(puzzle, seed), Generator().manual_seed(seed)
    kept = set(ALL_HEADS)
    optimizer = torch.optim.AdamW(hf.parameters(), lr=LEARNING_RATE, betas=(0.9, 0.98))
    since_removal, left = 0, STEPS_AT_END
    for step in range(MOST_STEPS):
        _draw_noise(hf, kept, rng)
        factor = min(1, (step + 1) / STEPS_OF_WARM_UP, 2 * left / STEPS_AT_END)
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * factor
        optimizer.zero_grad()
        with torch.enable_grad():
            loss = _loss(hf, puzzle.practice(rng, ROWS))
            loss.backward()
        nn.utils.clip_grad_norm_(hf.parameters(), 1.0)
        optimizer.step()
        since_removal += 1
        if len(kept) == puzzle.heads:
            left -= 1
        elif since_removal >= STEPS_PER_HEAD and float(loss.detach()) < LEARNED:
            kept.remove(_least_needed(hf, kept, puzzle.practice(rng, 2 * ROWS)))
            since_removal = 0
        if left == 0:
            break
    _draw_noise(hf, kept, rng)  # the optimizer has changed it
    return Trained(hf.eval().requires_grad_(False), puzzle, tuple(sorted(kept)), step + 1)


def _new_model(puzzle: Puzzle, seed: int) -> LlamaForCausalLM:
    config = LlamaConfig(
        vocab_size=len(puzzle.vocabulary),
        hidden_size=WIDTH,
        intermediate_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=D_HEAD,
        max_position_embeddings=32,
        rope_parameters={"rope_type": "default", "rope_theta": 100.0},
        bos_token_id=START,
        eos_token_id=None,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return LlamaForCausalLM(config)


def _loss(hf: LlamaForCausalLM, practice: Practice) -> Tensor:
    """Cross-entropy of the answers, and of the word two before where nothing is asked."""
    rows, answers = practice
    logits = hf(rows).logits  # row position word
    first = rows.shape[1] - 2 * answers.shape[1] + 1
    answer = functional.cross_entropy(logits[:, first::2].flatten(0, 1), answers.flatten())
    places = torch.arange(BACK + 1, first)
    back = functional.cross_entropy(
        logits[:, places].flatten(0, 1), rows[:, places - BACK].flatten()
    )
    return answer + BACK_WEIGHT * back


@torch.no_grad()
def _least_needed(hf: LlamaForCausalLM, heads: set[Head], practice: Practice) -> Head:
    """The head without which the loss is smallest."""

    def loss_without(head: Head) -> float:
        columns = output_columns(hf, head)
        before = columns.clone()
        columns.zero_()
        loss = float(_loss(hf, practice))
        columns.copy_(before)
        return loss

    return min(sorted(heads), key=loss_without)


def _draw_noise(hf: LlamaForCausalLM, kept: set[Head], rng: Generator) -> None:
    """Give random weights to all heads but those that are kept."""
    for head in ALL_HEADS:
        if head not in kept:
            for name, weights in head_weights(hf, head).items():
                weights.copy_(NOISE[name] * torch.randn(weights.shape, generator=rng))


def head_weights(hf: LlamaForCausalLM, head: Head) -> dict[str, Tensor]:
    """What makes a head: rows of three projections and columns of the fourth, to be changed."""
    layer, number = head
    attention = hf.model.layers[layer].self_attn
    own = slice(number * D_HEAD, (number + 1) * D_HEAD)
    weights = {name: getattr(attention, name).weight.data[own] for name in tuple(NOISE)[:3]}
    return weights | {"o_proj": output_columns(hf, head)}


def output_columns(hf: LlamaForCausalLM, head: Head) -> Tensor:
    """The columns of the output projection that belong to a head, to be changed."""
    layer, number = head
    weight = hf.model.layers[layer].self_attn.o_proj.weight.data
    return weight[:, number * D_HEAD : (number + 1) * D_HEAD]
