"""`estimate`: how many samples and messages a study will take, before it is started."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Any

import numpy as np

from bestarm.errors import ProblemWarning, UserError
from bestarm.estimation.assumption import assume
from bestarm.estimation.pilot import Row, as_pilot
from bestarm.estimation.spending import NORMAL_95, Spending, spend
from bestarm.live import progress_shown
from bestarm.lower_bound import lower_bound
from bestarm.methods import Parameter
from bestarm.methods import method as build_method
from bestarm.notebook import picture, table
from bestarm.problem import Problem
from bestarm.problem.aims import check_budget
from bestarm.shown import count
from bestarm.simulation.api import check_budget as check_enough
from bestarm.simulation.api import simulate
from bestarm.simulation.result import Result, Summary
from bestarm.simulation.worlds.world import PLAIN, World
from bestarm.tables import to_pandas

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
    spending: Spending | None = None  # what a budget buys, if there is one

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
            "budget": None if self.spending is None else self.spending.to_json(),
        }

    def row(self) -> dict[str, Any]:
        """One line of a table; the columns are those of a sweep, and those of a budget if there is one."""
        cells: dict[str, Any] = {"gap": self.gap}
        for name, found in (("samples", self.samples), ("communications", self.communications)):
            cells |= {f"{name}_{part.name}": getattr(found, part.name) for part in fields(found)}
        cells |= {"samples_per_agent": self.samples_per_agent, "lower_bound": self.lower_bound}
        cells |= {"samples_to_lower": self.samples_to_lower, "wrong": self.wrong, "unfinished": self.unfinished}
        if self.spending is None:
            return cells
        low, high = self.spending.interval
        budget = {"budget": self.spending.budget, "decided": self.spending.share, "decided_low": low}
        return cells | budget | {"decided_high": high, "ruled_out": self.spending.ruled_out}


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
    world: World = PLAIN

    def to_json(self) -> dict[str, Any]:
        """Plain values, as `bestarm estimate --format json` prints them."""
        return {
            "problem": self.problem.name,
            "method": self.method,
            "agents": self.agents,
            "runs": self.runs,
            "seed": self.seed,
            "world": self.world.given,
            "assumption": self.assumption,
            "rows": [row.to_json() for row in self.rows],
        }

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame, one a gap."""
        return to_pandas(row.row() for row in self.rows)

    def _repr_html_(self) -> str:
        """A table, a line a gap, and the figure where there is matplotlib."""
        rows = []
        for row in self.rows:
            low, high = row.samples.low, row.samples.high
            sent = row.communications.mean
            cells = f"{row.samples.mean:,.0f}", f"{low:,.0f} to {high:,.0f}", f"{sent:,.0f}", f"{row.wrong:,}"
            rows.append((f"{row.gap:.4g}", *cells))
        how = f"{count(self.runs, 'run')} a gap, {count(self.agents, 'agent')}"
        title = f"{self.method} on {self.problem.name}: {how}"
        page = table(title, ["gap", "samples", "5 % to 95 %", "communications", "wrong"], rows)
        page += f"<p>{escape(self.assumption)}</p>"
        try:
            return page + picture(self.plot())
        except UserError:  # the only thing missing is matplotlib
            return page

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
    noise: float | Sequence[float] | None = None,
    offsets: Sequence[float] = (),
    drift: float = 0.0,
    interactions: float | Sequence[Sequence[float]] = 0.0,
    pilot: str | os.PathLike[str] | Sequence[Row] | None = None,
    gap_over_noise: float | Sequence[float] | None = None,
    budget: int | None = None,
    engine: str | None = None,
    progress: Progress | None = None,
    **parameters: Parameter,
) -> Estimate:
    """How many samples and communications to expect, from simulated runs.

    A problem with means is simulated as it is. Without means, or if gaps are given, each gap is assumed in
    turn: the first arm is the best, and all others are worse by the gap. With features, means are features · θ:
    five directions of θ are drawn at random from the seed, each as long as the gap between best and second best
    asks for, and share the runs. A pilot has the means and the noise of first measurements; with gaps, or with
    features, only the noise is taken from it. The `assumption` of the answer says which it was.

    Parameters:
        gaps: in units of the reward; by default ¼, ½, 1 and 2 times the noise for a problem without means.
        gap_over_noise: the same as multiples of the noise, one or several. Where nobody knows the noise, this
            is enough, and the answer's gaps are in units of it.
        pilot: a CSV file with the columns arm, reward and perhaps site, one row a measurement, or such rows.
        budget: of samples, of all sites together; by default the problem's. The answer then says how likely it
            is to decide, and how many arms are ruled out on average where it does not.
        runs: for each gap, at least 2.
        rewards, noise, offsets, drift, interactions, engine, seed, parameters: as in `simulate`. Without noise
            it is the pilot's, or the problem's sigma; one of these must be known, or gap_over_noise.
        progress: is told how many runs have finished, as they finish; by default a notebook shows a bar.

    >>> problem = Problem(["A", "B", "C"], sigma=0.3)
    >>> found = estimate(problem, agents=3, gaps=[0.3, 0.6], runs=20, engine="rounds")
    >>> [row.gap for row in found.rows], found.rows[0].samples.mean > found.rows[1].samples.mean
    ([0.3, 0.6], True)
    >>> guessed = estimate(problem, agents=3, gap_over_noise=2.0, noise=0.1, runs=20, engine="rounds")
    >>> [row.gap for row in guessed.rows]
    [0.2]
    >>> limited = estimate(problem, agents=3, gaps=[0.6], budget=50, runs=20, engine="rounds")
    >>> limited.rows[0].spending.share
    0.95
    """
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 2:
        raise UserError(f"runs is {runs!r}; it must be a whole number of at least 2.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)  # it comes with the first run
        short = method if build_method(method, problem, agents, **parameters).test.short_features else ""
    budget = problem.budget if budget is None else check_budget(budget)
    if budget is not None:
        check_enough(budget, problem.K)
    problem = Problem.from_dict({key: value for key, value in problem.to_dict().items() if key != "budget"})
    world = World(rewards, None, noise, offsets, drift, interactions)
    measured = None if pilot is None else as_pilot(pilot, problem)
    world, assumed, sentence = assume(problem, world, measured, gaps, gap_over_noise, runs, seed, short)
    rows = []
    assumed = list(assumed)
    with progress_shown(progress, runs * len(assumed), f"{method} on {problem.name}") as told:
        for gap, truths in assumed:
            shares = [runs // len(truths) + (k < runs % len(truths)) for k in range(len(truths))]
            built = [build_method(method, truth, agents, **parameters) for truth in truths]
            results = [
                simulate(
                    truth,
                    one,
                    runs=share,
                    seed=seed,
                    engine=engine,
                    progress=told,
                    **world.given,
                )
                for truth, one, share in zip(truths, built, shares, strict=True)
            ]
            spending = None if budget is None else spend(built, shares, budget, seed, world)
            rows.append(_row(gap, results, spending))
    return Estimate(problem, method, agents, runs, seed, sentence, tuple(rows), world)


def _row(gap: float, results: list[Result], spending: Spending | None) -> Expectation:
    samples = np.concatenate([result.samples for result in results])
    summary = Summary.of(samples)
    return Expectation(
        gap=gap,
        samples=summary,
        communications=Summary.of(np.concatenate([result.communications for result in results])),
        samples_per_agent=summary.mean / results[0].agents,
        lower_bound=float(np.mean([_lower(result) for result in results])),
        wrong=sum(result.wrong for result in results),
        unfinished=sum(result.unfinished for result in results),
        spending=spending,
    )


def _lower(result: Result) -> float:
    problem, noise = result.problem, result.world.least_noise
    return 0.0 if problem.sigma is None and noise is None else lower_bound(problem, noise)


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
