"""What the figures of gating show."""

from __future__ import annotations

import re

import numpy as np
import pytest

from headatlas.errors import PlotError
from headatlas.maps import Map
from headatlas.plots import FIGURES, draw, save_figure
from headatlas.plots.always_any import PALETTES, role_colours
from headatlas.plots.contrasts import contrast_figure
from headatlas.plots.toggling import toggling_figure

STAGES = ("free", "plus", "minus")


def gating(layers=5, heads=9, seeds=2, task="math", **facts):
    values = np.random.default_rng(0).random((2, seeds, layers, heads))
    plus, minus = values
    dims = ("seed", "layer", "head")
    path = np.random.default_rng(1).random((seeds, 3, 4, layers, heads))
    return Map.of(
        {
            "facilitation": (dims, minus),
            "interference": (dims, 1 - plus),
            "irrelevance": (dims, plus * (1 - minus)),
            "gate_plus": (dims, plus),
            "gate_minus": (dims, minus),
            "gate_path": (("seed", "stage", "point", "layer", "head"), path),
        },
        {"model": "owner/model", "task": task, "method": "gating", **facts},
        {
            "seed": range(seeds),
            "stage": list(STAGES),
            "point_step": (("stage", "point"), np.tile([1, 2, 3, -1], (3, 1))),
            "loss": (("seed", "stage", "step"), np.ones((seeds, 3, 3))),
        },
    )


def texts(figure):
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_green_is_facilitation_and_red_interference():
    corners = {"facilitation": [1, 0, 0, 1, np.nan], "interference": [0, 1, 0, 1, np.nan]}
    dims = ("seed", "layer", "head")
    drawn = Map.of(
        {name: (dims, np.array([[row]], float)) for name, row in corners.items()}, {}, {"seed": [0]}
    )
    colours = role_colours(drawn, "always")[0]
    assert colours.tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 0], [1, 1, 0], [1.0] * 3]


def test_half_scores_have_half_colours_and_seeds_are_summed_up():
    drawn = gating(seeds=3)
    always, ever = (role_colours(drawn, rule) for rule in ("always", "any"))
    np.testing.assert_allclose(always[..., 1], drawn["facilitation"].min("seed"))
    np.testing.assert_allclose(always[..., 0], drawn["interference"].min("seed"))
    np.testing.assert_allclose(ever[..., 1], drawn["facilitation"].max("seed"))
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
    figure = draw("always-any", [gating(heads=heads), gating(heads=heads, task="syntax")])
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


def test_a_task_at_chance_level_is_named():
    figure = draw("always-any", [gating(), gating(task="syntax", task_warning="at chance")])
    assert any("at chance level on Syntax." in text.get_text() for text in figure.texts), (
        figure.texts
    )


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize(
    "name", [name for name, kind in FIGURES.items() if kind.needs and kind.suits(gating())]
)
def test_every_figure_in_every_format_twice_the_same(tmp_path, name, ending):
    one, two = (
        save_figure(draw(name, [gating()]), tmp_path / f"{i}.{ending}").read_bytes()
        for i in range(2)
    )
    assert one == two
    assert len(one) > 2000


def test_lines_of_trajectories_are_the_gates():
    figure = draw("trajectories", gating(layers=2, heads=3))
    gates = figure.axes[0].lines
    assert len(gates) == 6
    assert all(len(line.get_xdata()) == 3 for line in gates)  # the missing point is left out


def test_what_cannot_be_drawn():
    other = Map.of({"effect": (("layer", "head"), np.zeros((1, 2)))}, {"method": "ablation"})
    with pytest.raises(PlotError, match="always-any is not for maps of ablation"):
        draw("always-any", [other])
    with pytest.raises(PlotError, match="no palette 'pink': there are red-green, blue-orange"):
        draw("always-any", gating(), palette="pink")
    with pytest.raises(PlotError, match="trajectories shows one map, not 2"):
        draw("trajectories", [gating(), gating()])
    with pytest.raises(PlotError, match="no seed 7 in this map: it has 0, 1"):
        draw("trajectories", gating(), seed=7)
    with pytest.raises(PlotError, match="the figure gates has no setting 'palette'"):
        draw("gates", gating(), palette="red-green")


def test_toggling_and_contrast_figures():
    curve = {"heads": [1, 2, 4], "change": [[0, -1, -2], [0, -2, -3]], "count": 2.0}
    ends = {"end": -1.5, "low": -2.0, "high": -1.0}
    scores = ("facilitation", "interference", "irrelevance")
    figure = toggling_figure(
        [{"task": "math", "curves": [{**curve, **ends, "score": s} for s in scores]}]
    )
    mean = figure.axes[0].lines[2]
    assert mean.get_ydata().tolist() == [0, -1.5]  # the third step toggles heads of other roles
    row = {"retain": "antonym:icl", "forget": "antonym:instruction"}
    numbers = {"retain_before": 0.9, "retain_after": 0.8, "forget_before": 0.7, "forget_after": 0.0}
    numbers |= {"retain_after_interval": [0.7, 0.9], "forget_after_interval": [0.0, 0.1]}
    other = {"retain": "antonym:instruction", "forget": "antonym:icl"}
    figure = contrast_figure([row | numbers, other | numbers])
    assert texts(figure) == ["keep icl, forget instruction", "keep instruction, forget icl"]
    heights = sorted(round(bar.get_height(), 2) for bar in figure.axes[0].patches[:4])
    assert heights == [0.0, 0.7, 0.8, 0.9]
    (line,) = figure.axes[0].collections[0].get_segments()
    assert line[:, 1].tolist() == [0.7, 0.9]


def height_in(svg, words):
    """How far down a text stands in an SVG file."""
    pattern = rf'(?:translate\([\d.-]+ |rotate\(-0 [\d.-]+ )([\d.-]+)\)">{re.escape(words)}'
    return float(re.search(pattern, svg)[1])


@pytest.mark.parametrize("name", ["always-any", "distributions", "trajectories"])
def test_a_warning_stands_below_the_legend(name, tmp_path):
    """In the saved file, which is larger than the figure by the warning."""
    figure = draw(name, gating(task_warning="at chance level"))
    svg = save_figure(figure, tmp_path / "figure.svg").read_text()
    label = figure.legends[0].get_texts()[-1].get_text().splitlines()[-1]
    assert height_in(svg, "Caution") > height_in(svg, label) + 8
