"""The word lists and questions that ship with the package."""

from __future__ import annotations

from importlib.resources import files


def read_list(name: str) -> list[list[str]]:
    """The lines of a list, split at tabs."""
    return [line.split("\t") for line in read_text(f"{name}.tsv").splitlines() if line]


def read_text(name: str) -> str:
    """The text of a data file of the package."""
    return files(__package__).joinpath("data", name).read_text(encoding="utf-8")
