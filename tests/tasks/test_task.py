"""The task type: forms, batches, hash."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.errors import TaskError
from headatlas.tasks import BUILT_IN, Example, Form, Task, load_task

WORDS = [Example(f"Q: {word}\nA:", f" {word.upper()}") for word in "abcdefghijklmnopqrst"]


def test_forms_of_one_task():
    icl, instruction, plain = (
        load_task(f"antonym:{form}").prompts(limit=1)[0].prompt
        for form in ("icl", "instruction", "plain")
    )
    assert icl.count("Q:") == 11
    assert instruction.startswith("Give the opposite of the word.\n\nQ: ")
    assert instruction.count("Q:") == 2
    assert plain.count("Q:") == 1
    assert load_task("antonym:icl=3").prompts(limit=1)[0].prompt.count("Q:") == 4
    assert icl.endswith(plain)
    assert load_task("antonym:icl").hash == load_task("antonym").hash
    assert load_task("antonym:plain").hash != load_task("antonym").hash


def test_a_seed_asks_the_same_in_every_form():
    for seed in range(3):
        icl, plain = (
            [example.group for example in load_task(f"antonym:{form}").prompts(seed=seed, limit=9)]
            for form in ("icl", "plain")
        )
        assert icl == plain
        one, other = (
            next(load_task(f"antonym:{form}").batches("train", 4, seed))
            for form in ("icl", "plain")
        )
        assert [example.group for example in one] == [example.group for example in other]


def test_chat_puts_the_examples_as_turns(embedded):
    task = load_task("antonym:icl=2:chat").for_tokenizer(embedded.tokenizer)
    example = task.prompts(limit=1)[0]
    assert example.prompt.count("<|im_start|>user") == 3
    assert example.prompt.count("<|im_start|>assistant") == 3
    assert example.prompt.endswith("<|im_start|>assistant\n")
    assert not example.target.startswith(" ")
    assert task.for_tokenizer(embedded.tokenizer) is task
    assert example.corrupted != example.prompt
    assert task.hash != load_task("antonym:icl=2").hash


def test_chat_needs_a_template(tiny):
    with pytest.raises(TaskError, match="needs a model's chat template"):
        load_task("antonym:chat").prompts()
    with pytest.raises(TaskError, match="has no chat template"):
        load_task("antonym:chat").for_tokenizer(tiny.tokenizer).prompts()


def test_a_second_bos_is_left_out_of_the_chat_template():
    from tokenizers import processors

    from small_things import byte_tokenizer

    tokenizer = byte_tokenizer()
    tokenizer.chat_template = "{{ bos_token }}{% for m in messages %}{{ m.content }}|{% endfor %}"
    task = replace(Task.of("t", WORDS), form=Form("plain", chat=True))
    assert task.for_tokenizer(tokenizer).prompts()[0].prompt.startswith("<s>Q:")
    other = byte_tokenizer()
    other.chat_template = tokenizer.chat_template
    other.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    assert task.for_tokenizer(other).prompts()[0].prompt.startswith("Q:")
    broken = byte_tokenizer()
    broken.chat_template = "{{ raise_exception('no users here') }}"
    with pytest.raises(TaskError, match="chat template cannot be applied to this task: no users"):
        task.for_tokenizer(broken).prompts()


def test_a_question_is_the_same_after_other_demonstrations():
    task = Task.of("own", [Example(f"Q: {i}\nA:", f" {i}") for i in range(40)])
    shots = replace(task, form=Form("icl", 2))
    one, other = (shots.prompts("train", seed) for seed in (0, 1))
    assert {e.prompt for e in one}.isdisjoint(e.prompt for e in other)
    asked = {e.question for e in task.prompts("train", 0)}
    assert {e.question for e in one} == {e.question for e in other} == asked


def test_a_call_and_a_batch_share_demonstrations_but_batches_differ():
    task = load_task("singular-plural")
    prefixes = {example.prompt.rpartition("Q:")[0] for example in task.prompts(seed=1)}
    assert len(prefixes) == 1
    batches = list(islice(task.batches("train", 8, seed=1), 6))
    prefixes = [{example.prompt.rpartition("Q:")[0] for example in batch} for batch in batches]
    assert all(len(example) == 1 for example in prefixes)
    assert len(set.union(*prefixes)) == 6
    solved = {example.prompt for example in task.split("demonstrations")}
    for batch in batches:
        for example in batch:
            *shots, question = example.prompt.split("\n\n")
            assert {f"{shot.rpartition(' ')[0]}" for shot in shots} <= solved
            assert question not in solved


def test_an_epoch_asks_every_question_once():
    task = load_task("singular-plural")
    rows = [
        example.group for batch in task.batches("train", 7, seed=0, epochs=1) for example in batch
    ]
    assert sorted(rows) == sorted(example.group for example in task.split("train"))
    other = [
        example.group for batch in task.batches("train", 7, seed=1, epochs=1) for example in batch
    ]
    assert rows != other
    endless = list(islice(task.batches("train", 7, seed=0), 40))
    assert all(len(batch) == 7 for batch in endless)


def digests():
    """By task, its hash and a digest of some of its prompts and batches."""
    result = {}
    for name in BUILT_IN:
        task = load_task(name)
        batches = islice(task.batches("train", 5, 3), 3)
        rows = [[row.prompt, row.target, row.corrupted] for batch in batches for row in batch]
        rows += [[row.prompt, row.target] for row in task.prompts("test", 2, 5)]
        result[name] = [task.hash, hashlib.sha256(json.dumps(rows).encode()).hexdigest()]
    return result


def test_the_same_seed_gives_the_same_batches_in_another_process():
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    code = "import json, test_task; print(json.dumps(test_task.digests()))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": other, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert json.loads(done.stdout) == digests()


def test_hashes_and_draws_are_those_under_which_maps_are_stored():
    """The split `demonstrations` enters hashes and draws as `examples`."""
    expected = {
        "math": ("1d51e957680b7472", "c8a7dbee6946c6bb"),
        "antonym": ("12c6eab5f4d62288", "c4cfcc8230026da0"),
        "singular-plural": ("39218ee92a960c5b", "9bfa9930d27c1df9"),
        "aba": ("79b25dfed8ee01e1", "0d58861e3fff6a0b"),
        "cognition": ("95b211a67579ecb6", "87a9beb240714bef"),
    }
    for name, (task_hash, drawn) in expected.items():
        task = load_task(name)
        rows = [row.content() for row in task.prompts("test", 1, 7)]
        rows += [row.content() for row in task.prompts("demonstrations", 1, 7)]
        rows += [row.content() for row in next(task.batches("train", 5, seed=1))]
        assert task.hash[:16] == task_hash
        assert hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16] == drawn


def test_shuffled_answers_make_the_corrupted_prompt():
    for seed in range(5):
        example = load_task("antonym").prompts(seed=seed, limit=1)[0]
        clean = [part.split("\nA: ") for part in example.prompt.split("\n\n")[:-1]]
        spoiled = [part.split("\nA: ") for part in example.corrupted.split("\n\n")[:-1]]
        assert [pair[0] for pair in clean] == [pair[0] for pair in spoiled]
        assert sorted(pair[1] for pair in clean) == sorted(pair[1] for pair in spoiled)
        assert all(one[1] != other[1] for one, other in zip(clean, spoiled, strict=True))
        assert example.corrupted.endswith(example.prompt.split("\n\n")[-1])
        assert example.corrupted_target is None
    assert load_task("antonym:plain").prompts(limit=1)[0].corrupted is None


def test_shuffling_moves_every_answer_that_can_move():
    rows = [Example(f"q{i}", f" {'abcde'[i % 5]}") for i in range(60)]
    task = replace(Task.of("t", rows), form=Form("icl", 9), shuffling_corrupts=True, separator="\n")
    for seed in range(20):
        example = task.prompts(seed=seed, limit=1)[0]
        clean, spoiled = (text.split("\n")[:-1] for text in (example.prompt, example.corrupted))
        kept = sum(one == other for one, other in zip(clean, spoiled, strict=True))
        most = max(Counter(line.split()[1] for line in clean).values())
        assert kept <= max(0, 2 * most - len(clean))


def test_patterns_are_corrupted_by_examples_alone():
    assert load_task("aba").prompts(limit=1)[0].corrupted_target is not None
    for form in ("plain", "instruction"):
        example = load_task(f"aba:{form}").prompts(limit=1)[0]
        assert example.corrupted is None
        assert example.corrupted_target is None


def test_a_limit_draws_by_the_seed_over_the_whole_split():
    levels = {example.metadata["level"] for example in load_task("math").prompts(limit=32)}
    assert levels == {1, 2, 3, 4, 5}
    kinds = {example.metadata["kind"] for example in load_task("syntax").prompts(limit=32)}
    assert len(kinds) == 6
    one, other = (
        [example.group for example in load_task("ioi").prompts(seed=seed, limit=9)]
        for seed in (0, 1)
    )
    assert one != other
    order = [example.group for example in load_task("ioi").split("test")]
    assert one == sorted(one, key=order.index)


def test_demonstrations_are_shown_alone():
    assert all(
        example.prompt.count("Q:") == 1
        for example in load_task("antonym").prompts("demonstrations")
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["foo"], "no form 'foo'"),
        ("icl:plain", "':icl:plain' is more than one form"),
        ("icl:", "no form ''"),
        (3, "3 is not a form: give a string such as"),
        ([None], r"\[None\] is not a form"),
        (["icl=x"], "no form 'icl=x'"),
        (["plain=3"], "no form 'plain=3'"),
        (["icl", "plain"], "more than one form"),
        (["chat", "chat"], "more than one form"),
    ],
)
def test_forms_that_are_none(words, message):
    with pytest.raises(TaskError, match=message):
        load_task("antonym").with_form(words)


def test_no_examples_are_not_shown_silently():
    with pytest.raises(TaskError, match="has no demonstrations for ':icl'"):
        Task.of("t", WORDS[:5]).with_form(["icl"])
    assert load_task("antonym:icl=0").hash == load_task("antonym:plain").hash


text = st.text(min_size=1, max_size=8)
examples = st.lists(
    st.builds(
        Example,
        prompt=text,
        target=text,
        function=st.none() | text,
        corrupted=st.none() | text,
        metadata=st.dictionaries(text, st.integers() | text | st.booleans(), max_size=2),
    ),
    min_size=1,
    max_size=12,
)


@given(examples, examples)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_hash_changes_when_and_only_when_content_changes(one, other):
    first, again = Task.of("a", one, "words"), Task.of("b", list(one), "other words")
    assert first.hash == again.hash
    assert replace(first, remarks=("left out 3",)).hash == first.hash
    assert (Task.of("a", other).hash == first.hash) == (
        [example.content() for example in one] == [example.content() for example in other]
    )


@given(examples, st.data())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_every_field_of_an_example_is_content(rows, data):
    task = Task.of("a", rows)
    at = data.draw(st.integers(0, len(rows) - 1))
    changed = list(rows)
    field = data.draw(
        st.sampled_from(["prompt", "target", "function", "corrupted", "metadata", "choices"])
    )
    value = {
        "prompt": rows[at].prompt + "x",
        "target": rows[at].target + "x",
        "function": (rows[at].function or "") + "x",
        "corrupted": (rows[at].corrupted or "") + "x",
        "metadata": {**rows[at].metadata, "a new key": 1},
        "choices": (rows[at].target, "another choice"),
    }[field]
    changed[at] = replace(rows[at], **{field: value})
    assert Task.of("a", changed).hash != task.hash


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"form": Form("icl", 2)},
        {"instruction": "Do it."},
        {"separator": " "},
        {"measure": "logprob"},
        {"shuffling_corrupts": True},
    ],
)
def test_the_frame_is_content_too(change):
    task = Task.of("a", WORDS)
    assert replace(task, **change).hash != task.hash


def test_order_is_content():
    assert Task.of("a", WORDS).hash != Task.of("a", WORDS[::-1]).hash


def test_tasks_travel_between_processes(embedded):
    task = load_task("aba").for_tokenizer(embedded.tokenizer)
    again = pickle.loads(pickle.dumps(task))
    assert again == task
    assert again.hash == task.hash
    assert hash(again) == hash(task)


def test_impossible_tasks_are_one_sentence():
    with pytest.raises(TaskError, match="the task 't' has no train, select or test questions"):
        Task("t", 1, "", {})
    with pytest.raises(TaskError, match="needs 9 demonstrations, but the task 't' has 3"):
        replace(Task.of("t", WORDS), form=Form("icl", 9))
    with pytest.raises(TaskError, match="has no instruction"):
        Task.of("t", WORDS).with_form(["instruction"])
    with pytest.raises(TaskError, match="no split 'tset'"):
        load_task("antonym").prompts("tset")
    with pytest.raises(TaskError, match="has no 'train' questions"):
        Task.of("t", WORDS[:4]).prompts("train")
    with pytest.raises(TaskError, match="is not among the choices"):
        Example("a", "b", ("x", "y"))
    with pytest.raises(TaskError, match="limit is -1: give a whole number of at least 1"):
        load_task("antonym").prompts(limit=-1)
    with pytest.raises(TaskError, match="no measure 'luck': use accuracy or logprob"):
        replace(Task.of("t", WORDS), measure="luck")
    with pytest.raises(TaskError, match=r"the same question in two splits, 'train' and 'test'"):
        Task("t", 1, "", {"train": tuple(WORDS), "test": (WORDS[0],)})
    with pytest.raises(TaskError, match="no split 'extra'"):
        Task("t", 1, "", {"test": tuple(WORDS), "extra": ()})
    with pytest.raises(TaskError, match=r"no task 'plural'.*Did you mean 'singular-plural'"):
        load_task("plural")


def test_only_one_function_of_a_suite():
    whole = load_task("cognition")
    part = load_task("cognition:only=math calculation")
    assert part.name == "cognition:only=Math Calculation"
    assert load_task(part.name).hash == part.hash != whole.hash
    for split, examples in part.splits.items():
        assert {example.function for example in examples} == {"Math Calculation"}
        kept = [
            example for example in whole.splits[split] if example.function == "Math Calculation"
        ]
        assert list(examples) == kept
    with pytest.raises(TaskError, match="no function 'Sleep' in the task 'cognition': it has Know"):
        load_task("cognition:only=Sleep")
    with pytest.raises(TaskError, match="in the task 'antonym': its examples have none"):
        load_task("antonym:only=Retrieval")
