"""Small maps with known numbers, one for every method."""

from __future__ import annotations

import numpy as np

from headatlas.maps import Map

SEEDED = ("seed", "layer", "head")
BY_FUNCTION = ("function", *SEEDED)


def effects(values, error=0.1, questions=20, **facts) -> Map:
    """A map of ablation; with four dimensions the first is the function, and `questions` may have
    one number per function."""
    values = np.asarray(values, float)
    dims = BY_FUNCTION if values.ndim == 4 else SEEDED
    per_function = np.reshape(questions, (-1, 1)) if values.ndim == 4 else questions
    counts = np.broadcast_to(per_function, values.shape[:-2])
    names = {"seed": range(values.shape[-3]), "questions": (dims[:-2], counts)}
    if values.ndim == 4:
        names["function"] = [f"f{i}" for i in range(len(values))]
    return Map.of(
        {"effect": (dims, values), "effect_se": (dims, np.full_like(values, error))},
        {"model": "m", "task": "t", "method": "ablation", **facts},
        names,
    )


def importances(values, p=None, **facts) -> Map:
    """A map of probing: function × seed × layer × head."""
    values = np.asarray(values, float)
    p = np.ones_like(values) if p is None else np.asarray(p, float)
    return Map.of(
        {"importance": (BY_FUNCTION, values), "importance_p": (BY_FUNCTION, p)},
        {"model": "m", "task": "t", "method": "probing", **facts},
        {"function": [f"f{i}" for i in range(len(values))], "seed": range(values.shape[1])},
    )


def contrasted(gates, **facts) -> Map:
    """A map of contrast: seed × layer × head."""
    gates = np.asarray(gates, float)
    return Map.of(
        {"gate": (SEEDED, gates)},
        {"model": "m", "task": "a-not-b", "method": "contrast", **facts},
        {"seed": range(len(gates))},
    )


def question_halves(values, **facts) -> Map:
    """A map of effects with those of half the questions: half × seed × layer × head."""
    head_map = effects(np.mean(values, axis=0), **{"split": "train", **facts})
    data = head_map.data.assign(effect_half=(("half", *SEEDED), np.asarray(values, float)))
    return Map(data, head_map.provenance)
