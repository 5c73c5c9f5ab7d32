"""Rules and methods of one's own: importing this module makes them known to bestarm by name."""

import numpy as np

from bestarm.rules import (
    METHODS,
    SEPARATE,
    Kind,
    Parameter,
    Recipe,
    Selection,
    Test,
    read,
    register,
    spread,
)

# Two ways to choose arms. No promise depends on them.


def racing(pulls, view, reading, setting):
    """Of the arms that are not clearly behind the leader, the one with the fewest pulls; none is forgotten."""
    if pulls.min() < np.sqrt(pulls.sum()):
        return int(np.argmin(pulls))
    behind = view.values[reading.leader] - view.values
    noise = setting.sigma * np.sqrt(2 * np.log(view.samples) * (1 / pulls[reading.leader] + 1 / pulls))
    return int(np.argmin(np.where(behind <= noise, pulls, np.iinfo(np.int64).max)))


def evenly(pulls, view, reading, setting):
    """The arm with the fewest pulls: no choice at all, for comparison."""
    return int(np.argmin(pulls))


# A test of when to stop. Its promise is its author's: here is why it holds.


def radii(state, setting):
    """`σ √( 2 (T+ρ)/T² (log(K/δ) + ½ log(1 + T/ρ)) )`: every mean lies that near to its estimate.

    With Z = T(μ̂ − μ), √(ρ/(T+ρ)) exp(Z²/(2σ²(T+ρ))) is a normal mixture: a non-negative supermartingale that
    starts at 1. By Ville's inequality it ever reaches K/δ with probability at most δ/K; a union over arms.
    """
    rho, pulls = setting.own[0], state.pulls.astype(np.float64)
    level = np.log(setting.counted / setting.delta) + 0.5 * np.log1p(pulls / rho)
    return setting.sigma * np.sqrt(2.0 * (pulls + rho) * level) / pulls


def apart(state, setting):
    """Stop when the leader's interval lies above all others: then no other arm can be better."""
    widths = radii(state, setting)
    leader = int(np.argmax(state.estimate.values))
    return read(state.estimate.values, leader, widths, widths[leader], 1.0, setting.epsilon)


# Methods: which rules, with which parameters.


def racing_defaults(problem, agents):
    """As sharp, but all arms that are not clearly behind are pulled equally often."""
    return METHODS["sharp"].defaults(problem, agents) | {"stopping": "pairs", "selection": "racing"}


def evenly_defaults(problem, agents):
    """As sharp, but all arms are pulled equally often."""
    return racing_defaults(problem, agents) | {"selection": "evenly"}


def apart_defaults(problem, agents):
    """As racing, but it stops when the leader's interval lies above all others.

    - `mixture`: the number of pulls for which the intervals are narrowest, compared with others of their kind.
    """
    return racing_defaults(problem, agents) | {"stopping": "apart", "mixture": 10.0}


MIXTURE = Parameter("mixture", "the pulls for which the intervals are narrowest", default=10.0)

register(
    Selection("racing", "of the arms not clearly behind, the one with the fewest pulls", racing, spread),
    Selection("evenly", "the arm with the fewest pulls", evenly, spread),
    Test("apart", "the leader's interval lies above all others", SEPARATE, apart, radii, (MIXTURE,)),
    Recipe("racing", Kind.FEDERATED, racing_defaults, "examples/new-method"),
    Recipe("evenly", Kind.FEDERATED, evenly_defaults, "examples/new-method"),
    Recipe("apart", Kind.FEDERATED, apart_defaults, "examples/new-method"),
)
