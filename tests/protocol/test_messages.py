"""Every message that can't be right is refused with one sentence, and nothing has changed."""

import json
import math
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from bestarm import Agent, Download, Problem, ProtocolError, Server, Stop, Tally, Upload, UserError
from bestarm.methods import method as build
from bestarm.protocol.messages import reply_from_json, verdict_to_json

PROBLEM = Problem(["A", "B", "C"], sigma=0.3, name="ligands")
RANGED = Problem(["A", "B", "C"], reward_range=(-1.0, 2.0), name="ranged")
OTHER = Problem(["A", "B", "C"], sigma=0.4, name="other")
GOOD: dict[str, Any] = {
    "problem": PROBLEM.fingerprint,
    "agent": "lab-a",
    "sequence": 2,
    "tally": {"A": [3, 1.5], "C": [1, -0.25]},
}


def with_(**changed: object) -> dict[str, Any]:
    return GOOD | changed


def tally(entry: object, arm: str = "A") -> dict[str, Any]:
    return with_(tally={arm: entry})


def without(*keys: str) -> dict[str, Any]:
    return {key: value for key, value in GOOD.items() if key not in keys}


# What is wrong with the message, as decoded JSON; and the sentence, where … stands for anything.
WRONG: dict[str, tuple[object, str]] = {
    "no object: null": (None, "upload: it is None; it must be an object with agent, problem, sequence, tally."),
    "no object: list": (
        [GOOD],
        "upload: it is [{…; it must be an object with agent, problem, sequence, tally.",
    ),
    "no object: text": ("upload", "upload: it is 'upload'; it must be an object with …."),
    "no object: number": (7, "upload: it is 7; it must be an object with …."),
    "empty object": ({}, "upload: it lacks agent, problem, sequence, tally; it must have …."),
    "no tally": (without("tally"), "upload: it lacks tally; it must have …."),
    "no agent, no sequence": (
        without("agent", "sequence"),
        "upload: it lacks agent, sequence; it must have ….",
    ),
    "an extra key": (with_(time=3), "upload: it has unknown ['time']; it must have …."),
    "a long extra key": (with_(**{"x" * 5000: 1}), "upload: it has unknown ['xxx…...; it must have …."),
    "another problem": (
        with_(problem=OTHER.fingerprint),
        f"upload: it is for problem {OTHER.fingerprint!r}, and this study is about {PROBLEM.fingerprint!r}.",
    ),
    "problem is a number": (with_(problem=5), "upload: it is for problem 5, and this study is about …."),
    "problem is null": (with_(problem=None), "upload: it is for problem None, and this study is about …."),
    "agent is empty": (with_(agent=""), "upload: agent is ''; it must be a name."),
    "agent is a number": (with_(agent=1), "upload: agent is 1; it must be a name."),
    "agent is null": (with_(agent=None), "upload: agent is None; it must be a name."),
    "sequence is 0": (with_(sequence=0), "upload: sequence is 0; it must be a whole number of at least 1."),
    "sequence is negative": (with_(sequence=-3), "upload: sequence is -3; it must be a whole number …."),
    "sequence is 2.0": (with_(sequence=2.0), "upload: sequence is 2.0; it must be a whole number …."),
    "sequence is 2.5": (with_(sequence=2.5), "upload: sequence is 2.5; it must be a whole number …."),
    "sequence is true": (with_(sequence=True), "upload: sequence is True; it must be a whole number …."),
    "sequence is text": (with_(sequence="2"), "upload: sequence is '2'; it must be a whole number …."),
    "sequence is null": (with_(sequence=None), "upload: sequence is None; it must be a whole number …."),
    "sequence skips one": (
        with_(sequence=3),
        "upload: agent 'lab-a' sent sequence 3; the next one is 2, so an earlier upload is missing and must be "
        "sent first.",
    ),
    "sequence skips many": (
        with_(sequence=2**63),
        "upload: agent 'lab-a' sent sequence 9223372036854775808; ….",
    ),
    "a newcomer starts at 2": (
        with_(agent="lab-z"),
        "upload: agent 'lab-z' sent sequence 2; the next one is 1, ….",
    ),
    "a number again with another tally": (
        with_(sequence=1),
        "upload: agent 'lab-a' sent sequence 1 before with another tally; two processes may be using …name.",
    ),
    "tally is null": (
        with_(tally=None),
        "tally: it is None; it must be an object of arm: [pulls, reward_sum].",
    ),
    "tally is a list": (with_(tally=[1, 2, 3]), "tally: it is [1, 2, 3]; it must be an object of …."),
    "tally is empty": (with_(tally={}), "tally: pulls must not be negative, and at least one arm must have …."),
    "unknown arm": (tally([1, 0.5], "D"), "tally: arm 'D' is not an arm of problem 'ligands'."),
    "arm in the wrong case": (tally([1, 0.5], "a"), "tally: arm 'a' is not an arm of problem 'ligands'."),
    "entry is a number": (tally(1), "tally: arm 'A' has 1; it must be [pulls, reward_sum]."),
    "entry is an object": (tally({"pulls": 1}), "tally: arm 'A' has {'pulls': 1}; it must be …."),
    "entry is text": (tally("12"), "tally: arm 'A' has '12'; it must be [pulls, reward_sum]."),
    "entry too short": (tally([1]), "tally: arm 'A' has [1]; it must be [pulls, reward_sum]."),
    "entry too long": (tally([1, 0.5, 0.25, 0]), "tally: arm 'A' has [1, 0.5, 0.25, 0]; it must be …."),
    "squares that nobody asked for": (tally([1, 0.5, 0.25]), "tally: the study's test does not ask for …."),
    "squares of one arm": (
        with_(tally={"A": [1, 0.5, 0.25], "B": [1, 0.5]}),
        "tally: all arms must have squares, or none.",
    ),
    "squares NaN": (tally([1, 0.5, math.nan]), "tally: arm 'A' has squares nan; it must be a finite …."),
    "pulls negative": (tally([-1, 0.5]), "tally: arm 'A' has pulls -1; it must be a whole number above 0, …."),
    "pulls zero": (tally([0, 0.0]), "tally: arm 'A' has pulls 0; it must be a whole number above 0, …."),
    "pulls fractional": (tally([1.5, 0.5]), "tally: arm 'A' has pulls 1.5; it must be a whole number …."),
    "pulls a whole float": (tally([2.0, 0.5]), "tally: arm 'A' has pulls 2.0; it must be a whole number …."),
    "pulls NaN": (tally([math.nan, 0.5]), "tally: arm 'A' has pulls nan; it must be a whole number …."),
    "pulls infinite": (tally([math.inf, 0.5]), "tally: arm 'A' has pulls inf; it must be a whole number …."),
    "pulls true": (tally([True, 0.5]), "tally: arm 'A' has pulls True; it must be a whole number …."),
    "pulls text": (tally(["1", 0.5]), "tally: arm 'A' has pulls '1'; it must be a whole number …."),
    "pulls null": (tally([None, 0.5]), "tally: arm 'A' has pulls None; it must be a whole number …."),
    "pulls 2**53": (tally([2**53, 0.5]), "tally: arm 'A' has pulls 9007199254740992; it must …, below 2**53."),
    "pulls 2**63": (tally([2**63, 0.5]), "tally: arm 'A' has pulls 9223372036854775808; it must …."),
    "pulls beyond printing": (tally([10**5000, 0.5]), "tally: arm 'A' has pulls a number of thousands of …."),
    "sum NaN": (tally([1, math.nan]), "tally: arm 'A' has reward sum nan; it must be a finite number."),
    "sum infinite": (tally([1, math.inf]), "tally: arm 'A' has reward sum inf; it must be a finite number."),
    "sum minus infinite": (tally([1, -math.inf]), "tally: arm 'A' has reward sum -inf; it must be …."),
    "sum true": (tally([1, True]), "tally: arm 'A' has reward sum True; it must be a finite number."),
    "sum text": (tally([1, "0.5"]), "tally: arm 'A' has reward sum '0.5'; it must be a finite number."),
    "sum null": (tally([1, None]), "tally: arm 'A' has reward sum None; it must be a finite number."),
    "sum past every float": (tally([1, 10**400]), "tally: arm 'A' has reward sum 1000…; it must be …."),
    "sum past all reason": (
        tally([1, 1e300]),
        "tally: arm 'A' has pulls 1 and reward sum 1e+300; that can't come from rewards between -1e+100 ….",
    ),
}


def matches(sentence: str, pattern: str) -> bool:
    """Whether a sentence is as expected; … in the pattern stands for any text."""
    parts, place = pattern.split("…"), 0
    if not sentence.startswith(parts[0]) or not sentence.endswith(parts[-1]):
        return False
    for part in parts:
        found = sentence.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True


def test_matches() -> None:
    assert matches("a big cat.", "a …cat.")
    assert matches("a big cat.", "a big cat.")
    assert not matches("a big cat.", "a big dog.")
    assert not matches("a big cat. And more.", "a …cat.")


def one_sentence(error: BaseException) -> str:
    text = str(error)
    assert "\n" not in text
    assert text.endswith(".")
    assert len(text) < 250
    return text


def started(problem: Problem = PROBLEM) -> Server:
    """A server that has counted one upload."""
    server = Server(build("famabpe", problem, agents=3))
    server.receive(Upload(problem.fingerprint, "lab-a", 1, Tally.of([2, 1, 1], [0.5, 0.25, 0.125])))
    return server


def state(server: Server) -> object:
    total = server.total.pulls.tobytes(), server.total.reward_sums.tobytes()
    log = [(u.agent, u.sequence, u.tally) for u in server.log]
    return total, log, server.verdict, server.stopped, server.download()


def refuse(server: Server, send: Callable[[], object]) -> str:
    """The sentence with which something is refused, and the proof that it left no trace."""
    before = state(server)
    with pytest.raises(ProtocolError) as caught:
        send()
    assert state(server) == before
    # The agent's next upload counts as if nothing had happened.
    problem = server.method.problem
    after = server.receive(Upload(problem.fingerprint, "lab-a", 2, Tally.of([1, 0, 0], [0.5, 0.0, 0.0])))
    assert isinstance(after, Download)
    assert after.total is not None
    assert after.total.samples == 5
    return one_sentence(caught.value)


def test_the_good_message_is_taken() -> None:
    server = started()
    server.receive(Upload.from_json(json.loads(json.dumps(GOOD)), PROBLEM))
    assert server.total == Tally.of([5, 1, 2], [2.0, 0.25, -0.125])


@pytest.mark.parametrize("case", WRONG)
def test_wrong_uploads(case: str) -> None:
    message, pattern = WRONG[case]
    server = started()
    sentence = refuse(server, lambda: server.receive(Upload.from_json(message, PROBLEM)))
    assert matches(sentence, pattern), sentence


@pytest.mark.parametrize("case", [case for case in WRONG if case != "pulls beyond printing"])
def test_wrong_uploads_as_text(case: str) -> None:
    """The same through JSON text, in which Python writes NaN and Infinity, but no number of 5,000 digits."""
    message, pattern = WRONG[case]
    server = started()
    text = json.dumps(message)
    sentence = refuse(server, lambda: server.receive(Upload.from_json(json.loads(text), PROBLEM)))
    assert matches(sentence, pattern), sentence


@pytest.mark.parametrize(("pulls", "total"), [(1, 2.1), (1, -1.1), (3, 6.01), (3, -3.01), (10**6, 2.1e6)])
def test_sums_that_the_reward_range_makes_impossible(pulls: int, total: float) -> None:
    server = started(RANGED)
    message = {"problem": RANGED.fingerprint, "agent": "lab-a", "sequence": 2, "tally": {"A": [pulls, total]}}
    sentence = refuse(server, lambda: server.receive(Upload.from_json(message, RANGED)))
    assert sentence == (
        f"tally: arm 'A' has pulls {pulls} and reward sum {total}; that can't come from rewards between "
        "-1.0 and 2.0."
    )


@pytest.mark.parametrize(("pulls", "total"), [(1, 2.0), (1, -1.0), (3, 6.0), (3, -3.0), (10**6, 2e6 + 1e-4)])
def test_sums_at_the_ends_of_the_reward_range_are_taken(pulls: int, total: float) -> None:
    """Up to the rounding of a long sum."""
    server = started(RANGED)
    message = {"problem": RANGED.fingerprint, "agent": "lab-a", "sequence": 2, "tally": {"A": [pulls, total]}}
    server.receive(Upload.from_json(message, RANGED))
    assert server.total.pulls[0] == 2 + pulls


def raw(arms: list[int], counts: list[int], sums: list[float], squares: tuple[float, ...] = ()) -> Tally:
    """A tally as nobody should make it."""
    return Tally(3, array("q", arms), array("q", counts), array("d", sums), array("d", squares))


def sent_by(agent: Any, sequence: Any) -> Upload:
    return Upload(PROBLEM.fingerprint, agent, sequence, Tally.of([1, 0, 0], [0.5, 0.0, 0.0]))


# Uploads made in Python do not pass through JSON; the server checks them all the same.
FROM_PYTHON: dict[str, tuple[Upload, str]] = {
    name: (Upload(PROBLEM.fingerprint, "lab-a", 2, wrong), sentence)
    for name, wrong, sentence in [
        ("too few arms", Tally.of([1, 2], [0.1, 0.2]), "tally: it is about 2 arms, and the study has 3."),
        ("too many arms", Tally.of([1] * 4, [0.1] * 4), "tally: it is about 4 arms, and the study has 3."),
        ("an arm that is none", raw([3], [1], [0.5]), "tally: its arms must be numbers from 0 to 2, each …."),
        ("an arm below 0", raw([-1], [1], [0.5]), "tally: its arms must be numbers from 0 to 2, each once, …."),
        ("an arm twice", raw([0, 0], [1, 1], [0.5, 0.5]), "tally: its arms must be numbers from 0 to 2, …."),
        ("arms out of order", raw([1, 0], [1, 1], [0.5, 0.5]), "tally: its arms must be numbers from 0 …."),
        ("fewer pulls than arms", raw([0, 1], [1], [0.5, 0.5]), "tally: it must have one number of pulls …."),
        ("sums of another length", raw([0, 1], [1, 1], [0.5]), "tally: it must have one number of pulls …."),
        ("squares unasked", raw([0], [1], [0.5], (0.25,)), "tally: the study's test does not ask for sums …."),
        (
            "sums NaN",
            Tally.of([1, 0, 0], [math.nan, 0, 0]),
            "tally: arm 'A' has pulls 1 and reward sum nan; that can't ….",
        ),
        (
            "sums infinite",
            Tally.of([1, 0, 0], [math.inf, 0, 0]),
            "tally: arm 'A' has pulls 1 and reward sum inf; that can't ….",
        ),
        ("pulls negative", Tally.of([-1, 3, 0], [0.1, 0.2, 0.0]), "tally: pulls must not be negative, …."),
        ("nothing pulled", Tally.empty(3), "tally: pulls must not be negative, and at least one arm must …."),
        (
            "a sum without pulls",
            Tally.of([1, 0, 0], [0.5, 0.1, 0.0]),
            "tally: arm 'B' has pulls 0 and reward sum 0.1; that can't ….",
        ),
        (
            "pulls 2**53",
            Tally.of([2**53, 0, 0], [0.5, 0, 0]),
            "tally: an arm has more pulls than JSON keeps ….",
        ),
        (
            "pulls 2**62",
            Tally.of([2**62, 0, 0], [0.5, 0, 0]),
            "tally: an arm has more pulls than JSON keeps ….",
        ),
    ]
} | {
    name: (sent_by(agent, sequence), sentence)
    for name, agent, sequence, sentence in [
        ("agent empty", "", 1, "upload: agent is ''; it must be a name."),
        ("agent None", None, 1, "upload: agent is None; it must be a name."),
        ("sequence 0", "lab-a", 0, "upload: sequence is 0; it must be a whole number of at least 1."),
        ("sequence 2.0", "lab-a", 2.0, "upload: sequence is 2.0; it must be a whole number of at least 1."),
        ("sequence true", "lab-b", True, "upload: sequence is True; it must be a whole number of at least 1."),
    ]
}


@pytest.mark.parametrize(
    ("pulls", "sums"),
    [
        ([[1, 1, 1]], [[0.1, 0.1, 0.1]]),
        ([1, 0, 0], [0.5j, 0.0, 0.0]),
        ([1, 0, 0], [0.5, 0.0]),
        ([2**63, 0, 0], [0.5, 0.0, 0.0]),
    ],
)
def test_tallies_that_can_not_be_made(pulls: Any, sums: Any) -> None:
    """What is no list of whole numbers beside a list of numbers is no tally, so no server ever sees it."""
    with pytest.raises((TypeError, ValueError, OverflowError)):
        Tally.of(pulls, sums)


@pytest.mark.parametrize("case", FROM_PYTHON)
def test_wrong_uploads_from_python(case: str) -> None:
    upload, pattern = FROM_PYTHON[case]
    server = started()
    sentence = refuse(server, lambda: server.receive(upload))
    assert matches(sentence, pattern), sentence


def test_a_total_that_no_number_holds_is_refused() -> None:
    """Each batch by itself is fine."""
    server = started()
    most = Upload(PROBLEM.fingerprint, "lab-b", 1, Tally.of([2**53 - 1, 0, 0], [0.5, 0.0, 0.0]))
    sentence = refuse(server, lambda: server.receive(most))
    assert sentence == "tally: with it the total would be too large for a number to hold."


def test_the_first_mistake_of_a_batch_keeps_the_whole_batch_out() -> None:
    server = started()
    message = with_(tally={"A": [3, 1.5], "B": [2, 1.0], "C": [-1, 0.5]})
    sentence = refuse(server, lambda: server.receive(Upload.from_json(message, PROBLEM)))
    assert matches(sentence, "tally: arm 'C' has pulls -1; …")


# Answers, as an agent reads them.

STOP = Stop(PROBLEM.fingerprint, build("famabpe", PROBLEM).verdict(Tally.of([9, 9, 9], [9.0, 1.0, 1.0])))
VERDICT = verdict_to_json(STOP.verdict)
WRONG_REPLIES: dict[str, tuple[object, str]] = {
    "no object": ([], "reply: kind must be download or stop."),
    "no kind": ({}, "reply: kind must be download or stop."),
    "another kind": ({"kind": "upload"}, "reply: kind must be download or stop."),
    "another problem": (
        {"kind": "download", "problem": "x", "total": {}},
        f"reply: it is for problem 'x', and this is problem {PROBLEM.fingerprint!r}.",
    ),
    "no problem": ({"kind": "download", "total": {}}, "reply: it is for problem None, and this is …."),
    "neither total nor plan": (
        {"kind": "download", "problem": PROBLEM.fingerprint},
        "reply: a download must have a plan or a total.",
    ),
    "a total that is null": (
        {"kind": "download", "problem": PROBLEM.fingerprint, "total": None},
        "tally: it is None; it must be an ….",
    ),
    "a wrong total": (
        {"kind": "download", "problem": PROBLEM.fingerprint, "total": {"A": [1.5, 0]}},
        "tally: arm 'A' has pulls 1.5; …",
    ),
} | {
    name: ({"kind": "stop", "problem": PROBLEM.fingerprint, "verdict": verdict}, sentence)
    for name, verdict, sentence in [
        ("no verdict", None, "verdict: it is None; it must be an object with …."),
        ("half a verdict", {"stopped": True}, "verdict: it lacks arm, breaking_index, …."),
        ("stopped is text", VERDICT | {"stopped": "no"}, "verdict: stopped is 'no'; it must be true or false."),
        (
            "leader is null",
            VERDICT | {"leader": None},
            "verdict: leader is None; it must be the name of an arm.",
        ),
        ("challenger is 3", VERDICT | {"challenger": 3}, "verdict: challenger is 3; it must be the name …."),
        ("samples are half", VERDICT | {"samples": 0.5}, "verdict: samples is 0.5; it must be a whole number."),
        (
            "evidence is text",
            VERDICT | {"evidence": "1"},
            "verdict: evidence and breaking_index must be finite ….",
        ),
        (
            "index is NaN",
            VERDICT | {"breaking_index": math.nan},
            "verdict: evidence and breaking_index must ….",
        ),
    ]
}


@pytest.mark.parametrize("case", WRONG_REPLIES)
def test_wrong_replies(case: str) -> None:
    message, pattern = WRONG_REPLIES[case]
    with pytest.raises(ProtocolError) as caught:
        reply_from_json(message, PROBLEM)
    assert matches(one_sentence(caught.value), pattern), str(caught.value)


def test_replies_survive_json() -> None:
    total = Tally.of([1, 0, 3], [1 / 3, 0.0, -2 / 7])
    for reply in (Download(PROBLEM.fingerprint, total), Download(PROBLEM.fingerprint, Tally.empty(3)), STOP):
        assert reply_from_json(json.loads(json.dumps(reply.to_json(PROBLEM.arms))), PROBLEM) == reply


def test_a_verdict_without_an_index_survives_json_that_has_no_infinity() -> None:
    verdict = build("famabpe", PROBLEM).verdict(Tally.of([1, 0, 0], [0.5, 0.0, 0.0]))
    assert math.isinf(verdict.breaking_index)
    text = json.dumps(Stop(PROBLEM.fingerprint, verdict).to_json(PROBLEM.arms), allow_nan=False)
    assert reply_from_json(json.loads(text), PROBLEM) == Stop(PROBLEM.fingerprint, verdict)


def test_an_agent_refuses_a_reply_of_another_problem() -> None:
    agent = Agent(build("famabpe", PROBLEM), "lab-a")
    with pytest.raises(ProtocolError, match=r"^reply: it is for problem 'x', not '[0-9a-f]{16}'\.$"):
        agent.receive(Download("x", Tally.empty(3)))
    assert agent.ask() == []


@pytest.mark.parametrize("trial", ["1", 1.0, None, True, [1]])
def test_an_agent_refuses_what_is_no_trial(trial: Any) -> None:
    agent = Agent(build("famabpe", PROBLEM), "lab-a")
    agent.receive(Download(PROBLEM.fingerprint, Tally.empty(3)))
    assert [trial.number for trial in agent.ask()] == [1]
    with pytest.raises(
        ProtocolError, match=r"is not a trial; give a trial that ask returned, or its number\.$"
    ):
        agent.tell(trial, 0.5)
    agent.tell(1, 0.5)


@pytest.mark.parametrize("machine", [Agent, Server])
def test_methods_in_lockstep_have_no_agents_and_servers(machine: Callable[[Any], object]) -> None:
    with pytest.raises(UserError, match=r"^sync-ugapec works in rounds .*; it can only be simulated\.$"):
        machine(build("sync-ugapec", PROBLEM))
