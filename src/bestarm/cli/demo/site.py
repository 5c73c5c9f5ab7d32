"""One lab of the demo, as a process of its own: it asks, measures, tells, and goes on from its journal.

The experiments are simulated. The n-th trial of a lab gives the same reward however often it is started.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

import numpy as np

from bestarm.cli.demo.problem import truth
from bestarm.client.connect import connect
from bestarm.client.lab import Lab
from bestarm.protocol.messages import Trial
from bestarm.simulation.worlds.environment import draw_sum, environment

DOUBLING = 7.0  # seconds in which the labs become twice as fast: slow at the start, when every pull is news
AHEAD = 0.25  # seconds of work that a lab asks for at once


def pace(rate: float, seconds: float) -> float:
    """Experiments a second, so many seconds after the start of the demo.

    >>> pace(4.0, 0.0), pace(4.0, 14.0)
    (4.0, 16.0)
    """
    return float(rate * 2.0 ** (seconds / DOUBLING))


def nature(seed: int, number: int) -> Callable[[Trial], float]:
    """What the trials of lab `number` give."""
    problem = truth()
    world = environment(problem)

    def measure(trial: Trial) -> float:
        random = np.random.default_rng([seed, number, trial.number])
        return draw_sum(world, problem.arms.index(trial.arm), 1, random)

    return measure


def work(lab: Lab, measure: Callable[[Trial], float], rate: float, began: float) -> None:
    """Experiments until the server knows the answer; `began` is when the demo did, on the machine's clock."""
    report(lab)
    while not lab.finished:
        for trial in lab.ask(1 + int(AHEAD * pace(rate, time.monotonic() - began)), wait=None):
            time.sleep(1.0 / pace(rate, time.monotonic() - began))
            lab.tell(trial, measure(trial))
            report(lab)
    report(lab)


def report(lab: Lab) -> None:
    """For the demo's picture: done and planned now, samples and uploads since the study began."""
    agent = lab.agent
    samples = agent.next_number - 1 - len(agent.open)
    print(agent.local.samples, agent.plan.size, samples, agent.sequence, flush=True)


def main() -> None:
    """The token is in the environment, where other users don't see it."""
    options = argparse.ArgumentParser()
    for name, kind in (("url", str), ("study", str), ("journal", str)):
        options.add_argument(name, type=kind)
    for name, value in (("seed", int), ("number", int), ("rate", float), ("began", float)):
        options.add_argument(name, type=value)
    given = options.parse_args()
    token = os.environ["BESTARM_TOKEN"]
    with connect(given.url, study=given.study, token=token, journal=given.journal, wait=None) as lab:
        work(lab, nature(given.seed, given.number), given.rate, given.began)


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:  # the demo has ended
        os._exit(0)  # Python would try again to write the rest
