"""Verdicts with three values: true, false, and `None` for what is inconclusive."""

from __future__ import annotations

HOLDS = {True: "holds", False: "does not hold", None: "inconclusive"}


def all_of(*verdicts: bool | None) -> bool | None:
    """True if all are, False if one is; otherwise it is inconclusive.

    >>> all_of(True, True), all_of(True, None), all_of(None, False)
    (True, None, False)
    """
    if False in verdicts:
        return False
    return None if None in verdicts else True
