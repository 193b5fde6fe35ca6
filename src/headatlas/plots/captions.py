"""Words around the panels: titles, headings, and warnings that must not be missed."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from headatlas.plots.panels import panels_box

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.figure import Figure

    from headatlas.checks.results import FunctionCheck, ProbeReport
    from headatlas.maps import Map

SPELLINGS = {
    "aba": "ABA",
    "abb": "ABB",
    "cogqa": "CogQA",
    "english-french": "English–French",
    "ioi": "IOI",
}
"""Tasks whose title is not just their name with a capital."""

METHOD_TITLES = {"contrast": "contrastive gating"}
"""Methods whose title is not their name."""

WARNING = "warning"
"""The label of a warning's text, by which earlier warnings are found."""

WARNING_CHARACTERS = 88
"""Where a long warning is broken."""

SHOWN = {"facilitation": "F", "interference": "N"}
"""The scores whose reliability a figure states."""

WARNING_COLOUR = "#b2182b"
WARNING_GAP = 0.06
HEADING_GAP = 0.07
"""Inches between a warning and what stands above it, and between a heading and the panels."""


def short_model(head_map: Map) -> str:
    """The last part of the model's name."""
    return _last_part(str(head_map.provenance.get("model", "")))


def task_title(head_map: Map) -> str:
    """The name of a map's task as a title."""
    return title_of(str(head_map.provenance.get("task", "task")))


def title_of(task: str) -> str:
    """A task's name as a title, as all figures spell it.

    >>> title_of("capitals"), title_of("tasks/antonym:icl"), title_of("math / ioi")
    ('Capitals', 'Antonym:icl', 'Math, IOI')
    """
    names = [_last_part(name) for name in task.split(" / ")]
    return ", ".join(SPELLINGS.get(name, name[:1].upper() + name[1:]) for name in names)


def method_title(head_map: Map) -> str:
    """The method's name as a title."""
    method = str(head_map.provenance.get("method", ""))
    if method == "ablation":
        settings = dict(head_map.provenance.get("settings", {}))
        return f"{settings.get('replacement', 'zero')} ablation"
    return METHOD_TITLES.get(method, method)


def seeds_text(maps: Sequence[Map], rule: str | None = None) -> str:
    """The number of seeds of the maps, such as "10 seeds" or "3–10 seeds".

    Before it the rule by which they are aggregated, in the maps or with `rule` in the figure.
    """
    rules = {_rule_of(head_map, rule) for head_map in maps}
    seeds = count_text([_seeds_of(head_map) for head_map in maps], "seed")
    word = rules.pop() if len(rules) == 1 else None
    return f"{word}, {seeds}" if word else seeds


def count_text(counts: Iterable[int], what: str) -> str:
    """One number or a range, and what is counted.

    >>> count_text([1], "seed"), count_text([3, 10, 4], "seed")
    ('1 seed', '3–10 seeds')
    """
    distinct = sorted(set(counts))
    words = "–".join(str(count) for count in sorted({distinct[0], distinct[-1]}))
    return f"{words} {what}{'' if distinct == [1] else 's'}"


def _rule_of(head_map: Map, rule: str | None) -> str | None:
    if _seeds_of(head_map) == 1:
        return None
    return rule if "seed" in head_map.data.dims else head_map.provenance.get("aggregated")


def _seeds_of(head_map: Map) -> int:
    """The number of seeds in a map, or of those that were aggregated in it."""
    if "seed" in head_map.data.coords or "seed" in head_map.data.dims:
        return int(head_map.data.sizes.get("seed", 1))
    return len(head_map.provenance.get("seeds") or [0])


def heading(figure: Figure, maps: Sequence[Map], words: str | None = None) -> None:
    """Model and number of seeds above the panels, and the maps' warnings below them."""
    models = ", ".join(dict.fromkeys(short_model(head_map) for head_map in maps))
    first = f"{models}, {words or seeds_text(maps)}"
    title(figure, "\n".join([first, *reliability_lines(maps)]))
    show_warnings(figure, maps)


def reliability_lines(maps: Sequence[Map]) -> list[str]:
    """The schedules of gating maps, and how far the mean over their seeds reproduces."""
    gating = [head_map for head_map in maps if head_map.reliability is not None]
    texts = {task_title(head_map): schedule_text(head_map) for head_map in gating}
    schedules = list(dict.fromkeys(filter(None, texts.values())))
    if len(schedules) > 1:
        schedules = [f"{task}: {words}" for task, words in texts.items() if words]
    parts = []
    for head_map in gating:
        reliability = head_map.reliability
        if reliability is not None and reliability.seeds > 1:
            scores = (
                f"{word} {reliability.scores[name].mean_map:.2f}" for name, word in SHOWN.items()
            )
            prefix = f"{task_title(head_map)} " if len(maps) > 1 else ""
            parts.append(f"{prefix}{', '.join(scores)}")
    return [*schedules, *([f"reliability of the mean: {'; '.join(parts)}"] if parts else [])]


def schedule_text(head_map: Map) -> str:
    """How long the gates of a map were learned: updates of the three fits, and questions each."""
    batch_size = head_map.provenance.get("settings", {}).get("batch_size")
    if batch_size is None or "point_step" not in head_map.data:
        return ""
    updates = head_map.data["point_step"].max("point").to_numpy().tolist()
    return f"{' + '.join(map(str, updates))} updates of {batch_size} questions"


def check_heading(figure: Figure, check: FunctionCheck | ProbeReport, *lines: str) -> None:
    """Model, task and number of test questions above the panels, and any further lines."""
    questions = count_text([check.questions], "test question")
    facts = (_last_part(check.about.model), title_of(check.about.task), questions)
    title(figure, "\n".join((", ".join(facts), *lines)))


def models_heading(figure: Figure, models: Iterable[str], *words: str) -> None:
    """The models of several results above the panels, and any further words."""
    names = [_last_part(name) for model in models for name in model.split(" / ")]
    title(figure, ", ".join(dict.fromkeys(names)), *words)


def title(figure: Figure, *words: str) -> None:
    """Text right above all panels and centred over them, to be written after they are drawn."""
    box = panels_box(figure)
    top = box.y1 + HEADING_GAP / figure.get_figheight()
    x = (box.x0 + box.x1) / 2
    figure.text(x, top, ", ".join(words), ha="center", va="bottom", fontsize=9)


def show_warnings(figure: Figure, maps: Sequence[Map]) -> None:
    """Every warning that the maps carry, below the panels."""
    for words in [*_unfinished(maps), *_unreliable(maps), *_task_warnings(maps)]:
        warn(figure, words)


def _unreliable(maps: Sequence[Map]) -> list[str]:
    """What maps say against themselves."""
    lines = []
    for head_map in maps:
        for warning in head_map.warnings:
            of_task = f" ({task_title(head_map)})" if len(maps) > 1 else ""
            lines += wrap(f"Caution{of_task}: {warning}.", WARNING_CHARACTERS)
    return lines


def warn(figure: Figure, words: str) -> None:
    """A warning below everything else, also below earlier ones; call it after the legend."""
    earlier = [text for text in figure.texts if text.get_label() == WARNING]
    boxes = [artist.get_window_extent() for artist in (*figure.legends, *earlier)]
    box = panels_box(figure)
    lowest = min([box.y0, *(other.y0 / figure.bbox.height for other in boxes)])
    figure.text(
        (box.x0 + box.x1) / 2,
        lowest - WARNING_GAP / figure.get_figheight(),
        words,
        fontsize=8,
        color=WARNING_COLOUR,
        ha="center",
        va="top",
        label=WARNING,
    )


def _task_warnings(maps: Sequence[Map]) -> list[str]:
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
        f"{unfinished} of {task_title(head_map)}" if len(maps) > 1 else unfinished
        for head_map in maps
        if (unfinished := head_map.provenance.get("unfinished"))
    ]
    return [f"Unfinished: {', '.join(parts)}."] if parts else []


def _last_part(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1]
