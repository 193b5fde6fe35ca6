"""Tables as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence


def as_csv(rows: Sequence[Mapping[str, object]], form: str) -> str:
    """Rows as CSV, numbers that are not whole written in the given form.

    >>> as_csv([{"layer": 1, "importance": 1 / 3}], ".2f")
    'layer,importance\\n1,0.33\\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {
                key: format(value, form) if isinstance(value, float) else value
                for key, value in row.items()
            }
        )
    return text.getvalue()
