"""A site's state machine: ask for trials, tell what came out, and a full plan becomes an upload."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum
from operator import index
from typing import TYPE_CHECKING, Any

from bestarm.core.bets import PAIR, WIDTH, add_against
from bestarm.core.plan import Plan
from bestarm.core.tally import Tally
from bestarm.errors import UserError
from bestarm.protocol.entries import Upload
from bestarm.protocol.messages import Download, ProtocolError, Stop, Trial, check_tally, tally_from_json
from bestarm.protocol.terms import Terms
from bestarm.reward import squares_around
from bestarm.verdict import Verdict

if TYPE_CHECKING:
    from bestarm.methods.composed import Method

Chance = Callable[[int], float]


class State(Enum):
    """Where an agent is between two messages."""

    WAITING = "waiting for a plan"
    WORKING = "working on its plan"
    SENDING = "waiting for the answer to an upload"
    FINISHED = "finished"
    SENDING_LATE = "finished, and waiting for the answer to a late upload"


class Event(Enum):
    """What changes the state."""

    PLAN = "a plan came"
    UPLOAD = "a batch was closed"
    STOP = "the verdict came"


# Every change of state that there is. Asking, telling and giving back change none.
TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.WAITING, Event.PLAN): State.WORKING,
    (State.WAITING, Event.STOP): State.FINISHED,
    (State.WORKING, Event.PLAN): State.WORKING,
    (State.WORKING, Event.UPLOAD): State.SENDING,
    (State.WORKING, Event.STOP): State.FINISHED,
    (State.SENDING, Event.PLAN): State.WORKING,
    (State.SENDING, Event.STOP): State.FINISHED,
    (State.FINISHED, Event.UPLOAD): State.SENDING_LATE,
    (State.FINISHED, Event.STOP): State.FINISHED,
    (State.SENDING_LATE, Event.STOP): State.FINISHED,
}


class Agent:
    """Hands out the trials of its plan, collects their rewards, and says when there is something to send.

    Nothing that is not uploaded yet ever steers a choice: the plan depends on the last download alone. It is
    the server's, or, with a `Method`, the agent makes it from the total that it downloads. Trials come in the
    order of the plan, or, with `chance`, shuffled: it gives a number from 0 to 1 for each number of a trial.

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
        self.plan = Plan((), ())
        self.next_item = 1  # where the study has items
        self.open: dict[int, int] = {}  # trial number → arm
        self.items: dict[int, int] = {}  # trial number → item, of those that are open
        self.upload: Upload | None = None  # made, and not answered yet
        self.verdict: Verdict | None = None
        self._left: dict[tuple[int, int], int] = {}  # item and arm → how often it is still to be handed out
        self._rows: dict[int, list[float]] = {}  # arm → pulls, sum and, if they are asked for, squares
        # arm → item, or without items trial number → reward; where sums against a rival are asked for
        self._rewards: dict[int, dict[int, float]] = {}
        self._size = self._told = 0  # pulls of the plan, and those whose reward is known

    @property
    def finished(self) -> bool:
        """Whether the server has said which arm is best."""
        return self.verdict is not None

    @property
    def to_hand_out(self) -> int:
        """How many trials of the plan nobody has asked for yet."""
        return self._size - self._told - len(self.open)

    @property
    def local(self) -> Tally:
        """What was told since the last upload."""
        return Tally.from_rows(self._rows, len(self.terms.arms))

    def ask(self, n: int = 1) -> list[Trial]:
        """Up to `n` trials, as many as are left of the plan; none while an upload waits for its answer.

        With items they are all trials of as many items as fit, and of one at least.
        """
        trials: list[Trial] = []
        while self.state is State.WORKING and n > 0 and self.to_hand_out > 0:
            together = self._together()
            if trials and len(trials) + together > n:
                break
            trials += [self.hand_out(*self._next(together - done)) for done in range(together)]
            if len(trials) >= n:
                break
        return trials

    def _together(self) -> int:
        """How many trials come next that belong together: those of an item, or one."""
        if not self.terms.items:
            return 1
        if not self._left:
            return len(self.plan.arms)
        first, _ = next(iter(self._left))
        return sum(count for (item, _), count in self._left.items() if item == first)

    def _begin_item(self) -> None:
        self._left = {(self.next_item, arm): 1 for arm in self.plan.arms}
        self.next_item += 1

    def _next(self, together: int) -> tuple[int, int]:
        """Arm and item of the next trial: drawn from those that are left, or the first of them."""
        if not self._left:
            self._begin_item()
        first, arm = next(iter(self._left))
        if self.chance is None:
            return arm, first
        place = int(self.chance(self.next_number) * (together if self.terms.items else self.to_hand_out))
        for (item, arm), count in self._left.items():
            place -= count if item == first else 0
            if place < 0:
                return arm, item
        raise ValueError("chance must be a number from 0 to below 1")

    def hand_out(self, arm: int, item: int = 0) -> Trial:
        """The next trial, of this arm on this item; it must be left of the plan."""
        if item == self.next_item and not self._left and self.to_hand_out > 0:
            self._begin_item()
        key = item, arm
        if key not in self._left:
            raise ValueError(f"arm {arm} is not left of the plan")
        self._left[key] -= 1
        if not self._left[key]:
            del self._left[key]
        trial = Trial(self.next_number, self.terms.arms[arm], item or None)
        self.open[trial.number] = arm
        if item:
            self.items[trial.number] = item
        self.next_number += 1
        return trial

    def tell(self, trial: Trial | int, reward: float) -> Upload | None:
        """Record what a trial gave. Returns the upload when this fills the plan."""
        number = self._number("tell", trial)
        checked = self.terms.check_reward(reward)
        arm, item = self.open.pop(number), self.items.pop(number, 0)
        row = self._rows.setdefault(arm, [0, 0.0, 0.0] if self.terms.squares else [0, 0.0])
        row[0] += 1
        row[1] += checked
        if self.terms.squares:
            row[2] += (checked - self.terms.centre) ** 2
        if self.plan.rivals:
            self._rewards.setdefault(arm, {})[item or number] = checked
        self._told += 1
        return self.close_batch() if self._told == self._size else None

    def give_back(self, trial: Trial | int) -> None:
        """The experiment failed or can't be done: its place in the plan is handed out again, as a new trial."""
        number = self._number("give back", trial)
        arm, item = self.open.pop(number), self.items.pop(number, 0)
        self._left[item, arm] = self._left.get((item, arm), 0) + 1
        if item:  # one that was begun comes before the others
            self._left = dict(sorted(self._left.items()))

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

    def close_batch(self) -> Upload | None:
        """An upload of what was told so far, full or not; None if that is nothing.

        Sending early is harmless for the guarantee when the reason has nothing to do with the rewards told.
        Trials still open go with the plan: their numbers can't be told any more.
        """
        if self._told == 0 or self.upload is not None:
            return None
        return self._made(self._against(self.local))

    def _made(self, tally: Tally) -> Upload:
        """The upload of a batch, which waits for its answer from now on."""
        self._change(Event.UPLOAD)
        self.sequence += 1
        self.upload = Upload(self.terms.fingerprint, self.name, self.sequence, tally)
        self._follow(Plan((), ()))
        return self.upload

    def tell_counts(self, rows: Mapping[str, Sequence[Any]]) -> Upload:
        """Record a whole batch that somebody else has added up, in the place of the plan's trials.

        A row is `(pulls, sum)`, with the sum of squares where the test asks for it, and with items `(pulls,
        sum, rival, pairs, Σd, Σd²)` or the bets in the place of the last three. Counts may differ from the
        plan's.
        """
        if self.open or self._told:
            raise ProtocolError("tell_counts: trials of the plan are under way; tell them, or leave, first.")
        if self.state is not State.WORKING:
            raise ProtocolError(f"tell_counts: the agent is {self.state.value}.")
        terms, given = self.terms, {arm: self._row(row) for arm, row in rows.items()}
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

    def _row(self, row: Sequence[Any]) -> list[Any]:
        """A row as it is sent: squares are taken around the centre."""
        numbers: list[Any] = list(row) if isinstance(row, (list, tuple)) else [row]
        if self.terms.squares and len(numbers) == 3 and all(isinstance(x, (int, float)) for x in numbers):
            numbers[2] = squares_around(self.terms.centre, *numbers)
        return numbers

    def _against(self, tally: Tally) -> Tally:
        """A tally with the sums against rivals that the plan asks for.

        Rewards are taken in the order of their trials, which is not that in which they were told; with items
        only of those that were tried with both arms.
        """
        if not self.plan.rivals:
            return tally
        terms, told = self.terms, self._rewards
        width, factor = (PAIR, terms.pairs) if terms.pairs else (WIDTH, terms.bets)
        rivals = dict(zip(self.plan.arms, self.plan.rivals, strict=True))
        met = [rivals[arm] if rivals[arm] in told else -1 for arm in tally.arms]
        sums = [0.0] * (width * len(tally.arms))
        for place, (arm, rival) in enumerate(zip(tally.arms, met, strict=True)):
            if rival >= 0:
                both = told[arm].keys() & told[rival].keys() if terms.items else None
                own, theirs = (in_order(told[one], both) for one in (arm, rival))
                add_against(own, theirs, factor, width, sums, place * width)
        return tally.with_rivals(met, sums)

    def receive(self, reply: Download | Stop) -> None:
        """Take the server's answer: a new plan, or the verdict."""
        if reply.problem != self.terms.fingerprint:
            raise ProtocolError(f"reply: it is for problem {reply.problem!r}, not {self.terms.fingerprint!r}.")
        if isinstance(reply, Stop):
            self._change(Event.STOP)
            self.verdict = reply.verdict
            self.upload = None
            return
        if self.upload is None and (self._told or self.open):
            raise ProtocolError("receive: a download arrived in the middle of a batch; the plan is kept.")
        self.start(reply.plan or self._own_plan(reply), reply.arms)

    def start(self, plan: Plan, arms: tuple[str, ...] = ()) -> None:
        """Hand out the trials of this plan from now on; `arms` are the study's, if they have changed."""
        self._change(Event.PLAN)
        self.upload = None
        if arms:
            self.terms = self.terms.renamed(arms)
        self._follow(plan)

    def resume(self, sequence: int, next_number: int, next_item: int = 1) -> None:
        """Go on with these numbers: those of an agent that worked before."""
        self.sequence, self.next_number, self.next_item = sequence, next_number, next_item

    def _own_plan(self, reply: Download) -> Plan:
        if self.method is None or reply.total is None:
            raise ProtocolError("reply: it has no plan, and this agent can't make one.")
        return self.method.plan(reply.total)

    def _follow(self, plan: Plan) -> None:
        self.plan, self._size = plan, plan.size
        counts = zip(plan.arms, plan.counts, strict=True)
        self._left = {} if self.terms.items else {(0, arm): count for arm, count in counts}
        self._rows, self._rewards, self._told = {}, {}, 0
        self.open, self.items = {}, {}

    def _change(self, event: Event) -> None:
        """The one place where the state changes."""
        after = TRANSITIONS.get((self.state, event))
        if after is None:
            raise ProtocolError(f"{event.value}, and the agent is {self.state.value}.")
        self.state = after


def in_order(told: Mapping[int, float], only: Collection[int] | None) -> list[float]:
    """Rewards in the order of their items or trials, of all or of some."""
    return [told[number] for number in sorted(told if only is None else only)]
