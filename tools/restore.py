"""Continue from stored results: `python tools/restore.py FOLDER`.

Writes every seed of the gating and contrast maps in docs/results/ as a finished unit of its run in
FOLDER; `make results RESULTS=FOLDER` then computes only what is missing. Replaces nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

from headatlas.maps import Map, load_map, save_map
from headatlas.runs.unit import Unit
from stored import RESULTS

METHODS = ("gating", "contrast")
"""Methods whose seeds have one part each, so that a map holds all of its units."""

OF_THE_MAP = ("seeds", "reliability", "stopped", "unfinished", "diverged_seeds", "task_accuracy")
OF_THE_MAP += ("task_chance", "task_warning")
"""Facts that an assembled map has and its units have not."""


def units(head_map: Map) -> dict[str, Map]:
    """The units of a map, by the names of their files."""
    facts = {key: value for key, value in head_map.provenance.items() if key not in OF_THE_MAP}
    names = ("model_hash", "task_hash", "method", "method_version", "settings")
    subject = {name: facts[name] for name in names}
    return {
        f"{Unit(**subject, seed=seed, part={}).key}.nc": Map(
            head_map.sel(seed=[seed]).data, facts | {"seed": seed}
        )
        for seed in head_map["seed"].to_numpy().tolist()
    }


def restore(folder: Path) -> int:
    """Write the units that FOLDER does not have; how many those were."""
    written = 0
    for method in METHODS:
        for path in sorted(RESULTS.glob(f"*/maps/*.{method}-*.nc")):
            target = folder / path.parts[-3] / "units"
            target.mkdir(parents=True, exist_ok=True)
            for name, unit in units(load_map(path)).items():
                if not (target / name).exists():
                    save_map(unit, target / name)
                    written += 1
    return written


if __name__ == "__main__":
    print(f"restored {restore(Path(sys.argv[1]))} units")
