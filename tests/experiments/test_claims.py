"""The verdicts follow the numbers: in a world in which the paper is right they say yes, and each can say no."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bestarm.experiments.claims import NO, PARTLY, UNTESTED, YES, Claim, judge
from bestarm.experiments.numbers import Line, Numbers

GAPS = (0.1, 0.2, 0.3)
FILM_GAPS = (0.1, 0.15, 0.2)
ABOUT = {
    "data name": "ml-20m",
    "data min ratings": "3000",
    "data kept users": "54",
    "data interactions": "214729",
    "data films": "27278",
    "data rated films": "26744",
    "data films rated by kept users": "26567",
}

Change = Callable[[Line], Line]


def line(experiment: str, variant: str, gap: float, samples: float, communications: float) -> Line:
    return Line(
        experiment=experiment,
        instance="fixed",
        arms=5,
        dimension=0 if experiment == "mab" else 5,
        agents=10,
        sigma=0.3,
        delta=0.05,
        epsilon=0.0,
        gap=gap,
        variant=variant,
        method=variant.split()[0],
        runs=10,
        best=10,
        wrong=0,
        unfinished=0,
        samples=samples,
        samples_low=samples - 1,
        samples_high=samples + 1,
        samples_stderr=0.5,
        samples_most=samples,
        communications=communications,
        communications_low=communications,
        communications_high=communications,
        communications_stderr=0.0,
        communications_most=communications,
        switches=0.0,
    )


def papers_world() -> list[Line]:
    """Numbers as in the paper. Its statements mab-5, mab-7 and mab-8 exclude each other; mab-5 is true."""
    lines = []
    for gap in GAPS:
        samples = 100 / gap**2
        sync = samples * (1.4 if gap == 0.1 else 1.05)
        lines += [
            line("mab", "lower-bound", gap, samples / 10, 0),
            line("mab", "famabpe", gap, samples * 1.45, 110),
            line("mab", "famabpe gamma=0.3", gap, samples * 20, 100),
            line("mab", "ugapec", gap, samples, 0),
            line("mab", "sync-ugapec", gap, sync, (sync - 5) / 50 + (0 if gap == 0.1 else 1000)),
            line("mab", "sync-ugapec period_counts=all", gap, samples, 500),
            line("mab", "sharp", gap, samples * 2, 200),
        ]
    for experiment, gaps in (("linear", GAPS), ("movielens-10", FILM_GAPS)):
        for gap in gaps:
            samples = 100 / gap**2
            often = gap == 0.1 if experiment == "linear" else gap <= 0.15
            lines += [
                line(experiment, "lower-bound", gap, samples / 10, 0),
                line(experiment, "falinpe", gap, samples * 1.9, 150),
                line(experiment, "falinpe selection=greedy", gap, samples * 1.95, 150),
                line(experiment, "falinpe gamma1=1 gamma2=0.2 lambda=3", gap, samples * 9, 120),
                line(experiment, "lingape", gap, samples, 0),
                line(experiment, "sync-lingape", gap, samples * 1.1, 160 if often else 140),
                line(experiment, "famabpe", gap, samples / 2, 300),
                line(experiment, "sharp", gap, samples * 3, 200),
            ]
    return lines


def judged(change: Change = lambda found: found, about: dict[str, str] | None = None) -> dict[str, Claim]:
    claims = judge(Numbers(change(found) for found in papers_world()), about or ABOUT)
    return {claim.name: claim for claim in claims}


def scale(experiment: str, variant: str, gap: float | None = None, **factors: float) -> Change:
    """One variant's numbers times a factor, at one gap or at all."""

    def change(found: Line) -> Line:
        if (found.experiment, found.variant) != (experiment, variant) or gap not in (None, found.gap):
            return found
        return replace(found, **{field: getattr(found, field) * factor for field, factor in factors.items()})

    return change


def test_where_the_paper_is_right_the_verdicts_say_so() -> None:
    claims = judged()
    assert {name for name, claim in claims.items() if claim.verdict != YES} == {"mab-7", "mab-8"}
    assert claims["mab-8"].verdict == NO
    assert len(claims) == 9 + 6 + 1 + 5 + 1


@pytest.mark.parametrize(
    ("name", "change", "verdict"),
    [
        ("mab-2", scale("mab", "ugapec", samples=3), NO),
        ("mab-2", scale("mab", "ugapec", 0.2, samples=3), PARTLY),
        ("mab-3", scale("mab", "sync-ugapec", 0.3, samples=1.2), PARTLY),
        ("mab-3", scale("mab", "sync-ugapec", samples=4), NO),
        ("mab-4", scale("mab", "famabpe", samples=0.5), NO),
        ("mab-4", scale("mab", "famabpe", samples=2), NO),
        ("mab-5", scale("mab", "sync-ugapec", communications=0.01), NO),
        ("mab-6", scale("mab", "famabpe", 0.1, communications=1.2), PARTLY),
        ("mab-6", scale("mab", "famabpe", communications=10), NO),
        ("mab-8", scale("mab", "famabpe", communications=100), YES),
        ("mab-9", scale("mab", "sharp", samples=0.1, communications=0.1), NO),
        ("mab-9", scale("mab", "sharp", samples=0.1), YES),
        ("linear-2", scale("linear", "sync-lingape", samples=9), NO),
        ("linear-3", scale("linear", "falinpe", 0.1, samples=0.6), PARTLY),
        ("linear-4", scale("linear", "sync-lingape", 0.1, communications=0.5), PARTLY),
        ("linear-5", scale("linear", "falinpe selection=greedy", samples=2), NO),
        ("movielens-3", scale("movielens-10", "falinpe", samples=0.1), NO),
        ("movielens-4", scale("movielens-10", "falinpe", communications=10), NO),
        ("movielens-4", scale("movielens-10", "falinpe", 0.2, communications=10), YES),
        ("all-1", scale("linear", "falinpe", samples=10), PARTLY),
    ],
)
def test_the_verdict_follows_the_numbers(name: str, change: Change, verdict: str) -> None:
    assert judged(change)[name].verdict == verdict


def test_a_run_that_misses_the_best_arm_counts() -> None:
    def miss(runs: int) -> Change:
        return lambda found: replace(found, best=10 - runs) if found.variant == "ugapec" else found

    assert judged(miss(0))["mab-1"].verdict == YES
    assert judged(miss(9))["mab-1"].verdict == NO
    assert "best arm in 90 of 90" in judged()["mab-1"].measured
    assert "best arm in 87 of 90" in judged(miss(1))["mab-1"].measured
    assert judged(miss(1))["mab-1"].verdict == PARTLY


def test_what_would_hold_instead_is_searched_in_the_sweep() -> None:
    worse = judged(scale("mab", "famabpe", communications=50))
    assert "γ = 0.3: 100 to 100 communications with 13.8 to 13.8 times the samples" in worse["mab-6"].instead
    assert "gap 0.2: γ = 0.3" in worse["mab-5"].instead
    thrifty = judged(scale("linear", "falinpe", communications=50))["linear-4"].instead
    assert "gamma1=1" in thrifty
    assert "has 120, less than sync-lingape's 160" in thrifty


def test_close_calls_are_said() -> None:
    def noisy(found: Line) -> Line:
        return replace(found, samples_stderr=found.samples) if found.variant == "ugapec" else found

    assert "within two standard errors" not in judged()["mab-2"].measured
    assert "within two standard errors at the gaps 0.1, 0.2, 0.3" in judged(noisy)["mab-2"].measured


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [
        ({}, YES),
        ({"data kept users": "53"}, PARTLY),
        ({"data min ratings": "500"}, UNTESTED),
        ({"data name": "ml-latest-small"}, UNTESTED),
    ],
)
def test_the_data_claim_is_judged_only_on_the_papers_data(changed: dict[str, str], verdict: str) -> None:
    assert judged(about=ABOUT | changed)["movielens-0"].verdict == verdict


def test_only_what_was_run_is_judged() -> None:
    only_mab = [found for found in papers_world() if found.experiment == "mab"]
    names = [claim.name for claim in judge(Numbers(only_mab), {})]
    assert names == [f"mab-{number}" for number in range(1, 10)]
