"""What the figures of checks and comparisons show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headatlas.errors import PlotError
from headatlas.plots import draw
from headatlas.tasks.functions import FUNCTIONS
from plots.made_up import (
    comparison,
    contrast_check,
    function_check,
    gating_check,
    probe_report,
)

NAMES = list(FUNCTIONS[:3])


def labels(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def heading(figure):
    return figure.texts[0].get_text()


def test_toggling_has_a_row_per_task_and_a_panel_per_score():
    figure = draw("toggling", [gating_check("math"), gating_check("syntax")])
    titles = [axes.texts[0].get_text() for axes in figure.axes]
    scores = ("facilitation", "interference", "irrelevance")
    assert titles == [f"{task}: {score}" for task in ("Math", "Syntax") for score in scores]
    first, second, mean = figure.axes[0].lines[:3]
    assert first.get_ydata().tolist() == [0, -1]
    assert second.get_ydata().tolist() == [0, -2]
    assert mean.get_xdata().tolist() == [1, 2]
    assert mean.get_ydata().tolist() == [0, -1.5]  # the third step toggles heads of other roles
    (bar,) = figure.axes[0].containers[0].lines[2]
    assert bar.get_segments()[0].tolist() == [[2.0, -2.0], [2.0, -1.0]]
    assert figure.axes[2].get_ylim() == figure.axes[0].get_ylim()
    assert {axes.get_ylabel() for axes in figure.axes} == {"log P, off − on (nats)"}
    assert heading(figure) == "model, 2 seeds, 40 test questions"
    explained = [text.get_text() for text in figure.legends[0].get_texts()]
    assert explained == ["seeds", "mean over seeds", "all heads of the role, 95 % interval"]


def test_toggling_without_heads_of_a_role_has_no_numbers_there():
    check = gating_check()
    *others, last = check.toggling.curves
    curves = (*others, replace(last, count=0.0))
    figure = draw("toggling", replace(check, toggling=replace(check.toggling, curves=curves)))
    full, _, empty = figure.axes
    assert labels(full.xaxis)
    assert labels(empty.xaxis) == labels(empty.yaxis) == []
    assert empty.get_xlabel() == empty.get_ylabel() == ""
    assert empty.texts[-1].get_text() == "no head has this role"


def test_toggling_has_plain_numbers_of_heads():
    figure = draw("toggling", gating_check())
    figure.canvas.draw()
    ticks = [text.get_text() for text in figure.axes[0].xaxis.get_ticklabels(which="both")]
    assert {"1", "2"} <= set(ticks)
    assert not any("mathdefault" in text for text in ticks)


def test_masking_shows_the_functions_heads_beside_random_ones():
    figure = draw("masking", function_check())
    assert [axes.get_title() for axes in figure.axes] == NAMES
    axes = figure.axes[0]
    random, chosen = axes.get_legend_handles_labels()[0]
    assert random.get_ydata().tolist() == [-0.1, -0.1]
    points, _, (bars,) = chosen.lines
    assert points.get_xdata().tolist() == [1, 5]
    assert points.get_ydata().tolist() == pytest.approx([-0.3, -1.1])
    assert bars.get_segments()[0][:, 1].tolist() == pytest.approx([-0.4, -0.2])
    assert heading(figure) == "model, Cognition, 40 test questions"


def test_strengthening_goes_through_no_change_at_strength_0():
    figure = draw("strengthening", function_check())
    assert [axes.get_title() for axes in figure.axes] == NAMES
    points, _, (bars,) = figure.axes[0].containers[0].lines
    assert points.get_xdata().tolist() == [-1, 0, 1]
    assert points.get_ydata().tolist() == [-1, 0, 1]
    assert bars.get_segments()[1].tolist() == [[0, 0], [0, 0]]
    assert heading(figure) == "model, Cognition, 40 test questions"


def test_specificity_is_bold_where_the_interval_leaves_out_0():
    panel = draw("specificity", function_check()).axes[0]
    np.testing.assert_allclose(panel.images[0].get_array(), -0.05 - 0.5 * np.eye(3))
    texts = panel.texts
    assert texts[0].get_text() == "-0.55"
    assert [text.get_weight() for text in texts[:2]] == ["bold", "normal"]
    assert labels(panel.yaxis) == [f"{name} ({i})" for i, name in enumerate(NAMES, 1)]
    assert labels(panel.xaxis) == NAMES


def test_confusion_has_true_functions_as_rows():
    figure = draw("confusion", probe_report())
    panel = figure.axes[0]
    shares = panel.images[0].get_array()
    assert shares[:2].tolist() == [[0.75, 0.25, 0.0], [0.5, 0.5, 0.0]]
    assert shares[2].mask.all()
    written = [text.get_text() for text in panel.texts]
    assert written == ["75%", "25%", "0%", "50%", "50%", "0%", "", "", ""]
    assert labels(panel.yaxis) == labels(panel.xaxis) == NAMES
    assert heading(figure).endswith("40 test questions\naccuracy 62% (55% … 70%), chance 33%")
    figure.canvas.draw()
    assert labels(figure.axes[1].yaxis)[-1] == "100%"


def test_contrast_has_a_panel_per_form_that_is_kept():
    figure = draw("contrast", contrast_check())
    titles = [axes.texts[0].get_text() for axes in figure.axes]
    assert titles == ["keep icl, forget instruction", "keep instruction, forget icl"]
    axes = figure.axes[0]
    assert [round(bar.get_height(), 2) for bar in axes.patches[:4]] == [0.9, 0.8, 0.7, 0.0]
    retained, forgotten = (lines.get_segments()[0] for lines in axes.collections)
    assert retained[:, 1].tolist() == [0.7, 0.9]
    assert forgotten[:, 1].tolist() == [0.0, 0.1]
    assert labels(axes.xaxis) == ["Antonym"]
    assert heading(figure) == "model, 2 seeds, 40 test questions"
    assert figure.legends[0].get_texts()[-1].get_text() == "95 % interval"


def test_agreement_has_a_line_per_function_and_a_colour_per_pair():
    figure = draw("agreement", comparison())
    everything, within = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["all heads", "within layers"]
    assert labels(everything.yaxis) == list(FUNCTIONS)
    assert heading(figure) == "model, Cognition"
    two = replace(comparison(), model="owner/one / two", task="math / syntax")
    assert heading(draw("agreement", two)) == "one, two, Math, Syntax"
    pairs = [text.get_text() for text in figure.legends[0].get_texts()]
    assert pairs == ["probing – ablation", "probing – gating", "ablation – gating"]
    for axes, middle, low, high in ((everything, 0.2, 0.1, 0.4), (within, 0.1, -0.1, 0.2)):
        points, _, (bars,) = axes.containers[1].lines
        assert points.get_xdata().tolist() == [middle] * 8
        assert points.get_ydata().tolist() == list(range(8))
        assert bars.get_segments()[0][:, 0].tolist() == pytest.approx([low, high])


def test_agreement_without_functions_has_a_line_per_task():
    both = [
        comparison((None,), ("gating", "ablation"), task="math"),
        comparison((None,), ("gating", "ablation"), task="antonym"),
    ]
    axes = draw("agreement", both).axes[0]
    assert labels(axes.yaxis) == ["Math", "Antonym"]
    assert heading(axes.figure) == "model"
    (bars,) = axes.containers
    assert bars.lines[0].get_ydata().tolist() == [0, 1]
    many = draw("agreement", comparison((None,), ("a", "b", "c", "d", "e"))).axes[0]
    at = [float(bars.lines[0].get_ydata()[0]) for bars in many.containers]
    assert len(set(at)) == 10
    assert max(map(abs, at)) < 0.5


def test_checks_without_numbers_get_one_sentence():
    check = function_check()
    for name in ("masking", "strengthening"):
        with pytest.raises(PlotError, match=f"no numbers for the figure {name}"):
            draw(name, replace(check, **{name: ()}))
    table = replace(check.specificity, functions=(), heads=(), change=())
    with pytest.raises(PlotError, match="no numbers for the figure specificity"):
        draw("specificity", replace(check, specificity=table))
    with pytest.raises(PlotError, match="no pair of tasks"):
        draw("contrast", replace(contrast_check(), contrasts=()))
    with pytest.raises(PlotError, match="no pair of maps"):
        draw("agreement", comparison(()))
