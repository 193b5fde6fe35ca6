"""Task files with something broken in them, and what must then be said."""

from __future__ import annotations

import io
import json
import re

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from pyarrow import parquet

from headatlas.errors import TaskError
from headatlas.tasks import check_file, load_task


def fuzzing(examples, *, derandomize):
    """Settings of a test that draws this number of broken files."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=derandomize,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


PLACE = re.compile(r"(line|row) \d+, column ('[^']*'|\d+): |is empty|Parquet|has no train")

FIELDS = [
    "prompt", "target", "choices", "function", "split", "group", "corrupted", "input", "output",
    "question", "answer", "generated", "subquestion", "cognitive_skill", "sentence_good",
    "sentence_bad", "target_scores", "examples", "name",
]  # fmt: skip
scalar = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
    | st.sampled_from(["test", "train", "Inference", "#### 3", "a b c", "a b d", "x" * 5000])
)  # fmt: skip
value = st.recursive(
    scalar,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)
    ),
    max_leaves=8,
)
record = st.dictionaries(st.sampled_from(FIELDS), value, max_size=6)
sound = st.sampled_from(
    [
        {"prompt": "a", "target": " b"},
        {"input": "a", "output": "b"},
        {"sentence_good": "a b", "sentence_bad": "a c"},
        {"question": "q", "answer": "1\n#### 1"},
        {"question": "q", "generated": [
            {"subquestion": "s", "answer": "a", "cognitive_skill": "Inference"}]},
    ]
)  # fmt: skip
wound = st.sampled_from(
    [b"\x00", b"\xff", b"\xc3", b"\r", b"\r\n", b"\n", b"{", b"}", b"[", b"]", b'"', b"'", b",",
     b"\t", b"NaN", b"-", b"1e999", rb"\ud800", b"\xef\xbb\xbf", b"[" * 2000, b"9" * 5000,
     b"\xe2\x80\xa8", b"x" * 140_000, b"null", b"\\"]
)  # fmt: skip


@st.composite
def files(draw):
    """The bytes of a file that was once sound, and the ending of its name."""
    ending = draw(st.sampled_from([".jsonl", ".json", ".csv", ".tsv"]))
    rows = draw(st.lists(record | sound, max_size=4))
    if ending == ".jsonl":
        content = b"\n".join(json.dumps(row).encode() for row in rows)
    elif ending == ".json":
        whole = draw(st.sampled_from([rows, {"examples": rows, "name": "n"}, rows[:1]]))
        content = json.dumps(whole, indent=draw(st.sampled_from([None, 1]))).encode()
    else:
        mark = "," if ending == ".csv" else "\t"
        lines = [mark.join(draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=4)))]
        cells = st.text(max_size=6) | st.sampled_from(['"a', '"a,b"', "[1]", "a|b"])
        lines += draw(st.lists(st.lists(cells, max_size=4).map(mark.join), max_size=4))
        content = "\n".join(lines).encode("utf-8", "replace")
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(content)))
        content = content[:at] + draw(wound) + content[at + draw(st.sampled_from([0, 0, 1, 7])) :]
    return ending, content


def result_or_message(action):
    """What an action returns, or its message if it raises TaskError; nothing else is caught."""
    try:
        return action(), ""
    except TaskError as error:
        return None, str(error)


def check_that_problems_are_named(path):
    """Load and check a file; whatever is wrong must be one sentence with a place."""
    _, message = result_or_message(lambda: load_task(str(path)))
    assert "\n" not in message
    assert not message or PLACE.search(message), message
    reports, message = result_or_message(lambda: check_file(str(path)))
    assert "\n" not in message
    for problem in reports[str(path)].shown if reports else ():
        assert PLACE.match(str(problem)), str(problem)
        assert "\n" not in str(problem)
        assert len(str(problem)) < 300


def check_broken_file(folder, ending, content):
    """Write a file and check what is said about it."""
    path = folder / f"broken{ending}"
    path.write_bytes(content)
    check_that_problems_are_named(path)


def break_parquet(at, wound):
    """The bytes of a Parquet file, some of them overwritten."""
    sink = io.BytesIO()
    rows = [{"prompt": f"q{i}", "target": " a"} for i in range(50)]
    parquet.write_table(pa.Table.from_pylist(rows), sink)
    content = sink.getvalue()
    at = min(at, len(content))
    return content[:at] + wound + content[at + len(wound) :]
