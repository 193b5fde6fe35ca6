"""How often a map was checked: every further look is another chance of a false positive."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headatlas.checks.kinds import CheckKind
    from headatlas.checks.results import About
    from headatlas.maps import Map
    from headatlas.runs.store import Store


class Looks:
    """The numbers of questions with which a map was checked so far, in the order of the looks.

    They are kept among the units of the store; `stored` is what the stored result of this very map
    is about, and counts where the units are gone. A check that was stopped before its end has shown
    nothing and is not counted.
    """

    def __init__(
        self, store: Store, head_map: Map, check: CheckKind, stored: About | None = None
    ) -> None:
        self._store, self._stored = store, stored
        subject = [head_map.digest, check.result.kind, check.version]
        digest = hashlib.sha256(json.dumps(subject).encode()).hexdigest()[:20]
        self._path = f"units/{digest}-looks.json"

    def number(self, questions: int) -> int:
        """Which look a check with this number of questions is: 1 for the first."""
        looks = self._all()
        if questions in looks:
            return looks.index(questions) + 1
        return max(len(looks), self._stored.look if self._stored else 0) + 1

    def add(self, questions: int) -> None:
        """Count a finished look."""
        looks = self._all()
        if questions not in looks:
            self._store.write_json(self._path, {"questions": [*looks, questions]})

    def _all(self) -> list[int]:
        content = self._store.read_json(self._path) or {}
        return [int(questions) for questions in content.get("questions", [])]
