"""The shapes of all bodies: they describe what is asked and answered, and check what is asked (`fit.py`)."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationInfo,
    model_validator,
)

from bestarm.errors import UserError
from bestarm.names import NAME, RULE, check_name, check_text
from bestarm.service.http.fit import may_be_empty
from bestarm.service.storage.studies import MOST_AGENTS
from bestarm.service.storage.tokens import LONGEST
from bestarm.verdict import Reason

PATTERN = f"^{NAME.pattern}$"
TIME = "2026-01-02T03:04:05.678Z"
PROBLEM = {
    "name": "ligands",
    "delta": 0.05,
    "epsilon": 0.0,
    "sigma": 0.3,
    "arm": [{"name": "A"}, {"name": "B"}],
}
PARAMETERS = {"stopping": "pairs", "thrift": "balanced", "pseudo_count": 10.0, "min_batch": 1}
FINGERPRINT = "18566d70caa08ade"
RESTS_ON = "The test pairs compares each arm with the leader over all batches; it assumes that …"
PROMISE = "The arm that this study returns is the best one, except with probability at most 0.05."

NAMED = f"{RULE[0].upper()}{RULE[1:]}."
EXPIRES_IN = Field(
    default=None,
    gt=0,
    le=LONGEST,
    examples=[2592000],
    description="A number of seconds above 0, at most ten years.",
)

Tally = dict[str, tuple[int, float] | tuple[int, float, float] | list[int | float | str | None]]


def _visible(text: str, info: ValidationInfo) -> str:
    return check_text(str(info.field_name), text)


Visible = Annotated[str, AfterValidator(_visible)]


class Shape(BaseModel):
    """A body in which every field is named here.

    `…Body` is asked, and a refusal says that a field must be what its description says; `…Answer` is answered.
    """

    model_config = ConfigDict(extra="forbid")


class RefusalAnswer(Shape):
    """Why nothing was done, in one sentence and in one word."""

    error: str = Field(examples=["this token is unknown, expired or revoked; ask for another one."])
    code: str = Field(examples=["bad-token"])


class Versions(Shape):
    """What runs."""

    version: str = Field(examples=["0.2.0"])
    protocol: int = Field(examples=[2], description="The version of the protocol that sites must speak.")


class HealthAnswer(Versions):
    """The server answers."""

    status: Literal["ok"]


class ReadyAnswer(Versions):
    """The server can do its work: the storage answers."""

    status: Literal["ready"]


class StudyBody(Shape):
    """A study to be made; it is called like its problem."""

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
    earlier: list[dict[str, Any]] = Field(
        default=[],
        examples=[[]],
        description="A list of batches done before, each an object with agent, sequence and tally.",
    )


class AheadBody(Shape):
    """A study that is thought of."""

    problem: dict[str, Any] = Field(examples=[PROBLEM], description="An object, as Problem.to_dict makes it.")
    method: str = Field(default="sharp", examples=["sharp"], description="A name such as sharp.")
    agents: int | None = Field(
        default=None,
        ge=1,
        le=MOST_AGENTS,
        examples=[3],
        description=f"A whole number from 1 to {MOST_AGENTS}.",
    )
    parameters: dict[str, int | FiniteFloat | str] = Field(
        default={},
        examples=[{}],
        description="An object of names, each with a finite number or a word.",
    )


class TextBody(Shape):
    """A text, such as a link."""

    text: str = Field(
        min_length=1,
        max_length=500,
        examples=["https://bestarm.example/#/join/ligands/…"],
        description="Text of 1 to 500 letters.",
    )


class ExpectedRow(Shape):
    """What to expect if the best arm is better than the others by `gap`."""

    gap: float
    mean: float = Field(description="Samples of all sites together.")
    low: int = Field(description="Nineteen of twenty studies take more.")
    high: int = Field(description="Nineteen of twenty studies take fewer.")
    sentence: str


class ExpectedAnswer(Shape):
    """About how many experiments a study will take, from few simulated runs."""

    runs: int
    rows: list[ExpectedRow]
    late: bool = Field(description="Whether there was no time for all of them.")


class RenameBody(Shape):
    """What a study is to be called from now on; the names that it had go on leading to it."""

    name: str = Field(pattern=PATTERN, examples=["ligands-2027"], description=NAMED)


REASON = Field(default="", max_length=500, examples=[""], description="Text of at most 500 letters: why.")
ID = Field(
    default=None,
    max_length=100,
    examples=["5f0c2b9a4d7e1830"],
    description="Text of at most 100 letters: the same again changes nothing.",
)


class ReasonBody(Shape):
    """Why something is done."""

    reason: Visible = REASON


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


class ArmBody(Shape):
    """An arm that comes; with features where the others have some."""

    arm: Visible = Field(examples=["E"], description="A name.")
    features: list[FiniteFloat] | None = Field(
        default=None, examples=[None], description="A list of numbers, as long as those of the other arms."
    )
    reason: Visible = REASON
    id: Visible | None = ID


class WithdrawBody(Shape):
    """An arm that goes, for a reason that is not its rewards."""

    arm: str = Field(examples=["B"], description="The name of an arm.")
    reason: Visible = REASON
    id: Visible | None = ID


class CorrectionBody(Shape):
    """What a batch should have said."""

    agent: str = Field(pattern=PATTERN, examples=["lab-a"], description=NAMED)
    sequence: int = Field(ge=1, le=2**53, examples=[1], description="A whole number from 1.")
    tally: dict[str, Any] | None = Field(
        default=None,
        examples=[{"A": [3, 1.25], "B": [2, 0.5]}],
        description="An object, like the tally of the upload.",
    )
    counts: dict[str, list[Any]] | None = Field(
        default=None,
        examples=[None],
        description="An object of arm: [pulls, sum, squares] with plain sums, in the place of the tally.",
    )
    reason: Visible = REASON
    id: Visible | None = ID

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.tally is None) == (self.counts is None):
            raise UserError("tally: say what the batch should have said, as tally or as counts.")
        return self


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


class ChangedAnswer(Shape):
    """Where a change stands in the log, and what the study says with it."""

    position: int
    verdict: VerdictAnswer
    now: VerdictAnswer = Field(description="What the data say; the verdict stays once the study is over.")
    sentence: str


class EventAnswer(Shape):
    """What was done to a study, and by whom."""

    position: int
    kind: str
    by: str
    sentence: str
    at: str = Field(examples=[TIME])


class TokenBody(Shape):
    """Who a token is for, an agent by its name or a viewer, and how long it lives."""

    role: Literal["agent", "viewer"] = Field(examples=["agent"], description="Agent or viewer.")
    agent: str | None = Field(default=None, pattern=PATTERN, examples=["lab-a"], description=NAMED)
    expires_in: float | None = EXPIRES_IN

    @model_validator(mode="after")
    def _who_has_a_name(self) -> Self:
        if self.role == "agent":
            check_name("agent", self.agent)
        elif self.agent is not None:
            raise UserError("agent is given for a viewer; a viewer speaks for no agent, so leave it out.")
        return self


class AdminTokenBody(Shape):
    """How long another administrator's token lives."""

    expires_in: float | None = EXPIRES_IN


class TokenAnswer(Shape):
    """What is known about a token."""

    id: str = Field(examples=["0a1b2c3d4e5f"])
    role: Literal["admin", "agent", "viewer"] = Field(examples=["agent"])
    study: str | None = Field(examples=["ligands"])
    agent: str | None = Field(examples=["lab-a"])
    created_at: str = Field(examples=[TIME])
    expires_at: str | None = Field(examples=[None])
    revoked_at: str | None = Field(examples=[None])


class NewTokenAnswer(TokenAnswer):
    """A new token; `token` is shown this once."""

    token: str = Field(examples=["…43 letters, shown once…"])


class TokensAnswer(Shape):
    """Tokens without their secrets."""

    tokens: list[TokenAnswer]


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


class ArmAnswer(Shape):
    """An arm's estimate; null where there is none yet."""

    arm: str
    pulls: int
    mean: float | None
    low: float | None
    high: float | None
    rank: int = Field(description="1 is the leader; then by what is shown, the best first.")


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


def body(shape: type[Shape]) -> dict[str, Any]:
    """The OpenAPI description of a request body."""
    schema = shape.model_json_schema()
    example = {
        name: field["examples"][0] for name, field in schema["properties"].items() if "examples" in field
    }
    content = {"application/json": {"schema": schema, "example": example}}
    return {"requestBody": {"required": not may_be_empty(shape), "content": content}}
