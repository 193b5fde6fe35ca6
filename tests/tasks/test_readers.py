"""Readers: every container, every format, and a sentence for what is wrong."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from headatlas.errors import TaskError
from headatlas.tasks import SPLITS, Example, check_file, load_task

ROWS = [
    {"prompt": "1+1=", "target": "2", "choices": ["2", "3"], "split": "test", "level": 1},
    {"prompt": "x", "target": " y", "choices": [" y", " z"], "split": "validation", "level": 2},
    {"prompt": "p", "target": " q", "function": "Inference", "group": 7, "corrupted": "r"},
]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def write_rows(folder, ending, rows):
    path = folder / f"mine{ending}"
    if ending == ".jsonl":
        return write(path, "\n".join(map(json.dumps, rows)))
    if ending == ".json":
        return write(path, json.dumps(rows))
    if ending == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path)
        return str(path)
    names = list(dict.fromkeys(key for row in rows for key in row))
    mark = "," if ending == ".csv" else "\t"

    def cell(value):
        text = "|".join(value) if isinstance(value, list) else "" if value is None else str(value)
        return '"' + text.replace('"', '""') + '"'

    lines = [mark.join(names)] + [mark.join(cell(row.get(name)) for name in names) for row in rows]
    return write(path, "\r\n".join(lines))


@pytest.mark.parametrize("ending", [".jsonl", ".json", ".csv", ".tsv", ".parquet"])
def test_every_container_gives_the_same_examples(tmp_path, ending):
    rows = [dict.fromkeys(ROWS[0] | ROWS[2]) | row for row in ROWS]
    task = load_task(write_rows(tmp_path, ending, rows))
    assert task.name == "mine"
    by_prompt = {
        example.prompt: (split, example) for split in SPLITS for example in task.splits[split]
    }
    split, example = by_prompt["1+1="]
    assert (split, example.target, example.choices) == ("test", "2", ("2", "3"))
    assert example.metadata["level"] in (1, "1")
    assert by_prompt["x"][0] == "select"
    assert by_prompt["p"][1].function == "Inference"
    assert by_prompt["p"][1].corrupted == "r"
    assert by_prompt["p"][1].group == "7"


def test_columns_and_template(tmp_path):
    path = write(tmp_path / "a.csv", 'question,answer,note\nWhat?,That,n\nWho?,"She, he",m\n')
    task = load_task(
        path,
        columns={"prompt": "question", "target": "answer"},
        template="Q: {prompt}\nA: {target}",
    )
    assert task.split("test")[1] == Example("Q: Who?\nA:", " She, he", metadata={"note": "m"})
    assert "too few questions to divide" in task.remarks[0]


def test_a_template_also_writes_choices_and_corrupted_prompts(tmp_path):
    path = write_rows(tmp_path, ".jsonl", [{**ROWS[0], "corrupted": "1+2="}])
    task = load_task(path, template="{prompt} {target}")
    example = task.split("test")[0]
    assert (example.prompt, example.target) == ("1+1=", " 2")
    assert example.choices == (" 2", " 3")
    assert example.corrupted == "1+2="


def test_a_file_may_bring_an_instruction(tmp_path):
    rows = [{"prompt": f"w{i}", "target": " x"} for i in range(20)]
    path = write_rows(tmp_path, ".jsonl", rows)
    task = load_task(f"{path}:instruction", instruction="Say x.")
    assert task.prompts(limit=1)[0].prompt.startswith("Say x.\n\nw")
    assert task.name == "mine:instruction"


def test_only_the_first_examples_of_a_split_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("headatlas.tasks.files.read.MOST", 10)
    rows = [{"prompt": f"w{i}", "target": " x", "split": "train"} for i in range(50)]
    rows += [{"prompt": f"v{i}", "target": " x", "split": "test"} for i in range(5)]
    task = load_task(write_rows(tmp_path, ".jsonl", rows))
    assert "only the first 10 examples of a split are used" in task.remarks
    assert len(task.split("test")) == 5
    assert sum(map(len, task.splits.values())) == 15
    plain = [{"prompt": f"w{i}", "target": " x"} for i in range(50)]
    task = load_task(write_rows(tmp_path, ".jsonl", plain))
    assert sum(map(len, task.splits.values())) == 10


def test_function_vectors(tmp_path):
    pairs = [{"input": f"w{i}", "output": f"v{i}"} for i in range(100)]
    task = load_task(write(tmp_path / "t.json", json.dumps(pairs)))
    example = task.prompts(limit=1)[0]
    assert example.prompt.count("Q: w") == 11
    assert example.target.startswith(" v")
    assert example.corrupted is not None
    assert str(task.form) == "icl=10"


def test_blimp(tmp_path):
    rows = [
        {"sentence_good": "The cats sleep.", "sentence_bad": "The cats sleeps.", "UID": "a"},
        {"sentence_good": "Who sings?", "sentence_bad": "Whom sings?", "UID": "a"},
    ]
    task = load_task(write_rows(tmp_path, ".jsonl", rows))
    assert task.split("test") == (
        Example("The cats", " sleep.", (" sleep.", " sleeps."), group="The cats sleep.",
                metadata={"UID": "a"}),
    )  # fmt: skip
    assert task.remarks[0] == "left out 1: differs from the first word on"


def test_gsm8k(tmp_path):
    row = {"question": "How many?", "answer": "2*3=<<2*3=6>>6 eggs.\n#### 6"}
    example = load_task(write_rows(tmp_path, ".jsonl", [row])).split("test")[0]
    assert example.prompt == "Q: How many?\nA:"
    assert example.target == " 2*3=6 eggs.\nThe answer is 6."


def test_cogqa_leaves_stray_labels_out_and_says_so(tmp_path):
    steps = [
        {"subquestion": "a?", "answer": 1, "cognitive_skill": "retrieval"},
        {"subquestion": "b?", "answer": "B", "cognitive_skill": "Induction"},
        {"subquestion": "c?", "answer": None, "cognitive_skill": "Inference"},
        {"subquestion": "d?", "answer": "D", "cognitive_skill": "Inference"},
    ]
    path = write(tmp_path / "c.json", json.dumps([{"question": "Q\\nOptions", "generated": steps}]))
    task = load_task(path)
    first, last = task.split("test")
    assert first.prompt == "Q\nOptions\n\nQ: a?\nA:"
    assert (first.target, first.function) == (" 1", "Retrieval")
    assert last.prompt == "Q\nOptions\n\nQ: a?\nA: 1\nQ: b?\nA: B\nQ: d?\nA:"
    assert "left out 1: the label 'Induction' is none of the eight functions" in task.remarks
    assert task.measure == "logprob"
    report = check_file(path)[path]
    assert [str(example).split(":")[0] for example in report.shown] == [
        "line 1, column 'generated[2].cognitive_skill'",
        "line 1, column 'generated[3].answer'",
    ]


def test_big_bench(tmp_path):
    content = {
        "name": "t",
        "examples": [
            {"input": "2+2", "target_scores": {"3": 0, "4": 1}},
            {"input": "3+3", "target": ["6", "six"]},
        ],
        "example_input_prefix": "\nAsk: ",
        "example_output_prefix": "\nSay: ",
    }
    task = load_task(write(tmp_path / "task.json", json.dumps(content)))
    one, two = task.split("test")
    assert one.prompt == "Ask: 2+2\n  choice: 3\n  choice: 4\nSay:"
    assert (one.target, one.choices) == (" 4", (" 3", " 4"))
    assert (two.prompt, two.target) == ("Ask: 3+3\nSay:", " 6")


def test_prompt_and_target_win_over_other_signs(tmp_path):
    rows = [{"prompt": "Q", "target": " b", "input": "i", "output": "o", "question": "q"}]
    task = load_task(write_rows(tmp_path, ".jsonl", rows))
    assert task.split("test")[0].prompt == "Q"
    assert task.description == "a task file in the format 'columns'"


def test_several_right_choices_are_left_out(tmp_path):
    examples = [
        {"input": "a", "target_scores": {"x": 1, "y": 1}},
        {"input": "b", "target_scores": {"x": 1, "y": 0}},
    ]
    task = load_task(write(tmp_path / "t.json", json.dumps({"examples": examples})))
    assert "left out 1: has several best choices" in task.remarks
    assert len(task.split("test")) == 1


def test_rows_marked_train_stay_train(tmp_path):
    rows = [{"prompt": f"q{i}", "target": " a", "split": "train"} for i in range(5)]
    task = load_task(write_rows(tmp_path, ".jsonl", rows))
    assert len(task.split("train")) == 5
    with pytest.raises(TaskError, match="has no 'test' questions"):
        task.prompts()


def test_a_path_is_a_name_too(tmp_path):
    from pathlib import Path

    assert load_task(Path(write_rows(tmp_path, ".jsonl", ROWS))).name == "mine"


def test_corrupted_prompts_that_stand_in_some_rows_only(tmp_path):
    rows = [
        {"prompt": f"Q{i}", "target": f" t{i}"} | ({"corrupted": f"R{i}"} if i % 2 else {})
        for i in range(30)
    ]
    task = load_task(f"{write_rows(tmp_path, '.jsonl', rows)}:icl=2")
    for example in task.prompts():
        odd = int(example.target[2:]) % 2
        assert (example.corrupted is not None) == bool(odd)


def test_a_folder_of_files_keeps_train_and_test_apart(tmp_path):
    def rows(start, stop):
        return "\n".join(
            json.dumps({"prompt": f"q{i}", "target": " a"}) for i in range(start, stop)
        )

    write(tmp_path / "my_train_data.jsonl", rows(0, 60))
    write(tmp_path / "my_test_data.jsonl", rows(55, 80))
    task = load_task(str(tmp_path))
    prompts = {example.prompt for example in task.split("test")}
    assert prompts == {f"q{i}" for i in range(55, 80)}
    assert "left out 5: the question is also in another split" in task.remarks
    assert "2 files are read as one task" in task.remarks
    others = {example.prompt for split in SPLITS[:3] for example in task.split(split)}
    assert others == {f"q{i}" for i in range(55)}


def test_a_data_set_of_the_hub_as_a_local_copy(tmp_path):
    datasets = pytest.importorskip("datasets")

    def rows(name, count):
        return datasets.Dataset.from_list(
            [{"question": f"{name} {i}?", "answer": f"so\n#### {i}"} for i in range(count)]
        )

    content = datasets.DatasetDict({"train": rows("t", 40), "test": rows("e", 9)})
    content.save_to_disk(str(tmp_path / "saved"))
    files = tmp_path / "files" / "data"
    files.mkdir(parents=True)
    content["train"].to_parquet(str(files / "train-00000-of-00001.parquet"))
    content["test"].to_parquet(str(files / "test-00000-of-00001.parquet"))
    saved, streamed = (load_task(f"hub:{tmp_path / name}") for name in ("saved", "files"))
    assert len(saved.split("test")) == 9
    assert saved.hash == streamed.hash
    assert saved.split("test")[0].target == " so\nThe answer is 0."
    with pytest.raises(TaskError, match=r"no data set 'no/where': .*use --download"):
        load_task("hub:no/where")
    with pytest.raises(TaskError, match="no data set 'not a name!'"):
        load_task("hub:not a name!")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"", "is empty"),
        ("a.jsonl", b'{"prompt": "a", "target": "b"}\n{oops', "line 2, column 2: not JSON"),
        ("a.jsonl", b'["a", "b"]', "line 1, column 1: not a JSON object"),
        ("a.jsonl", b'{"prompt": "a"}', r"line 1, column 'target': is missing \(there is 'prompt'"),
        ("a.jsonl", b'{"prompt": 3, "target": "b"}', "'prompt': is 3, but should be text"),
        ("a.jsonl", b'{"prompt": "a", "target": ""}', "'target': is empty"),
        ("a.jsonl", rb'{"prompt": "a \ud800", "target": "b"}', "lone surrogate"),
        ("a.jsonl", rb'{"prompt": "a\u0000", "target": "b"}', "null character"),
        ("a.jsonl", b'{"prompt": "a", "target": "b"}\n"\xc3\xa4\xff', "line 2, column 3: not UTF"),
        ("a.jsonl", b"[" * 100_000, "line 1, column 1: not usable JSON"),
        ("a.jsonl", b'{"prompt":"a","target":"b","split":"tset"}', "'split': is 'tset', but"),
        ("a.jsonl", b'{"prompt":"a","target":"b","choices":["c","d"]}', "not among the choices"),
        ("a.jsonl", b'{"prompt":"a","target":"b","choices":["b"]}', "two or more different"),
        ("a.json", b'[{"input": "a", "output": "b"},\n{"input": 3}]', "line 2, column 'input'"),
        ("a.json", b'[{"input": "a"\n "output"]', "line 2, column 2: not JSON"),
        ("a.json", b'{"name": "x"}', "line 1, column 'examples': missing"),
        ("a.json", b"17", "not a JSON array of objects but 17"),
        ("a.json", b'[1]', "line 1, column 1: not an object but 1"),
        ("a.json", b'[]\n\nx', "line 3, column 1: not JSON"),
        ("a.json", b'[\n{"a": "\xff"}]', "line 2, column 8: not UTF-8"),
        ("a.csv", b"prompt,target\na,b\nc\n", "line 3, column 1: 1 cell, but .* 2 columns"),
        ("a.csv", b"prompt,prompt\na,b\n", "line 1, column 2: the column 'prompt' appears twice"),
        ("a.csv", b'"a\nb","a\nb"\nc,d\n', r"column 2: the column 'a\\nb' appears twice"),
        ("a.csv", b"question,answer\na,b\n", "line 2, column 'prompt': is missing"),
        ("a.csv", b"prompt,target\n" + b'a,"' + b"x" * 200_000, "not a table"),
        ("a.csv", b"prompt,target\na,b\n\xff,c\n", "line 3, column 1: not UTF-8"),
        ("a.csv", b'prompt,target\na, b\nc," d\ne, f\n', "line 4, column 1: not a table"),
        ("a.json", b'{"examples": [{"input": "x", "target_scores": {"": 1, "a": 0}}]}',
         r"column 'target_scores\.choice': is empty"),
        ("a.jsonl", b'{"prompt": "a", "target": null}', "'target': is null, but should be text"),
        ("a.jsonl", b'{"prompt": "a", "target": "b", "split": "examples"}', "no train, select"),
        ("a.parquet", b"PAR1 nothing", "is not a valid Parquet file"),
        ("a.txt", b"hello", "should end in one of"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(tmp_path, name, content, message):
    path = write(tmp_path / name, content)
    with pytest.raises(TaskError, match=message) as caught:
        load_task(path)
    assert "\n" not in str(caught.value)


def test_lines_may_end_in_any_way(tmp_path):
    row = b'{"prompt": "a%d", "target": "b"}'
    content = b"\xef\xbb\xbf" + b"".join(
        row % i + end for i, end in enumerate([b"\n", b"\r\n", b"\r", b"\n\n", b""])
    )
    assert len(load_task(write(tmp_path / "a.jsonl", content)).split("test")) == 5


def test_a_report_counts_what_is_there(tmp_path):
    rows = [
        {"prompt": "a", "target": "b", "split": "train", "group": "1"},
        {"prompt": "c", "target": " d", "split": "test", "group": "1"},
        {"prompt": "A ", "target": "e", "function": "Inference", "group": "2"},
        {"prompt": 1, "target": "e"},
    ]
    path = write_rows(tmp_path, ".jsonl", rows)
    report = check_file(path)[path]
    assert (report.examples, report.problems, report.questions) == (3, 1, 2)
    assert (report.repeated, report.crossing, report.without_space) == (1, 1, 1)
    assert report.functions == {"Inference": 1}
    assert report.splits == {"train": 1, "test": 1}


@pytest.mark.parametrize(
    ("prompt", "target", "lacking"),
    [
        ("Q: wolf\nA:", "wolves", 1),
        ("Q: wolf\nA:", " wolves", 0),
        ("a wolf, two", "wolves", 1),
        ("2+2=", "4", 0),
        ("Q: wolf\nA:\n", "wolves", 0),
        ("The end", ".", 0),
    ],
)
def test_a_space_that_seems_to_be_missing_is_counted(tmp_path, prompt, target, lacking):
    path = write_rows(tmp_path, ".jsonl", [{"prompt": prompt, "target": target}])
    assert check_file(path)[path].without_space == lacking


def test_mistakes_in_how_to_read_are_one_sentence(tmp_path):
    path = write_rows(tmp_path, ".jsonl", ROWS)
    with pytest.raises(TaskError, match="no column 'promt' to map"):
        load_task(path, columns={"promt": "x"})
    with pytest.raises(TaskError, match=r"should contain \{prompt\} and end in \{target\}"):
        load_task(path, template="{target} {prompt}")
    with pytest.raises(TaskError, match="no format 'blomp'"):
        load_task(path, file_format="blomp")
    with pytest.raises(TaskError, match="'antonym' is built in"):
        load_task("antonym", file_format="blimp")
    with pytest.raises(TaskError, match="cannot be read: No such file"):
        load_task(str(tmp_path / "none.jsonl"))
    blimp = write_rows(tmp_path, ".json", [{"sentence_good": "a b", "sentence_bad": "a c"}])
    with pytest.raises(TaskError, match="of the format 'blimp' take no template"):
        load_task(blimp, template="{prompt} {target}")
    with pytest.raises(TaskError, match="name of the task is empty"):
        load_task("")
    with pytest.raises(TaskError, match="name of the task is empty"):
        load_task("hub:")
    with pytest.raises(TaskError, match="cannot be a file"):
        load_task("~nobody-of-this-name/x.jsonl")
    with pytest.raises(TaskError, match="cannot be a file"):
        load_task("hub:~nobody-of-this-name/x")
    with pytest.raises(TaskError, match="cannot be a file"):
        load_task("x" * 5000)
    (tmp_path / "empty").mkdir()
    with pytest.raises(TaskError, match="contains no task file"):
        load_task(str(tmp_path / "empty"))
