"""Short names of maps, by how they were made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headatlas.maps.map import Map


def method_label(head_map: Map) -> str:
    """The method of a map with the settings that change what it measures.

    >>> from headatlas.maps import Map
    >>> zeros = {"effect": (("layer", "head"), [[0.0]])}
    >>> method_label(Map.of(zeros, {"method": "ablation", "settings": {"replacement": "mean"}}))
    'ablation (mean)'
    """
    facts = head_map.provenance
    method, settings = str(facts.get("method")), dict(facts.get("settings", {}))
    words = [
        str(settings[name])
        for name, usual in _TOLD.get(method, {}).items()
        if name in settings and settings[name] != usual
    ]
    if method == "patching" and settings.get("direction") == "noise":
        words.insert(0, "noise")  # ranked by another variable than the other directions
    if method == "attribution" and int(settings.get("steps", 1)) > 1:
        words.insert(0, "integrated")
    return f"{method} ({', '.join(words)})" if words else method


def model_of(head_map: Map) -> str:
    """Which model a map is of, wherever it lay: the hash of its weights, else its name."""
    facts = head_map.provenance
    return str(facts.get("model_hash") or facts.get("model"))


def count_of_seeds(head_map: Map, name: str = "examples_used") -> list[float]:
    """What every seed of a map counted, such as its examples; NaN where it is not known."""
    seeds = int(head_map.data.sizes.get("seed", 1))
    if name in head_map.data.coords:
        return [float(count) for count in head_map.data[name].to_numpy().ravel()]
    return [float(head_map.provenance.get(name, math.nan))] * seeds


def evidence(head_map: Map) -> tuple[float, int]:
    """How much a map rests on, to compare it with another of its method: the number of examples of
    all its seeds (not known is less than any), and the number of seeds."""
    counts = count_of_seeds(head_map)
    examples = math.fsum(counts)
    if math.isnan(examples):
        examples = _examples_of_updates(head_map)
    return (-math.inf if math.isnan(examples) else examples), len(counts)


def _examples_of_updates(head_map: Map) -> float:
    """The examples of all updates of all seeds, of a map whose gates were learned."""
    batch_size = dict(head_map.provenance.get("settings", {})).get("batch_size")
    if batch_size is None or "loss" not in head_map.data.coords:
        return math.nan
    return float(head_map.data["loss"].notnull().sum()) * float(batch_size)


def distinct_labels(maps: Sequence[Map]) -> tuple[str, ...]:
    """The shortest names that tell maps apart: by method, task or model, by the methods' settings,
    by several of these, else by whole names.

    >>> from headatlas.maps import Map
    >>> zeros = {"effect": (("layer", "head"), [[0.0]])}
    >>> distinct_labels([Map.of(zeros, {"method": name}) for name in ("ablation", "patching")])
    ('ablation', 'patching')
    """
    methods, tasks, models = (
        [str(head_map.provenance.get(key)) for head_map in maps]
        for key in ("method", "task", "model")
    )
    labels = [method_label(head_map) for head_map in maps]
    joined = [", ".join(words) for words in zip(labels, tasks, strict=True)]
    names = [head_map.name for head_map in maps]
    for choice in (methods, tasks, models, labels, joined, names):
        if len(set(choice)) == len(choice):
            return tuple(choice)
    return tuple(f"{name} ({number})" for number, name in enumerate(names, 1))


_TOLD: dict[str, dict[str, Any]] = {
    "ablation": {
        "replacement": None,
        "measure": "logprob",
        "positions": "all",
        "unit": "head",
        "split": None,
    },
    "patching": {"positions": "last", "measure": "logprob", "split": None},
    "attribution": {"replacement": "mean", "measure": "logprob", "split": None},
    "attention": {"score": None, "split": None},
    "writes": {"measure": "logit", "split": None},
    "knockout": {"replacement": "zero", "measure": "logprob", "split": None},
    "gating": {"replacement": "zero"},
}
"""Settings that a label tells, by method, unless they have this value."""
