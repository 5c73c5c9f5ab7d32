"""The outcomes of many runs, as people look at them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.rules import Value as Parameter
from bestarm.errors import UserError
from bestarm.notebook import picture, table
from bestarm.problem import Problem
from bestarm.shown import count
from bestarm.simulation.outcome import Outcome, is_wrong
from bestarm.simulation.worlds.world import PLAIN, World
from bestarm.tables import to_pandas
from bestarm.theory import Bounds
from bestarm.theory import bounds as theory_bounds

SUMMARISED = ("samples", "communications", "switches", "unsent")
RUN_COLUMNS = ["run", *SUMMARISED, "arm", "wrong", "unfinished"]


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean, standard error and quantiles of one number over the runs."""

    mean: float
    stderr: float
    median: float
    low: float  # the 5 % quantile
    high: float  # the 95 % quantile
    most: float

    @classmethod
    def of(cls, each: Counts | Floats) -> Summary:
        """The summary of one value a run.

        >>> Summary.of(np.array([1, 2, 3])).mean
        2.0
        """
        error = float(np.std(each, ddof=1) / np.sqrt(each.size)) if each.size > 1 else 0.0
        low, median, high = np.quantile(each, [0.05, 0.5, 0.95])
        return cls(float(np.mean(each)), error, float(median), float(low), float(high), float(np.max(each)))


@dataclass(frozen=True, slots=True)
class Result:
    """What a simulation gave: one entry a run in `samples`, `communications`, `switches`, `unsent`, `returned`.

    `returned` is the index of the arm, −1 for a run that ended undecided; those are `unfinished`, never counted
    as an answer. `wrong` counts the answers that are worse than the best arm by more than epsilon.

    >>> import bestarm
    >>> problem = bestarm.Problem.quick([0.9, 0.5], sigma=0.3)
    >>> result = bestarm.simulate(problem, "sharp", agents=2, runs=20, engine="rounds")
    >>> result.wrong, result.samples.shape, result.summary("samples").mean > 2
    (0, (20,), True)
    """

    problem: Problem
    method: str
    parameters: Mapping[str, Parameter]
    agents: int
    runs: int
    seed: int
    engine: str
    samples: Counts
    communications: Counts
    switches: Counts
    unsent: Counts
    returned: Counts
    leaders: Counts
    breaking_indices: Floats
    means: Floats
    seconds: float
    world: World = PLAIN

    @classmethod
    def collect(cls, outcomes: Sequence[Outcome], **what: Any) -> Result:
        """The result of some outcomes."""
        columns = dict(zip(Outcome._fields, zip(*outcomes, strict=True), strict=True))
        leaders = np.array(columns["arm"], dtype=np.int64)
        what |= {
            name: np.array(columns[name], dtype=np.int64)
            for name in ("samples", "communications", "switches", "unsent")
        }
        what["leaders"] = leaders
        what["returned"] = np.where(np.array(columns["stopped"], dtype=bool), leaders, -1)
        what["breaking_indices"] = np.array(columns["breaking_index"], dtype=np.float64)
        return cls(**what)

    @property
    def unfinished(self) -> int:
        """How many runs ended undecided."""
        return int((self.returned < 0).sum())

    @property
    def wrong(self) -> int:
        """How many answers were worse than the best arm by more than epsilon."""
        wrong = is_wrong(self.problem.merits(self.means), self.problem.epsilon)
        return int(wrong[self.returned[self.returned >= 0]].sum())

    @property
    def arms(self) -> dict[str, int]:
        """How often each arm was returned, by name."""
        counts = np.bincount(self.returned[self.returned >= 0], minlength=len(self.problem.arms))
        return dict(zip(self.problem.arms, counts.tolist(), strict=True))

    def summary(self, field: str = "samples") -> Summary:
        """Mean, error and quantiles of `samples`, `communications`, `switches` or `unsent`."""
        if field not in SUMMARISED:
            raise UserError(f"field is {field!r}; it must be one of {', '.join(SUMMARISED)}.")
        return Summary.of(getattr(self, field))

    @property
    def bounds(self) -> Bounds | None:
        """What theory says about these runs; None where it says nothing.

        Means that a table of measured rewards supplied count as the truth. With features there are no bounds
        then: measured means need not be linear. The lower bound is for the noise that there is, the theorems'
        bounds are for the sigma that the method was told.
        """
        if np.array_equal(self.means, self.problem.means if self.problem.means is not None else []):
            truth = self.problem
        elif self.problem.linear:
            return None
        else:
            plain = {key: value for key, value in self.problem.to_dict().items() if key != "arm"}
            truth = Problem(self.problem.arms, means=self.means, **plain)
        told = tuple(self.parameters.items())
        return _bounds(truth, self.method, self.agents, told, self.world.least_noise)

    @property
    def ratios(self) -> dict[str, float | None]:
        """The mean samples and communications as multiples of the bounds; None where a bound says nothing."""
        found = self.bounds
        pairs = {
            "samples_to_lower": ("samples", found and found.lower),
            "samples_to_bound": ("samples", found and found.samples),
            "communications_to_bound": ("communications", found and found.communications),
        }
        return {
            name: self.summary(field).mean / bound if bound and bound < math.inf else None
            for name, (field, bound) in pairs.items()
        }

    @property
    def each(self) -> Iterator[dict[str, Any]]:
        """One row a run: what it cost, the arm that was returned, and whether that was wrong."""
        wrong = is_wrong(self.problem.merits(self.means), self.problem.epsilon)
        for run, arm in enumerate(self.returned.tolist()):
            yield {
                "run": run,
                **{field: int(getattr(self, field)[run]) for field in SUMMARISED},
                "arm": self.problem.arms[arm] if arm >= 0 else None,
                "wrong": int(arm >= 0 and bool(wrong[arm])),
                "unfinished": int(arm < 0),
            }

    def to_pandas(self) -> Any:
        """The runs as a pandas data frame, one a row."""
        return to_pandas(self.each, RUN_COLUMNS)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A matplotlib figure of samples and communications, saved to `path` if there is one."""
        from bestarm.plot import plot_result, save

        figure = plot_result(self)
        if path is not None:
            save(figure, path)
        return figure

    @property
    def _title(self) -> str:
        undecided = f", {self.unfinished} undecided" if self.unfinished else ""
        return (
            f"{self.method} on {self.problem.name}: {count(self.runs, 'run')}, {count(self.agents, 'agent')}, "
            f"{self.wrong} wrong{undecided}"
        )

    def __str__(self) -> str:
        samples, sent = self.summary(), self.summary("communications")
        return (
            f"{self._title}; {samples.mean:,.1f} ± {samples.stderr:,.1f} samples, "
            f"{sent.mean:,.1f} ± {sent.stderr:,.1f} communications."
        )

    def _repr_html_(self) -> str:
        """A small table, and the figure where there is matplotlib."""
        rows = []
        for field in ("samples", "communications", "switches"):
            found = self.summary(field)
            mean = f"{found.mean:,.1f} ± {found.stderr:,.1f}"
            rows.append(
                (field, mean, *(f"{x:,.0f}" for x in (found.median, found.low, found.high, found.most)))
            )
        page = table(self._title, ["", "mean", "median", "5 %", "95 %", "max"], rows)
        try:
            return page + picture(self.plot())
        except UserError:  # the only thing missing is matplotlib
            return page

    def to_json(self) -> dict[str, Any]:
        """Plain values, as `bestarm simulate --format json` prints them."""

        def numbers(field: str) -> dict[str, Any]:
            summary = self.summary(field)
            return {"mean": summary.mean, "stderr": summary.stderr, "each": getattr(self, field).tolist()}

        undecided = np.flatnonzero(self.returned < 0).tolist()
        bounds = self.bounds
        return {
            "method": self.method,
            "parameters": dict(self.parameters),
            "agents": self.agents,
            "runs": self.runs,
            "seed": self.seed,
            "engine": self.engine,
            "world": {name: value for name, value in self.world.given.items() if name != "table"},
            "samples": numbers("samples"),
            "communications": numbers("communications"),
            "switches": numbers("switches"),
            "wrong": {"count": self.wrong, "rate": self.wrong / self.runs},
            "unfinished": {
                "count": len(undecided),
                "each": [
                    {
                        "run": run,
                        "leader": self.problem.arms[self.leaders[run]],
                        "breaking_index": _finite(float(self.breaking_indices[run])),
                    }
                    for run in undecided
                ],
            },
            "arms": self.arms,
            "bounds": {
                name: None if bounds is None else _finite(getattr(bounds, name))
                for name in ("samples", "communications", "lower")
            },
            "ratios": self.ratios,
            "seconds": self.seconds,
        }


@lru_cache(maxsize=64)
def _bounds(
    problem: Problem,
    method: str,
    agents: int,
    parameters: tuple[tuple[str, Parameter], ...],
    noise: float | None,
) -> Bounds | None:
    # Kept, because a linear problem of many arms takes seconds.
    return theory_bounds(problem, method, agents, dict(parameters), noise)


def _finite(value: float | None) -> float | None:
    """JSON has no infinity."""
    return value if value is not None and math.isfinite(value) else None
