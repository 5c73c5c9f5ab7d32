"""What a problem says of its rewards: their kind, their scatter, their range; and what follows from that."""

import json
from typing import Any

import pytest

from bestarm.errors import UserError
from bestarm.problem import Problem

ARMS = ["A", "B"]

# What is passed beside the arms, and the kind, sigma and range that follow.
KINDS: list[tuple[dict[str, Any], tuple[str, float | None, tuple[float, float] | None]]] = [
    ({}, ("normal", None, None)),
    ({"rewards": "normal"}, ("normal", None, None)),
    ({"sigma": 0.3}, ("normal", 0.3, None)),
    ({"rewards": "normal", "sigma": 0.3}, ("normal", 0.3, None)),
    ({"reward_range": [0, 4]}, ("bounded", 2.0, (0.0, 4.0))),
    ({"rewards": "bounded", "reward_range": [0, 4]}, ("bounded", 2.0, (0.0, 4.0))),
    ({"rewards": "normal", "reward_range": [0, 4]}, ("normal", None, (0.0, 4.0))),
    ({"sigma": 0.3, "reward_range": [0, 4]}, ("normal", 0.3, (0.0, 4.0))),
    ({"rewards": "yes-no"}, ("yes-no", 0.5, (0.0, 1.0))),
    ({"rewards": "yes-no", "reward_range": [0, 1]}, ("yes-no", 0.5, (0.0, 1.0))),
]

BAD: list[tuple[dict[str, Any], str]] = [
    ({"rewards": "binary"}, "rewards is 'binary'; it must be 'normal', 'yes-no' or 'bounded'."),
    ({"rewards": 1}, "rewards is 1; it must be 'normal', 'yes-no' or 'bounded'."),
    ({"rewards": "bounded"}, "rewards is 'bounded', but there is no reward_range; it must be given."),
    (
        {"rewards": "bounded", "reward_range": [0, 1], "sigma": 0.3},
        "sigma is given, but rewards is 'bounded', whose range says how they scatter; it must be left out.",
    ),
    (
        {"rewards": "yes-no", "sigma": 0.3},
        "sigma is given, but rewards is 'yes-no', whose range says how they scatter; it must be left out.",
    ),
    (
        {"rewards": "yes-no", "reward_range": [0, 100]},
        "reward_range is [0, 100], but rewards is 'yes-no' and they are 0 or 1; it must be left out.",
    ),
    ({"rewards": "yes-no", "centre": 0.1}, "centre is given, but rewards is 'yes-no'; it must be left out."),
    (
        {"reward_range": [0, 1], "centre": 0.5},
        "centre is given, but rewards is 'bounded'; it must be left out.",
    ),
    (
        {"rewards": "yes-no", "means": [0.5, 1.5]},
        "mean of arm 'B' is 1.5; it must be a number from 0.0 to 1.0, the reward_range.",
    ),
]


@pytest.mark.parametrize(("given", "expected"), KINDS)
def test_kind_scatter_and_range(
    given: dict[str, Any], expected: tuple[str, float | None, tuple[float, float] | None]
) -> None:
    problem = Problem(ARMS, **given)
    assert (problem.rewards, problem.sigma, problem.reward_range) == expected
    again = Problem.from_dict(json.loads(json.dumps(problem.to_dict())))
    assert again == problem
    assert (again.rewards, again.sigma, again.reward_range) == expected
    assert again.fingerprint == problem.fingerprint


@pytest.mark.parametrize(("given", "sentence"), BAD)
def test_what_does_not_go_together_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        Problem(ARMS, **given)
    assert str(caught.value) == sentence


def test_what_goes_without_saying_is_not_written() -> None:
    written = [
        {key: value for key, value in Problem(ARMS, **given).to_dict().items() if key != "arm"}
        for given, _ in KINDS
    ]
    usual = {"name": "problem", "delta": 0.05, "epsilon": 0.0}
    assert written == [
        usual,
        usual,
        usual | {"sigma": 0.3},
        usual | {"sigma": 0.3},
        usual | {"reward_range": [0.0, 4.0]},
        usual | {"reward_range": [0.0, 4.0]},
        usual | {"rewards": "normal", "reward_range": [0.0, 4.0]},
        usual | {"sigma": 0.3, "reward_range": [0.0, 4.0]},
        usual | {"rewards": "yes-no"},
        usual | {"rewards": "yes-no"},
    ]


def test_different_rewards_have_different_fingerprints() -> None:
    """Also where sigma and the range are the same."""
    given: list[dict[str, Any]] = [
        {},
        {"sigma": 0.5},
        {"reward_range": [0, 1]},
        {"rewards": "yes-no"},
        {"sigma": 0.5, "reward_range": [0, 1]},
        {"rewards": "normal", "reward_range": [0, 1]},
    ]
    assert len({Problem(ARMS, **one).fingerprint for one in given}) == len(given)


def test_the_centre_of_normal_rewards_is_the_middle_of_their_range() -> None:
    assert Problem(ARMS, sigma=1, reward_range=[0, 100]).centre == 50
    assert Problem(ARMS, sigma=1, reward_range=[0, 100], centre=80).to_dict()["centre"] == 80
    assert Problem(ARMS).centre == 0


def test_yes_or_no_is_0_or_1() -> None:
    problem = Problem(ARMS, rewards="yes-no")
    assert [problem.check_reward(x) for x in (0, 1, 1.0)] == [0.0, 1.0, 1.0]
    for reward in (0.5, 2, -1, True, "1", float("nan")):
        with pytest.raises(UserError, match=r"^reward is .*; it must be 0 or 1, since rewards is 'yes-no'\.$"):
            problem.check_reward(reward)


def test_a_range_beside_sigma_is_a_check_of_what_is_typed() -> None:
    problem = Problem(ARMS, sigma=0.1, reward_range=[0, 1])
    with pytest.raises(
        UserError, match=r"^reward is 85; it must be a number from 0\.0 to 1\.0, the reward_range"
    ):
        problem.check_reward(85)


def test_without_sigma_any_number_may_be_a_reward() -> None:
    assert Problem(ARMS).check_reward(1e50) == 1e50
    with pytest.raises(UserError, match=r"^reward is 1e\+101; it must be a number from -1e\+100 to 1e\+100\.$"):
        Problem(ARMS).check_reward(1e101)
