"""An agent against a simple model, in any order of ask, tell, give back, early sending and answers."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, settings
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

PLAIN = Problem(["A", "B", "C"], sigma=3.0)
LINEAR = Problem(["A", "B", "C"], sigma=3.0, features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]])
METHODS = [
    build("famabpe", PLAIN, agents=2, gamma=0.4),
    build("sharp", PLAIN, agents=1, thrift="messages"),
    build("sharp", LINEAR, agents=1, thrift="messages", min_batch=2),
    build("falinpe", LINEAR, agents=2, gamma1=0.5, gamma2=0.3),
]
rewards = st.integers(-20, 20).map(float)  # whole numbers: sums are exact in any order


class AgentMachine(RuleBasedStateMachine):
    """The model knows the plan's counts, which trials are open, and what was told; the agent must agree."""

    @initialize(method=st.sampled_from(METHODS))
    def start(self, method: Method) -> None:
        self.method = method
        self.server = Server(method)
        self.agent = Agent(method, "lab")
        self.handed_out: set[int] = set()  # every number ever
        self.open: dict[int, str] = {}
        self.gone: list[int] = []  # told, given back, or left behind by early sending
        self.pending: Upload | None = None
        self.uploads = 0
        self.answer: Download | Stop = self.server.download()
        self.state = State.WAITING
        self.take_answer()

    def take_answer(self) -> None:
        self.agent.receive(self.answer)
        self.pending = None
        self.told: list[tuple[str, float]] = []
        self.counts: Counter[str] = Counter()
        if isinstance(self.answer, Download):
            plan = self.answer.plan
            if plan is None:
                assert self.answer.total is not None
                plan = self.method.plan(self.answer.total)
            names = self.method.problem.arms
            self.counts = Counter(
                {names[arm]: count for arm, count in zip(plan.arms, plan.counts, strict=True)}
            )

    @property
    def left(self) -> int:
        """How many trials are neither open nor told."""
        return self.counts.total() - len(self.open) - len(self.told)

    @rule(n=st.integers(0, 7))
    def ask(self, n: int) -> None:
        trials = self.agent.ask(n)
        waiting = self.pending is not None or self.agent.finished
        assert len(trials) == (0 if waiting else min(n, self.left))
        for trial in trials:
            assert trial.number not in self.handed_out
            self.handed_out.add(trial.number)
            self.open[trial.number] = trial.arm
        # Never more of an arm than the plan has.
        assert Counter(self.open.values()) + Counter(arm for arm, _ in self.told) <= self.counts

    @precondition(lambda self: self.open)
    @rule(data=st.data(), reward=rewards, by_number=st.booleans())
    def tell(self, data: st.DataObject, reward: float, by_number: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.open)))
        arm = self.open.pop(number)
        self.gone.append(number)
        self.told.append((arm, reward))
        upload = self.agent.tell(number if by_number else Trial(number, arm), reward)
        if len(self.told) < self.counts.total():
            assert upload is None
        else:
            self.check_upload(upload)
            # A full plan goes out as planned, arm by arm.
            assert upload is not None
            names = self.method.problem.arms
            assert {names[k]: int(c) for k, c in enumerate(upload.tally.pulls) if c} == dict(self.counts)

    def check_upload(self, upload: Upload | None) -> None:
        assert upload is not None
        self.uploads += 1
        assert (upload.problem, upload.agent) == (self.method.problem.fingerprint, "lab")
        assert upload.sequence == self.uploads
        pulls, sums = [0] * 3, [0.0] * 3
        for arm, reward in self.told:
            pulls[self.method.problem.arms.index(arm)] += 1
            sums[self.method.problem.arms.index(arm)] += reward
        assert upload.tally == Tally.of(pulls, sums)
        self.pending = upload

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.open)))
        self.open.pop(number)
        self.gone.append(number)
        self.agent.give_back(number)

    @precondition(lambda self: self.open)
    @rule(data=st.data(), reward=st.sampled_from([np.nan, np.inf, -np.inf, True, "1", None, 1e101]))
    def tell_no_number(self, data: st.DataObject, reward: float) -> None:
        """What is not a reward is refused, and the trial stays open."""
        number = data.draw(st.sampled_from(sorted(self.open)))
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
        upload = self.agent.close_batch()
        if not self.told or self.pending is not None:
            assert upload is None
            return
        self.gone += self.open
        self.open = {}
        self.check_upload(upload)

    @precondition(lambda self: self.pending is not None)
    @rule(lost=st.integers(0, 2))
    def send(self, lost: int) -> None:
        """The upload arrives; up to two of its answers are lost on the way, and it is sent again."""
        upload = self.agent.upload
        assert upload is not None
        assert upload is self.pending
        assert not self.open
        for _ in range(lost):
            self.server.receive(upload)
        self.answer = self.server.receive(upload)
        self.take_answer()

    @precondition(lambda self: self.pending is None and (self.open or self.told))
    @rule()
    def an_old_answer_arrives_in_the_middle(self) -> None:
        """It is refused with a sentence, and the plan goes on."""
        assume(not self.agent.finished)
        with pytest.raises(ProtocolError, match=r"in the middle of a batch; the plan is kept\.$"):
            self.agent.receive(self.answer)

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
        assert (self.pending is not None) == (self.state in (State.SENDING, State.SENDING_LATE))

    @invariant()
    def the_agent_agrees(self) -> None:
        if not hasattr(self, "agent"):
            return
        assert {number: self.method.problem.arms[k] for number, k in self.agent.open.items()} == self.open
        assert self.agent.upload is self.pending
        if self.pending is None:
            assert self.agent.local.samples == len(self.told)
            assert self.agent.local.reward_sums.sum() == sum(reward for _, reward in self.told)
        assert self.server.total.samples == sum(upload.tally.samples for upload in self.server.log)


AgentMachine.TestCase.settings = settings(max_examples=120, stateful_step_count=60, deadline=None)
TestAgent = AgentMachine.TestCase
