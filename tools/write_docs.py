"""Write the generated pages in docs/ anew: `make docs`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

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


def _helps() -> Iterator[tuple[str, str]]:
    from typer.main import get_command
    from typer.testing import CliRunner

    from headatlas.cli.main import app

    runner = CliRunner(env={"COLUMNS": str(WIDTH), "TERM": "dumb", "NO_COLOR": "1"})
    names = sorted(get_command(app).commands)  # type: ignore[attr-defined]
    for arguments in ([], *([name] for name in names)):
        result = runner.invoke(app, [*arguments, "--help"], prog_name="headatlas")
        lines = (line.rstrip() for line in result.output.splitlines())
        yield " ".join(["headatlas", *arguments]), "\n".join(lines).strip("\n")


PAGES: dict[str, Callable[[], str]] = {
    "architectures.md": architectures_page,
    "cli.md": cli_page,
}


def main() -> None:
    folder = ROOT / "docs"
    folder.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        (folder / name).write_text(make(), encoding="utf-8")
        print(f"wrote docs/{name}")


if __name__ == "__main__":
    main()
