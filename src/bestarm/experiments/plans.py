"""What is run for each experiment: which methods, with which parameters, at which gaps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from bestarm.experiments import films as film_arms
from bestarm.experiments import synthetic
from bestarm.experiments.films import Films, arm_set, reachable
from bestarm.experiments.points import LOWER_BOUND, Instance, Point, Variant, make_points
from bestarm.experiments.synthetic import AGENTS, DELTA, SIGMA

HARDEST, EASIEST = 0.1, 0.5  # the parameters are swept at the smallest gap
MAB, LINEAR = "mab", "linear"
ARM_COUNTS = (10, 100)
GAMMAS = (0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
# γ₁ by experiment: fewer where a run takes longer. γ₂ matters only where γ₁ is large, so two values will do.
GAMMA1S = {
    "linear": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
    "movielens-10": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
    "movielens-100": (0.01, 0.1, 1.0),
}
GAMMA2 = 0.2
PERIODS = (10, 30, 300)
THRIFTS = ("samples", "messages")

BOUND = Variant.of(LOWER_BOUND)
SHARP = Variant.of("sharp")
SHARPS = [Variant.of("sharp", thrift=thrift) for thrift in THRIFTS]
FAMABPE, UGAPEC, SYNC_UGAPEC = (Variant.of(name) for name in ("famabpe", "ugapec", "sync-ugapec"))
SYNC_UGAPEC_ALL = Variant.of("sync-ugapec", period_counts="all")
FALINPE, LINGAPE, SYNC_LINGAPE = (Variant.of(name) for name in ("falinpe", "lingape", "sync-lingape"))
GREEDY = Variant.of("falinpe", selection="greedy")


def movielens(arms: int) -> str:
    """The name of the MovieLens experiment with so many arms."""
    return f"movielens-{arms}"


def mab_points(runs: int, seed: int) -> Iterator[Point]:
    """Separate arms: the paper's methods and sharp at every gap, and famabpe over γ."""
    variants = [BOUND, FAMABPE, UGAPEC, SYNC_UGAPEC, SHARP]
    variants += [*SHARPS, SYNC_UGAPEC_ALL, *(Variant.of("famabpe", gamma=gamma) for gamma in GAMMAS)]
    # 10 pulls of each agent are 100 of all ten together, which is among the variants already.
    periods = [Variant.of("sync-ugapec", period=period) for period in PERIODS if period != 100 // AGENTS]
    for gap in synthetic.GAPS:
        chosen = variants + (periods if gap == HARDEST else [])
        yield from make_points(MAB, gap, chosen, [synthetic.separate(gap)], agents=AGENTS, runs=runs, seed=seed)


def linear_points(runs: int, seed: int, instance: str) -> Iterator[Point]:
    """Arms with features in five dimensions; falinpe over γ₁ and γ₂ at the smallest gap."""
    for gap in synthetic.GAPS:
        instances = synthetic.linear_instances(gap, instance, runs, seed)
        yield from _linear(LINEAR, gap, instances, runs, seed)


def movielens_points(films: Films, runs: int, seed: int) -> Iterator[Point]:
    """Films: ten and a hundred arms at every gap that the films allow."""
    for arms in ARM_COUNTS:
        for gap in film_arms.GAPS:
            if reachable(films, gap, arms):
                seeds = [synthetic.instance_seed(seed, run) for run in range(runs)]
                instances = [arm_set(films, gap, arms, number) for number in seeds]
                yield from _linear(movielens(arms), gap, instances, runs, seed)


def falinpe_sweep(experiment: str, arms: int) -> list[Variant]:
    """falinpe over γ₁ and γ₂, with the theorem's largest λ for each γ₁; the theorem's own pair is left out.

    Greedy selection where there are many arms, for the time that the linear programmes take.
    """
    own = {"gamma1": 1 / AGENTS**2, "gamma2": 1 / (2 * AGENTS * arms)}
    greedy = {"selection": "greedy"} if arms == max(ARM_COUNTS) else {}
    pairs = [(gamma1, gamma2) for gamma1 in GAMMA1S[experiment] for gamma2 in (own["gamma2"], GAMMA2)]
    return [
        Variant.of("falinpe", **greedy, gamma1=gamma1, gamma2=gamma2, lambda_=largest_lambda(gamma1))
        for gamma1, gamma2 in pairs
        if (gamma1, gamma2) != (own["gamma1"], own["gamma2"])
    ]


def largest_lambda(gamma1: float) -> float:
    """The largest λ that Theorem 2 allows, `σ²(√(1+γ₁M) + √(2γ₁) M)² log(2/δ)`.

    >>> round(largest_lambda(0.01), 3)
    2.014
    """
    inflation = math.sqrt(1 + gamma1 * AGENTS) + math.sqrt(2 * gamma1) * AGENTS
    return SIGMA**2 * inflation**2 * math.log(2 / DELTA)


def _linear(
    experiment: str, gap: float, instances: Sequence[Instance], runs: int, seed: int
) -> Iterator[Point]:
    arms = instances[0].problem.K
    variants = [BOUND, FALINPE, GREEDY, LINGAPE, SYNC_LINGAPE, SHARP, *SHARPS, FAMABPE]
    if arms == max(ARM_COUNTS) and gap != EASIEST:
        variants.remove(FALINPE)  # hundreds of linear programmes a run, and as many new starts
    if gap == HARDEST:
        variants += falinpe_sweep(experiment, arms)
        variants += [Variant.of("sync-lingape", period=period) for period in PERIODS]
    yield from make_points(experiment, gap, variants, instances, agents=AGENTS, runs=runs, seed=seed)
