"""headatlas compare"""

from __future__ import annotations

from itertools import combinations

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import name_files, note, say, shortened, stdout, table


def compare(
    folder: given.Folder,
    *,
    map_name: given.MapNames = None,
) -> None:
    """How far do maps agree?

    Rank correlation over heads and shared top heads, with intervals, of any two maps of models with
    the same layers and heads: two methods, two tasks, two models. Seeds are averaged and signs
    aligned, so that larger always means more important. Without --map, all pairs of maps in the
    folder are compared.

    \b
    Examples:
      headatlas compare atlas --map math.gating --map math.ablation
      headatlas compare atlas
    """
    with given.stored_atlas(folder) as atlas:
        names = list(dict.fromkeys(atlas.store.find(name) for name in map_name or atlas.names))
        if map_name and len(names) < 2:
            raise ha.HeadAtlasError(
                f"a comparison needs two maps: choose from {', '.join(atlas.names)}."
            )
        maps = [atlas.load(name) for name in names]
        if len(maps) < 2:
            raise ha.HeadAtlasError(
                f"there is one map in {folder}, {maps[0].name}: nothing to compare."
            )
        comparisons = []
        for one, other in combinations(maps, 2):
            try:
                comparisons.append(atlas.compare(one, other))
            except ha.HeadAtlasError as error:
                if map_name:
                    raise
                note(f"{one.name} and {other.name} are not compared: {error}")
        if not comparisons:
            raise ha.HeadAtlasError(f"no two maps in {folder} can be compared.")
        atlas.save_figures(*comparisons)
    for comparison in comparisons:
        show_comparison(comparison)
    name_files(atlas.files)


def show_comparison(comparison: ha.Comparison) -> None:
    """Print how far maps agree, pair by pair."""
    first = comparison.rows[0]
    title = (
        f"{comparison.task}: rank correlation over {first.heads} heads (95 %; within layers), and "
        f"the share of the {first.top_k} most important heads that both have (in brackets by "
        "chance, with as many in every layer). Ceiling: the correlation of maps that differ in "
        "noise alone; disattenuated: the correlation divided by it"
    )
    for warning in comparison.warnings:
        say(f"CAUTION: {warning}")
    say(title)
    functions = ["function"] if first.function else []
    columns = (
        *functions,
        "maps",
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
            f"{row.spearman:+.2f}",
            f"{row.low:+.2f} … {row.high:+.2f}",
            _number(row.ceiling),
            _number(row.disattenuated),
            _number(row.within),
            "–" if row.top_k >= row.heads else f"{row.top_overlap:.0%} ({row.top_expected:.0%})",
        )
    stdout.print(shown)


def _number(value: float) -> str:
    return f"{value:+.2f}" if value == value else "–"
