"""Generation under edits, through the model's own generate."""

from __future__ import annotations

import pytest
import torch

from headatlas.errors import EditError, ModelError
from headatlas.models.edit import Edit
from headatlas.models.model import Model


def test_the_real_model_knows_paris_until_its_first_layer_is_gone(embedded):
    prompts = ["The capital of France is", "Q: What is the capital of France?\nA:"]
    plain = embedded.generate(prompts, max_new_tokens=8)
    assert all("Paris" in text for text in plain)
    edit = Edit.ablate(embedded.spec, [(0, head) for head in range(9)])
    assert not any("Paris" in text for text in embedded.generate(prompts, edit, max_new_tokens=8))


def greedy(model, ids, edit, steps):
    """Generation without cache or padding, one token at a time."""
    out = list(ids)
    with torch.no_grad(), model.editing(edit):
        for _ in range(steps):
            out.append(int(model.hf(torch.tensor([out]), use_cache=False).logits[0, -1].argmax()))
    return out[len(ids) :]


def test_rows_of_a_batch_are_as_alone(tiny):
    prompts = [[5, 6, 7, 8, 9], [40, 41]]
    gate = torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(0))
    out = tiny.generate(prompts, Edit(gate), max_new_tokens=6, eos_token_id=-1)
    for row, prompt in enumerate(prompts):
        assert out[row] == greedy(tiny, prompt, Edit(gate[row]), 6)


def test_beams_and_samples_repeat_every_row(tiny):
    gate = torch.rand(2, 3, 4, generator=torch.Generator().manual_seed(0))
    prompts = [[5, 6, 7], [8, 9, 10]]
    many = tiny.generate(prompts, Edit(gate), num_beams=3, num_return_sequences=3, max_new_tokens=4)
    assert len(many) == 6


def test_an_edit_by_position_holds_for_the_prompt_only(tiny):
    gate = torch.zeros(1, 3, 4, 3)
    out = tiny.generate([[5, 6, 7]], Edit(gate), max_new_tokens=5, eos_token_id=-1)
    assert out[0] == greedy(tiny, [5, 6, 7], Edit(gate), 5)
    with pytest.raises(EditError, match="needs prompts of one length"):
        tiny.generate([[5, 6, 7], [5]], Edit(gate))


def test_text_without_a_tokenizer_is_one_sentence(tiny):
    bare = Model(tiny.hf, None, "bare")
    with pytest.raises(ModelError, match="bare came without a tokenizer"):
        bare.generate(["hello"])
    assert len(bare.generate([[5, 6]], max_new_tokens=2)[0]) <= 2
