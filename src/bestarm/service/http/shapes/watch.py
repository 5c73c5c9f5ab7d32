"""Bodies for those who watch a study: its status, its sites and its log."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from bestarm.service.http.shapes.changes import EventAnswer
from bestarm.service.http.shapes.shape import TIME, Shape, Tally
from bestarm.service.http.shapes.standing import (
    AnswersAnswer,
    ArmAnswer,
    DifferencesAnswer,
    RemainingAnswer,
    StandingAnswer,
    WarningAnswer,
)
from bestarm.service.http.shapes.studies import StudyAnswer, VerdictAnswer


class SiteAnswer(Shape):
    """An agent that joined."""

    agent: str
    joined_at: str = Field(examples=[TIME])
    last_seen: str = Field(examples=[TIME])
    samples: int
    uploads: int
    bytes: int = Field(description="Of its uploads, as JSON.")
    plan: int | None = Field(description="Pulls that it was asked for and has not sent; null if not known.")
    asked: str = Field(examples=["24 trials"], description="The same in words.")
    asked_at: str | None = Field(examples=[TIME], description="Since when; null once the study is over.")
    stale: bool


class BatchAnswer(Shape):
    """A batch of a site, as it counts."""

    sequence: int
    received_at: str = Field(examples=[TIME])
    samples: int
    corrected: bool
    counts: dict[str, tuple[int, float] | tuple[int, float, float]] = Field(
        description="Arm: [pulls, sum], and where the test asks for it the sum of squares."
    )


class SiteDetailAnswer(Shape):
    """One site: what it is asked to do, and its last batches."""

    agent: str
    joined_at: str = Field(examples=[TIME])
    last_seen: str = Field(examples=[TIME])
    asked_at: str | None = Field(examples=[TIME], description="Since when; null once the study is over.")
    plan: list[tuple[str, int]] = Field(description="[Arm, how often].")
    asked: str = Field(examples=["24 trials"])
    by_hand: bool = Field(description="Whether counts say all that a correction of a batch needs.")
    squares: bool = Field(description="Whether counts have sums of squares.")
    batches: list[BatchAnswer] = Field(description="The last 25, the last first.")


class StatusAnswer(StudyAnswer):
    """Everything that a dashboard shows."""

    time: str = Field(examples=[TIME], description="The server's clock.")
    arms: list[ArmAnswer]
    standing: StandingAnswer
    answers: AnswersAnswer
    differences: list[DifferencesAnswer] = Field(
        description="To the control, if there is one, and to the leader; empty where there are none yet."
    )
    items: int | None = Field(description="How many items were tried; null where the study has none.")
    events: list[EventAnswer] = Field(description="What people did to the study, the last first; at most 50.")
    warnings: list[WarningAnswer] = Field(
        description="A study in which all is well gets one with probability below 1 %."
    )
    sites: list[SiteAnswer]
    history: list[tuple[int, int, float | None, float, str]]
    remaining: RemainingAnswer | None
    intervals: bool = Field(description="Whether its test gives intervals at all.")
    shows: Literal["index", "evidence"] = Field(description="What tells a person more about the way.")


class LineAnswer(Shape):
    """An entry of the log, in a sentence."""

    position: int
    kind: str
    agent: str | None
    sequence: int | None
    by: str | None
    sentence: str
    received_at: str = Field(examples=[TIME])


class LogAnswer(Shape):
    """The last entries of the log, oldest first."""

    length: int = Field(description="How many there are in all.")
    entries: list[LineAnswer]


class LoggedAnswer(Shape):
    """An upload in the log."""

    position: int
    agent: str
    sequence: int
    tally: Tally
    received_at: str


class ExportAnswer(Shape):
    """The whole log, and all that is needed to replay it."""

    study: str
    versions: dict[str, str | int] = Field(description="Of bestarm, of the protocol and of this format.")
    problem: dict[str, Any]
    method: str
    parameters: dict[str, int | float | str]
    agents: int
    uploads: list[LoggedAnswer]
    verdicts: list[VerdictAnswer] = Field(description="After each upload.")
    verdict: VerdictAnswer
    entries: list[dict[str, Any]] = Field(
        description="The log itself: position, kind, id, what the entry says, plan, received_at, its digest, "
        "and the verdict as decision where the study was decided."
    )
    length: int = Field(description="How many entries there are.")
    digest: str = Field(description="That of the last entry; each is over the one before.")
    standing: StandingAnswer
    test: str = Field(description="Which test decides, and what it assumes.")
