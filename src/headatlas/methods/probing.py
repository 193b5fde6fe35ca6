"""Probing: which heads tell a question's cognitive function, read from a probe's gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.maps import Map
from headatlas.methods.features import SPLITS_READ, Features, Reading, read_features
from headatlas.methods.method import Inputs, Method, Part, Report, provenance, verified_coordinates
from headatlas.stats.permutation import max_null_p
from headatlas.tasks import Task
from headatlas.tasks.functions import in_order

if TYPE_CHECKING:
    from headatlas.models.model import Model

MIN_EXAMPLES = 5
"""Examples of a function that train, select and test each need; others are left out."""


class Probe(nn.Module):
    """One linear layer shared by all heads, then a hidden layer over all of them."""

    def __init__(self, d_head: int, heads: int, classes: int, settings: Probing) -> None:
        super().__init__()
        self.project = nn.Linear(2 * d_head, settings.projection_dim)
        self.decide = nn.Sequential(
            nn.Flatten(),
            nn.Linear(heads * settings.projection_dim, settings.hidden_dim),
            nn.ReLU(),
            nn.Dropout(settings.dropout),
            nn.Linear(settings.hidden_dim, classes),
        )

    def forward(self, features: Tensor) -> Tensor:
        scores: Tensor = self.decide(self.project(features))
        return scores


@dataclass(frozen=True)
class Probing(Method[Task]):
    """Importance of every head for every cognitive function (Ma et al., arXiv 2512.10978).

    A probe learns the function from the heads' outputs at the answer, each joined with its layer's
    mean, on `train` questions. `importance` of a head for a function is gradient × activation of
    its projected features for that function's score, averaged over their dimensions and over the
    `select` examples of the function; its sign is kept. `importance_p` says how often labels
    shuffled within questions give any head as much (standardised, so that heads compare): it is
    corrected for the number of heads. What the probe predicts for `test` questions, and the same
    probe trained on shuffled labels, is kept beside it. Seeds differ in the probe. `tokens`,
    `answers` and `examples` say what is read: see `Reading`.

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
    version: ClassVar[int] = 1
    variable: ClassVar[str] = "importance"
    subject: ClassVar[type] = Task

    def __post_init__(self) -> None:
        for name in ("projection_dim", "hidden_dim", "epochs", "batch_size", "permutations"):
            if (value := getattr(self, name)) < 1:
                raise HeadAtlasError(f"{name} must be a positive integer, not {value!r}.")
        if not 0 <= self.dropout < 1:
            raise HeadAtlasError(f"dropout must be at least 0 and below 1, not {self.dropout}.")
        if not self.learning_rate > 0:
            raise HeadAtlasError(f"learning_rate must be positive, not {self.learning_rate}.")
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
        data = {split: _tensors(features, split, names) for split in ("train", "select", "test")}
        rng = np.random.default_rng(seed)
        probe = self._fit(data["train"], len(names), seed, report, "probe")
        shuffled = data["train"].with_labels(rng.permutation(data["train"].labels))
        control = self._fit(shuffled, len(names), seed, report, "control")
        values = contributions(probe, data["select"].x, len(names))
        scores = importance_and_p(values, data["select"], self.permutations, rng)
        variables = {}
        for name, array in zip(("importance", "importance_p"), scores, strict=True):
            whole = np.full((len(names), 1, model.spec.n_layers, model.spec.n_heads), np.nan)
            layers, heads = np.array(features.heads).T
            whole[:, 0, layers, heads] = array
            variables[name] = (("function", "seed", "layer", "head"), whole)
        return Map.of(
            variables,
            provenance(model, task, self, seed)
            | {"answers": self.answers}
            | ({"functions_left_out": few} if few else {}),
            {"function": names}
            | coordinates
            | _predictions(data["test"], {"predicted": probe, "control": control}),
        )

    def _fit(
        self, data: LabelledFeatures, classes: int, seed: int, report: Report | None, word: str
    ) -> Probe:
        generator = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            probe = Probe(data.x.shape[-1] // 2, data.x.shape[1], classes, self)
            optimizer = torch.optim.AdamW(
                probe.parameters(), self.learning_rate, weight_decay=self.weight_decay, fused=True
            )
            labels = torch.tensor(data.labels)
            for _ in range(self.epochs):
                probe.train()
                total = 0.0
                for chosen in torch.randperm(len(labels), generator=generator).split(
                    self.batch_size
                ):
                    optimizer.zero_grad()
                    loss = nn.functional.cross_entropy(probe(data.x[chosen]), labels[chosen])
                    loss.backward()
                    optimizer.step()
                    total += float(loss.detach()) * len(chosen)
                if report is not None:
                    mean = total / len(labels)
                    report(f"seed {seed}, {word}, loss {mean:.3f}")
        return probe.eval()


@torch.no_grad()
def _predictions(test: LabelledFeatures, probes: dict[str, Probe]) -> dict[str, Any]:
    """What probes predict for the test examples, beside the truth and the questions."""
    predicted = {
        name: (("seed", "test_example"), probe(test.x).argmax(-1).numpy()[None])
        for name, probe in probes.items()
    }
    truth = {
        "truth": (("test_example",), test.labels),
        "question": (("test_example",), test.groups),
    }
    return truth | predicted


@dataclass(frozen=True, eq=False)
class LabelledFeatures:
    """Features joined with their layer's mean (example × head × 2 d_head), labels and questions."""

    x: Tensor
    labels: NDArray[np.int64]
    groups: NDArray[np.int64]

    def with_labels(self, labels: NDArray[np.int64]) -> LabelledFeatures:
        return LabelledFeatures(self.x, labels, self.groups)


def task_functions(task: Task) -> tuple[list[str], dict[str, int]]:
    """The functions with enough examples in every split, in order; and those with too few."""
    labels = {
        split: [str(each.function) for each in task.split(split) if each.function is not None]
        for split in SPLITS_READ
    }
    return _functions(task.name, labels)


def feature_functions(
    features: Features, examples: int | None = None
) -> tuple[list[str], dict[str, int]]:
    """The same of the examples that were read: some may have been too long or wrong, or not been
    among the `examples` that were drawn."""
    hint = f" among the {examples} examples that were read: read more (--examples)" * bool(examples)
    if features.wrong:
        hint += f" ({features.wrong} answers of the model are wrong: try the reference answers)"
    return _functions(features.task.name, features.labels, hint)


def _functions(
    task: str, labels: Mapping[str, list[str]], hint: str = ""
) -> tuple[list[str], dict[str, int]]:
    counts = {split: Counter(each) for split, each in labels.items()}
    names = {name for each in labels.values() for name in each}
    _check_spelling(task, names)
    least = {name: min(each[name] for each in counts.values()) for name in in_order(names)}
    known = [name for name, count in least.items() if count >= MIN_EXAMPLES]
    if len(known) < 2:
        have = ", ".join(f"{name} ({count})" for name, count in least.items())
        has = f"has, in its smallest split, {have}" if have else "has no column 'function'"
        raise TaskError(
            f"a probe tells functions apart, and needs two with {MIN_EXAMPLES} examples in every "
            f"split; '{task}' {has}{hint}."
        )
    return known, {name: count for name, count in least.items() if count < MIN_EXAMPLES}


def _check_spelling(task: str, names: Iterable[str]) -> None:
    """Raise if two labels are one function, spelled in two ways."""
    known: dict[str, str] = {}
    for name in sorted(names):
        other = known.setdefault(" ".join(name.casefold().split()), name)
        if other != name:
            raise TaskError(
                f"the labels '{other}' and '{name}' differ only in case or spaces in '{task}': "
                "write one function in one way."
            )


def _tensors(features: Features, split: str, names: list[str]) -> LabelledFeatures:
    kept = [i for i, label in enumerate(features.labels[split]) if label in names]
    z = torch.tensor(features.z[split][kept])  # example head d_head
    layers = torch.tensor([layer for layer, _ in features.heads])
    sums = torch.zeros(len(kept), int(layers.max()) + 1, z.shape[-1]).index_add(1, layers, z)
    sizes = torch.bincount(layers).clamp(min=1)
    mean = (sums / sizes[None, :, None])[:, layers]
    labels = np.array([names.index(features.labels[split][i]) for i in kept])
    questions = {q: n for n, q in enumerate(dict.fromkeys(features.questions[split]))}
    groups = np.array([questions[features.questions[split][i]] for i in kept])
    return LabelledFeatures(torch.cat([z, mean], -1), labels, groups)


def contributions(probe: Probe, x: Tensor, classes: int) -> NDArray[np.float64]:
    """Gradient × activation of every head for every class's score: class × example × head."""
    projected = probe.project(x).detach().requires_grad_()
    scores = probe.decide(projected)
    values = []
    for number in range(classes):
        (grad,) = torch.autograd.grad(scores[:, number].sum(), projected, retain_graph=True)
        values.append((grad * projected).mean(-1).detach().double().numpy())
    return np.stack(values)


def importance_and_p(
    values: NDArray[np.float64],
    data: LabelledFeatures,
    permutations: int,
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Importance (class × head), and its p-value under labels shuffled within questions."""
    importance = np.stack([each[data.labels == c].mean(0) for c, each in enumerate(values)])
    p = np.ones_like(importance)
    shuffled = np.stack([_shuffled(data, rng) for _ in range(permutations)])
    for c, each in enumerate(values):
        weights = (shuffled == c).astype(float)
        null = weights @ each / weights.sum(1, keepdims=True)  # permutation head
        p[c] = max_null_p(importance[c], null)
    return importance, p


def _shuffled(data: LabelledFeatures, rng: np.random.Generator) -> NDArray[np.int64]:
    """Labels shuffled within questions if most questions have several examples, else among all."""
    sizes = np.bincount(data.groups)
    if np.median(sizes[sizes > 0]) < 2:
        return rng.permutation(data.labels)
    order = np.argsort(data.groups, kind="stable")
    keys = np.lexsort((rng.random(len(order)), data.groups))
    shuffled = data.labels.copy()
    shuffled[order] = data.labels[keys]
    return shuffled
