"""One study in memory: what its log leads to, without the log, and what was said at its last uploads."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import astuple, replace
from typing import Any, NamedTuple

import numpy as np

from bestarm.chain import link
from bestarm.core.counting import messages
from bestarm.core.plan import Plan
from bestarm.protocol.entries import Entry, FromSite, Join, Upload, body_of, entry_from
from bestarm.protocol.fold import Fold
from bestarm.protocol.frozen import freeze, thaw
from bestarm.protocol.messages import MOST_PULLS, Download, verdict_from_json, verdict_to_json
from bestarm.protocol.past import Logged
from bestarm.protocol.server import CHANGES_THE_PAST, Server
from bestarm.service.storage.rows import plans
from bestarm.service.storage.study import judgement
from bestarm.service.storage.study.history import History
from bestarm.service.storage.study.overview import (
    NO_SOURCE,
    ByHand,
    Charter,
    Contribution,
    Happened,
    Judged,
    Overview,
    Source,
)
from bestarm.verdict import Verdict

NOTHING = Contribution()
STILL_GOOD = 1.01
MOST_MADE = 64  # ways to work for which a plan is kept
MOST_FRESH = 1_000  # of the last uploads are at hand for those who follow the log


class OutOfRange(Exception):
    """Numbers that floating point can't compute with. The ledger that raised it must be thrown away."""


class Made(NamedTuple):
    """A plan, in its reply, and how many samples there were when it was made; where it is kept, once it is."""

    samples: int
    reply: Download
    plan: Plan
    kept_at: int | None = None


class Recorded(NamedTuple):
    """What the log says of an entry beside it: the verdict, if the study was decided there."""

    decision: Verdict | None


class Nowhere:
    """The past of a ledger outside of a transaction: nothing of it can be read."""

    def add(self, logged: Logged) -> None:
        """Whoever appends writes the row."""

    def find(self, id: str) -> Logged | None:
        """Nobody asks."""
        raise AssertionError(id)

    def uploads(self, after: int = 0, upto: int | None = None) -> Collection[Upload]:
        """Nobody asks, but before the first upload."""
        assert upto == after == 0
        return ()


class Ledger:
    """Follows a study's log and takes its next entries. It decides nothing: `protocol.Server` does.

    It keeps what the next entry needs, and a thinned history; all else is in the database.
    """

    def __init__(self, study: Charter, server: Server | None = None) -> None:
        self.study = study
        self.server = Server(study.method, past=Nowhere()) if server is None else server
        self.sites: dict[str, Contribution] = {}
        self.happened: list[Happened] = []
        self.history = History()
        self.fresh: deque[Judged] = deque(maxlen=MOST_FRESH)  # uploads that those who follow were not told of
        self.charter = study.digest  # of what the study is about
        self.digest = self.charter  # of the last entry, or what comes before the first
        self.changed_at = 0  # the position of the last entry that changed the past
        self.stopped_when = ""  # when the entry came that settled the study
        self.seconds = 0.0  # that went into entries since it was kept
        self.kept_at = 0  # how long the log was then
        self._made: dict[tuple[int | None, tuple[str, ...], int, int], Made] = {}
        self._number_arms()

    def _number_arms(self) -> None:
        self._places = {arm: place for place, arm in enumerate(self.server.arms)}

    @property
    def length(self) -> int:
        """How many entries the log has."""
        return self.server.length

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
        anew: Fold | None = None,
        recorded: Recorded | None = None,
    ) -> str | None:
        """The next entry, of so many bytes, and how many pulls the plan asks for that it was answered with.

        What is to be written down of what is known after an upload. `anew` is a new reading of the log, if the
        entry changes the past and somebody has made it; `recorded` is what the log says of the decision, if the
        entry is there already.
        """
        began = time.perf_counter()
        server = self.server
        late, stopped_before = server.verdict.reason is not None, server.stopped_at
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                if recorded is None:
                    server.append(entry, anew=anew)
                else:
                    server.append_decided(entry, recorded.decision, anew)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise OutOfRange from error
        if server.stopped_at != stopped_before:
            self.stopped_when = received_at
        said = None
        if isinstance(entry, Upload):
            said = self._judge(entry, received_at, size)
        elif isinstance(entry, Join):
            site = self.sites.get(entry.agent, NOTHING)
            self.sites[entry.agent] = replace(
                site,
                last_seen=max(site.last_seen, received_at),
                joined_at=site.joined_at or received_at,
                asked_at=received_at,
            )
        elif isinstance(entry, CHANGES_THE_PAST):
            self.changed_at = self.length
            self._made = {}
            self._number_arms()
        if isinstance(entry, FromSite):
            server.asked[entry.agent] = asked
        if isinstance(entry, ByHand):
            self.happened.append(Happened(self.length, entry, received_at, late, server.uploads))
        self.seconds += time.perf_counter() - began
        return said

    def seal(self, kind: str, body: str, received_at: str, decision: str | None) -> str:
        """The digest of the entry that was appended last; what it says and the decision are canonical JSON."""
        self.digest = link(self.digest, self.length, kind, received_at, decision, body)
        return self.digest

    def _judge(self, upload: Upload, received_at: str, size: int) -> str:
        """What is known after an upload, to be written down beside it."""
        server = self.server
        verdict, samples, position = server.verdict, server.samples, server.uploads
        if (
            not samples < MOST_PULLS
            or math.isnan(verdict.breaking_index)
            or not math.isfinite(verdict.evidence)
        ):
            raise OutOfRange
        sent = messages(position, self.stopped_at or 0)
        judged = Judged(position, upload.agent, upload.sequence, samples, sent, verdict, received_at)
        self.history.add(judged)
        self.fresh.append(judged)
        site = self.sites.get(upload.agent, NOTHING)
        self.sites[upload.agent] = Contribution(
            site.uploads + 1,
            site.samples + upload.tally.samples,
            site.bytes + size,
            max(site.last_seen, received_at),
            site.joined_at or received_at,
            received_at,
        )
        return judgement.said(position, samples, verdict, self._places)

    def silent(self, since: str) -> list[str]:
        """The sites that were not heard of since then. What was planned there is not waited for."""
        return [agent for agent, site in self.sites.items() if site.last_seen < since]

    def answer_now(self, agent: str, silent: Collection[str] = ()) -> Made:
        """What a site is told from what is known, and the plan in it; the same for all that work alike.

        A plan is made anew when there is a hundredth more to know: many sites come many times in a second, and
        no plan is as up to date as that anyway. Where there is a budget, each has a plan of its own.
        """
        server = self.server
        wishes, samples = self._wishes(agent), server.samples
        known = self._made.get(wishes)
        if known is not None and samples <= known.samples * STILL_GOOD:
            return known
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                reply, plan = server.answer_now(agent, silent)
        except (ArithmeticError, np.linalg.LinAlgError) as error:
            raise OutOfRange from error
        made = Made(samples, reply, plan)
        server.asked[agent] = plan.size
        if reply.total is None and self.study.problem.budget is None:
            if len(self._made) >= MOST_MADE:
                self._made.pop(next(iter(self._made)))
            self._made[wishes] = made
        return made

    def keep_plan(self, agent: str, made: Made, position: int) -> str | None:
        """What is written down of a plan that answers the entry at a position."""
        if made.kept_at is not None:
            return plans.as_before(made.kept_at, made.plan.size)
        text = plans.keep(made.plan, self.server.arms)
        wishes = self._wishes(agent)
        if text is not None and text.startswith(plans.LONG) and self._made.get(wishes) is made:
            self._made[wishes] = made._replace(kept_at=position)
        return text

    def _wishes(self, agent: str) -> tuple[int | None, tuple[str, ...], int, int]:
        site = self.server.sites[agent]
        return site.plate, site.cannot, site.plates, site.room

    def overview(self, seen: Mapping[str, str], source: Source = NO_SOURCE) -> Overview:
        """The study as it stands; `seen` is when a site last joined, also if it had nothing new to say."""
        server = self.server
        sites = {
            agent: replace(site, last_seen=max(site.last_seen, seen.get(agent, "")), plan=server.asked[agent])
            for agent, site in self.sites.items()
        }
        return Overview(
            study=self.study,
            closed=server.closed is not None,
            uploads=server.uploads,
            length=self.length,
            digest=self.digest,
            history=self.history.all,
            method=server.method,
            known=deepcopy(server.state),
            fold=server.known,
            changed_at=self.changed_at,
            total=server.total,
            verdict=server.verdict,
            stopped_at=self.stopped_at,
            stopped_when=self.stopped_when,
            sites=sites,
            arms=server.arms,
            happened=tuple(self.happened),
            now=server.now if server.over or server.closed else server.verdict,
            last_words=server.last_words,
            source=source,
        )

    # What is kept of it

    def freeze(self) -> dict[str, Any]:
        """All that it knows, as plain values and arrays."""
        arms = self.server.arms
        return {
            "server": freeze(self.server),
            "sites": [[agent, *astuple(site)] for agent, site in self.sites.items()],
            "happened": [
                [one.position, one.entry.word, body_of(one.entry, arms), one.received_at, one.late, one.uploads]
                for one in self.happened
            ],
            "step": self.history.step,
            "history": [_plain(one) for one in self.history.kept],
            "last": None if self.history.last is None else _plain(self.history.last),
            "stopped": None if self.history.stopped is None else _plain(self.history.stopped),
            "charter": self.charter,
            "digest": self.digest,
            "changed_at": self.changed_at,
            "stopped_when": self.stopped_when,
        }

    @classmethod
    def thaw(cls, study: Charter, values: dict[str, Any]) -> Ledger:
        """The ledger that was frozen; a ValueError if the study was about something else then."""
        ledger = cls(study, thaw(study.method, values["server"], Nowhere()))
        if values["charter"] != ledger.charter:
            raise ValueError("the study was about something else")
        ledger.sites = {agent: Contribution(*fields) for agent, *fields in values["sites"]}
        for position, word, body, received_at, late, uploads in values["happened"]:
            entry = entry_from(word, body, ledger.server.arms)
            assert isinstance(entry, ByHand)
            ledger.happened.append(Happened(position, entry, received_at, late, uploads))
        history = ledger.history
        history.step = values["step"]
        history.kept = [_judged(one) for one in values["history"]]
        history.last = None if values["last"] is None else _judged(values["last"])
        history.stopped = None if values["stopped"] is None else _judged(values["stopped"])
        ledger.digest = values["digest"]
        ledger.changed_at, ledger.stopped_when = values["changed_at"], values["stopped_when"]
        ledger.kept_at = ledger.length
        return ledger


def _plain(one: Judged) -> list[Any]:
    *rest, verdict, received_at = (getattr(one, name) for name in one.__slots__)
    return [*rest, verdict_to_json(verdict), received_at]


def _judged(values: list[Any]) -> Judged:
    position, agent, sequence, samples, sent, verdict, received_at = values
    return Judged(position, agent, sequence, samples, sent, verdict_from_json(verdict), received_at)
