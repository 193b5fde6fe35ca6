"""Log-probabilities of targets do not depend on batch mates, padding, or how they are computed."""

from __future__ import annotations

from unittest import mock

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from architectures.small_models import build
from headatlas.errors import EditError
from headatlas.models.edit import Edit
from headatlas.models.model import Model
from headatlas.models.tokens import Tokens

SETTINGS = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,  # the same examples every time; tests/long draws new ones
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


PACKING = {"llama": True, "gpt2": True, "bloom": False, "gemma2": False, "qwen3_next": False}


@st.composite
def batches(draw, vocabulary=120):
    """Rows of any mix of lengths, with and without a shared prefix, maybe starting with another."""
    token = st.integers(3, vocabulary)
    prefix = draw(st.lists(token, min_size=0, max_size=20))
    rows = []
    for _ in range(draw(st.integers(1, 6))):
        ids = (*prefix, *draw(st.lists(token, min_size=2, max_size=12)))
        rows.append(Tokens(ids, draw(st.integers(1, len(ids) - 1))))
    if draw(st.booleans()):  # a row that another one starts with
        ids = (*rows[0].ids, *draw(st.lists(token, min_size=1, max_size=6)))
        rows.append(Tokens(ids, draw(st.integers(1, len(ids) - 1))))
    return rows


@pytest.fixture(scope="module", params=["llama", "gpt2", "bloom", "gemma2", "qwen3_next"])
def family(request):
    """A plain, an old, a hooked, a soft-capped sliding, and a hybrid family."""
    return Model(build(request.param), None, request.param)


def alone(model, row, edit=None):
    """The definition: one row, no padding, full logits."""
    with torch.no_grad(), model.editing(edit or Edit()):
        logits = model.hf(torch.tensor([row.ids]), use_cache=False).logits[0]
    logprobs = logits.log_softmax(-1)
    return torch.stack([logprobs[p - 1, row.ids[p]] for p in range(row.target_start, len(row.ids))])


@SETTINGS
@given(rows=batches(), seed=st.integers(0, 9))
def test_any_mix_of_lengths_gives_the_numbers_of_one_at_a_time(family, rows, seed):
    spec = family.spec
    gate = torch.rand(spec.n_layers, spec.n_heads, generator=torch.Generator().manual_seed(seed))
    scores = family.score(rows, Edit(gate))
    for row, logprob, mask in zip(rows, scores.logprob, scores.mask, strict=True):
        wanted = alone(family, row, Edit(gate))
        torch.testing.assert_close(logprob[mask], wanted, rtol=1e-4, atol=1e-4)


@SETTINGS
@given(rows=batches(), seed=st.integers(0, 9), chunk=st.sampled_from([1, 6, 96]))
def test_packed_rows_do_not_see_each_other(tiny, rows, seed, chunk):
    assert tiny.packs
    gate = torch.rand(3, 4, generator=torch.Generator().manual_seed(seed))
    with mock.patch("headatlas.models.run.packing.CHUNK", chunk):
        scores = tiny.score(rows, Edit(gate), pack=True)
    for row, logprob, mask in zip(rows, scores.logprob, scores.mask, strict=True):
        torch.testing.assert_close(
            logprob[mask], alone(tiny, row, Edit(gate)), rtol=1e-4, atol=1e-4
        )


AS_MANY_PLACES_AS_TOKENS = [
    [Tokens((3, 3, 3, 3, 3, 4, 3), 2), Tokens((3, 3, 3, 3, 3, 4, 3, 3), 6)],
    [Tokens((5, 6, 7, 8, 9, 10), 3), Tokens((5, 6, 7, 8, 9, 10), 4)],
    [Tokens((5, 6, 7, 8), 2), Tokens((5, 6, 7, 8), 3)],
]
"""Rows that start each other, with as many places to predict as tokens to run, in another order."""


@pytest.mark.parametrize("rows", AS_MANY_PLACES_AS_TOKENS)
def test_as_many_places_as_tokens_are_not_picked_twice(family, rows):
    for ways in [{}, {"pack": False}, *[{"pack": True, "share": True}] * family.packs]:
        scores = family.score(rows, **ways)
        for row, logprob, mask in zip(rows, scores.logprob, scores.mask, strict=True):
            torch.testing.assert_close(logprob[mask], alone(family, row), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("module", [None, torch.nn.Identity()], ids=["none", "another"])
def test_places_are_picked_from_the_logits_where_the_projection_is_not_found(
    tiny, monkeypatch, module
):
    """A model may have no module for its projection, or never call it."""
    monkeypatch.setattr(type(tiny.hf), "get_output_embeddings", lambda self: module)
    for rows in AS_MANY_PLACES_AS_TOKENS:
        for pack in (True, False):
            scores = tiny.score(rows, pack=pack)
            for row, logprob, mask in zip(rows, scores.logprob, scores.mask, strict=True):
                torch.testing.assert_close(logprob[mask], alone(tiny, row), rtol=1e-4, atol=1e-4)


def test_only_models_that_keep_packed_rows_apart_pack():
    """A window of the model's own, positions by distance and recurrence do not survive packing."""
    assert {name: Model(build(name), None, name).packs for name in PACKING} == PACKING


@SETTINGS
@given(rows=batches())
def test_rows_with_edits_of_their_own_score_as_alone(family, rows):
    generator = torch.Generator().manual_seed(3)
    gate = torch.rand(len(rows), family.spec.n_layers, family.spec.n_heads, generator=generator)
    scores = family.score(rows, Edit(gate))
    for i, row in enumerate(rows):
        wanted = alone(family, row, Edit(gate[i]))
        torch.testing.assert_close(scores.logprob[i][scores.mask[i]], wanted, rtol=1e-4, atol=1e-4)


def test_long_batches_are_split_without_a_trace(tiny, monkeypatch):
    rows = [Tokens(tuple(range(5, 12 + i)), 4) for i in range(9)]
    whole = tiny.score(rows).logprob
    monkeypatch.setattr("headatlas.models.run.scoring.TOKENS_PER_PASS", 16)
    monkeypatch.setattr("headatlas.models.run.scoring.PREFIX_CHUNK", 2)
    torch.testing.assert_close(tiny.score(rows).logprob, whole, rtol=1e-5, atol=1e-6)


def few_shot_rows(model):
    prefix = "Q: cat\nA: cats\n\nQ: leaf\nA: leaves\n\n"
    pairs = [("dog", "dogs"), ("wolf", "wolves"), ("grandmother", "grandmothers"), ("man", "men")]
    return [model.encode(f"{prefix}Q: {one}\nA:", f" {many}") for one, many in pairs]


def test_shared_and_packed_gradients_equal_the_plain_ones_on_the_real_model(embedded):
    assert embedded.continues_from_cache
    rows = few_shot_rows(embedded)
    assert embedded.packs
    grads, scores = [], []
    for share, pack in ((False, False), (True, False), (True, True)):
        gate = torch.rand(30, 9, generator=torch.Generator().manual_seed(0)).requires_grad_()
        score = embedded.score(rows, Edit(gate), share=share, pack=pack).mean()
        score.mean().backward()
        grads.append(gate.grad)
        scores.append(score.detach())
    for score, grad in zip(scores[1:], grads[1:], strict=True):
        torch.testing.assert_close(score, scores[0], rtol=1e-4, atol=1e-4)
        assert (grad - grads[0]).norm() / grads[0].norm() < 1e-4
        assert (grad - grads[0]).abs().max() < 1e-4 * grads[0].abs().max()


def test_the_gradient_reaches_a_shift(tiny):
    rows = [Tokens((*range(5, 25), 30 + i, 40), 21) for i in range(4)]
    grads = []
    for share in (False, True):
        shift = torch.zeros(3, 4, 16, requires_grad=True)
        tiny.score(rows, Edit(shift=shift), share=share).mean().sum().backward()
        grads.append(shift.grad)
    assert grads[0].abs().amin(-1).min() > 0
    torch.testing.assert_close(grads[1], grads[0], rtol=1e-3, atol=1e-5)


def test_the_real_model_scores_a_mixed_batch_as_one_at_a_time(embedded):
    texts = [("The capital of France is", " Paris"), ("1 + 1 =", " 2"), ("A " * 40 + "B", " C D E")]
    rows = [embedded.encode(*text) for text in texts]
    scores = embedded.score(rows)
    for i, row in enumerate(rows):
        torch.testing.assert_close(
            scores.logprob[i][scores.mask[i]], alone(embedded, row), rtol=1e-4, atol=1e-4
        )


def test_only_target_positions_are_projected(tiny):
    seen = []
    head = tiny.hf.get_output_embeddings()
    handle = head.register_forward_hook(lambda module, args, out: seen.append(args[0].shape))
    rows = [Tokens(tuple(range(5, 25)), 18), Tokens(tuple(range(5, 15)), 9)]
    tiny.score(rows, share=False)
    handle.remove()
    assert seen == [(1, 3, 32)]


def shapes_run(model, rows, **ways):
    """The shapes of the token batches that go through the model."""
    assert model.packs  # measured once, and not counted
    assert model.continues_from_cache
    seen = []
    handle = model.hf.model.register_forward_pre_hook(
        lambda module, args, kwargs: seen.append(tuple(kwargs["input_ids"].shape)), with_kwargs=True
    )
    model.score(rows, **ways)
    handle.remove()
    return seen


def test_a_prefix_is_computed_once(tiny):
    prefix = tuple(range(5, 45))
    rows = [Tokens((*prefix, 50 + i, 60), 41) for i in range(6)]
    assert shapes_run(tiny, rows, share=True, pack=False) == [(1, 40), (6, 1)]
    assert shapes_run(tiny, rows) == [(1, 46)]  # packed, by itself


class AttentionSizes(TorchFunctionMode):
    """Counts the sizes of attention: queries and keys."""

    def __init__(self):
        super().__init__()
        self.sizes = []

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is scaled_dot_product_attention:
            self.sizes.append((args[0].shape[-2], args[1].shape[-2]))
        return function(*args, **(kwargs or {}))


def test_packed_attention_skips_what_the_mask_hides(tiny, monkeypatch):
    assert tiny.packs
    monkeypatch.setattr("headatlas.models.run.packing.CHUNK", 4)
    prefix = tuple(range(5, 45))
    rows = [Tokens((*prefix, 50 + i, 60, 61, 62), 41) for i in range(5)]  # suffixes of 3 tokens
    with AttentionSizes() as attention:
        tiny.score(rows, pack=True)
    assert attention.sizes == [(40, 40), (6, 46), (6, 46), (3, 43)] * 3


def test_long_suffixes_are_not_packed(tiny):
    rows = [Tokens(tuple(range(8 + i, 109 + i)), 50) for i in range(40)]
    assert shapes_run(tiny, rows) == [(40, 100)]


def test_rows_whose_heads_are_read_are_not_packed(tiny):
    rows = [Tokens((*range(5, 45), 50 + i, 60), 41) for i in range(6)]
    with tiny.reading(lambda layer, z, offset: None):
        assert (1, 46) not in shapes_run(tiny, rows)


@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 3, 4, 5)], ids=["by row", "by position"])
def test_an_edit_by_row_or_by_position_is_not_packed(tiny, shape):
    rows = [Tokens((*range(5, 25), 30 + i, 40), 21) for i in range(2)]
    gate = torch.rand(shape, generator=torch.Generator().manual_seed(0))
    with pytest.raises(EditError, match=r"cannot run packed.*leave out pack=True"):
        tiny.score(rows, Edit(gate), pack=True)
    scores = tiny.score(rows, Edit(gate))
    for i, row in enumerate(rows):
        own = Edit(gate[[i]] if len(gate) > 1 else gate)
        torch.testing.assert_close(scores.logprob[i], alone(tiny, row, own), rtol=1e-4, atol=1e-4)


def test_scores_sum_up(tiny):
    scores = tiny.score([Tokens((5, 6, 7, 8), 2), Tokens((5, 6, 7), 2)], share=False)
    torch.testing.assert_close(scores.total()[0], scores.logprob[0].sum())
    torch.testing.assert_close(scores.mean()[0], scores.logprob[0].mean())
    torch.testing.assert_close(scores.mean()[1], scores.logprob[1, 0])
    greedy = tiny.hf(torch.tensor([[5, 6]])).logits[0, -1].argmax().item()
    assert tiny.score([Tokens((5, 6, greedy), 2)]).exact().tolist() == [True]
    assert tiny.score([Tokens((5, 6, (greedy + 1) % 200), 2)]).exact().tolist() == [False]
