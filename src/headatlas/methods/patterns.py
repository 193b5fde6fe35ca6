"""Patterns of attention: which keys count for which queries, and the weight that a head gives them.

Pure functions of a row's tokens and its attention weights (head × query × key); query i sees the
keys 0 to i. The patterns are those by which heads are named: previous-token and induction heads
(Elhage et al. 2021; Olsson et al. 2022), duplicate-token heads (Wang et al. 2022), and attention to
the first token, where heads rest (Xiao et al. 2023). They overlap: one key can count in several.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from headatlas.models.tokens import Tokens


@dataclass(frozen=True)
class Pattern:
    """The keys that count for every query, query × key, and the queries that the mean is over."""

    keys: Tensor
    queries: Tensor

    @property
    def exists(self) -> bool:
        """Whether there is any query to take the mean over."""
        return bool(self.queries.any())

    def mean_weight(self, weights: Tensor) -> Tensor:
        """Total weight on the keys that count, mean over queries; NaN without queries: head."""
        if not self.exists:
            return torch.full((len(weights),), math.nan)
        on_keys = torch.where(self.keys.to(weights.device), weights.float(), 0.0).sum(-1)
        return on_keys[:, self.queries.to(weights.device)].mean(-1)  # head query -> head

    @property
    def even(self) -> float:
        """What a head scores that attends evenly to all tokens up to its own."""
        length = len(self.queries)
        seen = torch.ones(length, length).tril()
        return float(self.mean_weight((seen / seen.sum(-1, keepdim=True))[None])[0])


def patterns_of(row: Tokens) -> dict[str, Pattern]:
    """The patterns of a row by name; its last token is no input, as it predicts nothing.

    | pattern | queries i | keys that count |
    |---|---|---|
    | induction | those with such a key | every j + 1 < i with the token of i at j |
    | previous_token | i ≥ 1 | i − 1 |
    | duplicate_token | those with such a key | every j < i with the token of i |
    | first_token | i ≥ 1 | 0 |
    | target_token | the last of the prompt | every key with the target's first token |

    An induction key is the token that followed an earlier occurrence of the query's own token; the
    query itself does not count (as it follows its own token in "a a"), the key before it does.
    """
    ids = torch.tensor(row.ids[:-1])
    place = torch.arange(len(ids))
    same = ids[:, None] == ids[None, :]
    earlier = place[None, :] < place[:, None]  # query key
    duplicate = same & earlier
    induction = torch.zeros_like(duplicate)
    induction[:, 1:] = duplicate[:, :-1]
    induction &= earlier
    not_first = place >= 1
    before = place[None, :] == place[:, None] - 1
    at_start = (place == 0)[None, :].expand_as(same)
    last = place == row.target_start - 1
    target = (ids == row.target[0])[None, :] & last[:, None] & (place[None, :] <= place[:, None])
    return {
        "induction": Pattern(induction, induction.any(-1)),
        "previous_token": Pattern(before, not_first),
        "duplicate_token": Pattern(duplicate, duplicate.any(-1)),
        "first_token": Pattern(at_start, not_first),
        "target_token": Pattern(target, target.any(-1)),
    }


def mean_entropy(weights: Tensor) -> Tensor:
    """Entropy in nats of the weights over tokens, mean over queries i ≥ 1: head.

    Where a model has a sink besides its tokens, their weights are scaled to sum to 1. NaN for a
    single token.
    """
    if weights.shape[-1] < 2:
        return torch.full((len(weights),), math.nan)
    shares = weights[:, 1:].float()
    shares = shares / shares.sum(-1, keepdim=True).clamp_min(torch.finfo(shares.dtype).tiny)
    entropy: Tensor = torch.special.entr(shares)
    return entropy.sum(-1).mean(-1)
