"""The built-in suites: enough of each, no question in two splits, and right answers."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest

from headatlas.errors import TaskError
from headatlas.tasks import BUILT_IN, FUNCTIONS, SPLITS, load_task
from headatlas.tasks.splits import check_disjoint
from headatlas.tasks.suites.listed import read_list, read_text
from small_things import byte_tokenizer

PAIRS = (
    "antonym", "capitalize", "country-capital", "english-french", "present-past", "singular-plural"
)  # fmt: skip
CORRUPTED = {*BUILT_IN} - {"cognition"}


def everything(task):
    return [each for split in SPLITS for each in task.splits[split]]


@pytest.mark.parametrize("name", BUILT_IN)
class TestEverySuite:
    def test_it_has_four_disjoint_splits(self, name):
        task = load_task(name)
        check_disjoint(name, task.splits)
        assert all(len(task.splits[split]) >= 20 for split in SPLITS)
        assert all(task.splits[split] for split in SPLITS)

    def test_questions_are_well_formed(self, name):
        for each in everything(load_task(name)):
            assert each.prompt
            assert each.target.strip()
            assert not each.prompt.endswith(" ")
            assert not each.choices or each.target in each.choices
            assert "{" not in each.prompt + each.target

    def test_it_can_be_put_in_every_form(self, name):
        for form in ("icl", "instruction", "plain"):
            assert load_task(f"{name}:{form}").prompts(limit=2)

    def test_corrupted_prompts_differ_and_have_another_answer(self, name):
        asked = load_task(name).prompts()
        if name not in CORRUPTED:
            assert all(each.corrupted is None for each in asked)
            return
        share = sum(each.corrupted is not None for each in asked) / len(asked)
        assert share > 0.95
        for each in asked:
            assert each.corrupted != each.prompt
            assert each.corrupted_target is None or each.corrupted_target != each.target


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_corrupted_prompt_asks_what_another_split_asks(name):
    task = load_task(name)
    home = {each.prompt: split for split in SPLITS for each in task.splits[split]}
    for split in SPLITS:
        for each in task.splits[split]:
            assert home.get(each.corrupted, split) == split


def test_the_corrupted_sum_has_another_result():
    for each in everything(load_task("math")):
        if each.corrupted:
            assert each.target.split()[-1] != each.corrupted_target.split()[-1]


def test_words_of_one_family_stay_together():
    home = {}
    task = load_task("antonym")
    for split in SPLITS:
        for each in task.splits[split]:
            for word in (each.prompt.split()[1], each.target.strip()):
                assert home.setdefault(word[:4], split) == split


@pytest.mark.parametrize("name", ["ioi", "greater-than"])
def test_clean_and_corrupted_prompts_have_as_many_tokens(name, embedded):
    for each in everything(load_task(name)):
        clean, other = (
            embedded.encode(prompt, each.target) for prompt in (each.prompt, each.corrupted)
        )
        assert len(clean) == len(other), each.prompt


@pytest.mark.parametrize("name", PAIRS)
def test_word_pairs_are_many_and_each_is_asked_once(name):
    pairs = read_list(name.replace("-", "_"))
    assert len(pairs) >= 150
    assert all(len(pair) == 2 and all(side == side.strip() for side in pair) for pair in pairs)
    assert len({one for one, _ in pairs}) == len(pairs)
    if name == "antonym":
        words = Counter(word for pair in pairs for word in pair)
        assert max(words.values()) == 1
    if name == "capitalize":
        assert all(other == one[0].upper() + one[1:] for one, other in pairs)
    if name == "country-capital":
        assert len(pairs) == 193


def test_sums_come_out_right():
    levels = Counter()
    for each in everything(load_task("math")):
        levels[each.metadata["level"]] += 1
        for prompt, target in (
            (each.prompt, each.target),
            (each.corrupted, each.corrupted_target),
        ):
            if prompt is None:
                continue
            for left, right in re.findall(r"([\d+*/ -]+) = (\d+)\.", target):
                assert eval(left) == int(right), target
            stated = re.search(r"The answer is (\d+)\.$", target)
            assert int(stated[1]) == int(re.findall(r"= (\d+)\.", target)[-1])
            if asked := re.search(r"What is ([\d+*/ -]+)\?", prompt):
                assert eval(asked[1]) == int(stated[1])
            else:  # every number of a story is used, and no other enters
                told = set(re.findall(r"\d+", prompt))
                steps = re.findall(r"([\d+*/ -]+) = (\d+)\.", target)
                made = {result for _, result in steps}
                used = {number for left, _ in steps for number in re.findall(r"\d+", left)}
                assert used <= told | made
    assert len(levels) == 5
    assert min(levels.values()) == 120


def test_stories_and_sums_with_the_same_calculation_are_one_question():
    groups = Counter()
    for each in everything(load_task("math")):
        groups[each.group] += 1
    both = [key for key, count in groups.items() if count > 1]
    assert both


def test_syntax_has_its_six_kinds_and_agreement_has_one_right_form():
    kinds = Counter(each.metadata["kind"] for each in everything(load_task("syntax")))
    assert set(kinds) == {"agreement", "past", "plural", "pronoun", "question", "negation"}
    assert set(kinds.values()) == {120}
    for each in everything(load_task("syntax")):
        if each.metadata["kind"] == "agreement":
            words = each.prompt.rpartition("A: The ")[2]
            plural = words.split()[0].endswith("s")
            assert each.target.rstrip(".").endswith("s") != plural
            assert each.target != each.corrupted_target


def test_letters_of_choices_are_shuffled():
    letters = Counter(each.target for each in everything(load_task("commonsense")))
    assert set(letters) == {" a", " b", " c", " d", " e"}
    assert min(letters.values()) > 30
    for each in everything(load_task("commonsense")):
        listed = dict(re.findall(r"\n([a-e]): (.*)", each.prompt))
        assert listed[each.target.strip()] == each.metadata["answer"]
        moved = dict(re.findall(r"\n([a-e]): (.*)", each.corrupted))
        assert moved[each.corrupted_target.strip()] == each.metadata["answer"]


def test_the_receiver_is_not_the_giver():
    for each in everything(load_task("ioi")):
        assert each.prompt.count(each.target.strip()) == 1
        assert each.prompt.count(each.corrupted_target.strip()) == 2


def test_later_years_are_later():
    for each in everything(load_task("greater-than")):
        first = re.search(r"year \d\d(\d\d) to", each.prompt)[1]
        assert each.target > first
        assert min(each.choices) < first


@pytest.mark.parametrize("name", ["aba", "abb", "induction"])
class TestTasksOfTokens:
    def test_they_are_made_of_single_tokens_of_the_model(self, name, embedded):
        task = load_task(name).for_tokenizer(embedded.tokenizer)
        assert task.hash != load_task(name).hash
        for each in task.prompts(limit=40):
            tokens = embedded.encode(each.prompt, each.target)
            assert len(tokens.target) == 1
            assert embedded.tokenizer.decode(tokens.target) == each.target
            other = embedded.encode(each.corrupted, each.corrupted_target)
            assert len(other.ids) == len(tokens.ids)

    def test_letters_serve_where_tokens_are_bytes(self, name):
        task = load_task(name).for_tokenizer(byte_tokenizer())
        assert {len(each.target.strip()) for each in task.prompts()} == {1}

    def test_doing_it_again_changes_nothing(self, name, embedded):
        task = load_task(name).for_tokenizer(embedded.tokenizer)
        again = task.for_tokenizer(embedded.tokenizer)
        assert again.hash == task.hash


def test_a_vocabulary_without_words_is_refused():
    class Digits:
        def __len__(self):
            return 10

        def decode(self, ids):
            return str(ids[0])

        def __call__(self, text, **options):
            return {"input_ids": [int(letter) for letter in text if letter.isdigit()]}

    with pytest.raises(TaskError, match="only 0 words of one token"):
        load_task("aba").for_tokenizer(Digits())


def test_induction_repeats_and_the_corrupted_prompt_goes_on_differently():
    for each in everything(load_task("induction")):
        words = each.prompt.split()
        known = len(words) - 12
        assert words[:known] == words[12:]
        assert words[known] == each.target.strip()
        assert each.corrupted.split()[known] == each.corrupted_target.strip()


class TestCognition:
    def test_it_is_large_and_balanced(self):
        examples = everything(load_task("cognition"))
        counts = Counter(each.function for each in examples)
        assert set(counts) == set(FUNCTIONS)
        assert min(counts.values()) >= 120
        assert max(counts.values()) == min(counts.values())
        assert len({each.group for each in examples}) >= 300

    def test_every_topic_has_every_function(self):
        seen = {}
        for each in everything(load_task("cognition")):
            seen.setdefault(each.metadata["topic"], set()).add(each.function)
        assert len(seen) == 40
        assert all(len(functions) >= 7 for functions in seen.values())

    def test_prompts_hold_the_question_and_the_earlier_steps(self):
        for line in read_text("cognition.jsonl").splitlines()[:20]:
            question = json.loads(line)
            last = [
                each
                for each in everything(load_task("cognition"))
                if each.group == question["question"]
            ][-1]
            for step in question["steps"][:-1]:
                assert f"Q: {step['ask']}\nA: {step['answer']}\n" in last.prompt
            assert last.prompt.endswith(f"Q: {question['steps'][-1]['ask']}\nA:")

    def test_calculations_come_out_right(self):
        for line in read_text("cognition.jsonl").splitlines():
            for step in json.loads(line)["steps"]:
                if step["function"] == "Math Calculation":
                    result = eval(step["check"], {"__builtins__": {}})
                    numbers = re.findall(r"\d[\d,]*\.?\d*", step["answer"])
                    assert any(float(each.replace(",", "")) == result for each in numbers), step

    def test_retrieved_answers_stand_in_the_question(self):
        for line in read_text("cognition.jsonl").splitlines():
            question = json.loads(line)
            for step in question["steps"]:
                if step["function"] == "Retrieval":
                    last = step["answer"].lower().split()[-1].removesuffix("'s")
                    assert last in question["question"].lower(), step
