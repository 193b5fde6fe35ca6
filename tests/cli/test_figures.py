"""`headatlas plot` redraws every figure that any command draws, byte for byte."""

from __future__ import annotations

import json
import re

import pytest

import headatlas as ha

ONE_MAP = {"heatmap": "ablation", "trajectories": "a.gating"}
"""Figures of one map, where the folder holds several that suit; and which is drawn then."""

COMPARED = {"agreement": "+1-more"}
"""Figures of several results, and which of them a command drew alone."""


@pytest.fixture(scope="module")
def pairs(tmp_path_factory, tasks):
    """The two tasks, with corrupted prompts."""
    folder = tmp_path_factory.mktemp("pairs")
    for path in tasks:
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        lines = [json.dumps(row | {"corrupted": f"x{row['prompt'][1:]}"}) for row in rows]
        (folder / path.name).write_text("\n".join(lines))
    return [folder / path.name for path in tasks]


@pytest.fixture(scope="module")
def study(tmp_path_factory, tiny_folder, pairs, suite, succeed, quick_output_in_module):
    """A folder with everything that commands draw; only SVG files."""
    out = tmp_path_factory.mktemp("study") / "out"
    model = ("--model", tiny_folder, "--out", out)
    fast = ("--steps", 2, "--batch-size", 4)
    succeed("ablate", *model, "--task", pairs[0])
    succeed("gate", *model, "--task", pairs[0], "--task", pairs[1], *fast, "--seeds", 2)
    succeed("contrast", *model, "--retain", pairs[0], "--forget", pairs[1], *fast)
    succeed("probe", *model, "--suite", suite, "--epochs", 2, "--seeds", 1)
    ha.Atlas(out, tiny_folder, progress=None).map(ha.Patching(examples=4), pairs[0])
    succeed("compare", out, "--map", "a.gating", "--map", "ablation")
    succeed("compare", out, "--map", "a.gating", "--map", "ablation", "--map", "patching")
    succeed("check", out, "--task", pairs[0], "--map", "a.gating", "--questions", 4)
    both = ("--task", pairs[0], "--task", pairs[1], "--map", "a.gating", "--map", "b.gating")
    succeed("check", out, *both, "--kind", "specificity", "--questions", 4)
    succeed("check", out, "--task", suite, "--map", "probing", "--questions", 8)
    return out


@pytest.mark.long
def test_every_figure_is_drawn_as_the_commands_drew_it_or_says_what_it_needs(
    study, headatlas, tmp_path
):
    """Figures of several maps are those that their commands wrote of all maps of the folder."""
    written = {path.name.rsplit(".", 2)[-2]: path for path in (study / "figures").glob("*.svg")}
    assert set(written) == set(ha.list_figures()) - {"distributions", "gates", "trajectories"}
    for name in ha.list_figures():
        path = tmp_path / f"{name}.svg"
        words = ("plot", study, "--figure", name, "--out", path)
        if name in COMPARED:
            words = (*words, "--map", COMPARED[name])
        code, _, error = headatlas(*words)
        if name in ONE_MAP:
            assert code == 2
            assert re.search(
                rf"the figure {name} shows one (gating )?map, and {study} holds", error
            )
            assert re.search(r"choose one with --map .*tiny\.a\.gating-", error)
            code, _, error = headatlas(*words, "--map", ONE_MAP[name])
        assert code == 0, error
        assert path.stat().st_size > 1000
        if name in written:
            assert path.read_bytes() == written[name].read_bytes(), name


def test_a_figure_of_what_is_not_there_says_so(tmp_path, headatlas, tiny_folder, tasks):
    out = tmp_path / "out"
    atlas = ha.Atlas(out, tiny_folder, progress=None)
    atlas.map(ha.Ablation(heads=((0, 0),)), tasks[0], baseline=False)
    for name in ha.list_figures():
        code, _, error = headatlas("plot", out, "--figure", name, "--out", tmp_path / "f.svg")
        if name == "heatmap":
            assert code == 0
            continue
        assert code == 2
        assert re.search(f"^error: the figure {name} shows a [a-z ]+, and .* holds none", error)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--figure", "pie"), "no figure 'pie': there are heatmap, always-any,"),
        (("--map", "gating"), "'gating' matches several: choose one of tiny.a.gating"),
        (("--map", "knockout"), "nothing matches 'knockout': choose one of tiny.a-not-b.contrast"),
        (("--map", "ablation", "--variable", "size"), "size"),
        (("--figure", "toggling", "--palette", "blue-orange"), "palette"),
    ],
)
def test_mistakes_get_a_sentence(study, headatlas, tmp_path, words, sentence):
    code, _, error = headatlas("plot", study, *words, "--out", tmp_path / "f.svg")
    assert code == 2
    assert sentence in error
    assert not (tmp_path / "f.svg").exists()


def test_a_part_of_a_name_is_enough(study, succeed, tmp_path):
    for part in ("ABLATION", "b.gating", "contrast"):
        succeed("plot", study, "--map", part, "--out", tmp_path / f"{part}.svg")
    printed = succeed("top", study, "--map", "b.gating", "--n", 2)
    assert "Most important heads of b by gating" in printed
    assert "of a by" not in printed
