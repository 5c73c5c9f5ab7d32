"""`simulate`: many runs of one method on one problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from bestarm.errors import UserError
from bestarm.live import progress_shown
from bestarm.methods import Kind, Method, Parameter
from bestarm.methods.likes import MethodLike, make_method
from bestarm.problem import Problem
from bestarm.simulation.engine import ENGINES, UNBOUNDED, Engine
from bestarm.simulation.environment import environment
from bestarm.simulation.interrupts import interruptible
from bestarm.simulation.outcome import Outcome
from bestarm.simulation.result import Result
from bestarm.simulation.schedule import Schedule
from bestarm.simulation.world import PLAIN, World

Progress = Callable[[int], None]
MOST_SAMPLES = 10**12


def simulate(
    problem: Problem,
    method: MethodLike = "sharp",
    agents: int = 10,
    runs: int = 1000,
    seed: int = 0,
    *,
    engine: str | None = None,
    rewards: str | None = None,
    table: Mapping[str, Sequence[float]] | None = None,
    noise: float | Sequence[float] | None = None,
    offsets: Sequence[float] = (),
    drift: float = 0.0,
    interactions: float | Sequence[Sequence[float]] = 0.0,
    item_effects: float = 0.0,
    item_interactions: float = 0.0,
    schedule: Schedule | None = None,
    plate: int | None = None,
    max_samples: int | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    progress: Progress | None = None,
    **parameters: Parameter,
) -> Result:
    """Simulate a federation many times. The same seed gives the same result, whatever `jobs` and `cluster` are.

    Parameters:
        method: a name, with settings after colons (`"sharp:thrift=messages"`) or as keywords; a method that was
            built before; or a function that makes one from a problem and a number of agents.
        engine: `events` (compiled, from upload to upload, exact) or `rounds` (through Agent and Server, pull by
            pull); by default events, and rounds for a replayed schedule.
        rewards, table: where rewards come from: `gaussian`, `yes-no`, `bounded`, `heavy`, or a table.
        noise, offsets, drift, interactions, item_effects, item_interactions: the scatter of rewards, and how
            sites, times and items differ (`simulation.world.World` says what each of these means).
        schedule: which agent is active when; by default all are equally fast.
        plate: how many trials an agent does at once; plans are made into whole plates.
        max_samples: a run whose server has counted so many samples ends undecided. By default the problem's
            budget; without one 10¹² in the events engine, 10⁹ for a single-agent or synchronous baseline, 10⁷
            in the rounds engine. The last batch is not cut short.
        jobs: processes; cluster: the address of a Dask scheduler.
        progress: is told how many runs have finished, as they finish; by default a notebook shows a bar.
        parameters: the method's own, for instance `gamma=0.01`.

    >>> import bestarm
    >>> problem = bestarm.Problem.quick([0.9, 0.5], sigma=0.3)
    >>> bestarm.simulate(problem, "famabpe", agents=2, runs=5, engine="rounds").arms
    {'arm-1': 5, 'arm-2': 0}
    """
    built = make_method(method, problem, agents, **parameters)
    _check_whole("runs", runs, 1)
    _check_whole("seed", seed, 0)
    _check_whole("jobs", jobs, 1)
    world = World(rewards, table, noise, offsets, drift, interactions, item_effects, item_interactions)
    if plate is not None:
        schedule = replace(schedule or Schedule.uniform(built.agents), plate=plate)
    plan = prepare(built, seed, engine, world, schedule, max_samples)
    started = time.perf_counter()
    with progress_shown(progress, runs, f"{built.name} on {problem.name}") as told:
        if plan.engine == "events" and jobs == 1 and cluster is None:
            outcomes = interruptible(lambda: list(_map(plan, runs, jobs, cluster, told)), plan.cancel)
        else:
            outcomes = list(_map(plan, runs, jobs, cluster, told))
    return Result.collect(
        outcomes,
        problem=problem,
        method=built.name,
        parameters=built.parameters,
        agents=built.agents,
        runs=runs,
        seed=seed,
        engine=plan.engine,
        means=plan.environment.means,
        world=world,
        seconds=time.perf_counter() - started,
    )


def prepare(
    method: Method,
    seed: int,
    engine: str | None = None,
    world: World = PLAIN,
    schedule: Schedule | None = None,
    max_samples: int | None = None,
) -> Engine:
    """The engine for some runs of a method, with everything checked."""
    schedule = schedule or Schedule.uniform(method.agents)
    if engine is not None and engine not in ENGINES:
        raise UserError(f"engine is {engine!r}; it must be one of {', '.join(ENGINES)}.")
    if method.kind is not Kind.FEDERATED and schedule != Schedule.uniform(method.agents):
        raise UserError(f"{method.name} has no agents at their own pace; no schedule or plate can be given.")
    if method.owned and (any(world.offsets or ()) or world.interactions):
        raise UserError(
            f"{method.name}: each site has arms of its own, so sites that differ are another problem."
        )
    if engine == "events" and schedule.replay is not None:
        raise UserError("a replayed schedule names every round, so nothing can be skipped: take engine=rounds.")
    chosen = engine or ("events" if schedule.replay is None else "rounds")
    cost = "pulls" if chosen == "events" and method.kind is not Kind.FEDERATED else chosen
    budget, arms = method.problem.budget, len(method.problem.arms)
    if budget is not None:
        check_budget(budget, arms)
    limit = (budget or UNBOUNDED[cost]) if max_samples is None else max_samples
    _check_whole("max_samples", limit, arms, MOST_SAMPLES)
    return Engine(method, environment(method.problem, world), schedule, seed, chosen, limit)


def check_budget(budget: int, arms: int) -> None:
    """A simulated study begins with one sample of each arm, and they must be in its budget."""
    if budget < arms:
        raise UserError(f"budget is {budget}; a simulation needs at least {arms}, one sample of each arm.")


def run_many(packed: bytes, numbers: range) -> list[Outcome]:
    """Some runs of an engine: one piece of work for a process."""
    from bestarm.simulation.workers import unpack

    engine: Engine = unpack(packed)
    return [engine.run(number) for number in numbers]


def _map(engine: Engine, runs: int, jobs: int, cluster: str | None, progress: Progress) -> Iterable[Outcome]:
    if jobs == 1 and cluster is None:
        for number in range(runs):
            yield engine.run(number)
            progress(1)
            if engine.cancelled:
                return
        return
    from bestarm.simulation.workers import pack, spread_over_workers

    size = max(1, min(250, runs // (8 * jobs)))
    pieces = [range(first, min(first + size, runs)) for first in range(0, runs, size)]
    packed = pack(engine, engine.functions if cluster else ())
    for outcomes in spread_over_workers(run_many, [(packed, piece) for piece in pieces], jobs, cluster):
        yield from outcomes
        progress(len(outcomes))


def _check_whole(name: str, value: int, least: int, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserError(f"{name} is {value!r}; it must be a whole number of at least {least}.")
    if most is not None and value > most:
        raise UserError(f"{name} is {value!r}; it must be at most {most}.")
