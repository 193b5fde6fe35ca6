"""What a map of several seeds says of its seeds."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

import headatlas as ha
from headatlas.checks.yardstick.cost import forward_passes
from headatlas.maps.labels import count_of_seeds, evidence
from headatlas.tasks import Example, Task


def uneven_task():
    """A third of the questions does not fit the tiny context, so seeds use other numbers."""
    examples = [Example(f"{i} " + "ab " * (300 if i % 3 == 0 else 1), "cd") for i in range(60)]
    return Task.of("uneven", examples)


def test_counts_that_differ_between_seeds_are_kept_for_every_seed(tmp_path, tiny):
    atlas = ha.Atlas(tmp_path / "atlas", tiny, progress=None)
    method = ha.Attention(examples=8, score="first_token")
    head_map = atlas.map(method, uneven_task(), 3, baseline=False)
    parts = [method.run(tiny, uneven_task(), seed) for seed in range(3)]
    used = [part.provenance["examples_used"] for part in parts]
    assert len(set(used)) > 1
    assert head_map["examples_used"].to_numpy().tolist() == used
    assert head_map["examples_too_long"].to_numpy().tolist() == [8 - count for count in used]
    assert head_map["examples_of_first_token"].to_numpy().tolist() == used
    assert count_of_seeds(head_map) == used
    assert count_of_seeds(head_map.sel(seed=1)) == [used[1]]
    assert evidence(head_map) == (sum(used), 3)
    assert forward_passes(head_map, tiny) == sum(used)
    assert head_map.name == atlas.load(head_map.name).name


def test_a_count_that_is_not_known_is_not_zero(tiny):
    method = ha.Attention(examples=4, score="first_token")
    head_map = method.run(tiny, uneven_task())
    facts = {name: fact for name, fact in head_map.provenance.items() if name != "examples_used"}
    unknown = replace(head_map, provenance=facts)
    assert math.isnan(count_of_seeds(unknown)[0])
    assert math.isnan(forward_passes(unknown, tiny))
    assert evidence(unknown) < evidence(head_map)
    some = head_map.data.assign_coords(examples_used=("seed", [np.nan]))
    assert math.isnan(forward_passes(replace(head_map, data=some), tiny))
