"""`check_file`: what a file contains, what is wrong, and what cannot be done with it."""

from __future__ import annotations

import json

import pytest

from headatlas.errors import TaskError
from headatlas.tasks import check_file, load_task


def write_rows(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return str(path)


def questions(number, **columns):
    return [{"prompt": f"q{i}", "target": " a", **columns} for i in range(number)]


def warnings(folder, rows, **options):
    path = write_rows(folder / "mine.jsonl", rows)
    return list(check_file(path, **options)[path].warnings)


def test_repeated_prompts_are_named_by_line(tmp_path):
    rows = [*questions(10), {"prompt": "Q3 ", "target": " b"}, {"prompt": "q0", "target": " b"}]
    path = write_rows(tmp_path / "mine.jsonl", rows)
    report = check_file(path)[path]
    assert report.repeated == 2
    assert report.repeats == ("line 11 repeats line 4", "line 12 repeats line 1")


def test_prompts_repeated_in_one_line_are_counted(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(questions(3) + questions(2)))
    report = check_file(path)[str(path)]
    assert (report.repeated, report.repeats) == (2, ())


def test_only_the_first_repeats_are_named(tmp_path):
    path = write_rows(tmp_path / "mine.jsonl", questions(50) + questions(50))
    report = check_file(path)[path]
    assert report.repeated == 50
    assert len(report.repeats) == 10


def test_too_few_questions_to_divide(tmp_path):
    few, no_demonstrations = warnings(tmp_path, questions(6))
    assert few == (
        "only 6 questions: too few to divide into splits (8 are needed); all are for testing, "
        "which gating, probing and the replacements mean and resample cannot use"
    )
    assert no_demonstrations.startswith("no demonstrations: the forms ':icl' and ':instruction'")
    assert warnings(tmp_path, questions(1))[0].startswith("only 1 question: ")
    assert warnings(tmp_path, questions(8)) == []


def test_examples_of_one_question_are_not_many_questions(tmp_path):
    rows = questions(200, group="one")
    assert warnings(tmp_path, rows)[0].startswith("only 1 question: ")
    rows += [{"prompt": f"r{i}", "target": " a"} for i in range(10)]
    assert warnings(tmp_path, rows) == []


@pytest.mark.parametrize(
    ("rows", "empty"),
    [
        (questions(9, split="test"), ["demonstrations", "train", "select"]),
        (questions(5, split="train"), ["demonstrations", "select", "test"]),
        (questions(5, split="train", function="Inference"), ["demonstrations", "select", "test"]),
        (questions(9, split="train"), []),
        (
            questions(9, split="train") + questions(9, split="test"),
            ["demonstrations", "train", "select"],
        ),
    ],
)
def test_splits_that_stay_empty(tmp_path, rows, empty):
    listed = warnings(tmp_path, rows)
    assert [warning.split(":")[0].split()[1] for warning in listed] == empty
    task = load_task(str(tmp_path / "mine.jsonl"))
    assert all(not task.splits[split] for split in empty)


def test_examples_longer_than_the_context(tmp_path):
    path = write_rows(tmp_path / "mine.jsonl", questions(12))
    report = check_file(path, fits=lambda example: example.prompt < "q4")[path]
    assert report.too_long == 6  # q4 to q9, but not q10 and q11
    assert report.sound
    report = check_file(path, fits=lambda example: False)[path]
    assert not report.sound
    assert report.warnings == ("no example fits the model's context: no method can use this file",)


def test_the_files_of_a_folder_are_judged_together(tmp_path):
    write_rows(tmp_path / "my_test.jsonl", questions(9))
    train = [{"prompt": f"r{i}", "target": " a"} for i in range(30)]
    write_rows(tmp_path / "my_train.jsonl", train)
    reports = check_file(tmp_path)
    assert [report.warnings for report in reports.values()] == [(), ()]
    assert [dict(report.splits) for report in reports.values()] == [{"test": 9}, {"train": 30}]


def test_progress_counts_all_rows(tmp_path):
    path = write_rows(tmp_path / "mine.jsonl", questions(2500))
    calls = []
    check_file(path, progress=lambda *call: calls.append(call))
    assert calls == [(path, 1000, 2499), (path, 1000, 2499), (path, 500, 2499)]


def test_a_report_is_plain_data(tmp_path):
    path = write_rows(tmp_path / "mine.jsonl", [*questions(9), {"prompt": 3, "target": "a"}])
    report = check_file(path)[path]
    data = json.loads(json.dumps(report.as_dict()))
    assert data["examples"] == 9
    assert data["shown"] == ["line 10, column 'prompt': is 3, but should be text"]
    assert data["sound"] is False
    assert data["warnings"] == []


def test_options_are_those_of_load_task(tmp_path):
    path = write_rows(tmp_path / "mine.jsonl", [{"q": "a", "target": "b"}])
    assert check_file(path, columns={"prompt": "q"})[path].problems == 0
    assert check_file(path)[path].problems == 1
    with pytest.raises(TaskError, match="no format 'blomp'"):
        check_file(path, file_format="blomp")


def test_built_in_tasks_are_no_files():
    with pytest.raises(
        TaskError, match="'antonym' is built in: 'headatlas task show antonym' shows it"
    ):
        check_file("antonym:icl")


@pytest.mark.parametrize("name", ["demonstrations", "examples", "few-shot", "Examples"])
def test_demonstrations_have_several_names_in_files(tmp_path, name):
    rows = [*questions(9), {"prompt": "shown", "target": " a", "split": name}]
    path = write_rows(tmp_path / "mine.jsonl", rows)
    assert check_file(path)[path].splits == {"demonstrations": 1}
    assert "shown" in [example.prompt for example in load_task(path).split("demonstrations")]
