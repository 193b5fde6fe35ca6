"""The cache folder: what is made once and kept between runs."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

from headatlas.atomic import flush
from headatlas.errors import StoreError


def cache_folder() -> Path:
    """The folder `HEADATLAS_CACHE`, or `headatlas` in the user's cache folder."""
    if chosen := os.environ.get("HEADATLAS_CACHE"):
        return Path(chosen).expanduser()
    return user_cache_path("headatlas", appauthor=False)


@contextmanager
def made_once(folder: Path, needed_bytes: int = 0) -> Iterator[Path | None]:
    """Give a temporary folder to fill, then put it in place of `folder` in one step.

    Gives `None` if `folder` is there already. Other processes wait for the one that fills it; a
    process that dies, or a full disk, leaves nothing behind that looks finished.
    """
    if folder.is_dir():
        yield None
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / f".{folder.name}.lock"):
            if folder.is_dir():
                yield None
                return
            _remove_leftovers(folder)
            _check_space(folder.parent, needed_bytes)
            temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.part-", dir=folder.parent))
            try:
                yield temporary
                for path in [*temporary.rglob("*"), temporary]:
                    flush(path)
                temporary.chmod(0o755)
                temporary.rename(folder)
            finally:
                shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise StoreError(_disk_sentence(folder.parent, error)) from error


def is_disk_full(error: BaseException) -> bool:
    """Whether an error, or one that it came from, says that the disk is full."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in (errno.ENOSPC, errno.EDQUOT):
            return True
        if "No space left on device" in str(cause):  # as safetensors reports it
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _disk_sentence(folder: Path, error: OSError) -> str:
    advice = "free some space, or set HEADATLAS_CACHE to a folder elsewhere"
    if is_disk_full(error):
        return f"the disk of the cache folder {folder} is full ({error.strerror}): {advice}."
    return f"the cache folder {folder} cannot be written ({error.strerror or error}): {advice}."


def _check_space(folder: Path, needed: int) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed:
        message = f"{free / 1e9:.1f} GB free, {needed / 1e9:.1f} GB needed"
        raise OSError(errno.ENOSPC, message)


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left behind; under the lock, nothing there is in use."""
    for leftover in folder.parent.glob(f".{folder.name}.part-*"):
        shutil.rmtree(leftover, ignore_errors=True)
