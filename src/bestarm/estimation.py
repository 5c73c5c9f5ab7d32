"""`estimate`: how many samples and messages a study will take, before it is started."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.errors import ProblemWarning, UserError
from bestarm.lower_bound import lower_bound
from bestarm.methods import Parameter
from bestarm.methods import method as build_method
from bestarm.problem import Problem
from bestarm.problem.checks import check_vector
from bestarm.reward import HIGHEST, check_number
from bestarm.simulation.api import simulate
from bestarm.simulation.result import Result, Summary

GAPS = (0.25, 0.5, 1.0, 2.0)  # in units of sigma
THETAS = 5  # random directions of theta, for a linear problem that has none
NORMAL_95 = 1.959964  # the 97.5 % quantile of the standard normal distribution

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Expectation:
    """What to expect if the best arm is better than the second best by `gap`."""

    gap: float
    samples: Summary
    communications: Summary
    samples_per_agent: float
    lower_bound: float  # infinite, or 0, where it says nothing
    wrong: int
    unfinished: int

    @property
    def interval(self) -> tuple[float, float]:
        """Where the expected number of samples lies, at 95 %: the mean of the runs ± 1.96 standard errors."""
        reach = NORMAL_95 * self.samples.stderr
        return self.samples.mean - reach, self.samples.mean + reach

    @property
    def samples_to_lower(self) -> float | None:
        """The mean samples as a multiple of the lower bound; None where that says nothing."""
        return self.samples.mean / self.lower_bound if 0 < self.lower_bound < math.inf else None

    def to_json(self) -> dict[str, Any]:
        """Plain values."""

        def numbers(found: Summary) -> dict[str, float]:
            return {"mean": found.mean, "stderr": found.stderr, "low": found.low, "high": found.high}

        return {
            "gap": self.gap,
            "samples": numbers(self.samples) | {"interval": list(self.interval)},
            "communications": numbers(self.communications),
            "samples_per_agent": self.samples_per_agent,
            "lower_bound": self.lower_bound if math.isfinite(self.lower_bound) else None,
            "samples_to_lower": self.samples_to_lower,
            "wrong": self.wrong,
            "unfinished": self.unfinished,
        }


@dataclass(frozen=True, slots=True)
class Estimate:
    """One row for each gap, and in `assumption` what was assumed about the arms, in a sentence or two.

    >>> found = estimate(Problem(["A", "B"], sigma=0.3), agents=2, gaps=[0.6], runs=10, engine="rounds")
    >>> found.assumption
    'Assumed: one arm is best, and all others are worse by the gap.'
    """

    problem: Problem
    method: str
    agents: int
    runs: int
    seed: int
    assumption: str
    rows: tuple[Expectation, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values, as `bestarm estimate --format json` prints them."""
        return {
            "problem": self.problem.name,
            "method": self.method,
            "agents": self.agents,
            "runs": self.runs,
            "seed": self.seed,
            "assumption": self.assumption,
            "rows": [row.to_json() for row in self.rows],
        }

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A matplotlib figure of samples and communications against the gap, saved to `path` if given."""
        from bestarm.plot import save

        figure = _draw(self)
        if path is not None:
            save(figure, path)
        return figure


def estimate(
    problem: Problem,
    method: str = "sharp",
    agents: int = 10,
    gaps: Sequence[float] | None = None,
    runs: int = 200,
    seed: int = 0,
    *,
    rewards: str | None = None,
    engine: str | None = None,
    progress: Progress = lambda finished: None,
    **parameters: Parameter,
) -> Estimate:
    """How many samples and communications to expect, from simulated runs.

    A problem with means is simulated as it is. Without means, or if gaps are given, each gap is assumed in
    turn: the first arm is the best, and all others are worse by the gap. With features, means are features · θ:
    five directions of θ are drawn at random from the seed, each as long as the gap between best and second best
    asks for, and share the runs. The `assumption` of the answer says which it was.

    Parameters:
        gaps: in units of the reward; by default ¼, ½, 1 and 2 sigma for a problem without means.
        runs: for each gap, at least 2.
        rewards, engine, seed, parameters: as in `simulate`.
        progress: is told how many runs have finished, as they finish.

    >>> problem = Problem(["A", "B", "C"], sigma=0.3)
    >>> found = estimate(problem, agents=3, gaps=[0.3, 0.6], runs=20, engine="rounds")
    >>> [row.gap for row in found.rows], found.rows[0].samples.mean > found.rows[1].samples.mean
    ([0.3, 0.6], True)
    """
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 2:
        raise UserError(f"runs is {runs!r}; it must be a whole number of at least 2.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)  # it comes with the first run
        short = build_method(method, problem, agents, **parameters).test.short_features
    assumed, assumption = _assumed(problem, method, short, gaps, runs, seed)
    rows = []
    for gap, truths in assumed:
        shares = [runs // len(truths) + (k < runs % len(truths)) for k in range(len(truths))]
        results = [
            simulate(
                truth,
                build_method(method, truth, agents, **parameters),
                runs=share,
                seed=seed,
                rewards=rewards,
                engine=engine,
                progress=progress,
            )
            for truth, share in zip(truths, shares, strict=True)
        ]
        rows.append(_row(gap, results))
    return Estimate(problem, method, agents, runs, seed, assumption, tuple(rows))


def _row(gap: float, results: list[Result]) -> Expectation:
    samples = np.concatenate([result.samples for result in results])
    summary = Summary.of(samples)
    return Expectation(
        gap=gap,
        samples=summary,
        communications=Summary.of(np.concatenate([result.communications for result in results])),
        samples_per_agent=summary.mean / results[0].agents,
        lower_bound=float(np.mean([lower_bound(result.problem) for result in results])),
        wrong=sum(result.wrong for result in results),
        unfinished=sum(result.unfinished for result in results),
    )


def _assumed(
    problem: Problem, method: str, short: bool, gaps: Sequence[float] | None, runs: int, seed: int
) -> tuple[list[tuple[float, list[Problem]]], str]:
    """For each gap the problems that are simulated, and what they assume."""
    if problem.means is not None and gaps is None:
        second, best = np.sort(problem.merits(problem.means))[-2:].tolist()
        if best == second and problem.epsilon == 0:
            raise UserError(
                "the two best arms are equally good and epsilon is 0: no number of samples decides."
            )
        return [(best - second, [problem])], "The means are the problem's own; the gap is best to second best."
    if problem.sigma is None:
        raise UserError(
            f"problem {problem.name!r} has no sigma, and an estimate needs to know how much rewards scatter: "
            "give sigma."
        )
    wanted = (
        [factor * problem.sigma for factor in GAPS] if gaps is None else check_vector("gaps", gaps).tolist()
    )
    if not wanted:
        raise UserError("gaps is empty; it must have at least one number.")
    for gap in wanted:
        check_number("a gap", gap, "a number above 0", lambda x: x > 0)
    if problem.features is not None:
        return _linear(problem, method, short, wanted, runs, seed)
    low, high = problem.reward_range or (-math.inf, math.inf)
    if gaps is None:
        wanted = [gap for gap in wanted if gap < high - low]
    elif max(wanted) > high - low:
        raise UserError(f"a gap is {max(wanted):g}; the reward_range from {low:g} to {high:g} is smaller.")
    middle = 0.5 * low + 0.5 * high if problem.reward_range else 0.5
    ahead = 1.0 if problem.goal == HIGHEST else -1.0
    means = [[middle + ahead * gap / 2] + [middle - ahead * gap / 2] * (problem.K - 1) for gap in wanted]
    truths = [[_with(problem, means=one)] for one in means]
    sentence = "Assumed: one arm is best, and all others are worse by the gap."
    return list(zip(wanted, truths, strict=True)), sentence


def _linear(
    problem: Problem, method: str, short: bool, gaps: list[float], runs: int, seed: int
) -> tuple[list[tuple[float, list[Problem]]], str]:
    assert problem.features is not None
    # −θ is the direction in which the arm that is best for θ is the lowest.
    thetas = [problem.merits(theta) for theta in _random_thetas(problem.features, min(THETAS, runs), seed)]
    sentence = (
        f"Assumed: means are features · theta, for {len(thetas)} random directions of theta (seed {seed}) that "
        "share the runs; theta is as long as the gap between best and second best asks for. The intervals are "
        "for these directions, not for all."
    )
    longest = max(gaps) * max(float(np.linalg.norm(theta)) for theta in thetas)
    if longest > 1 and short:
        sentence += f" The longest theta has length {longest:.3g}; {method} promises something for at most 1."
    if problem.reward_range is not None:
        sentence += " Rewards are Gaussian with the problem's sigma, so the reward_range does not limit them."
    found = [(gap, [_with(problem, theta=gap * theta) for theta in thetas]) for gap in gaps]
    return found, sentence


def _random_thetas(features: Floats, count: int, seed: int) -> list[Floats]:
    """Uniform directions, scaled so that the best arm is better than the second best by 1."""
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**32 - 1,)))
    found: list[Floats] = []
    for _ in range(100 * count):
        theta = random.standard_normal(features.shape[1])
        means = np.sort(features @ theta)
        # Two arms with the same features may be best together; such a direction is no use.
        if means[-1] - means[-2] > 1e-9 * np.abs(means).max():
            found.append(theta / (means[-1] - means[-2]))
        if len(found) == count:
            return found
    raise UserError("arms with the same features are always among the best; leave one of each such pair out.")


def _with(problem: Problem, *, means: list[float] | None = None, theta: Floats | None = None) -> Problem:
    """The problem with an assumed truth. A theta may leave the reward range, so sigma stands for it."""
    table = problem.to_dict()
    if means is not None:
        table["arm"] = [arm | {"mean": mean} for arm, mean in zip(table["arm"], means, strict=True)]
    if theta is not None:
        table["arm"] = [{key: arm[key] for key in arm if key != "mean"} for arm in table["arm"]]
        table = {key: table[key] for key in table if key not in ("rewards", "reward_range", "centre")}
        table |= {"theta": theta.tolist(), "sigma": problem.sigma}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)  # said when the problem was made
        return Problem.from_dict(table)


def _draw(found: Estimate) -> Any:
    from bestarm.plot import BOUND_COLOUR, look, new_figure, plain_numbers, style

    rows = sorted(found.rows, key=lambda row: row.gap)
    gaps = [row.gap for row in rows]
    colour, marker = look(found.method)
    with style():
        figure, panels = new_figure(2)
        for axes, field in zip(panels, ("samples", "communications"), strict=True):
            numbers: list[Summary] = [getattr(row, field) for row in rows]
            axes.vlines(
                gaps, [s.low for s in numbers], [s.high for s in numbers], color=colour, alpha=0.4, lw=5
            )
            label = f"{found.method}, mean (bars: 5–95 % of runs)"
            axes.plot(gaps, [s.mean for s in numbers], color=colour, marker=marker, label=label)
            if field == "samples" and all(row.samples_to_lower for row in rows):
                bound = [row.lower_bound for row in rows]
                axes.plot(gaps, bound, color=BOUND_COLOUR, linestyle=":", marker=".", label="lower bound")
            axes.set_xscale("log")
            if min(s.low for s in numbers) > 0:  # a single agent sends nothing
                axes.set_yscale("log")
            axes.set_xlabel("gap")
            axes.set_ylabel(field)
            axes.margins(0.1)
            plain_numbers(axes.yaxis)
            axes.set_xticks(gaps, [f"{gap:.3g}" for gap in gaps])
            axes.tick_params(axis="x", which="minor", labelbottom=False)
        panels[0].legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=2)
        what = f"{found.problem.name}: {found.problem.K} arms – agents: {found.agents}, runs: {found.runs:,}"
        figure.suptitle(what, x=0.01, ha="left")
    return figure
