"""gate, check, export, contrast: as a user runs them, on a tiny model."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

import headatlas as ha
from headatlas.checks.gating import held_out, toggling
from headatlas.checks.results import Contrasted
from headatlas.maps import load_map
from headatlas.models.edit import Edit
from headatlas.models.load.loader import load_model
from small_things import write_task

pytestmark = pytest.mark.usefixtures("quick_output")

FAST = ("--steps", "4", "--batch-size", "4", "--seeds", "2")


@pytest.fixture(scope="module")
def gated(tmp_path_factory, tiny_folder, tasks, succeed):
    """A finished run of gating, and what the program printed."""
    out = tmp_path_factory.mktemp("gated") / "out"
    words = [word for task in tasks for word in ("--task", task)]
    return out, succeed("gate", "--model", tiny_folder, "--out", out, *FAST, *words)


def without_files(printed):
    """What was printed, up to the names of the written files."""
    return printed.partition("wrote ")[0]


def test_gate_writes_maps_tables_and_the_figure(gated, tasks):
    out, printed = gated
    maps = [load_map(path) for path in sorted((out / "maps").glob("*.nc"))]
    assert [each.data.sizes["seed"] for each in maps] == [2, 2]
    assert [each.provenance["task"] for each in maps] == ["a", "b"]
    assert maps[0].provenance["settings"]["steps"] == 4
    assert "always" in printed
    assert "a: two seeds share" in printed
    assert "a and b: " in printed
    assert len(list((out / "figures").glob("*always-any.*"))) == 3
    table = sorted((out / "tables").glob("*.csv"))[0]
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 12
    assert {"role_always", "facilitation_mean", "interference_low"} <= set(rows[0])
    record = json.loads((out / "run.json").read_text())
    assert [run["method"]["name"] for run in record["runs"]] == ["gating", "gating"]


def test_running_again_computes_only_the_missing_seed(headatlas, gated, tiny_folder, tasks):
    out, _ = gated
    path = next((out / "maps").glob("tiny.a.gating*.nc"))
    before = path.read_bytes()
    group = path.stem.rsplit("-", 1)[-1]
    units = sorted((out / "units").glob(f"{group}*"))
    assert len(units) == 2
    units[1].unlink()
    words = ("gate", "--model", tiny_folder, "--task", tasks[0], "--out", out, *FAST)
    code, printed, _ = headatlas(*words)
    assert code == 0
    assert "1 unit computed" in printed
    assert "1 reused" in printed
    assert path.read_bytes() == before


def test_another_threshold_is_used_in_what_is_printed(headatlas, gated, tiny_folder, tasks):
    out, _ = gated
    head_map = load_map(next((out / "maps").glob("tiny.a.gating*.nc")))
    words = ("gate", "--model", tiny_folder, "--task", tasks[0], "--out", out, *FAST)
    for threshold in (0.05, 0.5):
        code, printed, _ = headatlas(*words, "--threshold", threshold)
        assert code == 0
        assert "0 units computed" in printed
        share = float((head_map["facilitation"].max("seed") >= threshold).mean())
        assert f"a, any (2 seeds): {share:.1%} of heads facilitate" in printed


@pytest.mark.parametrize("figure", ["always-any", "distributions", "gates"])
def test_figures_of_all_maps_in_the_folder(headatlas, gated, tmp_path, figure):
    out, _ = gated
    code, _, _ = headatlas("plot", out, "--figure", figure, "--out", tmp_path / "f.svg")
    assert code == 0
    assert re.search(r">A( \(Any\))?<", (tmp_path / "f.svg").read_text())


def test_check_writes_what_it_finds(headatlas, gated, tasks):
    out, _ = gated
    code, printed, error = headatlas("check", out, "--task", tasks[0], "--questions", "4")
    assert code == 0, error
    assert re.search(r"toggling \d+ of \d+ heads by facilitation", printed)
    assert "look 1: 95 % intervals over prefixes, questions and draws, for these seeds" in printed
    found = json.loads(next((out / "checks").glob("*.a.gating-????????.json")).read_text())
    assert [row["gates"] for row in found["held_out"]][:2] == ["untouched", "G"]
    assert set(found["toggling"]["holds"]) == {"facilitation", "interference", "irrelevance"}
    assert len(list((out / "figures").glob("*.toggling.svg"))) == 1
    code, again, error = headatlas("check", out, "--task", tasks[0], "--questions", "4")
    assert code == 0
    assert "was checked before" in " ".join(error.split())
    assert without_files(again) == without_files(printed)
    code, _, error = headatlas("check", out, "--task", tasks[0], "--questions", "5")
    assert code == 0
    assert "was checked before" not in " ".join(error.split())


def test_a_map_that_cannot_be_checked_leaves_the_others(
    headatlas, gated, tasks, tmp_path, monkeypatch
):
    copied = Path(shutil.copytree(gated[0], tmp_path / "copied"))
    plain = ha.Atlas.check

    def check(atlas, head_map, *given, **named):
        if head_map.provenance["task"] == "a":
            raise ha.HeadAtlasError("it is cloudy.")
        return plain(atlas, head_map, *given, **named)

    monkeypatch.setattr(ha.Atlas, "check", check)
    words = ("check", copied, "--task", tasks[0], "--task", tasks[1], "--questions", "4")
    code, printed, error = headatlas(*words)
    assert code == 2
    assert re.search(r"note: tiny\.a\.gating-\w+ is not checked: it is cloudy\.", error)
    assert "b: 2 test questions per seed" in printed
    assert "wrote " in printed


def test_three_updates_are_said_to_mean_nothing_and_are_not_approved(
    headatlas, tiny_folder, tasks, tmp_path
):
    out = tmp_path / "out"
    words = ("gate", "--model", tiny_folder, "--task", tasks[0], "--out", out, "--seeds", "3")
    code, printed, error = headatlas(*words, "--steps", "3", "--batch-size", "4")
    assert code == 0, error
    warned = printed.index("CAUTION: a: roles mean nothing yet")
    assert warned < printed.index("of heads facilitate")
    code, printed, error = headatlas("check", out, "--task", tasks[0], "--questions", "4")
    assert code == 0, error
    assert "the map is not reliable: roles mean nothing yet" in printed
    assert ": holds (" not in printed
    (path,) = (out / "checks").glob("*.gating-????????.json")
    found = json.loads(path.read_text())
    assert True not in found["toggling"]["holds"].values()


def test_a_map_that_cannot_pass_is_named_before_its_check(headatlas, gated, tasks, monkeypatch):
    def check(*given, **named):
        raise ha.HeadAtlasError("it is cloudy.")

    monkeypatch.setattr(ha.Atlas, "check", check)
    code, _, error = headatlas("check", gated[0], "--task", tasks[0])
    assert code == 2
    words = "cannot pass, whatever its check finds: roles mean nothing yet"
    assert words in " ".join(error.split())


def test_passes_that_were_kept_say_nothing_of_the_time_left(gated, tasks, tmp_path):
    copied = Path(shutil.copytree(gated[0], tmp_path / "copied"))
    for path in (copied / "units").glob("*.json"):  # passes that other tests left
        path.unlink()
    details = []
    for _ in range(2):
        shutil.rmtree(copied / "checks", ignore_errors=True)
        told = []
        atlas = ha.Atlas(copied, progress=told.append)
        atlas.check("a.gating", tasks[0], questions=4)
        details.append({each.detail for each in told if each.work == "checking a"})
    assert len(details[0]) > 1
    assert details[1] == {""}


def test_a_comparison_warns_of_maps_that_mean_little(headatlas, gated):
    code, printed, error = headatlas("compare", gated[0])
    assert code == 0, error
    warned = printed.index("CAUTION: a: roles mean nothing yet")
    assert warned < printed.index("rank correlation over heads")


def test_the_help_of_schedules_says_their_lengths(headatlas):
    printed = " ".join(headatlas("gate", "--help")[1].split())
    for name, method in (
        ("quick", ha.Gating.quick()),
        ("default", ha.Gating()),
        ("paper", ha.Gating.published()),
    ):
        assert f"{name} ({method.steps} of {method.batch_size}" in printed
    assert f"(default: {ha.Gating().regularization})" in printed


def test_an_interrupted_check_continues(gated, tasks, tmp_path, continues):
    copied = Path(shutil.copytree(gated[0], tmp_path / "copied"))
    words = ("check", copied, "--task", tasks[0], "--questions", "6")
    continues(words, copied, "answer", (held_out, toggling), at=20)


@pytest.mark.parametrize("hard", [False, True])
def test_an_exported_model_gives_the_logits_of_the_gated_one(
    headatlas, gated, tasks, tiny_folder, tmp_path, hard
):
    out, _ = gated
    flags = ["--hard"] if hard else []
    words = ("export", out, "--task", tasks[0], "--gates", "plus", "--seed", "1", *flags)
    code, printed, error = headatlas(*words, "--out", tmp_path / "model")
    assert code == 0, error
    assert "untouched" in printed
    head_map = load_map(next((out / "maps").glob("tiny.a.gating*.nc")))
    gate = torch.tensor(head_map["gate_plus"].sel(seed=1).to_numpy()).float()
    card = (tmp_path / "model" / "README.md").read_text()
    cut = re.search(r"Gates are 1 from (\d\.\d\d) on, else 0", card)
    assert (cut is not None) == hard
    gate = (gate >= float(cut[1])).float() if cut else gate
    model = load_model(str(tiny_folder))
    ids = torch.tensor([[5, 6, 7, 8, 9]])
    with torch.no_grad():
        with model.editing(Edit(gate=gate)):
            wanted = model.hf(ids).logits
        stock = AutoModelForCausalLM.from_pretrained(tmp_path / "model")
        torch.testing.assert_close(stock(ids).logits, wanted, rtol=1e-4, atol=1e-5)
    assert "G⁺" in card
    assert head_map.provenance["model_hash"] in card


def test_an_exported_adapter_gives_the_logits_of_the_gated_model(
    headatlas, gated, tasks, tiny_folder, tmp_path
):
    from peft import PeftModel

    out, _ = gated
    words = ("export", out, "--task", tasks[0], "--as", "adapter", "--seed", "1", "--hard")
    code, printed, error = headatlas(*words, "--out", tmp_path / "adapter")
    assert code == 0, error
    assert "untouched" in printed
    names = sorted(path.name for path in (tmp_path / "adapter").iterdir())
    assert names == ["README.md", "adapter_config.json", "adapter_model.safetensors"]
    card = (tmp_path / "adapter" / "README.md").read_text()
    assert "library_name: peft" in card
    assert 'PeftModel.from_pretrained(model, "path/to/this/folder")' in card
    cut = float(re.search(r"Gates are 1 from (\d\.\d\d) on, else 0", card)[1])
    head_map = load_map(next((out / "maps").glob("tiny.a.gating*.nc")))
    gate = torch.tensor(head_map["gate_plus"].sel(seed=1).to_numpy() >= cut).float()
    model = load_model(str(tiny_folder))
    ids = torch.tensor([[5, 6, 7, 8, 9]])
    stock = AutoModelForCausalLM.from_pretrained(tiny_folder)
    with torch.no_grad(), model.editing(Edit(gate=gate)):
        wanted = model.hf(ids).logits
        adapted = PeftModel.from_pretrained(stock, tmp_path / "adapter")(ids).logits
    torch.testing.assert_close(adapted, wanted, rtol=1e-4, atol=1e-5)


def test_scores_of_a_map_for_other_programs(headatlas, gated, tmp_path):
    out, _ = gated
    words = ("scores", out, "--task", "a", "--method", "gating", "--out", tmp_path / "a.json")
    code, printed, error = headatlas(*words, "--d-model", "32")
    assert code == 0, error
    assert str(tmp_path / "a.json") in printed
    text = (tmp_path / "a.json").read_text()
    content = json.loads(text, parse_constant=lambda word: pytest.fail(word))
    sizes = {"n_layers": 3, "n_heads": 4, "d_model": 32, "parallel_attn_mlp": False}
    assert content["cfg"] == sizes
    assert len(content["nodes"]) == 12
    code, _, error = headatlas(*words)
    assert code == 0
    assert "note: EAP-IG cannot load this file without the model's hidden size" in error


def test_contrast_of_two_tasks(headatlas, tiny_folder, tasks, tmp_path):
    words = ("contrast", "--model", tiny_folder, "--retain", tasks[0], "--forget", tasks[1])
    code, printed, error = headatlas(*words, "--steps", "3", "--batch-size", "2", "--out", tmp_path)
    assert code == 0, error
    assert "there is no pair whose two tasks the model can both do" in printed
    assert "one seed" not in printed
    (found,) = (json.loads(path.read_text()) for path in (tmp_path / "checks").glob("*.json"))
    assert found["contrasts"][0]["retain"] == "a"
    assert len(found["contrasts"][0]["retain_shuffled"]) == 4
    assert "mean and range of 4 draws" in printed
    assert printed.count("shuffled 0% (0–0)") == 2
    assert load_map(next((tmp_path / "maps").glob("*.nc")))["gate"].shape == (3, 3, 4)


def test_leave_one_out_learns_from_the_others(headatlas, tiny_folder, tasks, tmp_path, monkeypatch):
    words = ["contrast", "--model", tiny_folder, "--leave-one-out", "--out", tmp_path]
    words += ["--retain", tasks[0], "--forget", tasks[1], "--retain", tasks[1]]
    words += ["--forget", tasks[0], "--steps", "2", "--batch-size", "2"]
    code, _, error = headatlas(*words)
    assert code == 2
    assert "there is no pair whose two tasks the model can both do" in " ".join(error.split())
    assert not list((tmp_path / "maps").glob("*.nc"))
    # as if the model could do what is to be kept from 'a' on, and nothing else
    monkeypatch.setattr(Contrasted, "possible", property(lambda pair: pair.retain == "a"))
    code, printed, error = headatlas(*words)
    assert code == 0, error
    (path,) = (tmp_path / "checks").glob("*.contrast.json")
    found = json.loads(path.read_text())["contrasts"]
    assert [row["learned_from"] for row in found] == [["b"], ["a"]]
    assert [row["seeds"] for row in found] == [3, 0]
    assert "nan" not in printed
    assert len(list((tmp_path / "figures").glob("*.svg"))) == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("gate", "--learning-rate", "fast", "--out", "o"),
            "is two numbers, such as 0.5,0.1, not 'fast'",
        ),
        (
            ("gate", "--regularization", "0", "--out", "o"),
            "gating needs a regularization above 0, not 0.0",
        ),
        (
            "gate --model none --regularization 0.1 --resolution 0.02 --out o".split(),
            "--regularization (0.1) and --resolution (0.02) both set λ: give one of them.",
        ),
        (
            ("gate", "--threshold", "1", "--out", "o"),
            "--threshold must be between 0 and 1, not 1.0",
        ),
        (("contrast", "--retain", "antonym", "--out", "o"), "every --retain needs a --forget"),
        (("check", "{gated}", "--task", "ioi"), "there is no map of 'ioi' in"),
        (("check", "{gated}"), "the map of 'a' was made from a file: give its path with --task"),
        (
            ("compare", "{gated}", "--map", "a.gating", "--map", "a.gating"),
            "a comparison needs two maps",
        ),
        (("check", "{gated}", "--map", "x"), "nothing matches 'x': choose one of tiny.a.gating"),
        (
            ("export", "{gated}", "--task", "ioi", "--out", "m"),
            "no map of the task 'ioi' in",
        ),
        (("export", "{gated}", "--task", "{task}", "--out", "m", "--seed", "9"), "no seed 9 in"),
        (("export", "{gated}", "--task", "{task}", "--out", "{gated}"), "exists already"),
        (("scores", "{gated}", "--out", "s.csv"), "holds 2 maps: choose one with --map: tiny.a.ga"),
        (("scores", "{gated}", "--task", "a", "--out", "s.txt"), "cannot be written as 's.txt'"),
        (
            ("scores", "{gated}", "--task", "a", "--out", "s.json", "--parallel-attn-mlp"),
            "only together with --d-model",
        ),
    ],
)
def test_a_users_mistake_gets_a_sentence(headatlas, gated, tasks, words, sentence):
    filled = [word.format(gated=gated[0], task=tasks[0]) for word in words]
    code, _, error = headatlas(*filled)
    assert code == 2
    assert sentence in " ".join(error.split())


def test_maps_of_equal_names_are_told_apart_by_content(headatlas, tiny_folder, tasks, tmp_path):
    other = tmp_path / "a.jsonl"
    other.write_text(tasks[0].read_text().replace("the", "this"))
    words = ("gate", "--model", tiny_folder, *FAST, "--out", tmp_path / "o")
    code, _, error = headatlas(*words, "--task", tasks[0], "--task", other)
    assert code == 0, error
    code, _, error = headatlas("check", tmp_path / "o", "--task", other, "--questions", "4")
    assert code == 2, error  # the other map of this name is skipped
    assert "have changed since this map was made" in error
    assert len(list((tmp_path / "o" / "checks").glob("*.gating-????????.json"))) == 1
    code, _, error = headatlas("export", tmp_path / "o", "--task", other, "--out", tmp_path / "m")
    assert code == 2
    assert "choose one with --map from" in " ".join(error.split())


def test_fewer_seeds_keep_the_map_of_more(headatlas, tiny_folder, tasks, tmp_path):
    words = ("gate", "--model", tiny_folder, "--task", tasks[0], "--out", tmp_path, *FAST)
    for more in ((), ("--seeds", "1")):
        assert headatlas(*words, *more)[0] == 0
        (path,) = (tmp_path / "maps").glob("*.nc")
        assert load_map(path).data.sizes["seed"] == 2


def test_a_map_in_another_number_format_is_checked_in_it(headatlas, tiny_folder, tasks, tmp_path):
    words = ("gate", "--model", tiny_folder, "--task", tasks[0], "--out", tmp_path, *FAST)
    code, _, error = headatlas(*words, "--dtype", "bfloat16")
    assert code == 0, error
    code, _, error = headatlas("check", tmp_path, "--task", tasks[0], "--questions", "4")
    assert code == 0, error


def test_examples_too_long_for_the_model_are_left_out_and_reported(
    headatlas, tiny_folder, tmp_path
):
    path = write_task(tmp_path / "long.jsonl", count=30)
    rows = [json.dumps({"prompt": "x" * 600 + str(i), "target": "y"}) for i in range(10)]
    path.write_text("\n".join([path.read_text(), *rows]))
    words = ("gate", "--model", tiny_folder, "--task", path, "--out", tmp_path / "o")
    code, _, error = headatlas(*words, "--steps", "9", "--batch-size", "1", "--seeds", "1")
    assert code == 0, error
    assert "examples that are too long are left out" in error
    code, _, error = headatlas("check", tmp_path / "o", "--task", path, "--questions", "4")
    assert code == 0, error


def test_another_model_than_the_maps_is_refused(headatlas, gated, tmp_path):
    from small_things import save_tiny_folder

    other = save_tiny_folder(tmp_path / "other", layers=2)
    code, _, error = headatlas("check", gated[0], "--model", other)
    assert code == 2
    assert "is not the model that this map was made from" in " ".join(error.split())
