"""The eight cognitive functions, and how a step of a question is asked."""

from __future__ import annotations

FUNCTIONS = (
    "Knowledge Recall",
    "Retrieval",
    "Logical Reasoning",
    "Decision-making",
    "Semantic Understanding",
    "Syntactic Understanding",
    "Inference",
    "Math Calculation",
)
"""In the order of the published figure (Ma et al. 2025, arXiv 2512.10978)."""


def sub_question(question: str, told: list[tuple[str, str]], asked: str) -> str:
    """The prompt of a step: the question, what was answered so far, what is asked now."""
    steps = "".join(f"Q: {earlier}\nA: {answer}\n" for earlier, answer in told)
    return f"{question}\n\n{steps}Q: {asked}\nA:"
