"""Files of labelled steps that tests of probing write."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KINDS = ("Retrieval", "Inference", "Math Calculation")


def write_suite(
    path: Path, questions: int = 40, kinds: tuple[str, ...] = KINDS, **changes: Any
) -> Path:
    """Questions of one step for every kind; `changes` are put into every row."""
    rows = steps(questions, kinds)
    path.write_text("".join(json.dumps(row | changes) + "\n" for row in rows))
    return path


def steps(questions: int, kinds: tuple[str, ...] = KINDS) -> Iterator[dict[str, str]]:
    """The rows of such a file: each step starts with the ones before it."""
    rng = random.Random(1)
    for number in range(questions):
        prompt = f"{number} " + "".join(rng.choices("abcde", k=6))
        for kind in kinds:
            prompt += f" {kind[:2]}:"
            answer = "".join(rng.choices("xyz", k=3))
            yield {"prompt": prompt, "target": answer, "function": kind, "group": f"q{number}"}
            prompt += answer
