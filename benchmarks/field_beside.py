"""Our numbers beside other people's: a published table, and methods written once more in plain Python."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bestarm

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))

PAPER = "Garivier and Kaufmann 2016, Table 1"
DRAWN = 3000  # runs of the paper
# Expected draws at delta 0.1, with the threshold log((1 + log t)/delta) for all methods.
PUBLISHED = {
    (0.5, 0.45, 0.43, 0.4): {"track-and-stop": 4052, "kl-lucb": 8437},
    (0.3, 0.21, 0.2, 0.19, 0.18): {"track-and-stop": 1406, "kl-lucb": 2716},
}
Row = tuple[str, str, str, float, Any, float]


def beside_others(runs: int, seed: int, jobs: int) -> str:
    """A table of what others found, what we find, and how many standard errors lie between."""
    lines = [
        "| source | setting | method | theirs | ours | standard errors apart |",
        "|---|---|---|---|---|---|",
    ]
    for source, setting, method, theirs, ours, apart in [*published(runs // 2, seed, jobs), *plain(runs, seed)]:
        here = f"{ours.mean:,.0f} ± {ours.stderr:,.1f}"
        lines.append(f"| {source} | {setting} | {method} | {theirs:,.0f} | {here} | {apart:.1f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "## Beside other people's numbers\n\n" + "\n".join(lines)


def published(runs: int, seed: int, jobs: int) -> Iterator[Row]:
    """The paper gives no standard errors: its runs are taken to scatter as ours do."""
    for means, numbers in PUBLISHED.items():
        arms = [f"arm-{k}" for k in range(len(means))]
        problem = bestarm.Problem(arms, means=means, rewards="yes-no", delta=0.1, sites="alike")
        rates = "rates " + " ".join(f"{mean:g}".lstrip("0") for mean in means)
        for method, theirs in numbers.items():
            label = f"{method}:threshold=heuristic"
            ours = bestarm.simulate(problem, label, runs=runs, seed=seed, jobs=jobs).summary()
            error = ours.stderr * math.sqrt(1 + runs / DRAWN)
            yield PAPER, rates, label, theirs, ours, abs(ours.mean - theirs) / error


def plain(runs: int, seed: int) -> Iterator[Row]:
    """Every method that the tests have in plain Python."""
    from plain_methods import PLAIN, beside

    for one in PLAIN:
        made = bestarm.simulate(one.problem, one.label, agents=one.agents, runs=runs, seed=seed)
        found = beside(one, made, runs)
        yield "plain Python", one.setting, one.label, found.theirs, found.ours, found.apart
