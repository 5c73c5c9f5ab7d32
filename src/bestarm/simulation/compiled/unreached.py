"""What a method never reaches with the numbers that it has: stand-ins for it, which compile at once.

To compile what measures sigma takes a second, whether sigma is known or not. A stand-in has the type of what it
stands for; if it were ever called, its answer is not a number, and with that no run is settled.
"""

from __future__ import annotations

import math

from bestarm.core.arrays import Counts, Flags, Floats
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading
from bestarm.core.left_over import against_leaders
from bestarm.core.scatter import bound_and_delta, plain_noise, scatter
from bestarm.core.setting import Setting
from bestarm.core.state import View
from bestarm.methods.composed import Method
from bestarm.simulation.compiled.rebind import Function


def no_scatter(values: Floats, well: Flags, batch: Batch, centre: float) -> tuple[float, float]:
    """For `scatter`: no batch has squares."""
    return math.nan, math.nan


def no_bound(residual: float, freedom: float, setting: Setting) -> tuple[float, float]:
    """For `bound_and_delta`: sigma is known."""
    return math.nan, math.nan


def no_noise(residual: float, freedom: float, values: Floats) -> float:
    """For `plain_noise`: sigma is known."""
    return math.nan


def no_leaders(
    leader: int,
    view: View,
    worths: Floats,
    prices: Floats,
    weights: Floats,
    leaders: Counts,
    level: float,
    epsilon: float,
) -> tuple[Reading, Floats, Floats]:
    """For `against_leaders`: epsilon is 0."""
    return Reading(leader, leader, math.nan, math.nan), worths[0], worths[0]


SIGMA: dict[Function, Function] = {scatter: no_scatter, bound_and_delta: no_bound, plain_noise: no_noise}
EXACT: dict[Function, Function] = {against_leaders: no_leaders}


def unreached(method: Method) -> dict[str, dict[Function, Function]]:
    """The stand-ins for what a method never reaches, by the name of what is so; none where others wrote a rule.

    >>> import bestarm
    >>> list(unreached(bestarm.method("sharp", bestarm.Problem(["A", "B"], sigma=0.3))))
    ['sigma', 'exact']
    >>> list(unreached(bestarm.method("sharp", bestarm.Problem(["A", "B"], epsilon=0.1))))
    []
    """
    if not all(rule is None or rule.__module__.startswith("bestarm.") for rule in method.rules):
        return {}
    known = {"sigma": SIGMA} if method.setting.sigma > 0.0 and not method.squares else {}
    return known | ({"exact": EXACT} if method.setting.epsilon == 0.0 else {})
