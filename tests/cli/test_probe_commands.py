"""probe and check of its maps: as a user runs them, on a tiny model."""

from __future__ import annotations

import json
import random

import pytest

from headatlas.maps import load_map

KINDS = ("Retrieval", "Inference", "Math Calculation")
FAST = ("--seeds", "2", "--epochs", "2")


def write_suite(path, questions=60, kinds=KINDS, **changes):
    """Questions of one step for every kind."""
    chance = random.Random(1)
    rows = []
    for number in range(questions):
        told = f"{number} " + "".join(chance.choices("abcde", k=6))
        for kind in kinds:
            told += f" {kind[:2]}:"
            answer = "".join(chance.choices("xyz", k=3))
            rows.append(
                {"prompt": told, "target": answer, "function": kind, "group": f"q{number}"}
                | changes
            )
            told += answer
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def probed(tmp_path_factory, tiny_folder):
    """A finished run of probing and its suite, by the program itself."""
    import subprocess
    import sys

    folder = tmp_path_factory.mktemp("probed")
    suite = write_suite(folder / "suite.jsonl")
    words = ["probe", "--model", tiny_folder, "--suite", suite, "--out", folder / "out", *FAST]
    done = subprocess.run(
        [sys.executable, "-m", "headatlas", *map(str, words)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return folder / "out", suite, done.stdout


def only_map(out):
    (path,) = (out / "maps").glob("*probing*.nc")
    return path


def test_probe_writes_map_report_and_figures(probed):
    out, _, printed = probed
    drawn = load_map(only_map(out))
    assert drawn["importance"].dims == ("function", "seed", "layer", "head")
    assert drawn.data["function"].to_numpy().tolist() == list(KINDS)
    (report,) = (json.loads(p.read_text()) for p in (out / "checks").glob("*.probe.json"))
    assert set(report["baselines"]) == {"majority", "words", "place", "shuffled"}
    assert report["chance"] == pytest.approx(1 / 3)
    assert len(report["confusion"]) == 3
    assert "the probe with shuffled labels" in printed
    assert "by the elbow" in printed
    assert len(list((out / "figures").glob("*.functions.*"))) == 3


def test_the_same_command_again_reads_and_fits_nothing(headatlas, tiny_folder, probed):
    out, suite, _ = probed
    before = only_map(out).read_bytes()
    code, printed, _ = headatlas(
        "probe", "--model", tiny_folder, "--suite", suite, "--out", out, *FAST
    )
    assert code == 0
    assert "0 units computed" in printed
    assert only_map(out).read_bytes() == before


def test_check_masks_compares_and_marks_the_map(headatlas, tiny_folder, tmp_path):
    suite = write_suite(tmp_path / "s.jsonl")
    out = tmp_path / "out"
    given = ("--model", tiny_folder, "--suite", suite, "--out", out)
    assert headatlas("probe", *given, *FAST)[0] == 0
    code, printed, error = headatlas("check", out, "--task", suite, "--questions", "8")
    assert code == 0, error
    (path,) = (p for p in (out / "checks").glob("*.json") if ".probe." not in p.name)
    found = json.loads(path.read_text())
    assert {row["function"] for row in found["masking"]} == set(KINDS)
    assert len(found["specificity"]["change"]) == 3
    assert {row["masked"] for row in found["order"]} == {"Retrieval"}
    assert {row["strength"] for row in found["strengthening"]} == {-1, 0.5, 1, 2}
    assert set(found["claims"]) == {"masking", "specificity", "order", "strengthening"}
    assert "a function's heads matter more for it than random heads" in printed
    marked = load_map(only_map(out))
    assert marked.data["causal"].dims == ("function",)
    assert len(list((out / "figures").glob("*.specificity.*"))) == 3

    code, again, error = headatlas("check", out, "--task", suite, "--questions", "8")
    assert "was checked before" in error
    assert again == printed
    for note in ("", "was checked before"):  # more than there are: asked once, then known
        code, _, error = headatlas("check", out, "--task", suite, "--questions", "500")
        assert code == 0
        assert note in error
    assert json.loads(path.read_text())["questions"] == 18
    marked = load_map(only_map(out))
    assert marked.provenance["causal_questions"] == 18
    assert headatlas("probe", *given, *FAST)[0] == 0  # marks outlive another run of the probe
    assert load_map(only_map(out)).data["causal"].identical(marked.data["causal"])


def test_an_interrupted_check_goes_on(headatlas, tiny_folder, tmp_path, monkeypatch):
    from headatlas.checks import steps

    suite = write_suite(tmp_path / "s.jsonl")
    out = tmp_path / "out"
    assert headatlas("probe", "-m", tiny_folder, "-s", suite, "-o", out, *FAST)[0] == 0
    asked = []
    plain = steps.answer_steps

    def counted(*given):
        asked.append(given)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return plain(*given)

    monkeypatch.setattr(steps, "answer_steps", counted)
    words = ("check", out, "--task", suite, "--questions", "8")
    assert headatlas(*words)[0] == 1
    assert headatlas(*words)[0] == 0
    whole = len(asked) - 1  # the fourth was asked twice
    (out / "checks").rename(out / "elsewhere")
    assert headatlas(*words)[0] == 0
    assert len(asked) == whole + 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kinds": ("Retrieval",)}, "needs two with 5 examples in every split"),
        ({"questions": 12}, "needs two with 5 examples in every split"),
        ({"kinds": ("Retrieval", "retrieval")}, "'Retrieval' and 'retrieval' differ only in case"),
        ({"target": ""}, "target"),
        ({"function": None}, "has no column 'function'"),
    ],
)
def test_bad_suites_get_one_sentence(headatlas, tiny_folder, tmp_path, change, words):
    suite = write_suite(tmp_path / "s.jsonl", **change)
    code, _, error = headatlas(
        "probe", "-m", tiny_folder, "-s", suite, "-o", tmp_path / "out", *FAST
    )
    assert code == 2
    assert words in error
    assert error.count("error:") == 1
    assert not (tmp_path / "out" / "maps").exists()


def test_answers_that_are_too_long_are_counted(headatlas, tiny_folder, tmp_path):
    suite = write_suite(tmp_path / "s.jsonl")
    rows = [json.loads(line) for line in suite.read_text().splitlines()]
    for row in rows[:3]:
        row["target"] = "x" * 5000
    suite.write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, error = headatlas(
        "probe", "-m", tiny_folder, "-s", suite, "-o", tmp_path / "out", *FAST
    )
    assert code == 0, error
    assert "answers left out: 3 too long for the model's context" in error


def test_causes_compare_three_kinds_of_map(headatlas, tiny_folder, tmp_path):
    suite = write_suite(tmp_path / "s.jsonl")
    given = ("probe", "-m", tiny_folder, "-s", suite, "-o", tmp_path / "out", *FAST, "--causes")
    code, printed, error = headatlas(*given)
    assert code == 0, error
    (path,) = (tmp_path / "out" / "checks").glob("*.causes.json")
    rows = json.loads(path.read_text())["agreement"]
    assert len(rows) == 9
    assert {tuple(row["pair"]) for row in rows} == {
        ("probing", "ablation"),
        ("probing", "gating"),
        ("ablation", "gating"),
    }
    assert "correlation" in printed
    assert len(list((tmp_path / "out" / "figures").glob("*.causes.*"))) == 3
    names = {load_map(path).provenance["task"] for path in (tmp_path / "out" / "maps").glob("*.nc")}
    assert names == {"s", *(f"s:only={kind}" for kind in KINDS)}
