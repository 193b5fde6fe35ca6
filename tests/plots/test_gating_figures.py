"""What the figures of gating show."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.errors import PlotError
from headatlas.maps import Map
from headatlas.plots import draw
from headatlas.plots.always_any import PALETTES, role_colours
from headatlas.plots.distributions import SYMBOLS
from plots.made_up import gating_map


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_green_is_facilitation_and_red_interference():
    corners = {"facilitation": [1, 0, 0, 1, np.nan], "interference": [0, 1, 0, 1, np.nan]}
    dims = ("seed", "layer", "head")
    head_map = Map.of(
        {name: (dims, np.array([[row]], float)) for name, row in corners.items()}, {}, {"seed": [0]}
    )
    colours = role_colours(head_map, "always")[0]
    assert colours.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0], [1.0] * 3]


def test_half_scores_have_half_colours_and_seeds_are_summed_up():
    head_map = gating_map(seeds=3)
    always, ever = (role_colours(head_map, rule) for rule in ("always", "any"))
    np.testing.assert_allclose(always[..., 1], head_map["facilitation"].min("seed"))
    np.testing.assert_allclose(always[..., 0], head_map["interference"].min("seed"))
    np.testing.assert_allclose(ever[..., 1], head_map["facilitation"].max("seed"))
    assert (always[..., 2] == 0).all()


def test_the_second_palette_differs_in_lightness():
    """Relative luminance separates the four colours, whatever hues a reader sees."""
    helping, hindering = (np.array(colour) for colour in PALETTES["blue-orange"])
    weights = np.array([0.2126, 0.7152, 0.0722])
    both = np.clip(helping + hindering, 0, 1)
    light = sorted(weights @ (c**2.2) for c in (np.zeros(3), helping, hindering, both))
    assert np.min(np.diff(light)) > 0.1


@pytest.mark.parametrize("heads", [9, 64])
def test_rows_are_tasks_and_columns_always_and_any(heads):
    figure = draw("always-any", [gating_map(heads=heads), gating_map(heads=heads, task="syntax")])
    titles = ["Math (Always)", "Math (Any)", "Syntax (Always)", "Syntax (Any)"]
    assert texts(figure) == titles
    for axes in figure.axes:
        assert axes.images[0].origin == "lower"  # layer 0 at the bottom
        assert axes.get_ylim() == (-0.5, 4.5)
        assert axes.patches[0].get_facecolor()[:3] == (0.85, 0.85, 0.85)  # the grey strip
    assert [axes.get_xlabel() for axes in figure.axes] == ["", "", "Head", "Head"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["Layer", "", "Layer", ""]
    assert figure.axes[0].get_shared_x_axes().joined(figure.axes[0], figure.axes[3])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(labels) == 4
    assert any("2 seeds" in text.get_text() for text in figure.texts)


def test_lines_of_trajectories_are_the_gates():
    figure = draw("trajectories", gating_map(layers=2, heads=3))
    gates = figure.axes[0].lines
    assert len(gates) == 6
    assert all(len(line.get_xdata()) == 3 for line in gates)  # the missing point is left out
    for above, below in zip(figure.axes[:3], figure.axes[3:], strict=True):
        assert above.get_xlim() == below.get_xlim()
        assert below.get_xlabel() == "update"


def test_trajectories_explain_only_roles_that_occur():
    head_map = gating_map(layers=2, heads=3)
    head_map.data["facilitation"][:] = 1.0
    for score in ("interference", "irrelevance"):
        head_map.data[score][:] = 0.0
    named = [text.get_text() for text in draw("trajectories", head_map).legends[0].get_texts()]
    assert named == ["facilitating"]


@pytest.mark.parametrize("seed", [None, 1])
def test_a_single_seed_has_its_trajectories(seed):
    both = gating_map(layers=2, heads=3)
    whole = draw("trajectories", both, seed=1)
    alone = draw("trajectories", both.sel(seed=1), seed=seed)
    for one, other in zip(whole.axes, alone.axes, strict=True):
        for x, y in zip(one.lines, other.lines, strict=True):
            np.testing.assert_array_equal(x.get_ydata(), y.get_ydata())
    assert any("Math, seed 1" in text.get_text() for text in alone.texts)


def test_gates_are_points_of_every_head_and_seed():
    head_map = gating_map()
    axes = draw("gates", head_map).axes[0]
    x, y = axes.collections[0].get_offsets().T
    np.testing.assert_array_equal(x, head_map["gate_minus"].to_numpy().ravel())
    np.testing.assert_array_equal(y, head_map["gate_plus"].to_numpy().ravel())
    words = axes.texts[:3]
    assert [word.get_text() for word in words] == ["facilitating", "irrelevant", "interfering"]
    for word in words:  # no point can lie behind a word
        box = word.get_window_extent().transformed(axes.transData.inverted())
        assert box.y0 > 1.02 or box.y1 < -0.02
        assert axes.get_ylim()[0] < box.y0 < box.y1 < axes.get_ylim()[1]


def test_distributions_rise_to_1_at_the_largest_score():
    head_map = gating_map(task="syntax")
    figure = draw("distributions", head_map)
    for axes, score in zip(figure.axes, SYMBOLS, strict=True):
        *seeds, whole = axes.lines
        assert len(seeds) == 2
        values = np.sort(head_map[score].to_numpy().ravel())
        np.testing.assert_array_equal(whole.get_xdata(), [0, *values, 1])
        assert whole.get_ydata()[-2:].tolist() == [1, 1]
        assert whole.get_ydata()[1] == 1 / values.size
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "Syntax",
        "pale: single seeds",
    ]
    alone = draw("distributions", head_map.sel(seed=0))
    assert len(alone.axes[0].lines) == 1
    assert len(alone.legends[0].get_texts()) == 1


def test_tick_labels_of_neighbouring_distributions_do_not_touch():
    figure = draw("distributions", gating_map())
    figure.canvas.draw()
    left, right = (
        [label.get_window_extent() for label in axes.get_xticklabels()] for axes in figure.axes[:2]
    )
    assert right[0].x0 - left[-1].x1 > left[-1].width / 2


def test_what_cannot_be_drawn():
    with pytest.raises(PlotError, match="no palette 'pink': there are red-green, blue-orange"):
        draw("always-any", gating_map(), palette="pink")
    with pytest.raises(PlotError, match="no seed 7 in this map: it has 0, 1"):
        draw("trajectories", gating_map(), seed=7)
