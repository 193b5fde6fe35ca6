"""Which functions a probe mistakes for which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headatlas.plots.captions import check_heading
from headatlas.plots.shares import share_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.checks.results import ProbeReport


def confusion(reports: Sequence[ProbeReport]) -> Figure:
    """Confusion matrix of a probe: share of a function's examples (row) taken for another."""
    (report,) = reports
    share = np.array(report.confusion, dtype=float)
    figure, panel = share_table(share, report.functions, "share of the examples", below=1.75)
    panel.set_ylabel("true function", fontsize=8)
    panel.set_xlabel("predicted function", fontsize=8)
    accuracy = f"accuracy {report.accuracy:.0%} ({report.low:.0%} … {report.high:.0%})"
    text = report.over_text
    gain = f"strongest text {text.accuracy:.0%}, gain {text.gain_text}"
    check_heading(figure, report, f"{accuracy}, chance {report.chance:.0%}", gain)
    return figure
