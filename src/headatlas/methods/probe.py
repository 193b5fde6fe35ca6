"""The probe: a small network that learns functions from the outputs of all heads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headatlas.methods.features import Features

if TYPE_CHECKING:
    from headatlas.methods.method import Report
    from headatlas.methods.probing import Probing


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


@dataclass(frozen=True, eq=False)
class LabelledFeatures:
    """Features joined with their layer's mean (example × head × 2 d_head), labels and questions."""

    x: Tensor
    labels: NDArray[np.int64]
    groups: NDArray[np.int64]

    def with_labels(self, labels: NDArray[np.int64]) -> LabelledFeatures:
        return LabelledFeatures(self.x, labels, self.groups)


def labelled_features(features: Features, split: str, names: list[str]) -> LabelledFeatures:
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


def fit_probe(
    settings: Probing,
    data: LabelledFeatures,
    classes: int,
    seed: int,
    report: Report | None,
    word: str,
) -> Probe:
    """A probe that learned from the data; `word` names it in the reports, one per epoch."""
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        probe = Probe(data.x.shape[-1] // 2, data.x.shape[1], classes, settings)
        optimizer = torch.optim.AdamW(
            probe.parameters(),
            settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=True,
        )
        labels = torch.tensor(data.labels)
        for _ in range(settings.epochs):
            probe.train()
            total = 0.0
            order = torch.randperm(len(labels), generator=generator)
            for chosen in order.split(settings.batch_size):
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(probe(data.x[chosen]), labels[chosen])
                loss.backward()
                optimizer.step()
                total += float(loss.detach()) * len(chosen)
            if report is not None:
                report(f"seed {seed}, {word}, loss {total / len(labels):.3f}")
    return probe.eval()
