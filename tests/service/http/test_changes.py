"""What people do to a study over HTTP: correct, add and withdraw arms, close; and how it ends by itself."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy

from bestarm import Problem
from bestarm.client.server.connection import Connection
from bestarm.errors import Refused
from bestarm.service.view.exports.verify import ExportObject, replay, verify

ARMS = ["A", "B", "C"]
PATH = "/v1/studies/ligands"


def made(make_world: Any, **problem: Any) -> tuple[Any, Connection]:
    """A study of three arms with one site."""
    world = make_world()
    table = Problem(ARMS, sigma=0.3, name="ligands", **problem).to_dict()
    world.admin.call("POST", "/v1/studies", {"problem": table, "agents": 2})
    return world, world.connect(world.token(role="agent", agent="lab-a"))


def send(lab: Connection, sequence: int, tally: dict[str, Any], agent: str = "lab-a") -> dict[str, Any]:
    fingerprint = Problem(ARMS, sigma=0.3).fingerprint
    body = {"problem": fingerprint, "agent": agent, "sequence": sequence, "tally": tally}
    reply: dict[str, Any] = lab.call("POST", f"{PATH}/uploads", body)["reply"]
    return reply


def status(world: Any) -> dict[str, Any]:
    found: dict[str, Any] = world.admin.call("GET", f"{PATH}/status")
    return found


def check_replay(world: Any) -> None:
    """The log leads to what the server says, also in a process that has to read it first."""
    export = world.admin.call("GET", f"{PATH}/export")
    verify(export)
    before = status(world)
    world.storage._ledgers.clear()
    after = status(world)
    assert {key: after[key] for key in after if key != "time"} == {
        key: before[key] for key in before if key != "time"
    }


def even(pulls: int, *means: float) -> dict[str, Any]:
    return {arm: [pulls, pulls * mean] for arm, mean in zip("ABCDE", means, strict=False)}


def test_a_site_corrects_its_own_batch(make_world: Any) -> None:
    world, lab = made(make_world)
    send(lab, 1, even(8, 0.8, 0.5, 0.5))
    send(lab, 2, even(8, 0.48, 0.5, 0.5))  # somebody typed 48 for 84
    assert status(world)["arms"][0]["mean"] < 0.75
    body = {"id": "lab-a/2/fix/1", "agent": "lab-a", "sequence": 2, "tally": even(8, 0.84, 0.5, 0.5)}
    first = lab.call("POST", f"{PATH}/corrections", body | {"reason": "48 for 84"})
    assert (first["position"], first["sentence"]) == (4, "Batch 2 of lab-a was corrected (48 for 84).")
    again = lab.call("POST", f"{PATH}/corrections", body | {"reason": "48 for 84"})
    assert again == first
    found = status(world)
    assert found["arms"][0]["mean"] == pytest.approx(0.82, abs=0.03)
    assert found["events"][0]["by"] == "lab-a"
    assert found["end"] is None
    with pytest.raises(Refused, match="the log has another entry with the id") as refusal:
        lab.call("POST", f"{PATH}/corrections", body | {"reason": "another"})
    assert (refusal.value.status, refusal.value.code) == (409, "conflict")
    check_replay(world)


@pytest.mark.parametrize(
    ("change", "status_code", "sentence"),
    [
        ({"agent": "lab-b"}, 403, "this token is for agent 'lab-a', not 'lab-b'."),
        ({"sequence": 7}, 422, "correction: agent 'lab-a' has no upload 7 to correct."),
        ({"sequence": 0}, 422, "sequence is 0; it must be a whole number from 1."),
        ({"tally": {}}, 422, "tally: pulls must not be negative, and at least one arm must have been pulled."),
        ({"tally": {"X": [1, 0.5]}}, 422, "tally: arm 'X' is not an arm of problem 'ligands'."),
        ({"tally": {"A": [1, 0.5, 0.1]}}, 422, "tally: the study's test does not ask for sums of squares."),
        ({"tally": 3}, 422, "tally is 3; it must be an object, like the tally of the upload."),
        ({"reason": 5}, 422, "reason is 5; it must be text of at most 500 letters: why."),
        (
            {"extra": 1},
            422,
            "body: it has 'extra', which is not one of agent, counts, id, reason, sequence, tally.",
        ),
    ],
)
def test_corrections_that_are_refused(
    make_world: Any, change: dict[str, Any], status_code: int, sentence: str
) -> None:
    world, lab = made(make_world)
    send(lab, 1, even(8, 0.8, 0.5, 0.5))
    before = status(world)["samples"], world.admin.call("GET", f"{PATH}/log")["length"]
    body = {"id": "f1", "agent": "lab-a", "sequence": 1, "tally": even(8, 0.7, 0.5, 0.5)}
    with pytest.raises(Refused) as refusal:
        lab.call("POST", f"{PATH}/corrections", body | change)
    assert (refusal.value.status, str(refusal.value)) == (status_code, sentence)
    assert before == (status(world)["samples"], world.admin.call("GET", f"{PATH}/log")["length"])


def test_a_correction_after_the_answer(make_world: Any) -> None:
    """The verdict stays, and it is said what the answer would be now."""
    world, lab = made(make_world)
    send(lab, 1, even(40, 0.9, 0.2, 0.1))
    assert send(lab, 2, even(40, 0.9, 0.2, 0.1))["kind"] == "stop"
    assert status(world)["end"]["later"] == ""
    for sequence in (1, 2):
        body = {"agent": "lab-a", "sequence": sequence, "tally": even(40, 0.1, 0.9, 0.2), "reason": "swapped"}
        said = world.admin.call("POST", f"{PATH}/corrections", body)["sentence"]
    later = "A correction came after the end, and the verdict stays; now the answer would be B."
    assert said == f"Batch 2 of lab-a was corrected (swapped). {later}"
    found = status(world)
    assert (found["verdict"]["arm"], found["end"]["later"]) == ("A", later)
    check_replay(world)


def test_an_arm_comes_and_another_goes(make_world: Any) -> None:
    world, lab = made(make_world, control="C")
    send(lab, 1, even(4, 0.5, 0.4, 0.3))
    answer = world.admin.call("POST", f"{PATH}/arms", {"arm": "D", "reason": "arrived", "id": "a1"})
    assert answer["sentence"] == "D was added (arrived)."
    assert world.admin.call("POST", f"{PATH}/arms", {"arm": "D", "reason": "arrived", "id": "a1"}) == answer
    reply = send(lab, 2, even(4, 0.5, 0.4, 0.3))
    assert reply["arms"] == ["A", "B", "C", "D"]
    assert [arm for arm, _ in reply["plan"]] == ["A", "D"]  # beside the leader
    world.admin.call("POST", f"{PATH}/arms/withdraw", {"arm": "B", "reason": "it is toxic"})
    reply = send(lab, 3, even(4, 0.5, 0.4, 0.3, 0.9))  # B as well, since nobody here knew
    assert reply["withdrawn"] == ["B"]
    assert "B" not in [arm for arm, _ in reply["plan"]]
    found = status(world)
    assert [arm["arm"] for arm in found["arms"]] == ["A", "C", "D"]
    assert found["withdrawn"][0] | {"by": "", "at": ""} == {
        "arm": "B", "reason": "it is toxic", "by": "", "at": "",
    }  # fmt: skip
    assert [one["kind"] for one in found["events"]] == ["arm withdrawn", "arm added", "token made"]
    joined = lab.call("POST", f"{PATH}/join", {})
    assert joined["reply"]["withdrawn"] == ["B"]
    check_replay(world)
    rows = world.admin.send("GET", f"{PATH}/export?format=csv").text
    assert ",D,4,3.6" in rows


def test_an_arm_that_another_process_added_is_known_here(make_world: Any) -> None:
    world, lab = made(make_world)
    send(lab, 1, even(4, 0.5, 0.4, 0.3))
    world.admin.call("POST", f"{PATH}/arms", {"arm": "D"})
    world.storage._arms.clear()  # as in a process that has not seen it yet
    assert send(lab, 2, {"A": [4, 2.0], "D": [4, 3.6]})["kind"] == "download"


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("arms", {"arm": "A"}, "arm: the study has, or had, an arm 'A' already."),
        ("arms", {}, "body: it lacks arm."),
        ("arms", {"arm": ""}, "name of arm 4 is ''; it must be one line of text without spaces"),
        ("arms", {"arm": "D", "features": [1.0]}, "features"),
        (
            "arms",
            {"arm": "D", "features": "x"},
            "features is 'x'; it must be a list of numbers, as long as those",
        ),
        ("arms", {"arm": "D", "reason": "x" * 501}, "reason is"),
        ("arms/withdraw", {"arm": "X"}, "arm: 'X' is not an arm of the study."),
        ("arms/withdraw", {"arm": 3}, "arm is 3; it must be the name of an arm."),
        ("close", {"reason": 3}, "reason is 3; it must be text of at most 500 letters: why."),
        ("close", {"why": "x"}, "body: it has 'why', which is not one of reason."),
    ],
)
def test_changes_that_are_refused(make_world: Any, path: str, body: dict[str, Any], sentence: str) -> None:
    world, lab = made(make_world)
    send(lab, 1, even(4, 0.5, 0.4, 0.3))
    with pytest.raises(Refused) as refusal:
        world.admin.call("POST", f"{PATH}/{path}", body)
    assert sentence.removesuffix(".") in str(refusal.value)
    assert refusal.value.status == 422
    assert world.admin.call("GET", f"{PATH}/log")["length"] == 2  # its token, and the upload
    for call in ("arms", "arms/withdraw", "close"):
        with pytest.raises(Refused, match="this needs an administrator's token, and this one is a site's"):
            lab.call("POST", f"{PATH}/{call}", {"arm": "B"})


def test_too_many_arms_are_refused(make_world: Any) -> None:
    world = make_world(arms=3)
    table = Problem(ARMS, sigma=0.3, name="ligands").to_dict()
    world.admin.call("POST", "/v1/studies", {"problem": table, "agents": 2})
    with pytest.raises(Refused, match="this server takes at most 3 arms"):
        world.admin.call("POST", f"{PATH}/arms", {"arm": "D"})


def test_the_budget_ends_a_study(make_world: Any) -> None:
    """Plans keep to what is left, the last upload hears the end, and later data are recorded."""
    world, lab = made(make_world, budget=40, control="C")
    other = world.connect(world.token(role="agent", agent="lab-b"))
    plan = lab.call("POST", f"{PATH}/join", {"plate": 24})["reply"]["plan"]
    assert sum(count for _, count in plan) == 24
    rest = other.call("POST", f"{PATH}/join", {"plate": 24})["reply"]["plan"]
    assert sum(count for _, count in rest) == 16  # what the other one has under way is its own
    third = world.connect(world.token(role="agent", agent="lab-c"))
    assert third.call("POST", f"{PATH}/join", {})["reply"]["plan"] == []
    assert status(world)["budget"] == {"budget": 40, "used": 0, "under_way": 40, "left": 0}
    reply = send(lab, 1, {arm: [count, {"A": 0.9, "B": 0.2, "C": 0.3}[arm] * count] for arm, count in plan})
    assert reply["plan"] == []  # nothing is left
    end = send(other, 1, {arm: [count, 0.5 * count] for arm, count in rest}, "lab-b")
    assert end["kind"] == "stop"
    assert (end["verdict"]["reason"], end["verdict"]["arm"]) == ("budget", None)
    assert send(other, 1, {arm: [count, 0.5 * count] for arm, count in rest}, "lab-b") == end
    assert third.call("POST", f"{PATH}/join", {})["reply"] == end
    assert send(lab, 2, even(20, 0.9, 0.1, 0.1)) == end
    found = status(world)
    assert (found["state"], found["end"]["reason"], found["end"]["why"]) == ("closed", "budget", "40 samples")
    assert found["end"]["said"].startswith("The budget is used up. ")
    assert found["remaining"] is None
    assert (found["verdict"]["samples"], found["samples"]) == (40, 100)
    with pytest.raises(Refused, match=r"can't be opened again \(its budget is used up\)"):
        world.admin.call("POST", f"{PATH}/reopen", {})
    check_replay(world)


def test_who_had_nothing_to_do_is_asked_again_when_there_is(make_world: Any) -> None:
    """A site that is silent for a day does not hold up the others."""
    world, lab = made(make_world, budget=12)
    world.connect(world.token(role="agent", agent="lab-b")).call("POST", f"{PATH}/join", {"plate": 12})
    assert lab.call("POST", f"{PATH}/join", {})["reply"]["plan"] == []
    assert lab.call("POST", f"{PATH}/join", {})["reply"]["plan"] == []
    world.ahead = timedelta(days=1, seconds=1)
    plan = lab.call("POST", f"{PATH}/join", {})["reply"]["plan"]
    assert plan
    assert lab.call("POST", f"{PATH}/join", {})["reply"]["plan"] == plan


def test_the_deadline_ends_a_study(make_world: Any) -> None:
    world = make_world()
    tomorrow = (world.now() + timedelta(days=1)).isoformat()
    table = Problem(ARMS, sigma=0.3, name="ligands", deadline=tomorrow).to_dict()
    world.admin.call("POST", "/v1/studies", {"problem": table, "agents": 2})
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    send(lab, 1, even(4, 0.9, 0.2, 0.3))
    assert status(world)["state"] == "open"
    world.ahead = timedelta(days=1, seconds=1)
    found = status(world)
    assert (found["state"], found["end"]["reason"]) == ("closed", "deadline")
    late = send(lab, 2, even(4, 0.9, 0.2, 0.3))
    assert (late["kind"], late["verdict"]["reason"], late["verdict"]["samples"]) == ("stop", "deadline", 12)
    assert [one["kind"] for one in world.admin.call("GET", f"{PATH}/log")["entries"]] == [
        "token made", "uploaded", "closed", "uploaded",
    ]  # fmt: skip
    check_replay(world)


def test_closing_says_what_can_be_said(make_world: Any) -> None:
    world, lab = made(make_world, control="B")
    for sequence in (1, 2, 3):
        send(lab, sequence, even(5, 0.8, 0.55, 0.1))
    closed = world.admin.call("POST", f"{PATH}/close", {"reason": "the money is gone"})
    end = closed["end"]
    assert end["why"] == "the money is gone"
    assert end["by"].startswith("admin ")
    assert end["said"].startswith("The study is closed. A is the best, except with probability at most 0.")
    assert "Ruled out: C." in end["said"]
    assert "B, the control" in end["said"]
    with pytest.raises(
        Refused, match=r"study 'ligands' is closed \(the money is gone\); ask its administrator"
    ):
        lab.call("POST", f"{PATH}/join", {})
    reopened = world.admin.call("POST", f"{PATH}/reopen", {"reason": "a grant"})
    assert (reopened["end"], reopened["state"]) == (None, "open")
    assert lab.call("POST", f"{PATH}/join", {})["sequence"] == 3
    check_replay(world)


def test_the_log_in_sentences(make_world: Any) -> None:
    world, lab = made(make_world)
    lab.call("POST", f"{PATH}/join", {})
    send(lab, 1, even(4, 0.5, 0.4, 0.3))
    world.admin.call("POST", f"{PATH}/close", {})
    found = world.admin.call("GET", f"{PATH}/log?last=2")
    assert found["length"] == 4
    assert [one["sentence"] for one in found["entries"]] == [
        "lab-a sent batch 1: 12 trials.", "The study was closed.",
    ]  # fmt: skip
    for bad in ("0", "x", "1001", "0000000011001", "9" * 30):
        with pytest.raises(Refused, match="last: it must be a whole number from 1 to 1000"):
            world.admin.call("GET", f"{PATH}/log?last={bad}")


def test_who_was_let_in_and_what_it_is_called_is_in_the_log(make_world: Any) -> None:
    """Tokens and names have no part in the statistics: the verdict, the plans and receipts stay as they are."""
    world, lab = made(make_world)
    reply = send(lab, 1, even(4, 0.5, 0.4, 0.3))
    before = status(world)
    secret = world.token(role="viewer")
    world.admin.call("POST", f"{PATH}/close", {})
    for _ in range(2):  # again is harmless, and a closed study takes notes too
        world.admin.call("POST", f"{PATH}/rename", {"name": "phosphines"})
        for token in world.admin.call("GET", f"{PATH}/tokens")["tokens"]:
            path = f"{PATH}/tokens/" if token["role"] == "viewer" else "/v1/tokens/"
            world.admin.call("DELETE", path + token["id"])
    found = status(world)
    me = world.admin.call("GET", "/v1/token")["id"]
    assert [(one["sentence"], one["by"]) for one in reversed(found["answers"]["lately"])] == [
        ("A token was made for site lab-a.", f"admin {me}"),
        ("lab-a joined.", "lab-a"),
        ("A token was made for a viewer.", f"admin {me}"),
        ("The study was closed.", f"admin {me}"),
        ("The study was renamed from ligands to phosphines.", f"admin {me}"),
        ("A token of site lab-a was revoked.", f"admin {me}"),
        ("A token of a viewer was revoked.", f"admin {me}"),
    ]  # fmt: skip
    assert found["arms"] == before["arms"]
    assert {**found["verdict"], "reason": None} == before["verdict"]
    export = world.admin.call("GET", f"{PATH}/export")
    assert secret not in str(export)
    report = world.admin.send("GET", f"{PATH}/report").text
    assert "A token of a viewer was revoked." in report
    world.admin.call("POST", f"{PATH}/reopen", {})
    back = world.connect(world.token(role="agent", agent="lab-a"))
    assert send(back, 1, even(4, 0.5, 0.4, 0.3)) == reply
    check_replay(world)


def test_a_token_of_a_study_that_is_damaged_can_be_revoked(make_world: Any) -> None:
    world, lab = made(make_world)
    (token,) = world.admin.call("GET", f"{PATH}/tokens")["tokens"]
    with world.storage.engine.begin() as connection:
        connection.execute(sqlalchemy.text("UPDATE entries SET digest = 'x'"))
    world.storage._ledgers.clear()
    assert world.admin.call("DELETE", f"{PATH}/tokens/{token['id']}")["revoked_at"]
    with pytest.raises(Refused, match=r"revoked|not valid|unknown"):
        lab.call("POST", f"{PATH}/join", {})


def test_an_export_with_everything_in_it_replays(make_world: Any) -> None:
    """Arms, corrections and the end, from the file alone, bit for bit."""
    world, lab = made(make_world, budget=60)
    send(lab, 1, even(4, 0.5, 0.4, 0.3))
    world.admin.call("POST", f"{PATH}/arms", {"arm": "D"})
    send(lab, 2, even(4, 0.5, 0.4, 0.3, 0.9))
    world.admin.call("POST", f"{PATH}/arms/withdraw", {"arm": "C", "reason": "sold out"})
    body = {"agent": "lab-a", "sequence": 1, "tally": even(4, 0.7, 0.4, 0.3)}
    lab.call("POST", f"{PATH}/corrections", body)
    send(lab, 3, even(10, 0.6, 0.4, 0.3, 0.55))
    export = world.admin.call("GET", f"{PATH}/export")
    server = replay(ExportObject(export))
    assert server.verdict.reason is not None
    assert server.arms == ("A", "B", "C", "D")
    assert [entry["kind"] for entry in export["entries"]][-1] == "closed"
