"""What there is to know about a study, in values that stay as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bestarm.agreement import Agreement
from bestarm.chain import charter
from bestarm.core.counting import messages
from bestarm.core.tally import Tally
from bestarm.differences import Differences
from bestarm.methods import Method, Verdict
from bestarm.oddities import Oddity
from bestarm.problem import Problem
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Close, Correction, Reopen, Restored, Upload

ByHand = (
    Correction | ArmAdded | ArmWithdrawn | Close | Reopen | Restored
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
class Overview:
    """A study as of one commit.

    `judged` and `log` may have grown since: only the first `uploads` of them count. `length` is how many
    entries there were, of whatever kind. `method` is the one for the arms that there are now, `arms` are all
    that there ever were, and `known` is what it keeps of all batches. `now` is what the data say, whether the
    study is over or not; `last_words` what could be said when it was closed. `digest` is that of the last
    entry.
    """

    study: Charter
    closed: bool
    uploads: int
    length: int
    digest: str
    judged: Sequence[Judged]
    log: Sequence[Upload]
    method: Method
    known: Any
    total: Tally
    verdict: Verdict
    stopped_at: int | None
    sites: dict[str, Contribution]
    differences: tuple[Differences, ...]
    warnings: tuple[Oddity, ...]
    arms: tuple[str, ...]
    happened: tuple[Happened, ...]
    now: Verdict
    last_words: str
    agreement: Agreement | None = None  # of the sites, on the leader and one other arm
    items: int | None = None  # that were tried, where the study has items

    @property
    def state(self) -> str:
        """`closed`, `stopped` or `open`."""
        return "closed" if self.closed else "open" if self.stopped_at is None else "stopped"

    @property
    def communications(self) -> int:
        """Uploads and the downloads that answered them."""
        return messages(self.uploads, self.stopped_at or 0)
