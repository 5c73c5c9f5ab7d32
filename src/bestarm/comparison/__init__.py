"""Several methods side by side, on a problem of one's own or in worlds that have a name."""

from bestarm.comparison.api import Comparison, compare
from bestarm.comparison.worlds import WORLDS, NamedWorld

__all__ = ["WORLDS", "Comparison", "NamedWorld", "compare"]
