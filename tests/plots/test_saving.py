"""Figures as files and as HTML."""

from __future__ import annotations

import re
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
from matplotlib.image import imread

from headatlas.errors import PlotError, StoreError
from headatlas.plots import draw, figure_html, save_figure, save_in_all_formats
from plots.made_up import ablation_map, gating_check, gating_map, probing_map


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_a_figure_that_is_saved_twice_stays_the_same(tmp_path, ending):
    """Also one with a legend and warnings, which make the saved figure larger."""
    figure = draw("always-any", gating_map(unfinished="3 of 10 seeds"))
    first = save_figure(figure, tmp_path / f"first.{ending}").read_bytes()
    figure.savefig(str(tmp_path / f"second.{ending}"))
    open_file = BytesIO()
    figure.savefig(open_file, format=ending)
    assert (tmp_path / f"second.{ending}").read_bytes() == first
    assert open_file.getvalue() == first


def test_savefig_obeys_its_arguments(tmp_path):
    figure = draw("heatmap", ablation_map())
    sizes = []
    for number, given in enumerate(({}, {"dpi": 100}, {"bbox_inches": None})):
        figure.savefig(tmp_path / f"{number}.png", **given)
        sizes.append(imread(tmp_path / f"{number}.png").shape[:2])
    assert sizes[1] == pytest.approx([size / 2 for size in sizes[0]], abs=2)
    assert sizes[2] == tuple(int(200 * inches) for inches in figure.get_size_inches()[::-1])
    figure.savefig(tmp_path / "dated.svg", metadata={"Date": "1999-12-31"})
    assert "1999-12-31" in (tmp_path / "dated.svg").read_text()
    figure.savefig(tmp_path / "plain.svg")
    text = (tmp_path / "plain.svg").read_text()
    assert "dc:date" not in text
    assert ">Layer</text>" in text  # text stays text


def test_all_formats_under_one_name(tmp_path):
    paths = save_in_all_formats(draw("heatmap", ablation_map()), tmp_path / "new" / "map.v1")
    assert [path.name for path in paths] == ["map.v1.png", "map.v1.svg", "map.v1.pdf"]
    starts = [path.read_bytes()[:5] for path in paths]
    assert starts == [b"\x89PNG\r", b"<?xml", b"%PDF-"]
    assert sorted(paths[0].parent.iterdir()) == sorted(paths)  # no temporary file stays


def test_what_cannot_be_saved_is_one_sentence(tmp_path):
    figure = draw("heatmap", ablation_map())
    with pytest.raises(PlotError, match=r"has '\.docx', and should end in \.png, \.svg, \.pdf"):
        save_figure(figure, tmp_path / "map.docx")
    with pytest.raises(PlotError, match="has no suffix, and should end in"):
        save_figure(figure, tmp_path / "map")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        save_figure(figure, tmp_path / "file" / "map.png")


def test_html_holds_the_picture_and_escapes_names():
    html = figure_html("heatmap", ablation_map(task='<b>"own" & task</b>'))
    match = re.fullmatch(r'<img alt="([^"<>]*)" src="data:image/png;base64,([^"]+)">', html)
    assert match[1].startswith("heatmap: ablation map, &lt;b&gt;&quot;own&quot; &amp; task")
    on_screen = imread(BytesIO(b64decode(match[2])))
    large = BytesIO()
    draw("heatmap", ablation_map(task='<b>"own" & task</b>')).savefig(large, format="png")
    assert on_screen.shape[0] == pytest.approx(imread(BytesIO(large.getvalue())).shape[0] / 2, 0.02)
    assert figure_html("toggling", gating_check()).startswith('<img alt="toggling: gating check"')


def test_a_map_that_cannot_be_drawn_has_no_html():
    assert figure_html("heatmap", ablation_map(np.full((1, 2, 2), np.nan))) == ""
    assert figure_html("functions", gating_map()) == ""
    empty = probing_map()
    empty.data["importance"] = empty.data["importance"] * np.nan
    assert figure_html("functions", empty) == ""
