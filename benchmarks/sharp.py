"""What sharp costs: samples and communications beside the paper's methods and the lower bound.

    python benchmarks/sharp.py [--runs 1000] [--part differ] [--part broken] …
                               [--data ml-latest-small] [--yields deoxyf.csv]

Prints Markdown tables. The problems are those of the project's method notes: sigma 0.3, delta 0.05, ten agents.
`--data`, a MovieLens folder or zip, adds its films to the part `features`. `--yields`, the table of
examples/reactions, is what the part `items` is about.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np

import bestarm
from bestarm.experiments import movielens
from bestarm.experiments.films import arm_set, make_films
from bestarm.lower_bound import lower_bound
from bestarm.simulation.schedule import Offline, Schedule

THRIFTS = ("samples", "balanced", "messages")


def independent(gap: float, epsilon: float, arms: int = 10, dimension: int = 25) -> bestarm.Problem:
    """Linearly independent features, all other arms worse by the gap."""
    random = np.random.default_rng(0)
    features = random.normal(size=(arms, dimension))
    features /= np.linalg.norm(features, axis=1)[:, None]
    theta = np.linalg.lstsq(features, np.array([0.5] + [0.5 - gap] * (arms - 1)), rcond=None)[0]
    names = [f"arm-{k}" for k in range(arms)]
    return bestarm.Problem(names, features=features, theta=theta, sigma=0.3, epsilon=epsilon)


def linear(arms: int, dimension: int, gap: float, seed: int) -> bestarm.Problem:
    """Unit theta and features; best 0.9, second best 0.9 − gap, the rest uniform in 0.9 − [1, 3] gap."""
    random = np.random.default_rng(seed)
    theta = random.normal(size=dimension)
    theta /= np.linalg.norm(theta)
    rewards = np.concatenate([[0.9, 0.9 - gap], 0.9 - gap * random.uniform(1, 3, arms - 2)])
    rows = []
    for reward in rewards:
        side = random.normal(size=dimension)
        side -= (side @ theta) * theta
        rows.append(reward * theta + np.sqrt(1 - reward**2) * side / np.linalg.norm(side))
    return bestarm.Problem([f"arm-{k}" for k in range(arms)], features=rows, theta=theta, sigma=0.3)


def alike(problem: bestarm.Problem, **changes: object) -> bestarm.Problem:
    """The same problem at sites that are alike."""
    return bestarm.Problem.from_dict(problem.to_dict() | {"sites": "alike"} | changes)


def problems() -> dict[str, tuple[str, list[bestarm.Problem]]]:
    """Name: (the paper's method, the instances over which the runs are spread)."""
    quick = bestarm.Problem.quick
    found = {
        "K = 5, all gaps 0.1": ("famabpe", [quick([0.9] + [0.8] * 4, sigma=0.3)]),
        "means .9 .8 .7 .6 .5": ("famabpe", [quick([0.9, 0.8, 0.7, 0.6, 0.5], sigma=0.3)]),
        "K = 20, all gaps 0.1": ("famabpe", [quick([0.9] + [0.8] * 19, sigma=0.3)]),
        "K = 10, d = 25, ε = .05, gap .1": ("falinpe", [independent(0.1, 0.05)]),
        "linear, K = 20, d = 5, gap .1": ("falinpe", [linear(20, 5, 0.1, seed) for seed in range(50)]),
        "linear, K = 50, d = 5, gap .1": ("falinpe", [linear(50, 5, 0.1, seed) for seed in range(50)]),
    }
    return {name: (paper, [alike(one) for one in instances]) for name, (paper, instances) in found.items()}


def differ(runs: int) -> None:
    print("## Sites that differ: samples (standard error) / communications\n")
    quick = partial(bestarm.Problem.quick, sites="differ")
    cases = {
        "K = 5, all gaps 0.1": quick([0.9] + [0.8] * 4, sigma=0.3),
        "means .9 .8 .7 .6 .5": quick([0.9, 0.8, 0.7, 0.6, 0.5], sigma=0.3),
        "K = 20, all gaps 0.1": quick([0.9] + [0.8] * 19, sigma=0.3),
        "K = 5, all gaps 0.3": quick([0.9] + [0.6] * 4, sigma=0.3),
        "K = 10, gap 0.1, ε = .05": quick([0.9] + [0.8] * 9, sigma=0.3, epsilon=0.05),
    }
    moved = {"noise": 0.3, "offsets": [0.9, -0.9, 0.0, 0.45, -0.45], "drift": 0.5}

    def lines() -> Iterable[list[object]]:
        for name, problem in cases.items():
            unknown = bestarm.Problem(problem.arms, means=problem.means, epsilon=problem.epsilon)
            for thrift in THRIFTS:
                yield [
                    name,
                    thrift,
                    Cell([alike(problem)], "sharp", runs, thrift=thrift),
                    Cell([problem], "sharp", runs, thrift=thrift),
                    Cell([unknown], "sharp", runs, thrift=thrift, noise=0.3),
                    Cell([unknown], "sharp", runs, thrift=thrift, **moved),
                ]

    header = ["problem", "dial", "pairs, sites alike", "rule-out, sigma known", "sigma measured"]
    rows([*header, "measured, with offsets and drift"], lines())


def features(runs: int, data: Path | None = None) -> None:
    print("## Features, sites that differ: samples (standard error) / communications\n")
    seeds = range(100, 120)  # not the instances on which the dial was tried

    def differing(instances: Iterable[bestarm.Problem], **changes: object) -> list[bestarm.Problem]:
        return [bestarm.Problem.from_dict(one.to_dict() | {"sites": "differ"} | changes) for one in instances]

    cases = {
        "K = 20, d = 5": differing(linear(20, 5, 0.1, seed) for seed in seeds),
        "K = 50, d = 5": differing(linear(50, 5, 0.1, seed) for seed in seeds),
        "K = 100, d = 25": differing(linear(100, 25, 0.1, seed) for seed in seeds),
        "K = 100, d = 25, ε = .05": differing((linear(100, 25, 0.1, seed) for seed in seeds), epsilon=0.05),
    }
    if data is not None:
        films = make_films(movielens.load(data, min_ratings=500))
        cases["100 films, d = 25, ε = .05"] = differing(
            arm_set(films, 0.1, 100, seed).problem for seed in seeds
        )
    moved = {"offsets": [0.9, -0.9, 0.0, 0.45, -0.45], "drift": 0.5}

    def lines() -> Iterable[list[object]]:
        for name, instances in cases.items():
            cells = [
                Cell(instances, "sharp", runs, stopping=test, **world)
                for test in ("rule-out-span", "rule-out-features")
                for world in ({}, moved)
            ]
            yield [name, *cells, f"{np.mean([lower_bound(problem) for problem in instances]):.0f}"]

    header = ["problem, gap .1", "all directions at once", "with offsets and drift", "one at a time"]
    rows([*header, "with offsets and drift", "lower bound"], lines())


def broken(runs: int) -> None:
    print("## Worlds that break the pair test: wrong answers, and samples (standard error) / communications\n")
    quick = partial(bestarm.Problem.quick, sites="differ")
    worlds = {
        "offsets of ±3 sigma, gap sigma/2": (quick([0.65, 0.5, 0.5], sigma=0.3), {"offsets": [0.9, -0.9, 0.0]}),
        "offsets +.05 −.10 0, gap .01, sigma .05": (
            quick([0.51, 0.5, 0.5], sigma=0.05),
            {"offsets": [0.05, -0.1, 0.0]},
        ),
        "a common drift of ±2 sigma, gap sigma/2": (quick([0.65, 0.5, 0.5], sigma=0.3), {"drift": 0.6}),
    }
    lines = []
    for name, (problem, world) in worlds.items():
        cells = [
            Cell([problem], "sharp", runs, agents=3, **world, **old) for old in ({"stopping": "pairs"}, {})
        ]
        lines.append(
            [name, *(text for cell in cells for text in (f"{cell.wrong} of {cell.samples.size}", cell))]
        )
    rows(["world", "pairs: wrong", "pairs", "rule-out: wrong", "rule-out"], lines)


def regions(runs: int) -> None:
    print("## Yes/no: visitors (standard error) / messages of three regions, two-by-two tables\n")
    differ = {"offsets": [0.5, -0.5, 0.0], "drift": 0.5}  # of log odds

    def lines() -> Iterable[list[object]]:
        for rates in ([0.05] + [0.04] * 3, [0.02] + [0.015] * 3, [0.3] + [0.2] * 4):
            problem = bestarm.Problem([f"page {k}" for k in range(len(rates))], means=rates, rewards="yes-no")
            for world, told in {"alike": {}, "differ and drift": differ}.items():
                cells = [Cell([problem], "sharp", runs, agents=3, thrift=thrift, **told) for thrift in THRIFTS]
                yield [" ".join(f"{rate:g}" for rate in rates), world, *cells]

    rows(["rates", "regions", *THRIFTS], lines())


def bounded(runs: int) -> None:
    print("## Rewards in [0, 1], five arms, three sites that differ and drift: samples / messages\n")
    moved = {"offsets": [0.1, -0.1, 0.0], "drift": 0.1, "agents": 3}
    names = [f"arm {k}" for k in range(5)]

    def lines() -> Iterable[list[object]]:
        for gap, noise in ((0.05, 0.15), (0.1, 0.3), (0.05, 0.08)):
            means = [0.5 + gap] + [0.5] * 4
            ranged = bestarm.Problem(names, means=means, reward_range=[0.0, 1.0])
            normal = bestarm.Problem(names, means=means)
            told = {"noise": noise} | moved
            yield [
                gap,
                noise,
                Cell([ranged], "sharp", runs, **told),
                Cell([ranged], "sharp", runs, stopping="two-by-two", **told),
                Cell([normal], "sharp", runs, **told),
            ]

    rows(["gap", "scatter", "betting", "two-by-two (counts only)", "rule-out, if it were normal"], lines())


class Cell:
    """Samples and communications of one method over the instances of a problem."""

    def __init__(self, instances: list[bestarm.Problem], method: str, runs: int, **options: object) -> None:
        share = max(1, runs // len(instances))
        results = [
            bestarm.simulate(problem, method, runs=share, seed=seed, **({"agents": 10} | options))
            for seed, problem in enumerate(instances)
        ]
        self.samples = np.concatenate([result.samples for result in results])
        self.communications = np.concatenate([result.communications for result in results])
        self.wrong = sum(result.wrong for result in results)
        self.unfinished = sum(result.unfinished for result in results)

    def __str__(self) -> str:
        error = self.samples.std() / np.sqrt(self.samples.size)
        flag = f", {self.wrong} wrong" * (self.wrong > 0) + f", {self.unfinished} unfinished" * (
            self.unfinished > 0
        )
        return f"{self.samples.mean():.0f} ({error:.0f}) / {self.communications.mean():.0f}{flag}"

    @property
    def mean(self) -> float:
        return float(self.samples.mean())


def rows(header: Iterable[str], lines: Iterable[Iterable[object]]) -> None:
    header = list(header)
    print("| " + " | ".join(header) + " |\n|" + "---|" * len(header))
    for line in lines:
        print("| " + " | ".join(map(str, line)) + " |", flush=True)
    print()


def table(runs: int) -> None:
    print("## Samples (standard error) / communications\n")

    def lines() -> Iterable[list[object]]:
        for name, (paper, instances) in problems().items():
            limit = float(np.mean([lower_bound(problem) for problem in instances]))
            few = min(runs, 100)
            dials = [Cell(instances, "sharp", runs, thrift=thrift) for thrift in THRIFTS]
            alone = Cell(instances, "sharp", min(runs, 400), agents=1, trigger="every-pull")
            selection = {"selection": "greedy"} if paper == "falinpe" else {}
            yield [
                name,
                Cell(instances, paper, few, **selection),
                *dials,
                f"{alone.mean:.0f}",
                f"{limit:.0f}",
                f"{dials[1].mean / limit:.2f}",
                f"{max(cell.samples.max() / cell.mean for cell in dials):.1f}",
            ]

    header = ["problem", "paper's method", *THRIFTS, "one pull at a time", "lower bound", "balanced / lower"]
    rows([*header, "longest run / mean"], lines())


def rules(runs: int) -> None:
    print("## What each rule contributes (K = 5, all gaps 0.1)\n")
    instances = problems()["K = 5, all gaps 0.1"][1]
    steps: list[tuple[str, str, dict[str, object]]] = [
        ("famabpe", "famabpe", {}),
        ("+ pair test", "famabpe", {"stopping": "pairs"}),
        ("+ look-ahead sampling", "famabpe", {"stopping": "pairs", "selection": "lookahead"}),
        ("+ batches that aim (sharp)", "sharp", {}),
        ("sharp, FAMABPE's trigger", "sharp", {"trigger": "count"}),
        ("sharp, FAMABPE's sampling", "sharp", {"selection": "balance"}),
        ("sharp, FAMABPE's stopping", "sharp", {"stopping": "famabpe"}),
    ]
    cells = [(label, Cell(instances, method, runs, **options)) for label, method, options in steps]
    rows(
        ["method", "samples / communications", "longest run / mean"],
        ((label, cell, f"{cell.samples.max() / cell.mean:.1f}") for label, cell in cells),
    )


def agents(runs: int) -> None:
    print("## Other agents than planned (K = 5, all gaps 0.1, planned for 10, balanced)\n")
    problem = problems()["K = 5, all gaps 0.1"][1][0]
    method = bestarm.method("sharp", problem, agents=10)
    gone = tuple(Offline(agent, 20.0) for agent in range(5))
    schedules = {
        "10 as planned": Schedule.uniform(10),
        "2 take part": Schedule.uniform(2),
        "50 take part": Schedule.uniform(50),
        "one does 91 % of the work": Schedule((100.0,) + (1.0,) * 9),
        "half vanish after 20 pulls each, with what they have": Schedule((1.0,) * 10, offline=gone),
    }
    lines = []
    for name, schedule in schedules.items():
        result = bestarm.simulate(problem, method, runs=runs, schedule=schedule)
        samples, messages = result.summary(), result.summary("communications")
        lines.append([name, f"{samples.mean:.0f} ({samples.stderr:.0f}) / {messages.mean:.0f}", result.wrong])
    rows(["agents", "samples / communications", "wrong answers"], lines)


def batch(runs: int) -> None:
    print("## `min_batch` (K = 5, all gaps 0.1)\n")
    instances = problems()["K = 5, all gaps 0.1"][1]
    cells = [
        (least, [Cell(instances, m, runs, min_batch=least) for m in ("sharp", "famabpe")])
        for least in (1, 2, 5, 10, 20)
    ]
    rows(["min_batch", "sharp", "famabpe"], ([least, *pair] for least, pair in cells))


def rewards(runs: int) -> None:
    print("## Known sigma, or only a range (means 0.30 and four times 0.20)\n")
    names, means = list("abcde"), [0.3] + [0.2] * 4
    known = bestarm.Problem(names, means=means, sigma=0.3, sites="alike")
    ranged = bestarm.Problem(names, means=means, reward_range=(0.0, 1.0), sites="alike")
    half = bestarm.Problem(names, means=means, sigma=0.5, sites="alike")
    small = bestarm.Problem(names, means=means, sigma=float(np.sqrt(0.4 / (2 * np.log(7 / 3)))), sites="alike")
    counted = bestarm.Problem(names, means=means, rewards="yes-no")
    lines = [
        ["gaussian, sigma 0.3", Cell([known], "sharp", runs)],
        ["Bernoulli, sigma 0.5", Cell([half], "sharp", runs, rewards="bernoulli")],
        [
            "Bernoulli, rates known to be at most 0.3: sigma 0.486",
            Cell([small], "sharp", runs, rewards="bernoulli"),
        ],
        ["Bernoulli, range [0, 1]: bets", Cell([ranged], "sharp", runs, rewards="bernoulli")],
        ["yes/no, two-by-two tables, sites may differ", Cell([counted], "sharp", runs)],
    ]
    rows(["rewards", "samples / communications"], lines)


def items(runs: int, path: Path | None) -> None:
    if path is None:
        return
    print("## Reactions on the same substrates: 20 conditions, three laboratories that differ by ±20 points\n")
    found: dict[str, dict[str, float]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            condition = f"{row['base_name']} + {row['fluoride_name']}"
            found.setdefault(condition, {})[row["substrate_name"]] = float(row["yield"]) / 100
    substrates = sorted(next(iter(found.values())))
    yields = {condition: [by[name] for name in substrates] for condition, by in found.items()}
    kinds: dict[str, dict[str, object]] = {
        "items, normal": {"items": True},
        "items, bounded in [−0.3, 1.3]": {"items": True, "reward_range": [-0.3, 1.3]},
        "no items, normal": {},
        "no items, bounded in [−0.3, 1.3]": {"reward_range": [-0.3, 1.3]},
    }
    lines = []
    for name, options in kinds.items():
        for delta in (0.05, 0.1, 0.2, 0.3):
            problem = bestarm.Problem(list(yields), delta=delta, **options)
            result = bestarm.simulate(problem, agents=3, runs=runs, table=yields, offsets=[0.2, -0.2, 0.0])
            samples, messages = result.summary(), result.summary("communications")
            cell = f"{samples.mean:.0f} ({samples.stderr:.0f}) / {messages.mean:.0f}"
            lines.append([name, f"{delta:g}", cell, f"{result.wrong} of {runs}"])
    rows(["test", "delta", "reactions / messages", "wrong"], lines)


def main() -> None:
    parts = {
        "differ": differ,
        "features": features,
        "broken": broken,
        "regions": regions,
        "bounded": bounded,
        "items": items,
        "table": table,
        "rules": rules,
        "agents": agents,
        "batch": batch,
        "rewards": rewards,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--part", choices=parts, action="append")
    parser.add_argument("--data", type=Path, help="a MovieLens folder or zip, for the part features")
    parser.add_argument("--yields", type=Path, help="deoxyf.csv, for the part items")
    chosen = parser.parse_args()
    parts["features"] = partial(features, data=chosen.data)
    parts["items"] = partial(items, path=chosen.yields)
    warnings.simplefilter("ignore", bestarm.ProblemWarning)
    for part in chosen.part or parts:
        parts[part](chosen.runs)


if __name__ == "__main__":
    main()
