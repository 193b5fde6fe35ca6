"""Methods: each measures every head for a task and returns a map."""

from headatlas.methods.ablation import Ablation
from headatlas.methods.method import Method

__all__ = ["METHODS", "Ablation", "Method"]

METHODS: dict[str, type[Method]] = {
    Ablation.name: Ablation,
}
