"""Small pieces of a long check, kept one by one so that a stopped check goes on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from headatlas.runs.store import Store


class Pieces:
    """Plain data by name, in the folder of a run; other subjects never get to see it.

    `subject` names everything that all pieces depend on: model, questions, settings.
    """

    def __init__(self, store: Store, subject: dict[str, Any]) -> None:
        self._store = store
        text = json.dumps(subject, sort_keys=True, ensure_ascii=False)
        self._group = hashlib.sha256(text.encode()).hexdigest()[:20]

    def get(self, name: str, compute: Callable[[], Any]) -> Any:
        """The piece, from the folder or computed and kept; a damaged file counts as missing."""
        digest = hashlib.sha256(name.encode()).hexdigest()[:20]
        path = self._store.units / f"{self._group}-{digest}.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["piece"] == name:
                return found["content"]
        except (OSError, ValueError, KeyError, TypeError):
            pass
        content = compute()
        self._store.write_json(f"units/{path.name}", {"piece": name, "content": content})
        return content
