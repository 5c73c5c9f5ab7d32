"""Counts that were added up elsewhere: from Python and from a file, once each, after a kill too."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from fake_server import FakeServer
from real_server import RealServer

from bestarm import Lab, Problem, UserError
from bestarm.client.connect import connect
from bestarm.client.sheets import worksheet

YES_NO = Problem(["A", "B"], name="ligands", rewards="yes-no")
MEASURED = Problem(["A", "B"], name="ligands", centre=10.0)
ITEMS = Problem(["A", "B"], name="ligands", items=True)


def opened(server: FakeServer, path: Path, **options: Any) -> Lab:
    return connect("http://fake", token="token-of-lab-a", journal=path, transport=server, **options)


def tallies(server: RealServer) -> list[Any]:
    return [row["tally"] for row in server.admin.call("GET", "/v1/studies/ligands/export")["uploads"]]


def test_daily_counts_lead_to_a_verdict(tmp_path: Path) -> None:
    server = RealServer(YES_NO, name="sharp")
    for day in range(100):  # a new process every day
        with opened(server, tmp_path / "lab.db") as lab:
            if lab.finished:
                break
            counts = {"A": (5000, 300), "B": (4800 + day, 200)}
            assert lab.tell_counts(counts, f"day {day}")
    assert lab.verdict is not None
    assert lab.verdict.arm == "A"
    assert tallies(server)[0] == {"A": [5000, 300.0], "B": [4800, 200.0]}


def test_a_batch_counts_once(tmp_path: Path) -> None:
    server = RealServer(YES_NO, name="sharp")
    with opened(server, tmp_path / "lab.db") as lab:
        assert lab.tell_counts({"A": (50, 3), "B": (50, 2)}, "monday")
    with opened(server, tmp_path / "lab.db") as lab:
        assert not lab.tell_counts({"A": (50, 3), "B": (50, 2)}, "monday")
        with pytest.raises(UserError, match="'monday' were told before, with other numbers"):
            lab.tell_counts({"A": (50, 4), "B": (50, 2)}, "monday")
        assert lab.tell_counts({"A": (50, 3), "B": (50, 2)})  # without a name it is another batch
    assert len(tallies(server)) == 2


def test_offline_it_is_kept_and_sent_later(tmp_path: Path) -> None:
    server = RealServer(YES_NO, name="sharp")
    opened(server, tmp_path / "lab.db").close()
    server.online = False
    with opened(server, tmp_path / "lab.db") as lab:
        assert lab.tell_counts({"A": (50, 3), "B": (50, 2)}, "monday")
        with pytest.raises(UserError):  # the first one waits for its answer
            lab.tell_counts({"A": (50, 3), "B": (50, 2)}, "tuesday")
    server.online, server.answers_get_lost = True, True
    with opened(server, tmp_path / "lab.db") as lab:
        assert not lab.tell_counts({"A": (50, 3), "B": (50, 2)}, "monday")
        assert lab.status()["unsent"] == 1
    server.answers_get_lost = False
    with opened(server, tmp_path / "lab.db") as lab:
        lab.sync()
        assert lab.tell_counts({"A": (50, 5), "B": (50, 2)}, "tuesday")
    assert [tally["A"] for tally in tallies(server)] == [[50, 3.0], [50, 5.0]]


def test_squares_are_taken_around_the_centre(tmp_path: Path) -> None:
    server = RealServer(MEASURED, name="sharp")
    with opened(server, tmp_path / "lab.db") as lab:
        lab.tell_counts({"A": (2, 21.0, 221.0), "B": (2, 19.0, 181.0)})  # 10 and 11, 9 and 10
        with pytest.raises(UserError, match="asks for sums of squares"):
            lab.tell_counts({"A": (2, 21.0), "B": (2, 19.0)})
    assert tallies(server) == [{"A": [2, 21.0, 1.0], "B": [2, 19.0, 1.0]}]


def test_pairs_of_those_who_add_up_themselves(tmp_path: Path) -> None:
    server = RealServer(ITEMS, name="sharp")
    with opened(server, tmp_path / "lab.db") as lab:
        rows = {"A": (3, 2.0, "B", 3, -0.5, 0.75), "B": (3, 1.5, "A", 3, 0.5, 0.75)}
        with pytest.raises(UserError, match="names no rival for it; a rival is chosen before"):
            lab.tell_counts(rows)
        assert lab.tell_counts({arm: (3, row[1], None, 0, 0, 0) for arm, row in rows.items()})
        assert lab.tell_counts(rows)  # from now on the plan names them
        with pytest.raises(UserError, match="do not say which trials were on the same one"):
            lab.tell_counts({"A": (3, 2.0), "B": (3, 1.5)})
    assert tallies(server)[1]["A"] == [3, 2.0, "B", 3.0, -0.5, 0.75]


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"X": (1, 0)}, "'X' is not an arm"),
        ({"A": (0, 0)}, "whole number above 0"),
        ({"A": (1.5, 0)}, "whole number above 0"),
        ({"A": (10, 11)}, "can't come from rewards between"),
        ({"A": (10, 2.5)}, "have a whole number"),
        ({"A": (10,)}, r"must be \[pulls, reward_sum\]"),
        ({}, "at least one arm must have been pulled"),
    ],
)
def test_counts_that_can_not_be(tmp_path: Path, counts: dict[str, Any], words: str) -> None:
    server = RealServer(YES_NO, name="sharp")
    with opened(server, tmp_path / "lab.db") as lab:
        with pytest.raises(UserError, match=words):
            lab.tell_counts(counts, "monday")
        assert lab.tell_counts({"A": (10, 1), "B": (10, 2)}, "monday")  # nothing was changed
    assert len(tallies(server)) == 1


@pytest.mark.parametrize("counts", [None, [("A", 10, 1)], {"A": 10}, {"A": None}, {"A": (10, object())}])
def test_what_is_no_counts_gets_a_sentence(tmp_path: Path, counts: Any) -> None:
    with opened(RealServer(YES_NO, name="sharp"), tmp_path / "lab.db") as lab:
        with pytest.raises(UserError, match="it must have a row for each arm, as in"):
            lab.tell_counts(counts)
        assert lab.tell_counts({"A": (10, 1), "B": (10, 2)}, "monday")
        with pytest.raises(UserError, match="it must have a row for each arm, as in"):
            lab.correct_counts("monday", counts)


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    server = RealServer(YES_NO, name="sharp")
    counts: dict[str, Any] = {"A": (np.int64(10), np.float32(1)), "B": np.array([10, 2])}
    right: dict[str, Any] = {"A": (10, 2), "B": np.array([10, 3])}
    with opened(server, tmp_path / "lab.db") as lab:
        assert lab.tell_counts(counts, "monday")
        assert not lab.tell_counts(counts, "monday")
        assert lab.correct_counts("monday", right)
        assert len(lab.ask(np.int64(3))) == 3  # type: ignore[arg-type]
    assert tallies(server) == [{"A": [10, 1.0], "B": [10, 2.0]}]  # as they were sent


def test_trials_under_way_come_first(tmp_path: Path) -> None:
    with opened(RealServer(YES_NO, name="sharp"), tmp_path / "lab.db") as lab:
        lab.ask(1)
        with pytest.raises(UserError, match="trials of the plan are under way"):
            lab.tell_counts({"A": (10, 1), "B": (10, 2)})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arm,pulls\nA,1\n", "the first line must be arm,pulls,sum or"),
        ("arm,pulls,sum\n", "there are no counts"),
        ("arm,pulls,sum\nA,1\n", "line 2: it has 2 cells; it must have 3"),
        ("arm,pulls,sum\nA,one,1\n", "line 2: pulls is 'one'"),
        ("arm,pulls,sum\nA,1,much\n", "line 2: sum is 'much'"),
        ("arm,pulls,sum\nA,1,1\nA,1,1\n", "line 3: arm 'A' is there twice"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "day.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=words):
        worksheet.read_counts(path)


def test_a_file_has_a_name_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_text(
        "arm,pulls,sum,rival,pairs,differences,squared_differences\nA,2,1.5,B,2,0.5,0.25\nB,2,2,,0,0,0\n"
    )
    rows, name = worksheet.read_counts(path)
    assert rows == {"A": [2, 1.5, "B", 2.0, 0.5, 0.25], "B": [2, 2.0, None, 0.0, 0.0, 0.0]}
    path.write_text("arm,pulls,sum\nA,2,1.5\n")
    assert worksheet.read_counts(path)[1] != name
    assert name.startswith("day.csv/")


@pytest.mark.parametrize("name", ["squares", "sum of squares", "Sum of Squares", "sum_of_squares"])
def test_the_sum_of_squares_may_be_called_so(tmp_path: Path, name: str) -> None:
    path = tmp_path / "day.csv"
    path.write_text(f"arm,pulls,sum,{name}\nA,2,1.5,1.25\n")
    assert worksheet.read_counts(path)[0] == {"A": [2, 1.5, 1.25]}


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_file_as_a_spreadsheet_of_another_country_saves_it(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "day.csv"
    lines = [("\ufeffArm", "pulls", "sum"), ("A", "20", "7,25"), ("B", "21", "-0,5")]
    path.write_text("\r\n".join(map(separator.join, lines)))
    assert worksheet.read_counts(path)[0] == {"A": [20, 7.25], "B": [21, -0.5]}
    path.write_text(separator.join(("arm", "pulls", "sum\nA", "1000", "1,234\n")))
    with pytest.raises(UserError, match=r"line 2: sum is '1,234', which may be 1\.234 or 1234"):
        worksheet.read_counts(path)


def test_two_million_visitors_in_a_few_messages(tmp_path: Path) -> None:
    """Three regions with rates of 2 to 5 %; each splits its next 100,000 visitors as the plan says."""
    rates, lifts = {"A": 0.0202, "B": 0.02, "C": 0.0198}, {"north": 1.0, "south": 1.4, "west": 2.4}
    server = RealServer(Problem(list(rates), name="ligands", rewards="yes-no"), name="sharp", agents=3)
    random, visitors = Random(5), 0
    for message in range(21):
        region = list(lifts)[message % 3]
        token = f"token-of-{region}"
        with connect("http://fake", token=token, journal=tmp_path / region, transport=server) as lab:
            assert sum(lab.split.values()) == pytest.approx(1.0)
            rows = {}
            for arm, share in lab.split.items():
                seen = max(round(100_000 * share), 1)
                rate = rates[arm] * lifts[region]
                rows[arm] = (seen, round(random.gauss(seen * rate, (seen * rate) ** 0.5)))
                visitors += seen
            assert lab.tell_counts(rows, f"{message}")
    assert visitors > 2_000_000
    assert (server.server.samples, len(server.server.log)) == (visitors, 21)
