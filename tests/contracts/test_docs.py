"""Generated pages and the README tell what the program does now."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import cognition_page
import contrast_section
import gating_page
import methods_page
import task_page
from plots.made_up import contrast_check
from write_docs import cli_page

ROOT = Path(__file__).parents[2]


def test_the_command_reference_is_up_to_date():
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == cli_page(), "run 'make docs'"


def test_the_page_of_tasks_is_up_to_date():
    figures = task_page.read_figures()
    for task in task_page.tasks():
        assert figures[task.name]["task_hash"] == task.hash, "run 'make docs'"
    page = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
    assert page == task_page.page(), "run 'make docs'"


def test_the_pages_of_results_tell_what_is_stored_beside_them():
    pages = {"gating": gating_page, "cognition": cognition_page, "methods": methods_page}
    for name, written in pages.items():
        page = (ROOT / "docs" / "results" / f"{name}.md").read_text(encoding="utf-8")
        assert page == written.page(), "run 'python tools/results.py'"


def test_the_section_on_contrast_shows_the_control(monkeypatch):
    monkeypatch.setattr(contrast_section, "contrasts", contrast_check)
    page = "\n".join(contrast_section.contrast_section())
    assert "| 90% → 80% (70–90) | 40% (30–50) | 70% → 0% (0–10) | 15% (10–20) | holds |" in page
    assert (
        "by chance alone it would be above all 2 in 1 of 3 cases" in " ".join(page.split()).lower()
    )


def test_links_in_pages_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        for target in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_readme_names_the_two_commands_everyone_starts_with():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make atlas" in text
    assert "make test" in text


@pytest.mark.parametrize("path", sorted((ROOT / "tools").glob("*.py")), ids=lambda path: path.stem)
def test_every_tool_finds_what_it_imports(path, monkeypatch):
    monkeypatch.syspath_prepend(str(path.parent))
    import_module(path.stem)
