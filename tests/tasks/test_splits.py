"""No question lies in two splits."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.tasks.example import Example, question_key
from headatlas.tasks.splits import SPLITS, divide, question_keys

small = st.sampled_from(["a", "A ", "b", "b  c", "B c", "d", "e", "f", "g", "h", "i", "j", "k"])
rows = st.lists(
    st.builds(Example, prompt=small, target=st.just("x"), group=st.sampled_from(["", *"12345678"])),
    max_size=30,
)


@given(rows)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_groups_and_prompts_stay_together(examples):
    splits = divide(examples)
    home = {}
    for split in SPLITS:
        for example in splits[split]:
            for key in (
                f"g {example.group}" if example.group else "",
                f"p {question_key(example.prompt)}",
            ):
                assert not key or home.setdefault(key, split) == split
    assert sum(map(len, splits.values())) == len(examples)


@given(rows, st.randoms())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_order_of_a_file_moves_nothing(examples, rng):
    shuffled = rng.sample(examples, len(examples))

    def members(splits):
        return {split: sorted(example.content() for example in splits[split]) for split in SPLITS}

    assert members(divide(examples)) == members(divide(shuffled))


def test_the_shares():
    splits = divide([Example(f"q{i}", "a") for i in range(1000)])
    assert {split: len(splits[split]) for split in SPLITS} == {
        "demonstrations": 150,
        "train": 400,
        "select": 150,
        "test": 300,
    }


def test_few_questions_are_all_for_testing():
    assert len(divide([Example(f"q{i}", "a") for i in range(7)])["test"]) == 7


def test_groups_that_share_a_prompt_are_one_question():
    chain = [
        Example("p", "x", group="1"),
        Example("p", "x", group="2"),
        Example("q", "x", group="2"),
    ]
    random.Random(0).shuffle(chain)
    assert len(set(question_keys(chain))) == 1
