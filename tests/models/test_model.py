"""What a model says of itself, and what it says to nonsense."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from architectures.small_models import build
from headatlas.errors import EditError, TaskError
from headatlas.models.model import Model
from headatlas.models.tokens import Tokens
from small_things import byte_tokenizer, tiny_hf


def test_a_model_is_shown_in_one_line(embedded):
    start = "Model('smollm2-135m': LlamaForCausalLM, 30 layers × 9 heads, 134.5M parameters, "
    assert repr(embedded).startswith(start)


def test_a_model_is_shown_in_a_notebook_with_its_name_escaped():
    model = Model(tiny_hf(), None, "<script>")
    assert model._repr_html_() == (
        "<p><strong>&lt;script&gt;</strong>: LlamaForCausalLM, 3 layers × 4 heads, "
        "49.0k parameters, not verified yet</p>"
    )


def test_texts_longer_than_the_context_are_marked(tiny):
    short, long = ("ab", "cd"), ("a" * 600, "b")
    rows = tiny.encode_fitting([short, long, short])
    assert rows == [tiny.encode(*short), None, tiny.encode(*short)]
    exact = ("a" * (tiny.spec.context - 1), "b")
    assert len(tiny.encode_fitting([exact])[0]) == tiny.spec.context


def test_every_query_head_has_a_key_value_head(tiny):
    groups = tiny.spec.kv_groups
    assert list(groups) == tiny.spec.heads()
    assert [groups[1, head] for head in range(4)] == [0, 0, 1, 1]
    hybrid = Model(build("qwen3_next"), None, "hybrid")
    assert list(hybrid.spec.kv_groups) == hybrid.spec.heads()


def uses(model):
    """Every way to run token ids."""
    return {
        "score": lambda rows: model.score([Tokens(row, 1) for row in rows]),
        "read": model.read,
        "generate": model.generate,
    }


@pytest.mark.parametrize("use", ["score", "read", "generate"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "tiny was given an empty list: give at least one row"),
        ([(5, 6), (5, 258)], "row 1 has the token id 258, but the vocabulary of tiny runs from 0 "),
        ([(5, -1)], r"row 0 has the token id -1, .* to 257: use the model's own tokenizer"),
    ],
)
def test_rows_that_cannot_run_are_one_sentence(tiny, use, rows, message):
    with pytest.raises(TaskError, match=message):
        uses(tiny)[use](rows)


@pytest.mark.parametrize("use", ["read", "generate"])
def test_empty_rows_are_one_sentence(tiny, use):
    with pytest.raises(TaskError, match="row 1 is empty: give it at least one token"):
        uses(tiny)[use]([[5, 6], []])


@pytest.mark.parametrize("start", [-1, 0, 3, 7])
def test_targets_that_are_not_in_the_row_are_one_sentence(start):
    message = f"at least one token and something before it, but it starts at token {start} of 3"
    with pytest.raises(TaskError, match=message):
        Tokens((1, 2, 3), start)


@pytest.mark.parametrize("use", ["read", "generate"])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (torch.tensor([[5, 6]]), r"a list of rows, not as a Tensor: use \.tolist\(\) first"),
        ([5, 6], "row 0 is no list of whole numbers, but of int: give token ids"),
        ([[5, 6], [5, 6.5]], "row 1 is no list of whole numbers, but of float, int"),
    ],
)
def test_rows_of_another_kind_are_one_sentence(tiny, use, rows, message):
    with pytest.raises(TaskError, match=message):
        uses(tiny)[use](rows)


def test_scores_need_targets(tiny):
    with pytest.raises(TaskError, match=r"score takes Tokens, not a list: .*model\.encode"):
        tiny.score([[5, 6, 7]])


def test_numbers_of_numpy_are_token_ids(tiny):
    ids = np.array([5, 6, 7])
    assert torch.equal(tiny.read([tuple(ids)]), tiny.read([[5, 6, 7]]))


def test_the_last_token_of_the_vocabulary_can_be_used(tiny):
    assert tiny.score([Tokens((0, 257), 1)]).logprob.isfinite().all()


def test_token_ids_may_come_in_a_list(tiny):
    assert Tokens([5, 6, 7], 1) == Tokens((5, 6, 7), 1)


def test_texts_and_token_ids_are_not_mixed(tiny):
    with pytest.raises(EditError, match="all texts or all lists of token ids"):
        tiny.generate(["ab", [5, 6]])


def test_a_model_without_an_embedding_module_has_the_vocabulary_of_its_config(monkeypatch):
    model = Model(tiny_hf(), byte_tokenizer(), "tiny")
    monkeypatch.setattr(type(model.hf), "get_input_embeddings", lambda self: torch.nn.Identity())
    assert model.vocabulary_size == 258
