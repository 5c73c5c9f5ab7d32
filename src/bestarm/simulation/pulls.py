"""The per-pull baselines: one agent alone, or all agents in lockstep, each steered by every reward it knows.

These can't skip, since every reward matters for the next choice. The loops are compiled by numba
(`simulation.compile`) and run as they stand in the rounds engine.
"""

from __future__ import annotations

import numpy as np

from bestarm.core import confidence, estimate, sampling
from bestarm.core.estimate import View
from bestarm.core.plan import Absorb, Choose, Confidence, Estimate
from bestarm.core.setting import Setting
from bestarm.core.tally import Counts, Floats
from bestarm.simulation.environment import Environment, draw_sum, first_pulls
from bestarm.simulation.outcome import Outcome, note

REBUILD = 1024  # pulls after which the view is made anew from the whole numbers, so that it can't drift

# The rules that `alone` and `lockstep` use; `rebind` puts a method's own in their place.
_estimate: Estimate = estimate.separate
_absorb: Absorb = estimate.absorb_mean
_confidence: Confidence = confidence.ugapec
_choose: Choose = sampling.balance


def alone(
    setting: Setting,
    environment: Environment,
    max_samples: int,
    random: np.random.Generator,
    trace: Floats,
    cancelled: Counts,
) -> tuple[Outcome, int, int, int]:
    """One agent that is its own server. Returns what `events.run` returns."""
    pulls, sums = first_pulls(environment, setting.arms, random)
    view = _estimate(pulls, sums, setting)
    reading = _confidence(pulls, view, setting)
    samples, switches, last, traced = setting.arms, 0, -1, 0
    while reading.breaking_index > setting.epsilon and samples < max_samples and not cancelled[0]:
        arm = _choose(pulls, view, reading, setting)
        if arm < 0:
            undecided = Outcome(reading.leader, False, 0, 0, 0, 0, reading.breaking_index, 0)
            return undecided, reading.leader, reading.challenger, 0
        sums[arm] += draw_sum(environment, arm, 1, random)
        pulls[arm] += 1
        samples += 1
        if last >= 0 and last != arm:
            switches += 1
        last = arm
        if samples % REBUILD == 0:
            view = _estimate(pulls, sums, setting)
        else:
            view = _absorb(view, arm, pulls, sums, setting)
        reading = _confidence(pulls, view, setting)
        traced = note(trace, traced, samples, samples, reading)
    stopped = reading.breaking_index <= setting.epsilon
    outcome = Outcome(reading.leader, stopped, samples, 0, switches, 0, reading.breaking_index, 0)
    return outcome, -1, -1, traced


def lockstep(
    period: int,
    period_of_all: bool,
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
    pulls, sums = first_pulls(environment, setting.arms, random)
    view = _estimate(pulls, sums, setting)
    reading = _confidence(pulls, view, setting)
    last = np.full(agents, -1, np.int64)
    samples, episodes, switches, traced = setting.arms, 0, 0, 0
    stopped = False
    while not stopped and samples < max_samples and not cancelled[0]:
        new_pulls, new_sums = pulls.copy(), sums.copy()
        for m in range(agents):
            own_pulls, own_sums, own_reading = pulls.copy(), sums.copy(), reading
            own_view = View(view.samples, view.values.copy(), view.widths.copy(), view.inverse, view.log_det)
            turns = period
            if period_of_all:
                turns = period // agents + (1 if m < period % agents else 0)
            for _ in range(turns):
                arm = _choose(own_pulls, own_view, own_reading, setting)
                if arm < 0:
                    undecided = Outcome(reading.leader, False, 0, 0, 0, 0, reading.breaking_index, 0)
                    return undecided, own_reading.leader, own_reading.challenger, 0
                reward = draw_sum(environment, arm, 1, random)
                own_sums[arm] += reward
                own_pulls[arm] += 1
                new_sums[arm] += reward
                new_pulls[arm] += 1
                samples += 1
                if last[m] >= 0 and last[m] != arm:
                    switches += 1
                last[m] = arm
                own_view = _absorb(own_view, arm, own_pulls, own_sums, setting)
                own_reading = _confidence(own_pulls, own_view, setting)
        pulls, sums = new_pulls, new_sums
        episodes += 1
        view = _estimate(pulls, sums, setting)
        reading = _confidence(pulls, view, setting)
        stopped = reading.breaking_index <= setting.epsilon
        traced = note(trace, traced, samples, samples / agents, reading)
    messages, uploads = 2 * agents * episodes, agents * episodes
    outcome = Outcome(reading.leader, stopped, samples, messages, switches, 0, reading.breaking_index, uploads)
    return outcome, -1, -1, traced
