"""The folder of a run: finished units, the maps assembled from them, figures, and `run.json`."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import psutil

from headatlas.errors import MapError, StoreError
from headatlas.maps import Map, combine, load_map, save_map
from headatlas.maps.files import TEMPORARY, temporary_prefix
from headatlas.runs.unit import Unit

WARNING = "task_warning"
LONGEST = 60
"""Letters of a name that go into a file's name: file systems allow 255 bytes for all."""

logger = logging.getLogger(__name__)


class Store:
    """Results under one folder. Several processes may use it at once."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.units = self.folder / "units"
        self.maps = self.folder / "maps"
        self.figures = self.folder / "figures"

    def check(self) -> None:
        """Raise if the folder surely cannot be written; writes nothing."""
        existing = self.folder
        while not existing.exists() and existing != existing.parent:
            existing = existing.parent
        if not existing.is_dir():
            raise StoreError(
                f"the output folder {self.folder} cannot be made: {existing} is a file."
            )
        if not os.access(existing, os.W_OK):
            raise StoreError(f"the output folder {self.folder} cannot be written: no permission.")

    def open(self) -> None:
        """Make the folder, and remove what killed processes left half-written."""
        try:
            for folder in (self.units, self.maps):
                folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"the output folder {self.folder} cannot be written: {error.strerror}."
            ) from error
        for folder in (self.units, self.maps, self.folder):
            for leftover in folder.glob(f"{TEMPORARY}*"):
                _remove_if_orphan(leftover)

    def path(self, unit: Unit) -> Path:
        return self.units / f"{unit.key}.nc"

    def has(self, unit: Unit) -> bool:
        """Whether the unit is finished. A damaged file counts as missing, and is said to be."""
        path = self.path(unit)
        if not path.is_file():
            return False
        try:
            load_map(path)
        except MapError as error:
            logger.warning("%s It is computed again.", error)
            return False
        return True

    def save(self, unit: Unit, result: Map) -> None:
        save_map(result, self.path(unit))

    def assemble(
        self, group: str, name: str, task: str | None = None, seeds: Iterable[int] | None = None
    ) -> Path:
        """Put the finished units of a group together into one map file: all, or some seeds'.

        Facts on which the units agree are the map's; so is a warning that any of them carries.
        `task` is what the task is called now: equal content may have had another name before.
        """
        parts = []
        for path in sorted(self.units.glob(f"{group}-*.nc")):
            try:
                parts.append(load_map(path))
            except MapError as error:
                logger.warning("%s", error)
        if seeds is not None:
            wanted = set(seeds)
            parts = [part for part in parts if part.provenance["seed"] in wanted]
        whole = combine(parts)
        shared = {
            key: value
            for key, value in whole.provenance.items()
            if all(part.provenance.get(key) == value for part in parts)
        }
        warnings = [part.provenance[WARNING] for part in parts if WARNING in part.provenance]
        if warnings:
            shared[WARNING] = warnings[0]
        if task is not None:
            shared["task"] = task
        found = sorted({int(part.provenance["seed"]) for part in parts})
        return save_map(
            Map(whole.data, {**shared, "seeds": found}), self.maps / f"{safe_name(name)}.nc"
        )

    def write_record(self, record: dict[str, Any]) -> Path:
        """Write `run.json`: what was run, with what, how long it took, what came out."""
        return self.write_json("run.json", record)

    def write_json(self, name: str, content: dict[str, Any]) -> Path:
        """Write plain data into the folder."""
        return self.write_text(name, json.dumps(content, indent=1, ensure_ascii=False))

    def write_text(self, name: str, text: str) -> Path:
        """Write a text file into the folder; it appears whole or not at all."""
        path = self.folder / name
        temporary = path.with_name(f"{temporary_prefix()}{path.name}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except OSError as error:
            raise StoreError(f"the file {path} cannot be written: {error.strerror}.") from error
        return path


def list_maps(folder: str | Path) -> dict[str, Path]:
    """The map files of a run's folder by name; none is a mistake worth a sentence."""
    folder = Path(folder)
    if not folder.is_dir():
        raise StoreError(f"there is no folder {folder}.")
    paths = sorted((folder / "maps").glob("*.nc"))
    if not paths:
        raise StoreError(f"there are no maps in {folder}: run a method first.")
    return {path.stem: path for path in paths}


def map_name(model: str, task: str, method: str, group: str) -> str:
    """The name of a map's file: one per model × task × method × settings.

    The end of the name tells apart what has the same names but other content or settings.
    """
    names = ".".join((Path(part).name or part)[:LONGEST] for part in (model, task, method))
    return f"{names}-{group[:8]}"


def joint_name(names: Sequence[str]) -> str:
    """A name for what several maps share: short, and another one for other maps."""
    if len(names) == 1:
        return names[0]
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:8]
    first = names[0].rsplit("-", 1)[0]
    return f"{first}+{len(names) - 1}-more-{digest}"


def safe_name(name: str) -> str:
    """A name that is a file name everywhere."""
    return re.sub(r"[^\w.+-]+", "-", name).strip(".-") or "map"


def _remove_if_orphan(path: Path) -> None:
    """Remove a temporary file of this machine whose process is gone; others are not ours."""
    found = re.match(rf"{re.escape(TEMPORARY)}(.+)-(\d+)-", path.name)
    if found and found[1] == socket.gethostname() and not psutil.pid_exists(int(found[2])):
        path.unlink(missing_ok=True)
