"""The arrows between rooms: who may import whom."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import headatlas

SOURCE = Path(headatlas.__file__).parent
BELOW = {"errors", "atomic", "stats", "maps", "models", "tasks", "methods", "checks", "plots"}
MAY_IMPORT = {
    "errors": set(),
    "atomic": {"errors"},
    "stats": {"errors"},
    "maps": {"errors", "atomic", "stats"},
    "models": {"errors", "atomic", "stats"},
    "tasks": {"errors", "stats"},
    "methods": {"errors", "stats", "maps", "models", "tasks"},
    "checks": {"errors", "stats", "maps", "models", "tasks", "methods"},
    "plots": {"errors", "atomic", "stats", "maps", "checks.results"},
    "runs": BELOW,
    "cli": set(),
}
EXCEPTIONS = {
    ("maps/map.py", "plot"): "plots",
    ("maps/map.py", "_repr_html_"): "plots",
    ("maps/result.py", "plot"): "plots",
    ("maps/result.py", "_repr_html_"): "plots",
}
"""File and function that may reach up, inside that function only: `head_map.plot()` finds the
figures as pandas finds its plotting backend, and nothing is imported before it is called."""

NO_TORCH = ("stats", "maps", "plots", "checks.results")
SHARED_CLI = {
    "__init__",
    "main",
    "check_tables",
    "effect_options",
    "gating_options",
    "options",
    "screen",
}
LONGEST_CLI = 200


def files(room):
    path = SOURCE / room
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


def imports(path):
    """Every module of ours that a file imports, with the function that does so, anywhere in it and
    under TYPE_CHECKING too."""
    found = []

    def visit(node, function):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.Import):
            found.extend((function, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} has a relative import"
            names = [alias.name for alias in node.names]
            found.extend((function, f"{node.module}.{name}") for name in names)
        for child in ast.iter_child_nodes(node):
            visit(child, function)

    visit(ast.parse(path.read_text(encoding="utf-8")), None)
    return [
        (function, module)
        for function, module in found
        if module == "headatlas" or module.startswith("headatlas.")
    ]


def is_inside(module, rooms):
    """Whether a module `headatlas.a.b.c` belongs to one of the rooms, such as `a` or `a.b`."""
    name = module.removeprefix("headatlas.")
    return any(name == room or name.startswith(f"{room}.") for room in rooms)


def test_every_room_is_known():
    rooms = {path.stem for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert {room for room in rooms if not room.startswith("__")} == set(MAY_IMPORT)


@pytest.mark.parametrize("room", [room for room in MAY_IMPORT if room != "cli"])
def test_rooms_import_only_what_they_may(room):
    for path in files(room):
        place = path.relative_to(SOURCE).as_posix()
        for function, module in imports(path):
            if module == "headatlas.__version__":
                continue
            allowed = {room, *MAY_IMPORT[room], EXCEPTIONS.get((place, function), room)}
            assert is_inside(module, allowed), f"{place} imports {module}"


def test_every_exception_is_needed():
    for (place, function), room in EXCEPTIONS.items():
        modules = [module for name, module in imports(SOURCE / place) if name == function]
        assert any(is_inside(module, {room}) for module in modules), f"{place}, {function}"


def public_names(path):
    """The attributes of the package that a file uses through `import headatlas as ha`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    aliases = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "headatlas"
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id in aliases
        ):
            yield node.attr


def test_the_command_line_uses_public_names_and_its_own_files():
    public = {*headatlas.__all__, "__version__"}
    for path in files("cli"):
        for _, module in imports(path):
            name = module.removeprefix("headatlas.")
            own = is_inside(module, {"cli"}) or module == "headatlas"
            assert own or name in public, f"cli/{path.name} imports {module}"
        used = set(public_names(path))
        assert used <= public, f"cli/{path.name} uses {used - public}"


def test_nothing_imports_the_command_line():
    for path in SOURCE.rglob("*.py"):
        if path.name != "__main__.py" and path.parent.name != "cli":
            modules = [module for _, module in imports(path) if is_inside(module, {"cli"})]
            assert not modules, f"{path.relative_to(SOURCE)} imports {modules}"


def command_names():
    """All commands of the program, with the file that each belongs in."""
    import typer

    from headatlas.cli.main import app

    program = typer.main.get_command(app)
    for name, command in program.commands.items():
        if hasattr(command, "commands"):
            yield from (f"{name}_{inner}" for inner in command.commands)
        else:
            yield {"list": "listing"}.get(name, name)  # `list` is a type of Python's


def test_the_command_line_has_one_short_file_a_command():
    assert {path.stem for path in files("cli")} == SHARED_CLI | set(command_names())
    for path in files("cli"):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= LONGEST_CLI, f"cli/{path.name} has {lines} lines"


def test_rooms_without_torch():
    modules = ", ".join(f"headatlas.{room}" for room in NO_TORCH)
    every = [
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for room in NO_TORCH
        for path in files(room.replace(".", "/"))
    ]
    code = (
        f"import sys, {modules}, importlib\n"
        f"for name in {every}: importlib.import_module(name)\n"
        "assert 'torch' not in sys.modules, 'torch is imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_package_loads_nothing_heavy():
    code = (
        "import sys, headatlas\n"
        "heavy = {'torch', 'transformers', 'xarray', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
