"""The residual stream that is read is what transformers itself reports."""

from __future__ import annotations

import pytest
import torch

from headatlas.models.run import reading
from headatlas.models.run.reading import read_heads_and_stream
from headatlas.models.run.stream import stream_depths

ROWS = [[5, 9, 7, 30, 12, 8], [5, 9, 7], [40, 41, 42, 43]]
POSITIONS = [[1, 5], [2], [0, 2]]


@pytest.mark.parametrize("chunk", [1024, 2])
def test_the_stream_is_the_models_own_hidden_states(tiny, monkeypatch, chunk):
    monkeypatch.setattr(reading, "CHUNK", chunk)
    z, stream = read_heads_and_stream(tiny, ROWS, POSITIONS)
    plain = tiny.read(ROWS, positions=POSITIONS)
    assert torch.allclose(z, plain, atol=1e-5, equal_nan=True)
    depths = stream_depths(tiny)
    assert depths == [0, 1, 2, 3]
    for number, (row, positions) in enumerate(zip(ROWS, POSITIONS, strict=True)):
        with torch.no_grad():
            states = tiny.hf(torch.tensor([row]), output_hidden_states=True).hidden_states
        for depth in depths[:-1]:  # the last one that transformers reports is normalised
            expected = states[depth][0, positions]
            assert torch.allclose(stream[number, depth, : len(positions)], expected, atol=1e-5)
        with torch.no_grad():
            normed = tiny.hf.model.norm(stream[number, -1, : len(positions)])
        assert torch.allclose(normed, states[-1][0, positions], atol=1e-5)


def test_a_model_whose_blocks_are_not_found_has_no_stream(tiny, monkeypatch):
    monkeypatch.setattr("headatlas.models.run.stream.blocks_of", lambda model: [])
    z, stream = read_heads_and_stream(tiny, ROWS, POSITIONS)
    assert stream is None
    assert z.shape[0] == len(ROWS)
