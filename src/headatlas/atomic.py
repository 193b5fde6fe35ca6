"""Files that appear whole or not at all, also when the process is killed or the disk is full."""

from __future__ import annotations

import os
import re
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from headatlas.errors import StoreError

TEMPORARY = ".part-"
"""Files with this prefix are being written; nobody reads them."""


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a temporary file to write, then flush it and rename it to `path` in one step.

    The temporary file lies beside `path` and has its suffix, which some writers look at. If
    anything fails, `path` is as it was before.
    """
    path = Path(path)
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        prefix = f"{TEMPORARY}{socket.gethostname()}-{os.getpid()}-"
        handle, name = tempfile.mkstemp(prefix=prefix, suffix=path.suffix, dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        yield temporary
        flush(temporary)
        temporary.chmod(0o644)
        temporary.replace(path)
        flush(path.parent)
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise StoreError(f"the file {path} cannot be written: {reason}.") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> Path:
    """Write a text file; it appears whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return Path(path)


def flush(path: Path) -> None:
    """Wait until a file, or the list of a folder's files, is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove_orphans(folder: Path) -> None:
    """Remove temporary files of this machine whose process is gone; others are not ours."""
    for path in folder.glob(f"{TEMPORARY}*"):
        owner = re.match(rf"{re.escape(TEMPORARY)}(.+)-(\d+)-", path.name)
        if owner and owner[1] == socket.gethostname() and not psutil.pid_exists(int(owner[2])):
            path.unlink(missing_ok=True)
