"""The field beside us: every method in every world, with samples, messages and error rates, and one picture.

python benchmarks/field.py                                  # everything; below 15 minutes on two quiet cores
python benchmarks/field.py --worlds stairs,offsets --methods sharp,eb-tci --runs 200
python benchmarks/field.py --part published                 # beside numbers that others have published
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import bestarm
from bestarm.comparison import WORLDS, Comparison
from bestarm.comparison.text import markdown

METHODS = (
    *("sharp", "famabpe", "ugapec", "lingape", "rage", "track-and-stop", "eb-tci", "t3c", "lucb", "kl-lucb"),
    *("elimination", "sync-elimination", "uniform", "peeking", "lil-ucb:constants=heuristic"),
    "eb-tci:stopping=pairs",
)
# Garivier and Kaufmann, COLT 2016, Table 1: expected draws at delta 0.1, means of 3,000 runs, with the
# threshold log((1 + log t)/delta) for all methods.
PUBLISHED = {
    (0.5, 0.45, 0.43, 0.4): {"track-and-stop": 4052, "kl-lucb": 8437},
    (0.3, 0.21, 0.2, 0.19, 0.18): {"track-and-stop": 1406, "kl-lucb": 2716},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("worlds", "published"), default="worlds")
    parser.add_argument("--worlds", default=",".join(WORLDS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--agents", type=int, default=5)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--engine", default=None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-samples", type=int, default=100_000)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    wanted = parser.parse_args()
    started = time.perf_counter()
    if wanted.part == "published":
        published(wanted.runs, wanted.seed, wanted.engine)
        return
    rows, entries, left_out = [], [], []
    for world in wanted.worlds.split(","):
        for method in wanted.methods.split(","):
            try:
                found = bestarm.compare(
                    world,
                    method,
                    agents=wanted.agents,
                    runs=wanted.runs,
                    seed=wanted.seed,
                    engine=wanted.engine,
                    jobs=wanted.jobs,
                    max_samples=wanted.max_samples,
                )
            except bestarm.UserError as error:
                left_out.append((world, method, str(error)))
                continue
            entries += found.entries
            rows += found.rows
        print(markdown(Comparison(tuple(entry for entry in entries if entry.world == world))), flush=True)
        if wanted.json is not None:
            wanted.json.write_text(json.dumps(rows, indent=1))
    for world, method, why in left_out:
        print(f"left out: {method} in {world}: {why}")
    if wanted.plot is not None:
        Comparison(tuple(entries)).plot(wanted.plot)
    print(f"{time.perf_counter() - started:.0f} s")


def published(runs: int, seed: int, engine: str | None) -> None:
    """Beside a published table."""
    for means, numbers in PUBLISHED.items():
        arms = [f"arm-{k}" for k in range(len(means))]
        problem = bestarm.Problem(arms, means=means, rewards="yes-no", delta=0.1, sites="alike")
        for method, theirs in numbers.items():
            found = bestarm.simulate(
                problem, f"{method}:threshold=heuristic", runs=runs, seed=seed, engine=engine
            ).summary()
            print(f"{method} on {means}: {found.mean:,.0f} ± {found.stderr:.0f}, published {theirs:,}")


if __name__ == "__main__":
    main()
