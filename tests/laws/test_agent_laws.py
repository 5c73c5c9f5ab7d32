"""An agent against a simple model, in any order of ask, tell, give back, early sending and answers."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bestarm import (
    Agent,
    Download,
    Method,
    Problem,
    ProtocolError,
    Server,
    Stop,
    Tally,
    Trial,
    Upload,
    UserError,
)
from bestarm.methods import method as build
from bestarm.protocol.agent import TRANSITIONS, State
from bestarm.protocol.entries import Join

PLAIN = Problem(["A", "B", "C"], sigma=3.0)
LINEAR = Problem(["A", "B", "C"], sigma=3.0, features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
METHODS = [
    build("famabpe", PLAIN, agents=2, gamma=0.4),
    build("sharp", PLAIN, agents=1, thrift="messages"),
    build("sharp", LINEAR, agents=1, thrift="messages", min_batch=2),
    build("falinpe", LINEAR, agents=2, gamma1=0.5, gamma2=0.3),
]
rewards = st.integers(-20, 20).map(float)  # whole numbers: sums are exact in any order


@dataclass
class Batch:
    """What the model knows of a batch in hand."""

    counts: Counter[str]
    open: dict[int, str] = field(default_factory=dict)
    told: list[tuple[str, float]] = field(default_factory=list)

    @property
    def left(self) -> int:
        """How many trials are neither open nor told."""
        return self.counts.total() - len(self.open) - len(self.told)


class AgentMachine(RuleBasedStateMachine):
    """The model knows the batches in hand, what is open and told of each, and what waits; so does the agent."""

    @initialize(method=st.sampled_from(METHODS), plates=st.integers(1, 3))
    def start(self, method: Method, plates: int) -> None:
        self.method = method
        self.server = Server(method)
        self.agent = Agent(method, "lab")
        self.handed_out: set[int] = set()  # every number ever
        self.batches: list[Batch] = []
        self.gone: list[int] = []  # told, given back, or left behind by early sending
        self.pending: list[Upload] = []
        self.made = self.joins = 0
        self.state = State.WAITING
        self.counts: Counter[str] = Counter()
        self.times = 1
        self.hear(self.server.download() if plates == 1 else self.server.receive(Join("lab", plates=plates)))

    def hear(self, answer: Download | Stop) -> None:
        self.agent.receive(answer)
        if isinstance(answer, Download):
            plan = answer.plan
            if plan is None:
                assert answer.total is not None
                plan = self.method.plan(answer.total)
            names = self.method.problem.arms
            pairs = zip(plan.arms, plan.counts, strict=True)
            self.counts, self.times = Counter({names[arm]: count for arm, count in pairs}), answer.times

    @property
    def to_begin(self) -> int:
        return max(self.times - len(self.batches) - len(self.pending), 0)

    @property
    def open(self) -> dict[int, str]:
        return {number: arm for batch in self.batches for number, arm in batch.open.items()}

    @property
    def told(self) -> list[tuple[str, float]]:
        return [one for batch in self.batches for one in batch.told]

    @rule(n=st.integers(0, 7))
    def ask(self, n: int) -> None:
        left = sum(batch.left for batch in self.batches) + self.to_begin * self.counts.total()
        trials = self.agent.ask(n)
        assert len(trials) == (0 if self.agent.finished else min(n, left))
        for trial in trials:
            assert trial.number not in self.handed_out
            self.handed_out.add(trial.number)
            batch = next((one for one in self.batches if one.left), None)
            if batch is None:  # one is begun when all others are handed out
                batch = Batch(self.counts)
                self.batches.append(batch)
            batch.open[trial.number] = trial.arm
            # Never more of an arm than the batch's plan has.
            assert Counter(batch.open.values()) + Counter(arm for arm, _ in batch.told) <= batch.counts

    def drawn(self, data: st.DataObject) -> tuple[int, Batch]:
        """An open trial and its batch."""
        number = data.draw(st.sampled_from(sorted(self.open)))
        return number, next(batch for batch in self.batches if number in batch.open)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), reward=rewards, by_number=st.booleans())
    def tell(self, data: st.DataObject, reward: float, by_number: bool) -> None:
        number, batch = self.drawn(data)
        arm = batch.open.pop(number)
        self.gone.append(number)
        batch.told.append((arm, reward))
        upload = self.agent.tell(number if by_number else Trial(number, arm), reward)
        if len(batch.told) < batch.counts.total():
            assert upload is None
        else:
            self.check_upload(upload, batch)
            # A full plan goes out as planned, arm by arm.
            assert upload is not None
            names = self.method.problem.arms
            assert {names[k]: int(c) for k, c in enumerate(upload.tally.pulls) if c} == dict(batch.counts)

    def check_upload(self, upload: Upload | None, batch: Batch) -> None:
        assert upload is not None
        self.made += 1
        assert (upload.problem, upload.agent) == (self.method.problem.fingerprint, "lab")
        assert upload.sequence == self.made
        pulls, sums = [0] * 3, [0.0] * 3
        for arm, reward in batch.told:
            pulls[self.method.problem.arms.index(arm)] += 1
            sums[self.method.problem.arms.index(arm)] += reward
        assert upload.tally == Tally.of(pulls, sums)
        self.batches.remove(batch)
        self.pending.append(upload)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        number, batch = self.drawn(data)
        batch.open.pop(number)
        self.gone.append(number)
        self.agent.give_back(number)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), reward=st.sampled_from([np.nan, np.inf, -np.inf, True, "1", None, 1e101]))
    def tell_no_number(self, data: st.DataObject, reward: float) -> None:
        """What is not a reward is refused, and the trial stays open."""
        number, _ = self.drawn(data)
        with pytest.raises(UserError, match=r"^reward is .*; it must be .*\.$"):
            self.agent.tell(number, reward)

    @precondition(lambda self: self.gone)
    @rule(data=st.data(), back=st.booleans())
    def use_a_trial_again(self, data: st.DataObject, back: bool) -> None:
        number = data.draw(st.sampled_from(self.gone))
        with pytest.raises(
            ProtocolError, match=rf"trial {number} was told or given back already; open trials: .+\.$"
        ):
            self.agent.give_back(number) if back else self.agent.tell(number, 1.0)

    @rule(number=st.one_of(st.integers(-5, 0), st.integers(10**6, 10**7)), back=st.booleans())
    def use_an_unknown_trial(self, number: int, back: bool) -> None:
        with pytest.raises(ProtocolError, match=rf"trial {number} was never handed out; open trials: .+\.$"):
            self.agent.give_back(number) if back else self.agent.tell(number, 1.0)

    @rule()
    def send_early(self) -> None:
        batch = next((one for one in self.batches if one.told), None)
        upload = self.agent.close_batch()
        if batch is None:
            assert upload is None
            return
        self.gone += batch.open
        self.check_upload(upload, batch)

    @precondition(lambda self: self.pending)
    @rule(lost=st.integers(0, 2))
    def send(self, lost: int) -> None:
        """The first upload arrives; up to two of its answers are lost on the way, and it is sent again."""
        upload = self.agent.upload
        assert upload is not None
        assert upload is self.pending.pop(0)
        for _ in range(lost):
            self.server.receive(upload)
        self.hear(self.server.receive(upload))

    @precondition(lambda self: not self.pending and not self.agent.finished)
    @rule(plates=st.integers(1, 3))
    def work_in_another_way(self, plates: int) -> None:
        """The next batches are begun with what the server says now; those in hand keep their plans."""
        self.joins += 1
        self.hear(self.server.receive(Join("lab", plates=plates, number=self.joins)))

    @invariant()
    def the_state_changes_as_the_table_says(self) -> None:
        if not hasattr(self, "agent"):
            return
        steps = {after for (before, _), after in TRANSITIONS.items() if before is self.state}
        # A full plan that is answered at once is two steps.
        steps |= {after for (before, _), after in TRANSITIONS.items() if before in steps}
        assert self.agent.state in steps | {self.state}
        self.state = self.agent.state
        assert self.agent.finished == (self.state in (State.FINISHED, State.SENDING_LATE))
        assert bool(self.pending) == (self.state in (State.SENDING, State.SENDING_LATE))

    @invariant()
    def the_agent_agrees(self) -> None:
        if not hasattr(self, "agent"):
            return
        assert {number: self.method.problem.arms[k] for number, k in self.agent.open.items()} == self.open
        assert self.agent.uploads == self.pending
        assert len(self.agent.batches) == len(self.batches)
        assert self.agent.local.samples == len(self.told)
        assert self.agent.local.reward_sums.sum() == sum(reward for _, reward in self.told)
        assert self.agent.size == self.agent.to_hand_out + len(self.told) + len(self.open)
        assert self.server.total.samples == sum(upload.tally.samples for upload in self.server.log)


AgentMachine.TestCase.settings = settings(max_examples=120, stateful_step_count=60, deadline=None)
TestAgent = AgentMachine.TestCase
