"""Does a map of functions, which only reads, say what removing heads does?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from headatlas.maps.compare import compare_named
from headatlas.maps.comparison import Comparison
from headatlas.methods import Ablation

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.tasks import Task

EXAMPLES = 96
"""Test examples, over all functions, with which every head is removed: with the eight functions of
`cognition` about twelve each, in halves of six. Removing the embedded model's 270 heads then takes
about 35 minutes on two cores: a pass over 32 such steps took 5.1 processor seconds."""

LABELS = ("probing", "ablation")


def compare_causes(compute: Callable[..., Map], head_map: Map, task: Task) -> Comparison:
    """Ablation of every function's examples, and how far it agrees with the probe's importance.

    `compute(method, task)` gives the map of a method with the model of `head_map`. Both maps are
    measured in halves, so that every correlation is compared with the ceiling that their
    reliabilities set.
    """
    ablation = compute(Ablation(examples=EXAMPLES, split="test", by_function=True), task)
    return replace(compare_named(LABELS, (head_map, ablation)), maps=(head_map.name,))
