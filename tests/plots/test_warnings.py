"""Warnings that a figure must not leave out."""

from __future__ import annotations

import re
from functools import partial

import pytest

from headatlas.plots import FIGURES, draw, save_figure
from headatlas.plots.captions import WARNING
from plots.made_up import ablation_map, gating_map, probing_map, trusted_map

AT_CHANCE = "at chance level on this task: accuracy 2%, chance 1%, 64 examples"
NOT_SHOWN = (
    "not shown to be above chance (n = 12) on this task: accuracy 8%, chance 1%, 12 examples"
)
MAPS = (ablation_map, trusted_map, partial(probing_map, p=0.0))


def warnings(figure):
    return [text.get_text() for text in figure.texts if text.get_label() == WARNING]


def drawings():
    for make in MAPS:
        for name, drawing in FIGURES.items():
            if drawing.suits(make()) and (name != "heatmap" or make is ablation_map):
                yield pytest.param(name, make, id=name)


@pytest.mark.parametrize(("name", "make"), list(drawings()))
def test_every_figure_of_a_map_shows_its_warnings(name, make):
    assert warnings(draw(name, make())) == []
    caution = "Caution: the untouched model is"
    assert warnings(draw(name, make(task_warning=AT_CHANCE))) == [
        f"{caution} at chance level on this task."
    ]
    both = draw(name, make(task_warning=NOT_SHOWN, unfinished="3 of 10 seeds"))
    assert warnings(both) == [
        "Unfinished: 3 of 10 seeds.",
        f"{caution} not shown to be above chance (n = 12) on this task.",
    ]


def test_warnings_of_several_maps_name_the_tasks():
    maps = [
        trusted_map(task="math", unfinished="1 of 4 seeds"),
        trusted_map(task="syntax", task_warning=AT_CHANCE),
        trusted_map(task="antonym", task_warning=NOT_SHOWN, unfinished="2 of 4 seeds"),
        trusted_map(task="gsm8k", task_warning=AT_CHANCE),
    ]
    assert warnings(draw("always-any", maps)) == [
        "Unfinished: 1 of 4 seeds of Math, 2 of 4 seeds of Antonym.",
        "Caution: the untouched model is at chance level on Syntax, Gsm8k.",
        "Caution: the untouched model is not shown to be above chance (n = 12) on Antonym.",
    ]


def test_a_map_that_has_not_converged_says_so_in_every_figure():
    """Gates drawn at random, and two seeds that do not agree."""
    for name in ("always-any", "distributions", "gates", "trajectories"):
        words = " ".join(warnings(draw(name, gating_map())))
        assert "roles mean nothing yet" in words, name
        assert "2 seeds: too few" in words, name
        assert "agree too little" in words, name


def height_in(svg, words):
    """How far down a text stands in an SVG file."""
    pattern = rf'(?:translate\([\d.-]+ |rotate\(-0 [\d.-]+ )([\d.-]+)\)">{re.escape(words)}'
    return float(re.search(pattern, svg)[1])


@pytest.mark.parametrize("name", ["always-any", "distributions", "trajectories"])
def test_warnings_stand_below_the_legend_and_each_other(name, tmp_path):
    """In the saved file, which is larger than the figure by the warnings."""
    figure = draw(name, trusted_map(task_warning=AT_CHANCE, unfinished="1 of 2 seeds"))
    svg = save_figure(figure, tmp_path / "figure.svg").read_text()
    label = figure.legends[0].get_texts()[-1].get_text().splitlines()[-1]
    assert height_in(svg, "Unfinished") > height_in(svg, label) + 8
    assert height_in(svg, "Caution") > height_in(svg, "Unfinished") + 8
