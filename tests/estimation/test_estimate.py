"""`estimate` says what a study will cost, and a fresh simulation agrees."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bestarm

COMMAND = str(Path(sys.executable).with_name("bestarm"))
BLIND = bestarm.Problem(["A", "B", "C", "D"], sigma=0.3, name="blind")
RANGED = bestarm.Problem(["A", "B"], reward_range=[0, 1], name="ranged")
FEATURES = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [-0.5, 0.5]]
LINEAR = bestarm.Problem(list("ABCD"), features=FEATURES, reward_range=[0, 1], name="linear")


@pytest.mark.parametrize("gap", [0.1, 0.3])
def test_a_fresh_simulation_agrees(gap: float) -> None:
    """The interval has level 95 %; the seeds 0 and 1 were chosen once, before looking.

    10,000 fresh runs against 400, so what the fresh mean itself is off by hardly counts.
    """
    (row,) = bestarm.estimate(BLIND, agents=5, gaps=[gap], runs=400, seed=0).rows
    truth = bestarm.Problem(BLIND.arms, sigma=0.3, means=[0.5 + gap, 0.5, 0.5, 0.5])
    fresh = bestarm.simulate(truth, "sharp", agents=5, runs=10_000, seed=1).summary()
    low, high = row.interval
    assert low < fresh.mean < high
    assert high - low < 0.2 * fresh.mean  # an interval that says something
    assert row.samples_per_agent == pytest.approx(row.samples.mean / 5)


def test_means_are_taken_as_they_are_unless_gaps_are_given() -> None:
    known = bestarm.Problem.quick([0.9, 0.5, 0.2], sigma=0.3)
    own = bestarm.estimate(known, agents=2, runs=5, engine="rounds")
    assert [row.gap for row in own.rows] == [pytest.approx(0.4)]
    simulated = bestarm.simulate(known, "sharp", agents=2, runs=5, engine="rounds").summary()
    assert own.rows[0].samples == simulated
    other = bestarm.estimate(known, agents=2, runs=5, gaps=[0.5], engine="rounds")
    assert [row.gap for row in other.rows] == [0.5]


def test_default_gaps_come_from_sigma_and_stay_inside_the_range() -> None:
    blind = bestarm.estimate(BLIND, agents=2, runs=2, engine="rounds")
    assert [row.gap for row in blind.rows] == pytest.approx([0.075, 0.15, 0.3, 0.6])
    ranged = bestarm.estimate(RANGED, agents=2, runs=2, rewards="bernoulli", engine="rounds")
    assert [row.gap for row in ranged.rows] == pytest.approx([0.125, 0.25, 0.5])  # 2 sigma is the whole range


def test_a_linear_problem_without_theta_takes_random_ones_and_says_so() -> None:
    found = bestarm.estimate(LINEAR, agents=2, gaps=[0.5, 1.0], runs=10, seed=3, engine="rounds")
    assert "5 random directions of theta (seed 3)" in found.assumption
    assert "reward_range" in found.assumption
    assert found == bestarm.estimate(LINEAR, agents=2, gaps=[0.5, 1.0], runs=10, seed=3, engine="rounds")
    narrow, wide = found.rows
    # The same directions at twice the gap: the lower bound is a quarter.
    assert narrow.lower_bound == pytest.approx(4 * wide.lower_bound, rel=1e-3)


@pytest.mark.parametrize(
    ("problem", "given", "sentence"),
    [
        (BLIND, {"gaps": [0.1, 0.0]}, "a gap is 0.0; it must be a number above 0"),
        (BLIND, {"gaps": []}, "gaps is empty"),
        (BLIND, {"runs": 1}, "runs is 1"),
        (RANGED, {"gaps": [1.5]}, "a gap is 1.5"),
        (bestarm.Problem.quick([0.5, 0.5], sigma=0.3), {}, "no number of samples decides"),
    ],
)
def test_what_can_not_be_estimated_is_one_sentence(
    problem: bestarm.Problem, given: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(bestarm.UserError, match=sentence):
        bestarm.estimate(problem, **given)


def test_the_command_prints_a_table_or_json_and_draws(tmp_path: Path) -> None:
    file, figure = tmp_path / "problem.toml", tmp_path / "costs.png"
    file.write_text('sigma = 0.3\narm = [{ name = "A" }, { name = "B" }]\n')
    words = [COMMAND, "estimate", str(file), "--agents", "3", "--gaps", "0.3,0.6", "--runs", "20"]
    table = subprocess.run([*words, "--plot", str(figure)], capture_output=True, text=True, timeout=300)
    assert table.returncode == 0, table.stderr
    assert "all others are worse by the gap" in table.stdout
    assert figure.read_bytes().startswith(b"\x89PNG")
    found = json.loads(subprocess.run([*words, "--format", "json"], capture_output=True, timeout=300).stdout)
    assert [row["gap"] for row in found["rows"]] == [0.3, 0.6]
    low, high = found["rows"][0]["samples"]["interval"]
    assert low < found["rows"][0]["samples"]["mean"] < high
    pilot = tmp_path / "first.csv"
    pilot.write_text("arm,reward\nA,0.9\nA,0.7\nB,0.1\nB,0.2\n")
    words = [COMMAND, "estimate", str(file), "--agents", "3", "--runs", "20"]
    first = subprocess.run(
        [*words, "--pilot", str(pilot), "--drift", "0.1"], capture_output=True, text=True, timeout=300
    )
    assert first.returncode == 0, first.stderr
    assert "those of the pilot of 4 measurements" in first.stdout
    assert "noise=0.1118" in first.stdout
    guess = [*words, "--gap-over-noise", "1,2", "--offsets", "-0.1,0.1", "--format", "json"]
    found = json.loads(subprocess.run(guess, capture_output=True, timeout=300).stdout)
    assert [row["gap"] for row in found["rows"]] == [0.3, 0.6]
    assert found["world"] == {"offsets": [-0.1, 0.1]}
    bad = subprocess.run([*words, "--set", "gama=1"], capture_output=True, text=True, timeout=300)
    assert bad.returncode == 2
    assert "has no parameter 'gama'" in bad.stderr
