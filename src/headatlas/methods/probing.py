"""Probing: which heads tell a question's cognitive function, read from a probe's gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headatlas.maps import Map
from headatlas.methods.features import SPLITS_READ, Features, Reading, read_features
from headatlas.methods.function_names import feature_functions, task_functions
from headatlas.methods.importances import (
    contributions,
    importance_of,
    importance_p,
    importance_parts,
)
from headatlas.methods.method import Inputs, Method, Part, Report, provenance, verified_coordinates
from headatlas.methods.probe import LabelledFeatures, Probe, fit_probe, labelled_features
from headatlas.methods.settings import check_counts, check_numbers
from headatlas.tasks import Task

if TYPE_CHECKING:
    from headatlas.models.model import Model


@dataclass(frozen=True)
class Probing(Method[Task]):
    """Importance of every head for every cognitive function (Ma et al., arXiv 2512.10978).

    A probe learns the function from the heads' outputs at the answer, each joined with its layer's
    mean, on `train` questions. `importance` of a head for a function is gradient × activation of
    its projected features for that function's score, averaged over their dimensions and over the
    `select` examples of the function; its sign is kept. `importance_p` says how often labels
    shuffled within questions give any head as much (standardised, so that heads compare): it is
    corrected for the number of heads, and counts activations from the head's mean, since a head
    that always writes the same tells nothing. `importance_part` is the importance in each of ten
    groups of questions, for resampling; `shuffled_importance` that of the same probe trained on
    shuffled labels, whose heads are a control. What both predict for `test` questions is kept
    beside it.
    Seeds differ in the probe. `tokens`, `answers` and `examples` say what is read: see `Reading`.

    >>> Probing().epochs
    100
    """

    tokens: str = "content"
    answers: str = "reference"
    examples: int | None = None
    projection_dim: int = 64
    hidden_dim: int = 512
    dropout: float = 0.3
    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    epochs: int = 100
    batch_size: int = 64
    permutations: int = 2000

    name: ClassVar[str] = "probing"
    version: ClassVar[int] = 3
    variable: ClassVar[str] = "importance"
    subject: ClassVar[type] = Task

    def __post_init__(self) -> None:
        check_counts(
            self.name,
            projection_dim=self.projection_dim,
            hidden_dim=self.hidden_dim,
            epochs=self.epochs,
            batch_size=self.batch_size,
            permutations=self.permutations,
        )
        check_numbers(self.name, below=1, least_allowed=True, dropout=self.dropout)
        check_numbers(self.name, learning_rate=self.learning_rate)
        check_numbers(self.name, least_allowed=True, weight_decay=self.weight_decay)
        self.reading()

    def reading(self) -> Reading:
        """How the features of the probe are read."""
        return Reading(self.tokens, self.answers, self.examples)

    def inputs(self) -> tuple[Reading]:
        return (self.reading(),)

    def reports(self, part: Part) -> int:
        """One report per epoch, of the probe and of its control."""
        return 2 * self.epochs

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        _, few = task_functions(task)
        return [
            f"'{name}' has too few examples ({count}) and is left out"
            for name, count in few.items()
        ]

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
        """The map of one seed; `inputs` may hold the features that were read before."""
        coordinates = verified_coordinates(model, seed)
        task = task.for_tokenizer(model.tokenizer)
        if inputs is not None:
            features = Features.of(task, inputs[Reading.name])
        else:
            features = read_features(model, task, self.reading())
        names, few = feature_functions(features, self.examples)
        data = {split: labelled_features(features, split, names) for split in SPLITS_READ}
        rng = np.random.default_rng(seed)
        probe = fit_probe(self, data["train"], len(names), seed, report, "probe")
        shuffled = data["train"].with_labels(rng.permutation(data["train"].labels))
        control = fit_probe(self, shuffled, len(names), seed, report, "control")
        select = data["select"]
        values, of_control = (contributions(p, select.x, len(names)) for p in (probe, control))
        means, counts = importance_parts(values, select)

        def on_heads(array: NDArray[Any]) -> NDArray[Any]:
            """The array with heads in their places: … × seed × layer × head."""
            shape = (*array.shape[:-1], 1, model.spec.n_layers, model.spec.n_heads)
            whole = np.full(shape, np.nan, array.dtype)
            layers, heads = np.array(features.heads).T
            whole[..., 0, layers, heads] = array
            return whole

        dims = ("function", "seed", "layer", "head")
        centred = contributions(probe, select.x, len(names), centred=True)
        p = importance_p(centred, select, self.permutations, rng)
        return Map.of(
            {
                "importance": (dims, on_heads(importance_of(values, select.labels))),
                "importance_p": (dims, on_heads(p)),
                "shuffled_importance": (dims, on_heads(importance_of(of_control, select.labels))),
                "importance_part": (("part", *dims), on_heads(means)),
            },
            provenance(model, task, self, seed)
            | {"answers": self.answers}
            | ({"functions_left_out": few} if few else {}),
            {"function": names, "part_examples": (("part", "function"), counts)}
            | coordinates
            | _predictions(data["test"], {"predicted": probe, "control": control}),
        )


@torch.no_grad()
def _predictions(test: LabelledFeatures, probes: dict[str, Probe]) -> dict[str, Any]:
    """What probes predict for the test examples, with the truth and the questions."""
    predicted = {
        name: (("seed", "test_example"), probe(test.x).argmax(-1).numpy()[None])
        for name, probe in probes.items()
    }
    truth = {
        "truth": (("test_example",), test.labels),
        "question": (("test_example",), test.groups),
    }
    return truth | predicted
