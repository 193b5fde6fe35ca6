"""Methods: each measures every head for a task and returns a map."""

from typing import Any

from headatlas.methods.ablation import Ablation
from headatlas.methods.attribution import Attribution
from headatlas.methods.contrast import Contrast
from headatlas.methods.gating import Gating
from headatlas.methods.knockout import Knockout
from headatlas.methods.method import Method
from headatlas.methods.patching import Patching
from headatlas.methods.probing import Probing

__all__ = [
    "METHODS",
    "Ablation",
    "Attribution",
    "Contrast",
    "Gating",
    "Knockout",
    "Method",
    "Patching",
    "Probing",
]

METHODS: dict[str, type[Method[Any]]] = {
    method.name: method
    for method in (Ablation, Patching, Attribution, Knockout, Gating, Probing, Contrast)
}
"""A new method is one file and one name here."""
