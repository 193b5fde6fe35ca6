"""Maps as files: netCDF that plain `xarray.open_dataset` reads too."""

from __future__ import annotations

import json
from pathlib import Path

import xarray as xr

from headatlas.atomic import replacing
from headatlas.errors import HeadAtlasError, MapError
from headatlas.maps.map import Map

FORMAT = "headatlas map 1"


def save_map(head_map: Map, path: str | Path) -> Path:
    """Write a map; the file appears whole or not at all."""
    path = Path(path)
    provenance = json.dumps(dict(head_map.provenance), sort_keys=True, ensure_ascii=False)
    data = head_map.data.assign_attrs(headatlas_format=FORMAT, provenance=provenance)
    packed = {name: {"zlib": True} for name in data.data_vars}
    with replacing(path) as temporary:
        data.to_netcdf(temporary, engine="h5netcdf", encoding=packed)
    return path


def load_map(path: str | Path) -> Map:
    """Read a map file. Raises `MapError` if the file is not a map.

    >>> load_map("atlas/maps/smollm2-135m.math.gating-848d5fa3.nc")  # doctest: +SKIP
    <Map gating of math on smollm2-135m (seed: 10, layer: 30, head: 9): facilitation, ...>
    """
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
        raise MapError(f"the map file {path} is damaged ({detail}): compute it again.") from error
