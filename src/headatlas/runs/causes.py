"""Does a map of functions, which only reads, say what removing heads does?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import xarray as xr

from headatlas.maps import Map
from headatlas.maps.compare import Comparison, compare_named
from headatlas.maps.functions import function_names
from headatlas.methods import Ablation, Gating

if TYPE_CHECKING:
    from headatlas.tasks import Task

EXAMPLES = 32
"""Test examples, over all functions, with which every head is removed."""

SEEDS = 1
BATCH_SIZE = 4
"""Seeds of gating, and questions per update: there are eight tasks, and their rows are long."""

LABELS = ("probing", "ablation", "gating")


def compare_causes(compute: Callable[..., Map], head_map: Map, task: Task) -> Comparison:
    """Ablation and gating of every function's examples, and how far the three kinds agree.

    `compute(method, task, seeds)` gives the map of a method with the model of `head_map`.
    """
    ablation = compute(Ablation(examples=EXAMPLES, by_function=True), task)
    functions = [name for name in function_names(head_map) if name in function_names(ablation)]
    gates = [
        compute(Gating(batch_size=BATCH_SIZE), task.only(name), SEEDS)["facilitation"]
        for name in functions
    ]
    stacked = xr.concat(gates, xr.Variable("function", functions)).to_dataset(name="facilitation")
    kinds = (head_map, ablation, Map(stacked, head_map.provenance))
    return replace(compare_named(LABELS, kinds), maps=(head_map.name,))
