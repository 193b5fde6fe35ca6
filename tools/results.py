"""Results on the embedded model: `make results` computes them, this writes docs/results/*.md.

`python tools/results.py FOLDER` takes maps, checks and figures from the runs in FOLDER into
docs/results/; without FOLDER only the pages are written again, from what is there.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import cognition_page
import cognition_runs
import gating_page
import headatlas as ha
import methods_page
import seeds_section
import sweep_section
from contrast_section import contrasts
from headatlas.maps import Map, load_map, save_map
from headatlas.plots import draw
from schedule_section import SCHEDULE_TIMES
from stored import RESULTS, atlas_of, checks_of, equal_seeds, maps_of

RUNS = (*gating_page.TRUSTED, seeds_section.RUN, "contrast", "reference")
KEPT = ("maps/*.nc", "checks/*.json")
PROBED = tuple(cognition_runs.RUNS)
KEPT_PROBED = ("maps/*.probing-*.nc", "checks/*.probing-*.json")
RECORDS = ("bench.json", sweep_section.RECORD, SCHEDULE_TIMES)


def collect(folder: Path) -> None:
    """Take what the page needs from the folders of the runs, in place of what was there."""
    kept = dict.fromkeys(RUNS, KEPT) | dict.fromkeys(PROBED, KEPT_PROBED)
    kept |= dict.fromkeys(methods_page.MODELS, methods_page.KEPT)
    for run, patterns in kept.items():
        if not (folder / run / "maps").is_dir():
            continue  # units that were restored, and no map of them yet
        shutil.rmtree(RESULTS / run, ignore_errors=True)
        for pattern in patterns:
            for path in sorted((folder / run).glob(pattern)):
                target = RESULTS / run / path.relative_to(folder / run)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
                leave_out_places(target)
    for name in RECORDS:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, RESULTS / name)


def leave_out_places(path: Path) -> None:
    """Name the model of a map or result by its file alone, not by the folder it was in."""
    if path.suffix == ".json":
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r'("model": ")/[^"]*/', r"\1", text), encoding="utf-8")
        return
    head_map = load_map(path)
    name = str(head_map.provenance["model"])
    if name.startswith("/"):
        save_map(Map(head_map.data, head_map.provenance | {"model": Path(name).name}), path)


def draw_figures() -> None:
    """The figures of the page."""
    for run in (run for run in gating_page.MODELS if (RESULTS / run).exists()):
        folder = RESULTS / run / "figures"
        maps = equal_seeds(maps_of(run))
        ha.save_figure(draw("always-any", list(maps.values())), folder / "both.always-any.png")
    for run in ("gating", "default"):
        if (RESULTS / run).exists() and checks_of(run):
            path = RESULTS / run / "figures" / "both.toggling.png"
            ha.save_figure(atlas_of(run).plot("toggling"), path)
    if (RESULTS / "contrast" / "checks").exists():
        path = RESULTS / "contrast" / "figures" / "accuracy.png"
        ha.save_figure(contrasts().plot(), path)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        collect(Path(sys.argv[1]))
        draw_figures()
        cognition_page.draw_figures()
        methods_page.draw_figures()
    (RESULTS / "gating.md").write_text(gating_page.page(), encoding="utf-8")
    (RESULTS / "cognition.md").write_text(cognition_page.page(), encoding="utf-8")
    if methods_page.all_maps():
        (RESULTS / "methods.md").write_text(methods_page.page(), encoding="utf-8")
