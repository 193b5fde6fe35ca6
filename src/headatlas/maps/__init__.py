"""Maps: numbers per head, and nothing else.

>>> from headatlas.maps import Map, load_map
"""

from headatlas.maps.aggregate import RULES, aggregate
from headatlas.maps.compare import compare_maps
from headatlas.maps.comparison import Comparison
from headatlas.maps.files import load_map, save_map
from headatlas.maps.map import Map, combine, head_coordinates
from headatlas.maps.mediation import Mediation, mediation_of

__all__ = [
    "RULES",
    "Comparison",
    "Map",
    "Mediation",
    "aggregate",
    "combine",
    "compare_maps",
    "head_coordinates",
    "load_map",
    "mediation_of",
    "save_map",
]
