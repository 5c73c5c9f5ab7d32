"""How many experiments to expect, as a practitioner asks it: the table of the README.

python benchmarks/costs.py [--runs 500]

Three sites that differ by as much as the scatter, nothing known but the names of the options, delta 0.05. A
difference is that of the best option to each of the others.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import bestarm

OPTIONS = (2, 3, 5, 10)
SHARES = (2.0, 1.0, 0.5, 0.25)
RATES = ((0.05, 0.025), (0.05, 0.04), (0.02, 0.01), (0.02, 0.015))
ITEMS = (2.0, 1.0, 0.5)


def mean(problem: bestarm.Problem, runs: int, **world: object) -> str:
    """Samples on average, rounded to two digits; how many answers were wrong, if any."""
    result = bestarm.simulate(problem, agents=3, runs=runs, **world)
    wrong = f" ({result.wrong} of {runs} wrong)" if result.wrong else ""
    return f"{float(f'{result.samples.mean():.2g}'):,.0f}{wrong}"


def names(options: int) -> list[str]:
    return [f"option {k + 1}" for k in range(options)]


def normal(runs: int) -> Iterator[list[str]]:
    for share in SHARES:
        row = [f"{share:.0%} of the scatter"]
        for options in OPTIONS:
            means = [share, *[0.0] * (options - 1)]
            problem = bestarm.Problem(names(options), means=means)
            row.append(mean(problem, runs, noise=1.0, offsets=[1.0, -1.0, 0.0]))
        yield row


def yes_no(runs: int) -> Iterator[list[str]]:
    for best, other in RATES:
        row = [f"{best:.1%} against {other:.1%}"]
        for options in OPTIONS[:3]:
            rates = [best, *[other] * (options - 1)]
            problem = bestarm.Problem(names(options), means=rates, rewards="yes-no")
            row.append(mean(problem, runs, offsets=[0.3, -0.3, 0.0]))
        yield row


def items(runs: int) -> Iterator[list[str]]:
    """Half of the standard deviation of a result is the trial's, and the rest is what it was tried with."""
    for share in ITEMS:
        means = [share, 0.0, 0.0]
        row = [f"{share:.0%} of the scatter"]
        for tried in (False, True):
            problem = bestarm.Problem(names(3), means=means, items=tried)
            row.append(mean(problem, runs, offsets=[1.0, -1.0, 0.0], noise=0.5, item_effects=0.866))
        yield row


def show(title: str, header: list[str], rows: Iterator[list[str]]) -> None:
    print(f"## {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}", flush=True)
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    runs = parser.parse_args().runs
    options = [f"{n} options" for n in OPTIONS]
    show("Measured results", ["the best is better by", *options], normal(runs))
    show("Yes or no", ["rate", *options[:3]], yes_no(runs))
    show(
        "The same items with every option", ["3 options, better by", "without items", "with items"], items(runs)
    )


if __name__ == "__main__":
    main()
