"""Pieces of a check are kept, and only for their own subject."""

from __future__ import annotations

from headatlas.runs.pieces import Pieces
from headatlas.runs.store import Store


def test_a_piece_is_computed_once_for_a_subject(tmp_path):
    computed = []

    def compute():
        computed.append(1)
        return {"x": [0.1, -2.5]}

    for subject in ({"map": "a"}, {"map": "a"}, {"map": "b"}):
        pieces = Pieces(Store(tmp_path), subject)
        assert pieces.get("first", compute) == {"x": [0.1, -2.5]}
    assert len(computed) == 2


def test_pieces_that_are_found_are_told_from_those_computed(tmp_path):
    for computing in (True, False):
        pieces = Pieces(Store(tmp_path), {})
        pieces.get("first", lambda: 1)
        assert pieces.computing is computing


def test_a_damaged_piece_is_computed_again(tmp_path):
    pieces = Pieces(Store(tmp_path), {})
    pieces.get("first", lambda: 1)
    (path,) = (tmp_path / "units").glob("*.json")
    for damage in ("", "[1, 2]", '{"piece": "first"'):
        path.write_text(damage)
        assert pieces.get("first", lambda: 2) == 2
    assert pieces.get("first", lambda: 3) == 2
