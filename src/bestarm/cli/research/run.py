"""Runs what the options ask for, with a word to the person who waits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from bestarm.cli.output import say
from bestarm.cli.progress import Progress, saying_after_a_while, saying_when_compiling
from bestarm.cli.research.options import Simulation
from bestarm.methods import Kind, Method
from bestarm.problem import Problem
from bestarm.simulation.api import simulate
from bestarm.simulation.result import Result
from bestarm.simulation.schedule import Schedule


def run(simulation: Simulation, methods: Sequence[tuple[str, Method]]) -> list[Result]:
    """One result for each method, with the same seeds."""
    options = simulation.options
    warn_of_ties(simulation.problem)
    results = []
    with saying_when_compiling(simulation.engine), Progress(options.runs * len(methods)) as progress:
        for label, method in methods:
            progress.label = label
            results.append(run_one(simulation, method, len(methods) > 1, progress))
    for result in results:
        with saying_after_a_while(f"computing the theorem's bound for {result.method} …"):
            _ = result.bounds
    return results


def run_one(simulation: Simulation, method: Method, comparing: bool, progress: Progress) -> Result:
    """The result of one method. In a comparison the baselines without agents go without the schedule."""
    options, schedule, engine = simulation.options, simulation.schedule, simulation.engine
    if comparing and method.kind is not Kind.FEDERATED and schedule != Schedule.uniform(schedule.agents):
        say(f"{method.name} has no agents at their own pace; it runs without the schedule.")
        schedule = Schedule.uniform(schedule.agents)
    work = partial(
        simulate,
        simulation.problem,
        method,
        seed=options.seed,
        engine=engine,
        schedule=schedule,
        max_samples=options.max_samples,
        **simulation.world.given,
    )
    if options.jobs == 1 and options.cluster is None:
        return work(runs=options.runs, progress=progress)
    if engine != "rounds" and options.jobs > 1:
        work(runs=1)  # compiled once, here, and not in every process
    return work(runs=options.runs, progress=progress, jobs=options.jobs, cluster=options.cluster)


def warn_of_ties(problem: Problem) -> None:
    """With two best arms and no tolerance nothing ends a run but its limit."""
    if problem.means is not None and problem.epsilon == 0:
        merits = problem.merits(problem.means)
        best = np.flatnonzero(merits == merits.max())
        if best.size > 1:
            names = " and ".join(problem.arms[k] for k in best[:2])
            say(f"warning: {names} are equally good and epsilon is 0, so no number of samples can decide.")
