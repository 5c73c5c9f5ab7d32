"""Plates: as many trials as are asked for from the first call on, and several batches in hand at once."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fake_server import FakeServer, open_lab
from real_server import RealServer

from bestarm import Lab, Problem
from bestarm.client.sheets import worksheet

pytestmark = pytest.mark.usefixtures("_both_ways")

PROBLEM = Problem(["A", "B", "C"], name="ligands", sigma=0.3)


def server() -> RealServer:
    return RealServer(PROBLEM, name="sharp", agents=2)


def reward(number: int) -> float:
    return Random(number).gauss(0.5, 0.3)


def tell_all(lab: Lab, numbers: list[int]) -> None:
    for number in numbers:
        assert lab.tell(number, reward(number))


def sizes(served: RealServer) -> list[int]:
    return [upload.tally.samples for upload in served.server.log]


def test_as_many_as_are_asked_for_from_the_first_call_on(tmp_path: Path) -> None:
    served = server()
    with open_lab(tmp_path / "lab.db", served) as lab:
        assert lab.agent.plan.size == 3  # before anybody asked
        for _ in range(4):
            trials = lab.ask(24)
            assert len(trials) == 24
            assert len({trial.arm for trial in trials}) > 1
            tell_all(lab, [trial.number for trial in trials])
        assert all(size % 24 == 0 for size in sizes(served))
    with open_lab(tmp_path / "lab.db", served) as lab:  # the server remembers it, and so does the journal
        assert lab.agent.plan.size % 24 == 0
        assert lab.journal.said is not None
        assert (lab.journal.said.plate, lab.journal.said.room) == (None, 24)


def test_offline_there_is_what_the_plan_has(tmp_path: Path) -> None:
    served = server()
    open_lab(tmp_path / "lab.db", served).close()
    served.online = False
    with open_lab(tmp_path / "lab.db", served) as lab:
        assert len(lab.ask(24)) == 3
        assert "can't be reached" in lab.waiting_for
        assert lab.ask(24) == []
        served.online = True
        assert len(lab.ask(24)) == 24  # while the first ones are under way
        assert lab.waiting_for == ""


def test_four_plates_are_four_batches_told_in_any_order(tmp_path: Path) -> None:
    served = server()
    with open_lab(tmp_path / "lab.db", served, plate=24) as lab:
        trials = lab.ask(96)
        assert len(trials) == 96
        assert sorted({plate for plate, _ in lab.places(trials)}) == [1, 2, 3, 4]
        for start in range(0, 96, 24):  # each of them has all arms
            assert len({trial.arm for trial in trials[start : start + 24]}) == 3
        numbers = [trial.number for trial in trials]
        tell_all(lab, numbers[72:])  # the last one first
        assert sizes(served) == [24]
        Random(1).shuffle(numbers)
        tell_all(lab, [number for number in numbers if number <= 72])
        assert sizes(served) == [24] * 4
        assert lab.status()["batches"] == 0


def test_full_plates_wait_until_the_server_is_there(tmp_path: Path) -> None:
    served = server()
    with open_lab(tmp_path / "lab.db", served, plate=12) as lab:
        numbers = [trial.number for trial in lab.ask(36)]
        served.online = False
        tell_all(lab, numbers[:30])
    with open_lab(tmp_path / "lab.db", served) as lab:
        assert (lab.status()["unsent"], lab.status()["batches"], lab.status()["told"]) == (2, 1, 6)
        tell_all(lab, numbers[30:])
        assert lab.ask(12) == []  # as many plates as were said are done
        served.online, served.answers_get_lost = True, True
        lab.tell(numbers[0], reward(numbers[0]))
    served.answers_get_lost = False
    with open_lab(tmp_path / "lab.db", served) as lab:
        lab.sync()
        assert lab.status()["unsent"] == 0
    assert sizes(served) == [12] * 3


def test_leaving_sends_what_there_is_of_every_plate(tmp_path: Path) -> None:
    served = server()
    with open_lab(tmp_path / "lab.db", served, plate=12) as lab:
        numbers = [trial.number for trial in lab.ask(36)]
        tell_all(lab, numbers[:5] + numbers[12:15])
        assert lab.leave()
        assert sizes(served) == [5, 3]
        assert [trial.number for trial in lab.open] == numbers[24:]  # nothing was told of that one


def test_the_next_plate_while_one_is_under_way(tmp_path: Path) -> None:
    served = server()
    with open_lab(tmp_path / "lab.db", served, plate=24) as lab:
        first, second = lab.ask(24), lab.ask(24)
        assert len(second) == 24
        tell_all(lab, [trial.number for trial in second])
        assert sizes(served) == [24]
        tell_all(lab, [trial.number for trial in first])
        assert sizes(served) == [24, 24]
        assert {row["trial"] for row in lab.history()} == {trial.number for trial in (*first, *second)}


def test_a_budget_is_kept_to(tmp_path: Path) -> None:
    problem = Problem(["A", "B", "C"], name="ligands", sigma=0.3, budget=60)
    served = RealServer(problem, name="sharp")
    with open_lab(tmp_path / "lab.db", served, plate=24) as lab:
        done = 0
        while not lab.finished:
            trials = lab.ask(96)
            assert len(trials) <= 60 - done
            tell_all(lab, [trial.number for trial in trials])
            done += len(trials)
        assert done == 60


def test_with_a_budget_several_plates_are_one_batch(tmp_path: Path) -> None:
    problem = Problem(["A", "B", "C"], name="ligands", sigma=0.3, budget=250)
    served = RealServer(problem, name="sharp")
    asked = []
    with open_lab(tmp_path / "lab.db", served, plate=24) as lab:
        while not lab.finished:
            trials = lab.ask(96)
            asked.append(len(trials))
            tell_all(lab, [trial.number for trial in trials])
    assert asked == [96, 96, 58]
    assert sizes(served) == asked


def sheet(path: Path, lab: Lab, n: int) -> list[dict[str, str]]:
    trials = lab.ask(n)
    worksheet.write(path, trials, lab.terms, lab.site, lab.places(trials))
    return list(csv.DictReader(path.read_text().splitlines()))


@pytest.mark.parametrize(("plate", "last"), [(24, "D6"), (48, "F8"), (96, "H12"), (384, "P24")])
def test_a_worksheet_has_wells(tmp_path: Path, plate: int, last: str) -> None:
    with open_lab(tmp_path / "lab.db", FakeServer(PROBLEM, "sharp"), plate=plate) as lab:
        rows = sheet(tmp_path / "one.csv", lab, plate)
        assert (rows[0]["well"], rows[-1]["well"]) == ("A1", last)
        assert len({row["well"] for row in rows}) == plate
        assert "plate" not in rows[0]
        again = lab.open[5:8]  # the same wells when they are asked for again
        assert [well for _, well in lab.places(again)] == [row["well"] for row in rows[5:8]]
        two = sheet(tmp_path / "two.csv", lab, 2 * plate)
        assert Counter(row["plate"] for row in two) == {"2": plate, "3": plate}
        assert len({(row["plate"], row["well"]) for row in two}) == 2 * plate


def test_other_plates_have_no_wells(tmp_path: Path) -> None:
    with open_lab(tmp_path / "lab.db", FakeServer(PROBLEM, "sharp"), plate=10) as lab:
        assert "well" not in sheet(tmp_path / "one.csv", lab, 10)[0]
    with open_lab(tmp_path / "b.db", FakeServer(PROBLEM, "sharp")) as lab:
        assert "well" not in sheet(tmp_path / "b.csv", lab, 24)[0]


def test_a_trial_for_one_that_was_given_back_takes_no_other_ones_well(tmp_path: Path) -> None:
    with open_lab(tmp_path / "lab.db", FakeServer(PROBLEM, "sharp"), plate=24) as lab:
        trials = lab.ask(24)
        lab.give_back(trials[3])
        (again,) = lab.ask()
        assert lab.places([again]) == [(1, "")]


def positions(lab: Lab, plates: int) -> dict[str, list[int]]:
    """Where on its plate each trial of an arm was."""
    found: dict[str, list[int]] = {}
    for _ in range(plates):
        for place, trial in enumerate(lab.ask(24)):
            found.setdefault(trial.arm, []).append(place)
            lab.tell(trial, reward(trial.number))
    return found


@pytest.mark.parametrize("said", [{"plate": 24}, {}])
def test_the_place_on_a_plate_has_nothing_to_do_with_the_arm(tmp_path: Path, said: dict[str, Any]) -> None:
    """The mean place of every arm is that of a random one, to within four standard errors."""
    served = FakeServer(Problem(["A", "B", "C"], name="ligands", sigma=3.0), "sharp")
    with open_lab(tmp_path / "lab.db", served, **said) as lab:
        found = positions(lab, 40)
    for places in found.values():
        error = (24 * 24 / 12 / len(places)) ** 0.5
        assert abs(sum(places) / len(places) - 11.5) < 4 * error
        assert len(set(places)) > 20
