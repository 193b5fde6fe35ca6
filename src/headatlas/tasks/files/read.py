"""A task from files: strictly, or with a report of everything that is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from headatlas.errors import TaskError
from headatlas.tasks.example import Example, question_key
from headatlas.tasks.files.columns import Found, How
from headatlas.tasks.files.formats import Format, format_of
from headatlas.tasks.files.rows import Problem, Source
from headatlas.tasks.forms import Form
from headatlas.tasks.splits import FEWEST, SPLITS, Splits, divide, question_keys
from headatlas.tasks.task import Task

MOST = 100_000
"""Examples of a split that a task takes from files; more than that no method needs."""

PROBLEMS_SHOWN = 100
ROWS_TOLD = 1000


def read_task(
    name: str, sources: Sequence[Source], file_format: str | None = None, how: How | None = None
) -> Task:
    """The task of one or more sources of rows; the first problem refuses it."""
    how = how or How()
    kind = format_of(sources[0], file_format, how)
    found: list[Found] = []
    left_out: Counter[str] = Counter()
    taken: Counter[str | None] = Counter()
    unread = False
    for source in sources:
        for each in find(source, kind, how):
            if isinstance(each, Problem):
                if not each.skipped:
                    raise TaskError(f"{source.name}, {each}.")
                left_out[each.what] += 1
                continue
            split = each.split or source.split
            taken[split] += 1
            if taken[split] <= MOST:
                found.append(replace(each, split=split))
            elif each.split is None:
                unread = True
                break  # without end, if need be
    remarks = [f"left out {count}: {what}" for what, count in left_out.items()]
    if max(taken.values(), default=0) > MOST:
        rest = "; the rest of the file was not read" if unread else ""
        remarks.append(f"only the first {MOST:,} examples of a split are used{rest}")
    if len(sources) > 1:
        remarks.append(f"{len(sources)} files are read as one task")
    if not found:
        raise TaskError(f"the task file {sources[0].name} is empty: it holds no example.")
    splits, moved = _place(found)
    if moved:
        remarks.append(f"left out {moved}: the question also stands in another split")
    if not splits["train"] and not any(each.split for each in found):
        remarks.append("too few questions to divide: all are test questions")
    return _make(name, kind, splits, how.instruction or "", tuple(remarks))


def find(source: Source, kind: Format, how: How) -> Iterator[Found | Problem]:
    """Everything in a source, in order: examples, and what cannot be used."""
    for row in source.rows():
        if isinstance(row, Problem):
            yield row
        else:
            yield from kind.read(row, how)


def _make(
    name: str, kind: Format, splits: Splits, instruction: str, remarks: tuple[str, ...]
) -> Task:
    count = sum(map(len, splits.values()))
    shots = min(kind.shots, len(splits["examples"]))
    return Task(
        name,
        1,
        f"{count} example{'' if count == 1 else 's'} of a file ({kind.name})",
        splits,
        form=Form("icl", shots) if shots else Form("plain"),
        shots=shots,
        instruction=instruction,
        shuffling_corrupts=kind.shuffling_corrupts,
        measure=kind.measure,
        remarks=remarks,
    )


def _place(found: list[Found]) -> tuple[Splits, int]:
    """Examples in their splits; a question that stands in two keeps to the one that scores."""
    examples = [each.example for each in found]
    if not any(each.split for each in found):
        return divide(examples), 0
    keys = question_keys(examples)
    home: dict[str, str | None] = {}
    for each, key in zip(found, keys, strict=True):
        rank = SPLITS.index(each.split) if each.split else -1
        before = home.get(key)
        if key not in home or rank > (SPLITS.index(before) if before else -1):
            home[key] = each.split
    kept = [each for each, key in zip(found, keys, strict=True) if home[key] == each.split]
    return _fill(kept), len(found) - len(kept)


def _fill(found: list[Found]) -> Splits:
    """Splits as asked for; the ones that nobody asked for get their share of `train`."""
    given: dict[str | None, list[Example]] = {}
    for each in found:
        given.setdefault(each.split, []).append(each.example)
    missing = [split for split in SPLITS if split not in given]
    train = given.pop("train", [])
    enough = len(set(question_keys(train))) >= FEWEST
    from_train = divide(train, [*missing, "train"] if enough else ["train"])
    from_rest = divide(given.pop(None, []))
    return {
        split: (*given.get(split, ()), *from_train[split], *from_rest[split]) for split in SPLITS
    }


@dataclass
class FileReport:
    """What a file holds, counted without keeping it."""

    format: str
    examples: int = 0
    problems: int = 0
    shown: list[Problem] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    with_choices: int = 0
    with_corrupted: int = 0
    questions: int = 0
    repeated: int = 0
    crossing: int = 0
    without_space: int = 0
    longest: int = 0
    too_long: int = 0


def check_source(
    source: Source,
    file_format: str | None = None,
    how: How | None = None,
    progress: Callable[[int], None] | None = None,
    fits: Callable[[Example], bool] | None = None,
) -> FileReport:
    """Read a whole source, however large, and count what is there and what is wrong.

    `fits` tells whether an example fits a model's context; the ones that do not are counted.
    """
    how = how or How()
    kind = format_of(source, file_format, how)
    report = FileReport(kind.name)
    home: dict[int, str | None] = {}
    prompts: set[int] = set()
    number = 0
    for number, each in enumerate(find(source, kind, how), start=1):
        if isinstance(each, Problem):
            _note(report, each)
        else:
            _count(report, each, home, prompts)
            report.too_long += fits is not None and not fits(each.example)
        if progress is not None and number % ROWS_TOLD == 0:
            progress(ROWS_TOLD)
    if progress is not None:
        progress(number % ROWS_TOLD)
    report.questions = len(home)
    return report


def _note(report: FileReport, problem: Problem) -> None:
    if problem.skipped:
        report.left_out[problem.what] += 1
    else:
        report.problems += 1
    if len(report.shown) < PROBLEMS_SHOWN:
        report.shown.append(problem)


def _count(
    report: FileReport, found: Found, home: dict[int, str | None], prompts: set[int]
) -> None:
    example = found.example
    report.examples += 1
    report.with_choices += bool(example.choices)
    report.with_corrupted += example.corrupted is not None
    report.without_space += example.prompt[-1:].isalnum() and example.target[:1].isalnum()
    report.longest = max(report.longest, len(example.prompt) + len(example.target))
    if found.split:
        report.splits[found.split] += 1
    if example.function:
        report.functions[example.function] += 1
    question, prompt = hash(example.question), hash(question_key(example.prompt))
    report.crossing += home.setdefault(question, found.split) != found.split
    report.repeated += prompt in prompts
    prompts.add(prompt)
