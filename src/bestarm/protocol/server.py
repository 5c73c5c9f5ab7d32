"""The server's state machine: a fold over the entries of an append-only log, and answers to them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from bestarm.core.breaking import Reading
from bestarm.core.plan import Plan
from bestarm.core.tally import Tally
from bestarm.errors import UserError
from bestarm.methods.composed import Method
from bestarm.methods.recipe import Kind
from bestarm.protocol.admission import FINAL, check
from bestarm.protocol.decision import agree, close
from bestarm.protocol.entries import (
    ArmAdded,
    ArmWithdrawn,
    Close,
    Correction,
    Entry,
    FromSite,
    Join,
    Note,
    Reopen,
    Restored,
    Upload,
)
from bestarm.protocol.fold import Fold
from bestarm.protocol.messages import Conflict, Download, ProtocolError, Stop
from bestarm.protocol.past import Logged, Memory, Past
from bestarm.protocol.terms import Terms
from bestarm.standing import standing
from bestarm.verdict import Reason, Verdict

SAYS_NOTHING = Join | Close | Restored | Note  # about the arms
CHANGES_THE_PAST = Correction | ArmAdded | ArmWithdrawn


class Server:
    """Takes entries in the order in which they arrive and says when the best arm is known.

    An entry is known by its id: received again it changes nothing and gets the same answer. An upload is folded
    into the state. An entry that changes the past (a correction, an arm that comes or goes) has the state made
    anew from the log with the entry applied, by the same fold. Once the best arm is known, or the study is over
    for another reason, the verdict stays, whatever comes later; `now` is what the data say then.

    `start` is a tally that everybody knows from the beginning (a simulation's first pull of each arm). The log
    itself is kept by `past`, in memory if nobody says otherwise; a server keeps only what the next entry needs.

    >>> import bestarm
    >>> problem = bestarm.Problem(["A", "B"], sigma=0.1, sites="alike")
    >>> server = Server(bestarm.method("sharp", problem, agents=2))
    >>> upload = bestarm.Upload(problem.fingerprint, "lab-a", 1, Tally.of([20, 20], [18.0, 4.0]))
    >>> answer = server.receive(upload)
    >>> print(server.verdict)
    A is the answer, after 40 samples.
    >>> server.receive(upload) == answer, len(server.log)
    (True, 1)
    """

    def __init__(self, method: Method, start: Tally | None = None, past: Past | None = None) -> None:
        if method.kind is Kind.SYNCHRONOUS:
            raise UserError(
                f"{method.name} works in rounds in which all agents wait; it can only be simulated."
            )
        self.original = method  # for the problem as the study began
        self.terms = Terms.of(method)
        self.past: Past = Memory() if past is None else past
        arms = method.problem.arms
        self.known = Fold(method, method, arms, Tally.empty(len(arms)) if start is None else start)
        self.length = 0  # of the log
        self.sites: dict[str, Join] = {}  # every agent, by its last join
        self.sequences: dict[str, int] = {}  # of each agent's last upload
        self.stopped_at: int | None = None  # how many uploads there were when it was settled
        self.over_at: int | None = None  # the place of the first entry that is answered with the end
        self.closed: Reason | None = None
        self.restored: str | None = None  # the id of the last entry that says so
        self.last_words = ""  # what could be said when it was closed
        self.asked: dict[str, int | None] = {}  # pulls in the plan that answered an agent's last entry
        self.numbers: dict[str, int] = {}  # of the agents, in the order in which they came
        self.last: dict[str, int] = {}  # the place of each agent's last entry
        self.grew: list[int] = []  # the places at which arms came
        self.plates: dict[str, list[tuple[int, int]]] = {}  # since which place an agent works on so many
        self.unanswered = False  # whether the last entry is an upload that no plan has answered
        self.reading = method.read(self.state)
        self.verdict = method.judge(self.state, self.reading)

    @classmethod
    def replay(cls, method: Method, entries: Iterable[Entry], start: Tally | None = None) -> Server:
        """The server that a log leads to, bit for bit. Plans are not made again."""
        server = cls(method, start)
        for entry in entries:
            server.append(entry)
        return server

    # What it knows

    @property
    def method(self) -> Method:
        """The method for the arms that there are now."""
        return self.known.method

    @property
    def state(self) -> Any:
        """What the method keeps of all batches."""
        return self.known.state

    @property
    def arms(self) -> tuple[str, ...]:
        """All arms that there ever were."""
        return self.known.arms

    @property
    def uploads(self) -> int:
        """How many uploads the log has."""
        return self.known.uploads

    @property
    def entries(self) -> list[Logged]:
        """The log, where it is in memory."""
        assert isinstance(self.past, Memory)
        return self.past.entries

    @property
    def log(self) -> list[Upload]:
        """The uploads among the entries, where they are in memory."""
        assert isinstance(self.past, Memory)
        return self.past.log

    @property
    def stopped(self) -> bool:
        """Whether the best arm is known."""
        return self.stopped_at is not None

    @property
    def over(self) -> bool:
        """Whether the best arm is known, or the budget is used up, or the deadline past: nothing is planned."""
        return self.stopped or self.closed in FINAL

    @property
    def now(self) -> Verdict:
        """What the data say as they stand, even if the verdict was given before the last of them."""
        return self.method.judge(self.state)

    @property
    def total(self) -> Tally:
        """All uploads together, as they were corrected, and the start."""
        return self.known.total

    @property
    def samples(self) -> int:
        """All pulls of the total."""
        return self.known.samples

    def download(self) -> Download | Stop:
        """What an agent without a plan is told that makes its own."""
        fingerprint = self.terms.fingerprint
        if self.over:
            return self.stop()
        return Download(fingerprint, self.total, arms=self._named(self.length))

    # What it is told

    def receive(self, entry: Entry) -> Download | Stop:
        """Take an entry and answer it; one that can't be right is refused and nothing changes.

        After the end an upload is still recorded, and the verdict stays what it was.
        """
        logged = self.past.find(entry.id)
        if logged is None:
            self.append(entry)
            return self.answer(self.length - 1)
        same_entry(logged.entry, entry)
        return self.answer(logged.place)

    def append(self, entry: Entry, plan: Plan | None = None, anew: Fold | None = None) -> None:
        """Add an entry that is not in the log yet, with the plan that answered it, if it is known.

        For an entry that changes the past, `anew` may be the new reading of the log, made as far as somebody
        came; the rest is read here.
        """
        if self._take(entry, plan, anew) and self.verdict.stopped:
            self._settle()

    def append_decided(self, entry: Entry, decision: Verdict | None, anew: Fold | None = None) -> None:
        """Add an entry of a log that says itself at which entry the study was decided.

        That holds, whatever the last bits of the evidence are here; numbers outside of the tolerance are an
        error.
        """
        found = self.verdict if self._take(entry, None, anew) else None
        if decision is not None:
            if found is None or not decision.stopped or not agree(decision, found):
                raise ProtocolError(f"the log does not lead to the decision for {decision.leader} that it has.")
            self.verdict = decision
            self._settle()
        elif found is not None and found.stopped:
            if close(found.evidence, 1.0):
                self.verdict = replace(found, stopped=False, reason=None)
            else:
                self._settle()

    def _settle(self) -> None:
        """The best arm is known, from the last entry on."""
        self.stopped_at, self.over_at = self.uploads, self.length - 1

    def _take(self, entry: Entry, plan: Plan | None, anew: Fold | None) -> bool:
        """Add an entry; whether there is another verdict now."""
        check(entry, self)
        # Everything that can fail comes first, so that a refused entry leaves no trace.
        match entry:
            case Upload():
                self._fold(entry)
                self.sequences[entry.agent] = entry.sequence
            case Join():
                self._joins(entry)
            case Correction() | ArmAdded() | ArmWithdrawn():
                self.known = self._made(self.known.changed(entry) if anew is None else anew)
            case Close():
                self._close(entry.cause)
            case Reopen():
                self.closed, self.last_words = None, ""
            case Restored():
                self.restored = entry.id
        if isinstance(entry, FromSite):
            if entry.agent not in self.numbers:
                self.numbers[entry.agent] = len(self.numbers)
                self.sites.setdefault(entry.agent, Join(entry.agent))
            self.last[entry.agent] = self.length
            self.asked[entry.agent] = None if plan is None else plan.size
        elif isinstance(entry, ArmAdded):
            self.grew.append(self.length)
        self.unanswered = isinstance(entry, Upload) and plan is None
        self.past.add(Logged(entry, self.length, self.uploads, plan))
        self.length += 1
        if not self.stopped and self.closed is None and not isinstance(entry, SAYS_NOTHING):
            self.reading = self.method.read(self.state)
            self.verdict = self.method.judge(self.state, self.reading)
            return True
        return False

    def _joins(self, join: Join) -> None:
        self.sites[join.agent] = join
        before = self.plates.get(join.agent)
        if join.plates != (before[-1][1] if before else 1):
            self.plates.setdefault(join.agent, []).append((self.length, join.plates))

    def _fold(self, upload: Upload) -> None:
        """One more upload; if its numbers can't be computed with, the state is made anew without it."""
        try:
            self.known.add(upload, self.number(upload.agent))
        except (ArithmeticError, np.linalg.LinAlgError):
            if isinstance(self.past, Memory):
                self.known = self._made(self.known.changed(upload))
            raise

    def number(self, agent: str) -> int:
        """Which site it is, in the order in which they came."""
        return self.numbers.get(agent, len(self.numbers))

    def _made(self, anew: Fold) -> Fold:
        """A new reading of the log, with all uploads so far; a database that is replayed has later ones."""
        for upload in self.past.uploads(anew.uploads, self.known.uploads):
            anew.add(upload, self.number(upload.agent))
        return anew

    def _close(self, cause: Reason) -> None:
        """The verdict stays as it is from here on, and says why; so does what can be said."""
        self.closed = cause
        if self.stopped:
            return
        self.verdict = replace(self.verdict, reason=cause)
        self.last_words = standing(self.method, self.state).summary
        if cause in FINAL:
            # The upload that used up the budget is answered with the end, if it was not answered before.
            self.over_at = self.length - (cause is Reason.BUDGET and self.unanswered)

    def due(self, past: bool) -> Close | None:
        """The end that has come, to be appended: the budget is used up, or the deadline is `past`."""
        problem = self.method.problem
        if self.over or self.closed is not None:
            return None
        if problem.budget is not None and self.samples >= problem.budget:
            return Close("budget", "budget", Reason.BUDGET, f"{problem.budget:,} samples")
        if problem.deadline is not None and past:
            return Close("deadline", "deadline", Reason.DEADLINE, problem.deadline.isoformat())
        return None

    def place(self, id: str) -> int | None:
        """Where the entry with this id stands in the log."""
        logged = self.past.find(id)
        return None if logged is None else logged.place

    def knows(self, entry: Entry) -> bool:
        """Whether the log has an entry with this id."""
        return self.past.find(entry.id) is not None

    # What it answers

    def answer(self, place: int) -> Download | Stop:
        """What the entry at this place was answered; a plan is made once, and kept with its entry."""
        logged, recent = self.entries[place], place == self.length - 1
        entry = logged.entry
        if self.ends(logged):
            return self.stop()
        if logged.plan is None and isinstance(entry, FromSite):
            state = self.state if recent else self._state_after(logged.uploads)
            logged.plan = self._plan(entry.agent, state, self.reading if recent else None)
            self.unanswered = self.unanswered and not recent
            if self.last[entry.agent] == place:
                self.asked[entry.agent] = logged.plan.size
        total = None
        if self.original.recipe.sends_total:
            total = self.total if recent else self._total_after(place)
        return self.said_to(logged, total)

    def ends(self, logged: Logged) -> bool:
        """Whether an entry was answered with the end."""
        return self.over_at is not None and logged.place >= self.over_at and logged.plan is None

    def said_to(self, logged: Logged, total: Tally | None) -> Download:
        """The answer to an entry that has its plan; `total` is what was known then, where it is sent."""
        place, entry = logged.place, logged.entry
        times = self._times(entry.agent, place) if isinstance(entry, FromSite) else 1
        fingerprint = self.terms.fingerprint
        return Download(fingerprint, total, logged.plan, self._named(place), self._gone(), times)

    def stop(self) -> Stop:
        """What everybody is told at the end."""
        return Stop(self.terms.fingerprint, self.verdict, self.last_words)

    def last_answer(self, agent: str) -> Download | Stop:
        """What an agent that comes back is told: the answer to the last entry that it sent."""
        return self.stop() if self.over else self.answer(self.last[agent])

    def answer_now(self, agent: str, silent: Collection[str] = ()) -> tuple[Download, Plan]:
        """What a site is told from all that is known, and the plan in it; the same for all that work alike.

        Only a budget makes a difference between them. What was planned at sites that are `silent` is not kept
        free for them.
        """
        plan = self._plan(agent, self.state, self.reading, silent)
        total = self.total if self.original.recipe.sends_total else None
        named = self._named(self.length)
        times = self._at_once(self.sites[agent].plates)
        return Download(self.terms.fingerprint, total, plan, named, self._gone(), times), plan

    def arms_at(self, place: int) -> tuple[str, ...]:
        """All arms that there had been when the entry at this place came."""
        later = sum(grown > place for grown in self.grew)
        return self.arms[: len(self.arms) - later]

    def _gone(self) -> tuple[str, ...]:
        """The arms that were withdrawn, in their order."""
        return tuple(arm for arm in self.arms if arm in self.known.withdrawn)

    def _named(self, place: int) -> tuple[str, ...]:
        """The arms that there were when the entry at this place came, if they were not the problem's own."""
        arms = self.arms_at(place)
        return () if arms == self.original.problem.arms else arms

    def _state_after(self, uploads: int) -> Any:
        """The state after the first so many uploads, as they are read now."""
        anew = self.known.changed(Join(""))
        for upload in self.past.uploads(0, uploads):
            anew.add(upload, self.number(upload.agent))
        return anew.state

    def _total_after(self, place: int) -> Tally:
        """The total as it was when the entry at this place came."""
        before = [logged.entry for logged in self.entries[: place + 1]]
        right = {(entry.agent, entry.sequence): entry for entry in before if isinstance(entry, Correction)}
        tallies = (
            right.get((entry.agent, entry.sequence), entry).tally
            for entry in before
            if isinstance(entry, Upload)
        )
        return total_of(self.known.start, tallies, len(self.arms_at(place)))

    def _times(self, agent: str, place: int) -> int:
        """How many batches a site may have had in hand after the entry at this place, as it had said last."""
        before = [plates for since, plates in self.plates.get(agent, ()) if since <= place]
        return self._at_once(before[-1] if before else 1)

    def _at_once(self, plates: int) -> int:
        """As many as the site takes; one where there is a budget, which is shared out plan by plan.

        Then all plates that the site takes at once are one batch.
        """
        return plates if self.method.problem.budget is None else 1

    def _plan(self, agent: str, state: Any, reading: Reading | None, silent: Collection[str] = ()) -> Plan:
        """The next plan of a site, in the numbers of all arms that there ever were."""
        site = self.sites[agent]
        names = self.method.problem.arms
        cannot = {names.index(name) for name in site.cannot if name in names}
        most, plate = self._most(agent, silent), site.plate
        if most is not None and plate is not None:
            plate *= site.plates
        plan = self.method.make(state, plate, cannot, reading, site.room, most)
        if len(names) == len(self.arms):
            return plan
        return plan.renumbered({local: arm for arm, local in self.known.active.items()})

    def _most(self, agent: str, silent: Collection[str]) -> int | None:
        """How many pulls a plan may have, where there is a budget.

        What others have under way is theirs. Of what is left no site gets more than its share, the number of
        sites being that of those which are not silent; but a whole plate, if there is one.
        """
        budget = self.method.problem.budget
        if budget is None:
            return None
        left = budget - self.samples
        others = [site for site in self.sites if site != agent and site not in silent]
        free = left - sum(self.asked.get(site) or 0 for site in others)
        share = -(-left // (len(others) + 1))
        return max(min(free, max(share, self.sites[agent].plate or 0)), 0)


def total_of(start: Tally, tallies: Iterable[Tally], arms: int) -> Tally:
    """What some tallies add up to, one after the other."""
    rows = start.rows
    for tally in tallies:
        for arm, row in tally.rows.items():
            known = rows.get(arm)
            rows[arm] = row if known is None else [a + b for a, b in zip(known, row, strict=True)]
    return Tally.from_rows(rows, arms)


def same_entry(known: Entry, sent: Entry) -> None:
    """Refuse another entry by the same id; how many arms there were that it does not name does not matter."""
    if isinstance(known, Upload | Correction) and isinstance(sent, type(known)):
        sent = replace(sent, tally=sent.tally.resized(known.tally.size))
    if known == sent:
        return
    if isinstance(sent, Upload):
        raise Conflict(
            f"upload: agent {sent.agent!r} sent sequence {sent.sequence} before with another tally; "
            "two processes may be using one agent's name."
        )
    raise Conflict(f"{sent.word}: the log has another entry with the id {sent.id!r}.")
