"""Reading what a probe learns from: head outputs and the residual stream at answers."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import HeadAtlasError
from headatlas.maps import Map
from headatlas.methods.answer_tokens import CHOICES, positions_read
from headatlas.methods.encoding import encode_fitting
from headatlas.methods.method import Inputs, Method, Part, Report, provenance, verified_coordinates
from headatlas.methods.own_answers import own_answers
from headatlas.methods.settings import check_counts
from headatlas.models.run.reading import read_heads_and_stream
from headatlas.models.run.stream import stream_depths
from headatlas.models.tokens import group_by_prefix
from headatlas.tasks import Example, Task

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.spec import ModelSpec
    from headatlas.models.tokens import Tokens

ANSWERS = ("reference", "generated")
"""Whose answers are read."""

SPLITS_READ = ("train", "select", "test")
SHARDS = 8
QUESTIONS_PER_PASS = 8
LARGEST_INT16 = 32767
STREAM_DIMS = ("example", "depth", "d_model")


@dataclass(frozen=True)
class Reading(Method[Task]):
    """Read the mean output of every head, and the residual stream, over some tokens of the answer.

    `tokens` says which: the `first`, the `last`, `all`, or `content`: up to five tokens of words,
    those that are rarest in the task's training questions. `answers` are the `reference` ones, or
    `generated`: the model's own greedy ones, as far as their words agree with the reference (token
    F1 of at least ½). `examples` limits the number of examples, over all splits and in whole
    questions (`None`: all). Head outputs are stored as 16-bit integers with one scale per head; the
    residual stream as `stream` (example × depth × d_model), where `depth` counts the blocks before
    it and 0 is the embeddings. `answer` is the text whose tokens were read.
    """

    tokens: str = "content"
    answers: str = "reference"
    examples: int | None = None

    name: ClassVar[str] = "features"
    version: ClassVar[int] = 2
    variable: ClassVar[str] = "z"
    subject: ClassVar[type] = Task

    def __post_init__(self) -> None:
        if self.tokens not in CHOICES:
            raise HeadAtlasError(
                f"tokens must be one of {', '.join(CHOICES)}, not {self.tokens!r}."
            )
        if self.answers not in ANSWERS:
            raise HeadAtlasError(
                f"answers must be one of {', '.join(ANSWERS)}, not {self.answers!r}."
            )
        if self.examples is not None:
            check_counts("probing", examples=self.examples)

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Reading:
        """The reading that a probe with these settings was made from."""
        return cls(settings["tokens"], settings["answers"], settings["examples"])

    def parts(self, spec: ModelSpec) -> list[Part]:
        """Every split in shards of whole questions."""
        return [
            {"split": split, "shard": shard} for split in SPLITS_READ for shard in range(SHARDS)
        ]

    def reports(self, part: Part) -> int:
        return 1

    def run(
        self,
        model: Model,
        task: Task,
        seed: int = 0,
        *,
        part: Part | None = None,
        report: Report | None = None,
        inputs: Inputs | None = None,
    ) -> Map:
        """The features of one part of the questions."""
        if part is None:
            raise HeadAtlasError(
                "features are read part by part: give a part of Reading.parts(model.spec)."
            )
        coordinates = verified_coordinates(model, seed)
        del coordinates["seed"]
        task = task.for_tokenizer(model.tokenizer)
        examples = self._of_part(task, part)
        rows_of = _encode(model, examples)
        wrong = 0
        if self.answers == "generated":
            right = own_answers(model, {number: examples[number] for number in rows_of})
            wrong = len(rows_of) - len(right)
            rows_of = _encode(model, right)
            examples |= right
        numbers, rows = list(rows_of), list(rows_of.values())
        chosen = [positions_read(model, task, row, self.tokens) for row in rows]
        values, stream = _read(model, rows, chosen)
        if report is not None:
            report(f"{part['split']}, {len(rows)} answers")
        packed, scale = _pack(model.spec, values)
        depths = stream_depths(model)
        return Map.of(
            {
                "z": (("example", "dim", "layer", "head"), packed.transpose(0, 3, 1, 2)),
                "scale": (("layer", "head"), scale),
            },
            provenance(model, task, self, seed)
            | {"part": part, "wrong": wrong, "too_long": len(examples) - wrong - len(rows)},
            {"example": numbers, "answer": (("example",), _texts(examples, numbers))}
            | ({} if stream is None else {"depth": depths, "stream": (STREAM_DIMS, stream)})
            | coordinates,
        )

    def _of_part(self, task: Task, part: Part) -> dict[int, Example]:
        """The labelled examples of a part, by their number in the split."""
        split = part["split"]
        examples = task.prompts(split)
        sizes = Counter(example.question for example in examples)
        place = {question: i for i, question in enumerate(self._chosen(task, split, sizes))}
        return {
            number: example
            for number, example in enumerate(examples)
            if example.function is not None
            and example.question in place
            and place[example.question] * SHARDS // len(place) == part["shard"]
        }

    def _chosen(self, task: Task, split: str, sizes: Counter[str]) -> list[str]:
        """The questions of a split that are read, in its order: all, or as many as there is room
        for within the split's share of `examples`. `sizes` counts the examples of each."""
        if self.examples is None:
            return list(sizes)
        total = sum(len(task.split(name)) for name in SPLITS_READ)
        room = math.ceil(self.examples * sizes.total() / total)
        rng = random.Random(f"{task.questions_hash} features {split}")
        chosen = set()
        for question in rng.sample(list(sizes), len(sizes)):
            if room <= 0:
                break
            chosen.add(question)
            room -= sizes[question]
        return [question for question in sizes if question in chosen]


def _pack(
    spec: ModelSpec, values: NDArray[np.float32]
) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Values as 16-bit integers, and the scale of every head (NaN where there is none)."""
    largest = np.abs(values).max(axis=(0, 3), initial=1e-12)  # layer head
    packed = (values * (LARGEST_INT16 / largest[None, :, :, None])).round().astype(np.int16)
    scale = np.full(largest.shape, np.nan)
    for head in spec.heads():
        scale[head] = largest[head] / LARGEST_INT16
    return packed, scale


def _encode(model: Model, examples: dict[int, Example]) -> dict[int, Tokens]:
    """The tokens of the examples that fit the model's context, by number."""
    encoded = {number: encode_fitting(model, [example])[1] for number, example in examples.items()}
    return {number: rows[0] for number, rows in encoded.items() if rows}


def _blocks(rows: Sequence[Tokens]) -> list[dict[int, list[int]]]:
    """Rows to run, a few at a time, each with all the rows that it holds: a row that another one
    starts with is read there."""
    hosts = {held[-1]: held for held in group_by_prefix(rows)}
    return [
        {host: hosts[host] for host in list(hosts)[i : i + QUESTIONS_PER_PASS]}
        for i in range(0, len(hosts), QUESTIONS_PER_PASS)
    ]


def _read(
    model: Model, rows: Sequence[Tokens], chosen: Sequence[list[int]]
) -> tuple[NDArray[np.float32], NDArray[np.float32] | None]:
    """Means over the chosen tokens of every row: of head outputs, row × layer × head × d_head, and
    of the residual stream, row × depth × d_model (`None` if the model does not show it)."""
    spec = model.spec
    values = np.zeros((len(rows), spec.n_layers, spec.n_heads, spec.d_head), np.float32)
    streams: dict[int, NDArray[np.float32]] = {}
    for block in _blocks(rows):
        wanted = {
            host: sorted({p for row in held for p in chosen[row]}) for host, held in block.items()
        }
        z, stream = read_heads_and_stream(
            model, [rows[host].ids for host in block], list(wanted.values())
        )
        for number, (host, held) in enumerate(block.items()):
            for row in held:
                slots = [wanted[host].index(p) for p in chosen[row]]
                values[row] = z[number][:, :, slots].mean(2).numpy()
                if stream is not None:
                    streams[row] = stream[number][:, slots].mean(1).numpy()
    values = np.nan_to_num(values)  # layers may have fewer heads, or narrower ones
    complete = bool(rows) and len(streams) == len(rows)
    return values, np.stack([streams[i] for i in range(len(rows))]) if complete else None


def _texts(examples: Mapping[int, Example], numbers: Sequence[int]) -> NDArray[Any]:
    """The answers that were read, as text."""
    return np.array([examples[number].target for number in numbers], dtype=object)
