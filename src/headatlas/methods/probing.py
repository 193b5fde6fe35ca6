"""Probing: which heads tell a question's cognitive function, read from a probe's gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.maps import Map, combine, head_coordinates
from headatlas.methods.features import Features, Reading, read_features
from headatlas.methods.method import Part, Report, provenance
from headatlas.tasks import Task
from headatlas.tasks.functions import in_order

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.spec import ModelSpec

LEAST = 5
"""Examples of a function that train, select and test each need; others are left out."""


class Probe(nn.Module):
    """One linear layer shared by all heads, then a hidden layer over all of them."""

    def __init__(self, d_head: int, heads: int, classes: int, settings: Probing) -> None:
        super().__init__()
        self.project = nn.Linear(2 * d_head, settings.width)
        self.decide = nn.Sequential(
            nn.Flatten(),
            nn.Linear(heads * settings.width, settings.hidden),
            nn.ReLU(),
            nn.Dropout(settings.dropout),
            nn.Linear(settings.hidden, classes),
        )

    def forward(self, features: Tensor) -> Tensor:
        scores: Tensor = self.decide(self.project(features))
        return scores


@dataclass(frozen=True)
class Probing:
    """Importance of every head for every cognitive function (Ma et al., arXiv 2512.10978).

    A probe learns the function from the heads' outputs at the answer, each joined with its layer's
    mean, on `train` questions. `importance` of a head for a function is gradient × activation of
    its projected features for that function's score, averaged over their dimensions and over the
    `select` examples of the function; its sign is kept. `importance_p` says how often labels
    shuffled within questions give any head as much (standardised, so that heads compare): it is
    corrected for the number of heads. What the probe makes of `test` questions, and the same probe
    learned from shuffled labels, is kept beside it. Seeds differ in the probe.

    >>> Probing().epochs
    100
    """

    seeds: int = 1
    tokens: str = "content"
    answers: str = "reference"
    width: int = 64
    hidden: int = 512
    dropout: float = 0.3
    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    epochs: int = 100
    batch_size: int = 64
    shuffles: int = 2000

    name: ClassVar[str] = "probing"
    version: ClassVar[int] = 1
    variable: ClassVar[str] = "importance"

    def __post_init__(self) -> None:
        for name in ("seeds", "width", "hidden", "epochs", "batch", "shuffles"):
            if (value := getattr(self, name)) < 1:
                raise HeadAtlasError(f"probing needs {name} of at least 1, not {value}.")
        if not 0 <= self.dropout < 1:
            raise HeadAtlasError(f"the dropout lies between 0 and 1, not at {self.dropout}.")
        if not self.learning_rate > 0:
            raise HeadAtlasError(f"the learning rate is positive, not {self.learning_rate}.")
        Reading(self.tokens, self.answers)

    def settings(self) -> dict[str, Any]:
        settings = asdict(self)
        del settings["seeds"]
        if self.answers == "reference":
            del settings["answers"]
        return settings

    def parts(self, spec: ModelSpec) -> list[Part]:
        """A seed is one piece."""
        return [{}]

    def reports(self, part: Part) -> int:
        """One report an epoch, of the probe and of its control."""
        return 2 * self.epochs

    def check(self, model: Model, task: Task | Features, seeds: int = 1) -> list[str]:
        _, few = functions_of(task)
        return [f"'{name}' has too few examples ({count}): left out" for name, count in few.items()]

    def run(
        self,
        model: Model,
        task: Task | Features,
        seed: int | None = None,
        *,
        part: Part | None = None,
        report: Report | None = None,
    ) -> Map:
        """The map of one seed, or of all `seeds` if none is named."""
        if isinstance(task, Task):
            task = read_features(model, task, Reading(self.tokens, self.answers))
        if seed is None:
            return combine(
                [self.run(model, task, each, report=report) for each in range(self.seeds)]
            )
        names, _ = functions_of(task)
        data = {split: _tensors(task, split, names) for split in ("train", "select", "test")}
        random = np.random.default_rng(seed)
        probe = self._fit(data["train"], len(names), seed, report, "probe")
        shuffled = data["train"].with_labels(random.permutation(data["train"].labels))
        control = self._fit(shuffled, len(names), seed, report, "control")
        said = contributions(probe, data["select"].x, len(names))
        importance, p = importance_of(said, data["select"], self.shuffles, random)
        return self._as_map(model, task, seed, names, importance, p, data["test"], probe, control)

    def _fit(
        self, data: Examples, classes: int, seed: int, report: Report | None, word: str
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
                for chosen in torch.randperm(len(labels), generator=generator).split(self.batch_size):
                    optimizer.zero_grad()
                    loss = nn.functional.cross_entropy(probe(data.x[chosen]), labels[chosen])
                    loss.backward()
                    optimizer.step()
                    total += float(loss.detach()) * len(chosen)
                if report is not None:
                    mean = total / len(labels)
                    report(f"seed {seed}, {word}, loss {mean:.3f}")
        return probe.eval()

    def _as_map(
        self,
        model: Model,
        task: Features,
        seed: int,
        names: list[str],
        importance: NDArray[np.float64],
        p: NDArray[np.float64],
        test: Examples,
        probe: Probe,
        control: Probe,
    ) -> Map:
        spec = model.spec
        shape = (len(names), 1, spec.n_layers, spec.n_heads)
        variables = {}
        for name, values in (("importance", importance), ("importance_p", p)):
            whole = np.full(shape, np.nan)
            layers, heads = np.array(task.heads).T
            whole[:, 0, layers, heads] = values
            variables[name] = (("function", "seed", "layer", "head"), whole)
        with torch.no_grad():
            answers = {
                "predicted": probe(test.x).argmax(-1).numpy(),
                "control": control(test.x).argmax(-1).numpy(),
            }
        beside = {name: (("seed", "asked"), each[None]) for name, each in answers.items()}
        groups = {head: spec.kv_group(*head) for head in spec.heads()}
        return Map.of(
            variables,
            provenance(model, task.task, self, seed) | {"answers": self.answers},
            {
                "function": names,
                "seed": [seed],
                "truth": (("asked",), test.labels),
                "question": (("asked",), test.groups),
                **beside,
                **head_coordinates(groups, (spec.n_layers, spec.n_heads)),
            },
        )


@dataclass(frozen=True, eq=False)
class Examples:
    """Features joined with their layer's mean (example × head × 2 d_head), labels and questions."""

    x: Tensor
    labels: NDArray[np.int64]
    groups: NDArray[np.int64]

    def with_labels(self, labels: NDArray[np.int64]) -> Examples:
        return Examples(self.x, labels, self.groups)


def functions_of(task: Task | Features) -> tuple[list[str], dict[str, int]]:
    """The functions with enough examples in every split, in order; and those with too few."""
    labels = {
        split: task.labels[split]
        if isinstance(task, Features)
        else [str(each.function) for each in task.split(split) if each.function is not None]
        for split in ("train", "select", "test")
    }
    counts = {split: Counter(each) for split, each in labels.items()}
    seen = {name for each in labels.values() for name in each}
    _check_spelling(task.name, seen)
    least = {name: min(each[name] for each in counts.values()) for name in in_order(seen)}
    known = [name for name, count in least.items() if count >= LEAST]
    if len(known) < 2:
        found = ", ".join(f"{name} ({count})" for name, count in least.items())
        has = f"has, in its smallest split, {found}" if found else "has no column 'function'"
        if isinstance(task, Features) and task.wrong:
            has += f" ({task.wrong} answers of the model are wrong: try the reference answers)"
        raise TaskError(
            f"a probe tells functions apart, and needs two with {LEAST} examples in every split; "
            f"'{task.name}' {has}."
        )
    return known, {name: count for name, count in least.items() if count < LEAST}


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


def _tensors(features: Features, split: str, names: list[str]) -> Examples:
    kept = [i for i, label in enumerate(features.labels[split]) if label in names]
    z = torch.tensor(features.z[split][kept])  # example head d_head
    layers = torch.tensor([layer for layer, _ in features.heads])
    sums = torch.zeros(len(kept), int(layers.max()) + 1, z.shape[-1]).index_add(1, layers, z)
    sizes = torch.bincount(layers).clamp(min=1)
    mean = (sums / sizes[None, :, None])[:, layers]
    labels = np.array([names.index(features.labels[split][i]) for i in kept])
    questions = {q: n for n, q in enumerate(dict.fromkeys(features.questions[split]))}
    groups = np.array([questions[features.questions[split][i]] for i in kept])
    return Examples(torch.cat([z, mean], -1), labels, groups)


def contributions(probe: Probe, x: Tensor, classes: int) -> NDArray[np.float64]:
    """Gradient × activation of every head for every class's score: class × example × head."""
    projected = probe.project(x).detach().requires_grad_()
    scores = probe.decide(projected)
    found = []
    for number in range(classes):
        (grad,) = torch.autograd.grad(scores[:, number].sum(), projected, retain_graph=True)
        found.append((grad * projected).mean(-1).detach().double().numpy())
    return np.stack(found)


def importance_of(
    said: NDArray[np.float64], data: Examples, shuffles: int, random: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Importance (class × head), and its p-value under labels shuffled within questions.

    Each head's importance is compared with its own spread under shuffling; the largest of all
    heads is what a head must beat, so that the p-value holds for all heads together.
    """
    importance = np.stack([each[data.labels == c].mean(0) for c, each in enumerate(said)])
    p = np.ones_like(importance)
    drawn = np.stack([_shuffled(data, random) for _ in range(shuffles)])
    for c, each in enumerate(said):
        weights = (drawn == c).astype(float)
        null = weights @ each / weights.sum(1, keepdims=True)  # shuffle head
        middle, spread = null.mean(0), np.maximum(null.std(0), 1e-12)
        largest = ((null - middle) / spread).max(1)
        beaten = (largest[:, None] >= (importance[c] - middle) / spread).sum(0)
        p[c] = (1 + beaten) / (1 + shuffles)
    return importance, p


def _shuffled(data: Examples, random: np.random.Generator) -> NDArray[np.int64]:
    """Labels dealt out anew: within questions where these have several examples, else among all."""
    sizes = np.bincount(data.groups)
    if np.median(sizes[sizes > 0]) < 2:
        return random.permutation(data.labels)
    order = np.argsort(data.groups, kind="stable")
    keys = np.lexsort((random.random(len(order)), data.groups))
    dealt = data.labels.copy()
    dealt[order] = data.labels[keys]
    return dealt
