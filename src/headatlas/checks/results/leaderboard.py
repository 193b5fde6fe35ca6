"""Results of the yardstick side by side: which map to trust for which use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headatlas.checks.results.about import percent
from headatlas.checks.results.faithfulness import USUAL
from headatlas.maps.naming import safe_name, short_name
from headatlas.maps.result import Result
from headatlas.stats.faithfulness import HIGHER_IS_BETTER
from headatlas.stats.intervals import Change

USES = {
    "circuit": "to find a small circuit",
    "removable": "to find what can be removed",
    "gain": "to find harmful heads",
}
"""What a map may be used for, by the score that tells how well it serves."""

NOTHING = {
    "circuit": "no circuit of up to 20 % of the heads is shown to keep a quarter of the heads' "
    "total contribution",
    "removable": "removing up to half of the heads, the least important first, is not shown to "
    "lose less than a quarter of the heads' total contribution",
    "gain": "removing the least important 2 % is not shown to improve anything",
}
"""What is said where no map finds what it is to be used for."""

UNITS = {
    "circuit": "circuits of up to 20 % of the heads keep {} of the heads' total contribution",
    "removable": "{} of the heads' total contribution is lost without up to half of the heads",
    "gain": "removing the least important 2 % of the heads adds {}",
}
"""What a score counts."""

LEAST = 0.25
"""A small circuit keeps more than this share of the heads' contribution, and what is removable
loses less: the intervals of `circuit` and `removable` lie above and below."""


@dataclass(frozen=True)
class Standing:
    """A map on its task: its scores, what it cost, and how it compares with the other maps.

    `beats_chance` tells of every score whether it is better than that of orders shuffled within
    layers (`None`: not shown), corrected for all maps of the task (Holm). `behind` is how much
    better the map with the best mean is, on the same questions. `better_maps` are those of the task
    that are shown to be better, of all pairs of its maps (Holm). `level` is that of the intervals.
    `seconds` is the time that the map took to compute, `forward_passes` the number of passes of one
    example; NaN where not known.
    """

    task: str
    method: str
    map: str
    scores: dict[str, Change]
    beats_chance: dict[str, bool | None]
    behind: dict[str, Change]
    better_maps: dict[str, tuple[str, ...]]
    level: float
    reliability: float
    forward_passes: float
    seconds: float

    @property
    def percent(self) -> str:
        """The level of the intervals as it is printed."""
        return percent(self.level)

    def serves(self, score: str) -> bool:
        """Whether the map finds what is wanted, beats chance, and no other map of the task is shown
        to be better."""
        found = finds(score, self.scores[score])
        return found and self.beats_chance[score] is True and not self.better_maps[score]


def finds(score: str, value: Change) -> bool:
    """Whether something was found that is of use: a circuit that keeps more than `LEAST`, heads
    without which less is lost, or heads whose removal helps at all."""
    if score == "removable":
        return value.high < LEAST
    return score not in USES or value.low > (LEAST if score == "circuit" else 0)


@dataclass(frozen=True)
class Overall:
    """A method over all tasks that have the score: its mean, and its mean `advantage` over orders
    shuffled within layers. `beats_chance` is corrected for all methods (Holm; `None`: not shown).

    Tasks count by how much heads do for them, but equally in the `gain`. Intervals are over
    questions, and over shuffled orders; the tasks are taken as they are.
    """

    method: str
    score: str
    value: Change
    advantage: Change
    beats_chance: bool | None
    tasks: int


@dataclass(frozen=True)
class Pair:
    """Two methods on the same questions of all tasks: how much better the first is, on average
    over the tasks that have the score. `better` is corrected for all pairs (Holm; `None`: not
    shown, `False`: the second is better)."""

    score: str
    one: str
    other: str
    ahead: Change
    better: bool | None

    def turned(self) -> Pair:
        """The same, the other method first."""
        ahead = Change(-self.ahead.mean, -self.ahead.high, -self.ahead.low)
        better = None if self.better is None else not self.better
        return Pair(self.score, self.other, self.one, ahead, better)

    @property
    def worse(self) -> str | None:
        """The method that is shown to be worse."""
        return None if self.better is None else self.other if self.better else self.one


@dataclass(frozen=True)
class Leaderboard(Result):
    """Maps of several methods on one or more tasks of a model, judged on the same questions.

    `rows` are single maps. `overall` are the methods that have a map of every task, and `pairs`
    every two of them. `left_out` are maps that were judged and are not ranked, with the reason;
    `other_models` those of the folder that have a leaderboard of their own.

    >>> print(*atlas.leaderboard().summary(), sep="\\n")  # doctest: +SKIP
    """

    kind: ClassVar[str] = "leaderboard"
    figures: ClassVar[tuple[str, ...]] = ("leaderboard",)

    model: str
    model_hash: str
    replacement: str
    measure: str
    questions: int
    rows: tuple[Standing, ...]
    overall: tuple[Overall, ...] = ()
    pairs: tuple[Pair, ...] = ()
    left_out: tuple[str, ...] = ()
    other_models: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        words = [word for word in (self.replacement, self.measure) if word not in USUAL]
        if self.other_models:
            words.append(safe_name(f"{short_name(self.model)}-{self.model_hash[:8]}"))
        return "-".join(["leaderboard", *words])

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.task for row in self.rows))

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.method for row in self.rows))

    @property
    def incomplete(self) -> tuple[str, ...]:
        """The methods that do not have a map of every task."""
        return tuple(method for method in self.methods if not self._is_complete(method))

    def _is_complete(self, method: str) -> bool:
        return {row.task for row in self.rows if row.method == method} == set(self.tasks)

    def trusted(self, score: str) -> list[Overall]:
        """The methods to trust for what a score tells, the best mean first: over all tasks they
        find what is wanted, beat shuffled orders, and none is shown to be better."""
        worse = {pair.worse for pair in self.pairs if pair.score == score}
        return [
            one
            for one in self._ordered(score)
            if finds(score, one.value) and one.beats_chance and one.method not in worse
        ]

    def _ordered(self, score: str) -> list[Overall]:
        """The methods that have a map of every task, the best mean first."""
        sign = 1 if HIGHER_IS_BETTER[score] else -1
        own = [one for one in self.overall if one.score == score]
        return sorted(own, key=lambda one: -sign * one.value.mean)

    def uses(self) -> list[str]:
        """Which map to trust for which use, a sentence each."""
        return [self._sentence(score, use) for score, use in USES.items()]

    def summary(self) -> list[str]:
        """Which map to trust for which use, and what to keep in mind."""
        lines = self.uses()
        lines.append(
            f"Heads were judged by replacing the removed ones by {self.replacement}, which favours "
            "maps that were made with the same replacement."
        )
        if self.left_out:
            lines.append(f"Not ranked: {', '.join(self.left_out)}.")
        return lines

    def _sentence(self, score: str, use: str) -> str:
        methods, trusted = self._ordered(score), self.trusted(score)
        partly = f" (no map of every task: {', '.join(self.incomplete)})" if self.incomplete else ""
        use = use.capitalize()
        if len(self.methods) - len(self.incomplete) < 2:
            return f"{use}: fewer than two methods have a map of every task{partly}."
        if not methods:
            return f"{use}: unknown, as the model is not shown to need its heads{partly}."
        on = _tasks(methods[0].tasks, len(self.tasks))
        if not trusted:
            if not any(finds(score, one.value) for one in methods):
                reason = NOTHING[score]
            elif not any(one.beats_chance for one in methods):
                reason = "no method is shown to be better than heads shuffled within layers"
            else:
                reason = self._why_none(score, methods)
            return f"{use}, trust no map: {on}, {reason}{partly}."
        means = [self._mean(score, one.value) for one in trusted]
        each = "better" if len(trusted) == 1 else "each better"
        behind = [one.method for one in methods if one.beats_chance and one not in trusted]
        others = f" (also better than shuffled: {_joined(behind)})" if behind else ""
        return (
            f"{use}, trust {_joined([one.method for one in trusted])}: {on}, "
            f"{UNITS[score].format(_joined(means))}, {each} than with heads shuffled within "
            f"layers, and no method is shown to be better{others}{partly}."
        )

    def _why_none(self, score: str, methods: list[Overall]) -> str:
        """Why nothing is trusted, where something is found and something beats chance."""
        both = [one for one in methods if finds(score, one.value) and one.beats_chance]
        if not both:
            return "no method that finds it is shown to be better than heads shuffled within layers"
        words = []
        for one in both:
            pairs = [own for own in self.pairs if own.score == score and own.worse == one.method]
            better = [pair.other if pair.one == one.method else pair.one for pair in pairs]
            verbs = ("is", "does") if len(better) == 1 else ("are", "do")
            words.append(
                f"{one.method} is better than heads shuffled within layers, but {_joined(better)} "
                f"{verbs[0]} shown to be better still and {verbs[1]} not qualify"
            )
        return "; ".join(words)

    def _mean(self, score: str, value: Change) -> str:
        """A mean over tasks with its unit."""
        if score != "gain":
            return f"{value.mean:.0%} ({value.low:.0%} … {value.high:.0%})"
        return f"{value.mean:+.2f} ({value.low:+.2f} … {value.high:+.2f}) {self.measure}"


def _tasks(having: int, number: int) -> str:
    """Over which tasks a mean is."""
    if number == 1:
        return "on the one task"
    if having == number:
        return f"over {number} tasks"
    return f"over the {having} of {number} tasks for which the model is shown to need its heads"


def _joined(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
