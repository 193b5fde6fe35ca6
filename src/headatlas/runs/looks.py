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
    """The looks at a map so far: of each the number of questions, the map's digest, and the
    version of the check, since a check that judges by other rules looks again.

    A map with one more seed has nearly the same data, so that its check is one more look; a check
    with other options measures something else, and has looks of its own. Looks are
    kept among the units of the store; `stored` is what the stored result of this map is about, and
    counts where the units are gone. A check that was stopped before its end has shown nothing and
    is not counted.
    """

    def __init__(
        self, store: Store, head_map: Map, check: CheckKind, stored: About | None = None
    ) -> None:
        self._store, self._stored, self._digest = store, stored, head_map.digest
        self._version = check.version
        subject = [head_map.name, check.result.kind, *check.unusual]
        digest = hashlib.sha256(json.dumps(subject).encode()).hexdigest()[:20]
        self._path = f"units/{digest}-looks.json"

    def number(self, questions: int) -> int:
        """Which look a check with this number of questions is: 1 for the first."""
        looks, look = self._all(), self._look(questions)
        if look in looks:
            return looks.index(look) + 1
        return max(len(looks), self._stored.look if self._stored else 0) + 1

    def add(self, questions: int) -> None:
        """Count a finished look."""
        looks, look = self._all(), self._look(questions)
        if look not in looks:
            self._store.write_json(self._path, {"looks": [*looks, look]})

    def _look(self, questions: int) -> list[int | str]:
        return [questions, self._digest, self._version]

    def _all(self) -> list[list[int | str]]:
        content = self._store.read_json(self._path) or {}
        return list(content.get("looks", []))
