"""Put a method together from its rules: a stopping test, a selection of arms and a trigger, by name."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from bestarm.core import confidence, estimate, sampling, trigger
from bestarm.core.plan import Rules, one_arm, spread
from bestarm.core.setting import Setting
from bestarm.core.tally import Counts, Floats
from bestarm.errors import ProblemWarning, UserError
from bestarm.methods.method import Kind, Method, Parameter
from bestarm.problem import Problem

SEPARATE = (estimate.separate, estimate.foresee_nothing, estimate.absorb_mean, estimate.renew_means)
RIDGE = (estimate.ridge, estimate.foresee, estimate.absorb_row, estimate.renew_ridge)
SPAN = (estimate.span, estimate.foresee, estimate.absorb_span, estimate.renew_span)

STOPPING = {
    "famabpe": (SEPARATE, confidence.famabpe),
    "ugapec": (SEPARATE, confidence.ugapec),
    "pairs": (SEPARATE, confidence.pairs),
    "falinpe": (RIDGE, confidence.falinpe),
    "lingape": (RIDGE, confidence.lingape),
    "span": (SPAN, confidence.span),
}
SELECTION = {
    "balance": sampling.balance,
    "ratio": sampling.ratio,
    "greedy": sampling.greedy,
    "lookahead": sampling.track,
}
TRIGGER = {
    "count": trigger.count,
    "determinant": trigger.determinant,
    "aim": trigger.aim,
    "every-pull": trigger.every_pull,
}
THRIFT = {"samples": (0.02, 0.3, 0.1), "balanced": (0.05, 1.4, 0.18), "messages": (0.2, 4.0, 0.3)}
PERIOD_COUNTS = ("agent", "all")
MOST_DESIGNS = 20_000_000  # entries of the ratio rule's table of designs, 16 bytes each
MOST_AT_ONCE = 10**9  # pulls in a batch or an episode that somebody may ask for
MOST_GAMMA = 1000


def compose(
    name: str, kind: Kind, problem: Problem, agents: int, parameters: Mapping[str, Parameter]
) -> Method:
    """A method from its parameters, all of which are checked here."""
    check = _Checked(name, parameters)
    stopping = check.word("stopping", STOPPING)
    selection = check.word("selection", SELECTION)
    fires = check.word("trigger", TRIGGER)
    model, confidence_rule = STOPPING[stopping]
    linear = model is not SEPARATE
    words = f"{name} with stopping={stopping}, selection={selection}, trigger={fires}"
    if problem.features is None and (linear or selection in ("ratio", "greedy") or fires == "determinant"):
        raise UserError(
            f"{words} works with features, and problem {problem.name!r} has none: "
            "add feature columns to its arms, or take famabpe, ugapec or sharp."
        )
    if not linear and (selection == "greedy" or fires == "determinant"):
        raise UserError(f"{words} does not fit together: greedy and determinant need stopping=falinpe or span.")
    if stopping in ("falinpe", "lingape"):
        _warn_of_length(name, problem)
    gamma = check.fraction(
        "gamma" if "gamma" in parameters else "gamma2", needed=fires in ("count", "determinant")
    )
    growth, reach, aim = THRIFT[check.word("thrift", THRIFT)]
    designs = _unsolved_designs(problem, selection)
    setting = Setting(
        arms=len(problem.arms),
        agents=agents,
        sigma=problem.sigma,
        delta=problem.delta,
        epsilon=problem.epsilon,
        features=_coordinates(problem, stopping),
        dimension=problem.dimension,
        gamma_over=gamma.numerator,
        gamma_under=gamma.denominator,
        gamma1=check.positive("gamma1", default=1.0),
        regulariser=check.positive("lambda", default=1.0),
        pseudo_count=check.positive("pseudo_count", default=10.0),
        growth=growth,
        reach=reach,
        aim=aim,
        min_batch=check.whole("min_batch", default=1),
        design_arms=designs,
        design_weights=np.zeros(designs.shape),
    )
    choose = sampling.track_span if linear and selection == "lookahead" else SELECTION[selection]
    make = spread if selection == "lookahead" else one_arm
    rules = Rules(*model, confidence_rule, choose, TRIGGER[fires], make)
    pulls = check.whole("period", default=1)
    shared = check.word("period_counts", dict.fromkeys(PERIOD_COUNTS, 0)) == "all"
    return Method(name, problem, agents, dict(parameters), kind, rules, setting, pulls, shared)


class _Checked:
    """Reads parameters and says in one sentence what is wrong with one."""

    def __init__(self, method: str, parameters: Mapping[str, Parameter]) -> None:
        self.method, self.parameters = method, parameters

    def word(self, name: str, allowed: Mapping[str, object]) -> str:
        value = self.parameters.get(name, next(iter(allowed)))
        if value not in allowed:
            raise UserError(f"{self.method}: {name} is {value!r}; it must be one of {', '.join(allowed)}.")
        return str(value)

    def whole(self, name: str, *, default: int) -> int:
        value = self.parameters.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise UserError(f"{self.method}: {name} is {value!r}; it must be a whole number of at least 1.")
        if value > MOST_AT_ONCE:
            raise UserError(f"{self.method}: {name} is {value!r}; it must be at most {MOST_AT_ONCE}.")
        return value

    def positive(self, name: str, *, default: float) -> float:
        value = self.parameters.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
            raise UserError(f"{self.method}: {name} is {value!r}; it must be a number above 0.")
        return float(value)

    def fraction(self, name: str, *, needed: bool) -> Fraction:
        """γ as a fraction of small whole numbers, so that the count trigger is exact: 0.1 is 1/10."""
        if name not in self.parameters and not needed:
            return Fraction(0)
        value = self.positive(name, default=1.0)
        exact = Fraction(value).limit_denominator(max(10**6, math.ceil(10 / value)))
        if not Fraction(1, 10**12) <= exact <= MOST_GAMMA:
            raise UserError(f"{self.method}: {name} is {value!r}; it must lie between 1e-12 and {MOST_GAMMA}.")
        return exact if needed else Fraction(0)


def _warn_of_length(name: str, problem: Problem) -> None:
    if problem.features_too_long:
        warnings.warn(
            f"{name}: the longest feature vector of problem {problem.name!r} has length "
            f"{problem.longest_feature:.4g}, and the guarantee assumes at most 1; set normalise = true in the "
            "problem file to scale them.",
            ProblemWarning,
            stacklevel=4,
        )


def _coordinates(problem: Problem, stopping: str) -> Floats:
    if problem.features is None or STOPPING[stopping][0] is SEPARATE:
        return np.zeros((len(problem.arms), 0))
    if STOPPING[stopping][0] is RIDGE:
        return row_coordinates(problem.features)
    return span_coordinates(problem.features)[0]


def span_coordinates(features: Floats) -> tuple[Floats, Floats]:
    """Orthonormal coordinates Z of the features' span, one row an arm: `Z'Z = I`, as many columns as the rank.

    And the singular values that belong to the columns.

    >>> span_coordinates(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.0]]))[0].shape
    (3, 1)
    """
    left, singular, _ = np.linalg.svd(features, full_matrices=False)
    rank = int((singular > singular[0] * max(features.shape) * np.finfo(float).eps).sum())
    # Arms with the same features have the same coordinates to the last bit, so that nothing tells them apart.
    _, first, place = np.unique(features, axis=0, return_index=True, return_inverse=True)
    return np.ascontiguousarray(left[first[place.reshape(-1)], :rank]), singular[:rank]


def row_coordinates(features: Floats) -> Floats:
    """The features in as many coordinates as they have dimensions between them, with the same inner products.

    Features that do not span their space leave V = λ in the other directions, and with a small λ its inverse
    has no correct digit left. In these coordinates nothing is lost: x'V⁻¹y and det V / λ^d are the same.

    >>> row_coordinates(np.array([[3.0, 4.0], [0.3, 0.4]])).round(9).tolist()
    [[-5.0], [-0.5]]
    """
    coordinates, singular = span_coordinates(features)
    if singular.size == features.shape[1]:
        return np.array(features, dtype=np.float64, order="C")
    return np.ascontiguousarray(coordinates * singular)


def _unsolved_designs(problem: Problem, selection: str) -> Counts:
    if selection != "ratio" or problem.features is None:
        return np.zeros((0, 0, 0), dtype=np.int64)
    arms, dimension = problem.features.shape
    shape = (arms, arms, max(2, min(arms, dimension + 1)))
    if math.prod(shape) > MOST_DESIGNS:
        raise UserError(
            f"selection=ratio keeps a table of all pairs, too large for {arms} arms; "
            "set selection=greedy, or take sharp."
        )
    return np.full(shape, sampling.UNSOLVED, dtype=np.int64)
