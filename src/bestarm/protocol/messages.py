"""What agents and servers say to each other, and the one place where a message from outside is checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestarm.core.tally import Tally
from bestarm.errors import UserError
from bestarm.methods.method import Verdict
from bestarm.problem import Problem

MOST_PULLS = 2**53  # the largest count that every JSON reader keeps exactly


class ProtocolError(UserError):
    """A message that is refused; nothing has changed."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One experiment to do: tell its reward, or give it back. Numbers are never used twice by an agent."""

    number: int
    arm: str


@dataclass(frozen=True, slots=True)
class Upload:
    """An agent's batch: what it saw since its last upload. `sequence` counts an agent's uploads from 1."""

    problem: str
    agent: str
    sequence: int
    tally: Tally

    def to_json(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {
            "problem": self.problem,
            "agent": self.agent,
            "sequence": self.sequence,
            "tally": self.tally.to_json(names),
        }

    @classmethod
    def from_json(cls, value: object, problem: Problem) -> Upload:
        """An upload from decoded JSON; a `ProtocolError` in one sentence if it can't be one of this problem."""
        fields = _fields("upload", value, {"problem", "agent", "sequence", "tally"})
        agent, sequence = fields["agent"], fields["sequence"]
        if not isinstance(agent, str) or not agent:
            raise ProtocolError(f"upload: agent is {agent!r}; it must be a name.")
        if isinstance(sequence, bool) or not isinstance(sequence, int) or sequence < 1:
            raise ProtocolError(f"upload: sequence is {sequence!r}; it must be a whole number of at least 1.")
        if not isinstance(fields["problem"], str):
            raise ProtocolError(
                f"upload: problem is {fields['problem']!r}; it must be a problem's fingerprint."
            )
        upload = cls(fields["problem"], agent, sequence, tally_from_json(fields["tally"], problem))
        check_upload(upload, problem)
        return upload


@dataclass(frozen=True, slots=True)
class Download:
    """The server's answer while the study goes on: everything that it knows."""

    problem: str
    total: Tally

    def to_json(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {"kind": "download", "problem": self.problem, "total": self.total.to_json(names)}


@dataclass(frozen=True, slots=True)
class Stop:
    """The server's answer once the best arm is known; it never changes."""

    problem: str
    verdict: Verdict

    def to_json(self, names: tuple[str, ...]) -> dict[str, Any]:
        return {"kind": "stop", "problem": self.problem, "verdict": verdict_to_json(self.verdict)}


def reply_from_json(value: object, problem: Problem) -> Download | Stop:
    """A server's answer from decoded JSON."""
    if not isinstance(value, Mapping) or value.get("kind") not in ("download", "stop"):
        raise ProtocolError("reply: kind must be download or stop.")
    if value.get("problem") != problem.fingerprint:
        raise ProtocolError(
            f"reply: it is for problem {value.get('problem')!r}, and this is problem {problem.fingerprint!r}."
        )
    if value["kind"] == "download":
        return Download(problem.fingerprint, tally_from_json(value.get("total"), problem))
    return Stop(problem.fingerprint, verdict_from_json(value.get("verdict")))


def verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict in plain values; a breaking index that is still infinite becomes null."""
    index = verdict.breaking_index
    return {
        "stopped": verdict.stopped,
        "arm": verdict.arm,
        "leader": verdict.leader,
        "challenger": verdict.challenger,
        "breaking_index": index if math.isfinite(index) else None,
        "evidence": verdict.evidence,
        "samples": verdict.samples,
    }


def verdict_from_json(value: object) -> Verdict:
    """The inverse of `verdict_to_json`."""
    fields = _fields(
        "verdict",
        value,
        {"stopped", "arm", "leader", "challenger", "breaking_index", "evidence", "samples"},
    )
    index = fields["breaking_index"]
    return Verdict(
        stopped=bool(fields["stopped"]),
        leader=str(fields["leader"]),
        challenger=str(fields["challenger"]),
        breaking_index=math.inf if index is None else float(index),
        evidence=float(fields["evidence"]),
        samples=int(fields["samples"]),
    )


def tally_from_json(value: object, problem: Problem) -> Tally:
    """A tally from decoded JSON, `{arm: [pulls, reward_sum]}`; every entry is checked."""
    if not isinstance(value, Mapping):
        raise ProtocolError(f"tally: it is {value!r}; it must be an object of arm: [pulls, reward_sum].")
    known = set(problem.arms)
    for arm, entry in value.items():
        if arm not in known:
            raise ProtocolError(f"tally: arm {arm!r} is not an arm of problem {problem.name!r}.")
        if not isinstance(entry, list | tuple) or len(entry) != 2:
            raise ProtocolError(f"tally: arm {arm!r} has {entry!r}; it must be [pulls, reward_sum].")
        pulls, total = entry
        if isinstance(pulls, bool) or not isinstance(pulls, int) or not 0 < pulls < MOST_PULLS:
            raise ProtocolError(f"tally: arm {arm!r} has pulls {pulls!r}; it must be a whole number above 0.")
        if isinstance(total, bool) or not isinstance(total, int | float) or not math.isfinite(total):
            raise ProtocolError(f"tally: arm {arm!r} has reward sum {total!r}; it must be a finite number.")
    return Tally.from_json(value, problem.arms)


def check_upload(upload: Upload, problem: Problem) -> None:
    """Refuse a batch that no agent of this problem can have sent, whether it came by JSON or from Python."""
    if upload.problem != problem.fingerprint:
        raise ProtocolError(
            f"upload: it is for problem {upload.problem!r}, and this study is about {problem.fingerprint!r}."
        )
    pulls, sums = upload.tally.pulls, upload.tally.reward_sums
    if not np.issubdtype(pulls.dtype, np.integer) or pulls.shape != (len(problem.arms),):
        raise ProtocolError(
            f"tally: it must have one whole number of pulls for each of {len(problem.arms)} arms."
        )
    if sums.shape != pulls.shape or not np.isfinite(sums).all():
        raise ProtocolError("tally: every reward sum must be a finite number.")
    if (pulls < 0).any() or not pulls.any():
        raise ProtocolError("tally: pulls must not be negative, and at least one arm must have been pulled.")
    if (sums[pulls == 0] != 0).any():
        raise ProtocolError("tally: an arm that was not pulled has a reward sum.")
    if problem.reward_range is not None:
        low, high = problem.reward_range
        slack = 1e-9 * max(abs(low), abs(high)) * pulls
        if ((sums < low * pulls - slack) | (sums > high * pulls + slack)).any():
            raise ProtocolError(f"tally: a reward sum can't come from rewards between {low} and {high}.")


def _fields(what: str, value: object, expected: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ProtocolError(
            f"{what}: it is {value!r}; it must be an object with {', '.join(sorted(expected))}."
        )
    missing, unknown = expected - value.keys(), value.keys() - expected
    if missing or unknown:
        problem = (
            f"lacks {', '.join(sorted(missing))}" if missing else f"has unknown {sorted(map(str, unknown))}"
        )
        raise ProtocolError(f"{what}: it {problem}; it must have {', '.join(sorted(expected))}.")
    return value
