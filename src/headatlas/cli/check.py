"""headatlas check"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from headatlas.cli import options as given
from headatlas.runs.reload import StoredModelOptions
from headatlas.cli.screen import note, waiting
from headatlas.errors import HeadAtlasError


def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")],
    *,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", "-t", help="Only these tasks; those from files must be named."),
    ] = None,
    map_name: Annotated[
        str | None, typer.Option("--map", help="Only this map of the folder.")
    ] = None,
    questions: Annotated[
        int,
        typer.Option(min=2, help="Test questions of each map; toggling asks half as many a seed."),
    ] = 64,
    model: StoredModelOptions,
    files: given.FileOptions,
) -> None:
    """Is a map true? Causal checks of the gating and probing maps in a folder, on test questions.

    Gating. Toggling: heads are switched in the order of each score, starting from G⁺; the target's
    log-probability should fall for facilitation, rise for interference and stay for irrelevance.
    Held-out: loss under the learned gates, also made hard (0 or 1), against the untouched model.

    Probing. A function's heads are masked, and as many random heads of the same layers; the heads
    of each function are masked and all functions measured; heads are pushed along their function's
    direction. A function whose heads do no more than random ones is marked so in its map.

    Results and figures go into DIR; a map that was checked before is not asked again.

    \b
    Examples:
      headatlas check atlas
      headatlas check atlas --task math --questions 32
    """
    with waiting("starting"):
        from headatlas.runs.reload import checkable_maps, load_verified_for, of_tasks, task_of
        from headatlas.cli.check_functions import ask_functions, show_functions
        from headatlas.cli.check_gating import ask_gating, show_gating
        from headatlas.cli.work import name_files
        from headatlas.maps.roles import is_gating
        from headatlas.runs.store import Store

    named = [files.load(name, model.download) for name in task or []]
    maps = checkable_maps(folder, map_name)
    if named:
        maps = of_tasks(maps, named, folder)
    store = Store(folder)
    loaded = None
    written: list[Path] = []
    for name, drawn in maps.items():
        if loaded is None or loaded.fingerprint != drawn.provenance["model_hash"]:
            loaded = load_verified_for(drawn, model)
        asked = task_of(drawn, loaded, named, files)
        if asked is None:
            continue
        ask, show = (
            (ask_gating, show_gating) if is_gating(drawn) else (ask_functions, show_functions)
        )
        subject: dict[str, Any] = {
            "map": name,
            "map_hash": drawn.digest,
            "questions": questions,
        }
        result = finished_check(folder / "checks" / f"{name}.json", subject)
        if result is None:
            found = ask(loaded, asked, drawn, questions, store, subject)
            named_by = {"task": asked.name, "model": drawn.provenance["model"]}
            result = subject | named_by | found | {"asked": questions}
        written.append(store.write_json(f"checks/{name}.json", result))
        written += show(result, name, store)
    if not written:
        raise HeadAtlasError(f"no map in {folder} could be checked.")
    name_files(written)


def finished_check(path: Path, subject: dict[str, Any]) -> dict[str, Any] | None:
    """The stored check of this very map with as many questions or more, if there is one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("map_hash") != subject["map_hash"]:
        return None
    asked = found.get("asked", found.get("questions"))  # a suite may have fewer than were asked for
    if not isinstance(asked, int) or asked < subject["questions"]:
        return None
    more = f" with {asked} questions" if asked > subject["questions"] else ""
    note(f"the map {subject['map']} was checked before{more}: that check is shown again")
    return found
