"""Head outputs are read as the model computes them, and nothing more is kept."""

from __future__ import annotations

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from architectures.small_models import build
from headatlas.errors import EditError
from headatlas.models.edit import Edit
from headatlas.models.model import Model


def by_hand(model, ids):
    """The input of every output projection: layer × position × head × d_head."""
    seen = []
    modules = dict(model.hf.named_modules())
    handles = [
        modules[layer.projection].register_forward_pre_hook(lambda m, args: seen.append(args[0]))
        for layer in model.spec.layers
        if layer
    ]
    with torch.no_grad():
        model.hf(torch.tensor([ids]), use_cache=False)
    for handle in handles:
        handle.remove()
    return [x[0].unflatten(-1, (model.spec.n_heads, -1)) for x in seen]


@pytest.mark.parametrize("name", ["llama", "gpt2", "bloom", "gemma3_text"])
def test_reads_what_the_output_projection_gets(name):
    model = Model(build(name), None, name)
    rows = [list(range(3, 12)), list(range(20, 25))]
    z = model.read(rows)
    for i, row in enumerate(rows):
        for layer, wanted in enumerate(by_hand(model, row)):
            read = z[i, layer, :, : len(row)].transpose(0, 1)
            torch.testing.assert_close(read, wanted, rtol=1e-4, atol=1e-5)
    assert z[1, :, :, 5:].isnan().all()


def test_chosen_layers_heads_and_positions(tiny):
    rows = [list(range(5, 15)), list(range(30, 36))]
    everything = tiny.read(rows)
    some = tiny.read(rows, layers=[2, 0], heads=[3], positions=[[-1, 2], [0]])
    assert some.shape == (2, 2, 1, 2, 16)
    torch.testing.assert_close(some[0, 0, 0, 0], everything[0, 2, 3, 9])
    torch.testing.assert_close(some[0, 1, 0, 1], everything[0, 0, 3, 2])
    torch.testing.assert_close(some[1, 0, 0, 0], everything[1, 2, 3, 0])
    assert some[1, :, :, 1].isnan().all()


def test_reading_sees_upstream_edits_but_not_its_own(tiny):
    rows = [list(range(5, 15))]
    edit = Edit.ablate(tiny.spec, [(1, 2)])
    plain, edited = tiny.read(rows), tiny.read(rows, edit=edit)
    torch.testing.assert_close(edited[:, :2], plain[:, :2])
    assert not torch.allclose(edited[:, 2], plain[:, 2])


def test_layers_without_attention_are_missing():
    model = Model(build("qwen3_next"), None, "qwen3_next")
    empty = [i for i, layer in enumerate(model.spec.layers) if layer is None]
    assert empty
    z = model.read([[5, 6, 7]])
    assert z[:, empty].isnan().all()
    with pytest.raises(EditError, match="has no attention heads: layers"):
        Edit.ablate(model.spec, [(empty[0], 0)])


def test_long_inputs_run_in_chunks_with_the_same_result(tiny, monkeypatch):
    rows = [[5 + i % 90 for i in range(100)]]
    whole = tiny.read(rows, layers=[1, 2])
    monkeypatch.setattr("headatlas.models.run.reading.CHUNK", 16)
    torch.testing.assert_close(tiny.read(rows, layers=[1, 2]), whole, rtol=1e-4, atol=1e-5)


class LargestTensor(TorchDispatchMode):
    """Records the largest tensor that any operation makes, in numbers."""

    def __init__(self):
        super().__init__()
        self.size = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        tensors = [x for x in tree_leaves(out) if isinstance(x, torch.Tensor)]
        made = [x for x in tensors if x._base is None]  # an expanded view takes no memory
        self.size = max([self.size, *(x.untyped_storage().nbytes() // 4 for x in made)])
        return out


def test_memory_stays_bounded_on_long_inputs(monkeypatch):
    """Attention that holds all its scores takes a chunk's share of them, not their square."""
    length, chunk = 480, 32
    model = Model(build("llama", attention="eager"), None, "eager")
    monkeypatch.setattr("headatlas.models.run.reading.CHUNK", chunk)
    assert model.continues_from_cache  # measured once, and not counted
    rows = [[5 + i % 90 for i in range(length)]]
    with LargestTensor() as largest:
        z = model.read(rows, positions=[[-1]])
    assert z.isfinite().all()
    assert largest.size == chunk * length * model.spec.n_heads


def test_reading_projects_to_the_vocabulary_at_one_place_only(tiny):
    seen = []
    head = tiny.hf.get_output_embeddings()
    handle = head.register_forward_hook(lambda module, args, out: seen.append(out.shape))
    tiny.read([list(range(5, 25)), list(range(5, 15))], positions=[[-1], [-1]])
    handle.remove()
    assert seen == [(1, 1, tiny.vocabulary_size)]


def test_what_cannot_be_read_is_one_sentence(tiny):
    with pytest.raises(EditError, match="no head 4 in tiny"):
        tiny.read([[5, 6]], heads=[4])
    with pytest.raises(EditError, match="no position 2 in a row of 2 tokens"):
        tiny.read([[5, 6]], positions=[[2]])
    with pytest.raises(EditError, match="no layer 3 in tiny"):
        tiny.read([[5, 6]], layers=[3])
    with pytest.raises(EditError, match="1 lists of positions were given for 2 rows"):
        tiny.read([[5, 6], [7, 8]], positions=[[0]])


def test_shifts_move_the_head_output(tiny):
    shift = torch.zeros(3, 4, 16)
    shift[0, 1] = 1.0
    seen = {}
    with tiny.editing(Edit(shift=shift)):
        modules = dict(tiny.hf.named_modules())
        projection = modules[tiny.spec.layers[0].projection]
        handle = projection.register_forward_pre_hook(lambda m, a: seen.setdefault("x", a[0]))
        tiny.hf(torch.tensor([[5, 6, 7]]))
        handle.remove()
    plain = tiny.read([[5, 6, 7]], layers=[0])[0, 0].transpose(0, 1)
    torch.testing.assert_close(seen["x"][0].unflatten(-1, (4, 16)), plain + shift[0])
