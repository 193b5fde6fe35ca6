"""What must hold exactly of patching, on the embedded model.

With the output of every head in every layer at every position taken from the clean run, the stream
at a position is its token's embedding, clean head outputs, and MLPs of that same stream. A position
whose token is the same in both prompts is therefore clean in every layer, and what it predicts is
restored, however much the prompts differ elsewhere. A position whose token differs keeps its own
embedding and what the MLPs make of it: it is not restored. Nothing is said of several target
tokens, as those after the first see positions of both kinds; so this uses tasks of one.
"""

from __future__ import annotations

import pytest
import torch

from headatlas.methods.alignment import align_by_tokens
from headatlas.methods.heads import closed_gates
from headatlas.models.run.sweep import Source, SweepPlan
from headatlas.tasks import load_task

ROUNDING = 1e-6
"""Log P is equal bit for bit where passes have the same shapes; this leaves room for others."""


@pytest.fixture(scope="module")
def examples(embedded):
    """Indirect objects whose corrupted prompt has as many tokens and ends in the same one."""
    task = load_task("ioi").for_tokenizer(embedded.tokenizer)
    return task.prompts("train", 0, 4)


def patched(model, rows, sources, positions=None):
    """Log P of the first target token with all heads from the sources, at some positions or all."""
    aligned = tuple(align_by_tokens(a, b)[0] for a, b in zip(rows, sources, strict=True))
    plan = SweepPlan(rows, source=Source(sources, aligned), positions=positions)
    gates = torch.zeros(1, model.spec.n_layers, model.spec.n_heads)
    return model.sweep(plan).scores(gates).logprob[0, :, 0]


def rows_of(model, examples):
    clean = tuple(model.encode(e.prompt, e.target) for e in examples)
    corrupted = tuple(model.encode(e.corrupted, e.target) for e in examples)
    for one, other in zip(clean, corrupted, strict=True):
        assert len(one) == len(other)
        assert one.ids[one.target_start - 1] == other.ids[other.target_start - 1]
    return clean, corrupted


@pytest.mark.long
@pytest.mark.parametrize("where", ["last", "all"])
def test_every_head_patched_with_its_own_run_changes_nothing(embedded, examples, where):
    """`Patching` leaves out examples that corruption does not change, so this is its sweep."""
    rows, _ = rows_of(embedded, examples)
    own = Source(rows, tuple(tuple(range(len(row))) for row in rows))
    positions = None if where == "all" else tuple((row.target_start - 1,) for row in rows)
    sweep = embedded.sweep(SweepPlan(rows, source=own, positions=positions))
    plain = sweep.plain.logprob[:, 0]
    largest = 0.0
    for some in sweep.in_passes([(head,) for head in embedded.spec.heads()]):
        scores = sweep.scores(closed_gates(embedded.spec, some)).logprob[..., 0]  # head row
        largest = max(largest, float((scores - plain).abs().max()))
    print(f"{where}: {largest:.1e}")
    assert largest < ROUNDING
    other = sweep.scores(torch.zeros(1, embedded.spec.n_layers, embedded.spec.n_heads))
    assert float((other.logprob[0, :, 0] - plain).abs().max()) < ROUNDING


@pytest.mark.parametrize("where", ["all", "last"])
def test_all_heads_restore_what_the_last_position_predicts(embedded, examples, where):
    clean, corrupted = rows_of(embedded, examples)
    positions = None
    if where == "last":
        positions = tuple((row.target_start - 1,) for row in corrupted)
    with torch.no_grad():
        plain = embedded.score(clean).logprob[:, 0]
        worse = embedded.score(corrupted).logprob[:, 0]
    assert (plain - worse).abs().min() > 0.1
    restored = patched(embedded, corrupted, clean, positions)
    print(f"{where}: {float((restored - plain).abs().max()):.1e}")
    torch.testing.assert_close(restored, plain, rtol=0, atol=ROUNDING)


def test_a_position_whose_token_differs_is_not_restored(embedded, examples):
    """The prompt cut after the name that differs: heads are clean, its embedding is not."""
    cut = []
    for example in examples:
        start, clean_name, _ = _around(example.prompt, example.corrupted)
        _, corrupted_name, _ = _around(example.corrupted, example.prompt)
        cut.append((f"{start}{clean_name}", f"{start}{corrupted_name}"))
    clean = tuple(embedded.encode(text, " gave") for text, _ in cut)
    corrupted = tuple(embedded.encode(text, " gave") for _, text in cut)
    with torch.no_grad():
        plain = embedded.score(clean).logprob[:, 0]
    left = (patched(embedded, corrupted, clean) - plain).abs()
    assert left.max() > 0.01


def _around(text, other):
    """A text as what it shares with another one, its first words that differ, and the others."""
    words, others = text.split(" "), other.split(" ")
    first = next(i for i, (a, b) in enumerate(zip(words, others, strict=True)) if a != b)
    return " ".join(words[:first]) + " ", words[first], words[first + 1 :]
