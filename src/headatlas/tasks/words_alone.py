"""How much of the function the words of a prompt give away, without any model."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import partial

from headatlas.errors import TaskError
from headatlas.tasks.example import Example
from headatlas.tasks.task import Task

RUNS = 10
"""Divisions into training and testing, so that one lucky division does not decide."""


@dataclass(frozen=True)
class WordsAlone:
    """Accuracy of a bag-of-words classifier on held-out questions; `chance` is one of the classes,
    `majority` the commonest of them."""

    accuracy: float
    low: float
    high: float
    chance: float
    majority: float
    examples: int


def words_alone(task: Task, *, last_only: bool = False, seed: int = 0) -> WordsAlone:
    """Guess the function from word counts by logistic regression, on questions not trained on.

    Ten divisions by question, 70 % for training; the interval is where 95 % of a larger number of
    such divisions would fall (normal approximation over the ten). With `last_only` the classifier
    sees the step that is asked, without the question and the earlier steps.
    """
    import numpy as np
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupShuffleSplit
    from sklearn.pipeline import make_pipeline

    labelled = [each for split in task.splits.values() for each in split if each.function]
    functions = [str(each.function) for each in labelled]
    counts = Counter(functions)
    if len(counts) < 2:
        raise TaskError(f"the task '{task.name}' has {len(counts)} functions: nothing to guess.")
    texts = np.array(
        [(_last(each) if last_only else each.prompt).lower() for each in labelled], dtype=object
    )
    labels, groups = np.array(functions), np.array([each.question for each in labelled])
    divisions = GroupShuffleSplit(RUNS, train_size=0.7, random_state=seed)
    scores = []
    for train, test in divisions.split(texts, labels, groups):
        words = CountVectorizer(analyzer=partial(re.findall, r"\w+"))
        guess = make_pipeline(words, LogisticRegression(max_iter=2000))
        scores.append(guess.fit(texts[train], labels[train]).score(texts[test], labels[test]))
    mean, spread = float(np.mean(scores)), float(np.std(scores, ddof=1))
    return WordsAlone(
        mean,
        mean - 1.96 * spread,
        mean + 1.96 * spread,
        1 / len(counts),
        counts.most_common(1)[0][1] / len(labelled),
        len(labelled),
    )


def _last(example: Example) -> str:
    """What is asked at the end of a prompt of steps."""
    return example.prompt.rpartition("\nQ: ")[2]
