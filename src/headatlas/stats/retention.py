"""What a contrast claims: one ability is retained, another is forgotten."""

from __future__ import annotations

RETAINED = 0.6
"""The share of its accuracy that a retained task keeps, at least."""

FORGOTTEN = 0.8
"""The share of its accuracy that a forgotten task loses, at least."""


def claim_margin(kept: float, left: float) -> float:
    """How well the worse of the two claims is met, from the shares of their accuracy that the
    retained and the forgotten task still have.

    1 is best (everything is kept, nothing is left); from 0 on both claims are met; below 0 at least
    one is not.

    >>> claim_margin(1.0, 0.0), claim_margin(0.8, 0.1), claim_margin(1.0, 0.4)
    (1.0, 0.5, -1.0)
    """
    allowed = 1 - FORGOTTEN
    claims = ((min(kept, 1.0) - RETAINED) / (1 - RETAINED), (allowed - left) / allowed)
    return round(min(claims), 12)
