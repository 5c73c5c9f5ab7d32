"""One study in memory: the replay of its log, and what was said at every upload of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from bestarm.core.counting import messages
from bestarm.core.plan import Plan
from bestarm.protocol.entries import Entry, Join, Upload
from bestarm.protocol.messages import MOST_PULLS, Download, Stop
from bestarm.protocol.server import Server
from bestarm.service.storage.overview import Charter, Contribution, Judged, Overview

NOTHING = Contribution()


class OutOfRange(Exception):
    """Numbers that floating point can't compute with. The ledger that raised it must be thrown away."""


class Ledger:
    """Replays a study's log and takes its next entries. It decides nothing: `protocol.Server` does.

    Plans stay in the database. One can be as long as there are arms, and only its size is shown.
    """

    def __init__(self, study: Charter) -> None:
        self.study = study
        self.server = Server(study.method)
        self.judged: list[Judged] = []
        self.sites: dict[str, Contribution] = {}
        self.end: tuple[int, str, str] | None = None  # the last entry's position, id and time

    @property
    def length(self) -> int:
        """How many entries the log has."""
        return len(self.server.entries)

    @property
    def stopped_at(self) -> int | None:
        """The position of the upload that settled the study."""
        return self.server.stopped_at

    def append(self, entry: Entry, received_at: str, size: int, plan: int | None = None) -> None:
        """The next entry, of so many bytes, and how many pulls it was answered with, if it was."""
        with _in_range():
            self.server.append(entry)
        self.end = (self.length, entry.id, received_at)
        if isinstance(entry, Upload):
            server = self.server
            verdict, samples = server.verdict, server.samples
            if (
                not samples < MOST_PULLS
                or math.isnan(verdict.breaking_index)
                or not math.isfinite(verdict.evidence)
            ):
                raise OutOfRange
            position = len(self.judged) + 1
            sent = messages(position, self.stopped_at or 0)
            self.judged.append(
                Judged(position, entry.agent, entry.sequence, samples, sent, verdict, received_at)
            )
            site = self.sites.get(entry.agent, NOTHING)
            self.sites[entry.agent] = Contribution(
                site.uploads + 1,
                site.samples + entry.tally.samples,
                site.bytes + size,
                max(site.last_seen, received_at),
                plan,
            )
        elif isinstance(entry, Join):
            site = self.sites.get(entry.agent, NOTHING)
            self.sites[entry.agent] = replace(site, last_seen=max(site.last_seen, received_at), plan=plan)

    def plan_now(self, place: int, made: dict[Any, Plan]) -> Plan | None:
        """The plan of a new entry from all that is known, made once for sites that work alike.

        None once the study has stopped: who was heard before gets a plan from what was known then.
        """
        entry = self.server.entries[place].entry
        if self.server.stopped or not isinstance(entry, Join | Upload):
            return None
        site = self.server.sites[entry.agent]
        alike = self.study.id, site.plate, site.cannot
        if alike not in made:
            with _in_range():
                made[alike] = self.server.plan_now(entry.agent)
        return made[alike]

    def answer(self, place: int, plan: Plan | None) -> tuple[Download | Stop, Plan | None]:
        """What an entry is answered, and the plan in it: the given one, or one from what was known then."""
        logged = self.server.entries[place]
        logged.plan = plan
        with _in_range():
            reply = self.server.answer(place)
        made, logged.plan = logged.plan, None
        entry = logged.entry
        if made is not None and isinstance(entry, Join | Upload) and self.server.last[entry.agent] == place:
            self.sites[entry.agent] = replace(self.sites[entry.agent], plan=made.size)
        return reply, made

    def overview(self, seen: Mapping[str, str]) -> Overview:
        """The study as it stands; `seen` is when a site last joined, also if it had nothing new to say."""
        sites = self.sites | {
            agent: replace(self.sites[agent], last_seen=max(self.sites[agent].last_seen, moment))
            for agent, moment in seen.items()
            if agent in self.sites
        }
        return Overview(
            study=self.study,
            closed=self.server.closed is not None,
            uploads=len(self.judged),
            length=self.length,
            judged=self.judged,
            log=self.server.log,
            method=self.server.method,
            known=deepcopy(self.server.state),
            total=self.server.total,
            verdict=self.server.verdict,
            stopped_at=self.stopped_at,
            sites=sites,
        )


@contextmanager
def _in_range() -> Iterator[None]:
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            yield
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        raise OutOfRange from error
