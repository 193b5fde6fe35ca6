"""Names of maps and of the files that belong to them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LONGEST = 60
"""Letters of a name that go into a file name: file systems allow 255 bytes for the whole."""


def short_hash(content: Any) -> str:
    """Hash of plain data."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]


def group_hash(
    model_hash: str, task_hash: str, method: str, version: int, settings: dict[str, Any]
) -> str:
    """Hash of what all seeds of a map share: model, task, method and every setting."""
    return short_hash([model_hash, task_hash, method, version, settings])


def map_name(model: str, task: str, method: str, group: str) -> str:
    """The name of a map: one per model × task × method × settings.

    The hash at the end tells apart what has the same names but different content or settings.
    """
    names = ".".join(map(short_name, (model, task, method)))
    return safe_name(f"{names}-{group[:8]}")


def short_name(name: str) -> str:
    """What of a name goes into file names: the last part of a path, and not too many letters."""
    return (Path(name).name or name)[:LONGEST]


def joint_name(names: Sequence[str]) -> str:
    """A short name for what several maps share, different for different maps."""
    if len(names) == 1:
        return names[0]
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:8]
    first = names[0].rsplit("-", 1)[0]
    return f"{first}+{len(names) - 1}-more-{digest}"


def safe_name(name: str) -> str:
    """The name with everything replaced that some file system does not allow."""
    return re.sub(r"[^\w.+-]+", "-", name).strip(".-") or "map"
