"""Positions of clean and corrupted prompts that belong together."""

from __future__ import annotations

import pytest

from headatlas.errors import TaskError
from headatlas.methods.alignment import align_at_ends, align_at_target, align_by_tokens
from headatlas.methods.measures import Measured
from headatlas.methods.positions import chosen_positions
from headatlas.methods.replacement import resampled
from headatlas.models.tokens import Tokens
from headatlas.tasks import Example, Task, load_task


@pytest.mark.parametrize("name", ["antonym:icl=5", "singular-plural:icl=5"])
@pytest.mark.parametrize("seed", range(3))
def test_shuffled_demonstrations_differ_only_in_their_answers(embedded, name, seed):
    task = load_task(name).for_tokenizer(embedded.tokenizer)
    example = task.prompts("test", seed, 1)[0]
    clean = embedded.encode(example.prompt, example.target)
    corrupted = embedded.encode(example.corrupted, example.target)
    places, changed = align_by_tokens(clean, corrupted)
    assert list(places) == sorted(places)
    assert changed
    lines = example.prompt.splitlines(keepends=True)
    offsets = embedded.tokenizer(example.prompt, return_offsets_mapping=True)["offset_mapping"]
    starts, total = [], 0
    for line in lines:
        starts.append((total, line))
        total += len(line)
    for position in changed:
        begin = offsets[position][0]
        start, line = max(pair for pair in starts if pair[0] <= begin)
        assert line.startswith("A:")
        assert begin - start >= 2  # in the answer, not in "A:" itself


def test_the_last_position_belongs_to_the_last_position():
    row, other = Tokens((0, 1, 2, 3, 9), 4), Tokens((0, 1, 2, 3, 7, 2, 3, 9), 7)
    places, _ = align_by_tokens(row, other)
    assert places[3] == 6


def test_swapped_tokens_are_aligned_one_by_one():
    row, other = Tokens((1, 5, 6, 3, 9), 4), Tokens((1, 6, 5, 3, 9), 4)
    assert align_by_tokens(row, other) == ((0, 1, 2, 3), (1, 2))


def test_a_token_that_the_other_row_lacks_gets_the_one_before_it():
    row, other = Tokens((1, 2, 3, 4, 9), 4), Tokens((1, 2, 4, 9), 3)
    assert align_by_tokens(row, other) == ((0, 1, 1, 2), (2,))


def test_rows_of_a_target_and_of_another_choice_change_at_the_same_positions(tiny):
    examples = [
        Example(f"q{i} is", " yes", choices=(" yes", " nope"), corrupted=f"r{i} is")
        for i in range(9)
    ]
    task = Task.of("t", examples)
    measured = Measured.of(tiny, task, examples[:3], "difference")
    used, positions = chosen_positions(tiny, task, measured, "changed")
    assert used is measured
    assert len(set(positions)) == 1
    assert all(p < row.target_start for p in positions[0] for row in measured.rows)


def test_examples_without_a_changed_position_are_left_out(tiny):
    """Where corruption only inserts tokens, or nothing, there is no position to change."""
    examples = [
        Example(f"q{i} is", " yes", corrupted=corrupted)
        for i, corrupted in enumerate(["r0 is", "q1 is", "q2 is, is", "r3 is"])
    ]
    task = Task.of("t", examples)
    measured = Measured.of(tiny, task, examples, "logprob")
    used, positions = chosen_positions(tiny, task, measured, "changed")
    assert [example.prompt for example in used.examples] == ["q0 is", "q3 is"]
    assert len(used.rows) == len(positions) == 2
    assert all(positions)
    assert used.remarks() == [
        "2 of 4 examples have no position that corruption changes and are left out"
    ]
    assert used.facts()["examples_unchanged"] == 2
    with pytest.raises(TaskError, match=r"^2 of 3 examples have no position that corruption"):
        chosen_positions(tiny, task, measured.select([0, 1, 2]), "changed")


def test_equal_rows_are_aligned_once():
    align_by_tokens.cache_clear()
    pairs = [(Tokens((1, 2, 3, 4, 9), 4), Tokens((1, 7, 8, 3, 4, 9), 5)) for _ in range(3)]
    assert len({align_by_tokens(*pair) for pair in pairs}) == 1
    assert align_by_tokens.cache_info().misses == 1
    assert align_at_target(*pairs[0])[-1:] == align_by_tokens(*pairs[0])[0][-1:]


def test_all_rows_of_an_example_get_the_outputs_of_one_training_example(tiny):
    examples = [Example(f"{i} is", " yes", choices=(" yes", " no")) for i in range(40)]
    task = Task.of("t", examples)
    measured = Measured.of(tiny, task, task.prompts("test", 0, 4), "difference")
    source = resampled(tiny, task, measured, 0)
    for number in range(4):
        own = {source.rows[i] for i, owner in enumerate(measured.owner) if owner == number}
        assert len(own) == 1
    same = Task("same", 1, "", {"train": (Example("q", "a"),) * 3, "test": (examples[0],)})
    with pytest.raises(TaskError, match="there is no other to resample from"):
        resampled(tiny, same, Measured.of(tiny, same, same.prompts("train"), "logprob"), 0)
    few = Task.of("few", examples[:12])
    few_measured = Measured.of(tiny, few, few.prompts("test", 0, 3), "logprob")
    draws = {resampled(tiny, few, few_measured, seed).rows for seed in range(8)}
    assert len(draws) > 1


def test_a_single_source_is_aligned_at_the_target():
    rows = [Tokens((1, 2, 3, 4, 9), 4), Tokens((1, 2, 3, 5, 6, 9), 5)]
    one = Tokens((7, 8, 3, 9), 3)
    assert align_at_ends(rows, [one, one]) == ((0, 0, 1, 2), (0, 0, 0, 1, 2))
