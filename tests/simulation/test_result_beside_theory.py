"""A result beside what theory says, and in a notebook."""

from __future__ import annotations

import base64
import json
import math
import re

import numpy as np

import bestarm
from bestarm.theory import bounds

PROBLEM = bestarm.Problem.quick([0.9, 0.6, 0.5], sigma=0.3)


def test_ratios_are_means_over_bounds() -> None:
    result = bestarm.simulate(PROBLEM, "famabpe", agents=3, runs=5, engine="rounds")
    theory = bounds(PROBLEM, "famabpe", 3)
    assert theory is not None
    assert theory.samples is not None
    assert theory.communications is not None
    assert result.bounds == theory
    assert result.ratios == {
        "samples_to_lower": result.samples.mean() / theory.lower,
        "samples_to_bound": result.samples.mean() / theory.samples,
        "communications_to_bound": result.communications.mean() / theory.communications,
    }


def test_an_infinite_bound_is_none_in_json() -> None:
    result = bestarm.simulate(PROBLEM, "famabpe", agents=3, runs=2, engine="rounds", gamma=1.0)
    assert result.bounds is not None
    assert result.bounds.samples == math.inf
    found = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert found["bounds"]["samples"] is None
    assert found["ratios"]["samples_to_bound"] is None
    assert found["ratios"]["samples_to_lower"] > 1


def test_values_are_plain_whatever_the_problem_was_made_of() -> None:
    means = np.array([0.9, 0.1], dtype=np.float32)
    problem = bestarm.Problem(["A", "B"], means=means, sigma=np.float64(0.3), delta=np.float64(0.25))
    result = bestarm.simulate(problem, "famabpe", agents=2, runs=2, engine="rounds", gamma=np.float64(0.1))
    found = result.to_json()
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_table_of_rewards_is_the_truth_of_its_bounds() -> None:
    table = {"A": [1.0, 0.0], "B": [0.25, 0.25]}
    blind = bestarm.Problem(["A", "B"], sigma=0.5)
    result = bestarm.simulate(blind, "famabpe", agents=2, runs=2, engine="rounds", table=table)
    assert result.bounds == bounds(bestarm.Problem(["A", "B"], sigma=0.5, means=[0.5, 0.25]), "famabpe", 2)


def test_a_table_with_features_has_no_bounds() -> None:
    linear = bestarm.Problem(["A", "B"], sigma=0.5, features=[[1.0], [0.5]])
    table = {"A": [1.0], "B": [0.25]}
    result = bestarm.simulate(linear, "sharp", agents=2, runs=2, engine="rounds", table=table)
    assert result.bounds is None
    assert set(result.ratios.values()) == {None}
    assert set(result.to_json()["bounds"].values()) == {None}


def test_a_notebook_gets_a_table_and_a_figure() -> None:
    problem = bestarm.Problem(["A", "B"], means=[0.9, 0.1], sigma=0.3, name="<b>")
    result = bestarm.simulate(problem, "sharp", agents=2, runs=3, engine="rounds")
    page = result._repr_html_()
    assert page.startswith("<table>")
    samples, sent = result.summary(), result.summary("communications")
    assert str(result) == (
        f"sharp on <b>: 3 runs, 2 agents, {result.wrong} wrong; {samples.mean:,.1f} ± {samples.stderr:,.1f} "
        f"samples, {sent.mean:,.1f} ± {sent.stderr:,.1f} communications."
    )
    picture = re.search(r'<img alt="" src="data:image/svg\+xml;base64,([^"]+)">$', page)
    assert picture
    drawn = base64.b64decode(picture[1]).decode()
    assert "<svg" in drawn
    assert "communications" in drawn
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    for field in ("samples", "communications", "switches"):
        assert f"<th>{field}</th><td>{result.summary(field).mean:,.1f} ± " in page
