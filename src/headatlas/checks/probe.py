"""How much a probe's accuracy is worth, beside what needs no heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headatlas.checks.context import CheckContext
from headatlas.checks.results.about import About
from headatlas.checks.results.probe import Control, ProbeReport
from headatlas.maps.functions import function_names
from headatlas.methods.features import Features, Reading
from headatlas.stats.intervals import mean_change
from headatlas.tasks.words_alone import bag_of_words

if TYPE_CHECKING:
    from headatlas.maps import Map

FloatArray = np.ndarray[Any, Any]
FITTED = ("train", "test")


def report_probe(head_map: Map, features: Features, about: About) -> ProbeReport:
    """Compare a map's probe with what needs no heads, on the same test examples."""
    names = tuple(function_names(head_map))
    truth = head_map["truth"].to_numpy().astype(int)
    questions = [str(number) for number in head_map["question"].to_numpy()]
    predicted = head_map["predicted"].transpose("seed", "test_example").to_numpy().astype(int)
    control = head_map["control"].transpose("seed", "test_example").to_numpy().astype(int)
    right = (predicted == truth).mean(0)
    accuracy = mean_change(right, questions, bounded=True)
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
        about=about,
        functions=names,
        examples=len(truth),
        questions=len(set(questions)),
        seeds=len(predicted),
        accuracy=float(right.mean()),
        low=max(0.0, accuracy.low),
        high=min(1.0, accuracy.high),
        chance=1 / len(names),
        controls={name: _control(right, each, questions) for name, each in guesses.items()},
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


def _control(right: FloatArray, other: FloatArray, questions: Sequence[str]) -> Control:
    gain = mean_change(right - other, questions, bounded=True)
    return Control(float(np.mean(other)), gain.mean, gain.low, gain.high, gain.above)


def _words(features: Features, names: tuple[str, ...]) -> FloatArray:
    """What a bag of words of the prompt says, learned from the same training examples."""
    texts = {split: [text.lower() for text in features.prompts[split]] for split in FITTED}
    return _learned(bag_of_words(), texts, features, names)


def _place(features: Features, names: tuple[str, ...]) -> FloatArray:
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
    classifier: Any, data: dict[str, list[Any]], features: Features, names: tuple[str, ...]
) -> FloatArray:
    """What a classifier says of the test examples, learned from the train examples."""
    kept = {s: [i for i, label in enumerate(features.labels[s]) if label in names] for s in FITTED}
    x = {split: [data[split][i] for i in kept[split]] for split in FITTED}
    y = [names.index(features.labels["train"][i]) for i in kept["train"]]
    return np.asarray(classifier.fit(x["train"], y).predict(x["test"]))


def check_probe(context: CheckContext) -> ProbeReport:
    """The report on a map's probe, from the features that it was trained on."""
    features = Features.of(context.task, context.inputs[Reading.name])
    result = report_probe(context.head_map, features, context.about)
    context.report(1, "controls")
    return result
