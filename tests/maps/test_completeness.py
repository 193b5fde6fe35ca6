"""A map of integrated gradients says what they leave unexplained."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.maps import Map
from headatlas.runs.summary import sentences

EFFECT = {"effect": (("seed", "layer", "head"), np.ones((2, 1, 2)))}
FACTS = {"method": "attribution", "task": "t", "model": "m", "settings": {"steps": 64}}


def attributed(*shares):
    coordinates = {"seed": [0, 1], "unexplained_share": (("seed",), list(shares))}
    return Map.of(EFFECT, FACTS, coordinates)


def test_the_worst_seed_counts():
    (warning,) = attributed(0.001, 0.13).warnings
    assert warning.startswith("the effects leave 13% of what removing all heads does unexplained")
    assert sentences([attributed(0.001, 0.13)]) == [f"CAUTION: t: {warning}"]


def test_errors_that_cancel_between_examples_count():
    by_example = ("seed", [0.3, 0.01])
    head_map = attributed(0.001, 0.002)
    data = head_map.data.assign_coords(unexplained_by_example=by_example)
    (warning,) = Map(data, FACTS).warnings
    assert warning.startswith(
        "the effects leave 30% of what removing all heads does to an example unexplained"
    )


@pytest.mark.parametrize("shares", [(0.0, 0.02), (np.nan, np.nan)])
def test_no_warning_without_a_reason(shares):
    assert attributed(*shares).warnings == []
    assert sentences([attributed(*shares)]) == []


def test_other_maps_say_nothing_of_it():
    assert Map.of(EFFECT, FACTS).warnings == []
