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
from bestarm.problem.checks import MOST_REWARD, stretched

MOST_PULLS = 2**53  # the largest count that every JSON reader keeps exactly


class ProtocolError(UserError):
    """A message that is refused; nothing has changed."""


class Conflict(ProtocolError):
    """An upload whose agent has sent another one with the same sequence."""


class Gap(ProtocolError):
    """An upload before which another one is missing."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One experiment to do: tell its reward, or give it back. Numbers are never used twice by an agent.

    >>> Trial(number=17, arm="XPhos").arm
    'XPhos'
    """

    number: int
    arm: str


@dataclass(frozen=True, slots=True)
class Upload:
    """An agent's batch: what it saw since its last upload. `sequence` counts an agent's uploads from 1.

    >>> problem = Problem(["A", "B"], sigma=0.3)
    >>> upload = Upload(problem.fingerprint, "lab-a", 1, Tally.of([2, 0], [1.5, 0.0]))
    >>> upload.to_json(problem.arms)["tally"]
    {'A': [2, 1.5]}
    >>> Upload.from_json(upload.to_json(problem.arms), problem) == upload
    True
    """

    problem: str
    agent: str
    sequence: int
    tally: Tally

    def to_json(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Plain values; `names` are the problem's arms."""
        return {
            "problem": self.problem,
            "agent": self.agent,
            "sequence": self.sequence,
            "tally": self.tally.to_json(names),
        }

    @classmethod
    def from_json(cls, value: object, problem: Problem) -> Upload:
        """An upload from decoded JSON; a `ProtocolError` in one sentence if it is not one of this problem.

        Whether its sums can be true is for `Server.receive` to say.
        """
        fields = _fields("upload", value, {"problem", "agent", "sequence", "tally"})
        tally = tally_from_json(fields["tally"], problem)
        upload = cls(fields["problem"], fields["agent"], fields["sequence"], tally)
        check_sender(upload, problem)
        return upload


@dataclass(frozen=True, slots=True)
class Download:
    """The server's answer while the study goes on: everything that it knows.

    >>> Download("3b1c", Tally.of([1, 1], [0.5, 0.25])).to_json(("A", "B"))["total"]
    {'A': [1, 0.5], 'B': [1, 0.25]}
    """

    problem: str
    total: Tally

    def to_json(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Plain values; `names` are the problem's arms."""
        return {"kind": "download", "problem": self.problem, "total": self.total.to_json(names)}


@dataclass(frozen=True, slots=True)
class Stop:
    """The server's answer once the best arm is known; it never changes.

    >>> Stop("3b1c", Verdict(True, "A", "B", -0.1, 1.2, 40)).to_json(("A", "B"))["verdict"]["arm"]
    'A'
    """

    problem: str
    verdict: Verdict

    def to_json(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Plain values."""
        return {"kind": "stop", "problem": self.problem, "verdict": verdict_to_json(self.verdict)}


def reply_from_json(value: object, problem: Problem) -> Download | Stop:
    """A server's answer from decoded JSON."""
    if not isinstance(value, Mapping) or value.get("kind") not in ("download", "stop"):
        raise ProtocolError("reply: kind must be download or stop.")
    if value.get("problem") != problem.fingerprint:
        raise ProtocolError(
            f"reply: it is for problem {_show(value.get('problem'))}, and this is problem "
            f"{problem.fingerprint!r}."
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
    index, evidence, samples = fields["breaking_index"], fields["evidence"], fields["samples"]
    if not isinstance(fields["stopped"], bool):
        raise ProtocolError(f"verdict: stopped is {_show(fields['stopped'])}; it must be true or false.")
    for name in ("leader", "challenger"):
        if not isinstance(fields[name], str):
            raise ProtocolError(f"verdict: {name} is {_show(fields[name])}; it must be the name of an arm.")
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 0:
        raise ProtocolError(f"verdict: samples is {_show(samples)}; it must be a whole number.")
    if not _finite(evidence) or not (index is None or _finite(index)):
        raise ProtocolError("verdict: evidence and breaking_index must be finite numbers, the latter or null.")
    return Verdict(
        stopped=fields["stopped"],
        leader=fields["leader"],
        challenger=fields["challenger"],
        breaking_index=math.inf if index is None else float(index),
        evidence=float(evidence),
        samples=samples,
    )


def tally_from_json(value: object, problem: Problem) -> Tally:
    """A tally from decoded JSON, `{arm: [pulls, reward_sum]}`; every entry is checked."""
    if not isinstance(value, Mapping):
        raise ProtocolError(f"tally: it is {_show(value)}; it must be an object of arm: [pulls, reward_sum].")
    known = set(problem.arms)
    for arm, entry in value.items():
        if arm not in known:
            raise ProtocolError(f"tally: arm {_show(arm)} is not an arm of problem {problem.name!r}.")
        if not isinstance(entry, list | tuple) or len(entry) != 2:
            raise ProtocolError(f"tally: arm {arm!r} has {_show(entry)}; it must be [pulls, reward_sum].")
        pulls, total = entry
        if isinstance(pulls, bool) or not isinstance(pulls, int) or not 0 < pulls < MOST_PULLS:
            raise ProtocolError(
                f"tally: arm {arm!r} has pulls {_show(pulls)}; it must be a whole number above 0, below 2**53."
            )
        if not _finite(total):
            raise ProtocolError(
                f"tally: arm {arm!r} has reward sum {_show(total)}; it must be a finite number."
            )
    return Tally.from_json(value, problem.arms)


def check_sender(upload: Upload, problem: Problem) -> None:
    """Refuse a batch that is for another problem, or from nobody, or without a number."""
    if upload.problem != problem.fingerprint:
        raise ProtocolError(
            f"upload: it is for problem {_show(upload.problem)}, and this study is about "
            f"{problem.fingerprint!r}."
        )
    agent, sequence = upload.agent, upload.sequence
    if not isinstance(agent, str) or not agent:
        raise ProtocolError(f"upload: agent is {_show(agent)}; it must be a name.")
    if isinstance(sequence, bool) or not isinstance(sequence, int) or sequence < 1:
        raise ProtocolError(f"upload: sequence is {_show(sequence)}; it must be a whole number of at least 1.")


def check_tally(tally: Tally, problem: Problem) -> None:
    """Refuse numbers that no agent of this problem can have seen, whether they came by JSON or from Python."""
    pulls, sums = tally.pulls, tally.reward_sums
    # Other types would spoil the total when they are added to it: uint64 and int64 make float64.
    if pulls.dtype != np.int64 or pulls.shape != (len(problem.arms),):
        raise ProtocolError(
            f"tally: it must have one whole number of pulls (int64) for each of {len(problem.arms)} arms."
        )
    if sums.dtype != np.float64 or sums.shape != pulls.shape:
        raise ProtocolError("tally: it must have one reward sum (float64) for each arm.")
    least, most = int(pulls.min()), int(pulls.max())
    if least < 0 or most == 0:
        raise ProtocolError("tally: pulls must not be negative, and at least one arm must have been pulled.")
    if most >= MOST_PULLS:
        raise ProtocolError("tally: an arm has more pulls than JSON keeps exactly, 2**53.")
    limits = problem.reward_range or (-MOST_REWARD, MOST_REWARD)
    low, high = stretched(limits)
    possible = (sums >= low * pulls) & (sums <= high * pulls)  # only 0 without pulls; never NaN
    if not possible.all():
        k = int(np.argmin(possible))
        raise ProtocolError(
            f"tally: arm {problem.arms[k]!r} has pulls {pulls[k]} and reward sum {sums[k]}; that can't come "
            f"from rewards between {limits[0]} and {limits[1]}."
        )


def _fields(what: str, value: object, expected: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ProtocolError(
            f"{what}: it is {_show(value)}; it must be an object with {', '.join(sorted(expected))}."
        )
    missing, unknown = expected - value.keys(), value.keys() - expected
    if missing or unknown:
        problem = (
            f"lacks {', '.join(sorted(missing))}"
            if missing
            else f"has unknown {_show(sorted(map(str, unknown)))}"
        )
        raise ProtocolError(f"{what}: it {problem}; it must have {', '.join(sorted(expected))}.")
    return value


def _finite(value: object) -> bool:
    """Whether a value is a number that a float can hold; True and False are not numbers."""
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number past the largest float
        return False


def _show(value: object) -> str:
    """A value as it came, on one line and not too long for a sentence."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python does not print a number of more than 4300 digits
        return "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."
