"""A study over HTTP: made, joined, fed, watched, exported."""

from __future__ import annotations

import csv
import io
import json
import random
import threading
from typing import Any

import pytest
from sqlalchemy import text
from uploads import batch, small_problem

import bestarm
from bestarm.errors import Refused, ServiceError, UserError
from bestarm.problem import Problem
from bestarm.protocol.agent import Agent
from bestarm.protocol.entries import Upload
from bestarm.protocol.messages import reply_from_json, verdict_to_json
from bestarm.protocol.server import Server
from bestarm.service.http.service import Limits
from bestarm.service.view.exports.verify import verify

PROBLEM = small_problem()


def run_agents(world: Any, study: str, names: list[str], seed: int = 0) -> None:
    """Sites at random speeds, through the protocol's own agent, until the server stops them."""
    chance = random.Random(seed)
    labs = {}
    problem = None
    for name in names:
        connection = world.connect(world.token(study, role="agent", agent=name))
        joined = connection.call("POST", f"/v1/studies/{study}/join", {})
        problem = Problem.from_dict(joined["problem"])
        method = bestarm.method(joined["method"], problem, joined["agents"], **joined["parameters"])
        labs[name] = (connection, Agent(method, name))
        labs[name][1].receive(reply_from_json(joined["reply"], problem))
    while any(not agent.finished for _, agent in labs.values()):
        connection, agent = labs[chance.choice(names)]
        upload = None
        for trial in agent.ask(chance.randint(1, 9)):
            assert problem is not None
            assert problem.means is not None
            assert problem.sigma is not None
            upload = agent.tell(
                trial, chance.gauss(problem.means[problem.arms.index(trial.arm)], problem.sigma)
            )
        if upload is not None:
            body = upload.to_json(agent.terms.arms)
            answer = connection.call("POST", f"/v1/studies/{study}/uploads", body)
            agent.receive(reply_from_json(answer["reply"], agent.terms))


@pytest.mark.parametrize("method", ["sharp", "famabpe"])
def test_a_federation_finds_the_best_arm(make_world: Any, method: str) -> None:
    world = make_world(rate=0)
    made = world.create("ligands", method=method)
    assert (made["state"], made["method"], made["uploads"]) == ("open", method, 0)
    run_agents(world, "ligands", ["lab-a", "lab-b", "lab-c"])
    status = world.admin.call("GET", "/v1/studies/ligands/status")
    assert (status["state"], status["verdict"]["arm"]) == ("stopped", "A")
    assert status["samples"] == sum(arm["pulls"] for arm in status["arms"])
    assert status["samples"] == sum(site["samples"] for site in status["sites"])
    assert status["uploads"] == sum(site["uploads"] for site in status["sites"])
    stop = next(row[0] for row in status["history"] if row[3] >= 1)
    assert status["communications"] == status["uploads"] + stop - 1
    assert status["remaining"] is None
    for arm, mean in zip(status["arms"], (0.9, 0.8, 0.5), strict=True):
        assert arm["low"] < mean < arm["high"]
    exported = world.admin.call("GET", "/v1/studies/ligands/export")
    assert (
        verify(exported)
        == Server.replay(
            bestarm.method(method, PROBLEM, 4), [world_upload(row) for row in exported["uploads"]]
        ).verdict
    )


def world_upload(row: dict[str, Any]) -> Any:
    keys = ("agent", "sequence", "tally")
    return Upload.from_json({"problem": PROBLEM.fingerprint} | {key: row[key] for key in keys}, PROBLEM)


def test_a_linear_study(make_world: Any) -> None:
    world = make_world(rate=0)
    chance = random.Random(1)
    features = [[chance.gauss(0, 0.4) for _ in range(3)] for _ in range(8)]
    problem = Problem(
        [f"arm-{k}" for k in range(8)],
        features=features,
        theta=[0.9, -0.3, 0.1],
        sigma=0.3,
        epsilon=0.05,
        name="x",
        sites="alike",  # so that arms have intervals
    )
    made = world.admin.call("POST", "/v1/studies", {"problem": problem.to_dict(), "agents": 2})
    assert made["parameters"]["stopping"] == "span"
    assert "linear function" in made["promise"]
    run_agents(world, "x", ["lab-a", "lab-b"])
    status = world.admin.call("GET", "/v1/studies/x/status")
    assert problem.means is not None
    assert max(problem.means) - problem.means[problem.arms.index(status["verdict"]["arm"])] <= 0.05
    for arm, mean in zip(status["arms"], problem.means, strict=True):
        assert arm["low"] < mean < arm["high"]
    verify(world.admin.call("GET", "/v1/studies/x/export"))


def test_the_same_upload_from_ten_connections_counts_once(world: Any) -> None:
    token = world.token(role="agent", agent="lab-a")
    body = batch(PROBLEM, "lab-a", 1).to_json(PROBLEM.arms)
    answers: list[Any] = []

    def send() -> None:
        answers.append(world.connect(token).call("POST", "/v1/studies/ligands/uploads", body))

    threads = [threading.Thread(target=send) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 10
    assert all(answer == answers[0] for answer in answers)
    assert world.admin.call("GET", "/v1/studies/ligands")["samples"] == 12


def test_uploads_out_of_order_are_refused_until_the_missing_one_comes(world: Any) -> None:
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    first, second, third = (batch(PROBLEM, "lab-a", n).to_json(PROBLEM.arms) for n in (1, 2, 3))
    for body, code in ((second, "gap"), (third, "gap")):
        with pytest.raises(Refused) as refusal:
            lab.call("POST", "/v1/studies/ligands/uploads", body)
        assert (refusal.value.status, refusal.value.code) == (409, code)
    positions = [
        lab.call("POST", "/v1/studies/ligands/uploads", body)["position"]
        for body in (first, second, third, first)
    ]
    assert positions == [1, 2, 3, 1]
    with pytest.raises(Refused) as refusal:
        lab.call("POST", "/v1/studies/ligands/uploads", first | {"tally": {"A": [1, 1.0]}})
    assert (refusal.value.status, refusal.value.code) == (409, "conflict")
    assert lab.call("POST", "/v1/studies/ligands/join")["sequence"] == 3


def test_closing_and_reopening(world: Any) -> None:
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    assert world.admin.call("POST", "/v1/studies/ligands/close")["state"] == "closed"
    body = batch(PROBLEM, "lab-a", 1).to_json(PROBLEM.arms)
    for path, content in (("uploads", body), ("join", {})):
        with pytest.raises(Refused) as refusal:
            lab.call("POST", f"/v1/studies/ligands/{path}", content)
        assert (refusal.value.status, refusal.value.code) == (409, "closed")
    assert lab.call("GET", "/v1/studies/ligands/status")["state"] == "closed"
    assert world.admin.call("POST", "/v1/studies/ligands/reopen")["state"] == "open"
    assert lab.call("POST", "/v1/studies/ligands/uploads", body)["position"] == 1


def test_numbers_in_answers_are_exact(make_world: Any) -> None:
    world = make_world()
    world.create(method="famabpe")  # whose agents download the total
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    tally = {"A": [2**52 + 1, 0.1 + 0.2], "B": [1, -1e-310], "C": [3, 1 / 3]}
    body = {"problem": PROBLEM.fingerprint, "agent": "lab-a", "sequence": 1, "tally": tally}
    lab.call("POST", "/v1/studies/ligands/uploads", body)
    answer = lab.send("GET", "/v1/studies/ligands/status").text
    assert '"pulls":4503599627370497' in answer
    exported = world.admin.call("GET", "/v1/studies/ligands/export")
    assert exported["uploads"][0]["tally"] == tally
    assert Problem.from_dict(exported["problem"]) == PROBLEM


def test_the_export_as_csv(world: Any) -> None:
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    for sequence in (1, 2):
        lab.call("POST", "/v1/studies/ligands/uploads", batch(PROBLEM, "lab-a", sequence).to_json(PROBLEM.arms))
    answer = world.admin.send("GET", "/v1/studies/ligands/export?format=csv")
    assert answer.headers["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    exported = world.admin.call("GET", "/v1/studies/ligands/export")["uploads"]
    again = {(int(r["position"]), r["arm"]): [int(r["pulls"]), float(r["reward_sum"])] for r in rows}
    assert again == {(u["position"], arm): entry for u in exported for arm, entry in u["tally"].items()}


def test_lists_show_what_the_caller_may_see(world: Any) -> None:
    world.create("other")
    assert [s["study"] for s in world.admin.call("GET", "/v1/studies")["studies"]] == ["ligands", "other"]
    viewer = world.connect(world.token("other", role="viewer"))
    assert [s["study"] for s in viewer.call("GET", "/v1/studies")["studies"]] == ["other"]
    metrics = viewer.send("GET", "/metrics").text
    assert 'study="other"' in metrics
    assert 'study="ligands"' not in metrics


def test_metrics_are_prometheus_text(world: Any) -> None:
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    lab.call("POST", "/v1/studies/ligands/uploads", batch(PROBLEM, "lab-a", 1).to_json(PROBLEM.arms))
    answer = world.admin.send("GET", "/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    samples = {}
    for line in answer.text.splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            samples[name] = float(value)
    assert samples['bestarm_uploads_total{study="ligands"}'] == 1
    assert samples['bestarm_samples_total{study="ligands"}'] == 12
    assert samples['bestarm_requests_total{route="/v1/studies/{study}/uploads",status="200"}'] == 1
    assert samples["bestarm_commits_total"] >= 1


def test_a_stale_site_is_marked(make_world: Any) -> None:
    world = make_world(stale_after=-1.0)
    world.create()
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    lab.call("POST", "/v1/studies/ligands/join")
    (site,) = lab.call("GET", "/v1/studies/ligands/status")["sites"]
    assert (site["agent"], site["stale"], site["uploads"]) == ("lab-a", True, 0)
    assert Limits().stale_after == 86_400


def test_the_verdict_in_an_export_is_checked(world: Any) -> None:
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    for sequence in (1, 2, 3):
        lab.call("POST", "/v1/studies/ligands/uploads", batch(PROBLEM, "lab-a", sequence).to_json(PROBLEM.arms))
    exported = world.admin.send("GET", "/v1/studies/ligands/export").text
    assert verdict_to_json(verify(json.loads(exported))) == json.loads(exported)["verdict"]
    changes: list[Any] = [
        lambda e: e["uploads"][1]["tally"]["A"].__setitem__(1, e["uploads"][1]["tally"]["A"][1] + 1e-12),
        lambda e: e["uploads"].pop(1),
        lambda e: e["uploads"].append(e["uploads"][-1]),
        lambda e: e["uploads"].reverse(),
        lambda e: e["verdict"].__setitem__("evidence", 0.5),
        lambda e: e["verdicts"].pop(),
        lambda e: e["uploads"][0].__setitem__("sequence", 2),
        lambda e: e["parameters"].__setitem__("pseudo_count", 11.0),
    ]
    for change in changes:
        export = json.loads(exported)
        change(export)
        with pytest.raises(ServiceError):
            verify(export)
    with pytest.raises(UserError):
        verify({"uploads": []})


def test_a_damaged_study_does_not_hide_the_others(world: Any) -> None:
    world.create("other")
    lab = world.connect(world.token(role="agent", agent="lab-a"))
    lab.call("POST", "/v1/studies/ligands/uploads", batch(PROBLEM, "lab-a", 1).to_json(PROBLEM.arms))
    with world.storage.engine.begin() as connection:
        connection.execute(text("UPDATE entries SET body = '{}'"))
    world.storage._ledgers.clear()  # as after a restart
    client = world.http(world.admin_token)
    assert [study["study"] for study in client.get("/v1/studies").json()["studies"]] == ["other"]
    assert "bestarm_damaged 1" in client.get("/metrics").text
    answer = client.get("/v1/studies/ligands")
    assert (answer.status_code, answer.json()["code"]) == (503, "damaged")
