"""The stored runs that docs/results/cognition.md is written from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import headatlas as ha
from stored import RESULTS

RUNS = {"cognition": "`cognition`", "cogqa": "CogQA"}


@dataclass(frozen=True)
class Run:
    """A stored run: its map, the probe's report, the causal checks, agreement with other maps."""

    folder: Path
    title: str

    @property
    def atlas(self) -> ha.Atlas:
        return ha.Atlas(self.folder, progress=None)

    @property
    def head_map(self) -> ha.Map:
        """The probing map, with the marks of its check."""
        return self.atlas.load("probing")

    @property
    def check(self) -> ha.FunctionCheck | None:
        """The causal checks, if there are any."""
        result = self.atlas.result("probing")
        assert result is None or isinstance(result, ha.FunctionCheck)
        return result

    @property
    def report(self) -> ha.ProbeReport:
        """The report on the probe."""
        result = self.atlas.result("probing", "probe")
        assert isinstance(result, ha.ProbeReport)
        return result

    @property
    def complete(self) -> bool:
        """Whether the run has a map and the report on its probe."""
        if not (self.folder / "maps").is_dir():
            return False
        return self.atlas.result("probing", "probe") is not None

    @property
    def causes(self) -> ha.Comparison | None:
        """Agreement with an ablation map, if there is any."""
        for path in (self.folder / "checks").glob("*.causes.json"):
            return ha.Comparison.from_dict(json.loads(path.read_text(encoding="utf-8")))
        return None


def runs() -> list[Run]:
    """The data sets of which there are stored runs."""
    candidates = [Run(RESULTS / name, title) for name, title in RUNS.items()]
    return [run for run in candidates if run.complete]
