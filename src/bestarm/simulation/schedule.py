"""Which agent is active when."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.rules import MOST_AT_ONCE
from bestarm.errors import UserError

BLOCK = 4096


@dataclass(frozen=True, slots=True)
class Offline:
    """A time in which an agent does nothing; with `until` infinite it has left for good.

    >>> Offline(agent=2, since=50.0).until
    inf
    """

    agent: int
    since: float
    until: float = math.inf


@dataclass(frozen=True, slots=True)
class Schedule:
    """Agents as independent clocks: agent m pulls at the points of a Poisson process of rate `rates[m]`.

    In the order of the points each one belongs to agent m with probability proportional to its rate, which is
    the paper's environment: one active agent a round, drawn at random. Time has the unit in which an agent of
    rate 1 pulls once on average. While an agent is offline its clock stands still.

    `replay` is a given list of active agents instead; the run ends with it. `plate` is how many trials each
    agent does at once: its plans are made into whole plates.

    >>> schedule = Schedule.uniform(3)
    >>> rounds = schedule.rounds(np.random.default_rng(0))
    >>> [next(rounds) for _ in range(5)]
    [1, 0, 0, 0, 2]
    """

    rates: tuple[float, ...]
    offline: tuple[Offline, ...] = ()
    replay: tuple[int, ...] | None = None
    plate: int = 1

    def __post_init__(self) -> None:
        if not self.rates or not all(0 < rate < math.inf for rate in self.rates):
            raise UserError(
                f"rates are {list(self.rates)!r}; each must be a number above 0, one for each agent."
            )
        if type(self.plate) is not int or not 1 <= self.plate <= MOST_AT_ONCE:
            raise UserError(f"plate is {self.plate!r}; it must be a whole number from 1 to {MOST_AT_ONCE}.")
        for agent in (*(window.agent for window in self.offline), *(self.replay or ())):
            if not 0 <= agent < len(self.rates):
                raise UserError(f"the schedule names agent {agent}; agents are 0 to {len(self.rates) - 1}.")
        for window in self.offline:
            if not 0 <= window.since < window.until:
                raise UserError(f"agent {window.agent} is offline from {window.since} until {window.until}.")
        ordered = sorted(self.offline, key=lambda window: (window.agent, window.since))
        for earlier, later in pairwise(ordered):
            if earlier.agent == later.agent and later.since < earlier.until:
                raise UserError(f"agent {later.agent} has two offline times that overlap.")
        object.__setattr__(self, "offline", tuple(ordered))

    @classmethod
    def uniform(cls, agents: int) -> Schedule:
        """All agents equally fast, never offline."""
        return cls((1.0,) * agents)

    @classmethod
    def replayed(cls, agents: int, active: Sequence[int]) -> Schedule:
        """A given list of active agents."""
        return cls((1.0,) * agents, replay=tuple(active))

    @property
    def agents(self) -> int:
        """How many agents there are."""
        return len(self.rates)

    def rounds(self, random: np.random.Generator) -> Iterator[int]:
        """The active agents, round by round; it ends when nobody will ever come back."""
        if self.replay is not None:
            yield from self.replay
            return
        edges = sorted(
            {edge for window in self.offline for edge in (window.since, window.until)} | {0.0, math.inf}
        )
        for since, until in pairwise(edges):
            away = {window.agent for window in self.offline if window.since <= since < window.until}
            online = [agent for agent in range(self.agents) if agent not in away]
            if online:
                yield from self._segment(online, until - since, random)

    def _segment(self, online: Sequence[int], length: float, random: np.random.Generator) -> Iterator[int]:
        rates = np.array([self.rates[agent] for agent in online])
        shares = np.cumsum(rates) / rates.sum()
        time = 0.0
        while True:
            steps = random.exponential(1 / rates.sum(), BLOCK).tolist() if length < math.inf else [0.0] * BLOCK
            places = np.searchsorted(shares, random.random(BLOCK), side="right").tolist()
            for step, place in zip(steps, places, strict=True):
                time += step
                if time > length:
                    return
                yield online[place]

    def windows(self) -> tuple[Counts, Floats, Floats]:
        """The offline times as arrays, agent after agent: where each agent's start, since when, until when."""
        counts = np.bincount([window.agent for window in self.offline], minlength=self.agents)
        first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        since = np.array([window.since for window in self.offline], dtype=np.float64)
        until = np.array([window.until for window in self.offline], dtype=np.float64)
        return first, since, until
