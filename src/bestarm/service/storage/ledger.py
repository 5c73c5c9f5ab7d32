"""One study in memory: the replay of its log, and what was said at every upload of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import replace
from json import JSONEncoder
from typing import NamedTuple

import numpy as np

from bestarm.agreement import Agreement
from bestarm.chain import link
from bestarm.core.counting import messages
from bestarm.core.plan import Plan
from bestarm.differences import NOBODY, Comparisons, Differences, differences
from bestarm.methods.composed import batch_of
from bestarm.oddities import Oddities, Oddity
from bestarm.protocol.entries import Correction, Entry, FromSite, Join, Upload
from bestarm.protocol.messages import MOST_PULLS, Download, Stop, plan_to_json
from bestarm.protocol.server import Server
from bestarm.service.storage.overview import ByHand, Charter, Contribution, Happened, Judged, Overview
from bestarm.verdict import Verdict

NOTHING = Contribution()
COMPACT = JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
STILL_GOOD = 1.01
MOST_MADE = 64  # ways to work for which a plan is kept


class OutOfRange(Exception):
    """Numbers that floating point can't compute with. The ledger that raised it must be thrown away."""


def plan_text(plan: Plan | None, arms: tuple[str, ...]) -> str | None:
    """A plan as JSON."""
    return None if plan is None else COMPACT.encode(plan_to_json(plan, arms))


class Made(NamedTuple):
    """A plan, in its reply and as text, and how many samples there were when it was made."""

    samples: int
    reply: Download
    size: int
    text: str | None


class Recorded(NamedTuple):
    """What the log says of an entry beside it: the verdict, if the study was decided there."""

    decision: Verdict | None


class Ledger:
    """Replays a study's log and takes its next entries. It decides nothing: `protocol.Server` does.

    Plans stay in the database. One can be as long as there are arms, and only its size is shown.
    """

    def __init__(self, study: Charter) -> None:
        self.study = study
        self.server = Server(study.method)
        self.judged: list[Judged] = []
        self.sites: dict[str, Contribution] = {}
        self.happened: list[Happened] = []
        self.digest = study.digest  # of the last entry, or what comes before the first
        self.end: tuple[int, str, str] | None = None  # the last entry's position, id and time
        self._look_again()

    @property
    def length(self) -> int:
        """How many entries the log has."""
        return len(self.server.entries)

    @property
    def stopped_at(self) -> int | None:
        """The position of the upload that settled the study."""
        return self.server.stopped_at

    def append(
        self,
        entry: Entry,
        received_at: str,
        size: int,
        asked: int | None = None,
        recorded: Recorded | None = None,
    ) -> None:
        """The next entry, of so many bytes, and how many pulls the plan asks for that it was answered with.

        `recorded` is what the log says of the decision, if the entry is there already.
        """
        late = self.server.verdict.reason is not None
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                if recorded is None:
                    self.server.append(entry)
                else:
                    self.server.append_decided(entry, recorded.decision)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise OutOfRange from error
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
                site.joined_at or received_at,
                received_at,
            )
        elif isinstance(entry, Join):
            site = self.sites.get(entry.agent, NOTHING)
            self.sites[entry.agent] = replace(
                site,
                last_seen=max(site.last_seen, received_at),
                joined_at=site.joined_at or received_at,
                asked_at=received_at,
            )
        elif self.server.method is not self.looked_with or isinstance(entry, Correction):
            self._look_again()
        if isinstance(entry, FromSite):
            self.server.asked[entry.agent] = asked
        if isinstance(entry, ByHand):
            self.happened.append(Happened(self.length, entry, received_at, late, len(self.judged)))

    def seal(self, kind: str, body: str, received_at: str, decision: str | None) -> str:
        """The digest of the entry that was appended last; what it says and the decision are canonical JSON."""
        self.digest = link(self.digest, self.length, kind, received_at, decision, body)
        return self.digest

    def _look_again(self) -> None:
        """Begin anew with what people see of the batches: the log says something else now."""
        method = self.looked_with = self.server.method
        self._places = {arm: place for place, arm in enumerate(method.problem.arms)}
        self.comparisons: Comparisons | None = None
        self.oddities = Oddities(method)
        self._made: dict[tuple[int | None, tuple[str, ...], int, int], Made] = {}
        if method.test.inside_batches:
            control, turn = self._place(method.problem.control), method.pairs or 1.0
            self.comparisons = Comparisons(len(method.problem.arms), control, turn)
        self._items = 0
        self._looked = 0

    def _look(self) -> None:
        """Look at the batches that came since somebody looked last; who uploads does not wait for that."""
        for upload, judged in zip(self.server.log[self._looked :], self.judged[self._looked :], strict=True):
            self._look_at(upload, judged)
        self._looked = len(self.judged)

    def _look_at(self, upload: Upload, judged: Judged) -> None:
        """One more batch."""
        tally = self.server.known.said(upload)
        self._items += max(tally.counts, default=0)
        if self.comparisons is not None and tally.arms:
            with np.errstate(all="ignore"):
                batch = batch_of(tally, 0)
                self.oddities.add(batch, upload.agent, judged.position, self.comparisons)
                self.comparisons.add(batch, self._place(judged.verdict.leader))

    def _place(self, arm: str | None) -> int:
        """The number of an arm among those that there are now."""
        return self._places.get(arm or "", NOBODY)

    def silent(self, since: str) -> list[str]:
        """The sites that were not heard of since then. What was planned there is not waited for."""
        return [agent for agent, site in self.sites.items() if site.last_seen < since]

    def answer_now(self, agent: str, silent: Collection[str] = ()) -> Made:
        """What a site is told from what is known, and the plan in it; the same for all that work alike.

        A plan is made anew when there is a hundredth more to know: many sites come many times in a second, and
        no plan is as up to date as that anyway. Where there is a budget, each has a plan of its own.
        """
        site, samples = self.server.sites[agent], self.server.samples
        wishes = site.plate, site.cannot, site.plates, site.room
        known = self._made.get(wishes)
        if known is not None and samples <= known.samples * STILL_GOOD:
            return known
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                reply, plan = self.server.answer_now(agent, silent)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise OutOfRange from error
        made = Made(samples, reply, plan.size, plan_text(plan, self.server.arms))
        self.server.asked[agent] = plan.size
        if len(self._made) < MOST_MADE and reply.total is None and self.study.problem.budget is None:
            self._made[wishes] = made
        return made

    def answer(self, place: int, plan: Plan | None) -> tuple[Download | Stop, Plan | None]:
        """What an entry is answered, and the plan in it: the given one, or one from what was known then."""
        logged = self.server.entries[place]
        logged.plan = plan
        reply = self.server.answer(place)
        made, logged.plan = logged.plan, None
        entry = logged.entry
        if made is not None and isinstance(entry, FromSite) and self.server.last[entry.agent] == place:
            self.server.asked[entry.agent] = made.size
        return reply, made

    def overview(self, seen: Mapping[str, str]) -> Overview:
        """The study as it stands; `seen` is when a site last joined, also if it had nothing new to say."""
        self._look()
        asked = self.server.asked
        sites = {
            agent: replace(site, last_seen=max(site.last_seen, seen.get(agent, "")), plan=asked[agent])
            for agent, site in self.sites.items()
        }
        return Overview(
            study=self.study,
            closed=self.server.closed is not None,
            uploads=len(self.judged),
            length=self.length,
            digest=self.digest,
            judged=self.judged,
            log=self.server.log,
            method=self.server.method,
            known=deepcopy(self.server.state),
            total=self.server.total,
            verdict=self.server.verdict,
            stopped_at=self.stopped_at,
            sites=sites,
            differences=self._differences(),
            warnings=self._warnings(),
            arms=self.server.arms,
            happened=tuple(self.happened),
            now=self.server.now if self.server.over or self.server.closed else self.server.verdict,
            last_words=self.server.last_words,
            agreement=self._agreement(),
            items=self._items if self.server.method.problem.items else None,
        )

    def _warnings(self) -> tuple[Oddity, ...]:
        with np.errstate(all="ignore"):
            return () if self.comparisons is None else self.oddities.found(self.comparisons)

    def _agreement(self) -> Agreement | None:
        """Site by site, the leader and the control, or the challenger where there is none."""
        verdict, problem = self.server.verdict, self.server.method.problem
        control = problem.control
        other = verdict.challenger if control in (None, verdict.leader) else control
        if self.comparisons is None or other is None:
            return None
        return self.oddities.agreement(self.comparisons, self._place(verdict.leader), self._place(other))

    def _differences(self) -> tuple[Differences, ...]:
        server = self.server
        if self.comparisons is None:
            return ()
        with np.errstate(all="ignore"):
            return differences(
                server.method, server.state, self._place(server.verdict.leader), self.comparisons
            )
