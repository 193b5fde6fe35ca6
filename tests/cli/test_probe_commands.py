"""probe and check of its maps: as a user runs them, on a tiny model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import headatlas as ha
from headatlas.checks.functions import check as functions
from headatlas.checks.functions.strengthening import STRENGTHS
from headatlas.checks.results.functions import CLAIMS
from headatlas.checks.results.probe import TEXTS
from headatlas.maps import load_map
from headatlas.runs import causes
from suite_files import KINDS, write_suite

pytestmark = pytest.mark.usefixtures("quick_output")

FAST = ("--seeds", "2", "--epochs", "2")


@pytest.fixture(scope="module")
def probed(tmp_path_factory, tiny_folder, suite, succeed):
    """A finished run of probing, and what the program printed."""
    out = tmp_path_factory.mktemp("probed") / "out"
    return out, succeed("probe", "--model", tiny_folder, "--suite", suite, "--out", out, *FAST)


def only_map(out):
    (path,) = (out / "maps").glob("*probing*.nc")
    return path


def test_probe_writes_map_report_and_figures(probed):
    out, printed = probed
    head_map = load_map(only_map(out))
    assert head_map["importance"].dims == ("function", "seed", "layer", "head")
    assert head_map.data["function"].to_numpy().tolist() == list(KINDS)
    (report,) = (json.loads(p.read_text()) for p in (out / "checks").glob("*.probe.json"))
    assert set(report["controls"]) == {"majority", "place", "shuffled"}
    assert set(report["texts"]) == set(TEXTS)
    assert set(report["streams"]) == {"0", "1", "2", "3"}
    assert report["chance"] == pytest.approx(1 / 3)
    assert len(report["confusion"]) == 3
    assert "the probe with shuffled labels" in printed
    assert "the strongest text baseline (" in printed
    assert "the embeddings of the same tokens alone reach" in printed
    assert "the most common function 33%" in printed
    assert "heads before the elbow" in printed
    for figure in (
        "functions",
        "function-layers",
        "function-overlap",
        "head-profiles",
        "confusion",
    ):
        assert len(list((out / "figures").glob(f"*.{figure}.*"))) == 3


def test_the_same_command_again_reads_and_fits_nothing(headatlas, tiny_folder, suite, probed):
    out, _ = probed
    before = only_map(out).read_bytes()
    code, printed, _ = headatlas(
        "probe", "--model", tiny_folder, "--suite", suite, "--out", out, *FAST
    )
    assert code == 0
    assert "0 units computed" in printed
    assert only_map(out).read_bytes() == before


@pytest.fixture
def copied(probed, tmp_path):
    """A copy of the finished run, to go on with."""
    return Path(shutil.copytree(probed[0], tmp_path / "copied"))


def test_check_masks_compares_and_marks_figures(headatlas, tiny_folder, suite, copied):
    words = ("check", copied, "--task", suite, "--questions")
    before = only_map(copied).read_bytes()
    figure = next((copied / "figures").glob("*.functions.svg"))
    unmarked = figure.read_text()
    code, printed, error = headatlas(*words, 8)
    assert code == 0, error
    (path,) = (p for p in (copied / "checks").glob("*.json") if ".probe." not in p.name)
    found = json.loads(path.read_text())
    assert {row["function"] for row in found["masking"]} == set(KINDS)
    assert len(found["specificity"]["change"]) == 3
    assert found["order"] is None  # one low-order function is too few
    assert found["strengthening"]["strength"] in STRENGTHS
    assert {row["function"] for row in found["strengthening"]["rows"]} == set(KINDS)
    assert set(found["claims"]) == set(CLAIMS)
    assert "a function's heads matter more for it than random heads" in printed
    assert "was checked before" not in error
    assert figure.read_text() != unmarked
    for name in ("masking", "specificity", "strengthening"):
        assert len(list((copied / "figures").glob(f"*.{name}.svg"))) == 1
    assert only_map(copied).read_bytes() == before

    code, again, error = headatlas(*words, 8)
    assert code == 0
    assert "was checked before" in error
    assert again.partition("wrote ")[0] == printed.partition("wrote ")[0]


@pytest.mark.long
def test_more_questions_than_there_are_are_measured_once(headatlas, tiny_folder, suite, copied):
    words = ("check", copied, "--task", suite, "--questions", 500)
    notes = []
    for _ in range(2):
        code, _, error = headatlas(*words)
        assert code == 0
        notes.append("was checked before" in error)
    assert notes == [False, True]
    (path,) = (p for p in (copied / "checks").glob("*.json") if ".probe." not in p.name)
    questions = json.loads(path.read_text())["questions"]
    assert questions < 500
    given = ("--model", tiny_folder, "--suite", suite, "--out", copied)
    assert headatlas("probe", *given, *FAST)[0] == 0  # marks outlive another run of the probe
    marked = ha.Atlas(copied, progress=None).load("probing")
    assert marked.provenance["causal_questions"] == questions
    assert marked.data["causal"].dims == ("function",)


def test_an_interrupted_check_continues(suite, copied, continues):
    words = ("check", copied, "--task", suite, "--questions", "8")
    continues(words, copied, "answer_steps", (functions,), at=4)


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


def test_causes_compare_reading_with_removing(headatlas, tiny_folder, suite, copied, monkeypatch):
    monkeypatch.setattr(causes, "EXAMPLES", 12)
    given = ("probe", "-m", tiny_folder, "-s", suite, "-o", copied, *FAST, "--causes")
    code, printed, error = headatlas(*given)
    assert code == 0, error
    (path,) = (copied / "checks").glob("*.causes.json")
    rows = json.loads(path.read_text())["rows"]
    assert [row["function"] for row in rows] == list(KINDS)
    assert {tuple(row["pair"]) for row in rows} == {("probing", "ablation")}
    for row in rows:
        assert all(value == value for value in row["reliability"])  # both are known
    assert "ceiling" in printed
    assert len(list((copied / "figures").glob("*.agreement.svg"))) == 1
    methods = {load_map(path).provenance["method"] for path in (copied / "maps").glob("*.nc")}
    assert methods == {"probing", "ablation"}
