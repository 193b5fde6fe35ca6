"""Write the generated pages in docs/ again: `make docs`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools")]

WIDTH = 100


def architectures_page() -> str:
    """docs/architectures.md"""
    from architectures.table import examine_all, page

    return page(examine_all())


def cli_page() -> str:
    """docs/cli.md: the help of every command, as the program prints it."""
    parts = [
        "# Command line",
        "",
        "What `headatlas --help` and `headatlas COMMAND --help` print. Written by `make docs`.",
        "",
        "Exit code 0 for success, 2 for a mistake in what was given (one sentence on standard "
        "error), 1",
        "for anything else.",
    ]
    for title, text in _helps():
        parts += ["", f"## {title}", "", "```text", text.rstrip(), "```"]
    return "\n".join(parts) + "\n"


def tasks_page() -> str:
    """docs/tasks.md"""
    import task_page

    task_page.measure_missing()
    return task_page.page()


def _helps() -> Iterator[tuple[str, str]]:
    from typer.main import get_command
    from typer.testing import CliRunner

    from headatlas.cli.main import app

    runner = CliRunner(env={"COLUMNS": str(WIDTH), "TERM": "dumb", "NO_COLOR": "1"})
    for arguments in ([], *_commands(get_command(app))):
        result = runner.invoke(app, [*arguments, "--help"], prog_name="headatlas")
        lines = (line.rstrip() for line in result.output.splitlines())
        yield " ".join(["headatlas", *arguments]), "\n".join(lines).strip("\n")


def _commands(group: object) -> Iterator[list[str]]:
    """The words of every command, also of those within commands."""
    for name, command in sorted(getattr(group, "commands", {}).items()):
        yield [name]
        yield from ([name, *words] for words in _commands(command))


PAGES: dict[str, Callable[[], str]] = {
    "architectures.md": architectures_page,
    "cli.md": cli_page,
    "tasks.md": tasks_page,
}


def main() -> None:
    folder = ROOT / "docs"
    folder.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        (folder / name).write_text(make(), encoding="utf-8")
        print(f"wrote docs/{name}")


if __name__ == "__main__":
    main()
