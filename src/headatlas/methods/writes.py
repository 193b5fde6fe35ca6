"""Writes: what every head says about the answer directly, and in which tokens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.methods.effects import Effects
from headatlas.methods.example_method import ExampleMethod
from headatlas.methods.measures import Measured
from headatlas.methods.method import Inputs, Part, Report, verified_coordinates
from headatlas.models.run.direct_paths import DirectPaths
from headatlas.tasks import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.models.run.unembedding import Unembedding

MEASURES = {"logit": "logprob", "difference": "difference"}
"""What is measured, with the measure that needs the same answers of every example."""

FEWEST = 2


@dataclass(frozen=True, kw_only=True)
class Writes(ExampleMethod):
    """Read what every head writes into the residual stream as logits.

    `direct_logit[l,h]` = mean over examples of u · N'(W_O z), at the position that predicts the
    target's first token: direct logit attribution (Elhage et al. 2021; Wang et al. 2022). z is the
    head's output, W_O its columns of the output projection, and N' the final norm without its bias,
    with the scale that it has on the whole residual stream, so that the values of all heads, MLPs,
    the embedding and biases add up to the logit. u is the target's row of the unembedding minus the
    mean row (the `measure` `logit`: the target's logit above the mean logit), or minus the mean row
    of the other choices, else of the corrupted target (`difference`). Positive: the head itself
    speaks for the target. What later layers make of its output is not in it: see `Ablation`.

    `promoted` and `suppressed` are the `tokens` whose logits the head raises and lowers most on the
    mean example, compared with the mean logit; `promoted_logit` and `suppressed_logit` by how much.
    Only models that add to their residual stream have direct paths; others are refused. See
    `ExampleMethod` for the other settings.

    >>> Writes(measure="difference").settings()["measure"]
    'difference'
    """

    measure: str = "logit"
    tokens: int = 5

    name: ClassVar[str] = "writes"
    version: ClassVar[int] = 1
    variable: ClassVar[str] = "direct_logit"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.measure not in MEASURES:
            raise HeadAtlasError(f"no measure '{self.measure}' of writes: use logit or difference.")
        if type(self.tokens) is not int or self.tokens < 1:
            raise HeadAtlasError(f"writes needs at least 1 token per head, not {self.tokens!r}.")

    def reports(self, part: Part) -> int:
        return 1

    def forward_passes(self, model: Model, examples: int) -> float:
        return float(examples)

    def takes_rows(self) -> bool:
        """One pass tells all answers' first tokens."""
        return False

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        DirectPaths(model)  # raises if there are none
        task = task.for_tokenizer(model.tokenizer)
        measured = self._measured(model, task, 0)
        remarks = measured.remarks() + self.sample_remarks(task, seeds)
        targets = [measured.rows[row].target for row in measured.target_rows]
        if longer := sum(len(target) > 1 for target in targets):
            remarks.append(
                f"{longer} of {len(targets)} targets have several tokens: what heads write is "
                "measured on the first"
            )
        return remarks

    def run(
        self,
        model: Model,
        task: Task,
        seed: int = 0,
        *,
        part: Part | None = None,
        report: Report | None = None,
        inputs: Inputs | None = None,
    ) -> Map:
        """The map of a task."""
        coordinates = verified_coordinates(model, seed)
        task = task.for_tokenizer(model.tokenizer)
        measured = self._measured(model, task, seed)
        paths = DirectPaths(model)
        direct, mean, value = _direct(paths, measured)
        if report is not None:
            report(f"seed {seed}, {len(measured.examples)} examples")
        effects = Effects(model.spec, measured.examples, keep_examples=self.keep_examples)
        effects.add_all("direct_logit", direct)
        facts = measured.facts() | {
            "baseline_value": float(value.mean()),
            "heads_value": float(np.nansum(direct, (1, 2)).mean()),
        }
        head_map = self.map_of(model, task, seed, effects, facts, coordinates)
        texts, logits = self._words(model, paths.unembedding, mean)
        return replace(head_map, data=head_map.data.assign(logits).assign_coords(texts))

    def _measured(self, model: Model, task: Task, seed: int) -> Measured:
        """The examples whose answers differ in the first token, where answers are compared."""
        measured = Measured.of(model, task, self.sample(task, seed), MEASURES[self.measure])
        firsts = _first_tokens(measured)
        told = [i for i, (_, others) in enumerate(firsts) if others or self.measure == "logit"]
        if len(told) < FEWEST:
            raise TaskError(
                f"the other answers of '{task.name}' begin with the same token as its targets in "
                f"all but {len(told)} of {len(firsts)} examples: use the measure logit."
            )
        without = measured.without_others + len(firsts) - len(told)
        return replace(measured.select(told), without_others=without)

    def _words(
        self, model: Model, unembedding: Unembedding, mean: Tensor
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The tokens that every head promotes and suppresses, and by how much."""
        spec, tokenizer = model.spec, model.tokenizer
        assert tokenizer is not None  # the examples have been encoded
        heads = spec.heads()
        vectors = torch.stack([mean[head] for head in heads])
        average = vectors @ unembedding.mean_row()
        known = min(len(unembedding.weight), len(tokenizer))
        count = min(self.tokens, known)
        dims, shape = ("token", "seed", "layer", "head"), (count, 1, spec.n_layers, spec.n_heads)
        texts: dict[str, Any] = {}
        amounts: dict[str, Any] = {}
        for name, sign in (("promoted", 1), ("suppressed", -1)):
            values, ids = unembedding.largest(sign * vectors, count, known)
            words, logits = np.full(shape, "", dtype=object), np.full(shape, np.nan)
            above = (sign * values - average[:, None]).tolist()  # head token
            for (layer, head), own, amount in zip(heads, ids.tolist(), above, strict=True):
                words[:, 0, layer, head] = [_text(tokenizer, token) for token in own]
                logits[:, 0, layer, head] = amount
            texts[name], amounts[f"{name}_logit"] = (dims, words), (dims, logits)
        return texts, amounts


def _text(tokenizer: PreTrainedTokenizerBase, token: int) -> str:
    """A token as text; a NUL, which netCDF cannot keep, by its picture."""
    return str(tokenizer.decode([token])).replace("\0", "␀")


def _first_tokens(measured: Measured) -> list[tuple[int, list[int]]]:
    """The first token of every example's target, and those of other answers that differ."""
    firsts = []
    for number, row in enumerate(measured.target_rows):
        target = measured.rows[row].target[0]
        own = [i for i, owner in enumerate(measured.owner) if owner == number and i != row]
        others = [measured.rows[i].target[0] for i in own]
        firsts.append((target, [token for token in others if token != target]))
    return firsts


def _direct(paths: DirectPaths, measured: Measured) -> tuple[np.ndarray[Any, Any], Tensor, Tensor]:
    """Direct values (example × layer × head), what heads put before the unembedding on the mean
    example (layer × head × d_model), and the value of every example."""
    spec, unembedding = paths.model.spec, paths.unembedding
    rows = [
        measured.rows[row].ids[: measured.rows[row].target_start] for row in measured.target_rows
    ]
    directions, offsets = _directions(unembedding, measured)
    direct = np.full((len(rows), spec.n_layers, spec.n_heads), np.nan)
    mean = torch.zeros(spec.n_layers, spec.n_heads, directions.shape[-1])
    value = torch.zeros(len(rows))
    for numbers, states in paths.read(rows):
        for layer, shares in paths.shares(states):  # row head d_model
            logits = torch.einsum("rhd,rd->rh", shares, directions[numbers])
            direct[numbers, layer, : logits.shape[1]] = logits.double().numpy()
            mean[layer, : shares.shape[1]] += shares.sum(0) / len(rows)
        value[numbers] = (paths.whole(states) * directions[numbers]).sum(-1) + offsets[numbers]
    return direct, mean, value


def _directions(unembedding: Unembedding, measured: Measured) -> tuple[Tensor, Tensor]:
    """For every example the direction that raises its measure (example × d_model), and what the
    unembedding's own bias adds to it."""
    mean_row, mean_offset = unembedding.mean_row(), unembedding.mean_offset()
    directions, offsets = [], []
    for target, others in _first_tokens(measured):
        against = unembedding.rows(others).mean(0) if others else mean_row
        offset = float(unembedding.offsets(others).mean()) if others else mean_offset
        directions.append(unembedding.rows([target])[0] - against)
        offsets.append(float(unembedding.offsets([target])[0]) - offset)
    return torch.stack(directions), torch.tensor(offsets)
