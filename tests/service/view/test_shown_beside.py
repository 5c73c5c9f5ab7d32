"""What a status shows beside the verdict: differences and warnings, and what a changed past makes of them."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from ledgers import Followed
from rich.console import Console

import bestarm
from bestarm.cli.coordinator.study import arm_table
from bestarm.core.tally import Tally
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Correction, Entry, Upload
from bestarm.service.http.shapes.watch import StatusAnswer
from bestarm.service.storage.study.overview import Charter
from bestarm.service.view.status import status

MEANS = {"A": 0.5, "B": 0.45, "C": 0.4}
SITES = {"oslo": 1.0, "rome": -1.0}
NOW = "2026-01-02T03:04:05.678Z"


def ledger_for(entries: list[Entry], **said: Any) -> Followed:
    problem = bestarm.Problem(list(MEANS), name="ligands", **said)
    ledger = Followed(Charter(1, "ligands", problem, bestarm.method("sharp", problem, 2), NOW))
    for entry in entries:
        ledger.append(entry, NOW)
    return ledger


def tally(chance: random.Random, offset: float, times: float = 1.0, size: int = 6) -> Tally:
    rewards = [[times * chance.gauss(mean + offset, 0.3) for _ in range(size)] for mean in MEANS.values()]
    squares = [sum(reward**2 for reward in some) for some in rewards]
    return Tally.of([size] * len(MEANS), [sum(some) for some in rewards], squares)


def uploads(number: int, wrong: int | None = None) -> list[Entry]:
    """Two sites in turn; the upload at place `wrong` has other units."""
    chance, fingerprint = random.Random(1), bestarm.Problem(list(MEANS)).fingerprint
    sent: list[Entry] = []
    for k in range(number):
        site = list(SITES)[k % 2]
        sent.append(
            Upload(fingerprint, site, k // 2 + 1, tally(chance, SITES[site], 100.0 if k == wrong else 1.0))
        )
    return sent


def shown(ledger: Followed) -> dict[str, Any]:
    found = status(ledger.overview(), datetime(2026, 1, 2, 4, tzinfo=UTC), 60.0)
    StatusAnswer.model_validate(json.loads(json.dumps(found, allow_nan=False)))
    return found


def test_differences_come_with_the_leader_and_are_near_the_truth() -> None:
    assert shown(ledger_for(uploads(1)))["differences"] == []
    (found,) = shown(ledger_for(uploads(40)))["differences"]
    assert (found["to"], found["role"], found["holds"]) == ("A", "leader", 0.95)
    assert "averages over the batches that had both arms" in found["sentence"]
    assert found["sentence"].endswith("A mean is what an arm would have, had every batch tried all of them.")
    own, *others = found["arms"]
    assert own == {"arm": "A", "difference": None, "low": None, "high": None, "percent": None}
    for row in others:
        assert row["low"] < MEANS[row["arm"]] - MEANS["A"] < row["high"]
        assert row["high"] - row["low"] == pytest.approx(2 * (row["high"] - row["difference"]))


def test_with_a_control_both_are_there_and_each_holds_by_itself() -> None:
    control, leader = shown(ledger_for(uploads(40), control="C"))["differences"]
    assert (control["to"], control["role"], leader["role"]) == ("C", "control", "leader")
    assert "These intervals hold together" in control["sentence"]
    first = {row["arm"]: row["difference"] for row in control["arms"]}["A"]
    assert first == pytest.approx(0.1, abs=0.1)
    early = shown(ledger_for(uploads(1), control="C"))["differences"]
    assert [one["role"] for one in early] in ([], ["control"])


def test_a_test_for_alike_sites_has_neither() -> None:
    problem = bestarm.Problem(list(MEANS), name="ligands", sigma=0.3)
    ledger = Followed(Charter(1, "ligands", problem, bestarm.method("sharp", problem, 2), NOW))
    assert (shown(ledger)["differences"], shown(ledger)["warnings"]) == ([], [])


@pytest.mark.parametrize("control", [None, "C"])
def test_the_table_in_the_shell_has_differences_and_odds(control: str | None) -> None:
    found = shown(ledger_for(uploads(40), control=control))
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(arm_table(found))
    head, _, *lines = capture.get().splitlines()
    assert f"less {control or 'A'}" in head
    assert found["standing"]["line"] in head
    assert found["standing"]["line"] == "21 to 1 rules out"  # a twentieth of delta is for sigma
    for stands, row in zip(found["standing"]["arms"], found["differences"][0]["arms"], strict=True):
        (line,) = (line for line in lines if line.startswith(stands["arm"]))
        assert line.rstrip().endswith(stands["words"])
        assert row["low"] is None or f"{row['low']:.4g}" in line


def test_a_corrected_upload_is_not_warned_of_any_more() -> None:
    entries = uploads(30, wrong=20)
    ledger = ledger_for(entries)
    found = shown(ledger)["warnings"]
    assert found[0]["seen"].startswith("Upload 21, of site oslo, is far from all others")
    assert found[0]["sentence"] == f"{found[0]['seen']} {found[0]['meaning']}"
    assert "promise" in found[0]["meaning"]
    right = Correction("c1", "admin", "oslo", 11, tally(random.Random(2), SITES["oslo"]))
    ledger.append(right, NOW)
    assert shown(ledger)["warnings"] == []
    again = ledger_for([*entries, right])
    assert shown(again)["differences"] == shown(ledger)["differences"]


def test_arms_that_come_and_go_leave_no_trace_in_what_is_shown() -> None:
    ledger = ledger_for(uploads(40))
    ledger.append(ArmWithdrawn("w1", "admin", "A", "it is not made any more"), NOW)
    found = shown(ledger)
    assert [arm["arm"] for arm in found["standing"]["arms"]] == ["B", "C"]
    for one in found["differences"]:
        assert [row["arm"] for row in one["arms"]] == ["B", "C"]
    ledger.append(ArmAdded("a1", "admin", "D"), NOW)
    found = shown(ledger)
    for one in found["differences"]:
        assert [row["arm"] for row in one["arms"]] == ["B", "C", "D"]
        assert one["arms"][-1]["low"] is None


def test_numbers_at_the_edge_of_floating_point_block_nothing() -> None:
    problem = bestarm.Problem(list(MEANS), name="ligands")
    ledger = Followed(Charter(1, "ligands", problem, bestarm.method("sharp", problem, 2), NOW))
    huge = Tally.of([2, 2, 2], [2e99, -2e99, 0.0], [2e198, 2e198, 0.0])
    for number in range(1, 4):
        ledger.append(Upload(problem.fingerprint, "oslo", number, huge), NOW)
    with np.errstate(all="raise"):
        shown(ledger)
