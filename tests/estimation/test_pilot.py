"""What first measurements say about arms, sites and noise, and estimates from them, or from a guess."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.estimation.pilot import Pilot, Row, read_rows
from bestarm.simulation.worlds.table import read_cells

ARMS = ["A", "B", "C"]
MEANS = np.array([0.9, 0.6, 0.4])
BLIND = bestarm.Problem(ARMS, sigma=0.5, name="blind")


def measured(each: int, offsets: dict[str, float], noise: float, seed: int = 0, absent: str = "") -> list[Row]:
    """Some measurements of each arm at each site, but for the arm that the first site does not have."""
    random = np.random.default_rng(seed)
    first = next(iter(offsets))
    return [
        (arm, float(mean + offset + noise * random.standard_normal()), site)
        for site, offset in offsets.items()
        for arm, mean in zip(ARMS, MEANS, strict=True)
        for _ in range(each)
        if not (site == first and arm == absent)
    ]


def test_offsets_are_not_in_the_gaps_and_not_in_the_noise() -> None:
    """Arm A is missing at the site with the large offset: its plain mean would be 3 too small."""
    rows = measured(200, {"x": 10.0, "y": 0.0, "z": -1.0}, 0.2, absent="A")
    pilot = Pilot.of(rows, ARMS)
    assert np.diff(pilot.means) == pytest.approx(np.diff(MEANS), abs=0.05)
    assert pilot.noise == pytest.approx(0.2, rel=0.05)
    assert (pilot.measurements, pilot.sites) == (1600, 3)


def test_arms_that_differ_from_site_to_site_are_not_in_the_noise() -> None:
    rows = [
        (arm, reward + (arm == "B") * (site == "x"), site)
        for arm, reward, site in measured(200, {"x": 0, "y": 0}, 0.2)
    ]
    assert Pilot.of(rows, ARMS).noise == pytest.approx(0.2, rel=0.05)


def test_the_standard_error_is_that_of_repeated_pilots() -> None:
    pilots = [Pilot.of(measured(3, {"x": 1.0, "y": 0.0}, 0.1, seed, absent="A"), ARMS) for seed in range(400)]
    gaps = [pilot.means[0] - pilot.means[1] for pilot in pilots]
    assert np.mean(gaps) == pytest.approx(0.3, abs=0.015)
    assert np.sqrt(np.mean([pilot.error**2 for pilot in pilots])) == pytest.approx(np.std(gaps), rel=0.12)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("arm,value\nA,1\n", "line 1 is 'arm,value'; the columns must be arm,reward or arm,reward,site."),
        ("arm,reward\n", "there are no measurements below the header."),
        ("arm,reward\nA,1\nB\n", "line 3 has 1 cells; it must have 2, like the header."),
        ("arm,reward\nA,high\n", "line 2: reward is 'high'; it must be a number."),
        ("arm,reward\nA,nan\n", "line 2: reward is 'nan'; it must be a number."),
        ('arm,reward\n"A,1\n', "line 2 has 1 cells"),
        ("arm,reward\nD,1\n", "the pilot has arm 'D', which the problem does not have."),
        ("arm,reward\nA,1\nB,2\n", "the pilot has no measurement of arm 'C'; it must have one of each."),
        ("arm,reward\nA,1\nB,2\nC,3\n", "the pilot has no arm twice at one site"),
        ("arm,reward\nA,1\nA,1\nB,2\nC,3\n", "the rewards of each arm are all the same in the pilot"),
        (
            "arm,reward,site\nA,1,x\nA,2,x\nB,2,x\nC,3,y\n",
            "the pilot has arms that were never measured at a site",
        ),
    ],
)
def test_what_is_no_pilot_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "first.csv"
    path.write_text(text)
    with pytest.raises(bestarm.UserError) as caught:
        bestarm.estimate(BLIND, pilot=path, engine="rounds")
    assert str(caught.value).startswith(f"{path}: {sentence}")


def test_an_estimate_from_a_pilot_is_a_simulation_of_what_it_says(tmp_path: Path) -> None:
    rows = measured(5, {"x": 1.0, "y": 0.0}, 0.2)
    path = tmp_path / "first.csv"
    path.write_text("arm,reward,site\n" + "".join(f"{arm},{reward!r},{site}\n" for arm, reward, site in rows))
    assert read_rows(*read_cells(path.read_text())) == rows
    pilot = Pilot.of(rows, ARMS)
    found = bestarm.estimate(BLIND, agents=2, runs=5, pilot=path, engine="rounds")
    assert "the pilot of 30 measurements at 2 sites" in found.assumption
    assert "standard error" in found.assumption
    truth = bestarm.Problem(ARMS, sigma=0.5, means=pilot.means)
    same = bestarm.simulate(truth, agents=2, runs=5, noise=pilot.noise, engine="rounds").summary()
    assert [row.samples for row in found.rows] == [same]
    assert found == bestarm.estimate(BLIND, agents=2, runs=5, pilot=rows, engine="rounds")
    assert found.to_json()["world"] == {"noise": pilot.noise}


def test_with_gaps_or_features_only_the_noise_is_the_pilots() -> None:
    rows = measured(5, {"x": 1.0, "y": 0.0}, 0.2)
    features = [[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]]
    for problem in (BLIND, bestarm.Problem(ARMS, features=features, sigma=0.5)):
        found = bestarm.estimate(problem, agents=2, runs=2, pilot=rows, gap_over_noise=[2, 4], engine="rounds")
        noise = Pilot.of(rows, ARMS).noise
        assert [row.gap for row in found.rows] == pytest.approx([2 * noise, 4 * noise])
        assert f"The noise of {noise:.3g} is that of the pilot" in found.assumption


def test_a_pilot_of_rates_stays_between_0_and_1() -> None:
    rows: list[Row] = [
        ("A", 1.0, "x"),
        ("A", 1.0, "y"),
        ("B", 0.0, "y"),
        ("B", 1.0, "y"),
        ("C", 0.0, "x"),
        ("C", 0.0, "y"),
    ]
    unit = bestarm.Problem(ARMS, reward_range=[0, 1])
    found = bestarm.estimate(unit, agents=2, runs=2, pilot=rows, rewards="yes-no", engine="rounds")
    assert found.world.noise is None
    assert 0 < found.rows[0].gap <= 1


def test_in_units_of_the_noise_a_range_of_rewards_says_nothing() -> None:
    checks: tuple[dict[str, Any], ...] = ({}, {"reward_range": [0, 1]})
    problems = [bestarm.Problem(["A", "B"], rewards="normal", **fields) for fields in checks]
    plain, checked = (bestarm.estimate(one, agents=2, runs=4, gap_over_noise=[1, 2]) for one in problems)
    assert [row.samples for row in checked.rows] == [row.samples for row in plain.rows]


def test_a_guess_of_gap_over_noise_has_the_noise_for_its_unit() -> None:
    told = bestarm.estimate(BLIND, agents=2, runs=2, gap_over_noise=2.0, engine="rounds")
    assert [row.gap for row in told.rows] == [1.0]
    true = bestarm.estimate(BLIND, agents=2, runs=2, gap_over_noise=[2.0], noise=0.1, engine="rounds")
    assert [row.gap for row in true.rows] == [0.2]
    assert true.rows[0].lower_bound == pytest.approx(told.rows[0].lower_bound)  # the same in units of the noise


@pytest.mark.parametrize("goal", ["highest", "lowest"])
def test_without_sigma_a_pilot_the_noise_or_gaps_in_units_of_it_will_do(goal: str) -> None:
    bare = bestarm.Problem(ARMS, goal=goal)
    given: dict[str, Any] = {"agents": 2, "runs": 2, "engine": "rounds"}
    rows = measured(5, {"x": 1.0, "y": 0.0}, 0.2)
    pilot = Pilot.of(rows, ARMS, goal)
    (first,) = bestarm.estimate(bare, pilot=rows, **given).rows
    ranked = np.sort(pilot.means)
    assert first.gap == pytest.approx(ranked[2] - ranked[1] if goal == "highest" else ranked[1] - ranked[0])
    assert [row.gap for row in bestarm.estimate(bare, noise=0.2, gaps=[0.5], **given).rows] == [0.5]
    guessed = bestarm.estimate(bare, gap_over_noise=2.0, **given)
    assert [row.gap for row in guessed.rows] == [2.0]
    assert "in units of the noise" in guessed.assumption
    (rates,) = bestarm.estimate(bare, rewards="yes-no", gaps=[0.6], **given).rows
    assert rates.samples_to_lower is None
    with pytest.raises(bestarm.UserError, match=r"give noise .*, a pilot .*, or gap_over_noise"):
        bestarm.estimate(bare, gaps=[0.5], **given)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"gaps": [0.1], "gap_over_noise": 0.5}, "gaps and gap_over_noise are both given"),
        ({"gap_over_noise": 0.0}, "gap_over_noise is 0.0; it must be a number above 0"),
        ({"gap_over_noise": [1.0, -1.0]}, "gap_over_noise is -1.0; it must be a number above 0"),
        ({"pilot": "nowhere.csv"}, "nowhere.csv: there is no such file"),
    ],
)
def test_what_can_not_be_guessed_is_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(bestarm.UserError, match=f"^{sentence}"):
        bestarm.estimate(BLIND, engine="rounds", **given)
