"""The importance of heads for a probe: gradient × activation, its null, and its parts."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.methods.probe import LabelledFeatures, Probe
from headatlas.stats.permutation import max_null_p

PARTS = 10
"""Groups of questions whose mean importance is kept, so that questions can be resampled."""


def contributions(
    probe: Probe, x: Tensor, classes: int, *, centred: bool = False
) -> NDArray[np.float64]:
    """Gradient × activation of every head for every class's score: class × example × head.

    `centred`: the head's mean activation over all examples is subtracted first. A head whose output
    is always the same then contributes nothing; otherwise it would follow the labels, because its
    gradient passes through units that other heads switch.
    """
    projected = probe.project(x).detach().requires_grad_()
    scores = probe.decide(projected)
    activations = projected.detach()
    if centred:
        activations = activations - activations.mean(0)
    values = []
    for number in range(classes):
        (grad,) = torch.autograd.grad(scores[:, number].sum(), projected, retain_graph=True)
        values.append((grad * activations).mean(-1).double().numpy())
    return np.stack(values)


def importance_of(values: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean contribution of every head over the examples of each class: class × head."""
    return np.stack([own[labels == number].mean(0) for number, own in enumerate(values)])


def importance_parts(
    values: NDArray[np.float64], data: LabelledFeatures
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The same for each of `PARTS` groups of questions (part × class × head; NaN where a group has
    no example of the class), and the number of examples (part × class)."""
    part = data.groups % PARTS
    means = np.full((PARTS, len(values), values.shape[-1]), np.nan, np.float32)
    counts = np.zeros((PARTS, len(values)), np.int64)
    for number in range(PARTS):
        for c, own in enumerate(values):
            here = (part == number) & (data.labels == c)
            counts[number, c] = here.sum()
            if here.any():
                means[number, c] = own[here].mean(0)
    return means, counts


def importance_p(
    values: NDArray[np.float64],
    data: LabelledFeatures,
    permutations: int,
    rng: np.random.Generator,
) -> NDArray[np.float64]:
    """P-value of every importance (class × head) under labels shuffled within questions."""
    importance = importance_of(values, data.labels)
    p = np.ones_like(importance)
    shuffled = np.stack([_shuffled(data, rng) for _ in range(permutations)])
    for c, class_values in enumerate(values):
        weights = (shuffled == c).astype(float)
        null = weights @ class_values / weights.sum(1, keepdims=True)  # permutation head
        p[c] = max_null_p(importance[c], null)
    return p


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
