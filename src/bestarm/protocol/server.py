"""The server's state machine: a fold over the entries of an append-only log."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from operator import add
from typing import Any

import numpy as np

from bestarm.core.breaking import Reading
from bestarm.core.plan import Plan
from bestarm.core.tally import Tally
from bestarm.errors import UserError
from bestarm.methods.compose import compose
from bestarm.methods.composed import Method
from bestarm.methods.recipe import Kind
from bestarm.problem import Problem
from bestarm.protocol.entries import (
    ArmAdded,
    ArmWithdrawn,
    Close,
    Correction,
    Entry,
    FromSite,
    Join,
    Reopen,
    Upload,
)
from bestarm.protocol.messages import (
    MOST_PULLS,
    Conflict,
    Download,
    Gap,
    Over,
    ProtocolError,
    Stop,
    check_sender,
    check_site,
    check_tally,
)
from bestarm.protocol.terms import Terms
from bestarm.standing import standing
from bestarm.verdict import Reason, Verdict

SAYS_NOTHING = Join | Close  # about the arms
FINAL = (Reason.BUDGET, Reason.DEADLINE)  # ends after which data are still recorded, as after the answer
ENDED = {
    Reason.FOUND: "the best arm is known",
    Reason.BUDGET: "its budget is used up",
    Reason.DEADLINE: "its deadline is past",
    Reason.CLOSED: "it was closed",
}


@dataclass(slots=True)
class Logged:
    """An entry, how many uploads the log has up to it, and the plan that answered it, if it is known."""

    entry: Entry
    uploads: int
    plan: Plan | None = None


class Server:
    """Takes entries in the order in which they arrive and says when the best arm is known.

    An entry is known by its id: received again it changes nothing and gets the same answer. An upload is folded
    into the state. An entry that changes the past (a correction, an arm that comes or goes) has the state made
    anew from the log with the entry applied, by the same fold. Once the best arm is known, or the study is over
    for another reason, the verdict stays, whatever comes later; `now` is what the data say then.

    `start` is a tally that everybody knows from the beginning (a simulation's first pull of each arm).

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

    def __init__(self, method: Method, start: Tally | None = None) -> None:
        if method.kind is Kind.SYNCHRONOUS:
            raise UserError(
                f"{method.name} works in rounds in which all agents wait; it can only be simulated."
            )
        self.original = method  # for the problem as the study began
        self.method = method  # for the arms that there are now
        self.terms = Terms.of(method)
        self.arms: tuple[str, ...] = method.problem.arms  # all that there ever were
        self.withdrawn: frozenset[str] = frozenset()
        self.start = Tally.empty(len(self.arms)) if start is None else start
        self.entries: list[Logged] = []
        self.log: list[Upload] = []  # the uploads among the entries
        self.corrected: dict[tuple[str, int], Tally] = {}  # what an upload should have said
        self.sites: dict[str, Join] = {}  # every agent, by its last join
        self.sequences: dict[str, int] = {}  # of each agent's last upload
        self.stopped_at: int | None = None  # how many uploads there were when it was settled
        self._over: int | None = None  # the place of the first entry that is answered with the end
        self.closed: Reason | None = None
        self.last_words = ""  # what could be said when it was closed
        self.asked: dict[str, int | None] = {}  # pulls in the plan that answered an agent's last entry
        self._numbers: dict[str, int] = {}  # of the agents, in the order in which they came
        self.places: dict[str, int] = {}  # of an entry's id among the entries
        self.last: dict[str, int] = {}  # of each agent's last entry, the same
        self._refold()
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
        return Tally.of(self._pulls, self._sums, self._squares if self.method.squares else None)

    @property
    def samples(self) -> int:
        """All pulls of the total."""
        return self._samples

    def download(self) -> Download | Stop:
        """What an agent without a plan is told that makes its own."""
        fingerprint = self.terms.fingerprint
        if self.over:
            return self._stop()
        return Download(fingerprint, self.total, arms=self._named(len(self.entries)))

    # What it is told

    def receive(self, entry: Entry) -> Download | Stop:
        """Take an entry and answer it; one that can't be right is refused and nothing changes.

        After the end an upload is still recorded, and the verdict stays what it was.
        """
        place = self.places.get(entry.id)
        if place is None:
            self.append(entry)
            place = len(self.entries) - 1
        elif not _same(self.entries[place].entry, entry):
            raise _conflict(entry)
        return self.answer(place)

    def append(self, entry: Entry, plan: Plan | None = None) -> None:
        """Add an entry that is not in the log yet, with the plan that answered it, if it is known."""
        self._check(entry)
        # Everything that can fail comes first, so that a refused entry leaves no trace.
        match entry:
            case Upload():
                self._fold(entry)
                self.log.append(entry)
                self.sequences[entry.agent] = entry.sequence
            case Join():
                self.sites[entry.agent] = entry
            case Correction():
                self._again(corrected=self.corrected | {(entry.agent, entry.sequence): entry.tally})
            case ArmAdded():
                self._again(added=(entry.arm, entry.features))
            case ArmWithdrawn():
                self._again(withdrawn=self.withdrawn | {entry.arm})
            case Close():
                self._close(entry.cause)
            case Reopen():
                self.closed, self.last_words = None, ""
        if isinstance(entry, FromSite):
            if entry.agent not in self._numbers:
                self._numbers[entry.agent] = len(self._numbers)
                self.sites.setdefault(entry.agent, Join(entry.agent))
            self.last[entry.agent] = len(self.entries)
            self.asked[entry.agent] = None if plan is None else plan.size
        self.places[entry.id] = len(self.entries)
        self.entries.append(Logged(entry, len(self.log), plan))
        if not self.stopped and self.closed is None and not isinstance(entry, SAYS_NOTHING):
            self.reading = self.method.read(self.state)
            self.verdict = self.method.judge(self.state, self.reading)
            if self.verdict.stopped:
                self.stopped_at, self._over = len(self.log), len(self.entries) - 1

    def _close(self, cause: Reason) -> None:
        """The verdict stays as it is from here on, and says why; so does what can be said."""
        self.closed = cause
        if self.stopped:
            return
        self.verdict = replace(self.verdict, reason=cause)
        self.last_words = standing(self.method, self.state).summary
        if cause in FINAL:
            last = self.entries[-1] if self.entries else None
            used_up = cause is Reason.BUDGET and last is not None and isinstance(last.entry, Upload)
            # The upload that used up the budget is answered with the end, if it was not answered before.
            self._over = len(self.entries) - (used_up and last is not None and last.plan is None)

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

    def knows(self, entry: Entry) -> bool:
        """Whether the log has an entry with this id."""
        return entry.id in self.places

    def answer(self, place: int) -> Download | Stop:
        """What the entry at this place was answered; a plan is made once, and kept with its entry."""
        logged, recent = self.entries[place], place == len(self.entries) - 1
        uploads = logged.uploads
        if self._over is not None and place >= self._over and logged.plan is None:
            return self._stop()
        if logged.plan is None and isinstance(logged.entry, FromSite):
            state = self.state if recent else self._state_after(uploads)
            logged.plan = self._plan(logged.entry.agent, state, self.reading if recent else None)
            if self.last[logged.entry.agent] == place:
                self.asked[logged.entry.agent] = logged.plan.size
        total = None
        if self.original.recipe.sends_total:
            total = self.total if recent else self._total_after(place)
        return Download(
            self.terms.fingerprint, total, logged.plan, self._named(place), self._gone(), self._times(place)
        )

    def _stop(self) -> Stop:
        return Stop(self.terms.fingerprint, self.verdict, self.last_words)

    def _gone(self) -> tuple[str, ...]:
        """The arms that were withdrawn, in their order."""
        return tuple(arm for arm in self.arms if arm in self.withdrawn)

    def _named(self, place: int) -> tuple[str, ...]:
        """The arms that there were when the entry at this place came, if they were not the problem's own."""
        if self.arms == self.original.problem.arms:
            return ()
        later = sum(isinstance(logged.entry, ArmAdded) for logged in self.entries[place + 1 :])
        arms = self.arms[: len(self.arms) - later]
        return () if arms == self.original.problem.arms else arms

    def last_answer(self, agent: str) -> Download | Stop:
        """What an agent that comes back is told: the answer to the last entry that it sent."""
        return self._stop() if self.over else self.answer(self.last[agent])

    # The checks

    def _check(self, entry: Entry) -> None:
        self._check_open(entry)
        match entry:
            case Upload():
                self._check_upload(entry)
            case Correction():
                if self.sequences.get(entry.agent, 0) < entry.sequence or entry.sequence < 1:
                    raise ProtocolError(
                        f"correction: agent {entry.agent!r} has no upload {entry.sequence} to correct."
                    )
                self._check_correction(entry)
            case ArmAdded():
                self._check_arm_added(entry)
            case ArmWithdrawn():
                if entry.arm not in self.method.problem.arms:
                    raise ProtocolError(f"arm: {entry.arm!r} is not an arm of the study.")
                if len(self.method.problem.arms) <= 2:
                    raise ProtocolError("arm: a study needs at least two arms; close it instead.")
            case Join():
                check_site(entry)
                unknown = set(entry.cannot) - set(self.arms)
                if unknown:
                    raise ProtocolError(f"join: {min(unknown)!r} is not an arm of the study.")
                if not set(self.method.problem.arms) - set(entry.cannot):
                    raise ProtocolError("join: a site must be able to do at least one arm.")

    def _check_open(self, entry: Entry) -> None:
        """After the answer, budget or deadline data are still recorded; a study that was closed takes none."""
        late = Upload | Join | Correction if self.closed in FINAL else Correction | Reopen
        if self.closed is not None and not isinstance(entry, late):
            again = " and can't be opened again" if isinstance(entry, Reopen) else ""
            raise Over(f"the study is over{again} ({ENDED[self.closed]}); nothing more can be added to it.")
        if self.stopped and isinstance(entry, ArmAdded | ArmWithdrawn):
            raise Over("the study is over (the best arm is known); its arms stay as they are.")

    def _check_upload(self, upload: Upload) -> None:
        check_sender(upload, self.terms)
        check_tally(upload.tally, self.terms, self.arms)
        expected = self.sequences.get(upload.agent, 0) + 1
        if upload.sequence != expected:
            raise Gap(
                f"upload: agent {upload.agent!r} sent sequence {upload.sequence}; the next one is {expected}, "
                "so an earlier upload is missing and must be sent first."
            )
        tally = upload.tally
        sums = map(add, map(self._sums.__getitem__, tally.arms), tally.sums)
        if not self._samples + tally.samples < MOST_PULLS or not all(map(math.isfinite, sums)):
            raise ProtocolError("tally: with it the total would be too large for a number to hold.")

    def _check_correction(self, entry: Correction) -> None:
        check_tally(entry.tally, self.terms, self.arms)
        key = (entry.agent, entry.sequence)
        known = next(upload.tally for upload in self.log if (upload.agent, upload.sequence) == key)
        if self.samples - self.corrected.get(key, known).samples + entry.tally.samples >= MOST_PULLS:
            raise ProtocolError("tally: with it the total would be too large for a number to hold.")

    def _check_arm_added(self, entry: ArmAdded) -> None:
        if not self.method.test.arms_may_come:
            raise ProtocolError(
                f"arm: the test {self.method.test.name} counts its arms at the beginning, and its promise "
                "would not hold with another one; start a new study."
            )
        if entry.arm in self.arms:
            raise ProtocolError(f"arm: the study has, or had, an arm {entry.arm!r} already.")

    # The fold

    def _refold(self) -> None:
        """Make everything anew that the log leads to, for the arms that there are now."""
        places = {name: k for k, name in enumerate(self.method.problem.arms)}
        self._active = {arm: places[name] for arm, name in enumerate(self.arms) if name in places}
        self._samples, self._pulls, self._sums = 0, [0] * len(self.arms), [0.0] * len(self.arms)
        self._squares = [0.0] * len(self.arms)
        for tally in (self.start, *map(self._right, self.log)):
            self._count(tally)
        self.state = self._state_after(len(self.log))

    def _state_after(self, uploads: int) -> Any:
        """The state after the first so many uploads."""
        state = self.method.begin(self._seen(self.start))
        for upload in self.log[:uploads]:
            state = self._folded(state, upload)
        return state

    def _seen(self, tally: Tally) -> Tally:
        """A tally with the arms that there are now, and no others."""
        if len(self._active) == len(self.arms) == tally.size:
            return tally
        return tally.renumbered(self._active, len(self._active))

    def _fold(self, upload: Upload) -> None:
        """One more upload; if its numbers can't be computed with, the state is made anew without it."""
        try:
            self.state = self._folded(self.state, upload)
        except (ArithmeticError, np.linalg.LinAlgError):
            self._refold()
            raise
        self._count(self._right(upload))

    def _folded(self, state: Any, upload: Upload) -> Any:
        """The state with one more upload; the given one is used up."""
        seen = self.said(upload)
        if not seen.arms:
            return state
        return self.method.fold(state, seen, self._numbers.get(upload.agent, len(self._numbers)))

    def said(self, upload: Upload) -> Tally:
        """What the statistics see of an upload: as it was corrected, with the arms that there are now."""
        return self._seen(self._right(upload))

    def _right(self, upload: Upload) -> Tally:
        """What an upload says, as it was corrected."""
        return self.corrected.get((upload.agent, upload.sequence), upload.tally)

    def _count(self, tally: Tally) -> None:
        self._samples += tally.samples
        for arm, count, total in zip(tally.arms, tally.counts, tally.sums, strict=True):
            self._pulls[arm] += count
            self._sums[arm] += total
        for arm, square in zip(tally.arms, tally.squares, strict=False):  # mostly there are no squares
            self._squares[arm] += square

    def _again(
        self,
        corrected: dict[tuple[str, int], Tally] | None = None,
        withdrawn: frozenset[str] | None = None,
        added: tuple[str, tuple[float, ...] | None] | None = None,
    ) -> None:
        """Read the log again with something changed."""
        if corrected is not None:
            self.corrected = corrected
        if withdrawn is not None:
            self.method = self._built(self.method.problem.without(withdrawn), len(withdrawn))
            self.withdrawn = withdrawn
        if added is not None:
            self.method = self._built(self.method.problem.with_arm(*added), len(self.withdrawn))
            self.arms = (*self.arms, added[0])
        self._refold()

    def _built(self, problem: Problem, withdrawn: int) -> Method:
        method = self.original
        counted = len(problem.arms) + withdrawn
        return compose(method.recipe, problem, method.agents, method.parameters, counted)

    def _total_after(self, place: int) -> Tally:
        """The total as it was when the entry at this place came."""
        before = [logged.entry for logged in self.entries[: place + 1]]
        right = {(entry.agent, entry.sequence): entry for entry in before if isinstance(entry, Correction)}
        rows = self.start.rows
        for entry in before:
            if isinstance(entry, Upload):
                for arm, row in right.get((entry.agent, entry.sequence), entry).tally.rows.items():
                    known = rows.get(arm)
                    rows[arm] = row if known is None else [a + b for a, b in zip(known, row, strict=True)]
        return Tally.from_rows(rows, len(self._named(place) or self.original.problem.arms))

    def _times(self, place: int) -> int:
        """How many batches the site of the entry at this place may have in hand, as it said last before it."""
        entry = self.entries[place].entry
        if not isinstance(entry, FromSite):
            return 1
        if self.sites[entry.agent].plates == 1 or place >= self.last[entry.agent]:
            return self._at_once(self.sites[entry.agent])
        before = (logged.entry for logged in reversed(self.entries[: place + 1]))
        joined = (one for one in before if isinstance(one, Join) and one.agent == entry.agent)
        return self._at_once(next(joined, Join(entry.agent)))

    def _at_once(self, site: Join) -> int:
        """As many as the site takes; one where there is a budget, which is shared out plan by plan."""
        return site.plates if self.method.problem.budget is None else 1

    def answer_now(self, agent: str, silent: Collection[str] = ()) -> tuple[Download, Plan]:
        """What a site is told from all that is known, and the plan in it; the same for all that work alike.

        Only a budget makes a difference between them. What was planned at sites that are `silent` is not kept
        free for them.
        """
        plan = self._plan(agent, self.state, self.reading, silent)
        total = self.total if self.original.recipe.sends_total else None
        named = self._named(len(self.entries))
        times = self._at_once(self.sites[agent])
        return Download(self.terms.fingerprint, total, plan, named, self._gone(), times), plan

    def _plan(self, agent: str, state: Any, reading: Reading | None, silent: Collection[str] = ()) -> Plan:
        """The next plan of a site, in the numbers of all arms that there ever were."""
        site = self.sites[agent]
        names = self.method.problem.arms
        cannot = {names.index(name) for name in site.cannot if name in names}
        most = self._most(agent, silent)
        plan = self.method.make(state, site.plate, cannot, reading, site.room, most)
        if len(names) == len(self.arms):
            return plan
        return plan.renumbered({local: arm for arm, local in self._active.items()})

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


def _same(known: Entry, sent: Entry) -> bool:
    """Whether an entry was sent again; how many arms there were that it does not name does not matter."""
    if isinstance(known, Upload | Correction) and isinstance(sent, type(known)):
        return known == replace(sent, tally=sent.tally.resized(known.tally.size))
    return known == sent


def _conflict(entry: Entry) -> Conflict:
    if isinstance(entry, Upload):
        return Conflict(
            f"upload: agent {entry.agent!r} sent sequence {entry.sequence} before with another tally; "
            "two processes may be using one agent's name."
        )
    return Conflict(f"{entry.word}: the log has another entry with the id {entry.id!r}.")
