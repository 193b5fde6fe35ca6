"""An edit is z ← g·z + (1 − g)·r + s, in every shape it may have."""

from __future__ import annotations

import pytest
import torch
from transformers import AttentionInterface

from architectures.small_models import build
from headatlas.errors import EditError
from headatlas.models.edit import Edit
from headatlas.models.interface import listening
from headatlas.models.model import Model

ROWS, LAYERS, HEADS, LENGTH, D = 2, 3, 4, 5, 16


@pytest.fixture
def z():
    return torch.randn(ROWS, LENGTH, HEADS, D, generator=torch.Generator().manual_seed(0))


def random(*shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(1))


def test_gate_replacement_and_shift_follow_the_equation(z):
    gate, replacement, shift = (
        random(LAYERS, HEADS),
        random(LAYERS, HEADS, D),
        random(LAYERS, HEADS, D),
    )
    out = Edit(gate, replacement, shift).apply(z, 1, 0)
    g = gate[1][None, None, :, None]
    torch.testing.assert_close(out, g * z + (1 - g) * replacement[1] + shift[1])


def test_each_row_has_its_own_edit(z):
    gate = random(ROWS, LAYERS, HEADS)
    out = Edit(gate).apply(z, 2, 0)
    for row in range(ROWS):
        torch.testing.assert_close(out[row], Edit(gate[row]).apply(z[row : row + 1], 2, 0)[0])


def test_each_position_has_its_own_edit_and_later_ones_are_left_alone(z):
    gate = torch.zeros(1, LAYERS, HEADS, 4)
    out = Edit(gate).apply(z, 0, offset=2)
    assert (out[:, :2] == 0).all()
    assert torch.equal(out[:, 2:], z[:, 2:])


def test_a_replacement_by_position_replaces_only_its_positions(z):
    replacement = random(ROWS, LAYERS, HEADS, 3, D)
    out = Edit(torch.zeros(LAYERS, HEADS), replacement).apply(z, 1, 0)
    torch.testing.assert_close(out[:, :3], replacement[:, 1].transpose(1, 2))
    assert torch.equal(out[:, 3:], z[:, 3:])


def test_vectors_may_be_given_by_layer(z):
    shift = {1: random(HEADS, D)}
    assert torch.equal(Edit(shift=shift).apply(z, 0, 0), z)
    torch.testing.assert_close(Edit(shift=shift).apply(z, 1, 0), z + shift[1])


def test_rows_are_repeated_for_copies_of_the_batch(z):
    gate = random(ROWS, LAYERS, HEADS)
    copies = z.repeat_interleave(3, dim=0)
    out = Edit(gate).repeated(3 * ROWS).apply(copies, 0, 0)
    torch.testing.assert_close(out, Edit(gate).apply(z, 0, 0).repeat_interleave(3, dim=0))
    with pytest.raises(EditError, match="the edit has 2 rows, but the batch has 3"):
        Edit(gate).repeated(3)


def test_a_batch_that_happens_to_be_a_multiple_is_not_taken_for_copies(tiny):
    """Only generation makes copies; anywhere else, four rows under an edit of two is a mistake."""
    with (
        pytest.raises(EditError, match="the edit has 2 rows, but the batch has 4"),
        tiny.editing(Edit(random(2, LAYERS, HEADS))),
    ):
        tiny.hf(torch.ones(4, 3, dtype=torch.long))


def test_selected_rows_keep_their_edit(z):
    edit = Edit(random(ROWS, LAYERS, HEADS), shift=random(ROWS, LAYERS, HEADS, D))
    whole, part = edit.apply(z, 1, 0), edit.select_rows([1]).apply(z[1:], 1, 0)
    torch.testing.assert_close(part[0], whole[1])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"gate": torch.ones(4)}, "a gate has the axes"),
        ({"replacement": torch.ones(1, 1, 1)}, "a replacement does nothing without a gate"),
        ({"shift": torch.ones(2)}, "a shift has the axes"),
        ({"gate": [[1.0, 0.0]]}, "a gate is a torch tensor, but this one is a list"),
        ({"gate": torch.ones(3, 4, dtype=torch.complex64)}, "real numbers, but .*complex64"),
        ({"shift": {0: torch.ones(4, 16) * 1j}}, "a shift has real numbers"),
        (
            {"gate": torch.ones(2, 3, 4), "shift": torch.ones(3, 3, 4, 16)},
            "the parts of an edit differ in rows",
        ),
    ],
)
def test_a_wrong_edit_is_one_sentence(parts, message):
    with pytest.raises(EditError, match=message):
        Edit(**parts)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.uint8])
def test_gates_of_integers_and_booleans_are_numbers(tiny, dtype):
    ids = [[5, 6, 7, 8]]
    gate = torch.ones(3, 4)
    gate[1, 2] = 0
    wanted = tiny.read(ids, edit=Edit(gate))
    assert not torch.equal(wanted, tiny.read(ids))
    assert torch.equal(tiny.read(ids, edit=Edit(gate.to(dtype))), wanted)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_gate_without_a_number_is_named(tiny, value):
    gate = torch.ones(3, 4)
    gate[1, 2] = value
    message = r"NaN or infinite for 1 of the heads of tiny \(1\.2\): use 1 for heads to leave alone"
    with pytest.raises(EditError, match=message):
        tiny.read([[5, 6]], edit=Edit(gate))
    with pytest.raises(EditError, match=message):
        tiny.read([[5, 6]] * 2, edit=Edit(torch.stack([torch.ones(3, 4), gate])))


def test_heads_that_do_not_exist_need_no_gate():
    model = Model(build("qwen3_next"), None, "qwen3_next")  # some layers have no heads
    gate = torch.full((model.spec.n_layers, model.spec.n_heads), float("nan"))
    for head in model.spec.heads():
        gate[head] = 1.0
    assert gate.isnan().any()
    assert torch.equal(
        model.read([[5, 6]], edit=Edit(gate)).nan_to_num(), model.read([[5, 6]]).nan_to_num()
    )


def test_an_edit_for_another_model_is_refused(tiny):
    with (
        pytest.raises(EditError, match="made for 30 layers × 9 heads, but tiny has 3 × 4"),
        tiny.editing(Edit(torch.ones(30, 9))),
    ):
        pass


def test_edits_that_do_not_fit_are_refused_rather_than_cut(tiny):
    rows = [[5, 6, 7]] * 4
    for parts, message in (
        ({"shift": {9: torch.ones(4, 16)}}, "no layer 9"),
        ({"shift": {0: torch.ones(6, 16)}}, "made for 3 layers × 6 heads"),
        ({"shift": torch.ones(3, 4, 32)}, "vectors of 32 numbers"),
        ({"gate": torch.ones(2, 3, 4)}, "the edit has 2 rows, but the batch has 4"),
        ({"gate": torch.ones(8, 3, 4)}, "the edit has 8 rows, but the batch has 4"),
    ):
        for use in (tiny.read, tiny.generate):
            with pytest.raises(EditError, match=message):
                use(rows, edit=Edit(**parts))
    with pytest.raises(EditError, match="a list of prompts"):
        tiny.generate("Hello")


def test_a_head_out_of_range_is_named(tiny):
    with pytest.raises(
        EditError, match=r"no head 1\.4 in tiny: the heads of layer 1 run from 0 to 3"
    ):
        Edit.ablate(tiny.spec, [(1, 4)])
    with pytest.raises(EditError, match="no layer 7 in tiny"):
        Edit.ablate(tiny.spec, [(7, 0)])


def hooks_of(model):
    return sum(len(m._forward_pre_hooks) + len(m._forward_hooks) for m in model.hf.modules())


def test_leaving_restores_the_model_exactly_also_after_an_exception(tiny):
    ids = torch.arange(5, 13)[None]
    before, method = tiny.hf(ids).logits, AttentionInterface.get_interface
    weights = {name: value.clone() for name, value in tiny.hf.state_dict().items()}
    with pytest.raises(RuntimeError, match="on purpose"), tiny.editing(Edit(torch.zeros(3, 4))):
        assert not torch.equal(tiny.hf(ids).logits, before)
        raise RuntimeError("on purpose")
    assert AttentionInterface.get_interface is method
    assert hooks_of(tiny) == 0
    assert torch.equal(tiny.hf(ids).logits, before)
    assert all(torch.equal(value, weights[name]) for name, value in tiny.hf.state_dict().items())


def test_an_edit_leaves_other_models_alone(tiny):
    from small_things import tiny_llama

    other, ids = tiny_llama(seed=1), torch.arange(5, 13)[None]
    before = other.hf(ids).logits
    with tiny.editing(Edit(torch.zeros(3, 4))):
        assert torch.equal(other.hf(ids).logits, before)


def test_the_interface_accepts_keyword_and_positional_calls():
    seen = []

    def attention(module, query, key, value, mask=None, **kwargs):
        return value.transpose(1, 2), None

    def listener(module, key, z):
        seen.append(module)
        return z * 2

    interface = AttentionInterface()
    interface["own"] = attention
    value, module = torch.ones(1, 2, 3, 4), torch.nn.Identity()
    with listening(listener):
        function = interface.get_interface("own", None)
        by_position = function(module, value, value, value, None, scaling=1.0)
        by_keyword = function(module=module, query=value, key=value, value=value, mask=None)
    assert torch.equal(by_position[0], by_keyword[0])
    assert torch.equal(by_position[0], torch.full((1, 3, 2, 4), 2.0))
    assert seen == [module, module]
    assert interface.get_interface("own", None) is attention
