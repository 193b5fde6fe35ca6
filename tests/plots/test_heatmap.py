"""The heatmap shows the numbers of the map."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.errors import PlotError
from headatlas.maps import Map
from headatlas.plots import draw, save_figure
from plots.made_up import ablation_map, gating_map


def shown(figure):
    (image,) = figure.axes[0].get_images()
    return image


def test_the_image_holds_the_mean_over_seeds_with_layer_0_at_the_bottom():
    values = np.random.default_rng(0).normal(size=(3, 5, 4))
    values[:, 2, 3] = np.nan
    figure = draw("heatmap", ablation_map(values))
    array = shown(figure).get_array()
    np.testing.assert_allclose(array.filled(np.nan), values.mean(axis=0))
    assert shown(figure).origin == "lower"
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Head", "Layer")
    assert axes.get_title() == "model, mean, 3 seeds\nTask: zero ablation"
    label = figure.axes[1].get_ylabel()
    assert label == "change of target log P\n(nats per token)"  # the bar is short
    tall = draw("heatmap", ablation_map(np.ones((1, 30, 9))))
    assert tall.axes[1].get_ylabel() == label.replace("\n", " ")


def test_numbers_of_both_signs_get_a_symmetric_scale():
    image = shown(draw("heatmap", ablation_map(np.array([[[-2.0, 1.0]]]))))
    assert image.get_clim() == (-2.0, 2.0)
    image = shown(draw("heatmap", ablation_map(np.array([[[0.5, 1.0]]]))))
    assert image.get_clim() == (0.5, 1.0)


@pytest.mark.parametrize("variable", ["facilitation", "interference", "irrelevance", "gate_plus"])
def test_scores_and_gates_have_a_scale_from_0_to_1(variable):
    assert shown(draw("heatmap", gating_map(), variable=variable)).get_clim() == (0.0, 1.0)


def test_the_title_says_how_seeds_are_aggregated():
    both = gating_map(seeds=2)
    title = "model, always, 2 seeds\nMath: gating"
    assert draw("heatmap", both, rule="always").axes[0].get_title() == title
    assert draw("heatmap", both.aggregate("always")).axes[0].get_title() == title
    alone = "model, 1 seed\nMath: gating"
    assert draw("heatmap", both.sel(seed=[1])).axes[0].get_title() == alone
    assert draw("heatmap", both.sel(seed=1)).axes[0].get_title() == alone


def test_a_note_says_what_grey_cells_are_only_where_there_are_any():
    values = np.ones((1, 2, 2))
    assert draw("heatmap", ablation_map(values)).legends == []
    values[0, 1, 0] = np.nan
    (note,) = draw("heatmap", ablation_map(values)).legends
    assert [text.get_text() for text in note.get_texts()] == ["not measured"]
    assert note.get_patches()[0].get_facecolor()[:3] == (0.85, 0.85, 0.85)


def test_a_head_that_stands_far_out_does_not_drown_the_others():
    values = np.random.default_rng(0).normal(size=(1, 30, 9))
    values[0, 0, 6] = -160.0
    figure = draw("heatmap", ablation_map(values))
    low, high = shown(figure).get_clim()
    assert (low, high) == (-high, pytest.approx(np.quantile(np.abs(values), 0.98)))
    written = {text.get_text(): text.get_position() for text in figure.axes[0].texts}
    assert written["−1.6e+02"] == (6, 0)
    assert len(written) <= 7


@pytest.mark.parametrize("shape", [(6, 6), (30, 9), (32, 64)])
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_models_of_any_shape_are_saved_and_repeatable(tmp_path, shape, ending):
    head_map = ablation_map(np.random.default_rng(0).normal(size=(1, *shape)))
    one = save_figure(draw("heatmap", head_map), tmp_path / f"one.{ending}").read_bytes()
    two = save_figure(draw("heatmap", head_map), tmp_path / f"two.{ending}").read_bytes()
    assert one == two
    assert len(one) > 1000


def test_what_cannot_be_drawn_is_one_sentence():
    with pytest.raises(PlotError, match="nothing to draw"):
        draw("heatmap", ablation_map(np.full((1, 2, 2), np.nan)))
    by_function = ablation_map(np.ones((2, 2, 2)), dims=("function", "layer", "head"))
    with pytest.raises(PlotError, match="also differs by function"):
        draw("heatmap", by_function)


@pytest.mark.parametrize(
    ("measure", "variable", "label"),
    [
        (None, "effect", "change of target log P (nats per token)"),
        ("difference", "effect", "change of the log P difference (nats)"),
        ("probability", "indirect_effect", "indirect effect on P(target)"),
    ],
)
def test_the_colour_bar_says_what_was_measured(measure, variable, label):
    settings = {} if measure is None else {"measure": measure}
    values = (("layer", "head"), np.array([[0.1, -0.2], [0.3, 0.0]]))
    facts = {"method": "ablation", "task": "t", "model": "m", "settings": settings}
    figure = Map.of({variable: values}, facts).plot("heatmap")
    assert label in " ".join(axes.get_ylabel().replace("\n", " ") for axes in figure.axes)


def test_the_title_says_what_replaces_a_removed_head():
    facts = {"method": "ablation", "task": "t", "model": "m", "settings": {"replacement": "mean"}}
    values = (("layer", "head"), np.ones((2, 2)))
    assert "mean ablation" in Map.of({"effect": values}, facts).plot().axes[0].get_title()
