"""Results as plain data: what is stored comes back, and what is damaged is refused."""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, fields, replace

import pytest

from headatlas.checks.results import RESULTS
from headatlas.checks.results.functions import Claim, OrderRow, PooledStrength
from headatlas.checks.results.gating import HeldOut
from headatlas.checks.results.probe import Control
from headatlas.errors import StoreError
from headatlas.stats.intervals import Change
from plots.made_up import comparison, contrast_check, function_check, gating_check, probe_report

NAN = float("nan")
CHANGE = Change(0.1, NAN, math.inf)


def examples():
    """One result of every class, with every field filled."""
    held_out = HeldOut("G⁺", 1.0, 0.5, -0.1, NAN, NAN, 2, 3, 40, 0.9)
    return [
        replace(gating_check(), held_out=(held_out,)),
        replace(
            function_check(),
            order=(OrderRow("a", "b", 3, CHANGE, CHANGE),),
            strengthening_of_all=(PooledStrength(1.0, CHANGE),),
            claims={"masking": Claim(CHANGE, None), "order": None},
        ),
        replace(probe_report(), controls={"words": Control(0.5, 0.1, NAN, 0.2, None)}),
        contrast_check(),
        comparison(),
        comparison(names=(None,)),
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
            if field.default_factory is not MISSING:
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
        if result.kind == "probe report":
            result = replace(result, controls=dict.fromkeys(("words", "place"), _NO_GAIN))
        assert result.summary()
        assert all(isinstance(line, str) and "\n" not in line for line in result.summary())


_NO_GAIN = Control(0.5, 0.0, -0.1, 0.1, None)
