"""How many samples and messages a study will take, before it is started: from gaps, or from a pilot."""

from bestarm.estimation.api import Estimate, Expectation, estimate
from bestarm.estimation.assumption import GAPS
from bestarm.estimation.spending import Spending

__all__ = ["GAPS", "Estimate", "Expectation", "Spending", "estimate"]
