"""The linear model is a function of the tally, and its short cuts agree with the long way."""

import warnings
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bestarm import Method, Problem, ProblemWarning, Tally
from bestarm.core import estimate
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading
from bestarm.core.selection.greedy import greedy
from bestarm.core.state import View
from bestarm.methods import Parameter
from bestarm.methods import method as build
from bestarm.methods.design import minimal_weights

Array = NDArray[np.float64]


class Case(NamedTuple):
    """A linear problem and a tally, in which every arm was pulled."""

    features: Array
    pulls: list[int]
    sums: list[float]
    regulariser: float

    @property
    def tally(self) -> Tally:
        return Tally.of(self.pulls, self.sums)

    def method(self, name: str = "falinpe", **parameters: Parameter) -> Method:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProblemWarning)  # arms that look the same are welcome here
            problem = Problem([f"arm-{k}" for k in range(len(self.pulls))], sigma=0.3, features=self.features)
            return build(name, problem, agents=3, **parameters)

    def ridge(self, selection: str = "greedy") -> Method:
        return self.method("falinpe", lambda_=self.regulariser, selection=selection)

    @property
    def matrix(self) -> Array:
        """V = λI + Σ over all pulls of x x', pull by pull."""
        matrix = self.regulariser * np.eye(self.features.shape[1])
        for row, count in zip(self.features, self.pulls, strict=True):
            for _ in range(count):
                matrix = matrix + np.outer(row, row)
        return matrix


@st.composite
def cases(draw: st.DrawFn) -> Case:
    arms, dimension = draw(st.integers(2, 6)), draw(st.integers(1, 4))
    row = st.lists(st.integers(-8, 8), min_size=dimension, max_size=dimension).filter(any)
    features = np.array(draw(st.lists(row, min_size=arms, max_size=arms))) / 20.0
    pulls = draw(st.lists(st.integers(1, 60), min_size=arms, max_size=arms))
    sums = draw(st.lists(st.floats(-50, 50), min_size=arms, max_size=arms))
    return Case(features, pulls, sums, draw(st.floats(0.1, 4.0)))


def close(left: object, right: object) -> None:
    np.testing.assert_allclose(np.asarray(left), np.asarray(right), rtol=1e-8, atol=1e-8)


@given(cases())
@settings(deadline=None)
def test_the_tally_gives_the_papers_statistics(case: Case) -> None:
    setting = case.ridge().setting
    view = estimate.ridge(case.tally.pulls, case.tally.reward_sums, setting)
    matrix, target = case.matrix, np.zeros(case.features.shape[1])
    for row, total in zip(case.features, case.sums, strict=True):
        target = target + total * row
    # The coordinates may be others; lengths and angles are the same, with V and without.
    close(setting.features @ setting.features.T, case.features @ case.features.T)
    by_papers = case.features @ np.linalg.inv(matrix) @ case.features.T
    close(setting.features @ view.inverse @ setting.features.T, by_papers)
    close(view.values, case.features @ np.linalg.solve(matrix, target))
    close(view.log_det, np.log(np.linalg.det(matrix / case.regulariser)))
    assert view.samples == sum(case.pulls)


@given(cases(), st.data())
@settings(deadline=None)
def test_foreseeing_equals_rebuilding(case: Case, data: st.DataObject) -> None:
    """Planned pulls change the inverse as if they were in the tally, and no estimate."""
    setting = case.ridge().setting
    view = estimate.ridge(case.tally.pulls, case.tally.reward_sums, setting)
    values = view.values.copy()
    pulls = list(case.pulls)
    for arm, weight in data.draw(
        st.lists(st.tuples(st.integers(0, len(pulls) - 1), st.integers(1, 50)), min_size=1, max_size=5)
    ):
        view = estimate.foresee(view, arm, float(weight), setting)
        pulls[arm] += weight
    rebuilt = estimate.ridge(np.array(pulls), case.tally.reward_sums, setting)
    close(view.inverse, rebuilt.inverse)
    assert np.array_equal(view.values, values)


MODELS = {
    "separate": ("ugapec", {}),
    "ridge": ("lingape", {}),
    "span": ("lingape", {"stopping": "span"}),
}


@pytest.mark.parametrize("model", MODELS)
@given(case=cases(), data=st.data())
@settings(deadline=None, max_examples=60)
def test_absorbing_a_pull_equals_rebuilding(model: str, case: Case, data: st.DataObject) -> None:
    """Pull after pull, the updated state is the state of the grown tally."""
    name, parameters = MODELS[model]
    method = case.method(name, **parameters)
    state = method.begin(case.tally)
    pulls, sums = np.array(case.pulls), np.array(case.sums)
    for arm in data.draw(st.lists(st.integers(0, len(pulls) - 1), min_size=1, max_size=20)):
        reward = data.draw(st.floats(-2, 2))
        pulls[arm] += 1
        sums[arm] += reward
        state = method.rules.absorb(state, arm, reward, method.setting)
    rebuilt = method.begin(Tally.of(pulls.tolist(), sums.tolist()))
    np.testing.assert_array_equal(state.pulls, rebuilt.pulls)
    np.testing.assert_array_equal(state.sums, rebuilt.sums)
    assert state.estimate.samples == rebuilt.estimate.samples
    for updated, anew in zip(state.estimate[1:], rebuilt.estimate[1:], strict=True):
        close(updated, anew)


@pytest.mark.parametrize("model", MODELS)
@given(case=cases(), data=st.data())
@settings(deadline=None, max_examples=60)
def test_folding_uploads_equals_rebuilding_bit_for_bit(model: str, case: Case, data: st.DataObject) -> None:
    """The state after some batches is the one that is made from the whole tally at once."""
    name, parameters = MODELS[model]
    method = case.method(name, **parameters)
    state = method.begin(case.tally)
    pulls, sums = np.array(case.pulls), np.array(case.sums)
    arm = st.integers(0, len(pulls) - 1)
    for uploaded in data.draw(st.lists(st.sets(arm, min_size=1), min_size=1, max_size=5)):
        arms = np.array(sorted(uploaded))
        added, reward = data.draw(st.integers(1, 1000)), data.draw(st.floats(-2, 2))
        pulls[arms] += added
        sums[arms] += reward
        batch = Batch(0, arms, np.full(arms.size, added), np.full(arms.size, reward), np.empty(0))
        state = method.rules.fold(state, batch, method.setting)
    rebuilt = method.begin(Tally.of(pulls.tolist(), sums.tolist()))
    np.testing.assert_array_equal(state.sums, rebuilt.sums)
    assert state.estimate.samples == rebuilt.estimate.samples
    for folded, anew in zip(state.estimate[1:], rebuilt.estimate[1:], strict=True):
        np.testing.assert_array_equal(folded, anew)


def lengths_after(case: Case, direction: Array) -> Array:
    """y'(V + x_k x_k')⁻¹ y for every arm k, the long way."""
    return np.array(
        [direction @ np.linalg.solve(case.matrix + np.outer(row, row), direction) for row in case.features]
    )


@given(cases(), st.data())
@settings(deadline=None)
def test_greedy_is_the_argmin(case: Case, data: st.DataObject) -> None:
    setting = case.ridge().setting
    view: View = estimate.ridge(case.tally.pulls, case.tally.reward_sums, setting)
    arms = range(len(case.pulls))
    leader = data.draw(st.sampled_from(arms))
    challenger = data.draw(st.sampled_from([k for k in arms if k != leader]))
    reading = Reading(leader, challenger, 1.0, 0.0)
    lengths = lengths_after(case, case.features[leader] - case.features[challenger])
    arm = greedy(case.tally.pulls, view, reading, setting)
    assert lengths[arm] <= lengths.min() + 1e-10
    # Where one arm is clearly best it must be that one.
    if np.sum(lengths <= lengths.min() + 1e-9) == 1:
        assert arm == int(np.argmin(lengths))


@given(cases())
@settings(deadline=None)
def test_ratio_is_the_arm_furthest_behind_its_share(case: Case) -> None:
    method = case.ridge("ratio")
    reading = method.read(method.begin(case.tally))
    (arm,) = method.plan(case.tally).arms
    weights = np.abs(
        minimal_weights(case.features, case.features[reading.leader] - case.features[reading.challenger])
    )
    if not weights.any():
        assert arm in (reading.leader, reading.challenger)  # two arms that look the same: either tells as much
        return
    behind = [
        pulls / weight if weight > 0 else np.inf for pulls, weight in zip(case.pulls, weights, strict=True)
    ]
    assert weights[arm] > 0
    assert behind[arm] <= min(behind) * (1 + 1e-9)
    if np.sum(np.array(behind) <= min(behind) * (1 + 1e-9)) == 1:
        assert arm == int(np.argmin(behind))


@given(cases(), st.data())
@settings(deadline=None, max_examples=50)
def test_the_design_of_a_pair_does_not_depend_on_its_order(case: Case, data: st.DataObject) -> None:
    arms = range(len(case.pulls))
    i = data.draw(st.sampled_from(arms))
    j = data.draw(st.sampled_from([k for k in arms if k != i]))
    one, other = case.ridge("ratio"), case.ridge("ratio")
    one.solve_design(i, j)
    other.solve_design(j, i)
    for method in (one, other):
        arms_ij, arms_ji = method.setting.design_arms[i, j], method.setting.design_arms[j, i]
        assert np.array_equal(arms_ij, arms_ji)
        assert np.array_equal(method.setting.design_weights[i, j], method.setting.design_weights[j, i])
    assert np.array_equal(one.setting.design_arms[i, j], other.setting.design_arms[i, j])
    close(one.setting.design_weights[i, j], other.setting.design_weights[i, j])
    close(one.setting.design_weights[i, j].sum(), 1.0)
