"""Results as plain data: what is stored comes back, and what is damaged is refused."""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, fields, replace

import pytest

from headatlas.checks.results import RESULTS
from headatlas.checks.results.functions import Claim, Order, OrderRow
from headatlas.checks.results.gating import HeldOut
from headatlas.checks.results.probe import TEXTS, VERDICTS, Control
from headatlas.errors import StoreError
from headatlas.stats.intervals import Change
from headatlas.tasks.text_baseline import VIEWS
from plots.made_up import (
    comparison,
    contrast_check,
    faithfulness,
    function_check,
    gating_check,
    leaderboard,
    mediation,
    probe_report,
    task_specificity,
)

NAN = float("nan")
CHANGE = Change(0.1, NAN, math.inf)


def examples():
    """One result of every class, with every field filled."""
    held_out = HeldOut("G⁺", 1.0, 0.5, -0.1, NAN, NAN, 2, 3, 40, 0.9, 10, 1.1, (0.45,), 1.0, 1.1, 2)
    return [
        replace(gating_check(), held_out=(held_out,)),
        replace(
            function_check(),
            order=Order(4, CHANGE, CHANGE, CHANGE, CHANGE, (OrderRow("a", "b", CHANGE),)),
            claims={"masking": Claim(CHANGE, None, {"a": CHANGE}), "order": None},
        ),
        replace(probe_report(), texts={"prompt": Control(0.5, 0.1, NAN, 0.2, None)}),
        contrast_check(),
        comparison(),
        comparison(names=(None,)),
        faithfulness(),
        leaderboard(),
        task_specificity(),
        mediation(),
        mediation(mediating=0),
    ]


RESULTS_MADE = examples()


def test_every_class_is_tried():
    assert {type(result) for result in RESULTS_MADE} == set(RESULTS.values())
    assert all(RESULTS[result.kind] is type(result) for result in RESULTS_MADE)


@pytest.mark.parametrize("result", RESULTS_MADE, ids=lambda result: result.kind)
class TestResult:
    def test_what_is_stored_comes_back(self, result):
        stored = json.loads(json.dumps(result.as_dict()))
        again = RESULTS[stored["kind"]].from_dict(stored)
        assert repr(again) == repr(result)  # NaN is not equal to itself
        assert type(again) is type(result)

    def test_a_missing_field_is_one_sentence(self, result):
        for field in fields(result):
            name, stored = field.name, result.as_dict()
            del stored[name]
            if (field.default, field.default_factory) != (MISSING, MISSING):
                assert type(result).from_dict(stored)  # a result of before the field was added
                continue
            with pytest.raises(StoreError, match=f"stored {result.kind} cannot be read") as caught:
                type(result).from_dict(stored)
            assert name in str(caught.value)
            assert "\n" not in str(caught.value)

    def test_a_field_of_another_type_is_one_sentence(self, result):
        for name in list(result.as_dict())[1:]:
            stored = result.as_dict() | {name: object()}
            with pytest.raises(StoreError, match="Compute it again"):
                type(result).from_dict(stored)

    def test_anything_else_is_one_sentence(self, result):
        for stored in (None, [], "text", {}):
            with pytest.raises(StoreError, match="cannot be read"):
                type(result).from_dict(stored)

    def test_the_summary_is_plain_sentences(self, result):
        assert result.summary()
        assert all(isinstance(line, str) and "\n" not in line for line in result.summary())


def test_the_three_outcomes_of_a_comparison_have_words_of_their_own():
    """A text that is merely not told apart from the probe is not called as good."""
    for low, high, holds, words in (
        (0.05, 0.2, True, None),
        (-0.2, -0.05, False, "tells the functions apart better than the probe does"),
        (-0.1, 0.1, None, "inconclusive with 40 questions"),
    ):
        texts = {"answer": Control(0.6, (low + high) / 2, low, high, holds)}
        report = replace(probe_report(), texts=texts)
        warned = [line for line in report.warnings() if line.startswith("text of the answer")]
        assert [words in line for line in warned] == ([True] if words else [])
        assert VERDICTS[holds] in report.summary()[1]
        assert "strongest text baseline (text of the answer) reaches 60%" in report.summary()[1]
    assert "chance is 33%, the most common function 35%" in probe_report().summary()[0]
    assert "embeddings of the same tokens alone reach 50%" in probe_report().summary()[2]


def test_every_view_of_the_text_has_a_name():
    assert set(TEXTS) == set(VIEWS)
