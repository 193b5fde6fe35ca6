"""Every causal-LM architecture is tried; none that was verified may be lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from architectures.small_models import architectures
from architectures.table import REASONS, examine_all, page

PAGE = Path(__file__).parents[2] / "docs" / "architectures.md"


@pytest.fixture(scope="module")
def rows():
    return examine_all()


def test_every_architecture_is_tried(rows):
    assert {row.model_type for row in rows} == set(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    assert len(rows) == len(architectures())


def test_at_least_150_are_verified(rows):
    assert sum(row.verified for row in rows) >= 150


def test_no_verified_architecture_is_lost(rows):
    listed = PAGE.read_text(encoding="utf-8").split("## Not verified")[0]
    before = set(re.findall(r"^\| (\S+) \| \w+ \| (?:attention|projection)", listed, re.MULTILINE))
    assert before
    lost = before - {row.model_type for row in rows if row.verified}
    assert not lost, f"no longer verified: {sorted(lost)}"


def test_logits_at_chosen_places_are_those_of_the_whole_batch(rows):
    assert [row.model_type for row in rows if not row.picks] == []


def test_the_others_have_a_reason(rows):
    for row in rows:
        assert row.verified or row.reason
    assert not set(REASONS) & {row.model_type for row in rows if row.verified}


def test_the_page_is_up_to_date(rows):
    assert PAGE.read_text(encoding="utf-8") == page(rows), "run 'make docs'"
