"""Bodies about what can be said of a study now."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from bestarm.service.http.shapes.shape import TIME, Shape


class ArmAnswer(Shape):
    """An arm's estimate; null where there is none yet."""

    arm: str
    pulls: int
    mean: float | None
    low: float | None
    high: float | None
    rank: int = Field(description="1 is the leader; then by what is shown, the best first.")


class SpanAnswer(Shape):
    """From, to."""

    low: float
    high: float


class RemainingAnswer(Shape):
    """About how many samples are missing."""

    low: int
    high: int
    seconds: SpanAnswer | None = Field(description="How long that takes; null while no pace is known.")
    before: str = Field(description="Whether the budget or the deadline comes first; empty if not.")


class ArmStandingAnswer(Shape):
    """What speaks against an arm; null where the study's test does not look at each arm by itself."""

    arm: str
    pulls: int
    estimate: float | None
    odds: float | None = Field(description="So many to one.")
    ruled_out: bool
    words: str


class StandingAnswer(Shape):
    """What can be said now."""

    leader: str
    error: float | None = Field(
        description="The leader is the best, or within epsilon of it, except with probability at most this."
    )
    needed: float = Field(description="The odds that rule an arm out.")
    line: str = Field(description="The same in words: 20 to 1 rules out.")
    arms: list[ArmStandingAnswer]
    sentence: str


class DifferenceAnswer(Shape):
    """An arm's mean less another's, in the batches that had both; null where nothing is known yet."""

    arm: str
    difference: float | None
    low: float | None
    high: float | None
    percent: float | None = Field(
        description="The difference in percent of the other's estimate, which has no interval; null where that "
        "is not above 0."
    )


class DifferencesAnswer(Shape):
    """Of every arm to one of them, with intervals that hold together where sites differ."""

    to: str
    role: Literal["leader", "control"]
    sentence: str
    holds: float = Field(description="With at least this probability, at all times.")
    arms: list[DifferenceAnswer]


class WarningAnswer(Shape):
    """What in the data speaks against what the study assumes; it blocks nothing."""

    kind: Literal["noise", "order", "batch"]
    about: str = Field(description="The arm or the site.")
    seen: str
    meaning: str = Field(description="For the promise.")
    sentence: str = Field(description="Both.")


class AtSiteAnswer(Shape):
    """The leader's mean less another arm's at one site, and about where the true one lies."""

    site: str
    difference: float
    low: float
    high: float


class AgreementAnswer(Shape):
    """The leader against one other arm, site by site."""

    leader: str
    other: str
    sentence: str
    sites: list[AtSiteAnswer]


class LimitAnswer(Shape):
    """What ends a study without an answer, and how much of it is gone."""

    kind: Literal["budget", "deadline"]
    share: float
    sentence: str


class LatelyAnswer(Shape):
    """Something that happened, or a warning as it stands, which has no time."""

    at: str | None = Field(examples=[TIME])
    kind: str
    by: str
    sentence: str


class AnswersAnswer(Shape):
    """What a coordinator asks of a study, answered in sentences; empty where there is nothing to say."""

    ruled_out: str
    stopping_now: str = Field(description="What could be said now; what was said, once it is over.")
    better: str = Field(description="How much better the leader is than the control, or than the next best.")
    changes: list[str] = Field(description="Why the evidence changed last, and why it fell before.")
    agreement: AgreementAnswer | None
    limits: list[LimitAnswer]
    lately: list[LatelyAnswer]
