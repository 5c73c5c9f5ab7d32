"""What a budget buys: how often it decides, and what is ruled out where it does not."""

from __future__ import annotations

import numpy as np
import pytest

import bestarm
from bestarm.errors import UserError

PROBLEM = bestarm.Problem(list("ABCD"), means=[0.8, 0.6, 0.4, 0.2], sigma=0.3)


def test_a_budget_decides_the_runs_that_need_no_more() -> None:
    """An unlimited run is decided with a budget exactly if it needs no more uploaded samples than that."""
    unlimited = bestarm.simulate(PROBLEM, agents=3, runs=60, seed=4, engine="rounds")
    needed = unlimited.samples - unlimited.unsent
    for budget in (int(np.quantile(needed, 0.3)), int(np.quantile(needed, 0.8))):
        found = bestarm.estimate(PROBLEM, agents=3, runs=200, seed=4, engine="rounds", budget=budget)
        spending = found.rows[0].spending
        assert spending is not None
        low, high = spending.interval
        share = float((needed <= budget).mean())
        assert low - 0.13 < share < high + 0.13  # of 60 runs, other ones: two standard errors
        assert spending.ruled_out is not None
        assert 0 < spending.ruled_out < 3
        assert found.rows[0].unfinished == 0  # the samples that it takes are those without a budget
        assert found.to_json()["rows"][0]["budget"]["decided"] == spending.decided
        frame = found.to_pandas()
        assert frame.loc[0, "decided"] == spending.share
        assert frame.loc[0, "samples_mean"] == found.rows[0].samples.mean


def test_the_budget_of_the_problem_counts_unless_another_one_is_given() -> None:
    table = PROBLEM.to_dict() | {"budget": 30}
    limited = bestarm.Problem.from_dict(table)
    own = bestarm.estimate(limited, agents=2, runs=4, engine="rounds").rows[0]
    other = bestarm.estimate(limited, agents=2, runs=4, engine="rounds", budget=2000).rows[0]
    assert own.spending is not None
    assert other.spending is not None
    assert (own.spending.budget, other.spending.budget, other.spending.decided) == (30, 2000, 4)
    assert other.spending.ruled_out is None
    assert bestarm.estimate(PROBLEM, agents=2, runs=4, engine="rounds").rows[0].spending is None


def test_a_simulation_ends_at_the_budget_of_its_problem() -> None:
    limited = bestarm.Problem.from_dict(PROBLEM.to_dict() | {"budget": 30})
    result = bestarm.simulate(limited, agents=2, runs=10, engine="rounds")
    assert result.unfinished > 0
    same = bestarm.simulate(PROBLEM, agents=2, runs=10, engine="rounds", max_samples=30)
    assert result.samples.tolist() == same.samples.tolist()
    frame = result.to_pandas()
    assert list(frame.columns) == bestarm.simulation.result.RUN_COLUMNS
    assert frame["unfinished"].sum() == result.unfinished
    assert frame["samples"].tolist() == result.samples.tolist()


@pytest.mark.parametrize(
    ("budget", "sentence"),
    [
        (0, "budget is 0; it must be a whole number of at least 1."),
        (2.5, "budget is 2.5; it must be a whole number"),
        (3, "budget is 3; a simulation needs at least 4, one sample of each arm."),
    ],
)
def test_what_is_no_budget(budget: int, sentence: str) -> None:
    with pytest.raises(UserError) as error:
        bestarm.estimate(PROBLEM, agents=2, runs=4, engine="rounds", budget=budget)
    assert sentence in str(error.value)


def test_pandas_that_is_missing_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    result = bestarm.simulate(PROBLEM, agents=2, runs=1, engine="rounds")
    with pytest.raises(UserError, match="a data frame needs pandas: pip install pandas"):
        result.to_pandas()
