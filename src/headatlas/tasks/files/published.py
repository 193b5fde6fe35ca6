"""Published formats: what their records mean as prompts and targets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from headatlas.tasks.example import Example
from headatlas.tasks.files.columns import (
    FileExample,
    Items,
    ReadOptions,
    check_text,
    read_columns,
)
from headatlas.tasks.files.rows import Problem, Row, shown
from headatlas.tasks.functions import FUNCTIONS, sub_question

Reader = Callable[[Row, ReadOptions], Items]

QUESTION_AND_ANSWER = "Q: {prompt}\nA: {target}"


class WrongFieldError(Exception):
    """A field of a record that cannot be used."""

    def __init__(self, column: str, what: str) -> None:
        super().__init__(what)
        self.column = column


def read_function_vectors(row: Row, options: ReadOptions) -> Items:
    """`input` and `output` pairs of the function-vector tasks (Todd et al. 2024)."""
    columns = {"prompt": "input", "target": "output", **options.columns}
    return read_columns(row, ReadOptions(columns, options.template or QUESTION_AND_ANSWER))


def read_blimp(row: Row, options: ReadOptions) -> Items:
    """BLiMP (Warstadt et al. 2020): the words that both sentences begin with are the prompt, and
    their two continuations the choices, so comparing choices compares whole sentences."""
    good, bad = _text(row.record, "sentence_good"), _text(row.record, "sentence_bad")
    words, others = good.split(" "), bad.split(" ")
    same = 0
    while same < min(len(words), len(others)) and words[same] == others[same]:
        same += 1
    if same == 0 or same in (len(words), len(others)):
        what = (
            "differs from the first word on" if same == 0 else "differs in no word, or ends early"
        )
        yield Problem(row.place, "sentence_bad", what, skipped=True)
        return
    target = " " + " ".join(words[same:])
    facts = {
        key: row.record[key]
        for key in ("UID", "field", "linguistics_term", "pairID")
        if isinstance(row.record.get(key), str)
    }
    prompt = " ".join(words[:same])
    choices = (target, " " + " ".join(others[same:]))
    yield FileExample(row.place, Example(prompt, target, choices, group=good, metadata=facts))


def read_gsm8k(row: Row, options: ReadOptions) -> Items:
    """GSM8K (Cobbe et al. 2021): worked answers, without the calculator's notes `<<3*4=12>>`."""
    question, answer = _text(row.record, "question"), _text(row.record, "answer")
    worked, mark, result = answer.rpartition("####")
    if not mark or not result.strip():
        raise WrongFieldError("answer", "has no line '#### result'")
    worked = re.sub(r"<<[^<>]*>>", "", worked).strip()
    solution = f"{worked}\nThe answer is {result.strip()}." if worked else result.strip()
    template = options.template or QUESTION_AND_ANSWER
    prompt, target = ReadOptions(template=template).write(question, solution)
    yield FileExample(row.place, Example(prompt, target, metadata={"result": result.strip()}))


def read_cogqa(row: Row, options: ReadOptions) -> Items:
    """CogQA (Ma et al. 2025): every sub-question is an example, after the earlier ones and their
    answers; one whose label is none of the eight functions is left out and reported."""
    question = _unescape(_text(row.record, "question"))
    steps = row.record.get("generated")
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise WrongFieldError(
            "generated", f"is {shown(steps)}, but should be a list of sub-questions"
        )
    known = {function.casefold(): function for function in FUNCTIONS}
    earlier: list[tuple[str, str]] = []
    for number, step in enumerate(steps, start=1):
        part = f"generated[{number}]"
        try:
            sub = _unescape(_text(step, "subquestion", part))
            answer = _unescape(_text(step, "answer", part))
            label = _text(step, "cognitive_skill", part)
        except WrongFieldError as wrong:
            yield Problem(row.place, wrong.column, str(wrong), skipped=True)
            continue
        if function := known.get(label.strip().casefold()):
            prompt = sub_question(question, earlier, sub)
            facts = {"step": number}
            example = Example(prompt, f" {answer}", (), function, group=question, metadata=facts)
            yield FileExample(row.place, example)
        else:
            what = f"the label {shown(label)} is none of the eight functions"
            yield Problem(row.place, f"{part}.cognitive_skill", what, skipped=True)
        earlier.append((sub, answer))


def read_big_bench(row: Row, options: ReadOptions) -> Items:
    """A BIG-bench task (Srivastava et al. 2023): `input` with `target` or `target_scores`.

    If several targets count as right, the first is used.
    """
    question = _text(row.record, "input")
    scores, targets = row.record.get("target_scores"), row.record.get("target")
    choices: tuple[str, ...] = ()
    if isinstance(scores, dict) and scores:
        numbers = [value for value in scores.values() if isinstance(value, int | float)]
        if len(numbers) != len(scores) or max(numbers) <= 0:
            raise WrongFieldError(
                "target_scores", f"is {shown(scores)}, but should be a number per choice"
            )
        if numbers.count(max(numbers)) > 1:
            yield Problem(row.place, "target_scores", "has several best choices", skipped=True)
            return
        choices = tuple(_text({"choice": choice}, "choice", "target_scores") for choice in scores)
        choices = choices if len(choices) > 1 else ()
        targets = max(scores, key=lambda choice: scores[choice])
    if isinstance(targets, list) and targets:
        targets = targets[0]
    target = _text({"target": targets}, "target")
    header = row.header
    before = _setting(header, "example_input_prefix", "\nQ: ")
    after = _setting(header, "example_output_prefix", "\nA: ")
    listed = ""
    if choices and header.get("append_choices_to_input", True) is True:
        mark = _setting(header, "choice_prefix", "\n  choice: ")
        listed = "".join(f"{mark}{choice}" for choice in choices)
    bare = after.rstrip(" ")
    space = after[len(bare) :]
    prompt = f"{before}{question}{listed}{bare}".lstrip("\n")
    choices = tuple(f"{space}{choice}" for choice in choices)
    yield FileExample(row.place, Example(prompt, f"{space}{target}", choices))


def guarded(read: Reader) -> Reader:
    """The reader of a format that yields a problem where `read` raises WrongFieldError."""

    def read_row(row: Row, options: ReadOptions) -> Items:
        try:
            yield from read(row, options)
        except WrongFieldError as wrong:
            yield Problem(row.place, wrong.column, str(wrong))

    return read_row


def _text(record: Mapping[str, Any], column: str, within: str = "") -> str:
    value, name = record.get(column), f"{within}.{column}" if within else column
    if value is None:
        raise WrongFieldError(name, "is missing")
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise WrongFieldError(name, f"is {shown(value)}, but should be text")
    try:
        return check_text(value)
    except ValueError as error:
        raise WrongFieldError(name, str(error)) from None


def _setting(header: Mapping[str, Any], key: str, default: str) -> str:
    value = header.get(key)
    return value if isinstance(value, str) else default


def _unescape(text: str) -> str:
    """Text with line breaks where the file has a backslash and an n."""
    return text.replace("\\n", "\n").strip()
