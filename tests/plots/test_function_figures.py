"""What the figures of cognitive functions show."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from headatlas.errors import PlotError
from headatlas.maps.functions import ranked_heads, with_marks
from headatlas.plots import draw
from headatlas.tasks.functions import FUNCTIONS
from plots.made_up import probing_map


def panels(figure):
    return [axes for axes in figure.axes if axes.images and axes.get_visible()]


def test_eight_panels_in_the_published_order_on_one_scale():
    figure = draw("functions", probing_map())
    shown = [axes for axes in panels(figure) if axes.get_title()]
    assert [axes.get_title() for axes in shown] == list(FUNCTIONS)
    images = [axes.images[0] for axes in shown]
    assert len({image.get_clim() for image in images}) == 1
    assert {image.get_cmap().name for image in images} == {"viridis"}
    tops = [axes.get_position().y1 for axes in shown]
    assert len({round(top, 3) for top in tops[:4]}) == 1
    assert tops[4] < tops[0]
    for axes in shown:
        assert axes.get_ylim()[0] > axes.get_ylim()[1]  # layer 0 is at the top


def scale_of(figure):
    """The title and the numbers of the colour bar."""
    bar = figure.axes[-1]
    return bar.get_title(loc="left"), [label.get_text() for label in bar.get_yticklabels()]


def test_the_scale_ends_below_the_largest_and_says_so():
    title, words = scale_of(draw("functions", probing_map()))
    assert title == "Head importance"
    assert words[-1].endswith("+")
    assert not any(word.endswith("+") for word in words[:-1])
    assert words[0] == "0"
    _, words = scale_of(draw("functions", probing_map(), saturation=1.0))
    assert not words[-1].endswith("+")


@pytest.mark.parametrize(
    ("high", "words", "unit"),
    [
        (0.005, "0.0050", 1.0),
        (0.0006, "6.0", 1e-4),
        (0.00002, "2.0", 1e-5),
        (0.35, "0.35", 1.0),
        (45.0, "45", 1.0),
        (2000.0, "2.0", 1e3),
    ],
)
def test_the_numbers_of_the_scale_are_short_and_have_equal_steps(high, words, unit):
    head_map = probing_map()
    head_map.data["importance"] = head_map.data["importance"] * 0 + high
    title, labels = scale_of(draw("functions", head_map))
    assert labels[-1] == words
    powers = {1.0: "", 1e-4: "\n(× 10⁻⁴)", 1e-5: "\n(× 10⁻⁵)", 1e3: "\n(× 10³)"}
    assert title == f"Head importance{powers[unit]}"
    steps = {round(float(b) - float(a), 9) for a, b in pairwise(labels)}
    assert len(steps) == 1
    assert float(labels[-1]) * unit == pytest.approx(high)


def test_the_scale_says_that_heads_lie_below_0():
    head_map = probing_map()
    head_map.data["importance"][0, :, 0, 0] = -0.1
    assert scale_of(draw("functions", head_map))[1][0] == "≤ 0"
    head_map.data["importance"] = head_map.data["importance"] * 0 - 0.1
    assert scale_of(draw("functions", head_map))[1] == ["≤ 0", "0.2", "0.4", "0.6", "0.8", "1.0"]


def test_panels_above_empty_places_have_numbers_and_a_label():
    shown = panels(draw("functions", probing_map([f"kind {i}" for i in range(6)])))[:6]
    assert [axes.get_xlabel() for axes in shown] == ["", "", "Head", "Head", "Head", "Head"]
    numbered = [axes.xaxis.get_tick_params()["labelbottom"] for axes in shown]
    assert numbered == [False, False, True, True, True, True]


@pytest.mark.parametrize("count", [2, 3, 5, 11])
def test_any_number_of_functions_has_a_panel_each(count):
    figure = draw("functions", probing_map([f"kind {i}" for i in range(count)]))
    assert sum(axes.get_title().startswith("kind") for axes in panels(figure)) == count


def test_weak_functions_are_marked():
    holds = {FUNCTIONS[0]: None, FUNCTIONS[1]: True, FUNCTIONS[2]: False}
    figure = draw("functions", with_marks(probing_map(), holds, 8))
    titles = [axes.get_title() for axes in panels(figure)]
    assert [title.endswith("*") for title in titles[:4]] == [True, False, True, False]
    assert any("random heads" in text.get_text() for text in figure.texts)
    assert not any("random" in text.get_text() for text in draw("functions", probing_map()).texts)


def test_heads_before_the_elbow_that_fail_the_null_have_a_cross():
    head_map = probing_map()
    ranked = ranked_heads(head_map)[FUNCTIONS[0]]
    first = ranked.heads[0]
    head_map.data["importance_p"].loc[{"layer": first[0], "head": first[1]}] = 0.01
    figure = draw("functions", head_map)
    (crosses,) = panels(figure)[0].lines
    shown = [(int(y), int(x)) for x, y in crosses.get_xydata()]
    assert shown == ranked.chosen[1:]
    assert any("× Before the elbow" in text.get_text() for text in figure.texts)
    passing = draw("function-layers", head_map).axes[1].images[0].get_array()
    assert passing[0].sum() == 1
    head_map.data["importance_p"][:] = 0.01
    assert not any(panel.lines for panel in panels(draw("functions", head_map)))


@pytest.mark.parametrize("name", ["function-layers", "function-overlap", "head-profiles"])
def test_further_figures_name_all_functions(name):
    figure = draw(name, probing_map())
    words = {text.get_text() for axes in figure.axes for text in axes.get_yticklabels()}
    words |= {
        text.get_text()
        for axes in figure.axes
        if axes.get_legend()
        for text in axes.get_legend().get_texts()
    }
    assert set(FUNCTIONS) <= words


def test_panels_hold_the_mean_over_seeds():
    head_map = probing_map()
    for whole in (head_map, head_map.aggregate("mean")):
        shown = [axes for axes in panels(draw("functions", whole)) if axes.get_title()]
        expected = head_map["importance"].mean("seed").to_numpy()
        np.testing.assert_allclose([axes.images[0].get_array() for axes in shown], expected)


def test_layers_count_the_heads_before_the_elbow():
    head_map = probing_map()
    ranked = ranked_heads(head_map)
    figure = draw("function-layers", head_map)
    counts = figure.axes[0].images[0].get_array()
    assert figure.axes[2].get_ylabel() == "number of heads"
    assert counts.sum(1).tolist() == [function.elbow for function in ranked.values()]
    assert not figure.axes[1].images[0].get_array().any()  # no head passes the null
    layers = [layer for layer, _ in ranked[FUNCTIONS[2]].chosen]
    assert counts[2].tolist() == [layers.count(layer) for layer in range(8)]
    upper = draw("function-layers", head_map.sel(layer=[6, 7])).axes[0].images[0].get_array()
    assert upper.shape == (8, 2)


def test_overlap_is_the_share_of_common_heads():
    head_map = probing_map()
    one, other = (set(ranked.chosen) for ranked in list(ranked_heads(head_map).values())[:2])
    panel = draw("function-overlap", head_map).axes[0]
    share = panel.images[0].get_array()
    assert share[0, 1] == share[1, 0] == len(one & other) / len(one | other)
    assert np.diag(share).tolist() == [1.0] * 8
    assert panel.texts[1].get_text() == f"{share[0, 1]:.0%}"


def test_profiles_are_the_two_principal_components():
    head_map = probing_map()
    head_map.data["importance"][:, :, 0, 0] = np.nan
    values = head_map["importance"].mean("seed").to_numpy().reshape(8, -1)[:, 1:]
    centred = values.T - values.mean(1)
    _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
    axes = draw("head-profiles", head_map).axes[0]
    points = axes.lines[0].get_xydata()
    np.testing.assert_allclose(abs(points), abs(centred @ directions[:2].T), atol=1e-12)
    first = sizes[0] ** 2 / (sizes**2).sum()
    assert axes.get_xlabel() == f"first component ({first:.0%} of the variance)"
    coloured = sum(len(line.get_xdata()) for line in axes.lines[1:])
    chosen = {head for ranked in ranked_heads(head_map).values() for head in ranked.chosen}
    assert coloured == len(chosen)
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert words == [*FUNCTIONS, "other heads"]
    assert "most important for" in axes.get_legend().get_title().get_text()


def test_a_head_of_several_functions_has_the_colour_of_its_most_important_one():
    head_map = probing_map(FUNCTIONS[:2])
    head_map.data["importance"][:, :, 3, 4] = np.array([[1.0, 1.0], [2.0, 2.0]])
    assert all((3, 4) in ranked.chosen for ranked in ranked_heads(head_map).values())
    everything, first, second = draw("head-profiles", head_map).axes[0].lines
    point = everything.get_xydata()[3 * 9 + 4].tolist()
    assert point in second.get_xydata().tolist()
    assert point not in first.get_xydata().tolist()


def test_what_cannot_be_drawn():
    with pytest.raises(PlotError, match="above 0 and up to 1, not 2"):
        draw("functions", probing_map(), saturation=2)
    with pytest.raises(PlotError, match="at least two functions and two heads"):
        draw("head-profiles", probing_map(FUNCTIONS[:1]))
