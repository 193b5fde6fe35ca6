"""Predicting the cognitive function of a step from text alone, without any model.

A probe reads a model's states at the tokens of the answer, so the text it is compared with may be
the answer too: the views name what a classifier is shown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headatlas.errors import TaskError
from headatlas.tasks.example import Example

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

STEP = "\nQ: "
"""What every step of a prompt begins with."""

MATCHED = "matched sentence"

VIEWS = ("prompt", "last step", "answer", "last step and answer", "all", MATCHED)
"""Word counts of the prompt; then n-grams of the parts of a step. `all` is the last step, the
answer, and the context: the question's text with the earlier steps and their answers. `MATCHED` is
the last step, the answer, and the one sentence of the question's text that shares most words with
them."""

PARTS = {
    "last step": ("step",),
    "answer": ("answer",),
    "last step and answer": ("step", "answer"),
    "all": ("step", "answer", "context"),
    MATCHED: ("step", "answer", "matched"),
}

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Inverse regularization strengths that cross-validation chooses from."""

FOLDS = 5


@dataclass(frozen=True)
class StepText:
    """The parts of a step: its own words, its answer, and what stands before it.

    >>> text = StepText.of(Example("Ana has 2.\\n\\nQ: Who?\\nA: Ana\\nQ: How many?\\nA:", " 2"))
    >>> text.question, text.earlier, text.step, text.answer
    ('Ana has 2.', 'Who?\\nA: Ana', 'How many?', '2')
    """

    question: str
    earlier: str
    step: str
    answer: str

    @classmethod
    def of(cls, example: Example) -> StepText:
        """Divide a prompt in the form of `sub_question`; any other prompt is all last step."""
        before, _, step = example.prompt.rpartition(STEP)
        question, _, earlier = before.partition(STEP)
        return cls(
            question.strip(), earlier, step.removesuffix("A:").strip(), example.target.strip()
        )

    @property
    def context(self) -> str:
        return f"{self.question}\n{self.earlier}"

    @property
    def matched(self) -> str:
        """The sentence of the question's text that shares most words with the step and its answer.

        A shared word counts for one over the number of sentences it stands in.
        """
        sentences = re.split(r"(?<=[.?!]) (?=[A-Z])", self.question)
        words = [set(_words_of(sentence)) for sentence in sentences]
        spread = Counter(word for sentence_words in words for word in sentence_words)
        wanted = set(_words_of(f"{self.step} {self.answer}"))
        scores = [
            sum(1 / spread[word] for word in sentence_words & wanted) for sentence_words in words
        ]
        return sentences[scores.index(max(scores))]

    def numbers(self, parts: Sequence[str]) -> list[float]:
        """Counts and shares that n-grams do not hold, of the parts that a view shows.

        Of the step: its length, options offered, digits. Of the answer: its length, digits, a
        capital letter, yes or no. Of both: the share of the answer's words in the step; with the
        answer, the shares in the question's text and in the earlier steps.
        """
        values: list[float] = []
        words = _words_of(self.answer)
        if "step" in parts:
            offered = len(re.findall(r"\bor\b", self.step))
            values += [np.log1p(len(self.step)), offered, _has_digit(self.step)]
        if "answer" in parts:
            values += [
                np.log1p(len(words)),
                np.log1p(len(self.answer)),
                _has_digit(self.answer),
                self.answer[:1].isupper(),
                self.answer.lower().rstrip(".") in ("yes", "no"),
                _share(words, self.question),
                _share(words, self.earlier),
            ]
        if "step" in parts and "answer" in parts:
            values.append(_share(words, self.step))
        if "context" in parts:
            values += [np.log1p(len(self.context)), self.context.count("\nA: ")]
        return [float(value) for value in values]


def predict_from_text(train: Sequence[Example], test: Sequence[Example], view: str) -> list[str]:
    """The function of every test example, as text predicts it after learning from `train`.

    `prompt` is a bag of words of the whole prompt. The other views have words and pairs of words
    and 2 to 5 letters in a row (tf-idf, the step and the answer each in features of their own),
    with the numbers of `StepText.numbers`. Logistic regression; its strength is chosen by
    cross-validation inside `train`, with the steps of a question in one fold.

    >>> train = [Example("Q: add it\\nA:", " 2", function="math", group=f"{i}") for i in range(5)]
    >>> train += [Example("Q: name it\\nA:", " x", function="name", group=f"{i}") for i in range(5)]
    >>> predict_from_text(train, [Example("Q: add\\nA:", " 7")], "last step and answer")
    ['math']
    """
    if view not in VIEWS:
        raise TaskError(f"no view '{view}' of a text: use {', '.join(VIEWS)}.")
    labels = [str(example.function) for example in train]
    if view == "prompt":
        bag = bag_of_words().fit([example.prompt for example in train], labels)
        return [str(name) for name in bag.predict([example.prompt for example in test])]
    texts = [StepText.of(example) for example in train]
    groups = [example.question for example in train]
    classifier = _choose_strength(PARTS[view], texts, labels, groups)
    return [str(name) for name in classifier.predict([StepText.of(example) for example in test])]


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
        CountVectorizer(analyzer=_words_of, lowercase=False), LogisticRegression(max_iter=10_000)
    )


def _choose_strength(
    parts: Sequence[str], texts: list[StepText], labels: list[str], groups: list[str]
) -> Pipeline:
    """A classifier fitted to all texts, with the strength that held-out questions favour."""
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline

    scores = dict.fromkeys(STRENGTHS, 0.0)
    folds = min(FOLDS, len(set(groups)))
    for fit, held_out in GroupKFold(folds).split(texts, labels, groups) if folds > 1 else ():
        features = _features(parts)
        inside = features.fit_transform([texts[i] for i in fit])
        outside = features.transform([texts[i] for i in held_out])
        for strength in STRENGTHS:
            regression = _regression(strength).fit(inside, [labels[i] for i in fit])
            scores[strength] += regression.score(outside, [labels[i] for i in held_out])
    best = max(STRENGTHS, key=lambda strength: scores[strength])
    return make_pipeline(_features(parts), _regression(best)).fit(texts, labels)


def _regression(strength: float) -> Any:
    """One function against the others: as accurate as the multinomial form, and far faster."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    return OneVsRestClassifier(
        LogisticRegression(
            C=strength, solver="liblinear", dual=True, max_iter=10_000, random_state=0
        )
    )


def _features(parts: Sequence[str]) -> Any:
    """An unfitted transformer of `StepText`s: one block of features a part and kind of n-gram."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline, make_union
    from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler

    def reading(part: str) -> Any:
        # a text without words would leave nothing to learn from
        return FunctionTransformer(
            lambda texts: [getattr(text, part).strip() or "none" for text in texts]
        )

    blocks = []
    for part in parts:
        words = TfidfVectorizer(
            tokenizer=_tokens_of, token_pattern=None, ngram_range=(1, 2), sublinear_tf=True
        )
        letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
        blocks += [make_pipeline(reading(part), words)]
        if part != "context":
            blocks += [make_pipeline(reading(part), letters)]
    numbers = FunctionTransformer(lambda texts: np.array([text.numbers(parts) for text in texts]))
    return make_union(*blocks, make_pipeline(numbers, MaxAbsScaler()))


def _words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _tokens_of(text: str) -> list[str]:
    """Words and punctuation marks."""
    return re.findall(r"\w+|[^\w\s]", text)


def _has_digit(text: str) -> bool:
    return any(letter.isdigit() for letter in text)


def _share(words: Iterable[str], text: str) -> float:
    """The share of the words that also stand in a text; 0 without words."""
    known, words = set(_words_of(text)), list(words)
    return sum(word in known for word in words) / max(1, len(words))
