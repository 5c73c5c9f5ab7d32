"""The shapes of all bodies, for the OpenAPI description; the service itself checks by hand, in one sentence."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
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
PROMISE = "The arm that this study returns is the best one, except with probability at most 0.05."

Tally = dict[str, tuple[int, float]]


class Shape(BaseModel):
    """A body in which every field is named here."""

    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)


class Refusal(Shape):
    """Why nothing was done, in one sentence and in one word."""

    error: str = Field(examples=["this token is unknown, expired or revoked; ask for another one."])
    code: str = Field(examples=["bad-token"])


class Health(Shape):
    """The server answers."""

    status: Literal["ok"]
    version: str = Field(examples=["0.1.0"])


class NewStudy(Shape):
    """A study to be made; it is called like its problem."""

    problem: dict[str, Any] = Field(examples=[PROBLEM], description="As Problem.to_dict makes it.")
    method: str = Field(default="sharp", examples=["sharp"], description="sharp, famabpe or falinpe.")
    agents: int = Field(ge=1, le=1_000_000, examples=[10])
    parameters: dict[str, int | float | str] = Field(default={}, examples=[{"thrift": "messages"}])


class Verdict(Shape):
    """Who leads, who may still be better, and whether that is settled."""

    stopped: bool = Field(examples=[False])
    arm: str | None = Field(examples=[None], description="The answer, once there is one.")
    leader: str = Field(examples=["A"])
    challenger: str = Field(examples=["B"])
    breaking_index: float | None = Field(examples=[0.21], description="null until every arm was pulled.")
    evidence: float = Field(examples=[0.4])
    samples: int = Field(examples=[120])


class Summary(Shape):
    """One line of the list of studies."""

    study: str = Field(examples=["ligands"])
    method: str = Field(examples=["sharp"])
    agents: int = Field(examples=[10])
    state: Literal["open", "stopped", "closed"]
    created_at: str = Field(examples=[TIME])
    samples: int = Field(examples=[120])
    uploads: int = Field(examples=[12])
    communications: int = Field(examples=[24])
    verdict: Verdict


class Listed(Summary):
    """The same, and how it went."""

    last_upload: str | None = Field(examples=[TIME])
    trend: list[float] = Field(
        examples=[[0.1, 0.3, 0.4]], description="The evidence on the way, thinned to 40."
    )


class Studies(Shape):
    """The studies that the caller may see."""

    time: str = Field(examples=[TIME], description="The server's clock.")
    studies: list[Listed]


class Study(Summary):
    """All of a study but its log."""

    problem: dict[str, Any] = Field(examples=[PROBLEM])
    parameters: dict[str, int | float | str] = Field(examples=[PARAMETERS])
    promise: str = Field(examples=[PROMISE])


class NewToken(Shape):
    """Who a token is for."""

    role: Literal["agent", "viewer"] = Field(examples=["agent"])
    agent: str | None = Field(default=None, pattern=NAME, examples=["lab-a"], description="For an agent.")
    expires_in: float | None = Field(default=None, gt=0, examples=[2592000], description="Seconds.")


class NewAdminToken(Shape):
    """How long another administrator's token lives."""

    expires_in: float | None = Field(default=None, gt=0, examples=[2592000], description="Seconds.")


class TokenInfo(Shape):
    """What is known about a token."""

    id: str = Field(examples=["0a1b2c3d4e5f"])
    role: Literal["admin", "agent", "viewer"] = Field(examples=["agent"])
    study: str | None = Field(examples=["ligands"])
    agent: str | None = Field(examples=["lab-a"])
    created_at: str = Field(examples=[TIME])
    expires_at: str | None = Field(examples=[None])
    revoked_at: str | None = Field(examples=[None])


class TokenMade(TokenInfo):
    """A new token; `token` is shown this once."""

    token: str = Field(examples=["…43 letters, shown once…"])


class Tokens(Shape):
    """Tokens without their secrets."""

    tokens: list[TokenInfo]


class Download(Shape):
    """The study goes on: everything that the server knows."""

    kind: Literal["download"]
    problem: str = Field(examples=[FINGERPRINT])
    total: Tally = Field(examples=[{"A": [3, 1.25], "B": [2, 0.5]}])


class Stop(Shape):
    """The study is finished."""

    kind: Literal["stop"]
    problem: str = Field(examples=[FINGERPRINT])
    verdict: Verdict


class Joined(Shape):
    """What an agent needs to start, or to start again."""

    agent: str = Field(examples=["lab-a"])
    sequence: int = Field(examples=[0], description="The agent's last upload that the server has.")
    study: str = Field(examples=["ligands"])
    problem: dict[str, Any] = Field(examples=[PROBLEM])
    method: str = Field(examples=["sharp"])
    parameters: dict[str, int | float | str] = Field(examples=[PARAMETERS])
    agents: int = Field(examples=[10])
    reply: Download | Stop


class Joining(Shape):
    """What an agent says of itself; it may be left out."""

    journal: str | None = Field(
        default=None,
        pattern=NAME,
        examples=["5f0c2b9a4d7e1830"],
        description="The journal that the agent keeps; a second one for the same agent is refused.",
    )


class NewUpload(Shape):
    """What an agent saw since its last upload."""

    problem: str = Field(examples=[FINGERPRINT], description="The problem's fingerprint.")
    agent: str = Field(pattern=NAME, examples=["lab-a"])
    sequence: int = Field(ge=1, le=2**53, examples=[1])
    tally: Tally = Field(examples=[{"A": [3, 1.25], "B": [2, 0.5]}], description="Arm: [pulls, reward sum].")


class Uploaded(Shape):
    """Where an upload stands in the log, and the reply."""

    position: int = Field(ge=1, examples=[1])
    reply: Download | Stop


class Arm(Shape):
    """An arm's estimate; null where there is none yet."""

    arm: str
    pulls: int
    mean: float | None
    low: float | None
    high: float | None


class Site(Shape):
    """An agent that joined."""

    agent: str
    last_seen: str = Field(examples=[TIME])
    samples: int
    uploads: int
    bytes: int = Field(description="Of its uploads, as JSON.")
    plan: int | None = Field(description="Pulls that it was asked for and has not sent; null if not known.")
    stale: bool


class Remaining(Shape):
    """About how many samples are missing."""

    low: int
    high: int


class Status(Study):
    """Everything that a dashboard shows."""

    time: str = Field(examples=[TIME], description="The server's clock.")
    arms: list[Arm]
    sites: list[Site]
    history: list[tuple[int, int, float | None, float, str]]
    remaining: Remaining | None


class Logged(Shape):
    """An upload in the log."""

    position: int
    agent: str
    sequence: int
    tally: Tally
    received_at: str


class Export(Shape):
    """The whole log, and all that is needed to replay it."""

    study: str
    problem: dict[str, Any]
    method: str
    parameters: dict[str, int | float | str]
    agents: int
    uploads: list[Logged]
    verdicts: list[Verdict] = Field(description="After each upload.")
    verdict: Verdict
    entries: list[dict[str, Any]] = Field(
        description="The log itself: position, kind, id, what the entry says, plan and received_at."
    )


def body(shape: type[Shape], *, required: bool = True) -> dict[str, Any]:
    """The OpenAPI description of a request body."""
    schema = shape.model_json_schema()
    example = {
        name: field["examples"][0] for name, field in schema["properties"].items() if "examples" in field
    }
    content = {"application/json": {"schema": schema, "example": example}}
    return {"requestBody": {"required": required, "content": content}}
