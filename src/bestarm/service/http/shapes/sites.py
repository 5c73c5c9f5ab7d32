"""Bodies between a site and the server: joining, uploads, receipts."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from bestarm.service.http.shapes.shape import NAMED, PATTERN, Shape, Tally
from bestarm.service.http.shapes.studies import PARAMETERS, PROBLEM, VerdictAnswer

FINGERPRINT = "18566d70caa08ade"


class ReceiptAnswer(Shape):
    """Where one of a site's uploads stands in the log."""

    sequence: int
    entry: int
    digest: str
    received_at: str
    tally: dict[str, list[Any]]


class ReceiptsAnswer(Shape):
    """A site's uploads in the log, in their order; ask again after the last of them until there are none."""

    agent: str
    uploads: list[ReceiptAnswer]


class DownloadAnswer(Shape):
    """The study goes on: what to do next and, for the paper's methods, everything that the server knows."""

    kind: Literal["download"]
    problem: str = Field(examples=[FINGERPRINT])
    plan: list[tuple[str, int]] = Field(
        default=[], examples=[[["A", 3], ["B", 2]]], description="[Arm, how often], in the plan's order."
    )
    total: Tally = Field(default={}, examples=[{"A": [3, 1.25], "B": [2, 0.5]}])
    arms: list[str] = Field(
        default=[], examples=[["A", "B"]], description="The study's, where they are not the problem's any more."
    )
    withdrawn: list[str] = Field(default=[], examples=[[]], description="Arms that need not be tried any more.")
    times: int = Field(
        default=1,
        ge=0,
        examples=[1],
        description="Batches of the plan that may be in hand, those that wait for their answers included.",
    )


class StopAnswer(Shape):
    """The study is finished."""

    kind: Literal["stop"]
    problem: str = Field(examples=[FINGERPRINT])
    verdict: VerdictAnswer
    said: str = Field(default="", examples=[""], description="What could be said at the end without an answer.")


class TermsAnswer(Shape):
    """What a site has to know of its study."""

    name: str = Field(examples=["ligands"])
    arms: list[str] = Field(examples=[["A", "B"]])
    fingerprint: str = Field(examples=[FINGERPRINT])
    sigma: float | None = Field(examples=[0.3], description="Null where it is measured.")
    reward_range: tuple[float, float] | None = Field(examples=[None])
    centre: float = Field(examples=[0.0])
    squares: bool = Field(examples=[False], description="Whether a tally has sums of (reward − centre)².")
    features: list[list[float]] | None = Field(examples=[None])
    rewards: Literal["normal", "yes-no", "bounded"] = Field(examples=["normal"])
    bets: float = Field(
        examples=[0.0], description="The factor of a difference in the bets that a tally has; 0 if it has none."
    )
    pairs: float = Field(
        examples=[0.0], description="The same for pairs on items: 1, −1 where the lowest is wanted; 0 for none."
    )
    items: bool = Field(examples=[False], description="Whether each item is tried with all arms of a plan.")
    goal: Literal["highest", "lowest"] = Field(examples=["highest"])
    unit: str | None = Field(examples=["%"], description="What rewards are measured in, if it was said.")
    descriptions: dict[str, str] = Field(examples=[{}], description="Arm: what it is, where it was said.")


class BoundsAnswer(Shape):
    """What a reward must be: one of `only`, or from `low` to `high`."""

    low: float = Field(examples=[0.0])
    high: float = Field(examples=[1.0])
    must_be: str = Field(examples=["a number from 0.0 to 1.0, the reward_range"])
    only: list[float] | None = Field(examples=[None])


class ChecksAnswer(Shape):
    """With what a site checks what people type."""

    limits: list[BoundsAnswer] = Field(description="What a reward must be, all of them.")
    doubt: dict[str, float] = Field(examples=[{"few": 8}], description="The numbers of `bestarm/doubt.py`.")
    bets: list[float] = Field(examples=[[0.02, 0.05]], description="Where `terms.bets` is not 0.")
    plates: dict[str, tuple[int, int]] = Field(
        examples=[{"24": [4, 6]}], description="Wells of a plate: its rows and columns."
    )
    aim: str = Field(examples=["Higher is better."])


class JoinAnswer(Shape):
    """What an agent needs to start, or to start again."""

    protocol: int = Field(examples=[2])
    agent: str = Field(examples=["lab-a"])
    sequence: int = Field(examples=[0], description="The agent's last upload that the server has.")
    study: str = Field(examples=["ligands"])
    problem: dict[str, Any] = Field(examples=[PROBLEM])
    method: str = Field(examples=["sharp"])
    parameters: dict[str, int | float | str] = Field(examples=[PARAMETERS])
    agents: int = Field(examples=[10])
    terms: TermsAnswer
    checks: ChecksAnswer
    reply: DownloadAnswer | StopAnswer
    restored: str | None = Field(
        description="The id of the entry that said last that the log was put back from a backup."
    )


class JoinBody(Shape):
    """The journal that an agent keeps, of which a second one is refused; and how the site works."""

    journal: str | None = Field(default=None, pattern=PATTERN, examples=["5f0c2b9a4d7e1830"], description=NAMED)
    plate: int | None = Field(
        default=None,
        ge=1,
        lt=2**53,
        examples=[24],
        description="A whole number from 1: trials that fit on a plate; a batch is one.",
    )
    plates: int = Field(
        default=1,
        ge=1,
        lt=2**53,
        examples=[1],
        description="A whole number from 1: batches that the site works on at once.",
    )
    room: int = Field(
        default=1,
        ge=1,
        lt=2**53,
        examples=[1],
        description="A whole number from 1: trials under way at once; a plan has as many at least.",
    )
    cannot: list[str] = Field(default=[], examples=[[]], description="A list of arms that the site can't do.")
    number: int = Field(
        default=0,
        ge=0,
        lt=2**53,
        examples=[0],
        description="A whole number from 0: how often the site said before how it works.",
    )


class UploadBody(Shape):
    """What an agent saw since its last upload."""

    problem: str = Field(examples=[FINGERPRINT], description="The problem's fingerprint.")
    agent: str = Field(pattern=PATTERN, examples=["lab-a"], description=NAMED)
    sequence: int = Field(ge=1, le=2**53, examples=[1], description="A whole number from 1.")
    tally: Tally = Field(
        examples=[{"A": [3, 1.25], "B": [2, 0.5]}],
        description="Arm: [pulls, reward sum], and where the test asks for it the sum of squares, or the rival "
        "and what the bets come to.",
    )


class UploadAnswer(Shape):
    """Where an upload stands in the log, and the reply."""

    position: int = Field(ge=1, examples=[1])
    entry: int = Field(ge=1, examples=[2], description="Its place among all entries of the log.")
    digest: str = Field(description="What stands there; both are the upload's receipt, for `bestarm audit`.")
    reply: DownloadAnswer | StopAnswer
