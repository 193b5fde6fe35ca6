"""Ablation on the real model, with heads whose part is known because it was planted."""

from __future__ import annotations

import pytest

from headatlas.methods import Ablation
from headatlas.tasks import load_task
from planted.variants import plant

pytestmark = pytest.mark.long

DEAD = ((4, 2), (17, 8))
SABOTEUR = (10, 3)


@pytest.fixture(scope="module")
def planted(embedded):
    """Two heads that project nothing, and one that projects noise."""
    return plant(embedded, DEAD, (SABOTEUR,), noise=15)


def test_dead_heads_do_nothing_and_removing_a_saboteur_helps(planted):
    method = Ablation(heads=(*DEAD, SABOTEUR), examples=32)
    head_map = method.run(planted, load_task("singular-plural"))
    for layer, head in DEAD:
        assert float(head_map["effect"].sel(seed=0, layer=layer, head=head)) == 0.0
    at = {"seed": 0, "layer": SABOTEUR[0], "head": SABOTEUR[1]}
    assert float(head_map["effect"].sel(at)) > 3 * float(head_map["effect_se"].sel(at)) > 0


def test_the_task_needs_the_first_layer(embedded):
    """No head of the first layer is spared: together they carry the tokens' identity."""
    from headatlas.models.edit import Edit

    examples = load_task("singular-plural").prompts(limit=8)
    rows = [embedded.encode(each.prompt, each.target) for each in examples]
    edit = Edit.ablate(embedded.spec, [(0, head) for head in range(9)])
    assert embedded.score(rows, edit).mean().mean() < embedded.score(rows).mean().mean() - 1
