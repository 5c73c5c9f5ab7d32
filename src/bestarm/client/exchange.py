"""A site and its server: joining, sending what is complete, fetching what is new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from bestarm.client.agreement import check_identity, check_sequence, identity_of
from bestarm.client.connection import Connection
from bestarm.client.journal import Happening, Journal, Line, Said, reply_line
from bestarm.errors import Refused, ServiceError, UserError
from bestarm.protocol.agent import Agent
from bestarm.protocol.messages import Download, Stop, reply_from_json
from bestarm.protocol.terms import Terms
from bestarm.protocol.version import check_server


class Exchange:
    """A journal, the agent that it leads to, and the server that it is about."""

    def __init__(
        self,
        connection: Connection,
        journal: Journal,
        study: str | None,
        plate: int | None,
        cannot: Sequence[str] | None,
    ) -> None:
        if journal.identity is not None and study not in (None, *journal.identity.names):
            raise UserError(
                f"journal {journal.path}: it belongs to study {journal.identity.study!r}, not {study!r}; "
                "each study needs a journal of its own. If it was renamed, sync once under the old name."
            )
        self.connection = connection
        self.journal = journal
        self._study = study
        self._met = False  # whether this process has compared its journal with the server
        self._agent: Agent | None = None
        self._before = journal.said or Said()  # what the server heard last
        self._note(plate, cannot)

    def _note(self, plate: int | None, cannot: Sequence[str] | None) -> None:
        """Write down how this site works, if that is new."""
        if plate is not None and (isinstance(plate, bool) or not isinstance(plate, int) or plate < 1):
            raise UserError(f"plate is {plate!r}; it must be a whole number of at least 1.")
        if isinstance(cannot, str) or not all(isinstance(arm, str) for arm in cannot or ()):
            raise UserError(f"cannot is {cannot!r}; it must be a list of arms.")
        old = self._before
        now = Said(
            old.plate if plate is None else plate,
            old.cannot if cannot is None else tuple(cannot),
            old.number,
        )
        if self.journal.said is None:
            self.journal.say(now)
        elif now != old:
            self.journal.say(replace(now, number=old.number + 1))

    @property
    def has_news(self) -> bool:
        """Whether this site works in another way now, and the server does not know yet."""
        return not self._met and self.journal.said != self._before

    @property
    def joined(self) -> bool:
        """Whether this journal has joined its study; from then on it can be used offline."""
        return self.journal.identity is not None

    @property
    def agent(self) -> Agent:
        """The state machine that the journal leads to."""
        if self._agent is None:
            if not self.joined:
                raise UserError(f"journal {self.journal.path}: it has not joined a study yet; sync first.")
            self._agent = self.journal.replay()
        return self._agent

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """What the agent does here is in the journal at the end; if that fails, the agent has not done it."""
        try:
            yield
        except BaseException:
            self._agent = None
            raise

    def send_and_fetch(self) -> None:
        """Compare journal and server, once a process; then send an upload, or look whether there is news."""
        if not self._met or self.agent.upload is None:
            self._meet()
        if self.agent.upload is not None:
            if not self.journal.sent:
                self.journal.append(Line(Happening.SENT))
            answer = self.connection.call("POST", f"{self.place()}/uploads", self.journal.upload)
            self._receive(self._reply(answer, self.agent.terms))

    def place(self) -> str:
        """Where the server has the study."""
        return f"/v1/studies/{quote(self._name(), safe='')}"

    def _name(self) -> str:
        if self.journal.identity is not None:
            return self.journal.identity.study
        if self._study is None:
            studies = self.connection.call("GET", "/v1/studies").get("studies", [])
            names = [str(study.get("study")) for study in studies]
            if len(names) != 1:
                raise UserError(f"study is not given, and the token is for {len(names)} studies; name one.")
            self._study = names[0]
        return self._study

    def _meet(self) -> None:
        """Join, which is how a restarted agent asks again; what the journal and the server know must agree."""
        answer = self._join()
        theirs = identity_of(answer)
        check_identity(self.journal, theirs)
        check_sequence(self.journal, self.agent if self.joined else None, answer["sequence"])
        self.journal.learn_name(theirs.study)
        if self.joined:
            reply = self._reply(answer, self.agent.terms)
            if self._takes(reply):
                self._receive(reply)
        else:
            agent = Agent(theirs.terms, theirs.agent, self.journal.chance)
            reply = self._reply(answer, agent.terms)
            agent.receive(reply)
            self.journal.append(reply_line(agent, reply), joined=theirs)
            self._agent = agent
        self._met = True

    def _join(self) -> dict[str, Any]:
        said = self.journal.said
        assert said is not None
        body: dict[str, Any] = {"journal": self.journal.id}
        if said != Said():  # an old server would refuse what it does not know, without saying that it is old
            body |= {"plate": said.plate, "cannot": list(said.cannot), "number": said.number}
        try:
            answer = self.connection.call("POST", f"{self.place()}/join", body)
        except Refused as error:
            if error.status == 422:
                check_server(self.connection.call("GET", "/healthz").get("protocol"), self.connection.url)
                self.journal.say(replace(self._before, number=said.number + 1))  # it was never so
            raise
        check_server(answer.get("protocol"), self.connection.url)
        return answer

    def _takes(self, reply: Download | Stop) -> bool:
        """Whether what a site that comes back is told is new to it, and comes between two batches."""
        agent = self.agent
        if agent.upload is not None or agent.finished:
            return False
        if isinstance(reply, Stop):
            return True
        return not agent.open and not agent.local.samples and reply.plan != agent.plan

    def _reply(self, answer: dict[str, Any], terms: Terms) -> Download | Stop:
        try:
            reply = reply_from_json(answer.get("reply"), terms)
            if isinstance(reply, Download) and reply.plan is None:
                raise UserError("reply: it has no plan.")
            return reply
        except UserError as error:
            raise ServiceError(f"{self.connection.url} sent an answer that can't be used: {error}") from None

    def _receive(self, reply: Download | Stop) -> None:
        with self.all_or_nothing():
            self.agent.receive(reply)
            self.journal.append(reply_line(self.agent, reply))
