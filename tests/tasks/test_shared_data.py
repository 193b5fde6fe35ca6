"""Public data in the formats it is published in; skipped where the folder is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from headatlas.tasks import FUNCTIONS, load_task

DATA = Path(__file__).parents[2].parent / "shared" / "data"
FILES = sorted(DATA.glob("*/*.json*"))

pytestmark = pytest.mark.skipif(not FILES, reason="no folder shared/data beside the project")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_loads_and_gives_prompts(path):
    task = load_task(str(path))
    prompts = task.prompts(limit=50)
    assert len(prompts) == 50
    for example in prompts:
        assert example.prompt.strip()
        assert example.target.strip()
        assert "<<" not in example.target
        assert "\\n" not in example.prompt
    sizes = {"blimp": 1000, "gsm8k": 1319}
    count = sum(map(len, task.splits.values()))
    assert count == sizes.get(path.parent.name, count)


def test_cogqa_names_its_stray_labels():
    task = load_task(str(DATA / "cogqa"))
    assert {example.function for split in task.splits.values() for example in split} == set(
        FUNCTIONS
    )
    stray = [remark for remark in task.remarks if "is none of the eight functions" in remark]
    assert len(stray) == 4
    assert sum(int(remark.split()[2].rstrip(":")) for remark in stray) == 6
