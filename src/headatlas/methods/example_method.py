"""What methods have in common that measure heads on single examples of a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from headatlas.errors import HeadAtlasError
from headatlas.maps import Map
from headatlas.methods.measures import COMPARED
from headatlas.methods.method import Method, provenance
from headatlas.tasks import Example, Task
from headatlas.tasks.splits import check_split

if TYPE_CHECKING:
    from headatlas.methods.effects import Effects
    from headatlas.models.model import Model


@dataclass(frozen=True, kw_only=True)
class ExampleMethod(Method[Task]):
    """A method that measures every head on examples of a task, with an interval over questions.

    `examples` is their number, drawn by the seed (`None`: all); `keep_examples` keeps what was
    measured on each. They come from the `split`: unless one is named, `train`, so that the `test`
    questions can tell whether the map is true; a task without `train` questions is measured on
    `test`.
    """

    examples: int | None = 32
    split: str | None = None
    keep_examples: bool = False

    subject: ClassVar[type] = Task

    def __post_init__(self) -> None:
        if self.examples is not None and not (type(self.examples) is int and self.examples >= 2):
            raise HeadAtlasError(f"{self.name} needs at least 2 examples, not {self.examples!r}.")
        if self.split is not None:
            check_split(self.split)

    def settings(self) -> dict[str, Any]:
        settings = asdict(self)
        settings.pop("heads", None)  # maps of other heads of the same task are one map
        return settings

    def split_of(self, task: Task) -> str:
        """The split whose examples are measured."""
        return self.split or ("train" if task.splits.get("train") else "test")

    def sample(self, task: Task, seed: int) -> list[Example]:
        """The examples that a seed draws, as prompts."""
        return task.prompts(self.split_of(task), seed, self.examples)

    def sample_remarks(self, task: Task, seeds: int) -> list[str]:
        """What the user should know of the examples that the seeds of a task draw."""
        return self._fewer_examples(task) + self._equal_seeds(task, seeds)

    def _fewer_examples(self, task: Task) -> list[str]:
        """A remark if the task has fewer examples than the settings ask for."""
        if self.examples is None:
            return []
        split, number = self.split_of(task), len(self.sample(task, 0))
        if number >= self.examples:
            return []
        return [f"only {number} {split} questions: the map is measured on these"]

    def _equal_seeds(self, task: Task, seeds: int) -> list[str]:
        """A remark if several seeds give nothing new."""
        by_chance = getattr(self, "replacement", "zero") != "zero"
        if seeds < 2 or by_chance or self.sample(task, 0) != self.sample(task, 1):
            return []
        return [
            f"all seeds give the same map: the task has no more {self.split_of(task)} questions to "
            "sample"
        ]

    def takes_rows(self) -> bool:
        """Whether every answer that an example is compared with takes passes of its own."""
        return getattr(self, "measure", None) in COMPARED

    def map_of(
        self,
        model: Model,
        task: Task,
        seed: int,
        effects: Effects,
        facts: Mapping[str, Any],
        coordinates: Mapping[str, Any],
    ) -> Map:
        """The map of what was measured, with where it comes from."""
        origin = provenance(model, task, self, seed) | {"split": self.split_of(task)}
        return Map.of(
            effects.variables(), origin | dict(facts), dict(coordinates) | effects.coordinates()
        )
