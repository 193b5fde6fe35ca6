"""Questions broken into steps, each with an answer and the one cognitive function it needs.

The structure is that of CogQA (Ma et al. 2025, arXiv 2512.10978); the questions are our own.
"""

from __future__ import annotations

import json
from typing import Any

from headatlas.tasks.example import Example
from headatlas.tasks.functions import sub_question
from headatlas.tasks.splits import divide
from headatlas.tasks.suites.listed import read_text
from headatlas.tasks.task import Task


def cognition() -> Task:
    """Every step is an example: the question, the earlier steps with their answers, this step.

    A scene has four questions that ask the same steps with the same answers, and differ in the
    sentences that decide which function a step needs; all of a scene belong to one split. Beside
    each of them stand two sentences about other events, worded like those of other functions.
    """
    lines = read_text("cognition.jsonl").splitlines()
    examples = [example for line in lines for example in _steps(json.loads(line))]
    return Task(
        "cognition",
        version=3,
        description="steps of small questions, each needing one of eight cognitive functions",
        splits=divide(examples),
        shots=1,
        instruction="Answer the last question in a few words.",
        measure="logprob",
    )


def _steps(question: dict[str, Any]) -> list[Example]:
    earlier: list[tuple[str, str]] = []
    examples = []
    for number, step in enumerate(question["steps"], start=1):
        prompt = sub_question(question["question"], earlier, step["ask"])
        facts = {"topic": question["topic"], "question": question["id"], "step": number}
        facts |= {key: step[key] for key in ("ask", "fact") if key in step}
        examples.append(
            Example(
                prompt,
                f" {step['answer']}",
                (),
                step["function"],
                group=question["scene"],
                metadata=facts,
            )
        )
        earlier.append((step["ask"], step["answer"]))
    return examples
