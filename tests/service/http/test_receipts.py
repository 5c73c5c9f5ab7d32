"""Over HTTP: a site asks where its uploads stand, and a coordinator says that the log was put back."""

from __future__ import annotations

from typing import Any

import pytest
from uploads import batch, small_problem

from bestarm.service.http.routes import sites

PROBLEM = small_problem()
PATH = "/v1/studies/ligands"


def upload(lab: Any, agent: str, sequence: int) -> dict[str, Any]:
    body = batch(PROBLEM, agent, sequence, size=1).to_json(PROBLEM.arms)
    answer: dict[str, Any] = lab.post(f"{PATH}/uploads", json=body).json()
    return answer | {"tally": body["tally"]}


def test_receipts_are_what_the_uploads_were_answered_and_only_ones_own(
    world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    labs = {name: world.http(world.token(role="agent", agent=name)) for name in ("lab-a", "lab-b")}
    sent = {name: [upload(lab, name, k) for k in range(1, 6)] for name, lab in labs.items()}
    monkeypatch.setattr(sites, "MOST_RECEIPTS", 2)
    for name, lab in labs.items():
        found: list[dict[str, Any]] = []
        while page := lab.get(f"{PATH}/receipts?after={len(found)}").json()["uploads"]:
            assert len(page) <= 2
            found += page
        assert [one["sequence"] for one in found] == [1, 2, 3, 4, 5]
        assert [(one["entry"], one["digest"], one["tally"]) for one in found] == [
            (one["entry"], one["digest"], one["tally"]) for one in sent[name]
        ]
    for after in ("-1", "x", "1" * 20):
        refused = labs["lab-a"].get(f"{PATH}/receipts?after={after}")
        assert (refused.status_code, refused.json()["code"]) == (422, "refused")


def test_that_a_log_was_put_back_is_in_it_and_sites_hear_of_it_when_they_join(world: Any) -> None:
    lab = world.http(world.token(role="agent", agent="lab-a"))
    upload(lab, "lab-a", 1)
    assert lab.post(f"{PATH}/join").json()["restored"] is None
    said = world.admin.call("POST", f"{PATH}/restored", {"reason": "the disk broke"})
    assert "the disk broke" in said["sentence"]
    entry = world.admin.call("GET", f"{PATH}/export")["entries"][said["position"] - 1]
    assert (entry["kind"], entry["reason"]) == ("restored", "the disk broke")
    assert entry["by"]
    assert lab.post(f"{PATH}/join").json()["restored"] == entry["id"]
    again = world.admin.call("POST", f"{PATH}/restored", {"reason": "once more"})
    assert again["position"] > said["position"]
    assert upload(lab, "lab-a", 2)["position"] == 2
    refused = lab.post(f"{PATH}/restored", json={"reason": "mine"})
    assert refused.status_code == 403
