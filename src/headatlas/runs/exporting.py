"""Learned gates as a checkpoint or adapter: which seed, what it does on test questions, a card."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from headatlas.checks.gating.gates import HARD, gate_matrix, seeds_of
from headatlas.checks.gating.held_out import best_seed, held_out, passes_of
from headatlas.checks.results.gating import HeldOut
from headatlas.errors import HeadAtlasError
from headatlas.maps.convergence import SYMBOLS
from headatlas.maps.roles import is_gating
from headatlas.models.load.adapter import check_adapter, export_adapter
from headatlas.models.load.export import check_new_folder, export_model
from headatlas.runs.model_card import write_card
from headatlas.runs.progress import Callback, tracked
from headatlas.runs.store import Store

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.runs.atlas import Atlas
    from headatlas.tasks import Task


class ExportSettings(TypedDict):
    """What is exported of a gating map, and as what; see `Atlas.export`."""

    form: str
    gates: str
    hard: bool
    seed: int | None


TEST_QUESTIONS = 64
WRITERS = {"checkpoint": export_model, "adapter": export_adapter}
"""What gates are written as, by the name of the form."""


@dataclass(frozen=True)
class Exported:
    """An exported model or adapter: its folder and model card, the seed whose gates it has, what
    they do to the task on test questions (the untouched model, then the gated one), and what to
    beware of."""

    folder: Path
    card: Path
    seed: int
    held_out: tuple[HeldOut, ...]
    cautions: tuple[str, ...]

    @property
    def files(self) -> list[Path]:
        """The files of the folder."""
        return sorted(path for path in self.folder.iterdir() if path.is_file())


def export_map(
    atlas: Atlas, head_map: Map, folder: str | Path, task: Task | None, settings: ExportSettings
) -> Exported:
    """Write the gates of a map; raises before a model is loaded if that cannot be done."""
    check_export(head_map, folder, task=task, **settings)
    model = atlas.model_of(head_map)
    own_task = atlas.task_of(head_map, task)
    return export_gates(model, own_task, head_map, folder, progress=atlas.progress, **settings)


def check_export(
    head_map: Map,
    folder: str | Path,
    *,
    form: str,
    gates: str,
    hard: bool,
    seed: int | None,
    task: Task | None,
) -> None:
    """Raise if gates of a map cannot be exported as requested, before a model is loaded.

    Without a `task` it is a built-in one, which has `select` questions.
    """
    check_new_folder(folder)
    Store(folder).check()
    if not is_gating(head_map):
        method = head_map.provenance.get("method", "another method")
        raise HeadAtlasError(f"only gating maps can be exported, and this is a map of {method}.")
    if form not in WRITERS:
        raise HeadAtlasError(f"gates cannot be exported as '{form}': as {' or '.join(WRITERS)}.")
    if gates not in SYMBOLS:
        raise HeadAtlasError(f"no gates '{gates}': there are {', '.join(SYMBOLS)}.")
    if head_map.provenance["settings"]["replacement"] != "zero":
        raise HeadAtlasError(
            "these gates were learned with mean replacement, which adds a constant that weights "
            "cannot hold: learn gates with zero replacement to export them."
        )
    seeds = seeds_of(head_map)
    if seed is not None and seed not in seeds:
        raise HeadAtlasError(f"no seed {seed} in this map: it has {', '.join(map(str, seeds))}.")
    if task is None or task.splits.get("select"):
        return
    if hard:
        raise HeadAtlasError(
            "hard gates are cut at a threshold that is chosen on 'select' questions, and "
            f"'{task.name}' has none: export soft gates."
        )
    if seed is None and len(seeds) > 1:
        raise HeadAtlasError(
            f"the best seed is chosen on 'select' questions, and '{task.name}' has none: choose "
            f"one with --seed (seed=) from those of the map (it has {', '.join(map(str, seeds))})."
        )


def export_gates(
    model: Model,
    task: Task,
    head_map: Map,
    folder: str | Path,
    *,
    form: str,
    gates: str,
    hard: bool,
    seed: int | None,
    progress: Callback | None,
) -> Exported:
    """Write the gates of one seed, folded into the weights or as an adapter; without a seed, of the
    best one on `select`.

    Hard gates are cut at the threshold that is best on `select`.
    """
    if form == "adapter":
        check_adapter(model)
    name = SYMBOLS[gates] + (HARD if hard else "")
    seeds = seeds_of(head_map)
    how = "as requested"
    if seed is None and len(seeds) == 1:
        (seed,), how = seeds, "the only one"
    elif seed is None:
        how = "the best one on the selection questions"
        with tracked(progress, "choosing a seed", len(seeds) * passes_of(name)) as step:
            seed = best_seed(model, task, head_map, name, report=step)
    chosen = head_map.sel(seed=[seed])
    with tracked(progress, "test questions", passes_of(name)) as step:
        rows = held_out(model, task, chosen, names=(name,), limit=TEST_QUESTIONS, report=step)
    with tracked(progress, f"writing {folder}"):
        (threshold,) = rows[-1].thresholds if hard else (0.5,)
        path = WRITERS[form](model, gate_matrix(head_map, name, seed, threshold), folder)
        cautions = cautions_of(head_map, rows[-1])
        card = write_card(path, chosen, name, f"{seed} ({how})", rows, form, cautions)
    return Exported(path, card, seed, rows, cautions)


def cautions_of(head_map: Map, gated: HeldOut) -> tuple[str, ...]:
    """What a reader must know of exported gates: that they do harm, and the map's cautions."""
    harm = ["these gates make the task worse"] if gated.low > 0 else []
    return (*harm, *head_map.cautions)
