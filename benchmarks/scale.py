"""How the cost of a run grows with the gap, the agents and the arms, as multiples of the first line.

    python benchmarks/scale.py [--most 10000]

Times are CPU time of one process after compilation. `--most` limits the agents and arms.
"""

from __future__ import annotations

import argparse

from bestarm.benchmark import engine_of, equal_gaps, time_runs
from bestarm.problem import Problem


def table(title: str, method: str, sizes: list[tuple[str, Problem, int]], runs: int) -> None:
    """Print one line for each size: CPU time, samples and uploads of a run as multiples of the first line's."""
    print(f"\n{method}, {title}\n{'':>12}{'CPU time':>12}{'samples':>12}{'uploads':>12}")
    first = None
    for label, problem, agents in sizes:
        found = time_runs(engine_of(method, problem, agents=agents), runs)
        first = first or found
        ratios = [now / before for now, before in zip(found, first, strict=True)]
        print(f"{label:>12}" + "".join(f"{ratio:>12,.2f}" for ratio in ratios))


def main() -> None:
    """Three tables for each of the two methods without features."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=10_000, help="the most agents and arms")
    most = parser.parse_args().most
    powers = [10**power for power in range(1, 7) if 10**power <= most]
    for method in ("famabpe", "sharp"):
        gaps = [(f"{gap:g}", equal_gaps(gap), 10) for gap in (0.1, 0.03, 0.01, 0.003, 0.001)]
        table("5 arms, 10 agents, gap", method, gaps, runs=100)
        table("5 arms, gap 0.1, agents", method, [(f"{m:,}", equal_gaps(0.1), m) for m in powers], runs=5)
        arms = [(f"{k:,}", equal_gaps(0.5, k), 10) for k in powers if k <= 10_000]
        table("10 agents, gap 0.5, arms", method, arms, runs=1)


if __name__ == "__main__":
    main()
