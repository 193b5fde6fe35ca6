"""The truth itself: models solve their puzzles, few heads do it, and they look where they must."""

from __future__ import annotations

import pytest
import torch

from ground_truth.puzzles import PUZZLES
from ground_truth.trained import ALL_HEADS
from ground_truth.truth import (
    attention,
    attention_before_answer,
    attention_to_answer,
    fresh_rows,
)

pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", PUZZLES)
def test_head_atlas_sees_the_rows_that_the_truth_is_found_on(known, name):
    """Otherwise methods would be judged on other questions: <s> is easily lost."""
    puzzle, model = PUZZLES[name], known(name).model
    rows = fresh_rows(puzzle)
    examples = [puzzle._example(*row) for row in zip(*rows, strict=True)][:100]
    tokens = [model.encode(example.prompt, example.target) for example in examples]
    ids = torch.cat([rows.prompts, rows.targets[:, None]], 1)
    assert [list(row.ids) for row in tokens] == ids[:100].tolist()
    with torch.no_grad():
        logits = known(name).trained.hf(rows.prompts[:100]).logits[:, -1]
        own = logits.log_softmax(-1).gather(1, rows.targets[:100, None])[:, 0]
        assert torch.allclose(model.score(tokens).mean(), own, atol=1e-4)


@pytest.mark.parametrize("name", PUZZLES)
def test_few_heads_are_responsible(known, name):
    truth = known(name).truth
    assert truth.accuracy > 0.98
    assert 2 <= len(truth.responsible) <= len(ALL_HEADS) // 2
    assert truth.responsible <= set(known(name).trained.kept)


@pytest.mark.parametrize("name", ["induction", "marker"])
def test_responsible_heads_look_where_the_circuit_must(known, name):
    """One marks the answer with the word before it, another then finds it from the end."""
    rows, truth = fresh_rows(PUZZLES[name]), known(name).truth
    weights = attention(known(name).trained.hf, rows)
    to_answer, before = attention_to_answer(weights, rows), attention_before_answer(weights, rows)
    assert max(float(to_answer[head]) for head in truth.responsible) > 0.8
    assert max(float(before[head]) for head in truth.responsible) > 0.4
