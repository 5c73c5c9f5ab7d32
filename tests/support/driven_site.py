"""A site that does one trial when it is told to, with rewards that its seed fixes, as a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from bestarm import Problem, connect
from bestarm.simulation.worlds.environment import draw_sum, environment

FEATURES = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.6]]
PROBLEMS = {
    "plain": Problem(["A", "B", "C"], name="plain", sigma=0.3, delta=0.05, epsilon=0.0, means=[0.9, 0.4, 0.2]),
    "linear": Problem(
        list("ABCD"), name="linear", sigma=0.1, delta=0.05, epsilon=0.0, features=FEATURES, theta=[0.9, 0.1]
    ),
}


def nature(problem: Problem, seed: int, agent: int) -> Callable[[str], float]:
    """What an agent's next pull of an arm gives, whatever was pulled in between."""
    world = environment(problem)
    random = {arm: np.random.default_rng([seed, agent, k]) for k, arm in enumerate(problem.arms)}
    return lambda arm: draw_sum(world, problem.arms.index(arm), 1, random[arm])


def main(url: str, study: str, token: str, journal: str, problem: str, seed: str, agent: str) -> None:
    """One trial for each line on stdin; the answer says whether the study is finished."""
    reward = nature(PROBLEMS[problem], int(seed), int(agent))
    with connect(url, study=study, token=token, journal=journal) as lab:
        print("joined", flush=True)
        for _ in sys.stdin:
            (trial,) = lab.ask()
            lab.tell(trial, reward(trial.arm))
            print("finished" if lab.finished else "open", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
