"""When two results of a model count as equal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from headatlas.models.model import Model

COARSEST = 0.1

NOT_SUPPORTED = (RuntimeError, TypeError, ValueError, AttributeError, IndexError, KeyError)
"""What a model raises that does not support a shortcut; it is then not used."""


def relative_gap(values: Tensor, reference: Tensor) -> float:
    """Largest difference, relative to the largest reference value; infinite if any is NaN."""
    gap = float((values - reference).abs().max() / reference.abs().max().clamp_min(1e-12))
    return math.inf if math.isnan(gap) else gap


def tolerance(model: Model) -> float:
    """The relative gap that the rounding of a few hundred operations explains.

    It depends on the model's number format, but is at most a tenth: an edit or a mask without
    effect gives a gap of about one.
    """
    return min(256 * torch.finfo(model.hf.dtype).eps, COARSEST)
