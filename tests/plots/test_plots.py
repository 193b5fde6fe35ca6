"""Figures show the numbers of the map."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.errors import PlotError, StoreError
from headatlas.maps import Map
from headatlas.plots import draw, save_figure


def make(values, variable="effect", dims=("seed", "layer", "head")):
    facts = {"model": "/deep/folder/model", "task": "task", "method": "ablation"}
    return Map.of({variable: (dims, values)}, facts)


def shown(figure):
    (image,) = figure.axes[0].get_images()
    return image


def test_the_image_holds_the_mean_over_seeds_with_layer_0_at_the_bottom():
    values = np.random.default_rng(0).normal(size=(3, 5, 4))
    values[:, 2, 3] = np.nan
    figure = draw("heatmap", make(values))
    array = shown(figure).get_array()
    np.testing.assert_allclose(array.filled(np.nan), values.mean(axis=0))
    assert shown(figure).origin == "lower"
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Head", "Layer")
    assert axes.get_title() == "model\ntask: zero ablation"
    assert figure.axes[1].get_ylabel() == "change of target log-probability"


def test_numbers_of_both_signs_get_a_symmetric_scale():
    image = shown(draw("heatmap", make(np.array([[[-2.0, 1.0]]]))))
    assert image.get_clim() == (-2.0, 2.0)
    image = shown(draw("heatmap", make(np.array([[[0.5, 1.0]]]))))
    assert image.get_clim() == (0.5, 1.0)


def test_a_head_that_stands_far_out_does_not_drown_the_others():
    values = np.random.default_rng(0).normal(size=(1, 30, 9))
    values[0, 0, 6] = -160.0
    figure = draw("heatmap", make(values))
    low, high = shown(figure).get_clim()
    assert (low, high) == (-high, pytest.approx(np.quantile(np.abs(values), 0.98)))
    written = {text.get_text(): text.get_position() for text in figure.axes[0].texts}
    assert written["−1.6e+02"] == (6, 0)
    assert len(written) <= 7


@pytest.mark.parametrize("shape", [(6, 6), (30, 9), (32, 64)])
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_figures_are_saved_and_repeatable(tmp_path, shape, ending):
    drawn = make(np.random.default_rng(0).normal(size=(1, *shape)))
    one = save_figure(draw("heatmap", drawn), tmp_path / f"one.{ending}").read_bytes()
    two = save_figure(draw("heatmap", drawn), tmp_path / f"two.{ending}").read_bytes()
    assert one == two
    assert len(one) > 1000


def test_what_cannot_be_drawn_is_one_sentence(tmp_path):
    drawn = make(np.ones((1, 2, 2)))
    with pytest.raises(PlotError, match="no figure 'pie': there are heatmap"):
        draw("pie", drawn)
    with pytest.raises(PlotError, match=r"should end in \.png, \.svg, \.pdf"):
        save_figure(draw("heatmap", drawn), tmp_path / "map.docx")
    with pytest.raises(PlotError, match="nothing to draw"):
        draw("heatmap", make(np.full((1, 2, 2), np.nan)))
    with pytest.raises(PlotError, match="also differs by function"):
        draw("heatmap", make(np.ones((2, 2, 2)), dims=("function", "layer", "head")))
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        save_figure(draw("heatmap", drawn), tmp_path / "file" / "map.png")
