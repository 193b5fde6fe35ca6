"""How much a probe's accuracy is worth, compared with what needs no heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headatlas.checks.context import CheckContext
from headatlas.checks.results.about import About
from headatlas.checks.results.probe import TEXTS, Control, ProbeReport
from headatlas.maps.functions import function_names
from headatlas.methods.features import SPLITS_READ, Features, Reading
from headatlas.stats.arrays import FloatArray
from headatlas.stats.intervals import mean_change
from headatlas.tasks.text_baseline import STEP, predict_from_text

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.tasks import Example

Predict = Callable[[Sequence["Example"], Sequence["Example"], str], list[str]]
STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1)
"""Inverse regularization of the linear probes of the residual stream; `select` questions choose."""


def report_probe(
    head_map: Map, features: Features, about: About, predict: Predict = predict_from_text
) -> ProbeReport:
    """Compare a map's probe with what needs no heads, on the same test examples.

    `predict(train, test, view)` names the functions of test examples from their text.
    """
    names = tuple(function_names(head_map))
    truth = head_map["truth"].to_numpy().astype(int)
    questions = [str(number) for number in head_map["question"].to_numpy()]
    predicted = head_map["predicted"].transpose("seed", "test_example").to_numpy().astype(int)
    control = head_map["control"].transpose("seed", "test_example").to_numpy().astype(int)
    right = (predicted == truth).mean(0)
    level = about.level
    accuracy = mean_change(right, questions, bounded=True, level=level)
    data = _Labelled(features, names)
    others = {
        "majority": data.most_common == truth,
        "place": data.from_place() == truth,
        "shuffled": (control == truth).mean(0),
    }
    confusion = np.zeros((len(names), len(names)))
    for answers in predicted:
        np.add.at(confusion, (truth, answers), 1)
    return ProbeReport(
        about=about,
        functions=names,
        examples=len(truth),
        questions=len(set(questions)),
        seeds=len(predicted),
        accuracy=float(right.mean()),
        low=max(0.0, accuracy.low),
        high=min(1.0, accuracy.high),
        chance=1 / len(names),
        texts={
            view: _control(right, data.from_text(predict, view) == truth, questions, level)
            for view in TEXTS
        },
        streams={
            depth: _control(right, data.from_stream(place) == truth, questions, level)
            for place, depth in enumerate(features.depths)
        },
        controls={
            name: _control(right, correct, questions, level) for name, correct in others.items()
        },
        confusion=tuple(map(tuple, (confusion / confusion.sum(1, keepdims=True)).tolist())),
        left_out=_left_out(features),
    )


def _left_out(features: Features) -> dict[str, int]:
    """How many answers were not used, by reason."""
    counts = {
        "too long for the model's context": features.too_long,
        "the model's own, and wrong": features.wrong,
        "of steps without a function": features.unlabelled,
    }
    return {reason: count for reason, count in counts.items() if count}


def _control(
    right: FloatArray, other: FloatArray, questions: Sequence[str], level: float
) -> Control:
    gain = mean_change(right - other, questions, bounded=True, level=level)
    return Control(float(np.mean(other)), gain.mean, gain.low, gain.high, gain.above)


class _Labelled:
    """The examples of a probe's functions, and what can be learned from them without heads.

    Every method gives the number of a function for each test example.
    """

    def __init__(self, features: Features, names: tuple[str, ...]) -> None:
        self.features, self.names = features, names
        labels = features.labels
        self.kept = {s: [i for i, label in enumerate(labels[s]) if label in names] for s in labels}
        self.examples = {s: [features.examples[s][i] for i in self.kept[s]] for s in labels}
        self.y = {s: [names.index(labels[s][i]) for i in self.kept[s]] for s in labels}

    @property
    def most_common(self) -> int:
        """The most common function in training."""
        ((common, _),) = Counter(self.y["train"]).most_common(1)
        return common

    def from_text(self, predict: Predict, view: str) -> FloatArray:
        """What a view of the text says."""
        said = predict(self.examples["train"], self.examples["test"], view)
        return np.array([self.names.index(name) for name in said])

    def from_stream(self, place: int) -> FloatArray:
        """What a linear probe of the residual stream says: standardised, its regularization chosen
        on `select` questions."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        x = {s: self.features.stream[s][self.kept[s], place].astype(float) for s in SPLITS_READ}
        probes = [
            make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=1000))
            for strength in STRENGTHS
        ]
        scores = [
            probe.fit(x["train"], self.y["train"]).score(x["select"], self.y["select"])
            for probe in probes
        ]
        return np.asarray(probes[int(np.argmax(scores))].predict(x["test"]))

    def from_place(self) -> FloatArray:
        """What the number of steps in a prompt and its length say."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        x = {}
        for split in ("train", "test"):
            prompts = [self.features.examples[split][i].prompt for i in self.kept[split]]
            x[split] = [[prompt.count(STEP), len(prompt.split())] for prompt in prompts]
        classifier = HistGradientBoostingClassifier(random_state=0)
        return np.asarray(classifier.fit(x["train"], self.y["train"]).predict(x["test"]))


def check_probe(context: CheckContext) -> ProbeReport:
    """The report on a map's probe, from the features that it was trained on."""
    features = Features.of(context.task, context.inputs[Reading.name])
    result = report_probe(context.head_map, features, context.about)
    context.report(1, "controls")
    return result
