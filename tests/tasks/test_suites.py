"""The built-in suites: enough of each, no question in two splits, and right answers."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from headatlas.errors import TaskError
from headatlas.tasks import BUILT_IN, SPLITS, load_task
from headatlas.tasks.splits import check_disjoint
from headatlas.tasks.suites.listed import read_list
from headatlas.tasks.suites.word_pairs import SEVERAL_OPPOSITES
from small_things import byte_tokenizer

PAIRS = (
    "antonym", "capitalize", "country-capital", "english-french", "present-past", "singular-plural"
)  # fmt: skip
DISPUTED = {
    "Benin", "Bolivia", "Burundi", "Chile", "Equatorial Guinea", "Eswatini", "Georgia", "Indonesia",
    "Israel", "Ivory Coast", "Kazakhstan", "Kiribati", "Malaysia", "Montenegro", "Myanmar", "Nauru",
    "Netherlands", "Palestine", "South Africa", "Sri Lanka", "Switzerland", "Tanzania", "Tuvalu",
    "Western Sahara", "Yemen",
}  # fmt: skip
"""Countries with several, moved or disputed capitals."""

CORRUPTED = {*BUILT_IN} - {"cognition"}


def everything(task):
    return [example for split in SPLITS for example in task.splits[split]]


@pytest.mark.parametrize("name", BUILT_IN)
class TestEverySuite:
    def test_it_has_four_disjoint_splits(self, name):
        task = load_task(name)
        check_disjoint(name, task.splits)
        assert all(len(task.splits[split]) >= 20 for split in SPLITS)
        assert all(task.splits[split] for split in SPLITS)

    def test_questions_are_well_formed(self, name):
        for example in everything(load_task(name)):
            assert example.prompt
            assert example.target.strip()
            assert not example.prompt.endswith(" ")
            assert not example.choices or example.target in example.choices
            assert "{" not in example.prompt + example.target

    def test_it_has_every_form(self, name):
        for form in ("icl", "instruction", "plain"):
            assert load_task(f"{name}:{form}").prompts(limit=2)

    def test_corrupted_prompts_differ_and_have_another_answer(self, name):
        prompts = load_task(name).prompts()
        if name not in CORRUPTED:
            assert all(example.corrupted is None for example in prompts)
            return
        share = sum(example.corrupted is not None for example in prompts) / len(prompts)
        assert share > 0.95
        for example in prompts:
            assert example.corrupted != example.prompt
            assert example.corrupted_target is None or example.corrupted_target != example.target


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_corrupted_prompt_asks_what_another_split_asks(name):
    task = load_task(name)
    home = {example.prompt: split for split in SPLITS for example in task.splits[split]}
    for split in SPLITS:
        for example in task.splits[split]:
            assert home.get(example.corrupted, split) == split


def test_the_corrupted_sum_has_another_result():
    for example in everything(load_task("math")):
        if example.corrupted:
            assert example.target.split()[-1] != example.corrupted_target.split()[-1]


def test_words_of_one_family_stay_together():
    home = {}
    task = load_task("antonym")
    for split in SPLITS:
        for example in task.splits[split]:
            for word in (example.prompt.split()[1], example.target.strip()):
                assert home.setdefault(word[:4], split) == split


@pytest.mark.parametrize("name", ["ioi", "greater-than"])
def test_clean_and_corrupted_prompts_have_as_many_tokens(name, embedded):
    for example in everything(load_task(name)):
        clean, other = (
            embedded.encode(prompt, example.target)
            for prompt in (example.prompt, example.corrupted)
        )
        assert len(clean) == len(other), example.prompt


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
        assert all((one + other).isascii() for one, other in pairs)
        assert not DISPUTED & {one for one, _ in pairs}


def test_antonyms_with_several_good_answers_are_not_asked():
    examples = everything(load_task("antonym"))
    words = {example.prompt.removeprefix("Q: ").removesuffix("\nA:") for example in examples}
    assert len(words) == len(examples) >= 180
    assert {one for one, _ in read_list("antonym")} - words == SEVERAL_OPPOSITES


def test_capitals_that_copy_their_country_are_marked():
    task = load_task("country-capital")
    marked = {example.target for example in everything(task) if example.metadata["copies"]}
    assert {" Luxembourg", " Mexico City", " Andorra la Vella", " Tunis"} <= marked
    assert {" Lima", " Oslo", " Santiago"}.isdisjoint(marked)
    assert len(marked) == 15


def test_sums_come_out_right():
    levels = Counter()
    for example in everything(load_task("math")):
        levels[example.metadata["level"]] += 1
        for prompt, target in (
            (example.prompt, example.target),
            (example.corrupted, example.corrupted_target),
        ):
            if prompt is None:
                continue
            for left, right in re.findall(r"([\d+*/ -]+) = (\d+)\.", target):
                assert eval(left) == int(right), target
            stated = re.search(r"The answer is (\d+)\.$", target)
            assert int(stated[1]) == int(re.findall(r"= (\d+)\.", target)[-1])
            if question := re.search(r"What is ([\d+*/ -]+)\?", prompt):
                assert eval(question[1]) == int(stated[1])
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
    for example in everything(load_task("math")):
        groups[example.group] += 1
    both = [key for key, count in groups.items() if count > 1]
    assert both


def test_syntax_has_its_six_kinds_and_agreement_has_one_right_form():
    kinds = Counter(example.metadata["kind"] for example in everything(load_task("syntax")))
    assert set(kinds) == {"agreement", "past", "plural", "pronoun", "question", "negation"}
    assert set(kinds.values()) == {120}
    for example in everything(load_task("syntax")):
        if example.metadata["kind"] == "agreement":
            words = example.prompt.rpartition("A: The ")[2]
            plural = words.split()[0].endswith("s")
            assert example.target.rstrip(".").endswith("s") != plural
            assert example.target != example.corrupted_target


def test_letters_of_choices_are_shuffled():
    letters = Counter(example.target for example in everything(load_task("commonsense")))
    assert set(letters) == {" a", " b", " c", " d", " e"}
    assert min(letters.values()) > 30
    for example in everything(load_task("commonsense")):
        listed = dict(re.findall(r"\n([a-e]): (.*)", example.prompt))
        assert listed[example.target.strip()] == example.metadata["answer"]
        moved = dict(re.findall(r"\n([a-e]): (.*)", example.corrupted))
        assert moved[example.corrupted_target.strip()] == example.metadata["answer"]


def test_the_receiver_is_not_the_giver():
    for example in everything(load_task("ioi")):
        assert example.prompt.count(example.target.strip()) == 1
        assert example.prompt.count(example.corrupted_target.strip()) == 2


def test_later_years_are_later():
    for example in everything(load_task("greater-than")):
        first = re.search(r"year \d\d(\d\d) to", example.prompt)[1]
        assert example.target > first
        assert min(example.choices) < first


@pytest.mark.parametrize("name", ["aba", "abb", "induction"])
class TestTasksOfTokens:
    def test_they_are_made_of_single_tokens_of_the_model(self, name, embedded):
        task = load_task(name).for_tokenizer(embedded.tokenizer)
        assert task.hash != load_task(name).hash
        for example in task.prompts(limit=40):
            tokens = embedded.encode(example.prompt, example.target)
            assert len(tokens.target) == 1
            assert embedded.tokenizer.decode(tokens.target) == example.target
            other = embedded.encode(example.corrupted, example.corrupted_target)
            assert len(other.ids) == len(tokens.ids)

    def test_letters_serve_where_tokens_are_bytes(self, name):
        task = load_task(name).for_tokenizer(byte_tokenizer())
        assert {len(example.target.strip()) for example in task.prompts()} == {1}

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

    with pytest.raises(TaskError, match="only 0 words are a single token"):
        load_task("aba").for_tokenizer(Digits())


def test_induction_repeats_and_the_corrupted_prompt_goes_on_differently():
    for example in everything(load_task("induction")):
        words = example.prompt.split()
        known = len(words) - 12
        assert words[:known] == words[12:]
        assert words[known] == example.target.strip()
        assert example.corrupted.split()[known] == example.corrupted_target.strip()
