"""The per-pull baselines: one agent alone, or all agents in lockstep, each steered by every reward it knows.

These can't skip, since every reward matters for the next choice. The loops are compiled by numba
(`simulation.compiled.compile`) and run as they stand in the rounds engine.
"""

from __future__ import annotations

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import NOBODY, Batch
from bestarm.core.breaking import settled
from bestarm.core.counting import messages
from bestarm.core.estimate import absorb_mean, begin_separate, fold_separate
from bestarm.core.rules import Absorb, Begin, Choose, Fold, Read
from bestarm.core.selection.balance import balance
from bestarm.core.setting import Setting
from bestarm.core.stopping.ugapec import ugapec
from bestarm.simulation.compiled.parts import ANY
from bestarm.simulation.outcome import Outcome, note
from bestarm.simulation.worlds.environment import Environment, drift_at, first_batch, row_of

# The rules that `alone` and `lockstep` use; `rebind` puts a method's own in their place.
_begin: Begin = begin_separate
_fold: Fold = fold_separate
_absorb: Absorb = absorb_mean
_read: Read = ugapec
_choose: Choose = balance
# And what depends on the world.
_fill, _draw = ANY.fill, ANY.draw


def alone(
    squares: bool,
    setting: Setting,
    environment: Environment,
    max_samples: int,
    random: np.random.Generator,
    trace: Floats,
    cancelled: Counts,
) -> tuple[Outcome, int, int, int]:
    """One agent that is its own server. Returns what `events.run` returns."""
    start = first_batch(setting.arms, squares)
    _fill(start, environment, random, 0)
    state = _fold(_begin(setting), start, setting)
    reading = _read(state, setting)
    samples, switches, last, traced = setting.arms, 0, -1, 0
    while not settled(reading) and samples < max_samples and not cancelled[0]:
        arm = _choose(state.pulls, state.estimate, reading, setting)
        if arm < 0:
            undecided = Outcome(reading.leader, False, 0, 0, 0, 0, reading.breaking_index, 0)
            return undecided, reading.leader, reading.challenger, 0
        added = drift_at(environment.drift, environment.pace, samples)
        reward = _draw(environment, arm, 1, random, 0, added)
        state = _absorb(state, arm, reward, setting)
        samples += 1
        if last >= 0 and last != arm:
            switches += 1
        last = arm
        reading = _read(state, setting)
        traced = note(trace, traced, samples, samples, reading)
    stopped = settled(reading)
    outcome = Outcome(reading.leader, stopped, samples, 0, switches, 0, reading.breaking_index, 0)
    return outcome, -1, -1, traced


def lockstep(
    period: int,
    period_of_all: bool,
    squares: bool,
    setting: Setting,
    environment: Environment,
    max_samples: int,
    random: np.random.Generator,
    trace: Floats,
    cancelled: Counts,
) -> tuple[Outcome, int, int, int]:
    """Episodes of `period` pulls an agent (or of all agents together); then all upload and all download.

    Within an episode an agent follows the single-agent rule on what it last downloaded plus its own pulls. An
    episode costs two communications an agent, the last one included. Returns what `events.run` returns.
    """
    agents = setting.agents
    total = first_batch(setting.arms, squares)
    _fill(total, environment, random, 0)
    state = _fold(_begin(setting), total, setting)
    reading = _read(state, setting)
    last = np.full(agents, -1, np.int64)
    samples, episodes, switches, traced = setting.arms, 0, 0, 0
    stopped = False
    while not stopped and samples < max_samples and not cancelled[0]:
        pulls, sums = total.pulls.copy(), total.sums.copy()
        after = Batch(NOBODY, total.arms, pulls, sums, total.squares.copy(), total.against, total.rivals)
        added = drift_at(environment.drift, environment.pace, samples)
        for m in range(agents):
            row = row_of(environment.levels.shape[0], m)
            own, own_reading = _fold(_begin(setting), total, setting), reading
            turns = period
            if period_of_all:
                turns = period // agents + (1 if m < period % agents else 0)
            for _ in range(turns):
                arm = _choose(own.pulls, own.estimate, own_reading, setting)
                if arm < 0:
                    undecided = Outcome(reading.leader, False, 0, 0, 0, 0, reading.breaking_index, 0)
                    return undecided, own_reading.leader, own_reading.challenger, 0
                reward = _draw(environment, arm, 1, random, row, added)
                own = _absorb(own, arm, reward, setting)
                own_reading = _read(own, setting)
                after.sums[arm] += reward
                after.pulls[arm] += 1
                if squares:
                    after.squares[arm] += (reward - setting.centre) ** 2
                samples += 1
                if last[m] >= 0 and last[m] != arm:
                    switches += 1
                last[m] = arm
        episodes += 1
        total = after
        state = _fold(_begin(setting), total, setting)
        reading = _read(state, setting)
        stopped = settled(reading)
        traced = note(trace, traced, samples, samples / agents, reading)
    uploads = agents * episodes
    sent = messages(uploads, 0)  # the last ones are answered too: nobody knows before that it was enough
    outcome = Outcome(reading.leader, stopped, samples, sent, switches, 0, reading.breaking_index, uploads)
    return outcome, -1, -1, traced
