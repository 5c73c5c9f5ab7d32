"""What agents and servers say to each other, and the one place where a message from outside is checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bestarm.core.bets import BETS, PAIR, WIDTH
from bestarm.core.plan import Plan
from bestarm.core.tally import Tally
from bestarm.errors import UserError
from bestarm.protocol.entries import Join, Upload
from bestarm.protocol.places import places_of
from bestarm.protocol.terms import Terms
from bestarm.reward import MOST_REWARD, ROUNDING, YES_NO, Limits, stretched
from bestarm.reward import show as _show
from bestarm.verdict import Reason, Verdict

MOST_PULLS = 2**53  # the largest count that every JSON reader keeps exactly


class ProtocolError(UserError):
    """A message that is refused; nothing has changed."""


class Conflict(ProtocolError):
    """An upload whose agent has sent another one with the same sequence."""


class Gap(ProtocolError):
    """An upload before which another one is missing."""


class Over(ProtocolError):
    """An entry for a study that was closed."""


class UnknownArm(ProtocolError):
    """A message about an arm that the study does not have."""


class About(Protocol):
    """What a message is checked against: a problem, or a site's terms of it."""

    @property
    def name(self) -> str: ...

    @property
    def arms(self) -> tuple[str, ...]: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def reward_range(self) -> Limits | None: ...


@dataclass(frozen=True, slots=True)
class Trial:
    """One experiment to do: tell its reward, or give it back. Numbers are never used twice by an agent.

    >>> Trial(number=17, arm="XPhos").arm
    'XPhos'
    """

    number: int
    arm: str
    item: int | str | None = None  # what it is tried on, where the study has items


def trial_to_json(trial: Trial) -> dict[str, Any]:
    """A trial in plain values, with its item if it has one."""
    body = {"trial": trial.number, "arm": trial.arm}
    return body if trial.item is None else body | {"item": trial.item}


@dataclass(frozen=True, slots=True)
class Download:
    """The server's answer while the study goes on: the plan, and for the paper's methods everybody's total.

    Without a plan the agent makes its own from the total. `arms` are the names that plan and total are about,
    if they are not the problem's own any more, and `withdrawn` those of them that nobody needs to try now.
    `times` is how many batches a site that works on several at once may have in hand, those that wait for their
    answers included.

    >>> Download("3b1c", Tally.of([1, 1], [0.5, 0.25])).to_json(("A", "B"))["total"]
    {'A': [1, 0.5], 'B': [1, 0.25]}
    >>> Download("3b1c", plan=Plan((1, 0), (3, 2))).to_json(("A", "B"))["plan"]
    [['B', 3], ['A', 2]]
    """

    problem: str
    total: Tally | None = None
    plan: Plan | None = None
    arms: tuple[str, ...] = ()
    withdrawn: tuple[str, ...] = ()
    times: int = 1

    def to_json(self, names: Sequence[str]) -> dict[str, Any]:
        """Plain values; `names` are the problem's arms."""
        names = self.arms or names
        body: dict[str, Any] = {"kind": "download", "problem": self.problem}
        if self.plan is not None:
            body["plan"] = plan_to_json(self.plan, names)
        if self.total is not None:
            body["total"] = self.total.to_json(names)
        if self.arms:
            body["arms"] = list(self.arms)
        if self.withdrawn:
            body["withdrawn"] = list(self.withdrawn)
        if self.times != 1:
            body["times"] = self.times
        return body


@dataclass(frozen=True, slots=True)
class Stop:
    """The server's answer once the study is over; it never changes.

    `said` is what could be said then, where the best arm was not known.

    >>> Stop("3b1c", Verdict(True, "A", "B", -0.1, 1.2, 40)).to_json(("A", "B"))["verdict"]["arm"]
    'A'
    """

    problem: str
    verdict: Verdict
    said: str = ""

    def to_json(self, names: Sequence[str] = ()) -> dict[str, Any]:
        """Plain values."""
        body = {"kind": "stop", "problem": self.problem, "verdict": verdict_to_json(self.verdict)}
        return body | {"said": self.said} if self.said else body


def reply_from_json(value: object, problem: About) -> Download | Stop:
    """A server's answer from decoded JSON."""
    if not isinstance(value, Mapping) or value.get("kind") not in ("download", "stop"):
        raise ProtocolError("reply: kind must be download or stop.")
    if value.get("problem") != problem.fingerprint:
        raise ProtocolError(
            f"reply: it is for problem {_show(value.get('problem'))}, and this is problem "
            f"{problem.fingerprint!r}."
        )
    if value["kind"] == "stop":
        said = value.get("said", "")
        if not isinstance(said, str):
            raise ProtocolError(f"reply: said is {_show(said)}; it must be text.")
        return Stop(problem.fingerprint, verdict_from_json(value.get("verdict")), said)
    arms, withdrawn = (_names(value, key) for key in ("arms", "withdrawn"))
    names = arms or problem.arms
    total = tally_from_json(value["total"], problem.name, names) if "total" in value else None
    plan = plan_from_json(value["plan"], names) if "plan" in value else None
    if total is None and plan is None:
        raise ProtocolError("reply: a download must have a plan or a total.")
    times = value.get("times", 1)
    if not _whole(times) or not 0 <= times < MOST_PULLS:
        raise ProtocolError(f"reply: times is {_show(times)}; it must be a whole number of at least 0.")
    return Download(problem.fingerprint, total, plan, arms, withdrawn, times)


def _names(value: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names = value.get(key, [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ProtocolError(f"reply: {key} is {_show(names)}; it must be a list of names.")
    return tuple(names)


def plan_to_json(plan: Plan, names: Sequence[str]) -> list[list[Any]]:
    """A plan in plain values: `[[arm, how often], …]`, in its order; with bets `[[arm, how often, rival], …]`.

    >>> plan_to_json(Plan((1, 0), (3, 2), (0, -1)), ("A", "B"))
    [['B', 3, 'A'], ['A', 2, None]]
    """
    rows: list[list[Any]] = [[names[arm], count] for arm, count in zip(plan.arms, plan.counts, strict=True)]
    for row, rival in zip(rows, plan.rivals, strict=False):  # mostly there are no rivals
        row.append(None if rival < 0 else names[rival])
    return rows


def plan_from_json(value: object, names: Sequence[str]) -> Plan:
    """The inverse of `plan_to_json`; every entry is checked."""
    places = places_of(tuple(names))
    if not isinstance(value, list):
        raise ProtocolError(f"plan: it is {_show(value)}; it must be a list of [arm, how often].")
    for row in value:
        if not isinstance(row, list) or not 2 <= len(row) <= 3 or not _arm(row[0], places):
            raise ProtocolError(f"plan: it has {_show(row)}; it must be [arm, how often].")
        if len(row) != len(value[0]) or not (row[2:] in ([], [None]) or _arm(row[2], places)):
            raise ProtocolError(f"plan: it has {_show(row)}; the third must be an arm, its rival, or null.")
        if not _whole(row[1]) or not 0 < row[1] < MOST_PULLS:
            raise ProtocolError(f"plan: arm {row[0]!r} has {_show(row[1])}; it must be a whole number above 0.")
    rivals = tuple(places.get(row[2], -1) for row in value if len(row) == 3)
    return Plan(tuple(places[row[0]] for row in value), tuple(row[1] for row in value), rivals)


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
        "reason": None if verdict.reason is None else verdict.reason.value,
    }


def verdict_from_json(value: object) -> Verdict:
    """The inverse of `verdict_to_json`."""
    needed = {"stopped", "arm", "leader", "challenger", "breaking_index", "evidence", "samples"}
    if isinstance(value, Mapping) and "reason" not in value:  # as the first version wrote it
        value = {**value, "reason": None}
    fields = _fields("verdict", value, needed | {"reason"})
    index, evidence, samples = fields["breaking_index"], fields["evidence"], fields["samples"]
    if not isinstance(fields["stopped"], bool):
        raise ProtocolError(f"verdict: stopped is {_show(fields['stopped'])}; it must be true or false.")
    for name in ("leader", "challenger"):
        if not isinstance(fields[name], str):
            raise ProtocolError(f"verdict: {name} is {_show(fields[name])}; it must be the name of an arm.")
    if not _whole(samples) or samples < 0:
        raise ProtocolError(f"verdict: samples is {_show(samples)}; it must be a whole number.")
    if not _finite(evidence) or not (index is None or _finite(index)):
        raise ProtocolError("verdict: evidence and breaking_index must be finite numbers, the latter or null.")
    reason = fields["reason"]
    if reason is not None and reason not in [known.value for known in Reason]:
        raise ProtocolError(f"verdict: reason is {_show(reason)}, which is none.")
    return Verdict(
        stopped=fields["stopped"],
        leader=fields["leader"],
        challenger=fields["challenger"],
        breaking_index=math.inf if index is None else float(index),
        evidence=float(evidence),
        samples=samples,
        reason=None if reason is None else Reason(reason),
    )


def upload_from_json(value: object, problem: About, arms: Sequence[str] = ()) -> Upload:
    """An upload from decoded JSON; `arms` are the study's, if they are not the problem's own any more."""
    fields = _fields("upload", value, {"problem", "agent", "sequence", "tally"})
    tally = tally_from_json(fields["tally"], problem.name, arms or problem.arms)
    upload = Upload(fields["problem"], fields["agent"], fields["sequence"], tally)
    check_sender(upload, problem)
    return upload


def tally_from_json(value: object, name: str, arms: Sequence[str]) -> Tally:
    """A tally from decoded JSON, `{arm: [pulls, sum]}` or `{arm: [pulls, sum, squares]}`; all is checked.

    With sums against a rival it is `{arm: [pulls, sum, rival, bet, bet, …]}`, or for items `{arm: [pulls, sum,
    rival, pairs, Σd, Σd²]}`.
    """
    if not isinstance(value, Mapping):
        raise ProtocolError(f"tally: it is {_show(value)}; it must be an object of arm: [pulls, reward_sum].")
    places = places_of(tuple(arms))
    rows: dict[int, Sequence[Any]] = {}
    for arm, row in value.items():
        if arm not in places:
            raise UnknownArm(f"tally: arm {_show(arm)} is not an arm of problem {name!r}.")
        if not isinstance(row, (list, tuple)) or len(row) not in (2, 3, 3 + PAIR, 3 + WIDTH):
            raise ProtocolError(f"tally: arm {arm!r} has {_show(row)}; it must be [pulls, reward_sum].")
        if not _whole(row[0]) or not 0 < row[0] < MOST_PULLS:
            raise ProtocolError(
                f"tally: arm {arm!r} has pulls {_show(row[0])}; it must be a whole number above 0, below 2**53."
            )
        rival = len(row) > 3
        for place, number in enumerate(row[1:], start=1):
            if not _finite(number) and not (rival and place == 2):
                what = "reward sum" if place == 1 else "a sum against its rival" if rival else "squares"
                raise ProtocolError(
                    f"tally: arm {arm!r} has {what} {_show(number)}; it must be a finite number."
                )
        if rival and row[2] is not None and (not _arm(row[2], places) or row[2] == arm):
            raise ProtocolError(f"tally: arm {arm!r} has the rival {_show(row[2])}; it must be another arm.")
        rows[places[arm]] = row
    lengths = set(map(len, rows.values()))
    if len(lengths) > 1:
        raise ProtocolError(
            f"tally: all arms must have {'a rival' if max(lengths) > 3 else 'squares'}, or none."
        )
    return Tally.from_named(rows, places, len(arms))


def _arm(value: object, places: Mapping[str | None, int]) -> bool:
    return isinstance(value, str) and value in places


def check_sender(upload: Upload, problem: About) -> None:
    """Refuse a batch that is for another problem, or from nobody, or without a number."""
    if upload.problem != problem.fingerprint:
        raise ProtocolError(
            f"upload: it is for problem {_show(upload.problem)}, and this study is about "
            f"{problem.fingerprint!r}."
        )
    agent, sequence = upload.agent, upload.sequence
    if not isinstance(agent, str) or not agent:
        raise ProtocolError(f"upload: agent is {_show(agent)}; it must be a name.")
    if not _whole(sequence) or sequence < 1:
        raise ProtocolError(f"upload: sequence is {_show(sequence)}; it must be a whole number of at least 1.")


def check_site(join: Join) -> None:
    """Refuse a site without a name, or one that does no trials at all."""
    if not isinstance(join.agent, str) or not join.agent:
        raise ProtocolError(f"join: agent is {_show(join.agent)}; it must be a name.")
    sizes = {"plates": join.plates, "room": join.room}
    if join.plate is not None:
        sizes["plate"] = join.plate
    for what, size in sizes.items():
        if not _whole(size) or not 1 <= size < MOST_PULLS:
            raise ProtocolError(f"join: {what} is {_show(size)}; it must be a whole number of at least 1.")


def check_tally(tally: Tally, terms: Terms, arms: Sequence[str]) -> None:
    """Refuse numbers that no agent of this study can have seen, whether they came by JSON or from Python.

    `arms` are all that the study ever had. A batch that was begun before an arm came is about fewer.
    """
    if not len(terms.arms) <= tally.size <= len(arms):
        raise ProtocolError(f"tally: it is about {tally.size} arms, and the study has {len(arms)}.")
    _check_columns(tally)
    if not any(tally.counts) or min(tally.counts) < 0:
        raise ProtocolError("tally: pulls must not be negative, and at least one arm must have been pulled.")
    if max(tally.counts) >= MOST_PULLS:
        raise ProtocolError("tally: an arm has more pulls than JSON keeps exactly, 2**53.")
    if bool(tally.squares) != terms.squares:
        wanted = "asks for" if terms.squares else "does not ask for"
        raise ProtocolError(f"tally: the study's test {wanted} sums of squares.")
    limits = terms.reward_range or (-MOST_REWARD, MOST_REWARD)
    low, high = stretched(limits)
    for arm, pulls, total in zip(tally.arms, tally.counts, tally.sums, strict=True):
        if pulls == 0 or not low * pulls <= total <= high * pulls:
            raise ProtocolError(
                f"tally: arm {arms[arm]!r} has pulls {pulls} and reward sum {total}; that can't come "
                f"from rewards between {limits[0]} and {limits[1]}."
            )
        if terms.rewards == YES_NO and not float(total).is_integer():
            raise ProtocolError(
                f"tally: arm {arms[arm]!r} has reward sum {total}; rewards of 0 and 1 have a whole number."
            )
    if terms.squares:
        _check_squares(tally, terms, arms)
    if tally.against or terms.items:
        _check_against(tally, terms, arms)


def _check_columns(tally: Tally) -> None:
    """A tally that was put together by hand may have any columns."""
    places = list(tally.arms)
    if places != sorted(set(places)) or (places and not 0 <= places[0] <= places[-1] < tally.size):
        raise ProtocolError(
            f"tally: its arms must be numbers from 0 to {tally.size - 1}, each once, in ascending order."
        )
    lengths = {len(tally.counts), len(tally.sums), len(tally.squares) or len(places)}
    if lengths != {len(places)}:
        raise ProtocolError("tally: it must have one number of pulls and one reward sum for each of its arms.")
    width, rivals = len(tally.against) // max(len(tally.rivals), 1), len(tally.rivals)
    if width not in (0, PAIR, WIDTH) or width * rivals != len(tally.against) or rivals not in (0, len(places)):
        raise ProtocolError("tally: it must have a rival, and so many sums against it, for each of its arms.")


def _check_squares(tally: Tally, terms: Terms, arms: Sequence[str]) -> None:
    """Squares of n numbers with a given sum are at least the sum's square over n, up to rounding.

    A sum of n numbers r is off by at most n · 2⁻⁵³ · Σ|r|, and Σ|r| ≤ n|centre| + √(n · squares).
    """
    for arm, pulls, total, squares in zip(tally.arms, tally.counts, tally.sums, tally.squares, strict=True):
        size = pulls * abs(terms.centre) + math.sqrt(pulls * max(squares, 0.0))
        beside = abs(total - pulls * terms.centre) - (pulls + 2) * 2.0**-53 * size
        least = max(beside, 0.0) ** 2 / pulls
        if not math.inf > squares >= least * (1 - ROUNDING):
            raise ProtocolError(
                f"tally: arm {arms[arm]!r} has pulls {pulls}, reward sum {total} and squares {squares}; "
                f"with that sum the squares around {terms.centre} are at least {least}."
            )


def _check_against(tally: Tally, terms: Terms, arms: Sequence[str]) -> None:
    """Refuse sums against a rival that nobody asks for, that are missing, or that can't come from the pulls."""
    if not terms.bets and not terms.pairs:
        raise ProtocolError("tally: the study's test does not ask for sums against a rival.")
    if not tally.against:
        raise ProtocolError(
            "tally: the study has items, and pulls and sums do not say which trials were on the same one; "
            "each arm needs its rival and the sums against it."
        )
    if len(tally.against) != len(tally.rivals) * (PAIR if terms.pairs else WIDTH):
        raise ProtocolError(f"tally: the study's test asks for {'pairs' if terms.pairs else 'bets'}.")
    pulls = dict(zip(tally.arms, tally.counts, strict=True))
    for arm, (rival, sums) in tally.duels.items():
        most = min(pulls[arm], pulls.get(rival, 0))
        if terms.pairs:
            _check_pairs(arms[arm], most, *sums)
        else:
            _check_bets(arms[arm], most, sums)


def _check_bets(arm: str, most: int, logs: Sequence[float]) -> None:
    """A bet λ on n pairs comes to n log(1 − λ) to n log(1 + λ), and there are at most as many as pulls."""
    pairs = most * (1 + ROUNDING)
    for bet, log in zip(BETS, logs, strict=True):
        if not pairs * math.log1p(-bet) <= log <= pairs * math.log1p(bet):
            raise ProtocolError(
                f"tally: arm {arm!r} has {log} for a bet of {bet}; that can't come from its pairs."
            )


def _check_pairs(arm: str, most: int, pairs: float, total: float, square: float) -> None:
    """There are at most as many pairs as pulls, and squares of n numbers are at least their sum's over n."""
    if not (pairs.is_integer() and 0 <= pairs <= most):
        raise ProtocolError(
            f"tally: arm {arm!r} has {pairs:g} pairs with its rival; it must be a whole number up to {most}: "
            "a pair is an item with both."
        )
    least = total * total / pairs if pairs else 0.0
    if not least * (1 - ROUNDING) <= square < math.inf or (not pairs and total != 0.0):
        raise ProtocolError(
            f"tally: arm {arm!r} has {pairs:g} pairs, differences of {total} together and squares of {square}; "
            "that can't come from its pairs."
        )


def _fields(what: str, value: object, expected: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ProtocolError(
            f"{what}: it is {_show(value)}; it must be an object with {', '.join(sorted(expected))}."
        )
    if value.keys() != expected:
        missing, unknown = expected - value.keys(), value.keys() - expected
        problem = (
            f"lacks {', '.join(sorted(missing))}"
            if missing
            else f"has unknown {_show(sorted(map(str, unknown)))}"
        )
        raise ProtocolError(f"{what}: it {problem}; it must have {', '.join(sorted(expected))}.")
    return value


def _whole(value: object) -> bool:
    """Whether a value is a whole number; True and False are not numbers."""
    return type(value) is int


def _finite(value: object) -> bool:
    """Whether a value is a number that a float can hold; True and False are not numbers."""
    try:
        return (type(value) is float or type(value) is int) and math.isfinite(value)
    except OverflowError:  # a whole number past the largest float
        return False
