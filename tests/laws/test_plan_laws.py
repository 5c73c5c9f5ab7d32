"""What every plan keeps to, whatever the tally."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestarm import Problem, Tally
from bestarm.methods import Parameter
from bestarm.methods import method as build

NAMES = [f"arm-{k}" for k in range(5)]
FEATURES = np.array([[0.9, 0.0], [0.0, 0.9], [0.6, 0.6], [-0.5, 0.4], [0.3, -0.8]])
PLAIN = Problem(NAMES, sigma=0.3, sites="alike")
LINEAR = Problem(NAMES, sigma=0.3, features=FEATURES, sites="alike")
COMPOSITIONS: list[tuple[str, Problem, dict[str, Parameter]]] = [
    ("famabpe", PLAIN, {}),
    ("famabpe", PLAIN, {"trigger": "aim"}),
    ("famabpe", PLAIN, {"selection": "lookahead"}),
    ("falinpe", LINEAR, {"selection": "ratio"}),
    ("falinpe", LINEAR, {"selection": "greedy"}),
    ("falinpe", LINEAR, {"selection": "lookahead"}),
    ("sharp", PLAIN, {"thrift": "samples"}),
    ("sharp", PLAIN, {"thrift": "messages"}),
    ("sharp", PLAIN, {"trigger": "count", "gamma": 0.5}),
    ("sharp", LINEAR, {}),
    ("sharp", LINEAR, {"thrift": "messages"}),
]
tallies = st.lists(
    st.tuples(st.integers(1, 20_000), st.floats(-1, 1)), min_size=len(NAMES), max_size=len(NAMES)
).map(lambda entries: Tally.of([p for p, _ in entries], [p * mean for p, mean in entries]))
incomplete = st.lists(st.integers(0, 3), min_size=len(NAMES), max_size=len(NAMES)).filter(lambda p: 0 in p)


def label(composition: tuple[str, Problem, dict[str, Parameter]]) -> str:
    name, problem, parameters = composition
    return "-".join([name, "linear" if problem.linear else "plain", *map(str, parameters.values())])


@pytest.mark.parametrize("composition", COMPOSITIONS, ids=label)
@given(tally=tallies, min_batch=st.integers(1, 200), agents=st.integers(1, 30))
@settings(deadline=None, max_examples=40)
def test_every_plan(
    composition: tuple[str, Problem, dict[str, Parameter]], tally: Tally, min_batch: int, agents: int
) -> None:
    name, problem, parameters = composition
    method = build(name, problem, agents=agents, min_batch=min_batch, **parameters)
    before = tally.pulls.tobytes(), tally.reward_sums.tobytes()
    plan = method.plan(tally)
    # Every arm of the plan is pulled min_batch times or more and has one entry; the plan fits its width.
    assert plan.arms
    assert all(count >= min_batch for count in plan.counts)
    assert len(set(plan.arms)) == len(plan.arms) <= method.plan_width
    assert set(plan.arms) <= set(range(len(NAMES)))
    # The split does not change the size, which is the trigger's.
    state = method.begin(tally)
    view, reading = state.estimate, method.read(state)
    trigger_arm = reading.leader if len(plan.arms) > 1 or method.plan_width > 1 else plan.arms[0]
    assert plan.size == max(method.rules.trigger(view, reading, trigger_arm, method.setting), min_batch)
    # A function of the tally: the same again, and the tally is untouched.
    assert method.plan(tally) == plan
    assert (tally.pulls.tobytes(), tally.reward_sums.tobytes()) == before


@pytest.mark.parametrize("composition", COMPOSITIONS, ids=label)
@given(pulls=incomplete, min_batch=st.integers(1, 9))
@settings(deadline=None, max_examples=10)
def test_arms_never_pulled_come_first(
    composition: tuple[str, Problem, dict[str, Parameter]], pulls: list[int], min_batch: int
) -> None:
    name, problem, parameters = composition
    method = build(name, problem, agents=3, min_batch=min_batch, **parameters)
    plan = method.plan(Tally.of(pulls, [0.0] * len(NAMES)))
    assert plan.arms == tuple(k for k, count in enumerate(pulls) if count == 0)
    assert plan.counts == (min_batch,) * len(plan.arms)


@given(tally=tallies, agents=st.integers(1, 30))
@settings(deadline=None, max_examples=60)
def test_large_batches_go_in_at_least_forty_steps(tally: Tally, agents: int) -> None:
    """A step is a fortieth of the batch, or one pull."""
    method = build("sharp", PLAIN, agents=agents, thrift="messages")
    plan = method.plan(tally)
    step = max(plan.size // 40, 1)
    # All steps but the last are equal, so at most one arm's count is not a multiple of the step.
    assert sum(count % step != 0 for count in plan.counts) <= 1
