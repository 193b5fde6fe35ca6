"""The eight cognitive functions, and the prompt of a step of a question."""

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
"""Functions of low order; the other four are said to build on them."""


HIGH_ORDER = tuple(name for name in FUNCTIONS if name not in LOW_ORDER)


def in_order(names: Iterable[str]) -> list[str]:
    """Functions in the order of the published figure, then any others in alphabetical order.

    >>> in_order(["Zeal", "Retrieval", "Art", "Knowledge Recall"])
    ['Knowledge Recall', 'Retrieval', 'Art', 'Zeal']
    """
    known = {name: place for place, name in enumerate(FUNCTIONS)}
    return sorted(set(names), key=lambda name: (known.get(name, len(known)), name))


def sub_question(question: str, earlier: list[tuple[str, str]], step: str) -> str:
    """The prompt of a step: the question, the earlier steps with their answers, this step."""
    answered = "".join(f"Q: {ask}\nA: {answer}\n" for ask, answer in earlier)
    return f"{question}\n\n{answered}Q: {step}\nA:"
