"""The arrays that rules compute with."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.floating[Any]]
Flags = NDArray[np.bool_]


class Random(Protocol):
    """What a rule that draws at random is given: numpy's generators have these, compiled too."""

    def standard_normal(self) -> float: ...

    def beta(self, a: float, b: float, /) -> float: ...
