"""What the figures of checks and comparisons show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.text import Text

from headatlas.errors import PlotError
from headatlas.plots import draw
from headatlas.tasks.functions import FUNCTIONS
from plots.made_up import (
    change,
    comparison,
    contrast_check,
    function_check,
    gating_check,
    mediation,
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
    control, first, second, mean = figure.axes[0].lines[:4]
    assert control.get_ydata().tolist() == [0, 0, -1.5]
    assert first.get_ydata().tolist() == [0, -1, -2]
    assert second.get_ydata().tolist() == [0, -2, -3]
    assert mean.get_xdata().tolist() == [1, 2, 4]
    assert mean.get_ydata().tolist() == [0, -1.5, -2.5]
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    assert {y for x, y in band if x == 2} == {-0.5, 0.5}
    assert {y for x, y in band if x == 4} == {-2, -1}
    (bar,) = figure.axes[0].containers[0].lines[2]
    assert bar.get_segments()[0].tolist() == [[2.0, -2.0], [2.0, -1.0]]
    edges = [[line.get_ydata()[0] for line in axes.lines] for axes in figure.axes[:3]]
    assert [0.5 in each and -0.5 in each for each in edges] == [False, False, True]
    assert {axes.get_ylabel() for axes in figure.axes} == {"log P, off − on (nats)"}
    assert heading(figure) == (
        "model, 2 seeds\neach seed: 40 test questions after 10 few-shot prompts, 8 draws of random "
        "heads"
    )
    explained = [text.get_text() for text in figure.legends[0].get_texts()]
    assert explained == [
        "seeds",
        "mean over seeds",
        "at the verdict, 95 % interval",
        "random heads, all draws",
        "their mean",
        "harmless (irrelevance)",
    ]


def test_toggling_shows_why_a_map_cannot_be_trusted():
    check = replace(gating_check(), warnings=("40 % of gates are undecided",))
    words = [text.get_text() for text in draw("toggling", check).texts]
    assert "Math: 40 % of gates are undecided" in words


def test_toggling_without_heads_of_a_role_has_no_numbers_there():
    check = gating_check()
    *others, last = check.toggling.curves
    curves = (*others, replace(last, count=0.0, heads=(), change=(), controls=()))
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


def rows_of(figure, place):
    """The points of a row of a figure of functions, by marker."""
    (panel,) = figure.axes
    return {
        line.get_marker(): line.get_xdata()
        for line in panel.lines
        if len(line.get_ydata())
        and set(line.get_ydata()) == {place}
        and line.get_marker() != "None"
    }


def test_masking_shows_the_functions_heads_beside_the_band_of_random_ones():
    figure = draw("masking", function_check())
    (panel,) = figure.axes
    assert labels(panel.yaxis) == [f"{name} (5)" for name in NAMES]
    row = rows_of(figure, 1)
    assert list(row["|"]) == [-0.15, -0.1, -0.05]
    assert list(row["o"]) == pytest.approx([-1.1])
    assert list(row["D"]) == [-0.3]
    band = panel.patches[1]
    assert (band.get_x(), band.get_width()) == pytest.approx((-0.15, 0.1))
    (bars,) = panel.containers[1].lines[2]
    assert bars.get_segments()[0][:, 0].tolist() == pytest.approx([-1.2, -1.0])
    assert heading(figure) == "model, Cognition, 40 test questions"
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == [
        "random heads (3 draws)",
        "own heads; bar: 95 % interval of own minus random",
        "heads of shuffled labels",
    ]


def test_masking_without_shuffled_labels_does_not_name_them():
    check = function_check()
    rows = tuple(replace(row, shuffled=None, over_shuffled=None) for row in check.masking)
    figure = draw("masking", replace(check, masking=rows, level=0.99))
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["random heads (3 draws)", "own heads; bar: 99 % interval of own minus random"]


def test_strengthening_shows_own_pushes_beside_both_controls():
    figure = draw("strengthening", function_check())
    row = rows_of(figure, 2)
    assert [list(row[marker]) for marker in "osD"] == [
        pytest.approx([0.5]), pytest.approx([0.1]), pytest.approx([0.3]),
    ]  # fmt: skip
    assert heading(figure) == "model, Cognition, 40 test questions\nstrength 0.5"


def test_specificity_is_bold_where_the_interval_leaves_out_0_and_frames_what_harms_most():
    check = function_check()
    strong = (change(-0.2), *(change(-0.9) for _ in NAMES[1:]))
    table = replace(
        check.specificity, change=(strong, *check.specificity.change[1:]), ranks=(1, 2, 2)
    )
    figure = draw("specificity", replace(check, specificity=table))
    panel = figure.axes[0]
    expected = -0.05 - 0.5 * np.eye(3)
    expected[0] = [-0.2, -0.9, -0.9]
    np.testing.assert_allclose(panel.images[0].get_array(), expected)
    assert panel.texts[0].get_text() == "-0.20"
    assert [text.get_weight() for text in panel.texts[2:5]] == ["bold", "normal", "bold"]
    assert labels(panel.yaxis) == labels(panel.xaxis) == NAMES
    frames = [
        (patch.get_linestyle(), round(patch.get_y() + patch.get_height() / 2),
         round(patch.get_x() + patch.get_width() / 2))
        for patch in panel.patches
    ]  # fmt: skip
    assert sorted(frames[::2]) == [("solid", 0, column) for column in range(3)]
    assert sorted(frames[1::2]) == [("dotted", 0, 1), ("dotted", 1, 1), ("dotted", 2, 2)]
    assert heading(figure).endswith("\nown heads harm most for 1 of 3 functions (chance 1)")


def test_confusion_has_true_functions_as_rows():
    figure = draw("confusion", probe_report())
    panel = figure.axes[0]
    shares = panel.images[0].get_array()
    assert shares[:2].tolist() == [[0.75, 0.25, 0.0], [0.5, 0.5, 0.0]]
    assert shares[2].mask.all()
    written = [text.get_text() for text in panel.texts]
    assert written == ["75%", "25%", "0%", "50%", "50%", "0%", "", "", ""]
    assert labels(panel.yaxis) == labels(panel.xaxis) == NAMES
    assert heading(figure).endswith(
        "40 test questions\naccuracy 62% (55% … 70%), chance 33%\n"
        "strongest text 60%, gain +2.5 points (-10.0 … +15.0)"
    )
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
    in_legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert in_legend[2:] == ["95 % interval", "gates shuffled within layers"]
    ticks = axes.lines
    assert [line.get_ydata().tolist() for line in ticks] == [[0.3, 0.5], [0.1, 0.2]]
    bars = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches[:4]]
    places = [place for line in ticks for place in line.get_xdata()]
    assert not any(left <= place <= right for place in places for left, right in bars)


def test_a_contrast_without_shuffled_gates_has_no_ticks():
    check = contrast_check()
    pairs = [replace(pair, retain_shuffled=(), forget_shuffled=()) for pair in check.contrasts]
    figure = draw("contrast", replace(check, contrasts=tuple(pairs)))
    assert figure.legends[0].get_texts()[-1].get_text() == "95 % interval"
    assert not any(len(line.get_xdata()) for line in figure.axes[0].lines)


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


def measured(**reliabilities):
    """Three maps of one task: all heads agree in rows 0.7 and −0.3, the last pair is unknown."""
    known = comparison((None,), ("a", "b", "c"), task="math")
    first, second, third = known.rows
    rows = (
        replace(
            first, spearman=0.7, low=0.5, high=0.8, reliability=(0.9, 0.4),
            within_reliability=(0.8, 0.2),
        ),
        replace(second, spearman=-0.3, low=-0.5, high=-0.1, reliability=(0.7, 0.5)),
        replace(third, spearman=float("nan"), low=float("nan"), high=float("nan")),
    )  # fmt: skip
    return replace(known, rows=rows)


def test_an_agreement_matrix_has_all_heads_below_the_diagonal_and_layers_above():
    figure = draw("agreement-matrix", measured())
    (panel,) = figure.axes
    (image,) = panel.images
    shown = image.get_array()
    assert (image.get_cmap().name, *image.get_clim()) == ("RdBu_r", -1, 1)
    assert [shown[1, 0], shown[2, 0]] == pytest.approx([0.7, -0.3])
    assert [shown[0, 1], shown[0, 2], shown[1, 2]] == pytest.approx([0.1] * 3)
    assert [bool(shown.mask[place]) for place in ((0, 0), (1, 1), (2, 1))] == [True] * 3
    words = {(round(text.get_position()[1]), text.get_position()[0]): [] for text in panel.texts}
    for text in panel.texts:
        x, y = text.get_position()
        words[round(y), x].append((text.get_text(), text.get_weight()))
    assert words[1, 0] == [("+0.70", "bold"), ("of 0.60", "normal")]
    assert words[0, 1] == [("+0.10", "normal"), ("of 0.40", "normal")]
    assert words[2, 0] == [("-0.30", "bold"), ("of 0.59", "normal")]
    assert words[2, 1] == [("–", "normal")]
    assert [words[i, i][0][0] for i in range(3)] == ["0.80", "0.40", "0.50"]
    assert labels(panel.xaxis) == labels(panel.yaxis) == ["a", "b", "c"]
    assert heading(figure).startswith("model, Math\nbelow the diagonal: rank correlation")
    tasks = replace(measured(), task="a / b / c", method="ablation (mean)")
    assert heading(draw("agreement-matrix", tasks)).startswith("model, Ablation (mean)\n")


def test_an_agreement_matrix_has_a_panel_per_function():
    figure = draw("agreement-matrix", comparison(FUNCTIONS[:5]))
    visible = [axes for axes in figure.axes if axes.get_visible()]
    titles = [axes.texts[0].get_text() for axes in visible]
    assert titles == list(FUNCTIONS[:5])
    assert [any(labels(axes.yaxis)) for axes in visible] == [True, False, False, False, True]
    assert [any(labels(axes.xaxis)) for axes in visible] == [False, True, True, True, True]


def test_an_agreement_matrix_of_two_maps_is_refused():
    sentence = r"^the figure agreement-matrix needs 3 or more maps, which this comparison does not"
    with pytest.raises(PlotError, match=sentence):
        draw("agreement-matrix", comparison(kinds=("gating", "ablation")))
    with pytest.raises(PlotError, match="no pair of maps"):
        draw("agreement-matrix", comparison(()))


def test_mediation_shows_every_head_and_names_those_that_mediate():
    figure = draw("mediation", mediation())
    (panel,) = figure.axes
    others, mediating = (points.get_offsets() for points in panel.collections)
    assert mediating.tolist() == [[9.0, 0.9], [8.0, 0.9]]
    assert others[:, 0].tolist() == list(range(7, -1, -1))
    assert set(others[:, 1]) == {0.1}
    colours = [tuple(points.get_facecolor()[0]) for points in panel.collections]
    assert colours[0] != colours[1]
    assert panel.lines[0].get_xdata() == [7.5, 7.5]
    assert [text.get_text() for text in panel.texts] == ["Math", "4.1", "4.0"]
    assert heading(figure) == (
        "model, 3 seeds\n2 of 10 heads mediate\nAUROC 0.90 (0.60 for random heads of the same "
        "layers, p = 0.001), Welch's t(23.05) = 8.50"
    )
    explained = [text.get_text() for text in figure.legends[0].get_texts()]
    assert explained == ["other heads", "heads that mediate", "mean + 3 sd"]


def test_names_of_heads_with_equal_effects_stay_apart():
    result = mediation()
    rows = tuple(replace(row, effect=9.0) if row.mediates else row for row in result.rows)
    (panel,) = draw("mediation", replace(result, rows=rows)).axes
    one, other = (Text.get_window_extent(text) for text in panel.texts[1:])  # without the line
    assert one.x1 < other.x0


def test_mediation_has_a_panel_and_a_line_per_task_and_shows_warnings():
    several = [
        mediation(),
        mediation("syntax", 0, 5),
        mediation("ioi", 1, 1, ("the gating map has one seed",)),
        mediation("antonym"),
    ]
    figure = draw("mediation", several)
    visible = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.texts[0].get_text() for axes in visible] == ["Math", "Syntax", "IOI", "Antonym"]
    lines = heading(figure).splitlines()
    assert lines[0] == "model, 1–5 seeds"
    assert lines[2:4] == [
        "Syntax: 0 of 10 heads mediate; no test: no head mediates",
        "IOI: 1 of 10 heads mediate; AUROC 0.90 (0.60 for random heads of the same layers, "
        "p = 0.001)",
    ]
    words = [text.get_text() for text in figure.texts]
    assert "Caution (IOI): the gating map has one seed." in words


def test_checks_without_numbers_get_one_sentence():
    check = function_check()
    with pytest.raises(PlotError, match="no numbers for the figure masking"):
        draw("masking", replace(check, masking=()))
    pushes = replace(check.strengthening, rows=())
    with pytest.raises(PlotError, match="no numbers for the figure strengthening"):
        draw("strengthening", replace(check, strengthening=pushes))
    table = replace(check.specificity, functions=(), change=())
    with pytest.raises(PlotError, match="no numbers for the figure specificity"):
        draw("specificity", replace(check, specificity=table))
    with pytest.raises(PlotError, match="no pair of tasks"):
        draw("contrast", replace(contrast_check(), contrasts=()))
    with pytest.raises(PlotError, match="no pair of maps"):
        draw("agreement", comparison(()))
