"""Three puzzles that a small transformer learns in seconds, each with a task for Head Atlas.

All are sentences of whole words; the answer is the word that follows. Every prompt has a corrupted
version of the same length with another answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from torch import Generator, Tensor
from transformers import PreTrainedTokenizerFast

from headatlas.tasks import Example, Task

START = 0
"""The number of <s>, which every row begins with."""

BODY = 10
"""Words of a row of `induction` or `marker` before the question."""

WORDS = (
    "ash bay cliff dune elm fern gorse heath isle jade kelp lake moss nut oak pine reed sand"
).split()
NAMES = "Ada Ben Cleo Dan Eve Finn Gus Hope Ida Jon Kim Leo".split()
FILLERS = "north east south west".split()
EXAMPLES = 240
QUESTIONS = 5
"""Questions of a row that induction is learned from."""


class Practice(NamedTuple):
    """Rows to learn from: their last positions are questions and answers in turn.

    `answers` is row × question; the last answer is not in `rows`.
    """

    rows: Tensor
    answers: Tensor


class Rows(NamedTuple):
    """Rows with their answers: `prompts` is row × position, `targets` has one word per row."""

    prompts: Tensor
    targets: Tensor
    corrupted: Tensor
    corrupted_targets: Tensor


@dataclass(frozen=True)
class Puzzle:
    """Rows of one kind, drawn at random; `heads` is how many a model may keep to solve it.

    One of these is for predicting the word two before, at every position that asks nothing.
    """

    name: str
    vocabulary: tuple[str, ...]
    heads: int
    draw: Callable[[Generator, int], Rows]
    draw_practice: Callable[[Generator, int], Practice] | None = None
    """For a puzzle that is learned faster from rows with several questions."""

    def practice(self, rng: Generator, count: int) -> Practice:
        """Rows for a training step."""
        if self.draw_practice is not None:
            return self.draw_practice(rng, count)
        rows = self.draw(rng, count)
        return Practice(rows.prompts, rows.targets[:, None])

    def tokenizer(self) -> PreTrainedTokenizerFast:
        """One token per word; every text begins with <s>."""
        numbers = {word: number for number, word in enumerate(self.vocabulary)}
        backend = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", START)]
        )
        return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>")

    def task(self, seed: int = 0) -> Task:
        """Examples as text, in the splits that `Task.of` makes."""
        rows = self.draw(Generator().manual_seed(1_000 + seed), EXAMPLES)
        return Task.of(self.name, [self._example(*row) for row in zip(*rows, strict=True)])

    def _example(
        self, prompt: Tensor, target: Tensor, corrupted: Tensor, corrupted_target: Tensor
    ) -> Example:
        answers = (f" {self.vocabulary[target]}", f" {self.vocabulary[corrupted_target]}")
        return Example(
            self._text(prompt),
            answers[0],
            choices=answers if self.name == "selection" else (),
            corrupted=self._text(corrupted),
            corrupted_target=answers[1],
        )

    def _text(self, ids: Tensor) -> str:
        return " ".join(self.vocabulary[number] for number in ids[1:])  # without <s>


def _different(rng: Generator, rows: int, size: int, count: int) -> Tensor:
    """Different numbers below `size`, row × `count`."""
    return torch.rand(rows, size, generator=rng).argsort(1)[:, :count]


def _draw_induction(rng: Generator, rows: int) -> Rows:
    """… A B … C D … A → B; corrupted: … C B … A D … A → D."""
    body = 1 + _different(rng, rows, len(WORDS), BODY)
    place = torch.randint(0, BODY - 1, (rows, 1), generator=rng)
    step = torch.randint(2, BODY - 2, (rows, 1), generator=rng)  # not a neighbour
    other = (place + step) % (BODY - 1)
    exchanged = body.scatter(1, place, body.gather(1, other))
    exchanged.scatter_(1, other, body.gather(1, place))
    start, query = torch.full((rows, 1), START), body.gather(1, place)
    return Rows(
        torch.cat([start, body, query], 1),
        body.gather(1, place + 1)[:, 0],
        torch.cat([start, exchanged, query], 1),
        body.gather(1, other + 1)[:, 0],
    )


def _practice_induction(rng: Generator, rows: int) -> Practice:
    """Rows of induction with several questions, each but the last followed by its answer."""
    body = 1 + _different(rng, rows, len(WORDS), BODY)
    places = torch.randint(0, BODY - 1, (rows, QUESTIONS), generator=rng)
    asked, answers = body.gather(1, places), body.gather(1, places + 1)
    start, pairs = torch.full((rows, 1), START), torch.stack([asked, answers], 2).flatten(1)
    return Practice(torch.cat([start, body, pairs[:, :-1]], 1), answers)


def _draw_marker(rng: Generator, rows: int) -> Rows:
    """… * B … D … ? → B; corrupted: … B … * D … ? → D."""
    body = 1 + _different(rng, rows, len(WORDS), BODY)
    places = _different(rng, rows, BODY, 2)
    start = torch.full((rows, 1), START)
    query = torch.full((rows, 1), 2 + len(WORDS))

    def marked(place: Tensor) -> Tensor:
        at = torch.arange(BODY + 1)[None]
        words = body.gather(1, (at - (at > place).long()).clamp(max=BODY - 1))
        return torch.cat([start, torch.where(at == place, 1 + len(WORDS), words), query], 1)

    one, other = places[:, :1], places[:, 1:]
    return Rows(marked(one), body.gather(1, one)[:, 0], marked(other), body.gather(1, other)[:, 0])


def _draw_selection(rng: Generator, rows: int) -> Rows:
    """X and Y went f g . X gave h to → Y, in either order; corrupted: … Y gave h to → X."""
    first = 1 + len(NAMES) + len(FILLERS)
    and_, went, stop, gave, to = (torch.full((rows, 1), first + i) for i in range(5))
    names = 1 + _different(rng, rows, len(NAMES), 2)
    fillers = 1 + len(NAMES) + torch.randint(0, len(FILLERS), (rows, 3), generator=rng)
    repeated = torch.randint(0, 2, (rows, 1), generator=rng)
    start = torch.full((rows, 1), START)

    def sentence(subject: Tensor) -> Tensor:
        beginning = [start, names[:, :1], and_, names[:, 1:], went, fillers[:, :2], stop]
        return torch.cat([*beginning, subject, gave, fillers[:, 2:], to], 1)

    subject, receiver = names.gather(1, repeated), names.gather(1, 1 - repeated)
    return Rows(sentence(subject), receiver[:, 0], sentence(receiver), subject[:, 0])


_FRAME = ("and", "went", ".", "gave", "to")
INDUCTION = Puzzle("induction", ("<s>", *WORDS, "<unk>"), 3, _draw_induction, _practice_induction)
MARKER = Puzzle("marker", ("<s>", *WORDS, "*", "?", "<unk>"), 3, _draw_marker)
SELECTION = Puzzle("selection", ("<s>", *NAMES, *FILLERS, *_FRAME, "<unk>"), 4, _draw_selection)
PUZZLES = {puzzle.name: puzzle for puzzle in (INDUCTION, MARKER, SELECTION)}
