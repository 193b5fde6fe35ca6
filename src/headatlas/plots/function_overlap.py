"""Heads that functions have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headatlas.maps.functions import ranked_heads
from headatlas.plots.captions import heading, seeds_text, task_title
from headatlas.plots.shares import share_table
from headatlas.stats.overlap import overlap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.maps import Map


def function_overlap(maps: Sequence[Map]) -> Figure:
    """Heads that two functions share, as a share of the heads that either has (before the elbow).

    Two functions without heads share none.
    """
    (head_map,) = maps
    ranked = ranked_heads(head_map)
    share = np.array(
        [
            [overlap(one.chosen, other.chosen, len(one.heads)).share for other in ranked.values()]
            for one in ranked.values()
        ]
    )
    figure, _ = share_table(np.nan_to_num(share), list(ranked), "heads in common")
    heading(figure, maps, f"{task_title(head_map)}, {seeds_text(maps)}")
    return figure
