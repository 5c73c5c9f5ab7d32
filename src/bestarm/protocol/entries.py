"""What a study's log is made of: typed entries.

Each has an id from its sender, so that a repeat changes nothing. An entry says what its sender
said; when it came and which plan answered it stand beside it in the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

from bestarm.core.tally import Tally
from bestarm.protocol.places import places_of
from bestarm.verdict import Reason


@dataclass(frozen=True, slots=True)
class Join:
    """A site takes part, or says anew how it works.

    `plate` is how many trials fit on one plate, None if that does not matter: what is common to a plate should
    cancel, so a batch is one. `plates` is how many batches it works on at once. `room` is how many trials it
    has under way at once: its plans have as many at least. `cannot` are the arms that it can't do. `journal` is
    the file that it keeps; `number` counts how often it has said something of the kind.

    >>> Join("lab-a", "5f0c").id
    'lab-a/join/0'
    """

    word: ClassVar[str] = "joined"
    agent: str
    journal: str | None = None
    plate: int | None = None
    cannot: tuple[str, ...] = ()
    number: int = 0
    plates: int = 1
    room: int = 1

    @property
    def id(self) -> str:
        """Of this agent's joins, which one."""
        return f"{self.agent}/join/{self.number}"


@dataclass(frozen=True, slots=True)
class Upload:
    """An agent's batch: what it saw since its last upload. `sequence` counts an agent's uploads from 1.

    >>> upload = Upload("18566d70caa08ade", "lab-a", 1, Tally.of([2, 0], [1.5, 0.0]))
    >>> upload.id, upload.to_json(("A", "B"))["tally"]
    ('lab-a/1', {'A': [2, 1.5]})
    """

    word: ClassVar[str] = "uploaded"
    problem: str
    agent: str
    sequence: int
    tally: Tally

    @property
    def id(self) -> str:
        """Of this agent's uploads, which one."""
        return f"{self.agent}/{self.sequence}"

    def to_json(self, names: Sequence[str]) -> dict[str, Any]:
        """Plain values; `names` are the problem's arms."""
        return {
            "problem": self.problem,
            "agent": self.agent,
            "sequence": self.sequence,
            "tally": self.tally.to_json(names),
        }

    @classmethod
    def from_json(cls, value: object, problem: Any) -> Upload:
        """An upload from decoded JSON; a `ProtocolError` in one sentence if it is not one of this problem.

        Whether its sums can be true is for `Server.receive` to say.
        """
        from bestarm.protocol.messages import upload_from_json

        return upload_from_json(value, problem)


@dataclass(frozen=True, slots=True)
class Correction:
    """A batch was recorded wrongly: this is its tally. `by` is who says so."""

    word: ClassVar[str] = "corrected"
    id: str
    by: str
    agent: str
    sequence: int
    tally: Tally
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ArmAdded:
    """There is one more arm to choose from."""

    word: ClassVar[str] = "arm added"
    id: str
    by: str
    arm: str
    features: tuple[float, ...] | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ArmWithdrawn:
    """An arm is out of the question, for a reason that is not its rewards: as if it had never been there."""

    word: ClassVar[str] = "arm withdrawn"
    id: str
    by: str
    arm: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Close:
    """The study is over, for another reason than that the best arm is known."""

    word: ClassVar[str] = "closed"
    id: str
    by: str
    cause: Reason = Reason.CLOSED
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Reopen:
    """A closed study goes on."""

    word: ClassVar[str] = "reopened"
    id: str
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Restored:
    """The log was put back from a backup: sites may send again what it has lost since then."""

    word: ClassVar[str] = "restored"
    id: str
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TokenMade:
    """Somebody may come in: a site, by its name, or a viewer. The token itself is known to its holder alone."""

    word: ClassVar[str] = "token made"
    id: str
    by: str
    role: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class TokenRevoked:
    """A token of a site or a viewer opens nothing any more."""

    word: ClassVar[str] = "token revoked"
    id: str
    by: str
    role: str
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Renamed:
    """The study is called otherwise."""

    word: ClassVar[str] = "renamed"
    id: str
    by: str
    before: str
    name: str


FromSite = Join | Upload  # what a plan answers
Note = TokenMade | TokenRevoked | Renamed  # has no part in the statistics, and is taken at any time
Entry = FromSite | Correction | ArmAdded | ArmWithdrawn | Close | Reopen | Restored | Note
ENTRIES: Mapping[str, type[Entry]] = {kind.word: kind for kind in get_args(Entry)}


def body_of(entry: Entry, names: Sequence[str]) -> dict[str, Any]:
    """What an entry says, in plain values, without its kind; `names` are all arms that the study ever had."""
    body: dict[str, Any] = {}
    for field in entry.__slots__:
        value = getattr(entry, field)
        if isinstance(value, Tally):
            value = value.to_json(names)
        elif isinstance(value, tuple):
            value = list(value)
        elif isinstance(value, Reason):
            value = value.value
        body[field] = value
    return body


def entry_from(word: str, body: Mapping[str, Any], names: Sequence[str]) -> Entry:
    """The inverse of `body_of`, for a body that a server wrote; anything else raises.

    >>> close = Close("1f", "admin", Reason.BUDGET)
    >>> entry_from(close.word, body_of(close, ()), ()) == close
    True
    """
    kind, values = ENTRIES[word], dict(body)
    if "tally" in values:
        places = places_of(tuple(names))
        rows = {places[name]: row for name, row in values["tally"].items()}
        values["tally"] = Tally.from_named(rows, places, len(names))
    if "cause" in values:
        values["cause"] = Reason(values["cause"])
    for field in ("cannot", "features"):
        if values.get(field) is not None:
            values[field] = tuple(values[field])
    return kind(**values)
