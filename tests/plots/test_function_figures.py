"""What the figures of cognitive functions show."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from headatlas.errors import PlotError
from headatlas.maps import Map
from headatlas.maps.causes import CAUSES, mark_causes
from headatlas.plots import FIGURES, draw, save_figure
from headatlas.plots.agreement import agreement_figure
from headatlas.plots.causal import masking_figure, specificity_figure, strengthening_figure
from headatlas.tasks.functions import FUNCTIONS

NEEDS = ("importance",)


def probing(names=FUNCTIONS, layers=8, heads=9, seeds=2):
    values = np.random.default_rng(0).gamma(0.3, 0.001, (len(names), seeds, layers, heads))
    dims = ("function", "seed", "layer", "head")
    return Map.of(
        {"importance": (dims, values), "importance_p": (dims, np.ones_like(values))},
        {"model": "owner/model", "task": "cognition", "method": "probing"},
        {"function": list(names), "seed": range(seeds)},
    )


def panels(figure):
    return [axes for axes in figure.axes if axes.images and axes.get_visible()]


def test_eight_panels_in_the_published_order_on_one_scale():
    figure = draw("functions", probing())
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


def test_the_scale_ends_below_the_largest_and_says_so():
    figure = draw("functions", probing())
    bar = next(axes for axes in figure.axes if axes.get_title(loc="left") == "Heads Importance")
    words = [label.get_text() for label in bar.get_yticklabels()]
    assert words[-1].endswith("+")
    assert not any(word.endswith("+") for word in words[:-1])
    flat = draw("functions", probing(), saturation=1.0)
    bar = next(axes for axes in flat.axes if axes.get_title(loc="left") == "Heads Importance")
    assert not bar.get_yticklabels()[-1].get_text().endswith("+")


@pytest.mark.parametrize(("high", "words"), [(0.005, "0.0050"), (0.0006, "0.00060")])
def test_the_numbers_of_the_scale_have_equal_steps(high, words):
    drawn = probing()
    drawn.data["importance"] = drawn.data["importance"] * 0 + high
    bar = next(
        axes
        for axes in draw("functions", drawn).axes
        if axes.get_title(loc="left") == "Heads Importance"
    )
    labels = [label.get_text() for label in bar.get_yticklabels()]
    assert labels[-1] == words
    steps = {round(float(b) - float(a), 9) for a, b in pairwise(labels)}
    assert len(steps) == 1


@pytest.mark.parametrize("count", [2, 3, 5, 11])
def test_any_number_of_functions_has_a_panel_each(count):
    figure = draw("functions", probing([f"kind {i}" for i in range(count)]))
    assert sum(axes.get_title().startswith("kind") for axes in panels(figure)) == count


def test_weak_functions_are_marked():
    marks = {FUNCTIONS[0]: CAUSES[None], FUNCTIONS[1]: CAUSES[True], FUNCTIONS[2]: CAUSES[False]}
    figure = draw("functions", mark_causes(probing(), marks, 8))
    titles = [axes.get_title() for axes in panels(figure)]
    assert [title.endswith("*") for title in titles[:4]] == [True, False, True, False]
    assert any("random heads" in text.get_text() for text in figure.texts)
    assert not any("random" in text.get_text() for text in draw("functions", probing()).texts)


@pytest.mark.parametrize("name", ["function-layers", "function-overlap", "head-profiles"])
def test_further_figures_name_all_functions(name):
    figure = draw(name, probing())
    words = {text.get_text() for axes in figure.axes for text in axes.get_yticklabels()}
    words |= {
        text.get_text()
        for axes in figure.axes
        if axes.get_legend()
        for text in axes.get_legend().get_texts()
    }
    assert set(FUNCTIONS) <= words


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize(
    "name", [name for name, kind in FIGURES.items() if "importance" in kind.needs]
)
def test_every_figure_in_every_format_twice_the_same(tmp_path, name, ending):
    one, two = (
        save_figure(draw(name, [probing()]), tmp_path / f"{i}.{ending}").read_bytes()
        for i in range(2)
    )
    assert one == two
    assert len(one) > 2000


def test_figures_of_functions_are_not_for_other_maps():
    other = Map.of({"effect": (("layer", "head"), np.zeros((2, 2)))}, {"method": "ablation"})
    assert "functions" in FIGURES
    with pytest.raises(PlotError, match="not for maps of ablation"):
        draw("functions", other)


def change(mean, reach=0.1):
    return {"mean": mean, "low": mean - reach, "high": mean + reach}


def test_figures_of_the_checks_show_their_numbers():
    names = list(FUNCTIONS[:3])
    rows = [
        {"function": n, "heads": k, "control": -0.1, "difference": change(-0.2 * k)}
        for n in names
        for k in (1, 5)
    ]
    figure = masking_figure({"masking": rows})
    chosen = figure.axes[0].lines[1]
    assert chosen.get_ydata().tolist() == pytest.approx([-0.3, -1.1])
    table = [[change(-0.5 * (a == b) - 0.05) for b in range(3)] for a in range(3)]
    check = {"specificity": {"functions": names, "heads": [1, 2, 3], "change": table}}
    texts = specificity_figure(check).axes[0].texts
    assert texts[0].get_text() == "-0.55"
    assert texts[0].get_weight() == "bold"
    assert texts[1].get_weight() == "normal"
    rows = [{"function": n, "strength": s, "change": change(s)} for n in names for s in (-1, 1)]
    figure = strengthening_figure({"strengthening": rows})
    assert [axes.get_title() for axes in figure.axes] == names + [""] * (len(figure.axes) - 3)


def test_agreement_has_both_panels():
    row = {"pair": ["probing", "ablation"], "spearman": 0.2, "low": 0.1, "high": 0.3}
    row |= {"within": 0.1, "within_low": 0.0, "within_high": 0.2}
    rows = [row | {"function": name} for name in FUNCTIONS]
    figure = agreement_figure(rows)
    assert [axes.get_title() for axes in figure.axes] == ["all heads", "within layers"]
