"""Questions broken into steps, each with an answer and the one cognitive function it needs.

The structure is that of CogQA (Ma et al. 2025, arXiv 2512.10978); the questions are our own.
"""

from __future__ import annotations

import json

from headatlas.tasks.example import Example
from headatlas.tasks.functions import sub_question
from headatlas.tasks.splits import divide
from headatlas.tasks.suites.listed import read_text
from headatlas.tasks.task import Task


def cognition() -> Task:
    """Every step is an example: the question, the earlier steps with their answers, this step."""
    lines = read_text("cognition.jsonl").splitlines()
    examples = [example for line in lines for example in _steps(json.loads(line))]
    return Task(
        "cognition",
        version=1,
        description="steps of small questions, each needing one of eight cognitive functions",
        splits=divide(examples),
        shots=1,
        instruction="Answer the last question in a few words.",
        measure="logprob",
    )


def _steps(question: dict[str, object]) -> list[Example]:
    text, topic, steps = str(question["question"]), str(question["topic"]), question["steps"]
    assert isinstance(steps, list)
    earlier: list[tuple[str, str]] = []
    examples = []
    for number, step in enumerate(steps, start=1):
        prompt = sub_question(text, earlier, step["ask"])
        facts = {"topic": topic, "step": number, "ask": step["ask"]}
        example = Example(
            prompt, f" {step['answer']}", (), step["function"], group=text, metadata=facts
        )
        examples.append(example)
        earlier.append((step["ask"], step["answer"]))
    return examples
