"""The exact simulator that skips from upload to upload.

Between two uploads nothing is decided, so a run needs only the uploads. Agent m's pulls are the points of a
Poisson process of rate r_m; its plan of n pulls is full a time Gamma(n)/r_m after it began. The rewards of a
batch influence nothing before it is uploaded, so their sums are drawn then. When the server stops at time u, a
plan begun at s that would have been full at f > u has had Binomial(n − 1, (u − s)/(f − s)) of its pulls, since
given s and f the first n − 1 are uniform between them. Samples, communications, switches and the arm returned
have exactly the distribution of the round-by-round simulation, at a cost proportional to the uploads.

Everything in this file is compiled by numba (`simulation.compiled.compile`); it also runs as it stands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import NOBODY, Batch
from bestarm.core.breaking import settled
from bestarm.core.counting import messages
from bestarm.core.estimate import begin_separate, fold_separate, foresee_nothing
from bestarm.core.making import one_arm
from bestarm.core.rules import Begin, Choose, Fire, Fold, Foresee, Make, Read
from bestarm.core.selection.balance import balance
from bestarm.core.setting import Setting
from bestarm.core.stopping.famabpe import famabpe
from bestarm.core.trigger.count import count as count_trigger
from bestarm.simulation.compiled.parts import ANY, plan_size
from bestarm.simulation.outcome import Outcome, note
from bestarm.simulation.worlds.environment import Environment

# The rules that `run` uses; `rebind` puts a method's own in their place.
_begin: Begin = begin_separate
_fold: Fold = fold_separate
_read: Read = famabpe
_foresee: Foresee = foresee_nothing
_choose: Choose = balance
_trigger: Fire = count_trigger
_make: Make = one_arm
# And what depends on the world and on what a test asks for: what nobody needs is not compiled.
_fill, _size, _name = ANY.fill, ANY.size, ANY.name


class Clocks(NamedTuple):
    """The agents' rates and offline times; those of agent m are entries `first[m]` to `first[m + 1]`."""

    rates: Floats
    first: Counts
    since: Floats
    until: Floats


def run(
    width: int,
    squares: bool,
    against: int,
    setting: Setting,
    environment: Environment,
    clocks: Clocks,
    max_samples: int,
    random: np.random.Generator,
    trace: Floats,
    cancelled: Counts,
) -> tuple[Outcome, int, int, int]:
    """One run. `trace` takes a row for each upload until it is full; `cancelled[0]` ends it from elsewhere.

    `squares` and `against` say whether the test asks for sums of squares, and for how many against a rival.

    Returns the outcome and, where the run needs the linear programme of a pair that is not solved yet, that
    pair (else −1, −1), and the number of rows traced. An agent is its plan and its clock, not a copy of the
    tally.
    """
    agents, arms = clocks.rates.shape[0], setting.arms
    # The first pulls, then the agents' plans, one after the other. A batch is made of parts of these anew each
    # time: the references to what lives from one upload to the next are counted, at the cost of the rest.
    planned_arms = np.empty(arms + agents * width, np.int64)
    planned_counts = np.empty(arms + agents * width, np.int64)
    planned_rivals = np.empty(planned_arms.shape[0] if against > 0 else 0, np.int64)
    for arm in range(arms):  # an assignment to a part of an array takes two seconds longer to compile
        planned_arms[arm], planned_counts[arm] = arm, 1
    drawn, drawn_squares, drawn_against = np.empty(arms), np.empty(arms * squares), np.empty(width * against)
    entries = np.empty(agents, np.int64)
    known = np.zeros(agents, np.int64)  # the server's samples when the agent's plan was made
    begun = np.zeros(agents)  # on the agent's own clock, which stands still while it is offline
    full = np.zeros(agents)
    last = np.full(agents, -1, np.int64)
    times = np.zeros(agents)
    queue = np.arange(agents)

    samples, uploads, switches, traced = arms, 0, 0, 0
    stopped = False
    now, uploader = 0.0, 0
    state = _begin(setting)
    # Each rule is called in one place only: what is called is inlined, and inlined twice it compiles twice as
    # long. So the first pulls, which everybody knows, go round the loop like an upload.
    first, site, start, made = True, NOBODY, 0, arms
    while True:
        rivals = made if against > 0 and not first else 0
        batch = Batch(
            site,
            planned_arms[start : start + made],
            planned_counts[start : start + made],
            drawn[:made],
            drawn_squares[: made * squares],
            drawn_against[: rivals * against],
            planned_rivals[start : start + rivals],
        )
        _fill(batch, environment, random, known[uploader])
        state = _fold(state, batch, setting)
        reading = _read(state, setting)
        if not first:
            for place in range(start, start + made):
                samples += planned_counts[place]
                if last[uploader] >= 0 and last[uploader] != planned_arms[place]:
                    switches += 1
                last[uploader] = planned_arms[place]
            uploads += 1
            traced = note(trace, traced, samples, now, reading)
            stopped = settled(reading)
            if stopped or samples >= max_samples or cancelled[0]:
                break
        start = arms + uploader * width
        counts = planned_counts[start : start + width]
        made = _make(
            state, reading, setting, _foresee, _choose, _trigger, planned_arms[start : start + width], counts
        )
        if made == 0:
            unknown = Outcome(reading.leader, False, 0, 0, 0, 0, reading.breaking_index, 0)
            return unknown, reading.leader, reading.challenger, 0
        size = _size(setting.plate, environment.items, counts, made)
        if against > 0:
            place = start + made
            _name(state.pulls, state.estimate.values, planned_arms[start:place], planned_rivals[start:place])
        if first:
            for m in range(agents):
                for place in range(made):
                    there = arms + m * width + place
                    planned_arms[there] = planned_arms[arms + place]
                    planned_counts[there] = planned_counts[arms + place]
                    if against > 0:
                        planned_rivals[there] = planned_rivals[arms + place]
                entries[m], known[m] = made, samples
                full[m] = random.standard_gamma(size) / clocks.rates[m]
                times[m] = wall_time(clocks, m, full[m])
            for place in range(agents // 2, -1, -1):
                sift_down(times, queue, place)
            first = False
        else:
            entries[uploader], known[uploader] = made, samples
            begun[uploader] = full[uploader]
            full[uploader] += random.standard_gamma(size) / clocks.rates[uploader]
            times[0] = wall_time(clocks, uploader, full[uploader])
            sift_down(times, queue, 0)
        now, uploader = times[0], queue[0]
        if now == np.inf:
            uploader = -1
            break
        site, start, made = uploader, arms + uploader * width, entries[uploader]

    unsent = 0
    for m in range(agents):
        if m == uploader:
            continue
        start = arms + m * width
        size = plan_size(planned_counts[start : start + width], entries[m])
        if size == 1:
            continue
        share = (agent_time(clocks, m, now) - begun[m]) / (full[m] - begun[m])
        left = random.binomial(size - 1, min(max(share, 0.0), 1.0))
        unsent += left
        for place in range(start, start + entries[m]):
            if left <= 0:
                break
            arm = planned_arms[place]
            if last[m] >= 0 and last[m] != arm:
                switches += 1
            last[m] = arm
            left -= planned_counts[place]
    communications = messages(uploads, uploads)
    outcome = Outcome(
        reading.leader,
        stopped,
        samples + unsent,
        communications,
        switches,
        unsent,
        reading.breaking_index,
        uploads,
    )
    return outcome, -1, -1, traced


def wall_time(clocks: Clocks, agent: int, clock: float) -> float:
    """When an agent's own clock shows a time: its offline times before that are added."""
    time = clock
    for place in range(clocks.first[agent], clocks.first[agent + 1]):
        if time < clocks.since[place]:
            break
        time += clocks.until[place] - clocks.since[place]
    return time


def agent_time(clocks: Clocks, agent: int, time: float) -> float:
    """What an agent's own clock shows at a time: its offline times until then are left out."""
    away = 0.0
    for place in range(clocks.first[agent], clocks.first[agent + 1]):
        if time <= clocks.since[place]:
            break
        if time <= clocks.until[place]:
            return float(clocks.since[place] - away)
        away += clocks.until[place] - clocks.since[place]
    return time - away


def sift_down(times: Floats, queue: Counts, place: int) -> None:
    """Restore the heap's order below a place whose time has grown."""
    time, agent, length = times[place], queue[place], times.shape[0]
    while True:
        child = 2 * place + 1
        if child >= length:
            break
        if child + 1 < length and times[child + 1] < times[child]:
            child += 1
        if times[child] >= time:
            break
        times[place], queue[place] = times[child], queue[child]
        place = child
    times[place], queue[place] = time, agent
