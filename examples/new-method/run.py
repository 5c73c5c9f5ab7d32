"""A new method from sharp's rules and one of your own: python run.py [--runs 100] [--seed 0]"""

import argparse
from dataclasses import replace

import numpy as np

import bestarm


def racing(pulls, view, reading, setting):
    """Of the arms that are not clearly behind the leader, the one with the fewest pulls; none is forgotten."""
    if pulls.min() < np.sqrt(pulls.sum()):
        return int(np.argmin(pulls))
    behind = view.values[reading.leader] - view.values
    noise = setting.sigma * np.sqrt(2 * np.log(view.samples) * (1 / pulls[reading.leader] + 1 / pulls))
    return int(np.argmin(np.where(behind <= noise, pulls, np.iinfo(np.int64).max)))


def uniform(pulls, view, reading, setting):
    """The arm with the fewest pulls: no choice at all, for comparison."""
    return int(np.argmin(pulls))


def with_rule(method, choose):
    """The method with another way to choose arms; stopping test and batches stay."""
    return replace(method, name=choose.__name__, rules=method.rules._replace(choose=choose))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    wanted = parser.parse_args()
    problem = bestarm.Problem.quick([0.9, 0.7, 0.6, 0.5, 0.4], sigma=0.3, delta=0.05)
    sharp = bestarm.method("sharp", problem, agents=5)
    for method in (sharp, with_rule(sharp, racing), with_rule(sharp, uniform)):
        result = bestarm.simulate(problem, method, runs=wanted.runs, seed=wanted.seed, engine="rounds")
        samples, sent = result.summary(), result.summary("communications")
        print(
            f"{method.name:8} samples {samples.mean:5.0f} ± {samples.stderr:.0f} (most {samples.most:,.0f}), "
            f"communications {sent.mean:3.0f} ± {sent.stderr:.0f}, wrong {result.wrong} of {result.runs}"
        )


if __name__ == "__main__":
    main()
