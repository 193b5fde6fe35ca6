"""headatlas compare"""

from __future__ import annotations

from collections.abc import Sequence

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import name_files, say, shortened, stdout, table


def compare(
    folder: given.Folder,
    *,
    map_name: given.MapNames = None,
) -> None:
    """How far do maps agree?

    Rank correlation over heads and shared top heads, with intervals, of every two of several maps
    of models with the same layers and heads: methods, tasks, models. Seeds are averaged and signs
    aligned, so that larger always means more important. Without --map, all methods of a task are
    compared, all tasks of a method (with the same settings), and all models of a task and method.
    A patching map is also compared with gating maps of its task: do heads with a large indirect
    effect facilitate more?

    \b
    Examples:
      headatlas compare atlas --map math.gating --map math.ablation
      headatlas compare atlas
    """
    with given.stored_atlas(folder) as atlas:
        if map_name:
            maps = _chosen(atlas, map_name)
            comparisons = [atlas.compare(*maps)]
        else:
            maps = list(atlas.maps().values())
            if len(maps) < 2:
                raise ha.HeadAtlasError(
                    f"there is one map in {folder}, {maps[0].name}: nothing to compare."
                )
            comparisons = atlas.compare_all()
        mediations = atlas.mediations(*maps)
        atlas.save_figures(*comparisons, *mediations)
    for number, comparison in enumerate(comparisons):
        show_comparison(comparison, explained=number == 0)
    for mediation in mediations:
        for line in mediation.summary():
            say(line)
    name_files(atlas.files)


def _chosen(atlas: ha.Atlas, names: Sequence[str]) -> list[ha.Map]:
    whole_names = list(dict.fromkeys(atlas.store.find(name) for name in names))
    if len(whole_names) < 2:
        raise ha.HeadAtlasError(
            f"a comparison needs two maps: choose from {', '.join(atlas.names)}."
        )
    return [atlas.load(name) for name in whole_names]


def show_comparison(comparison: ha.Comparison, *, explained: bool = True) -> None:
    """Print how far maps agree, pair by pair; the first time with what the columns are."""
    first = comparison.rows[0]
    title = f"{comparison.subject}: rank correlation over heads"
    if explained:
        most = max(row.top_k for row in comparison.rows)
        title += (
            f" (95 %; within layers), and the share of the {most} most important heads that "
            "both have (in brackets by chance, with as many in every layer). Ceiling: the highest "
            "correlation to expect given each map's noise (maps measured on the same questions can "
            "exceed it, as they share errors); disattenuated: corrected for noise"
        )
    for warning in comparison.warnings:
        say(f"CAUTION: {warning}")
    say(title)
    functions = ["function"] if first.function else []
    columns = (
        *functions,
        "maps",
        "heads",
        "correlation",
        "95 %",
        "ceiling",
        "disattenuated",
        "in layers",
        "top",
    )
    shown = table(*columns, left=("function", "maps"))
    for row in comparison.rows:
        shown.add_row(
            *([shortened(row.function)] if row.function else []),
            " – ".join(shortened(name, 30) for name in row.pair),
            str(row.heads),
            f"{row.spearman:+.2f}",
            row.interval_text,
            _number(row.ceiling),
            _number(row.disattenuated),
            _number(row.within),
            f"{row.top_overlap:.0%} ({row.top_expected:.0%})" if row.has_top else "–",
        )
    stdout.print(shown)
    for reason, pairs in _reasons(comparison).items():
        of = "" if len(pairs) == len(comparison.rows) else f" ({', '.join(pairs)})"
        say(f"– is not known{of}: {reason}")


def _reasons(comparison: ha.Comparison) -> dict[str, list[str]]:
    """Why something is not known, with the pairs of maps that it holds for."""
    pairs: dict[str, list[str]] = {}
    for row in comparison.rows:
        if row.unknown:
            pairs.setdefault(row.unknown, []).append(" – ".join(row.pair))
    return pairs


def _number(value: float) -> str:
    return f"{value:+.2f}" if value == value else "–"
