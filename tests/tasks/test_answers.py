"""Token F1 with the reference."""

from __future__ import annotations

import pytest

from headatlas.tasks.answers import RIGHT, first_line, token_f1


@pytest.mark.parametrize(
    ("answer", "reference", "f1"),
    [
        (" The uncle.", " the uncle", 1.0),
        (" uncle", " the uncle", 2 / 3),
        (" 30 dollars", " $30", 2 / 3),
        (" the aunt", " the uncle", 0.5),
        (" Paris", " London", 0.0),
        ("", " the uncle", 0.0),
        (" +", " +", 1.0),
        (" +", " -", 0.0),
        (" no no no", " no", 0.5),
    ],
)
def test_f1_of_words(answer, reference, f1):
    assert token_f1(answer, reference) == pytest.approx(f1)


def test_right_begins_at_a_half():
    assert token_f1("the aunt", "the uncle") >= RIGHT > token_f1("an aunt", "the uncle")


def test_the_first_line_is_the_answer():
    assert first_line("\n  yes \nQ: more?") == "yes"
    assert first_line(" \n\n") == ""
