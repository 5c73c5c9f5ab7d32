"""A site and its server: joining, sending what is complete, fetching what is new."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from bestarm.client.memory.agreement import check_identity, check_sequence, identity_of
from bestarm.client.memory.identity import Said
from bestarm.client.memory.journal import Journal
from bestarm.client.memory.lines import Happening, Line, reply_lines, upload_line
from bestarm.client.server.connection import Connection
from bestarm.errors import Refused, ServiceError, Unreached, UserError
from bestarm.protocol.agent import Agent
from bestarm.protocol.messages import Download, Stop, reply_from_json
from bestarm.protocol.terms import Terms
from bestarm.protocol.version import check_server

CLOSED = "closed"  # how the server says that a person has closed the study
OTHER_JOURNAL = "other-journal"  # and that this one is not this agent's
GAP = "gap"  # and that it lacks an earlier upload
log = logging.getLogger("bestarm.client")
MOST_IN_HAND = 1000  # batches of a site, by itself: who asks for more has forgotten to tell


class Exchange:
    """A journal, the agent that it leads to, and the server that it is about.

    Whoever reads or changes the journal or the agent holds `lock`. It is not held while the server is waited
    for, so that others can go on; one thread at a time may wait for it.
    """

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
        self.lock = threading.RLock()
        self.notice = ""  # what the server said last of a correction
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
        now = replace(
            old,
            plate=old.plate if plate is None else plate,
            cannot=old.cannot if cannot is None else tuple(cannot),
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
            self._leave_out()
        return self._agent

    def forget_agent(self) -> None:
        """The journal was changed, and the agent is made anew from it."""
        self._agent = None

    @property
    def answered(self) -> int:
        """How many uploads the server has answered."""
        return self.agent.sequence - len(self.agent.uploads)

    @contextmanager
    def all_or_nothing(self) -> Iterator[None]:
        """What the agent does here is in the journal at the end; if that fails, the agent has not done it."""
        try:
            yield
        except BaseException:
            self._agent = None
            raise

    def send_and_fetch(self) -> None:
        """Compare journal and server, once a process; then send uploads, or look whether there is news."""
        with self.lock:
            waits = self.joined and self.agent.upload is not None
        if not self._met or not waits:
            self._meet()
        self.send()

    def send(self) -> None:
        """Send the uploads that wait, in their order, and the corrections of those that the server has.

        A correction goes before the next upload, so that no mistake is left that it could decide with.
        """
        while True:
            self._send_corrections()
            with self.lock:
                if self.agent.upload is None:
                    return
                first_time = not self.journal.sent
                if first_time:
                    self.journal.append(self._sent())
                body, terms = self.journal.upload, self.agent.terms
            try:
                answer = self._call("uploads", body)
            except Unreached:
                if first_time:
                    with self.lock:
                        self.journal.forget_sent()
                raise
            except Refused as error:
                if error.code == GAP and self._meet():
                    continue
                raise
            with self.lock:
                reply = self._reply(answer, terms)
                self._receive(reply, (body, answer))
                self._take_back(reply)

    def _call(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        """A site's message; a study that was closed is remembered, and so is one that goes on."""
        try:
            answer = self.connection.call("POST", f"{self.place()}/{what}", body)
        except Refused as error:
            if error.code == CLOSED and self.joined:
                with self.lock:
                    self.journal.note_closed(str(error))
            raise
        with self.lock:
            self.journal.note_closed("")
        return answer

    def _send_corrections(self) -> None:
        """Send what the server can take now. One that it will never take stays in the history, as refused."""
        over = False
        while True:
            with self.lock:
                waiting = self.journal.past.waiting()
                fix = next((fix for fix in waiting if fix.sequence <= self.answered), None)
            if fix is None:
                break
            try:
                answer = self.connection.call("POST", f"{self.place()}/corrections", fix.body)
                over = over or bool((answer.get("verdict") or {}).get("stopped"))
            except Refused as error:
                if error.code == CLOSED or error.status not in (409, 422):
                    self.notice = f"a correction waits, since the server does not take it now: {error}"
                    log.warning("%s", self.notice)
                    return
                if self._meet():
                    continue  # it was put back from a backup, and may have lost what is corrected
                answer = {"refused": True, "sentence": f"the server refused the correction: {error}"}
            with self.lock:
                self.journal.acknowledge(fix.number, answer)
            self.notice = str(answer.get("sentence") or "")
        if over and self.agent.upload is None and not self.agent.finished:
            self._meet()

    def _take_back(self, reply: Download | Stop) -> None:
        """Close what is open of arms that were withdrawn, and begin nothing more with them."""
        if isinstance(reply, Stop) or not reply.withdrawn or self.agent.finished:
            return
        with self.all_or_nothing():
            before, arms = self.agent.plan, self.agent.terms.arms
            gone = [name for name in reply.withdrawn if name in arms]
            lines = self.drop(gone, "withdrawn")
            self.agent.leave_out([arms.index(name) for name in gone])
            if lines or self.agent.plan != before:
                self.journal.append(*lines, *reply_lines(self.agent, reply))

    def drop(self, names: Iterable[str], why: str) -> list[Line]:
        """The lines for arms that are done no more in any batch in hand; the agent has dropped them."""
        lines: list[Line] = []
        for name in names:
            arm = self.agent.terms.arms.index(name)
            for first, batch in list(self.agent.batches.items()):
                if arm not in batch.plan.arms or arm in batch.dropped:
                    continue
                lines.append(Line(Happening.DROPPED, arm=name, body=why, batch=first))
                if self.agent.drop(first, arm) is not None:
                    lines.append(upload_line(self.agent, first))
        self._leave_out()
        return lines

    def _leave_out(self) -> None:
        """Nothing new is begun with arms that the site can't do."""
        assert self._agent is not None
        arms = self._agent.terms.arms
        said = self.journal.said or Said()
        self._agent.leave_out([arms.index(name) for name in said.cannot if name in arms])

    def can_do(self, cannot: tuple[str, ...], reasons: Mapping[str, str]) -> None:
        """Let these be the arms that the site can't do, from now on; the server hears of it next time."""
        said = self.journal.said
        assert said is not None
        new = [arm for arm in cannot if arm not in said.cannot]
        now = replace(said, cannot=cannot, number=said.number + 1)
        with self.all_or_nothing():
            lines = self.drop(new, "cannot")
            self.journal.append(*lines, said=now, reasons=reasons)
        self._leave_out()
        self._met = False

    def _sent(self) -> Line:
        """That the first of the uploads is about to be sent."""
        first = next(line for line in self.journal.lines() if line.what is Happening.UPLOAD)
        return Line(Happening.SENT, batch=first.batch)

    def wish(self, wanted: int) -> bool:
        """Say that more trials are wanted now than may be handed out; False if that was said before.

        So many of them are to be under way at once with those that are open. A site that has said how large its
        plates are gets more plates; another one gets larger plans first, and more of them while others are
        under way.
        """
        agent, said = self.agent, self.journal.said
        assert said is not None
        begun = len(agent.batches) + len(agent.uploads)
        room = said.room if said.plate is not None else max(said.room, len(agent.open) + wanted)
        size = max(agent.plan.size, room if said.plate is None else said.plate)
        left = sum(batch.to_hand_out for batch in agent.batches.values())
        plates = max(said.plates, min(begun + -(-(wanted - left) // size), MOST_IN_HAND))
        now = replace(said, plates=plates, room=room)
        if now == said:
            return False
        self.journal.say(replace(now, number=said.number + 1))
        self._met = False
        return True

    def place(self) -> str:
        """Where the server has the study."""
        return study_path(self._name())

    def _name(self) -> str:
        if self.journal.identity is not None:
            return self.journal.identity.study
        if self._study is None:
            self._study = only_study(self.connection)
        return self._study

    def _meet(self) -> bool:
        """Join, which is how a restarted agent asks again; what the journal and the server know must agree.

        Whether the server had lost something, and has it again.
        """
        said, answer = self._join()
        theirs = identity_of(answer)
        with self.lock:
            check_identity(self.journal, theirs)
        lost = self._send_lost(answer)
        if lost:
            said, answer = self._join()
        with self.lock:
            check_sequence(self.journal, self.agent if self.joined else None, answer["sequence"])
            self.journal.learn_name(theirs.study)
            if self.joined:
                reply = self._reply(answer, self.agent.terms)
                if self._takes(reply):
                    self._receive(reply)
                self._take_back(reply)
            else:
                agent = Agent(theirs.terms, theirs.agent, self.journal.chance)
                reply = self._reply(answer, agent.terms)
                agent.receive(reply)
                self.journal.append(*reply_lines(agent, reply), joined=theirs)
                self._agent = agent
            self._before, self._met = said, True
        return lost

    def _send_lost(self, answer: dict[str, Any]) -> bool:
        """Send again what the server has lost, once its coordinator has said that it was put back; if anything.

        The same uploads in the same order: one that the log has after all is not counted twice.
        """
        restored = answer.get("restored")
        with self.lock:
            if not self.joined or not isinstance(restored, str) or self.journal.receipts.knows(restored):
                return False
            lost = self.journal.receipts.between(answer["sequence"] + 1, self.answered)
            if lost is None:
                return False  # what is not kept here can't be sent again
        for receipt in lost:
            again = self._call("uploads", dict(receipt.body))
            with self.lock:
                self.journal.keep_receipt(receipt.body, again)
        with self.lock:
            self.journal.note_restored(restored)
        return bool(lost)

    def _join(self) -> tuple[Said, dict[str, Any]]:
        """What is said, and the answer to it."""
        said = self.journal.said
        assert said is not None
        body: dict[str, Any] = {"journal": self.journal.id}
        if said != Said():  # an old server would refuse what it does not know, without saying that it is old
            body |= {"plate": said.plate, "cannot": list(said.cannot), "number": said.number}
        if (said.plates, said.room) != (1, 1):
            body |= {"plates": said.plates, "room": said.room}
        try:
            answer = self._call("join", body)
        except Refused as error:
            if error.status == 422:
                check_server(self.connection.call("GET", "/healthz").get("protocol"), self.connection.url)
                self.journal.say(replace(self._before, number=said.number + 1))  # it was never so
            if error.code == OTHER_JOURNAL:
                raise Refused(f"journal {self.journal.path}: {error}", error.code, error.status) from None
            raise
        check_server(answer.get("protocol"), self.connection.url)
        return said, answer

    def _takes(self, reply: Download | Stop) -> bool:
        """Whether what a site that comes back is told is new to it, and answers no upload that waits."""
        agent = self.agent
        if agent.upload is not None or agent.finished:
            return False
        return isinstance(reply, Stop) or (reply.plan, reply.times) != (agent.plan, agent.times)

    def _reply(self, answer: dict[str, Any], terms: Terms) -> Download | Stop:
        try:
            reply = reply_from_json(answer.get("reply"), terms)
            if isinstance(reply, Download) and reply.plan is None:
                raise UserError("reply: it has no plan.")
            return reply
        except UserError as error:
            raise ServiceError(f"{self.connection.url} sent an answer that can't be used: {error}") from None

    def _receive(
        self, reply: Download | Stop, receipt: tuple[dict[str, Any], dict[str, Any]] | None = None
    ) -> None:
        with self.all_or_nothing():
            self.agent.receive(reply)
            self.journal.append(*reply_lines(self.agent, reply), receipt=receipt)
            self._leave_out()


def study_path(study: str) -> str:
    """Where a study is, on a server."""
    return f"/v1/studies/{quote(study, safe='')}"


def only_study(connection: Connection) -> str:
    """The name of the one study that there is for this caller."""
    names = [str(study.get("study")) for study in connection.call("GET", "/v1/studies").get("studies", [])]
    if not names:
        raise UserError(f"study is not given, and {connection.url} has none.")
    if len(names) > 1:
        raise UserError(f"study is not given, and {connection.url} has {len(names)} of them; name one.")
    return names[0]
