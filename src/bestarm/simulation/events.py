"""The exact simulator that skips from upload to upload.

Between two uploads nothing is decided, so a run needs only the uploads. Agent m's pulls are the points of a
Poisson process of rate r_m; its plan of n pulls is full a time Gamma(n)/r_m after it began. The rewards of a
batch influence nothing before it is uploaded, so their sums are drawn then. When the server stops at time u, a
plan begun at s that would have been full at f > u has had Binomial(n − 1, (u − s)/(f − s)) of its pulls, since
given s and f the first n − 1 are uniform between them. Samples, communications, switches and the arm returned
have exactly the distribution of the round-by-round simulation, at a cost proportional to the uploads.

Everything in this file is compiled by numba (`simulation.compile`); it also runs as it stands.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import Batch
from bestarm.core.breaking import settled
from bestarm.core.counting import messages
from bestarm.core.estimate import begin_separate, fold_separate, foresee_nothing
from bestarm.core.making import one_arm
from bestarm.core.plan import whole_items, whole_plates
from bestarm.core.race import name_rivals
from bestarm.core.rules import Begin, Choose, Fire, Fold, Foresee, Make, Read
from bestarm.core.selection.balance import balance
from bestarm.core.setting import Setting
from bestarm.core.stopping.famabpe import famabpe
from bestarm.core.trigger.count import count as count_trigger
from bestarm.simulation.environment import GAUSSIAN, Environment, fill, fill_plainly, first_batch
from bestarm.simulation.outcome import Outcome, note

# The rules that `run` uses; `rebind` puts a method's own in their place.
_begin: Begin = begin_separate
_fold: Fold = fold_separate
_read: Read = famabpe
_foresee: Foresee = foresee_nothing
_choose: Choose = balance
_trigger: Fire = count_trigger
_make: Make = one_arm


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
    agents = clocks.rates.shape[0]
    planned_arms = np.empty((agents, width), np.int64)
    planned_counts = np.empty((agents, width), np.int64)
    planned_rivals = np.empty((agents, width if against > 0 else 0), np.int64)
    drawn, drawn_squares, drawn_against = np.empty(width), np.empty(width * squares), np.empty(width * against)
    nobody, entries = np.empty(0, np.int64), np.empty(agents, np.int64)
    known = np.zeros(agents, np.int64)  # the server's samples when the agent's plan was made
    begun = np.zeros(agents)  # on the agent's own clock, which stands still while it is offline
    full = np.zeros(agents)
    last = np.full(agents, -1, np.int64)
    times = np.zeros(agents)
    queue = np.arange(agents)

    samples, uploads, switches, traced = setting.arms, 0, 0, 0
    stopped = False
    now, uploader = 0.0, 0
    state, batch = _begin(setting), first_batch(setting.arms, squares)
    # Each rule is called in one place only: what is called is inlined, and inlined twice it compiles twice as
    # long. So the first pulls, which everybody knows, go round the loop like an upload.
    first = True
    plain = environment.kind == GAUSSIAN and not squares and against == 0
    while True:
        if plain:
            fill_plainly(batch, environment, random, known[uploader])
        else:
            fill(batch, environment, random, known[uploader])
        state = _fold(state, batch, setting)
        reading = _read(state, setting)
        arms, counts = planned_arms[uploader], planned_counts[uploader]
        if not first:
            for place in range(entries[uploader]):
                samples += counts[place]
                if last[uploader] >= 0 and last[uploader] != arms[place]:
                    switches += 1
                last[uploader] = arms[place]
            uploads += 1
            traced = note(trace, traced, samples, now, reading)
            stopped = settled(reading)
            if stopped or samples >= max_samples or cancelled[0]:
                break
        made = _make(state, reading, setting, _foresee, _choose, _trigger, arms, counts)
        if made == 0:
            unknown = Outcome(reading.leader, False, 0, 0, 0, 0, reading.breaking_index, 0)
            return unknown, reading.leader, reading.challenger, 0
        size = in_plates_of(setting.plate, environment.items, counts, made)
        if against > 0:
            values = state.estimate.values
            name_rivals(state.pulls, values, arms[:made], planned_rivals[uploader][:made])
        if first:
            for m in range(agents):
                planned_arms[m, :made] = arms[:made]
                planned_counts[m, :made] = counts[:made]
                planned_rivals[m, :made] = planned_rivals[0, :made]
                entries[m], known[m] = made, setting.arms
                full[m] = random.standard_gamma(size) / clocks.rates[m]
                times[m] = wall_time(clocks, m, full[m])
            queue = np.argsort(times)
            times = times[queue]
            first = False
        else:
            entries[uploader], known[uploader] = made, samples
            begun[uploader] = full[uploader]
            full[uploader] += random.standard_gamma(size) / clocks.rates[uploader]
            times[0] = wall_time(clocks, uploader, full[uploader])
            sift_down(times, queue)
        now, uploader = times[0], queue[0]
        if now == np.inf:
            uploader = -1
            break
        made = entries[uploader]
        batch = Batch(
            uploader,
            planned_arms[uploader][:made],
            planned_counts[uploader][:made],
            drawn[:made],
            drawn_squares[:made] if squares else drawn_squares,
            drawn_against[: made * against] if against > 0 else drawn_against,
            planned_rivals[uploader][:made] if against > 0 else nobody,
        )

    unsent = 0
    for m in range(agents):
        if m == uploader:
            continue
        size = planned_counts[m, : entries[m]].sum()
        if size == 1:
            continue
        share = (agent_time(clocks, m, now) - begun[m]) / (full[m] - begun[m])
        left = random.binomial(size - 1, min(max(share, 0.0), 1.0))
        unsent += left
        for place in range(entries[m]):
            if left <= 0:
                break
            arm = planned_arms[m, place]
            if last[m] >= 0 and last[m] != arm:
                switches += 1
            last[m] = arm
            left -= planned_counts[m, place]
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


def in_plates_of(plate: int, items: bool, counts: Counts, made: int) -> int:
    """The pulls of a plan, made into whole plates where there are any."""
    if plate > 0:
        return whole_items(counts[:made], plate) if items else whole_plates(counts[:made], plate)
    size = 0
    for place in range(made):
        size += counts[place]
    return size


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


def sift_down(times: Floats, queue: Counts) -> None:
    """Restore the heap's order after its first time has grown."""
    time, agent = times[0], queue[0]
    place, length = 0, times.shape[0]
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
