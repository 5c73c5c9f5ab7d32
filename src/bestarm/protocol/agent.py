"""A site's state machine: ask for trials, tell what came out, and a full plan becomes an upload."""

from __future__ import annotations

import numpy as np

from bestarm.core.plan import Plan
from bestarm.core.tally import Tally
from bestarm.errors import UserError
from bestarm.methods.method import Kind, Method, Verdict
from bestarm.protocol.messages import Download, ProtocolError, Stop, Trial, Upload


class Agent:
    """Hands out the trials of its plan, collects their rewards, and says when there is something to send.

    Nothing that is not uploaded yet ever steers a choice: the plan depends on the last download alone.

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

    def __init__(self, method: Method, name: str = "agent") -> None:
        if method.kind is Kind.SYNCHRONOUS:
            raise UserError(
                f"{method.name} works in rounds in which all agents wait; it can only be simulated."
            )
        self.method = method
        self.name = name
        self.sequence = 0  # of the last upload
        self.next_number = 1
        self.plan = Plan((), ())
        self._waiting: list[list[int]] = []  # [arm, how often], the next one last
        self.open: dict[int, int] = {}  # trial number → arm
        self.upload: Upload | None = None  # made, and not answered yet
        self.verdict: Verdict | None = None
        self._start_batch()

    def _start_batch(self) -> None:
        self._pulls = np.zeros(len(self.method.problem.arms), dtype=np.int64)
        self._sums = np.zeros(len(self.method.problem.arms))
        self._told = 0

    @property
    def finished(self) -> bool:
        """Whether the server has said which arm is best."""
        return self.verdict is not None

    @property
    def to_hand_out(self) -> int:
        """How many trials of the plan nobody has asked for yet."""
        return sum(count for _, count in self._waiting)

    @property
    def local(self) -> Tally:
        """What was told since the last upload."""
        return Tally(self._pulls.copy(), self._sums.copy())

    def ask(self, n: int = 1) -> list[Trial]:
        """Up to `n` trials, as many as are left of the plan; none while an upload waits for its answer."""
        if self.finished or self.upload is not None:
            return []
        trials: list[Trial] = []
        waiting = self._waiting
        while waiting and len(trials) < n:
            run = waiting[-1]
            run[1] -= 1
            if run[1] == 0:
                waiting.pop()
            self.open[self.next_number] = run[0]
            trials.append(Trial(self.next_number, self.method.problem.arms[run[0]]))
            self.next_number += 1
        return trials

    def tell(self, trial: Trial | int, reward: float) -> Upload | None:
        """Record what a trial gave. Returns the upload when this fills the plan."""
        number = self._number("tell", trial)
        checked = self.method.problem.check_reward(reward)
        arm = self.open.pop(number)
        self._pulls[arm] += 1
        self._sums[arm] += checked
        self._told += 1
        return self.close_batch() if self._told == self.plan.size else None

    def give_back(self, trial: Trial | int) -> None:
        """The experiment failed or can't be done: its place in the plan is handed out again, as a new trial."""
        self._waiting.append([self.open.pop(self._number("give back", trial)), 1])

    def _number(self, verb: str, trial: Trial | int) -> int:
        """The number of an open trial, or a sentence that says why it is none."""
        number = trial.number if isinstance(trial, Trial) else trial
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise ProtocolError(
                f"{verb}: {number!r} is not a trial; give a trial that ask returned, or its number."
            )
        if number not in self.open:
            known = (
                "was told or given back already" if 0 < number < self.next_number else "was never handed out"
            )
            raise ProtocolError(f"{verb}: trial {number} {known}; open trials: {sorted(self.open) or 'none'}.")
        return int(number)

    def close_batch(self) -> Upload | None:
        """An upload of what was told so far, full or not; None if that is nothing.

        Sending early is harmless for the guarantee when the reason has nothing to do with the rewards told.
        Trials still open go with the plan: their numbers can't be told any more.
        """
        if self._told == 0 or self.upload is not None:
            return None
        self.sequence += 1
        fingerprint = self.method.problem.fingerprint
        self.upload = Upload(fingerprint, self.name, self.sequence, Tally(self._pulls, self._sums))
        self.follow(Plan((), ()))
        self.open = {}
        self._start_batch()
        return self.upload

    def receive(self, reply: Download | Stop) -> None:
        """Take the server's answer: a new plan, or the verdict."""
        if reply.problem != self.method.problem.fingerprint:
            raise ProtocolError(
                f"reply: it is for problem {reply.problem!r}, not {self.method.problem.fingerprint!r}."
            )
        if isinstance(reply, Stop):
            self.verdict = reply.verdict
            self.upload = None
            return
        if self.upload is None and (self._told or self.open):
            raise ProtocolError("receive: a download arrived in the middle of a batch; the plan is kept.")
        self.upload = None
        self.follow(self.method.plan(reply.total))

    def follow(self, plan: Plan) -> None:
        """Hand out the trials of this plan from now on."""
        self.plan = plan
        self._waiting = [[arm, count] for arm, count in zip(plan.arms, plan.counts, strict=True)][::-1]
