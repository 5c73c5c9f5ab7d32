"""Bodies about a study as a whole."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, FiniteFloat

from bestarm.service.http.shapes.shape import TIME, Shape
from bestarm.service.storage.rows.studies import MOST_AGENTS
from bestarm.verdict import Reason

PROBLEM = {
    "name": "ligands",
    "delta": 0.05,
    "epsilon": 0.0,
    "sigma": 0.3,
    "arm": [{"name": "A"}, {"name": "B"}],
}
PARAMETERS = {"stopping": "pairs", "thrift": "balanced", "pseudo_count": 10.0, "min_batch": 1}
RESTS_ON = "The test pairs compares each arm with the leader over all batches; it assumes that …"
PROMISE = "The arm that this study returns is the best one, except with probability at most 0.05."


class AheadBody(Shape):
    """A study that is thought of."""

    problem: dict[str, Any] = Field(examples=[PROBLEM], description="An object, as Problem.to_dict makes it.")
    method: str = Field(default="sharp", examples=["sharp"], description="A name such as sharp.")
    agents: int | None = Field(
        default=None,
        ge=1,
        le=MOST_AGENTS,
        examples=[10],
        description=f"A whole number from 1 to {MOST_AGENTS}.",
    )
    parameters: dict[str, int | FiniteFloat | str] = Field(
        default={},
        examples=[{"thrift": "messages"}],
        description="An object of names, each with a finite number or a word.",
    )


class StudyBody(AheadBody):
    """A study to be made; it is called like its problem."""

    earlier: list[dict[str, Any]] = Field(
        default=[],
        examples=[[]],
        description="A list of batches done before, each an object with agent, sequence and tally.",
    )


class VerdictAnswer(Shape):
    """Who leads, who may still be better, and whether that is settled."""

    stopped: bool = Field(examples=[False])
    arm: str | None = Field(examples=[None], description="The answer, once there is one.")
    leader: str = Field(examples=["A"])
    challenger: str = Field(examples=["B"])
    breaking_index: float | None = Field(examples=[0.21], description="null until every arm was pulled.")
    evidence: float = Field(examples=[0.4])
    samples: int = Field(examples=[120])
    reason: Reason | None = Field(examples=[None], description="Why it is over, once it is.")


class SummaryAnswer(Shape):
    """One line of the list of studies."""

    study: str = Field(examples=["ligands"])
    method: str = Field(examples=["sharp"])
    agents: int = Field(examples=[10])
    state: Literal["open", "stopped", "closed"]
    archived: bool = Field(examples=[False], description="Whether lists leave it out.")
    created_at: str = Field(examples=[TIME])
    samples: int = Field(examples=[120])
    uploads: int = Field(examples=[12])
    communications: int = Field(examples=[24])
    verdict: VerdictAnswer
    progress: str = Field(examples=["40 %"], description="Of the evidence that is needed, in words.")


class ListedAnswer(SummaryAnswer):
    """The same, and how it went."""

    last_upload: str | None = Field(examples=[TIME])
    trend: list[float] = Field(
        examples=[[0.1, 0.3, 0.4]], description="The evidence on the way, thinned to 40."
    )


class StudiesAnswer(Shape):
    """The studies that the caller may see."""

    time: str = Field(examples=[TIME], description="The server's clock.")
    studies: list[ListedAnswer]


class EndAnswer(Shape):
    """Why a study is over, and what can be said."""

    reason: Reason
    why: str
    by: str
    at: str = Field(examples=[TIME])
    said: str
    later: str = Field(description="What the answer would be now, if something came after the end.")


class BudgetAnswer(Shape):
    """How much of the budget is used, asked of sites, and left."""

    budget: int
    used: int
    under_way: int
    left: int


class WithdrawnAnswer(Shape):
    """An arm that is out of the question."""

    arm: str
    reason: str
    by: str
    at: str = Field(examples=[TIME])


class StudyAnswer(SummaryAnswer):
    """All of a study but its log."""

    problem: dict[str, Any] = Field(examples=[PROBLEM])
    parameters: dict[str, int | float | str] = Field(examples=[PARAMETERS])
    promise: str = Field(examples=[PROMISE])
    test: str = Field(examples=[RESTS_ON], description="Which test decides, and what it assumes.")
    end: EndAnswer | None = Field(examples=[None], description="How it ended; null while it goes on.")
    budget: BudgetAnswer | None = Field(examples=[None], description="Null without a budget.")
    withdrawn: list[WithdrawnAnswer] = Field(examples=[[]])
