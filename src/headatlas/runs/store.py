"""The folder of an atlas: finished units, maps, results of checks, tables, figures, `run.json`."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headatlas.atomic import remove_orphans, write_text
from headatlas.errors import HeadAtlasError, MapError, StoreError
from headatlas.maps import Map, load_map, save_map
from headatlas.maps.naming import safe_name
from headatlas.runs.unit import Unit

logger = logging.getLogger(__name__)

SECONDS = "seconds.jsonl"
"""The file of `units/` with a line per unit that was computed; equal runs have equal units, so it
is not in them."""


class Store:
    """Results under one folder. Several processes may use it at once."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.units = self.folder / "units"
        self.maps = self.folder / "maps"
        self.figures = self.folder / "figures"
        self.written: dict[Path, None] = {}

    def check(self) -> None:
        """Raise if the folder is not writable; writes nothing."""
        existing = self.folder
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
        if not existing.is_dir():
            raise StoreError(
                f"the output folder {self.folder} cannot be created: {existing} is a file."
            )
        if not os.access(existing, os.W_OK):
            raise StoreError(f"the output folder {self.folder} cannot be written: no permission.")

    def open(self) -> None:
        """Create the folder, and remove what killed processes left half-written."""
        try:
            for folder in (self.units, self.maps):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the output folder {self.folder} cannot be written: {error.strerror}."
            ) from error
        for folder in (self.folder, *(path for path in self.folder.iterdir() if path.is_dir())):
            remove_orphans(folder)

    # -- units -----------------------------------------------------------------------------------

    def path(self, unit: Unit) -> Path:
        """The file of a unit."""
        return self.units / f"{unit.key}.nc"

    def load(self, unit: Unit) -> Map | None:
        """The result of a finished unit; a damaged file is reported and counts as missing."""
        path = self.path(unit)
        if not path.is_file():
            return None
        try:
            return load_map(path)
        except MapError as error:
            logger.warning("%s The unit is computed again.", error)
            return None

    def save(self, unit: Unit, result: Map, seconds: float) -> None:
        """Keep the result of a unit, and how long it took."""
        save_map(result, self.path(unit))
        line = json.dumps({"unit": unit.key, "seconds": round(seconds, 3)})
        with (self.units / SECONDS).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def seconds(self) -> dict[str, float]:
        """How long units took, by name; those of which it is known."""
        took: dict[str, float] = {}
        for run in (self.read_json("run.json") or {}).get("runs", []):
            took |= run.get("units", {}).get("computed", {})
        path = self.units / SECONDS
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        for line in lines:
            try:
                record = json.loads(line)
                took[record["unit"]] = float(record["seconds"])
            except (ValueError, TypeError, KeyError):
                logger.warning("a line of %s cannot be read and is left out.", path)
        return took

    def others(self, group: str, known: Sequence[Unit]) -> list[Map]:
        """Finished units of a group besides the known ones: other seeds, other heads."""
        names = {self.path(unit).name for unit in known}
        maps = []
        for path in sorted(self.units.glob(f"{group}-*.nc")):
            if path.name in names:
                continue
            try:
                maps.append(load_map(path))
            except MapError as error:
                logger.warning("%s", error)
        return maps

    # -- maps and files --------------------------------------------------------------------------

    def map_paths(self) -> dict[str, Path]:
        """The map files by name. Raises `StoreError` if there are none."""
        if not self.folder.is_dir():
            raise StoreError(f"there is no folder {self.folder}.")
        paths = sorted(self.maps.glob("[!.]*.nc"))
        if not paths:
            raise StoreError(f"there are no maps in {self.folder}: run a method first.")
        return {path.stem: path for path in paths}

    def find(self, part: str) -> str:
        """The name of the one map whose name contains `part`."""
        return find_name(part, list(self.map_paths()))

    def save_map(self, head_map: Map) -> Path:
        """Write a map under its name."""
        return self.note(save_map(head_map, self.maps / f"{head_map.name}.nc"))

    def write_json(self, name: str, content: dict[str, Any]) -> Path:
        """Write plain data into the folder."""
        return self.write_text(name, json.dumps(content, indent=1, ensure_ascii=False))

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Plain data from the folder; `None` if it is missing or damaged."""
        try:
            content = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return content if isinstance(content, dict) else None

    def write_text(self, name: str, text: str) -> Path:
        """Write a text file into the folder, whole or not at all; units are not recorded."""
        path = write_text(self.folder / name, text)
        return path if path.parent == self.units else self.note(path)

    def note(self, path: Path) -> Path:
        """Record a written file, so that `Atlas.files` lists it."""
        self.written[path] = None
        return path

    def figure_base(self, name: str, figure: str) -> Path:
        """The path of a figure without its suffix."""
        return self.figures / f"{safe_name(name)}.{figure}"


def find_name(part: str, names: Sequence[str]) -> str:
    """The one name that contains `part`, which may be the whole name."""
    part = str(part)
    if part in names:
        return part
    matches = [name for name in names if part.casefold() in name.casefold()]
    if len(matches) == 1:
        return matches[0]
    which = f"'{part}' matches several" if matches else f"nothing matches '{part}'"
    raise StoreError(f"{which}: choose one of {', '.join(matches or names)}.")


def with_facts(maps: dict[str, Map], folder: Path, **facts: str | None) -> dict[str, Map]:
    """The maps of a task or method; raises, naming those that there are, if there is none."""
    for key, wanted in facts.items():
        have = list(dict.fromkeys(str(m.provenance.get(key)) for m in maps.values()))
        if wanted is not None and wanted not in have:
            raise HeadAtlasError(
                f"no map of the {key} '{wanted}' in {folder}: it has {', '.join(have)}."
            )
        maps = {
            name: head_map
            for name, head_map in maps.items()
            if wanted in (None, head_map.provenance.get(key))
        }
    return maps
