"""What is measured on an example equals its definition, one row and one whole pass at a time."""

from __future__ import annotations

import math

import pytest
import torch

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.methods import Ablation
from headatlas.methods.measures import Measured
from headatlas.tasks import Example, Task

EXAMPLES = [
    Example("ab ", "cd", choices=("xy", "cd", "q")),
    Example("abc ", "d", choices=("d", "e")),
    Example("b ", "cde", corrupted="c ", corrupted_target="ef"),
    Example("no other ", "f"),
]
TASK = Task.of("t", EXAMPLES)


def total(model, prompt, ending):
    """Log P of a whole ending, and whether it is what the model would say."""
    row = model.encode(prompt, ending)
    with torch.no_grad():
        logits = model.hf(torch.tensor([row.ids])).logits[0].log_softmax(-1)
    steps = [logits[p - 1] for p in row.positions]
    logprob = sum(float(step[row.ids[p]]) for step, p in zip(steps, row.positions, strict=True))
    exact = all(int(s.argmax()) == row.ids[p] for s, p in zip(steps, row.positions, strict=True))
    return logprob, exact, len(row.target)


def measured(model, measure, examples):
    own = Measured.of(model, TASK, examples, measure)
    return own.values(model.score(own.rows)).tolist()


def test_log_probability_and_probability(tiny):
    wanted = [total(tiny, e.prompt, e.target) for e in EXAMPLES]
    mean = [logprob / size for logprob, _, size in wanted]
    assert measured(tiny, "logprob", EXAMPLES) == pytest.approx(mean, abs=1e-4)
    probability = [math.exp(logprob) for logprob, _, _ in wanted]
    assert measured(tiny, "probability", EXAMPLES) == pytest.approx(probability, rel=1e-3)


def test_the_difference_is_to_the_mean_of_the_other_answers(tiny):
    others = [("xy", "q"), ("e",), ("ef",)]
    wanted = []
    for example, own in zip(EXAMPLES[:3], others, strict=True):
        mean = sum(total(tiny, example.prompt, other)[0] for other in own) / len(own)
        wanted.append(total(tiny, example.prompt, example.target)[0] - mean)
    assert measured(tiny, "difference", EXAMPLES) == pytest.approx(wanted, abs=1e-4)
    own = Measured.of(tiny, TASK, EXAMPLES, "difference")
    assert own.without_others == 1
    assert own.remarks() == [
        "1 of 4 examples have no other answer to compare with and are left out"
    ]


def test_accuracy_is_that_of_the_likeliest_choice(tiny):
    wanted = []
    for example in EXAMPLES:
        if example.choices:
            scores = {c: total(tiny, example.prompt, c)[0] for c in example.choices}
            wanted.append(float(max(scores, key=scores.get) == example.target))
        else:
            wanted.append(float(total(tiny, example.prompt, example.target)[1]))
    assert measured(tiny, "accuracy", EXAMPLES) == wanted


def test_some_examples_are_measured_as_among_all(tiny):
    own = Measured.of(tiny, TASK, EXAMPLES, "difference").select([2, 0])
    whole = measured(tiny, "difference", EXAMPLES)
    values = own.values(tiny.score(own.rows)).tolist()
    assert values == pytest.approx([whole[2], whole[0]], abs=1e-5)


def test_what_cannot_be_measured_is_refused(tiny):
    with pytest.raises(HeadAtlasError, match="no measure 'loss': use logprob, difference"):
        Ablation(measure="loss")
    bare = Task.of("bare", [Example(f"{i} ", "a") for i in range(9)])
    with pytest.raises(TaskError, match="'bare' has no other choices and no corrupted targets"):
        Ablation(measure="difference").run(tiny, bare)


def test_a_group_is_removed_as_one(tiny):
    task = Task.of("g", [Example(f"{i} ab", "cd") for i in range(20)])
    grouped = Ablation(examples=3, unit="group").run(tiny, task)["effect"][0]
    groups = tiny.spec.kv_groups
    for layer, head in tiny.spec.heads():
        same = [h for h in range(4) if groups[layer, h] == groups[layer, head]]
        assert float(grouped[layer, head]) == float(grouped[layer, same[0]])
    alone = Ablation(examples=3).run(tiny, task)["effect"][0]
    assert not torch.allclose(torch.tensor(grouped.to_numpy()), torch.tensor(alone.to_numpy()))


def test_effects_of_examples_can_be_kept(tiny):
    task = Task.of("k", [Example(f"{i} ab", "cd") for i in range(20)])
    head_map = Ablation(examples=3, keep_examples=True).run(tiny, task)
    kept = head_map["effect_example"]
    assert kept.dims == ("example", "seed", "layer", "head")
    torch.testing.assert_close(
        torch.tensor(kept.mean("example").to_numpy()), torch.tensor(head_map["effect"].to_numpy())
    )
