"""Effects of heads on the single examples of a task, as the variables of a map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headatlas.stats.arrays import FloatArray
from headatlas.stats.clustered import mean_ses
from headatlas.tasks.functions import in_order

if TYPE_CHECKING:
    from headatlas.models.spec import Head, ModelSpec
    from headatlas.tasks import Example

HALVES = 2


class Effects:
    """Effects of heads on examples, collected head by head.

    A variable such as `effect` is the mean over examples; with it come `effect_se`, its standard
    error over questions, `effect_half`, the means over every other question, and with
    `keep_examples` also `effect_example`. With `by_function`, every cognitive function that
    examples need has means of its own. Examples that a variable does not exist for are left out of
    it; `effect_questions` then counts the questions behind it.
    """

    def __init__(
        self,
        spec: ModelSpec,
        examples: Sequence[Example],
        *,
        by_function: bool = False,
        keep_examples: bool = False,
    ) -> None:
        self._examples = list(examples)
        self._keep_examples = keep_examples
        self._shape = (spec.n_layers, spec.n_heads)
        self._by_function = by_function
        self._values: dict[str, FloatArray] = {}
        self._present: dict[str, Sequence[bool]] = {}
        self._measured: dict[str, FloatArray] = {}
        self._facts: dict[str, FloatArray] = {}
        self._groups = self._grouped()

    def _grouped(self) -> dict[str, list[int]]:
        """The examples, by number, that one effect is the mean of: all, or each function's."""
        numbers = range(len(self._examples))
        if not self._by_function:
            return {"": list(numbers)}
        labels = [str(example.function) for example in self._examples]
        return {name: [i for i in numbers if labels[i] == name] for name in in_order(labels)}

    def add(self, variable: str, head: Head, values: FloatArray) -> None:
        """The effects of one head on all examples."""
        if variable not in self._values:
            self._values[variable] = np.full((len(self._examples), *self._shape), np.nan)
        self._values[variable][:, head[0], head[1]] = values

    def add_all(
        self,
        variable: str,
        values: FloatArray,
        *,
        present: Sequence[bool] | None = None,
        measured: FloatArray | None = None,
    ) -> None:
        """The effects of all heads on all examples: example × layer × head.

        `present` says which examples the variable exists for; without it, all. Where effects were
        not `measured` but estimated, no standard error and no halves are given: estimates of all
        examples come from the same removals, so their noise is common to them.
        """
        self._values[variable] = values
        if measured is not None:
            self._measured[variable] = measured
        if present is not None and not all(present):
            self._present[variable] = present
            self._values[variable] = np.where(np.array(present)[:, None, None], values, np.nan)

    def add_fact(self, variable: str, values: FloatArray) -> None:
        """A number for every head that examples do not differ in: layer × head."""
        self._facts[variable] = values

    def counts(self) -> dict[str, int]:
        """The number of examples behind every variable."""
        return {name: len(self._having(name, range(len(self._examples)))) for name in self._values}

    def _having(self, variable: str, numbers: Iterable[int]) -> list[int]:
        """Those of the examples, by number, that a variable exists for."""
        present = self._present.get(variable)
        return [i for i in numbers if present is None or present[i]]

    def variables(self) -> dict[str, tuple[tuple[str, ...], FloatArray]]:
        """The variables of a map of one seed."""
        dims = (*(("function",) if self._by_function else ()), "seed", "layer", "head")
        variables: dict[str, tuple[tuple[str, ...], FloatArray]] = {}
        for name, values in self._values.items():
            groups = [self._having(name, own) for own in self._groups.values()]
            summaries = [self._summary(values, own) for own in groups]
            mean, error, halves = map(np.stack, zip(*summaries, strict=True))
            halves = np.moveaxis(halves, 1, 0)  # half function layer head
            if self._by_function:
                mean, error, halves = mean[:, None], error[:, None], halves[:, :, None]
            if name in self._measured:
                error, halves = (
                    np.where(self._measured[name], own, np.nan) for own in (error, halves)
                )
            variables[name] = (dims, mean)
            variables[f"{name}_se"] = (dims, error)
            variables[f"{name}_half"] = (("half", *dims), halves)
            if self._keep_examples:
                variables[f"{name}_example"] = (("example", *dims[-3:]), values[:, None])
        for name, values in self._facts.items():
            variables[name] = (dims[-3:], values[None])
        return variables

    def _summary(
        self, values: FloatArray, own: list[int]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean, standard error and the means of both halves, over the examples of a group."""
        halves = np.full((HALVES, *self._shape), np.nan)
        if not own:
            return halves[0], halves[0], halves
        values = values[own]
        questions = [self._examples[i].question for i in own]
        place = {question: i for i, question in enumerate(dict.fromkeys(questions))}
        half_of = np.array([place[question] % HALVES for question in questions])
        error = mean_ses(values, questions)
        for half in range(HALVES):
            if (half_of == half).any():
                halves[half] = values[half_of == half].mean(0)
        return values.mean(0), error, halves

    def coordinates(self) -> dict[str, Any]:
        """How many questions there are, which ones where examples are kept, and the functions."""
        kept: dict[str, Any] = {}
        if self._keep_examples:
            kept["example"] = np.arange(len(self._examples))
            questions = [[example.question for example in self._examples]]
            kept["example_question"] = (("seed", "example"), np.array(questions, dtype=object))
        if self._by_function:
            kept["function"] = list(self._groups)
        kept["questions"] = self._question_counts(self._groups.values())
        for name in self._present:
            groups = [self._having(name, own) for own in self._groups.values()]
            kept[f"{name}_questions"] = self._question_counts(groups)
        return kept

    def _question_counts(self, groups: Iterable[list[int]]) -> tuple[tuple[str, ...], list[Any]]:
        """The number of different questions in every group of examples, with its dimensions."""
        counts = [len({self._examples[i].question for i in own}) for own in groups]
        if not self._by_function:
            return ("seed",), counts
        return ("function", "seed"), [[count] for count in counts]
