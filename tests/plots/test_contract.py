"""What holds for every registered figure."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from headatlas.errors import PlotError
from headatlas.maps.result import Result
from headatlas.plots import FIGURES, default_figure, draw, save_figure
from headatlas.plots.panels import COLOUR_BAR
from plots.made_up import (
    ablation_map,
    comparison,
    contrast_check,
    faithfulness,
    function_check,
    gating_check,
    gating_map,
    leaderboard,
    mediation,
    probe_report,
    probing_map,
    task_specificity,
)

THINGS = {
    "ablation map": ablation_map,
    "gating map": gating_map,
    "probing map": probing_map,
    "gating check": gating_check,
    "function check": function_check,
    "probe report": probe_report,
    "contrast check": contrast_check,
    "comparison": comparison,
    "faithfulness": faithfulness,
    "leaderboard": leaderboard,
    "task specificity": task_specificity,
    "mediation": mediation,
}
SHOWN = {
    "heatmap": "ablation map",
    "always-any": "gating map",
    "distributions": "gating map",
    "gates": "gating map",
    "trajectories": "gating map",
    "functions": "probing map",
    "function-layers": "probing map",
    "function-overlap": "probing map",
    "head-profiles": "probing map",
    "toggling": "gating check",
    "masking": "function check",
    "specificity": "function check",
    "strengthening": "function check",
    "confusion": "probe report",
    "contrast": "contrast check",
    "agreement": "comparison",
    "agreement-matrix": "comparison",
    "mediation": "mediation",
    "faithfulness": "faithfulness",
    "leaderboard": "leaderboard",
    "task-specificity": "task specificity",
}
LABELS = {
    "heatmap": ("Head", "Layer"),
    "always-any": ("Head", "Layer"),
    "distributions": ("F", "share of heads"),
    "gates": ("G⁻ (pushed off)", "G⁺ (pushed on)"),
    "trajectories": ("update", "loss (nats per token)"),
    "functions": ("Head", "Layer"),
    "function-layers": ("Layer", ""),
    "function-overlap": ("", ""),
    "head-profiles": ("first component (22% of the variance)", "second component (17%)"),
    "toggling": ("heads toggled, in order", "log P, off − on (nats)"),
    "masking": ("change of log P (nats)", ""),
    "specificity": (
        "function measured (bold: 95 % interval excludes 0)",
        "whose 4 heads are masked",
    ),
    "strengthening": ("change of log P (nats)", ""),
    "confusion": ("predicted function", "true function"),
    "contrast": ("", "accuracy"),
    "agreement": ("rank correlation (bars: 95 %; |: ceiling)", ""),
    "agreement-matrix": ("", ""),
    "mediation": ("indirect effect", "largest F over seeds"),
    "faithfulness": ("heads (% of all, most important first)", "faithfulness"),
    "leaderboard": ("task", ""),
    "task-specificity": ("task measured (bold: 95 % excludes 0)", "whose 13 heads are removed"),
}


def made(name):
    return THINGS[SHOWN[name]]()


def drawn_artists(axes):
    return [*axes.images, *axes.lines, *axes.collections, *axes.patches]


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_draws_what_it_is_for(name):
    figure = draw(name, made(name))
    assert isinstance(figure, Figure)
    visible = [axes for axes in figure.axes if axes.get_visible()]
    assert all(drawn_artists(axes) for axes in visible)
    x, y = LABELS[name]
    assert x in {axes.get_xlabel() for axes in visible}
    assert y in {axes.get_ylabel() for axes in visible}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_names_its_model_right_above_the_panels(name):
    figure = draw(name, made(name))
    panels = [axes for axes in figure.axes if axes.get_label() != COLOUR_BAR]
    if name == "heatmap":
        assert panels[0].get_title().startswith("model, ")
        return
    words = figure.texts[0]
    assert words.get_text().startswith("model, ")
    box = words.get_window_extent()
    right = max(axes.get_position().x1 for axes in panels)
    middle = (panels[0].get_position().x0 + right) / 2 * figure.bbox.width
    assert (box.x0 + box.x1) / 2 == pytest.approx(middle, abs=1)
    gap = box.y0 - max(axes.get_tightbbox().y1 for axes in panels)
    assert 0 < gap < 0.1 * figure.dpi


@pytest.mark.parametrize("name", ["toggling", "masking", "contrast", "agreement", "distributions"])
def test_legends_stand_right_below_the_panels(name):
    figure = draw(name, made(name))
    top = figure.legends[0].get_window_extent().y1
    lowest = min(axes.get_tightbbox().y0 for axes in figure.axes if axes.get_visible())
    assert 0 < lowest - top < 0.1 * figure.dpi


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_described_in_a_sentence_and_named_as_its_function(name):
    drawing = FIGURES[name]
    assert drawing.function.__name__ == name.replace("-", "_")
    assert drawing.function.__module__ == f"headatlas.plots.{drawing.function.__name__}"
    assert drawing.summary[0].isupper()
    assert drawing.summary.endswith(".")


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_refuses_what_it_does_not_show(name):
    drawing = FIGURES[name]
    unsuited = [thing for thing in (make() for make in THINGS.values()) if not drawing.suits(thing)]
    assert len(unsuited) >= 5
    for thing in unsuited:
        with pytest.raises(PlotError, match=rf"the figure {name} shows a .*, not an? "):
            draw(name, thing)
    with pytest.raises(PlotError, match=f"the figure {name} has no setting 'size': it has"):
        draw(name, made(name), size=3)
    with pytest.raises(PlotError, match=f"there is no .* to draw as {name}"):
        draw(name, [])


@pytest.mark.parametrize("name", FIGURES)
def test_several_in_one_figure_only_where_it_can_show_them(name):
    two = [made(name), made(name)]
    if FIGURES[name].several:
        assert draw(name, two).axes
    else:
        with pytest.raises(PlotError, match=f"the figure {name} shows one .*, not 2"):
            draw(name, two)


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("name", FIGURES)
def test_save_figure_and_savefig_write_the_same_bytes_every_time(tmp_path, name, ending):
    one = save_figure(draw(name, made(name)), tmp_path / f"one.{ending}").read_bytes()
    draw(name, made(name)).savefig(tmp_path / f"two.{ending}")
    assert one == (tmp_path / f"two.{ending}").read_bytes()
    assert len(one) > 2000


def test_every_map_and_result_has_a_default_figure():
    expected = {
        "ablation map": "heatmap",
        "gating map": "always-any",
        "probing map": "functions",
        "gating check": "toggling",
        "function check": "masking",
        "probe report": "confusion",
        "contrast check": "contrast",
        "comparison": "agreement-matrix",
        "faithfulness": "faithfulness",
        "leaderboard": "leaderboard",
        "task specificity": "task-specificity",
        "mediation": "mediation",
    }
    assert {kind: default_figure(make()) for kind, make in THINGS.items()} == expected
    assert default_figure(comparison(kinds=("gating", "ablation"))) == "agreement"
    with pytest.raises(PlotError, match="no figure of a strange result"):
        default_figure(type("Strange", (Result,), {"kind": "strange result"})())


def test_mistakes_get_one_sentence():
    with pytest.raises(PlotError, match=r"^no figure 'pie': there are heatmap, .*mediation\.$"):
        draw("pie", ablation_map())
    sentence = r"^the figure masking shows a function check, not a gating map\.$"
    with pytest.raises(PlotError, match=sentence):
        draw("masking", gating_map())
    sentence = r"^the figure always-any shows a gating map, not an ablation map\.$"
    with pytest.raises(PlotError, match=sentence):
        draw("always-any", [gating_map(), ablation_map()])
    with pytest.raises(PlotError, match="the figure heatmap shows a map, not a str"):
        draw("heatmap", "maps/model.nc")
    with pytest.raises(PlotError, match=r"gates has no setting 'palette': it has none\."):
        draw("gates", gating_map(), palette="red-green")
    with pytest.raises(PlotError, match=r"heatmap has no setting 'seed': it has variable, rule\."):
        draw("heatmap", ablation_map(), seed=0)
    without_fits = gating_map()
    without_fits.data.__delitem__("gate_path")
    sentence = "trajectories needs gate_path, which this gating map does not have"
    with pytest.raises(PlotError, match=sentence):
        draw("trajectories", without_fits)


def test_a_setting_of_none_is_the_default():
    images = [
        draw("heatmap", ablation_map(), **given).axes[0].images[0].get_array()
        for given in ({}, {"variable": None, "rule": None}, {"rule": "any"})
    ]
    np.testing.assert_array_equal(images[0], images[1])
    assert (images[0] != images[2]).any()
