"""A number that may be a slip: how often good data are asked about, and what is noticed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from fake_server import FakeServer
from real_server import RealServer

from bestarm import Doubtful, Lab, Problem
from bestarm.client.connect import connect
from bestarm.doubt import LOOKED_AT, is_far

MEASURED = Problem(["A", "B"], name="ligands")


def opened(server: FakeServer, path: Path, **options: Any) -> Lab:
    return connect("http://fake", token="token-of-lab-a", journal=path, transport=server, **options)


def questions(draw: Callable[[Random], float], after: int, runs: int = 300, length: int = 60) -> float:
    """The share of numbers after the first few that are asked about."""
    random, asked = Random(0), 0
    for _ in range(runs):
        seen: list[float] = []
        for place in range(length):
            number = draw(random)
            asked += place >= after and is_far(number, seen[-LOOKED_AT:])
            seen.append(number)
    return asked / (runs * (length - after))


@pytest.mark.parametrize(
    ("draw", "most"),
    [
        (lambda random: random.gauss(0.0, 1.0), 0.0002),
        (lambda random: random.gauss(5.0, 1.0), 0.0002),
        (lambda random: random.random(), 0.0002),
        (lambda random: float(random.random() < 0.3), 0.0),
        (lambda random: float(random.randint(1, 5)), 0.0),
        (lambda random: random.expovariate(1.0), 0.003),
        (lambda random: random.gauss(0.0, 1.0) / (random.gammavariate(1.5, 2.0) / 3) ** 0.5, 0.004),
    ],
    ids=["normal", "normal far from 0", "uniform", "yes or no", "grades", "exponential", "t with 3 degrees"],
)
def test_good_data_are_hardly_ever_asked_about(draw: Callable[[Random], float], most: float) -> None:
    assert questions(draw, after=4) <= most


def test_a_decimal_point_is_noticed_from_the_third_reward_on() -> None:
    random = Random(1)
    for before in (2, 3, 4, 7, 8, 20, 100):
        for _ in range(50):
            seen = [random.uniform(0.3, 0.95) for _ in range(before)]
            assert is_far(84.0, seen)
            assert not is_far(0.84, seen)


@pytest.mark.parametrize("kind", [FakeServer, RealServer])
def test_what_is_far_is_taken_when_somebody_is_sure(tmp_path: Path, kind: type[FakeServer]) -> None:
    with opened(kind(MEASURED, name="sharp"), tmp_path / "lab.db", plate=12) as lab:
        first, second, third, fourth = lab.ask(4)
        lab.tell(first, 0.81)
        lab.tell(second, 0.63)
        with pytest.raises(Doubtful, match=r"is 84, and the 2 of .* it was not taken. If the notebook says so"):
            lab.tell(third, 84)
        with pytest.raises(Doubtful):
            lab.tell(third, [0.84, 84.0, 0.83])  # each measurement is looked at
        assert lab.status()["told"] == 2
        assert lab.tell(third, 84, sure=True)
        assert not lab.tell(third, 84)  # known already: no question
        lab.tell(fourth, 0.7)


def test_counts_are_asked_about_too(tmp_path: Path) -> None:
    problem = Problem(["A", "B"], name="ligands", rewards="yes-no")
    with opened(RealServer(problem, name="sharp"), tmp_path / "lab.db") as lab:
        assert lab.tell_counts({"A": (5000, 251), "B": (5000, 203)}, "monday")
        with pytest.raises(Doubtful, match=r"the mean of 'A' is 0\.502"):
            lab.tell_counts({"A": (5000, 2510), "B": (5000, 203)}, "tuesday")
        assert lab.tell_counts({"A": (500, 31), "B": (90, 1)}, "tuesday")  # few visitors scatter more
        assert lab.tell_counts({"A": (5000, 2510), "B": (5000, 203)}, "wednesday", sure=True)


def test_a_range_says_what_is_possible(tmp_path: Path) -> None:
    ranged = Problem(["A", "B"], name="ligands", sigma=0.1, reward_range=(0.0, 1.0))
    with opened(FakeServer(ranged, name="sharp"), tmp_path / "lab.db", plate=12) as lab:
        trials = lab.ask(4)
        with pytest.raises(ValueError, match=r"a number from 0\.0 to 1\.0, the reward_range"):
            lab.tell(trials[0], 84)
        for trial, reward in zip(trials, (0.01, 0.02, 0.9, 0.5), strict=True):
            lab.tell(trial, reward)  # whatever is possible
