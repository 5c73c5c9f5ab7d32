"""A site's state machine: ask for trials, tell what came out, and a full plan becomes an upload."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from operator import index
from typing import TYPE_CHECKING, Any

from bestarm.core.plan import Plan
from bestarm.core.tally import Tally
from bestarm.errors import UserError
from bestarm.protocol.entries import Upload
from bestarm.protocol.in_hand import InHand
from bestarm.protocol.messages import Download, ProtocolError, Stop, Trial, check_tally, tally_from_json
from bestarm.protocol.terms import Terms
from bestarm.reward import counts_around
from bestarm.verdict import Verdict

if TYPE_CHECKING:
    from bestarm.methods.composed import Method

Chance = Callable[[int], float]


class State(Enum):
    """Where an agent is between two messages."""

    WAITING = "waiting for a plan"
    WORKING = "working on its plan"
    SENDING = "waiting for the answer to an upload"  # and perhaps working on other batches
    FINISHED = "finished"
    SENDING_LATE = "finished, and waiting for the answer to a late upload"


class Event(Enum):
    """What changes the state."""

    PLAN = "a plan came"
    PLAN_BETWEEN = "a plan came, and other uploads wait for their answers"
    UPLOAD = "a batch was closed"
    STOP = "the verdict came"
    STOP_BETWEEN = "the verdict came, and other uploads wait for their answers"


# Every change of state that there is. Asking, telling and giving back change none.
TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.WAITING, Event.PLAN): State.WORKING,
    (State.WAITING, Event.STOP): State.FINISHED,
    (State.WORKING, Event.PLAN): State.WORKING,
    (State.WORKING, Event.UPLOAD): State.SENDING,
    (State.WORKING, Event.STOP): State.FINISHED,
    (State.SENDING, Event.UPLOAD): State.SENDING,
    (State.SENDING, Event.PLAN_BETWEEN): State.SENDING,
    (State.SENDING, Event.PLAN): State.WORKING,
    (State.SENDING, Event.STOP_BETWEEN): State.SENDING_LATE,
    (State.SENDING, Event.STOP): State.FINISHED,
    (State.FINISHED, Event.UPLOAD): State.SENDING_LATE,
    (State.FINISHED, Event.STOP): State.FINISHED,
    (State.SENDING_LATE, Event.UPLOAD): State.SENDING_LATE,
    (State.SENDING_LATE, Event.STOP_BETWEEN): State.SENDING_LATE,
    (State.SENDING_LATE, Event.STOP): State.FINISHED,
}


class Agent:
    """Hands out the trials of its plan, collects their rewards, and says when there is something to send.

    Nothing that is not uploaded yet ever steers a choice: the plan depends on the last download alone. It is
    the server's, or, with a `Method`, the agent makes it from the total that it downloads. Trials come in the
    order of the plan, or, with `chance`, shuffled: it gives a number from 0 to 1 for each number of a trial.

    A plan that is begun is a batch in hand, and keeps its plan. A site that works on several at once is told
    how many `times` the plan may be done: so many batches may be in hand or wait for their answers.

    >>> import bestarm
    >>> problem = bestarm.Problem(arms=["A", "B"], sigma=0.3, delta=0.05, epsilon=0.0)
    >>> method = bestarm.method("famabpe", problem, agents=1)
    >>> agent, server = bestarm.Agent(method, name="lab"), bestarm.Server(method)
    >>> agent.receive(server.download())
    >>> first, second = agent.ask(8)
    >>> agent.tell(second, 0.4)
    >>> upload = agent.tell(first, 0.9)
    >>> agent.receive(server.receive(upload))
    >>> agent.ask()[0].arm
    'A'
    """

    def __init__(self, method: Method | Terms, name: str = "agent", chance: Chance | None = None) -> None:
        self.method: Method | None = None
        if isinstance(method, Terms):
            self.terms = method
        else:
            if method.kind.value == "synchronous":
                raise UserError(
                    f"{method.name} works in rounds in which all agents wait; it can only be simulated."
                )
            self.method, self.terms = method, Terms.of(method)
        self.name = name
        self.chance = chance
        self.state = State.WAITING
        self.sequence = 0  # of the last upload
        self.next_number = 1
        self.next_item = 1  # where the study has items
        self.arms: tuple[str, ...] = ()  # of the study, if they are not those that it began with
        self.plan = Plan((), ())  # of the batches that are begun from now on
        self.times = 1  # how many batches may be in hand or wait for their answers
        self.batches: dict[int, InHand] = {}  # those in hand, by the numbers of their first trials
        self.open: dict[int, int] = {}  # trial number → arm
        self.items: dict[int, int] = {}  # trial number → item, of those that are open
        self.uploads: list[Upload] = []  # made, and not answered yet, in their order
        self.verdict: Verdict | None = None
        self.last_words = ""  # what could be said at an end without an answer
        self._batch: dict[int, InHand] = {}  # trial number → its batch, of those that are open

    @property
    def finished(self) -> bool:
        """Whether the server has said which arm is best."""
        return self.verdict is not None

    @property
    def upload(self) -> Upload | None:
        """The upload that is sent next, if one waits."""
        return self.uploads[0] if self.uploads else None

    @property
    def to_begin(self) -> int:
        """How many batches may be begun before the next answer."""
        return max(self.times - len(self.batches) - len(self.uploads), 0) if self.plan.arms else 0

    @property
    def size(self) -> int:
        """All trials of the batches in hand and of those that may be begun."""
        return sum(batch.size for batch in self.batches.values()) + self.to_begin * self.plan.size

    @property
    def to_hand_out(self) -> int:
        """How many of these nobody has asked for yet."""
        begun = sum(batch.to_hand_out for batch in self.batches.values())
        return begun + self.to_begin * self.plan.size

    @property
    def local(self) -> Tally:
        """What was told and is in no upload yet."""
        rows: dict[int, list[float]] = {}
        for batch in self.batches.values():
            for arm, row in batch.rows.items():
                rows[arm] = [a + b for a, b in zip(rows[arm], row, strict=True)] if arm in rows else row
        return Tally.from_rows(rows, len(self.terms.arms))

    def batch_of(self, number: int) -> int:
        """The batch of an open trial, by the number of its first one."""
        return self._batch[number].first

    def ask(self, n: int = 1) -> list[Trial]:
        """Up to `n` trials, as many as are left of the plan; with `times` above 1 of several batches.

        None while as many batches as may be in hand wait for their answers. With items they are all trials of
        as many items as fit, and of one at least.
        """
        trials: list[Trial] = []
        while not self.finished and len(trials) < n:
            batch = next((one for one in self.batches.values() if one.to_hand_out), None)
            together = len(self.plan.arms) if self.terms.items else 1
            if batch is not None:
                together = batch.together
            if (batch is None and not self.to_begin) or (trials and len(trials) + together > n):
                break
            batch = batch or self.begin(self.next_number, self.plan)
            for _ in range(together):
                if not batch.left:
                    batch.begin_item(self.next_item)
                chance = None if self.chance is None else self.chance(self.next_number)
                arm, item = batch.draw(chance)
                trials.append(self.hand_out(batch.first, self.next_number, arm, item))
        return trials

    def begin(self, first: int, plan: Plan) -> InHand:
        """A batch with this plan, whose first trial has this number."""
        batch = self.batches[first] = InHand(first, plan, self.terms.items)
        return batch

    def hand_out(self, first: int, number: int, arm: int, item: int = 0) -> Trial:
        """The trial of a batch with this number, of this arm on this item; it must be left of the plan."""
        batch = self.batches[first]
        if item and not batch.left:
            batch.begin_item(item)
        batch.take(arm, item)
        self.open[number], self._batch[number] = arm, batch
        if item:
            self.items[number] = item
        self.next_number = max(self.next_number, number + 1)
        self.next_item = max(self.next_item, item + 1)
        return Trial(number, self.terms.arms[arm], item or None)

    def tell(self, trial: Trial | int, reward: float) -> Upload | None:
        """Record what a trial gave. Returns the upload when this fills its batch."""
        number = self._number("tell", trial)
        checked = self.terms.check_reward(reward)
        arm, item, batch = self._closed(number)
        batch.add(number, arm, checked, self.terms, item)
        return self.close_batch(batch.first) if batch.full else None

    def give_back(self, trial: Trial | int) -> None:
        """The experiment failed or can't be done: its place in the plan is handed out again, as a new trial."""
        arm, item, batch = self._closed(self._number("give back", trial))
        batch.put_back(arm, item)

    def drop(self, first: int, arm: int) -> Upload | None:
        """An arm of a batch is not done any more: its open trials are closed, and what is left of it goes.

        Returns the upload if all others were told. A batch of which nothing was told and nothing is left goes
        too. This is harmless for the guarantee when the reason has nothing to do with the rewards.
        """
        batch = self.batches[first]
        mine = [number for number, one in self._batch.items() if one is batch and self.open[number] == arm]
        for number in mine:
            self._closed(number)
        batch.drop(arm, len(mine))
        if batch.size == 0:
            del self.batches[first]
            return None
        return self.close_batch(first) if batch.full else None

    def leave_out(self, arms: Collection[int]) -> None:
        """Begin no batch with these arms, as long as this plan lasts."""
        self.plan = self.plan.without(arms)

    def _closed(self, number: int) -> tuple[int, int, InHand]:
        """Arm, item and batch of a trial that is open no more."""
        return self.open.pop(number), self.items.pop(number, 0), self._batch.pop(number)

    def _number(self, verb: str, trial: Trial | int) -> int:
        """The number of an open trial, or a sentence that says why it is none."""
        given = trial.number if isinstance(trial, Trial) else trial
        try:
            number = None if isinstance(given, bool) else index(given)
        except TypeError:
            number = None
        if number is None:
            raise ProtocolError(
                f"{verb}: {given!r} is not a trial; give a trial that ask returned, or its number."
            )
        if number not in self.open:
            known = (
                "was told or given back already" if 0 < number < self.next_number else "was never handed out"
            )
            raise ProtocolError(f"{verb}: trial {number} {known}; open trials: {sorted(self.open) or 'none'}.")
        return number

    def close_batch(self, first: int | None = None) -> Upload | None:
        """An upload of what was told of a batch, full or not; None if that is nothing.

        It is the one whose first trial has this number, or the first of those of which something was told.
        Sending early is harmless for the guarantee when the reason has nothing to do with the rewards told.
        Trials still open go with the batch: their numbers can't be told any more.
        """
        begun = [one for one in self.batches.values() if one.told and first in (None, one.first)]
        if not begun:
            return None
        batch = begun[0]
        upload = self._made(batch.tally(self.terms))
        del self.batches[batch.first]
        for number in [number for number, one in self._batch.items() if one is batch]:
            self._closed(number)
        return upload

    def _made(self, tally: Tally) -> Upload:
        """The upload of a batch, which waits for its answer from now on."""
        self._change(Event.UPLOAD)
        self.sequence += 1
        upload = Upload(self.terms.fingerprint, self.name, self.sequence, tally)
        self.uploads.append(upload)
        return upload

    def tell_counts(self, rows: Mapping[str, Sequence[Any]]) -> Upload:
        """Record a whole batch that somebody else has added up, in the place of the plan's trials.

        A row is `(pulls, sum)`, with the sum of squares where the test asks for it, and with items `(pulls,
        sum, rival, pairs, Σd, Σd²)` or the bets in the place of the last three. Counts may differ from the
        plan's.
        """
        if self.batches:
            raise ProtocolError("tell_counts: trials of the plan are under way; tell them, or leave, first.")
        if self.finished or not self.to_begin:
            raise ProtocolError(f"tell_counts: the agent is {self.state.value}.")
        terms = self.terms
        given = counts_around(terms.centre if terms.squares else 0.0, rows)  # as they are sent
        tally = tally_from_json(given, terms.name, terms.arms)
        check_tally(tally, terms, terms.arms)
        named = dict(zip(self.plan.arms, self.plan.rivals, strict=False))
        for arm, (rival, _) in tally.duels.items():
            if rival not in (-1, named.get(arm, -1)):
                wanted = "no rival" if named.get(arm, -1) < 0 else f"the rival {terms.arms[named[arm]]!r}"
                raise ProtocolError(
                    f"tell_counts: arm {terms.arms[arm]!r} has the rival {terms.arms[rival]!r}, and the plan "
                    f"names {wanted} for it; a rival is chosen before the rewards are seen."
                )
        return self._made(tally)

    def receive(self, reply: Download | Stop) -> None:
        """Take the server's answer: a new plan, or the verdict.

        It answers the first upload that waits; without one it is news, and batches in hand go on as they are.
        """
        if reply.problem != self.terms.fingerprint:
            raise ProtocolError(f"reply: it is for problem {reply.problem!r}, not {self.terms.fingerprint!r}.")
        if isinstance(reply, Stop):
            self._answered(Event.STOP, Event.STOP_BETWEEN)
            self.verdict, self.last_words = reply.verdict, reply.said
        else:
            self.start(reply.plan or self._own_plan(reply), reply.arms, reply.times)

    def start(self, plan: Plan, arms: tuple[str, ...] = (), times: int = 1) -> None:
        """Begin batches of this plan from now on; `arms` are the study's, if they have changed."""
        self._answered(Event.PLAN, Event.PLAN_BETWEEN)
        if arms:
            self.arms, self.terms = arms, self.terms.renamed(arms)
        self.plan, self.times = plan, times

    def _answered(self, last: Event, between: Event) -> None:
        self._change(between if len(self.uploads) > 1 else last)
        self.uploads = self.uploads[1:]

    def resume(self, sequence: int, next_number: int, next_item: int = 1) -> None:
        """Go on with these numbers: those of an agent that worked before."""
        self.sequence, self.next_number, self.next_item = sequence, next_number, next_item

    def _own_plan(self, reply: Download) -> Plan:
        if self.method is None or reply.total is None:
            raise ProtocolError("reply: it has no plan, and this agent can't make one.")
        return self.method.plan(reply.total)

    def _change(self, event: Event) -> None:
        """The one place where the state changes."""
        after = TRANSITIONS.get((self.state, event))
        if after is None:
            raise ProtocolError(f"{event.value}, and the agent is {self.state.value}.")
        self.state = after
