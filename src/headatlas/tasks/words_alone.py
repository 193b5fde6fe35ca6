"""How well the words of a prompt alone predict its cognitive function, without any model."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headatlas.errors import TaskError
from headatlas.tasks.example import Example
from headatlas.tasks.task import Task

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

RUNS = 10
"""Number of random divisions into training and test questions."""


@dataclass(frozen=True)
class WordsAlone:
    """Accuracy of a bag-of-words classifier on held-out questions.

    `chance` is one over the number of functions, `majority` the share of the most common one.
    """

    accuracy: float
    low: float
    high: float
    chance: float
    majority: float
    examples: int


def bag_of_words() -> Pipeline:
    """An unfitted classifier: word counts, ignoring case, then logistic regression.

    >>> classifier = bag_of_words().fit(["add 2 and 3", "find the name"], ["math", "lookup"])
    >>> classifier.predict(["ADD them"]).tolist()
    ['math']
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    return make_pipeline(
        CountVectorizer(analyzer=_words_of, lowercase=False), LogisticRegression(max_iter=2000)
    )


def words_alone(task: Task, *, last_only: bool = False, seed: int = 0) -> WordsAlone:
    """Predict the function from word counts, on questions that were not used for training.

    Questions are divided ten times, with 70 % for training; the interval is the mean ± 1.96
    standard deviations over the divisions. With `last_only` the classifier sees only the last step,
    without the question and the earlier steps.
    """
    import numpy as np
    from sklearn.model_selection import GroupShuffleSplit

    labelled = [
        example for examples in task.splits.values() for example in examples if example.function
    ]
    functions = [str(example.function) for example in labelled]
    counts = Counter(functions)
    if len(counts) < 2:
        raise TaskError(
            f"the task '{task.name}' has {len(counts)} functions: there must be at least two to "
            "tell apart."
        )
    texts = np.array(
        [_last_step(example) if last_only else example.prompt for example in labelled], dtype=object
    )
    labels, groups = np.array(functions), np.array([example.question for example in labelled])
    divisions = GroupShuffleSplit(RUNS, train_size=0.7, random_state=seed)
    scores = []
    for train, test in divisions.split(texts, labels, groups):
        classifier = bag_of_words().fit(texts[train], labels[train])
        scores.append(classifier.score(texts[test], labels[test]))
    mean, deviation = float(np.mean(scores)), float(np.std(scores, ddof=1))
    return WordsAlone(
        mean,
        mean - 1.96 * deviation,
        mean + 1.96 * deviation,
        1 / len(counts),
        counts.most_common(1)[0][1] / len(labelled),
        len(labelled),
    )


def _words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _last_step(example: Example) -> str:
    """The last question of a prompt of several steps."""
    return example.prompt.rpartition("\nQ: ")[2]
