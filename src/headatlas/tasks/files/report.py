"""A report of everything in a task file, right and wrong, however large the file is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from headatlas.tasks.example import Example, question_key
from headatlas.tasks.files.columns import FileExample, ReadOptions
from headatlas.tasks.files.formats import Format
from headatlas.tasks.files.read import items_of
from headatlas.tasks.files.rows import Place, Problem, Source
from headatlas.tasks.files.usable import SplitSample

PROBLEMS_SHOWN = 100
REPEATS_SHOWN = 10
ROWS_PER_REPORT = 1000
SPACED = frozenset(":;,.?!")
"""Marks that a space follows, as it follows a letter or a digit."""

Fits = Callable[[Example], bool]
Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class FileReport:
    """What a file contains.

    `shown` are the first problems, of which `problems` make the file unusable and `left_out` (by
    reason) only leave out an example. `repeated` counts prompts that occur again, and `repeats`
    names the first of them. `crossing` examples are in another split than their question, so a run
    leaves them out. `too_long` examples do not fit the model's context. `warnings` say what cannot
    be done with the file although nothing in it is wrong.

    >>> FileReport("JSON lines", examples=12, questions=12).sound
    True
    """

    format: str
    examples: int = 0
    questions: int = 0
    problems: int = 0
    shown: tuple[Problem, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)
    splits: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    with_choices: int = 0
    with_corrupted: int = 0
    repeated: int = 0
    repeats: tuple[str, ...] = ()
    crossing: int = 0
    without_space: int = 0
    longest: int = 0
    too_long: int = 0
    warnings: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether at least one method can use the file."""
        return not self.problems and self.examples > self.too_long

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, for JSON."""
        lists = {name: list(getattr(self, name)) for name in ("repeats", "warnings")}
        shown = [str(problem) for problem in self.shown]
        return asdict(self) | lists | {"shown": shown, "sound": self.sound}


def check_sources(
    sources: Sequence[Source],
    kind: Format,
    options: ReadOptions,
    *,
    fits: Fits | None = None,
    progress: Progress | None = None,
) -> dict[str, FileReport]:
    """Read all sources to their end; one report for each, by name.

    `fits` decides whether an example fits a model's context. `progress` is called with the name of
    the source, the number of rows read since the last call, and the total if it is known. All
    sources make one task, so warnings about its splits are in the last report.
    """
    sample = SplitSample()
    tallies: dict[str, _Tally] = {}
    for source in sources:
        tally = tallies[source.name] = _Tally(source, sample, fits)
        total = source.count() if progress is not None else None
        number = 0
        for number, row in enumerate(source.rows(), start=1):
            for item in items_of(row, kind, options):
                tally.add(item)
            if progress is not None and number % ROWS_PER_REPORT == 0:
                progress(source.name, ROWS_PER_REPORT, total)
        if progress is not None:
            progress(source.name, number % ROWS_PER_REPORT, total)
    reports = {name: tally.report(kind.name) for name, tally in tallies.items()}
    if all(report.sound for report in reports.values()):
        last = sources[-1].name
        reports[last] = replace(reports[last], warnings=sample.warnings())
    return reports


class _Tally:
    """Counts what a source contains; keeps hashes of questions and prompts, not their text."""

    def __init__(self, source: Source, sample: SplitSample, fits: Fits | None) -> None:
        self._source, self._sample, self._fits = source, sample, fits
        self._counts: Counter[str] = Counter()
        self._by: Mapping[str, Counter[str]] = {
            name: Counter() for name in ("left_out", "splits", "functions")
        }
        self._longest = 0
        self._shown: list[Problem] = []
        self._repeats: list[str] = []
        self._split_of: dict[int, str | None] = {}
        self._first_line: dict[int, int] = {}

    def add(self, item: FileExample | Problem) -> None:
        if isinstance(item, Problem):
            self._add_problem(item)
        else:
            self._add_example(item.example, item.split or self._source.split)
            self._add_prompt(item.example.prompt, item.place)

    def _add_problem(self, problem: Problem) -> None:
        if problem.skipped:
            self._by["left_out"][problem.what] += 1
        else:
            self._counts["problems"] += 1
        if len(self._shown) < PROBLEMS_SHOWN:
            self._shown.append(problem)

    def _add_example(self, example: Example, split: str | None) -> None:
        counts = self._counts
        counts["examples"] += 1
        counts["with_choices"] += bool(example.choices)
        counts["with_corrupted"] += example.corrupted is not None
        counts["without_space"] += _lacks_space(example)
        counts["too_long"] += self._fits is not None and not self._fits(example)
        self._longest = max(self._longest, len(example.prompt) + len(example.target))
        if split:
            self._by["splits"][split] += 1
        if example.function:
            self._by["functions"][example.function] += 1
        question = hash(example.question)
        self._sample.add(example, split, is_new=question not in self._split_of)
        counts["crossing"] += self._split_of.setdefault(question, split) != split

    def _add_prompt(self, prompt: str, place: Place) -> None:
        key = hash(question_key(prompt))
        if key not in self._first_line:
            self._first_line[key] = place.number
            return
        self._counts["repeated"] += 1
        first = self._first_line[key]
        if first != place.number and len(self._repeats) < REPEATS_SHOWN:
            self._repeats.append(f"{place} repeats {place.unit} {first}")

    def report(self, format_name: str) -> FileReport:
        examples = self._counts["examples"]
        warnings = []
        if examples and self._counts["too_long"] == examples:
            warnings.append("no example fits the model's context: no method can use this file")
        return FileReport(
            format=format_name,
            questions=len(self._split_of),
            longest=self._longest,
            shown=tuple(self._shown),
            repeats=tuple(self._repeats),
            warnings=tuple(warnings),
            left_out=self._by["left_out"],
            splits=self._by["splits"],
            functions=self._by["functions"],
            **self._counts,
        )


def _lacks_space(example: Example) -> bool:
    """Whether a space seems to be missing between prompt and target: 'A:' and 'wolves'."""
    end, start = example.prompt[-1:], example.target[:1]
    return (end.isalnum() or end in SPACED) and start.isalnum()
