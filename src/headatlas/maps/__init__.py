"""Maps: numbers per head, and nothing else.

>>> from headatlas.maps import Map, load_map
"""

from headatlas.maps.aggregate import RULES, aggregate, bootstrap_interval
from headatlas.stats.agreement import Agreement, agreement
from headatlas.maps.files import load_map, save_map
from headatlas.maps.map import Map, combine, head_coordinates

__all__ = [
    "RULES",
    "Agreement",
    "Map",
    "aggregate",
    "agreement",
    "bootstrap_interval",
    "combine",
    "head_coordinates",
    "load_map",
    "save_map",
]
