"""What every registered method keeps to."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from headatlas.methods import METHODS
from headatlas.tasks import Example, Task

TASK = Task.of(
    "t", [Example(f"{i} " + "ab " * (i % 3 + 1), "cd", function="fg"[i % 2]) for i in range(80)]
)


@pytest.mark.parametrize("name", METHODS)
class TestMethod:
    def test_settings_are_frozen_plain_data(self, name):
        method = METHODS[name]()
        assert dataclasses.fields(method)
        assert type(method).__dataclass_params__.frozen
        assert json.loads(json.dumps(method.settings())) == method.settings()

    def test_the_docstring_says_what_the_number_is(self, name):
        assert METHODS[name].variable in METHODS[name].__doc__

    def test_the_same_seed_gives_the_same_map(self, name, tiny):
        one, two = (METHODS[name]().run(tiny, TASK, seed=3) for _ in range(2))
        assert one.data.identical(two.data)
        assert one.provenance == two.provenance

    def test_the_map_has_the_shape_of_the_model_and_names_its_origin(self, name, tiny):
        drawn = METHODS[name]().run(tiny, TASK)
        values = drawn[METHODS[name].variable]
        assert (values.sizes["layer"], values.sizes["head"]) == (3, 4)
        assert np.isfinite(values).all()
        for fact in ("model_hash", "task_hash", "method", "settings", "seed"):
            assert fact in drawn.provenance

    def test_parts_are_plain_data_and_steps_are_reported(self, name, tiny):
        method = METHODS[name]()
        for part in method.parts(tiny.spec):
            assert json.loads(json.dumps(part)) == part
            steps = []
            method.run(tiny, TASK, part=part, report=steps.append)
            assert len(steps) == method.reports(part)
