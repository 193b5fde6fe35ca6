"""Which checks there are, and which maps they are for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headatlas.checks.context import CheckContext
from headatlas.checks.functions.check import check_functions, function_passes
from headatlas.checks.functions.probe import check_probe
from headatlas.checks.gating.check import check_gating, gating_passes
from headatlas.checks.results import (
    Faithfulness,
    FunctionCheck,
    GatingCheck,
    MapCheck,
    ProbeReport,
)
from headatlas.checks.yardstick.faithfulness import check_faithfulness, faithfulness_passes
from headatlas.checks.yardstick.order import can_be_judged
from headatlas.errors import HeadAtlasError
from headatlas.maps.functions import is_probing
from headatlas.maps.roles import is_gating
from headatlas.methods.features import Reading

if TYPE_CHECKING:
    from headatlas.maps import Map


@dataclass(frozen=True)
class CheckKind:
    """A check: the maps it suits, the class of its result, and how it is run.

    `passes` says how often `run` reports, `inputs` what the map was computed from. Results are
    stored as `checks/MAP{suffix}.json`; `version` goes up when the same check would give other
    numbers, and `kept_version`, where it has one of its own, when it would measure other things:
    measurements that are kept are then judged again, not made again. A check that does not sample
    questions takes all of them, so it is the same every time. `questions` is their usual number.
    `options` are settings of a check by name, with their usual values; others are `unusual`, and
    stand in the suffix.
    """

    suits: Callable[[Map], bool]
    result: type[MapCheck]
    run: Callable[[CheckContext], MapCheck]
    passes: Callable[[Map], int]
    suffix: str = ""
    version: int = 1
    kept_version: int | None = None
    inputs: Callable[[Map], tuple[Any, ...]] = lambda head_map: ()
    samples_questions: bool = True
    questions: int = 64
    options: Mapping[str, str] = field(default_factory=dict)
    unusual: tuple[str, ...] = ()

    def with_options(self, **options: str | None) -> CheckKind:
        """The check with other than the usual options; `None` leaves one as it is."""
        given = {name: value for name, value in options.items() if value is not None}
        for name in given:
            if name not in self.options:
                raise HeadAtlasError(f"the {self.result.kind} has no option '{name}'.")
        chosen = {**self.options, **given}
        unusual = [chosen[name] for name, usual in self.options.items() if chosen[name] != usual]
        return replace(
            self,
            options=chosen,
            unusual=tuple(unusual),
            suffix="-".join([self.suffix, *unusual]),
        )


def _reading(head_map: Map) -> tuple[Reading]:
    return (Reading.of(head_map.provenance["settings"]),)


CHECKS: dict[str, CheckKind] = {
    "gating": CheckKind(is_gating, GatingCheck, check_gating, gating_passes, version=3),
    "functions": CheckKind(
        is_probing, FunctionCheck, check_functions, function_passes, version=3, inputs=_reading
    ),
    "probe": CheckKind(
        is_probing,
        ProbeReport,
        check_probe,
        lambda _: 1,
        suffix=".probe",
        inputs=_reading,
        samples_questions=False,
    ),
    "faithfulness": CheckKind(
        can_be_judged,
        Faithfulness,
        check_faithfulness,
        faithfulness_passes,
        suffix=".faithfulness",
        version=3,
        kept_version=1,
        questions=24,
        options={"replacement": "mean", "measure": "logprob"},
    ),
}
"""A new check is one file and one entry here; the first that suits a map is its main check."""


def checks_of(head_map: Map) -> list[str]:
    """The checks that suit a map by name, its main check first."""
    return [name for name, check in CHECKS.items() if check.suits(head_map)]
