"""One agent, or all agents in lockstep, turn by turn: all pulls of a turn are made before anybody looks again.

This is the loop of the methods that pull several arms at a time, or draw at random. It is compiled by numba
(`simulation.compiled.compile`) and runs as it stands in the rounds engine.
"""

from __future__ import annotations

import numpy as np

from bestarm.core.arrays import Counts, Floats, Random
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading, settled
from bestarm.core.counting import messages
from bestarm.core.estimate import begin_separate, fold_separate
from bestarm.core.rules import Begin, Fold, Read, Turn, Uploads, nothing_sent
from bestarm.core.setting import Setting
from bestarm.core.state import Totals
from bestarm.core.stopping.ugapec import ugapec
from bestarm.simulation.outcome import Outcome, note
from bestarm.simulation.worlds.environment import Environment, Fill, fill, first_batch


def _no_turn(
    state: Totals, reading: Reading, setting: Setting, random: Random, arms: Counts, counts: Counts
) -> int:
    return 0


# The rules that `run` uses; `rebind` puts a method's own in their place.
_begin: Begin = begin_separate
_fold: Fold = fold_separate
_read: Read = ugapec
_turn: Turn = _no_turn
_uploads: Uploads = nothing_sent
# How a batch is filled, which depends on the world.
_fill: Fill = fill


def run(
    width: int,
    agents: int,
    squares: bool,
    setting: Setting,
    environment: Environment,
    max_samples: int,
    random: np.random.Generator,
    trace: Floats,
    cancelled: Counts,
) -> tuple[Outcome, int, int, int]:
    """Turns until the test is settled, in each of which every agent makes the same pulls.

    One agent is its own server and sends nothing; each of its turns is at the next site. Of several, each
    uploads what it saw at the end of a turn, and each is answered. Sites that have arms of their own are as one
    agent here, whose state knows what they have sent. Returns what `events.run` returns.
    """
    arms, counts = np.empty(width, np.int64), np.empty(width, np.int64)
    drawn, drawn_squares = np.empty(width), np.empty(width * squares)
    none, nobody = np.empty(0), np.empty(0, np.int64)
    last = np.full(agents, -1, np.int64)
    samples, turns, switches, traced = setting.arms, 0, 0, 0
    state, batch = _begin(setting), first_batch(setting.arms, squares)
    # Each rule is called in one place only, as in `events.run`: the first pulls go round the loop like a turn.
    agent, made, known = 0, 0, 0
    while True:
        _fill(batch, environment, random, known)
        state = _fold(state, batch, setting)
        for place in range(made):
            samples += counts[place]
            if last[agent] >= 0 and last[agent] != arms[place]:
                switches += 1
            last[agent] = arms[place]
        agent += 1
        if made == 0 or agent == agents:
            reading = _read(state, setting)
            if made > 0:
                turns += 1
                traced = note(trace, traced, samples, samples / agents, reading)
            if settled(reading) or samples >= max_samples or cancelled[0]:
                break
            made, agent, known = _turn(state, reading, setting, random, arms, counts), 0, samples
        batch = Batch(
            agent if agents > 1 else turns,
            arms[:made],
            counts[:made],
            drawn[:made],
            drawn_squares[:made] if squares else drawn_squares,
            none,
            nobody,
        )
    uploads = turns * agents if agents > 1 else _uploads(state)
    outcome = Outcome(
        reading.leader,
        settled(reading),
        samples,
        messages(uploads, 0),  # the last ones are answered too: nobody knows before that it was enough
        switches,
        0,
        reading.breaking_index,
        uploads,
    )
    return outcome, -1, -1, traced
