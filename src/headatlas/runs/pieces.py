"""Small pieces of long work, kept one by one so that it continues where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

from headatlas.runs.store import Store


class Pieces:
    """Plain data by name, in the folder of an atlas.

    `subject` holds everything that all pieces depend on, such as model, questions and settings:
    pieces of another subject are never found. `computing` says whether any piece was missing.
    """

    def __init__(self, store: Store, subject: dict[str, Any]) -> None:
        self._store = store
        text = json.dumps(subject, sort_keys=True, ensure_ascii=False)
        self._group = hashlib.sha256(text.encode()).hexdigest()[:20]
        self.computing = False

    def get(self, name: str, compute: Callable[[], Any]) -> Any:
        """The piece, from the folder or computed and kept; a damaged file counts as missing."""
        content = self.find(name)
        if content is None:
            self.computing = True
            content = compute()
            self._store.write_json(self._path(name), {"piece": name, "content": content})
        return content

    def find(self, name: str) -> Any:
        """The piece, if it is in the folder, else `None`."""
        stored = self._store.read_json(self._path(name))
        return stored.get("content") if stored and stored.get("piece") == name else None

    def _path(self, name: str) -> str:
        digest = hashlib.sha256(name.encode()).hexdigest()[:20]
        return f"units/{self._group}-{digest}.json"
