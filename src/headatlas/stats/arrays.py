"""The type of numeric arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, Any]
