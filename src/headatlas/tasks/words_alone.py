"""How well text alone predicts the cognitive function of a task's steps, without any model."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from headatlas.errors import TaskError
from headatlas.tasks.task import Task
from headatlas.tasks.text_baseline import predict_from_text

RUNS = 10
"""Number of random divisions into training and test questions."""


@dataclass(frozen=True)
class WordsAlone:
    """Accuracy of a text classifier on held-out questions.

    `chance` is one over the number of functions, `majority` the share of the most common one, and
    `view` what the classifier was shown (see `predict_from_text`).
    """

    accuracy: float
    low: float
    high: float
    chance: float
    majority: float
    examples: int
    view: str = "prompt"


def words_alone(task: Task, view: str = "prompt", *, seed: int = 0) -> WordsAlone:
    """Predict the function from text, on questions that were not used for training.

    Questions are divided ten times, with 70 % for training; the interval is the mean ± 1.96
    standard deviations over the divisions.
    """
    import numpy as np
    from sklearn.model_selection import GroupShuffleSplit

    labelled = [
        example for examples in task.splits.values() for example in examples if example.function
    ]
    counts = Counter(str(example.function) for example in labelled)
    if len(counts) < 2:
        raise TaskError(
            f"the task '{task.name}' has {len(counts)} functions: there must be at least two to "
            "tell apart."
        )
    divisions = GroupShuffleSplit(RUNS, train_size=0.7, random_state=seed)
    groups = [example.question for example in labelled]
    scores = []
    for train, test in divisions.split(labelled, groups=groups):
        held_out = [labelled[i] for i in test]
        predicted = predict_from_text([labelled[i] for i in train], held_out, view)
        right = [
            name == example.function for name, example in zip(predicted, held_out, strict=True)
        ]
        scores.append(np.mean(right))
    mean, deviation = float(np.mean(scores)), float(np.std(scores, ddof=1))
    return WordsAlone(
        mean,
        mean - 1.96 * deviation,
        mean + 1.96 * deviation,
        1 / len(counts),
        counts.most_common(1)[0][1] / len(labelled),
        len(labelled),
        view,
    )
