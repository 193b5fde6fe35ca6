"""Maps as files: netCDF that plain `xarray.open_dataset` reads too."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from pathlib import Path

import xarray as xr

from headatlas.errors import HeadAtlasError, MapError, StoreError
from headatlas.maps.map import Map

FORMAT = "headatlas map 1"
TEMPORARY = ".part-"
"""Files under this prefix are being written; nobody reads them."""


def temporary_prefix() -> str:
    """The prefix of this process's temporary files: which machine and process writes them."""
    return f"{TEMPORARY}{socket.gethostname()}-{os.getpid()}-"


def save_map(saved: Map, path: str | Path) -> Path:
    """Write a map under a temporary name, flush it, and rename it: whole or not there."""
    path = Path(path)
    provenance = json.dumps(dict(saved.provenance), sort_keys=True, ensure_ascii=False)
    data = saved.data.assign_attrs(headatlas_format=FORMAT, provenance=provenance)
    packed = {name: {"zlib": True} for name in data.data_vars}
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=temporary_prefix(), dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        data.to_netcdf(temporary, engine="h5netcdf", encoding=packed)
        _flush(temporary)
        temporary.chmod(0o644)
        temporary.replace(path)
        _flush(path.parent)
    except OSError as error:
        reason = error.strerror or " ".join(str(error).split())
        raise StoreError(f"the file {path} cannot be written: {reason}.") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
    return path


def load_map(path: str | Path) -> Map:
    """Read a map; a file that is not one gives one sentence."""
    path = Path(path)
    if not path.is_file():
        raise MapError(f"there is no map file {path}.")
    try:
        with xr.open_dataset(path, engine="h5netcdf") as opened:
            data = opened.load()
        kind = data.attrs.pop("headatlas_format", None)
        if kind != FORMAT:
            raise MapError(f"{path} is not a map of Head Atlas (found {kind or 'no mark'}).")
        return Map(data, json.loads(data.attrs.pop("provenance")))
    except HeadAtlasError:
        raise
    except Exception as error:
        # HDF5 and its readers raise nearly anything on damaged bytes
        detail = " ".join(str(error).split())[:100]
        raise MapError(f"the map file {path} is damaged ({detail}): make it again.") from error


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
