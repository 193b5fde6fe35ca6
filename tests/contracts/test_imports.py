"""The arrows between rooms: who may import whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import headatlas

SOURCE = Path(headatlas.__file__).parent
EVERYTHING = {
    "errors", "maps", "models", "tasks", "methods", "checks", "plots", "report", "runs"
}  # fmt: skip
MAY_IMPORT = {
    "errors": set(),
    "maps": {"errors"},
    "models": {"errors"},
    "tasks": {"errors"},
    "methods": {"errors", "maps", "models", "tasks"},
    "checks": {"errors", "maps", "models", "tasks"},
    "plots": {"errors", "maps"},
    "report": {"errors", "maps", "plots"},
    "runs": {"errors", "maps", "models", "tasks", "methods", "checks"},
    "cli": EVERYTHING | {"__version__"},
}
NO_TORCH = ("maps", "plots", "report")


def imports(path):
    """Every module that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} has a relative import"
            yield node.module
            if node.module == "headatlas":
                yield from (f"headatlas.{alias.name}" for alias in node.names)


def files(room):
    path = SOURCE / room
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def test_every_room_is_known():
    rooms = {path.stem for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"}
    rooms = {room for room in rooms if not room.startswith("__")}
    assert rooms == set(MAY_IMPORT)


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_rooms_import_only_what_they_may(room):
    for path in files(room):
        for module in imports(path):
            parts = module.split(".")
            if parts[0] == "headatlas" and len(parts) > 1 and parts[1] != room:
                assert parts[1] in MAY_IMPORT[room], f"{path.relative_to(SOURCE)} imports {module}"


@pytest.mark.parametrize("room", NO_TORCH)
def test_rooms_without_torch(room):
    code = f"import sys, headatlas.{room}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_public_names_exist():
    for name in headatlas.__all__:
        assert getattr(headatlas, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        headatlas.nothing  # noqa: B018
