"""What can be promised before a run: problem complexities and the paper's bounds on samples and communications.

Equation numbers are the labels in the paper's source, and `docs/theory.md` lists what was corrected. The lower
bound, which holds for every method, is in `lower_bound.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from bestarm.core.rules import Value as Parameter
from bestarm.errors import UserError
from bestarm.lower_bound import Floats, crossing, lower_bound
from bestarm.methods import METHODS
from bestarm.methods.design import minimal_weights
from bestarm.methods.falinpe import FALINPE
from bestarm.methods.famabpe import FAMABPE
from bestarm.methods.recipe import Recipe
from bestarm.problem import Problem

Free = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What theory says about a run; None where no theorem says anything.

    `samples` and `communications` are not exceeded with probability at least 1 − δ, as far as the paper's proof
    carries (`docs/theory.md`). No method needs fewer samples than `lower` on average.
    """

    samples: float | None
    communications: float | None
    lower: float


def bounds(
    problem: Problem,
    method: str,
    agents: int,
    parameters: Mapping[str, Parameter] | None = None,
    noise: float | None = None,
) -> Bounds | None:
    """All bounds for a method by its name; parameters not given are the method's own.

    `noise` is the scatter of the rewards for the lower bound, if it is not the problem's sigma.

    None if the means are not known, or no scatter is. The theorems are about famabpe and falinpe with their own
    rules; with `selection=greedy`, say, or for another method, only the lower bound is left.

    >>> found = bounds(Problem.quick([0.9, 0.8, 0.8, 0.8, 0.8], sigma=0.3), "famabpe", agents=10)
    >>> round(found.samples), round(found.communications), round(found.lower)
    (49664, 3431, 429)
    """
    if problem.means is None or (problem.sigma is None and noise is None):
        return None
    given = {key.rstrip("_"): value for key, value in (parameters or {}).items()}
    recipe = METHODS.get(method)
    theorem = THEOREMS.get(recipe) if recipe is not None else None
    own = recipe is not None and theorem is not None and _as_it_is(recipe, problem, agents, given, theorem)
    if recipe is None or theorem is None or not own or problem.sigma is None:
        return Bounds(None, None, lower_bound(problem, noise))
    free = _free(recipe, theorem, problem, agents, given)
    samples = theorem.samples(problem, agents, free)
    communications = theorem.communications(samples, problem, agents, free)
    return Bounds(samples, communications, lower_bound(problem, noise))


def _as_it_is(
    recipe: Recipe, problem: Problem, agents: int, given: Mapping[str, Parameter], theorem: Theorem
) -> bool:
    """Whether everything but what the theorem leaves free is the method's own."""
    own = recipe.defaults(problem, agents)
    return all(value == own.get(key) for key, value in given.items() if key not in theorem.free)


def complexity(means: Floats, sigma: float, epsilon: float = 0.0) -> float:
    """How hard separate arms are to tell apart: `H^M_ε = Σ_k σ² / max((Δ_k+ε)/3, ε)²` (Theorem 1).

    Departure: the best arm itself counts with the smallest gap of the others. Its own gap is 0, which makes the
    printed sum infinite at ε = 0; where it is pulled, the other one of leader and challenger supplies a gap.

    >>> round(complexity(np.array([0.9, 0.8, 0.8, 0.8, 0.8]), sigma=0.3), 6)
    405.0
    """
    gaps = means.max() - means
    gaps[np.argmax(means)] = np.partition(gaps, 1)[1]
    widths = np.maximum((gaps + epsilon) / 3.0, epsilon)
    return math.inf if widths.min() == 0.0 else float(np.sum((sigma / widths) ** 2))


def linear_complexity(
    means: Floats,
    features: Floats,
    epsilon: float = 0.0,
    designs: Callable[[int, int], Floats] | None = None,
) -> float:
    """How hard arms with features are to tell apart, in units of the squared radius C² (Theorem 2).

    `H^L_ε = Σ_k max_{i,j} ρ(y) p*_k(y) / max((Δ_i+ε)/3, (Δ_j+ε)/3, ε)²`, y = x_i − x_j, with w* from
    `minimal_weights`, p*_k = |w*_k|/Σ|w*| and ρ = (Σ|w*|)², so that ρ p*_k = |w*_k| Σ|w*|. Dependent features
    take one linear programme for each pair of arms, about 15 s for 100 arms.

    Departure: the paper has ρ = Σ w*. The bound ‖y‖²_{V⁻¹} ≤ ρ/T that it serves needs the minimum of Σ w²/p
    over w and p, equation (40), which is the square of the programme's value.

    Parameters
    ----------
    designs: w* of the arms i and j, where it is known already.
    """
    gaps, arms = means.max() - means, len(means)

    def solve(i: int, j: int) -> Floats:
        return minimal_weights(features, features[i] - features[j])

    def only(i: int, j: int) -> Floats:
        weights = np.zeros(arms)
        weights[i], weights[j] = 1.0, -1.0
        return weights

    weights_of = designs or (only if np.linalg.matrix_rank(features) == arms else solve)
    hardest = np.zeros(arms)
    for i, j in combinations(range(arms), 2):
        width = max((max(gaps[i], gaps[j]) + epsilon) / 3.0, epsilon)
        if width == 0.0:
            return math.inf
        weights = np.abs(weights_of(i, j))
        hardest = np.maximum(hardest, weights * weights.sum() / width**2)
    return float(hardest.sum())


def sample_bound(
    problem: Problem,
    agents: int,
    method: str,
    *,
    gamma: float | None = None,
    gamma1: float | None = None,
    gamma2: float | None = None,
    lambda_: float | None = None,
) -> float:
    """The most samples that famabpe, or falinpe with `selection=ratio`, needs with probability at least 1 − δ.

    Parameters that are not given are the theorem's. Infinite where γKM ≥ 1: there the theorems say nothing.
    `famabpe_samples` and `falinpe_samples` have the equations.

    >>> round(sample_bound(Problem.quick([0.9, 0.8, 0.8, 0.8, 0.8], sigma=0.3), 10, "famabpe"))
    49664
    """
    recipe = METHODS.get(method)
    if recipe is None or recipe not in THEOREMS:
        known = " and ".join(recipe.name for recipe in THEOREMS)
        raise UserError(f"no theorem bounds the samples of {method}; there is one for {known}.")
    given = {"gamma": gamma, "gamma1": gamma1, "gamma2": gamma2, "lambda": lambda_}
    numbers = {key: value for key, value in given.items() if value is not None}
    theorem = THEOREMS[recipe]
    return theorem.samples(problem, agents, _free(recipe, theorem, problem, agents, numbers))


def famabpe_samples(complexity: float, arms: int, agents: int, delta: float, gamma: float) -> float:
    """The τ from which on `τ ≤ (1+γM)/(1−γKM) · (2 H log(4K((1+γM)τ)²/δ) + KM)` fails, equation (37).

    Departure: solved as it stands, instead of by √x ≥ log x as in (38) and (39). A batch may exceed γN by one
    pull, which (22) leaves out: M more pulls of each arm, hence K·M.
    As printed: (27) gives 6α ≥ Δ+ε and 2α ≥ ε, so the proof carries this bound for 4 H in place of H.
    """
    spread = 1.0 + gamma * agents

    def radius(samples: float) -> float:
        return 2.0 * math.log(4.0 * arms / delta) + 4.0 * math.log(spread * samples)

    return _last_possible(complexity, radius, arms, agents, gamma)


def falinpe_samples(
    complexity: float,
    arms: int,
    dimension: int,
    agents: int,
    sigma: float,
    delta: float,
    gamma1: float,
    gamma2: float,
    lambda_: float,
) -> float:
    """The τ from which on `τ ≤ (1+γ₂M)/(1−γ₂KM) · (H C(τ)² + KM)` fails, equation (118).

    `C(τ) = √λ + (√(2γ₁) M + √(1+γ₁M)) σ √( d log( (2/δ)(1 + (1+γ₂M) τ / (min(γ₁,1) λ)) ) )`, of Theorem 2.

    Departure: C(τ) itself is used, so any λ > 0 will do. Of the steps after (118), (128) squares the bracket,
    (132) keeps τ' on both sides, (133) has a root where Theorem 2 has the logarithm. The K·M is explained in
    `famabpe_samples`.
    """
    inflation = math.sqrt(2.0 * gamma1) * agents + math.sqrt(1.0 + gamma1 * agents)
    growth = (1.0 + gamma2 * agents) / (min(gamma1, 1.0) * lambda_)

    def radius(samples: float) -> float:
        noise = sigma * math.sqrt(dimension * (math.log(2.0 / delta) + math.log1p(growth * samples)))
        return (math.sqrt(lambda_) + inflation * noise) ** 2

    return _last_possible(complexity, radius, arms, agents, gamma2)


def communication_bound(
    samples: float,
    agents: int,
    gamma: float,
    *,
    gamma1: float | None = None,
    lambda_: float = 1.0,
    dimension: int = 1,
    longest_feature: float = 1.0,
) -> float:
    """The most communications within so many samples: `2 · uploads − 1`, since the last upload has no download.

    uploads ≤ `(M + 1/γ) log₂ τ` for the trigger on samples; with the trigger on the determinant there are
    `(M + 1/γ₁) d log₂(1 + τ L²/(λd))` more, L the length of the longest feature vector (communication lemmas).

    Departure: the last lines of the proof have γ₂ and no d in the second term; the paper has L ≤ 1, and counts
    a download after the last upload.

    >>> round(communication_bound(49664, agents=10, gamma=0.01))
    3431
    """
    uploads = (agents + 1.0 / gamma) * math.log2(samples)
    if gamma1 is not None:
        growth = samples * longest_feature**2 / (lambda_ * dimension)
        uploads += (agents + 1.0 / gamma1) * dimension * math.log1p(growth) / math.log(2.0)
    return 2.0 * uploads - 1.0


def _famabpe_samples(problem: Problem, agents: int, free: Free) -> float:
    separate = complexity(_means(problem), _sigma(problem), problem.epsilon)
    return famabpe_samples(separate, len(problem.arms), agents, problem.delta, free["gamma"])


def _famabpe_communications(samples: float, problem: Problem, agents: int, free: Free) -> float:
    return communication_bound(samples, agents, free["gamma"])


def _falinpe_samples(problem: Problem, agents: int, free: Free) -> float:
    means, arms = _means(problem), len(problem.arms)
    if problem.features is None:
        raise UserError(f"problem {problem.name!r} has no features; falinpe needs them.")
    if free["gamma2"] * arms * agents >= 1.0:
        return math.inf  # without the linear programmes
    return falinpe_samples(
        linear_complexity(means, problem.features, problem.epsilon),
        arms,
        problem.dimension,
        agents,
        _sigma(problem),
        problem.delta,
        free["gamma1"],
        free["gamma2"],
        free["lambda"],
    )


def _falinpe_communications(samples: float, problem: Problem, agents: int, free: Free) -> float:
    return communication_bound(
        samples,
        agents,
        free["gamma2"],
        gamma1=free["gamma1"],
        lambda_=free["lambda"],
        dimension=problem.dimension,
        longest_feature=problem.longest_feature,
    )


class Theorem(NamedTuple):
    """What is proved about a method: its bounds, and the parameters that they leave free.

    All other parameters have to be the method's own.
    """

    samples: Callable[[Problem, int, Free], float]
    communications: Callable[[float, Problem, int, Free], float]
    free: tuple[str, ...]


THEOREMS: dict[Recipe, Theorem] = {
    FAMABPE: Theorem(_famabpe_samples, _famabpe_communications, ("gamma",)),
    FALINPE: Theorem(_falinpe_samples, _falinpe_communications, ("gamma1", "gamma2", "lambda")),
}


def _means(problem: Problem) -> Floats:
    if problem.means is None:
        raise UserError(f"problem {problem.name!r} has no means; the bounds need them.")
    return problem.merits(problem.means)


def _sigma(problem: Problem) -> float:
    if problem.sigma is None:
        raise UserError(f"problem {problem.name!r} has no sigma; the bounds need it.")
    return problem.sigma


def _free(
    recipe: Recipe, theorem: Theorem, problem: Problem, agents: int, given: Mapping[str, Parameter]
) -> dict[str, float]:
    """The numbers that the theorem leaves free: those given, or the method's own."""
    own = recipe.defaults(problem, agents)
    for key in given:
        if key not in own:
            raise UserError(f"{recipe.name} has no parameter {key!r}.")
    free = {}
    for key in theorem.free:
        value = given.get(key, own[key])
        if isinstance(value, str) or not 0.0 < value < math.inf:
            raise UserError(f"{recipe.name}: {key} is {value!r}; it must be a number above 0.")
        free[key] = float(value)
    return free


def _last_possible(
    complexity: float, radius: Callable[[float], float], arms: int, agents: int, gamma: float
) -> float:
    """The largest τ with `τ ≤ (1+γM)/(1−γKM) · (H radius(τ) + KM)`; the right side is concave in τ."""
    left = 1.0 - gamma * arms * agents
    if left <= 0.0 or complexity == math.inf:
        return math.inf

    def excess(samples: float) -> float:
        return samples - (1.0 + gamma * agents) / left * (complexity * radius(samples) + arms * agents)

    high = 2.0
    while excess(high) <= 0.0:
        high *= 2.0
    return crossing(excess, 1.0, high)
