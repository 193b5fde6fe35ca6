"""Words around the panels: titles, headings, and warnings that must not be missed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.checks.results import FunctionCheck, ProbeReport
    from headatlas.maps import Map

METHOD_TITLES = {"ablation": "zero ablation", "contrast": "contrastive gating"}
"""Methods whose title is not their name."""

WARNING = "warning"
"""The label of a warning's text, by which earlier warnings are found."""

WARNING_COLOUR = "#b2182b"
WARNING_TOP, WARNING_LINE = 0.3, 0.17
"""Inches from the lower edge to the first warning (a legend may reach a little below the edge),
and from one warning to the next."""


def short_model(head_map: Map) -> str:
    """The last part of the model's name."""
    return _last_part(str(head_map.provenance.get("model", "")))


def task_title(head_map: Map) -> str:
    """The task's name as a title."""
    name = _last_part(str(head_map.provenance.get("task", "task")))
    return name[:1].upper() + name[1:]


def method_title(head_map: Map) -> str:
    """The method's name as a title."""
    method = str(head_map.provenance.get("method", ""))
    return METHOD_TITLES.get(method, method)


def seeds_text(maps: Sequence[Map]) -> str:
    """The number of seeds of the maps, such as "10 seeds" or "3–10 seeds"."""
    counts = sorted({int(head_map.data.sizes.get("seed", 1)) for head_map in maps})
    words = "–".join(str(count) for count in sorted({counts[0], counts[-1]}))
    return f"{words} seed{'' if counts == [1] else 's'}"


def heading(figure: Figure, maps: Sequence[Map], words: str | None = None) -> None:
    """Model and number of seeds above the panels, and the maps' warnings below them."""
    models = ", ".join(dict.fromkeys(short_model(head_map) for head_map in maps))
    _title(figure, f"{models}, {words or seeds_text(maps)}", 0.12)
    show_warnings(figure, maps)


def check_heading(figure: Figure, check: FunctionCheck | ProbeReport, *words: str) -> None:
    """Model, task and number of test questions above the panels, and any further words."""
    questions = f"{check.questions} test questions"
    _title(figure, ", ".join((check.about.model, check.about.task, questions, *words)), 0.08)


def show_warnings(figure: Figure, maps: Sequence[Map]) -> None:
    """Every warning that the maps carry, below the panels."""
    for words in [*_unfinished(maps), *_cautions(maps)]:
        warn(figure, words)


def warn(figure: Figure, words: str) -> None:
    """A warning below everything else; a second one goes below the first."""
    earlier = sum(text.get_label() == WARNING for text in figure.texts)
    below = -(WARNING_TOP + earlier * WARNING_LINE) / figure.get_size_inches()[1]
    figure.text(
        0.5, below, words, fontsize=8, color=WARNING_COLOUR, ha="center", va="top", label=WARNING
    )


def _cautions(maps: Sequence[Map]) -> list[str]:
    """A sentence per verdict about tasks that the untouched model is not known to do."""
    tasks: dict[str, list[str]] = {}
    for head_map in maps:
        if warning := head_map.provenance.get("task_warning"):
            verdict = str(warning).partition(" on this task")[0]
            tasks.setdefault(verdict, []).append(task_title(head_map))
    return [
        f"Caution: the untouched model is {verdict} on "
        f"{'this task' if len(maps) == 1 else ', '.join(dict.fromkeys(names))}."
        for verdict, names in tasks.items()
    ]


def _unfinished(maps: Sequence[Map]) -> list[str]:
    """A sentence that says how far an interrupted run got."""
    parts = [
        f"{head_map.provenance['unfinished']}{f' of {task_title(head_map)}' * (len(maps) > 1)}"
        for head_map in maps
        if head_map.provenance.get("unfinished")
    ]
    return [f"Unfinished: {', '.join(parts)}."] if parts else []


def _title(figure: Figure, words: str, inches: float) -> None:
    """Centred text, `inches` below the upper edge."""
    top = 1 - inches / figure.get_size_inches()[1]
    figure.text(0.5, top, words, ha="center", va="top", fontsize=9)


def _last_part(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1]
