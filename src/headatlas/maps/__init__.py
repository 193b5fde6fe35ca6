"""Maps: numbers per head, and nothing else.

>>> from headatlas.maps import Map, load_map
"""

from headatlas.maps.aggregate import RULES, aggregate
from headatlas.maps.compare import Comparison, compare_maps
from headatlas.maps.files import load_map, save_map
from headatlas.maps.map import Map, combine, head_coordinates

__all__ = [
    "RULES",
    "Comparison",
    "Map",
    "aggregate",
    "combine",
    "compare_maps",
    "head_coordinates",
    "load_map",
    "save_map",
]
