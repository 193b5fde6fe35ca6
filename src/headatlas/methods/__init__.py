"""Methods: each measures every head for a task and returns a map."""

from headatlas.methods.ablation import Ablation
from headatlas.methods.contrast import Contrast
from headatlas.methods.gating import Gating
from headatlas.methods.method import Method

__all__ = ["METHODS", "Ablation", "Contrast", "Gating", "Method"]

METHODS: dict[str, type[Method]] = {
    Ablation.name: Ablation,
    Gating.name: Gating,
}
