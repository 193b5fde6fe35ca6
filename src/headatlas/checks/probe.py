"""How much a probe's accuracy is worth, beside what needs no heads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headatlas.stats.clustered import mean_change

if TYPE_CHECKING:
    from headatlas.maps import Map

FloatArray = np.ndarray[Any, Any]
FITTED = ("train", "test")


class Labelled(Protocol):
    """What a probe was shown, by split: functions and prompts of the examples."""

    @property
    def labels(self) -> Mapping[str, Sequence[str]]: ...

    @property
    def prompts(self) -> Mapping[str, Sequence[str]]: ...

    @property
    def questions(self) -> Mapping[str, Sequence[str]]: ...


@dataclass(frozen=True)
class Beats:
    """Accuracy of a baseline on the same test examples, and by how much the probe exceeds it, with
    the 95 % interval over questions."""

    accuracy: float
    gain: float
    low: float
    high: float

    @property
    def holds(self) -> bool | None:
        """Whether the probe is better; `None` if it cannot be told."""
        if self.low > 0:
            return True
        return False if self.high < 0 else None


@dataclass(frozen=True)
class ProbeReport:
    """A probe on test questions: mean over seeds, with its 95 % interval over questions.

    `baselines`: the commonest function of the train questions (`majority`), a bag of words of the
    prompt (`words`), how many steps the question has before this one and how long the prompt is
    (`place`), and the same probe learned from shuffled labels (`shuffled`); the gain over
    the last is the probe's selectivity. `confusion[a][b]`: share of the examples of function a that
    were taken for b.
    """

    functions: tuple[str, ...]
    examples: int
    questions: int
    seeds: int
    accuracy: float
    low: float
    high: float
    chance: float
    baselines: dict[str, Beats]
    confusion: list[list[float]]

    def as_dict(self) -> dict[str, Any]:
        found = asdict(self)
        for name, each in self.baselines.items():
            found["baselines"][name]["holds"] = each.holds
        return found


def report_probe(drawn: Map, features: Labelled) -> ProbeReport:
    """Compare a map's probe with what needs no heads, on the test examples it was asked."""
    names = tuple(str(name) for name in drawn.data["function"].to_numpy())
    truth = drawn.data["truth"].to_numpy().astype(int)
    questions = [str(number) for number in drawn.data["question"].to_numpy()]
    predicted = drawn.data["predicted"].transpose("seed", "asked").to_numpy().astype(int)
    control = drawn.data["control"].transpose("seed", "asked").to_numpy().astype(int)
    right = (predicted == truth).mean(0)
    sure = mean_change(right, questions, bounded=True)
    ((common, _),) = Counter(
        each for each in features.labels["train"] if each in names
    ).most_common(1)
    guesses = {
        "majority": truth == names.index(common),
        "words": _words(features, names) == truth,
        "place": _place(features, names) == truth,
        "shuffled": (control == truth).mean(0),
    }
    confusion = np.zeros((len(names), len(names)))
    for answers in predicted:
        np.add.at(confusion, (truth, answers), 1)
    return ProbeReport(
        functions=names,
        examples=len(truth),
        questions=len(set(questions)),
        seeds=len(predicted),
        accuracy=float(right.mean()),
        low=max(0.0, sure.low),
        high=min(1.0, sure.high),
        chance=1 / len(names),
        baselines={name: _beats(right, each, questions) for name, each in guesses.items()},
        confusion=(confusion / confusion.sum(1, keepdims=True)).tolist(),
    )


def _beats(right: FloatArray, other: FloatArray, questions: Sequence[str]) -> Beats:
    gain = right - other
    found = mean_change(gain, questions, bounded=True)
    return Beats(float(np.mean(other)), found.mean, found.low, found.high)


def _words(features: Labelled, names: tuple[str, ...]) -> FloatArray:
    """What a bag of words of the prompt says, learned from the same train examples."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    words = CountVectorizer(analyzer=partial(re.findall, r"\w+"), lowercase=False)
    guess = make_pipeline(words, LogisticRegression(max_iter=2000))
    texts = {split: [text.lower() for text in features.prompts[split]] for split in FITTED}
    return _learned(guess, texts, features, names)


def _place(features: Labelled, names: tuple[str, ...]) -> FloatArray:
    """What the number of a step in its question and the length of its prompt say."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    places = {}
    for split in FITTED:
        seen: Counter[str] = Counter()
        rows = []
        for question, prompt in zip(
            features.questions[split], features.prompts[split], strict=True
        ):
            rows.append([seen[question], len(prompt.split())])
            seen[question] += 1
        places[split] = rows
    return _learned(HistGradientBoostingClassifier(random_state=0), places, features, names)


def _learned(
    guess: Any, given: dict[str, list[Any]], features: Labelled, names: tuple[str, ...]
) -> FloatArray:
    """What a classifier says of the test examples, learned from the train examples."""
    kept = {s: [i for i, label in enumerate(features.labels[s]) if label in names] for s in FITTED}
    x = {split: [given[split][i] for i in kept[split]] for split in FITTED}
    y = [names.index(features.labels["train"][i]) for i in kept["train"]]
    return np.asarray(guess.fit(x["train"], y).predict(x["test"]))
