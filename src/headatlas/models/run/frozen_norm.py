"""Norms as linear maps: LayerNorm and RMSNorm with the scale that they had on a given input.

Both are N(x) = g ⊙ P(x) / σ(x) + b, where P subtracts the mean over features (LayerNorm) or
nothing (RMSNorm). With σ held at its value on the actual input, N is affine, and what a sum of
parts becomes is the sum of what the parts become. g, b and P are measured on the module, whatever
its class.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from headatlas.models.heads.closeness import NOT_SUPPORTED, relative_gap


@dataclass(frozen=True)
class FrozenNorm:
    """A norm, measured. The gain g is known up to a factor, which the scale 1 / σ makes up for."""

    module: nn.Module
    gain: Tensor
    bias: Tensor
    centres: bool

    @classmethod
    def of(cls, module: nn.Module, like: Tensor, limit: float) -> FrozenNorm | None:
        """Measure a norm on inputs in the format of `like` (… × d_model); `None` if it is none."""
        width = like.shape[-1]
        signs = torch.ones(width)
        signs[1::2] = -1
        if width % 2:
            signs[-3:] = torch.tensor([1.0, 1.0, -2.0])  # a mean of 0, and no 0 among them
        ramp = torch.linspace(0.5, 2.0, width).to(like)  # its mean is not 0
        try:
            bias, at_signs, at_ramp, at_twice = (
                _run(module, vector.to(like)) for vector in (0 * signs, signs, ramp, 2 * ramp)
            )
        except NOT_SUPPORTED:
            return None
        if relative_gap(at_twice, at_ramp) > max(limit, NEARLY_EQUAL):
            return None  # it does not divide by the input's own size
        for centres in (False, True):
            norm = cls(module, (at_signs - bias) / signs, bias, centres)
            vector = ramp.float().cpu()
            made = norm.apply(vector, norm.scale(vector, at_ramp)) + bias
            if relative_gap(made, at_ramp) <= limit:
                return norm
        return None

    def scale_at(self, states: Tensor, like: Tensor) -> Tensor:
        """1 / σ at some inputs (… × d_model), run in the format of `like`: …"""
        return self.scale(states, _run(self.module, states.to(like)))

    def scale(self, states: Tensor, outputs: Tensor) -> Tensor:
        """1 / σ from inputs and outputs of the norm."""
        unscaled = self.apply(states, torch.ones(()))
        size = (unscaled * unscaled).sum(-1).clamp_min(torch.finfo(torch.float32).tiny)
        return ((outputs - self.bias) * unscaled).sum(-1) / size

    def apply(self, parts: Tensor, scale: Tensor) -> Tensor:
        """What parts of an input become, without the bias; in float32."""
        if self.centres:
            parts = parts - parts.mean(-1, keepdim=True)
        return self.gain * parts * scale[..., None]


NEARLY_EQUAL = 1e-3
"""How far a norm's output may depend on the size of its input, through its epsilon."""


def _run(module: nn.Module, states: Tensor) -> Tensor:
    """A norm's output in float32, for states of any shape."""
    shape = states.shape
    with torch.no_grad():
        normed: Tensor = module(states.reshape(1, -1, shape[-1]))
    return normed.reshape(shape).float().cpu()
