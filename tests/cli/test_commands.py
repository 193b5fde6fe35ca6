"""The commands, run as a user runs them."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from headatlas.cli.main import app
from headatlas.maps import load_map
from headatlas.runs import reload
from small_things import write_task

pytestmark = pytest.mark.usefixtures("quick_output")


@pytest.fixture
def task(tmp_path):
    return write_task(tmp_path / "task.jsonl")


def test_ablate_writes_map_figure_and_record(headatlas, tiny_folder, task, tmp_path):
    out = tmp_path / "out"
    code, printed, _ = headatlas("ablate", "--model", tiny_folder, "--task", task, "--out", out)
    assert code == 0
    written = [line.removeprefix("wrote ") for line in printed.splitlines() if "wrote" in line]
    names = sorted(re.sub("-[0-9a-f]{8}", "", path.split("/")[-1]) for path in written)
    assert names == [
        "run.json",
        "tiny.task.ablation.heads.csv",
        "tiny.task.ablation.heatmap.svg",
        "tiny.task.ablation.nc",
    ]
    (path,) = (out / "maps").iterdir()
    head_map = load_map(path)
    assert np.isfinite(head_map["effect"]).all()
    (record,) = json.loads((out / "run.json").read_text())["runs"]
    assert record["model"]["n_heads"] == 4
    assert all(check["passed"] for check in record["checks"])
    assert len(record["units"]["computed"]) == 3

    code, printed, _ = headatlas("ablate", "--model", tiny_folder, "--task", task, "--out", out)
    assert code == 0
    assert "0 units computed" in printed
    assert "3 reused" in printed

    figure = tmp_path / "se.svg"
    code, printed, _ = headatlas("plot", out, "--variable", "effect_se", "--out", figure)
    assert code == 0
    assert "standard error" in figure.read_text()


def test_heads_of_the_real_model_equal_zeroed_columns(headatlas, embedded, tmp_path, monkeypatch):
    monkeypatch.setattr(reload, "load_model", lambda name, **how: embedded)
    heads = [(0, 3), (12, 0), (29, 1)]
    named = ",".join(f"{layer}.{head}" for layer, head in heads)
    code, _, _ = headatlas(
        "ablate", "--heads", named, "--examples", "4", "--no-baseline", "--out", tmp_path / "o"
    )
    assert code == 0
    head_map = load_map(next((tmp_path / "o" / "maps").glob("*.nc")))
    assert int(np.isfinite(head_map["effect"]).sum()) == len(heads)

    from headatlas.tasks import load_task

    examples = load_task("singular-plural").prompts(limit=4, split="train")
    rows = [embedded.encode(each.prompt, each.target) for each in examples]
    plain = embedded.score(rows).mean().mean()
    for layer, head in heads:
        weight = embedded.hf.model.layers[layer].self_attn.o_proj.weight
        kept = weight.detach().clone()
        weight.data[:, head * 64 : (head + 1) * 64] = 0
        change = embedded.score(rows).mean().mean() - plain
        weight.data.copy_(kept)
        effect = float(head_map["effect"].sel(seed=0, layer=layer, head=head))
        assert effect == pytest.approx(float(change), abs=1e-5)


def test_seeds_that_are_all_the_same_are_reported(headatlas, tiny_folder, task, tmp_path):
    words = ["ablate", "--model", tiny_folder, "--task", task, "--heads", "0.0", "--seeds", 2]
    code, _, said = headatlas(*words, "--out", tmp_path / "o")
    assert code == 0
    assert "all seeds give the same map" in said
    code, _, said = headatlas(*words, "--examples", 3, "--out", tmp_path / "p")
    assert code == 0
    assert "all seeds give the same map" not in said


def test_doctor_prints_spec_checks_and_costs(headatlas, tiny_folder):
    code, printed, _ = headatlas("doctor", "--model", tiny_folder)
    assert code == 0
    for words in (
        "LlamaForCausalLM",
        "key/value heads",
        "d_head",
        "attn_implementation",
        "gate update",
    ):
        assert words in printed
    assert printed.count("yes") == 5


def test_doctor_json_is_json(headatlas, tiny_folder):
    code, printed, _ = headatlas("doctor", "--model", tiny_folder, "--json")
    found = json.loads(printed)
    assert code == 0
    assert found["verified"]
    assert (found["spec"]["n_layers"], found["spec"]["n_kv_heads"]) == (3, 2)
    assert found["shares_prefixes"]
    assert all(each["seconds"] > 0 and each["memory"] > 0 for each in found["estimates"])


def test_doctor_says_no(headatlas, tiny_folder, monkeypatch):
    from headatlas.models.edit import Edit

    monkeypatch.setattr(Edit, "apply", lambda self, z, layer, offset: z)
    code, printed, _ = headatlas("doctor", "--model", tiny_folder)
    assert code == 2
    assert "NO" in printed


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("models", "smollm2-135m"),
        ("tasks", "singular-plural"),
        ("methods", "ablation"),
        ("figures", "heatmap"),
    ],
)
def test_list(headatlas, kind, words):
    code, printed, _ = headatlas("list", kind)
    assert code == 0
    assert words in printed


def test_other_settings_are_another_map(headatlas, tiny_folder, task, tmp_path):
    out = tmp_path / "out"
    given = ["--model", tiny_folder, "--task", task, "--out", out]
    for more in ([], ["--examples", "3", "--heads", "0.0"], ["--seeds", "2", "--heads", "0.0"]):
        assert headatlas("ablate", *given, *more)[0] == 0
    maps = [load_map(path) for path in sorted((out / "maps").iterdir())]
    assert sorted(each.provenance["settings"]["examples"] for each in maps) == [3, 32]
    whole = next(each for each in maps if each.provenance["settings"]["examples"] == 32)
    assert np.isfinite(whole["effect"].sel(seed=0)).all()
    averaged = whole.aggregate("mean", skip_missing=True)["effect"]
    assert np.isfinite(averaged).all()


def test_examples_that_do_not_fit_are_reported(headatlas, tiny_folder, tmp_path):
    path = write_task(tmp_path / "long.jsonl")
    path.write_text(path.read_text() + '\n{"prompt": "' + "x" * 600 + '", "target": "y"}')
    code, _, said = headatlas(
        "ablate", "--model", tiny_folder, "--task", path, "--out", tmp_path / "o"
    )
    assert code == 0
    assert "1 of 7 examples are too long" in said


def test_version_and_help(headatlas):
    from headatlas import __version__

    assert headatlas("--version")[1] == f"headatlas {__version__}\n"
    for command in (
        "atlas", "ablate", "gate", "probe", "contrast", "top", "check", "compare", "plot", "export",
        "doctor", "list",
    ):  # fmt: skip
        code, printed, _ = headatlas(command, "--help")
        assert code == 0
        assert "Example" in printed


@pytest.mark.parametrize("command", sorted(get_command(app).commands))
def test_help_at_80_columns_cuts_no_name(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    found = get_command(app).commands[command]
    printed = CliRunner().invoke(app, [command, "--help"]).stdout
    for parameter in found.params:
        if parameter.param_type_name == "option":
            assert re.search(rf"^  .*{parameter.opts[0]}\b", printed, re.MULTILINE)


def test_an_interruption_is_reported_and_keeps_what_is_finished(
    headatlas, tiny_folder, task, tmp_path, monkeypatch
):
    from headatlas.methods import Ablation

    right, calls = Ablation.run, []

    def interrupted(self, *args, **kwargs):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return right(self, *args, **kwargs)

    out = tmp_path / "out"
    monkeypatch.setattr(Ablation, "run", interrupted)
    code, _, said = headatlas("ablate", "--model", tiny_folder, "--task", task, "--out", out)
    assert code == 1
    assert "what is finished is kept" in said
    monkeypatch.setattr(Ablation, "run", right)
    code, printed, _ = headatlas("ablate", "--model", tiny_folder, "--task", task, "--out", out)
    assert code == 0
    assert "2 units computed" in printed
    assert "1 reused" in printed


def test_the_program_runs_as_a_module():
    out = subprocess.run(
        [sys.executable, "-m", "headatlas", "--version"], check=True, capture_output=True, text=True
    )
    assert out.stdout.startswith("headatlas ")
