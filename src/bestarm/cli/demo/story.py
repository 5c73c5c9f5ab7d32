"""What befalls the labs of the demo: one is killed and comes back, one is killed and does not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from bestarm.cli.demo.view import AgentState

CRASH, LOSS = 30, 60  # samples of all labs after which it happens


class Act(Enum):
    """What happens to a lab."""

    CRASH = "crash"
    RESTART = "restart"
    LOSS = "loss"


@dataclass(slots=True)
class Story:
    """Says what happens next; `pause` is how long the killed lab stays away, in seconds.

    >>> story = Story(agents=4, pause=2.0)
    >>> labs = [AgentState(f"lab-{m}", 1.0, 2, 5, 12, 2) for m in range(4)]
    >>> story.next(labs, seconds=1.0)
    (<Act.CRASH: 'crash'>, 1)
    >>> story.next(labs, seconds=1.1)
    >>> story.next(labs, seconds=3.5)
    (<Act.RESTART: 'restart'>, 1)
    """

    agents: int
    pause: float
    crashed_at: float | None = None
    returned: bool = False
    lost: bool = False

    @property
    def returning(self) -> int:
        """One of the fastest labs, which is missed."""
        return 1 if self.agents > 2 else 0

    @property
    def losing(self) -> int | None:
        """A lab in the middle; None if nobody else would be left."""
        others = [m for m in range(self.agents) if m != self.returning]
        return others[len(others) // 2] if self.agents > 1 else None

    @property
    def over(self) -> bool:
        """Whether a killed lab that comes back has come back."""
        return self.crashed_at is None or self.returned

    def next(self, labs: Sequence[AgentState], seconds: float, stopped: bool = False) -> tuple[Act, int] | None:
        """What happens now, and to which lab. After the stop nobody is killed, and who is away comes back."""
        samples = sum(lab.samples for lab in labs)
        if not self.over and (stopped or seconds >= (self.crashed_at or 0.0) + self.pause):
            self.returned = True
            return Act.RESTART, self.returning
        if stopped:
            return None
        if self.crashed_at is None:
            if samples < CRASH or not _in_the_middle(labs[self.returning]):
                return None
            self.crashed_at = seconds
            return Act.CRASH, self.returning
        if self.losing is not None and not self.lost and samples >= LOSS and labs[self.losing].uploads:
            self.lost = True
            return Act.LOSS, self.losing
        return None


def _in_the_middle(lab: AgentState) -> bool:
    return lab.uploads > 0 and 0 < lab.done < lab.planned
