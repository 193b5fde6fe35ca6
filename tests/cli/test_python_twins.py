"""Whatever a command does, the same few names do in Python, and write the same bytes."""

from __future__ import annotations

import json
import re

import pytest

import headatlas as ha
from headatlas.cli import atlas as atlas_command
from headatlas.runs import causes

FAST = ("--steps", 3, "--batch-size", 4)
GATING = ha.Gating(steps=3, batch_size=4)


def contents(folder):
    """Every file by its path in the folder; not units of work, nor times: run.json, and how many
    seconds a map took."""
    return {
        str(path.relative_to(folder)): re.sub(rb'"seconds": [^,}\s]+', b"", path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "units" not in path.parts and path.name != "run.json"
    }


@pytest.fixture(scope="module")
def quick(quick_output_in_module):
    """Settings that the commands fix, made small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(causes, "EXAMPLES", 6)
        patch.setattr(ha.Gating, "quick", lambda: ha.Gating(steps=2))
        patch.setattr(atlas_command, "QUICK_EPOCHS", 2)
        yield


def write_pairs(path, count=24):
    """A task file with clean and corrupted prompts."""
    rows = [
        {"prompt": f"ab d{i} c", "target": f" e{i}", "corrupted": f"xb d{i} c"}
        for i in range(count)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


class Twins:
    """A folder that the program writes, and one that is written in Python."""

    def __init__(self, root, model, run):
        self.by_program, self.in_python, self.model, self.run = root / "p", root / "l", model, run

    @property
    def atlas(self):
        """A new object every time, as a script would make it."""
        return ha.Atlas(self.in_python, self.model, progress=None)

    def are_equal(self, *patterns):
        """All files are equal, and there are some that match each pattern."""
        program, library = contents(self.by_program), contents(self.in_python)
        assert list(program) == list(library)
        for name, content in program.items():
            assert content == library[name], f"{name} differs"
        for pattern in patterns:
            assert any(re.search(pattern, name) for name in program), f"no {pattern}"


def make_twins(factory, name, model, succeed):
    return Twins(factory.mktemp(name), model, succeed)


@pytest.fixture(scope="module")
def ablated(tmp_path_factory, tiny_folder, tasks, succeed):
    """Drawn in all formats."""
    twins = make_twins(tmp_path_factory, "ablated", tiny_folder, succeed)
    given = ("--model", tiny_folder, "--task", tasks[0], "--out", twins.by_program)
    succeed("ablate", *given, "--examples", 6, "--heads", "0.1,2.3", "--seeds", 2, "--no-baseline")
    method = ha.Ablation(heads=((0, 1), (2, 3)), examples=6)
    atlas = twins.atlas
    atlas.save_figures(atlas.map(method, tasks[0], seeds=2, baseline=False))
    return twins


@pytest.fixture(scope="module")
def gated(tmp_path_factory, tiny_folder, tasks, succeed, quick):
    """Two tasks gated, and one ablated."""
    twins = make_twins(tmp_path_factory, "gated", tiny_folder, succeed)
    given = ("--model", tiny_folder, "--task", tasks[0], "--out", twins.by_program)
    succeed("gate", *given, "--task", tasks[1], *FAST, "--seeds", 2)
    succeed("ablate", *given)
    atlas = twins.atlas
    atlas.save_figures(*(atlas.map(GATING, task, seeds=2) for task in tasks))
    atlas.save_figures(atlas.map(ha.Ablation(), tasks[0]))
    return twins


@pytest.fixture(scope="module")
def probed(tmp_path_factory, tiny_folder, suite, succeed, quick):
    twins = make_twins(tmp_path_factory, "probed", tiny_folder, succeed)
    given = ("--model", tiny_folder, "--suite", suite, "--out", twins.by_program)
    succeed("probe", *given, "--seeds", 2, "--epochs", 2, "--causes")
    atlas = twins.atlas
    functions = atlas.map(ha.Probing(epochs=2), suite, seeds=2)
    atlas.save_figures(functions, atlas.check(functions, suite, kind="probe"))
    atlas.save_figures(atlas.causes(functions, suite))
    return twins


def test_ablate(ablated):
    endings = (r"heatmap\.png", r"heatmap\.pdf", r"heatmap\.svg", r"heads\.csv", r"maps/.*\.nc")
    ablated.are_equal(*endings)


def test_gate(gated):
    gated.are_equal(r"a\.gating\+1-more.*always-any\.svg", r"tables/tiny\.b\.gating.*\.csv")


def test_probe_with_causes(probed):
    endings = (r"head-profiles\.svg", r"confusion\.svg", r"agreement\.svg")
    probed.are_equal(*endings, r"\.probe\.json", r"\.causes\.json", r"\.ablation-.*\.nc")


def test_check_of_gates(gated, tasks):
    gated.run("check", gated.by_program, "--task", tasks[0], "--questions", 4)
    atlas = gated.atlas
    atlas.save_figures(atlas.check("a.gating", tasks[0], questions=4))
    for name in ("a.gating", "ablation"):
        atlas.save_figures(atlas.check(name, tasks[0], questions=4, kind="faithfulness"))
    atlas.save_figures(atlas.leaderboard())
    gated.are_equal(r"checks/tiny\.a\.gating-\w+\.json", r"toggling\.svg", r"leaderboard\.svg")


def test_check_of_functions(probed, suite):
    probed.run("check", probed.by_program, "--map", "probing", "--task", suite, "--questions", 8)
    atlas = probed.atlas
    result = atlas.check("probing", suite, questions=8)
    atlas.save_figures(result, atlas.load("probing"))
    endings = (r"masking\.svg", r"specificity\.svg", r"strengthening\.svg")
    probed.are_equal(*endings, r"checks/tiny\.steps\.probing-\w+\.json")


def test_compare(gated):
    gated.run("compare", gated.by_program, "--map", "a.gating", "--map", "ablation")
    atlas = gated.atlas
    atlas.save_figures(atlas.compare("a.gating", "ablation"))
    gated.are_equal(r"\.comparison\.json", r"agreement\.svg")


def test_compare_all(tmp_path_factory, tiny_folder, succeed, quick):
    """Two tasks by three methods, with what the patching and gating maps of a task share."""
    twins = make_twins(tmp_path_factory, "compared", tiny_folder, succeed)
    tasks = [write_pairs(tmp_path_factory.mktemp("pairs") / f"{name}.jsonl") for name in "ab"]
    for folder in (twins.by_program, twins.in_python):
        atlas = ha.Atlas(folder, tiny_folder, progress=None)
        for task in tasks:
            for method in (ha.Ablation(examples=4), ha.Patching(examples=4), GATING):
                atlas.map(method, task, seeds=2, baseline=False)
    printed = succeed("compare", twins.by_program)
    atlas = twins.atlas
    mediations = [atlas.mediation(f"{name}.patching", f"{name}.gating") for name in "ab"]
    comparisons = atlas.compare_all()
    atlas.save_figures(*comparisons, *mediations)
    assert [one.subject for one in comparisons] == [
        "a", "b", "ablation (zero)", "gating", "patching",
    ]  # fmt: skip
    assert [len(one.rows) for one in comparisons] == [3, 3, 1, 1, 1]
    for words in (*(line for one in mediations for line in one.summary()), "a: rank correlation"):
        assert words in printed
    assert printed.count("Ceiling: the ") == 1
    matrix, line = r"tiny\.b\.3-maps-\w+\.agreement-matrix\.svg", r"\+1-more-\w+\.agreement\.svg"
    scatter = r"a\.patching\+1-more-\w+\.mediation"
    twins.are_equal(matrix, line, rf"{scatter}\.svg", rf"checks/tiny\.{scatter}\.json")


def test_contrast(tmp_path_factory, tiny_folder, tasks, succeed, quick):
    twins = make_twins(tmp_path_factory, "contrasted", tiny_folder, succeed)
    words = ("--retain", tasks[0], "--forget", tasks[1])
    succeed("contrast", "--model", tiny_folder, *words, *FAST, "--out", twins.by_program)
    atlas = twins.atlas
    atlas.save_figures(atlas.contrast([(tasks[0], tasks[1])], ha.Contrast(steps=3, batch_size=4)))
    twins.are_equal(r"\.contrast\.json", r"contrast\.svg", r"maps/.*contrast.*\.nc")


@pytest.mark.long
def test_atlas(tmp_path_factory, tiny_folder, tasks, suite, succeed, quick, monkeypatch):
    monkeypatch.setattr(atlas_command, "ABLATED", str(tasks[0]))
    monkeypatch.setattr(atlas_command, "GATED", tuple(map(str, tasks)))
    monkeypatch.setattr(atlas_command, "PROBED", str(suite))
    twins = make_twins(tmp_path_factory, "atlas", tiny_folder, succeed)
    succeed("atlas", "--quick", "--model", tiny_folder, "--out", twins.by_program)
    atlas = twins.atlas
    cheap = (ha.Ablation(examples=8), ha.Attribution(examples=8), ha.Attention(examples=8))
    effects = [atlas.map(method, tasks[0]) for method in cheap]
    atlas.save_figures(*effects)
    gating = ha.Gating.quick()
    atlas.save_figures(*[atlas.map(gating, task) for task in tasks])
    functions = atlas.map(ha.Probing(epochs=2), suite)
    atlas.save_figures(functions, atlas.check(functions, suite, kind="probe"))
    judged = [atlas.check(one, tasks[0], kind="faithfulness", questions=8) for one in effects]
    atlas.save_figures(*judged, atlas.leaderboard())
    twins.are_equal(r"leaderboard\.svg", r"faithfulness\.json")
    twins.are_equal(r"heatmap\.svg", r"always-any\.svg", r"functions\.svg", r"\.probe\.json")


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_plot_of_a_map(ablated, tmp_path, ending):
    paths = [tmp_path / f"{name}.{ending}" for name in ("program", "library", "savefig")]
    words = ("--map", "ablation", "--variable", "effect_se")
    ablated.run("plot", ablated.by_program, *words, "--out", paths[0])
    ha.save_figure(ablated.atlas.plot("heatmap", "ablation", variable="effect_se"), paths[1])
    ablated.atlas.load("ablation").plot("heatmap", variable="effect_se").savefig(paths[2])
    assert paths[0].read_bytes() == paths[1].read_bytes() == paths[2].read_bytes()


def test_plot_of_all_maps(gated, tmp_path):
    words = ("--figure", "always-any", "--palette", "blue-orange", "--out", tmp_path / "p.svg")
    gated.run("plot", gated.by_program, *words)
    figure = gated.atlas.plot("always-any", palette="blue-orange")
    ha.save_figure(figure, tmp_path / "l.svg")
    assert (tmp_path / "p.svg").read_bytes() == (tmp_path / "l.svg").read_bytes()


def test_plot_of_a_check(gated, tasks, tmp_path):
    gated.run("check", gated.by_program, "--task", tasks[0], "--questions", 4)
    gated.run("plot", gated.by_program, "--figure", "toggling", "--out", tmp_path / "p.svg")
    result = gated.atlas.check("a.gating", tasks[0], questions=4)
    ha.save_figure(result.plot(), tmp_path / "l.svg")
    assert (tmp_path / "p.svg").read_bytes() == (tmp_path / "l.svg").read_bytes()


def test_export(gated, tasks, tmp_path):
    words = ("--task", tasks[0], "--gates", "minus", "--hard", "--out", tmp_path / "program")
    printed = gated.run("export", gated.by_program, *words)
    exported = gated.atlas.export(
        "a.gating", tmp_path / "library", gates="minus", hard=True, task=tasks[0]
    )
    program, library = contents(tmp_path / "program"), contents(tmp_path / "library")
    assert {"model.safetensors", "config.json", "README.md"} <= set(program)
    assert program == library
    assert f"{exported.held_out[1].loss:.3f}" in printed


def test_export_as_an_adapter(gated, tasks, tmp_path):
    words = ("--task", tasks[0], "--as", "adapter", "--out", tmp_path / "program")
    gated.run("export", gated.by_program, *words)
    gated.atlas.export("a.gating", tmp_path / "library", form="adapter", task=tasks[0])
    program, library = contents(tmp_path / "program"), contents(tmp_path / "library")
    assert {"adapter_model.safetensors", "adapter_config.json", "README.md"} == set(program)
    assert program == library


@pytest.mark.parametrize("suffix", ["json", "csv", "safetensors"])
def test_scores(gated, tmp_path, suffix):
    program, library = tmp_path / f"p.{suffix}", tmp_path / f"l.{suffix}"
    gated.run("scores", gated.by_program, "--map", "a.gating", "--out", program)
    gated.atlas.load("a.gating").save_scores(library)
    assert program.read_bytes() == library.read_bytes()


def test_top(gated):
    printed = gated.run("top", gated.by_program, "--method", "gating", "--n", 3)
    (first, _) = gated.atlas.maps(method="gating").values()
    rows = first.top(3).to_dict("records")
    assert len(rows) == 3
    for row in rows:
        assert re.search(
            rf"{row['rank']}\. +{row['layer']}\.{row['head']} +{row['score']:.3f}", printed
        )


def test_doctor(succeed, tiny_folder):
    shown = json.loads(succeed("doctor", "--model", tiny_folder, "--json"))
    model = ha.load_model(str(tiny_folder))
    assert shown["spec"] == json.loads(json.dumps(model.spec.as_dict()))
    assert shown["hash"] == model.fingerprint
    names = [(check.question, check.passed) for check in ha.verify(model)]
    assert [(check["question"], check["passed"]) for check in shown["checks"]] == names
    assert [cost["work"] for cost in shown["estimates"]] == [c.work for c in ha.estimate(model)]


@pytest.mark.parametrize("kind", ["models", "tasks", "methods", "figures"])
def test_list(succeed, kind):
    words = " ".join(succeed("list", kind).split())
    for name, about in getattr(ha, f"list_{kind}")().items():
        assert f"{name} {' '.join(about.split())}" in words


def test_task_show(succeed, tiny_folder):
    words = ("--n", 2, "--split", "train", "--seed", 3, "--model", tiny_folder)
    printed = succeed("task", "show", "antonym:instruction", *words)
    task = ha.load_task("antonym:instruction")
    shown = ha.preview(task, str(tiny_folder), n=2, split="train", seed=3)
    assert len(shown.prompts) == 2
    assert shown.task.hash[:16] in printed
    for prompt in shown.prompts:
        assert prompt.example.prompt + prompt.example.target in printed
        assert f"{prompt.prompt_tokens} + {prompt.target_tokens} tokens" in printed


def test_task_check(headatlas, tasks, tmp_path):
    broken = tmp_path / "broken.jsonl"
    broken.write_text(tasks[0].read_text() + "\n{oops\n")
    for path, code in ((tasks[0], 0), (broken, 2)):
        found, printed, _ = headatlas("task", "check", path, "--json")
        reports = ha.check_file(str(path))
        assert found == code
        assert all(report.sound for report in reports.values()) == (code == 0)
        data = {name: report.as_dict() for name, report in reports.items()}
        assert json.loads(printed) == json.loads(json.dumps(data))


def test_task_baseline(succeed, tiny_folder, tasks):
    words = ("--model", tiny_folder, "--task", tasks[0], "--task", tasks[1], "--examples", 5)
    shown = json.loads(succeed("task", "baseline", *words, "--json"))
    model = ha.load_model(str(tiny_folder))
    for row, task in zip(shown, tasks, strict=True):
        measured = ha.measure_baseline(model, ha.load_task(task), limit=5)
        assert row.items() >= json.loads(json.dumps(measured.as_dict())).items()
        assert row["verdict"] == measured.verdict
