"""The eight cognitive functions, and how a step of a question is asked."""

from __future__ import annotations

from collections.abc import Iterable

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


LOW_ORDER = (
    "Knowledge Recall",
    "Retrieval",
    "Semantic Understanding",
    "Syntactic Understanding",
)
"""What the other four, of high order, are said to build on."""


HIGH_ORDER = tuple(name for name in FUNCTIONS if name not in LOW_ORDER)


def in_order(names: Iterable[str]) -> list[str]:
    """Functions in the order of the published figure; others come after them, by the alphabet.

    >>> in_order(["Zeal", "Retrieval", "Art", "Knowledge Recall"])
    ['Knowledge Recall', 'Retrieval', 'Art', 'Zeal']
    """
    known = {name: place for place, name in enumerate(FUNCTIONS)}
    return sorted(set(names), key=lambda name: (known.get(name, len(known)), name))


def sub_question(question: str, told: list[tuple[str, str]], asked: str) -> str:
    """The prompt of a step: the question, what was answered so far, what is asked now."""
    steps = "".join(f"Q: {earlier}\nA: {answer}\n" for earlier, answer in told)
    return f"{question}\n\n{steps}Q: {asked}\nA:"
