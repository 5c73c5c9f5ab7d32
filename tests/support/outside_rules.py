"""What somebody outside of the package might bring: a test with a state of its own, and all that goes with it.

It is written as such a person would, against `bestarm.rules` alone; `outside.py` puts it into another folder.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestarm.rules import (
    METHODS,
    Batch,
    Counts,
    Floats,
    Kind,
    Model,
    Parameter,
    Reading,
    Recipe,
    Selection,
    Setting,
    Test,
    Trigger,
    View,
    foresee_nothing,
    none_at_all,
    one_arm,
    read,
    register,
)


class Seen(NamedTuple):
    """Not a total: `first` and `again` keep the sums of the first batch and of all later ones apart."""

    pulls: Counts
    first: Floats
    again: Floats
    squares: Floats
    batches: int
    estimate: View


def begin(setting: Setting) -> Seen:
    """Nothing."""
    arms = setting.arms
    view = View(0, np.full(arms, -np.inf), np.full(arms, np.inf), setting.features[:0], 0.0, setting.sigma, 1.0)
    return Seen(np.zeros(arms, np.int64), np.zeros(arms), np.zeros(arms), np.zeros(arms), 0, view)


def fold(state: Seen, batch: Batch, setting: Setting) -> Seen:
    """Add a batch."""
    for place in range(batch.arms.shape[0]):
        arm, count, total = batch.arms[place], batch.pulls[place], batch.sums[place]
        add(state, arm, count, total, batch.squares[place])
    return renewed(state, state.batches + 1)


def absorb(state: Seen, arm: int, reward: float, setting: Setting) -> Seen:
    """Add a pull."""
    add(state, arm, 1, reward, (reward - setting.centre) ** 2)
    return renewed(state, state.batches + 1)


def add(state: Seen, arm: int, count: int, total: float, square: float) -> None:
    """Some pulls of an arm."""
    state.pulls[arm] += count
    if state.batches == 0:
        state.first[arm] += total
    else:
        state.again[arm] += total
    state.squares[arm] += square
    state.estimate.values[arm] = (state.first[arm] + state.again[arm]) / state.pulls[arm]
    state.estimate.widths[arm] = 1.0 / np.sqrt(state.pulls[arm])


def renewed(state: Seen, batches: int) -> Seen:
    """With a view that knows how many samples there are."""
    old = state.estimate
    view = View(state.pulls.sum(), old.values, old.widths, old.inverse, old.log_det, old.noise, old.grain)
    return Seen(state.pulls, state.first, state.again, state.squares, batches, view)


def scatter(state: Seen, setting: Setting) -> float:
    """The standard deviation of a reward around its arm's mean, and a little more while there are few."""
    beside = state.first + state.again - state.pulls * setting.centre
    around = state.squares - beside * beside / state.pulls
    samples = float(state.pulls.sum())
    return float(np.sqrt((max(around.sum(), 0.0) + 1.0) / samples))


def measured(state: Seen, setting: Setting) -> Reading:
    """A radius from the scatter that is measured; enough for a test of tests."""
    view = state.estimate
    leader = int(np.argmax(view.values))
    level = np.log(4.0 * setting.counted / setting.delta * view.samples * view.samples)
    scale = setting.own[0] * scatter(state, setting) * np.sqrt(2.0 * level)
    return read(view.values, leader, view.widths, view.widths[leader], scale, setting.epsilon)


def fewest(pulls: Counts, view: View, reading: Reading, setting: Setting) -> int:
    """The arm with the fewest pulls, as long as none has so many more than it."""
    behind = float(pulls[reading.leader] - pulls.min())
    return int(np.argmin(pulls)) if behind >= setting.own_selection[0] else reading.leader


def steady(view: View, reading: Reading, arm: int, setting: Setting) -> int:
    """Always as many; a word says how many."""
    return 2 if setting.own_trigger[0] == 0.0 else 5


def mine(problem: object, agents: int) -> dict[str, int | float | str]:
    """Nothing of it is the package's.

    - `slack`: how much wider than it must be.
    """
    return {"stopping": "measured", "selection": "fewest", "trigger": "steady", "slack": 1.0, "lead": 3.0}


def mine_alone(problem: object, agents: int) -> dict[str, int | float | str]:
    """The same with one agent that knows every reward at once."""
    return mine(problem, agents)


def mine_together(problem: object, agents: int) -> dict[str, int | float | str]:
    """The same in episodes."""
    return mine(problem, agents) | {"period": 10, "period_counts": "agent"}


register(
    Test(
        "measured",
        "a radius from measured scatter",
        Model(begin, fold, foresee_nothing, absorb, none_at_all, linear=False),
        measured,
        parameters=(Parameter("slack", "how much wider than it must be", default=1.0),),
        noise="none",
        squares=True,
        arms_may_come=True,
        shows_index=False,
        growth=None,
        assumes=("the scatter is the same for all arms",),
    ),
    Selection(
        "fewest",
        "the arm with the fewest pulls",
        fewest,
        one_arm,
        parameters=(Parameter("lead", "how far the leader may be ahead"),),
    ),
    Trigger(
        "steady",
        "always as many",
        steady,
        parameters=(Parameter("size", "of a batch", "word", "small", ("small", "large")),),
    ),
    Recipe("mine", Kind.FEDERATED, mine, "tests/support/outside_rules.py"),
    Recipe("mine-alone", Kind.ALONE, mine_alone, "the same", colour="#123456", mark="1"),
    Recipe("mine-together", Kind.SYNCHRONOUS, mine_together, "the same"),
)
assert "sharp" in METHODS  # a plugin may look at what there is while it is loaded
