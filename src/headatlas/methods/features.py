"""What every head says at a question's answer: the features that a probe reads."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.errors import HeadAtlasError
from headatlas.maps import Map, head_coordinates
from headatlas.methods.method import Part, Report, origin
from headatlas.methods.own_answers import own_answers
from headatlas.models.tokens import group_by_prefix
from headatlas.tasks import Example, Task
from headatlas.methods.encoding import encode_fitting

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.spec import Head, ModelSpec
    from headatlas.models.tokens import Tokens

CHOICES = ("first", "last", "content", "all")
"""Which tokens of an answer are read."""

ANSWERS = ("reference", "generated")
"""Whose answers are read."""

USED = ("train", "select", "test")
SHARDS = 8
MOST_CONTENT = 5
QUESTIONS = 8
"""Questions that are read at a time."""

FULL = 32767
LOST = ("too_long", "wrong")
"""Why an answer is not read: too long for the context, or the model's own one and wrong."""


@dataclass(frozen=True)
class Reading:
    """Read the mean output of every head over some tokens of the answer.

    `tokens` says which: the `first`, the `last`, `all`, or `content`: up to five words' tokens that
    are rarest in the task's train questions. `answers` are the `reference` ones, or `generated`:
    the model's own greedy ones, as far as their words agree with the reference (token F1 of at
    least ½). Numbers are stored as 16-bit integers with one scale a head, sequences never.
    """

    tokens: str = "content"
    answers: str = "reference"

    name: ClassVar[str] = "features"
    version: ClassVar[int] = 1
    variable: ClassVar[str] = "z"

    def __post_init__(self) -> None:
        if self.tokens not in CHOICES:
            raise HeadAtlasError(f"no tokens '{self.tokens}': there are {', '.join(CHOICES)}.")
        if self.answers not in ANSWERS:
            raise HeadAtlasError(f"no answers '{self.answers}': there are {', '.join(ANSWERS)}.")

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Reading:
        """The reading that a probe with these settings was made from."""
        return cls(settings["tokens"], settings.get("answers", "reference"))

    def settings(self) -> dict[str, Any]:
        settings = asdict(self)
        if self.answers == "reference":
            del settings["answers"]
        return settings

    def parts(self, spec: ModelSpec) -> list[Part]:
        """Every split in shards of whole questions."""
        return [{"split": split, "shard": shard} for split in USED for shard in range(SHARDS)]

    def reports(self, part: Part) -> int:
        return 1

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        return []

    def run(
        self,
        model: Model,
        task: Task,
        seed: int = 0,
        *,
        part: Part | None = None,
        report: Report | None = None,
    ) -> Map:
        """The features of one part of the questions."""
        if part is None:
            raise HeadAtlasError("features are read part by part: use read_features.")
        task = task.for_tokenizer(model.tokenizer)
        mine = _of_part(task, part)
        rows_of = _encode(model, mine)
        wrong = 0
        if self.answers == "generated":
            right = own_answers(model, {number: mine[number] for number in rows_of})
            wrong = len(rows_of) - len(right)
            rows_of = _encode(model, right)
        numbers, rows = list(rows_of), list(rows_of.values())
        spec = model.spec
        values = np.zeros((len(rows), spec.n_layers, spec.n_heads, spec.d_head), np.float32)
        chosen = [self._positions(model, task, row) for row in rows]
        for block in _blocks(rows):
            _read_block(model, rows, chosen, block, values)
        if report is not None:
            report(f"{part['split']}, {len(rows)} answers")
        values = np.nan_to_num(values)  # layers may have fewer heads, or narrower ones
        largest = np.abs(values).max(axis=(0, 3), initial=1e-12)  # layer head
        packed = (values * (FULL / largest[None, :, :, None])).round().astype(np.int16)
        scale = np.full(largest.shape, np.nan)
        for head in spec.heads():
            scale[head] = largest[head] / FULL
        groups = {head: spec.kv_group(*head) for head in spec.heads()}
        return Map.of(
            {
                "z": (("example", "dim", "layer", "head"), packed.transpose(0, 3, 1, 2)),
                "scale": (("layer", "head"), scale),
            },
            origin(model, self, seed)
            | {"task": task.name, "task_hash": task.hash, "part": part}
            | {"wrong": wrong, "too_long": len(mine) - wrong - len(rows)},
            {"example": numbers} | head_coordinates(groups, (spec.n_layers, spec.n_heads)),
        )

    def _positions(self, model: Model, task: Task, row: Tokens) -> list[int]:
        """Which tokens of a row are read, as positions in it."""
        answer = range(row.target_start, len(row))
        if self.tokens == "first":
            return [answer[0]]
        if self.tokens == "last":
            return [answer[-1]]
        if self.tokens == "all":
            return list(answer)
        counts = _frequencies(model, task)
        telling = [i for i in answer if _is_word(model, row.ids[i])] or list(answer)
        return sorted(sorted(telling, key=lambda i: counts[row.ids[i]])[:MOST_CONTENT])


@dataclass(frozen=True, eq=False)
class Features:
    """Head outputs at the answers of a task's questions, by split: example × head × d_head.

    `heads` are the heads that exist, in reading order; `labels` and `questions` belong to the
    examples. A probe is asked on it like another method on a task.
    """

    task: Task
    settings: dict[str, Any]
    heads: tuple[tuple[int, int], ...]
    z: dict[str, NDArray[np.float32]] = field(repr=False)
    labels: dict[str, list[str]] = field(repr=False)
    questions: dict[str, list[str]] = field(repr=False)
    prompts: dict[str, list[str]] = field(repr=False)
    too_long: int = 0
    wrong: int = 0

    @property
    def unlabelled(self) -> int:
        """Examples that no function is known of."""
        return sum(each.function is None for split in USED for each in self.task.split(split))

    @classmethod
    def of(cls, task: Task, parts: Sequence[Map]) -> Features:
        """Put the parts of a reading together."""
        first = parts[0]
        exists = np.isfinite(first["scale"].to_numpy())
        heads = tuple((int(layer), int(head)) for layer, head in np.argwhere(exists))
        z: dict[str, NDArray[np.float32]] = {}
        labels: dict[str, list[str]] = {}
        questions: dict[str, list[str]] = {}
        prompts: dict[str, list[str]] = {}
        for split in USED:
            own = [each for each in parts if each.provenance["part"]["split"] == split]
            own.sort(key=lambda each: each.provenance["part"]["shard"])
            values, used = [], []
            for each in own:
                packed = each["z"].to_numpy().transpose(0, 2, 3, 1)  # example layer head dim
                scale = each["scale"].to_numpy()[exists]
                values.append(packed[:, exists].astype(np.float32) * scale[None, :, None])
                used += each.data["example"].to_numpy().tolist()
            asked = task.prompts(split)
            z[split] = np.concatenate(values).astype(np.float32)
            labels[split] = [str(asked[i].function) for i in used]
            questions[split] = [asked[i].question for i in used]
            prompts[split] = [asked[i].prompt for i in used]
        lost = {key: sum(each.provenance.get(key, 0) for each in parts) for key in LOST}
        settings = first.provenance["settings"]
        return cls(task, settings, heads, z, labels, questions, prompts, **lost)

    @property
    def name(self) -> str:
        return self.task.name

    @property
    def hash(self) -> str:
        """Changes when what was asked, or how it was read, changes."""
        return hashlib.sha256(json.dumps([self.task.hash, self.settings]).encode()).hexdigest()

    @property
    def remarks(self) -> tuple[str, ...]:
        return self.task.remarks

    def direction(self, spec: ModelSpec, function: str, heads: Sequence[Head]) -> Tensor:
        """A function's direction at some heads: its mean output in the train questions less that
        of all other functions; layer × head × d_head, 0 at other heads."""
        own = np.array([label == function for label in self.labels["train"]])
        mean = self.z["train"][own].mean(0) - self.z["train"][~own].mean(0)  # head d_head
        found = torch.zeros(spec.n_layers, spec.n_heads, spec.d_head)
        for layer, head in heads:
            found[layer, head] = torch.from_numpy(mean[self.heads.index((layer, head))])
        return found

    def for_tokenizer(self, tokenizer: Any) -> Features:
        """Features have been read with a tokenizer already."""
        return self


def read_features(
    model: Model, task: Task, reading: Reading, report: Report | None = None
) -> Features:
    """Read all features of a task at once."""
    task = task.for_tokenizer(model.tokenizer)
    parts = [reading.run(model, task, part=p, report=report) for p in reading.parts(model.spec)]
    return Features.of(task, parts)


def _of_part(task: Task, part: Part) -> dict[int, Example]:
    """The labelled examples of a part, by their number in the split."""
    examples = task.prompts(part["split"])
    place = {question: i for i, question in enumerate(dict.fromkeys(e.question for e in examples))}
    return {
        number: example
        for number, example in enumerate(examples)
        if example.function is not None
        and place[example.question] * SHARDS // len(place) == part["shard"]
    }


def _encode(model: Model, examples: dict[int, Example]) -> dict[int, Tokens]:
    """The tokens of the examples that fit the model's context, by number."""
    found = {number: encode_fitting(model, [each])[1] for number, each in examples.items()}
    return {number: rows[0] for number, rows in found.items() if rows}


def _blocks(rows: Sequence[Tokens]) -> list[dict[int, list[int]]]:
    """Rows to run, a few at a time, each with all the rows that it holds: a row that another one
    starts with is read there."""
    hosts = {held[-1]: held for held in group_by_prefix(rows)}
    return [
        {host: hosts[host] for host in list(hosts)[i : i + QUESTIONS]}
        for i in range(0, len(hosts), QUESTIONS)
    ]


def _read_block(
    model: Model,
    rows: Sequence[Tokens],
    chosen: Sequence[list[int]],
    block: dict[int, list[int]],
    values: NDArray[np.float32],
) -> None:
    """Run the rows of a block and fill in the means of all rows that they hold."""
    wanted = {
        host: sorted({p for row in held for p in chosen[row]}) for host, held in block.items()
    }
    found = model.read([rows[host].ids for host in block], positions=list(wanted.values())).numpy()
    for z, (host, held) in zip(found, block.items(), strict=True):
        for row in held:
            slots = [wanted[host].index(p) for p in chosen[row]]
            values[row] = z[:, :, slots].mean(2)


def _is_word(model: Model, token: int) -> bool:
    """Whether a token has a letter or digit."""
    assert model.tokenizer is not None
    return any(letter.isalnum() for letter in str(model.tokenizer.decode([token])))


_COUNTS: WeakKeyDictionary[Model, dict[str, Counter[int]]] = WeakKeyDictionary()


def _frequencies(model: Model, task: Task) -> Counter[int]:
    """How often every token stands in the train questions; counted once a model and task."""
    known = _COUNTS.setdefault(model, {})
    if task.hash not in known:
        _, rows = encode_fitting(model, task.prompts("train"))
        known[task.hash] = Counter(token for row in rows for token in row.ids)
    return known[task.hash]
