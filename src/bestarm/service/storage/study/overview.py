"""What there is to know about a study, in values that stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from bestarm.agreement import Agreement
from bestarm.chain import charter
from bestarm.core.arrays import Floats
from bestarm.core.counting import messages
from bestarm.core.tally import Tally
from bestarm.differences import Differences
from bestarm.methods import Method, Verdict
from bestarm.oddities import Oddity
from bestarm.problem import Problem
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Close, Correction, Note, Reopen, Restored, Upload
from bestarm.protocol.fold import Fold

ByHand = (
    Correction | ArmAdded | ArmWithdrawn | Close | Reopen | Restored | Note
)  # what people do to a study, or its own end


@dataclass(frozen=True, slots=True)
class Charter:
    """What a study is about. Its name may change, and whether it is archived; all else never does.

    `stored` is its problem and parameters as they were written down first, whatever a later version adds.
    """

    id: int
    name: str
    problem: Problem
    method: Method
    created_at: str
    archived: bool = False
    stored: tuple[Mapping[str, Any], Mapping[str, Any]] | None = None

    @property
    def digest(self) -> str:
        """What its log begins with."""
        problem, parameters = self.stored or (self.problem.to_dict(), self.method.parameters)
        return charter(problem, self.method.name, parameters, self.method.agents)


@dataclass(frozen=True, slots=True)
class Judged:
    """An upload and what the server knew after it.

    `position` counts the uploads, `samples` sums them all up, and `communications` are those up to it.
    """

    position: int
    agent: str
    sequence: int
    samples: int
    communications: int
    verdict: Verdict
    received_at: str


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one site has sent, when it was last heard of, and what it was asked for."""

    uploads: int = 0
    samples: int = 0
    bytes: int = 0  # of its uploads, as JSON
    last_seen: str = ""
    joined_at: str = ""
    asked_at: str = ""  # when the entry came that the plan answers
    plan: int | None = None  # pulls in the plan that answered its last entry; None if that is not known


@dataclass(frozen=True, slots=True)
class Happened:
    """An entry that is neither a join nor an upload, where it stands in the log, and when it came.

    It is `late` if the study was over already.
    """

    position: int
    entry: ByHand
    received_at: str
    late: bool
    uploads: int = 0  # that there were before it


@dataclass(frozen=True, slots=True)
class Beside:
    """What there is to see beside the verdict."""

    differences: tuple[Differences, ...] = ()
    warnings: tuple[Oddity, ...] = ()
    items: int = 0
    agreement: Agreement | None = None


class Source(Protocol):
    """Where more about a study comes from than its overview holds: the storage."""

    def beside(self, overview: Overview) -> Beside:
        """What there is to see beside the verdict."""

    def lately(self, overview: Overview) -> list[tuple[Judged, Upload]]:
        """The last uploads, in their order."""


class NoSource:
    """Of a study that is in no storage: there is no more."""

    def beside(self, overview: Overview) -> Beside:
        """Nothing."""
        return Beside()

    def lately(self, overview: Overview) -> list[tuple[Judged, Upload]]:
        """Nothing."""
        return []


NO_SOURCE = NoSource()


@dataclass(frozen=True)
class Overview:
    """A study as of one commit.

    `history` are uploads that are spread evenly, with the last one and the one that settled the study; the log
    itself is read from the storage. `length` is how many entries there were, of whatever kind. `method` is the
    one for the arms that there are now, `arms` are all that there ever were, and `known` is what it keeps of
    all batches; `fold` says how uploads are read since the entry at `changed_at`. `now` is what the data say,
    whether the study is over or not; `last_words` what could be said when it was closed. `digest` is that of
    the last entry. What is seen `beside` and what came `lately` is read from the log when somebody asks: don't
    do that on an event loop.
    """

    study: Charter
    closed: bool
    uploads: int
    length: int
    digest: str
    history: Sequence[Judged]
    method: Method
    known: Any
    fold: Fold
    changed_at: int
    total: Tally
    verdict: Verdict
    stopped_at: int | None
    stopped_when: str
    sites: dict[str, Contribution]
    arms: tuple[str, ...]
    happened: tuple[Happened, ...]
    now: Verdict
    last_words: str
    source: Source

    @cached_property
    def beside(self) -> Beside:
        """Differences and warnings."""
        return self.source.beside(self)

    @cached_property
    def lately(self) -> list[tuple[Judged, Upload]]:
        """The last uploads, in their order, and what was known after each."""
        return self.source.lately(self)

    @property
    def rewards(self) -> Floats:
        """The sum of all rewards of each arm that there is now."""
        return self.total.reward_sums[[self.arms.index(arm) for arm in self.method.problem.arms]]

    @property
    def differences(self) -> tuple[Differences, ...]:
        """How far each arm is from the leader, or from the control."""
        return self.beside.differences

    @property
    def warnings(self) -> tuple[Oddity, ...]:
        """What speaks against what the study assumes."""
        return self.beside.warnings

    @property
    def agreement(self) -> Agreement | None:
        """Of the sites, on the leader and one other arm."""
        return self.beside.agreement

    @property
    def items(self) -> int | None:
        """How many items were tried, where the study has items."""
        return self.beside.items if self.method.problem.items else None

    @property
    def state(self) -> str:
        """`closed`, `stopped` or `open`."""
        return "closed" if self.closed else "open" if self.stopped_at is None else "stopped"

    @property
    def communications(self) -> int:
        """Uploads and the downloads that answered them."""
        return messages(self.uploads, self.stopped_at or 0)
