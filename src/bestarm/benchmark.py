"""How fast the simulators are: each number measured on this machine, in one run, beside its target.

All times but the start's are CPU time of one process (`time.process_time`), after compilation, the best of a
few repetitions of the same runs. A quick measure of a smaller task has no target: it would say nothing about
the real one. `benchmarks/README.md` explains every number.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bestarm.core.tally import Tally
from bestarm.errors import ProblemWarning, UserError
from bestarm.lower_bound import lower_bound
from bestarm.methods import METHODS, Kind
from bestarm.methods import method as build_method
from bestarm.methods.compose import fitting
from bestarm.problem import Problem
from bestarm.problem.aims import ALIKE, DIFFER
from bestarm.protocol.entries import Join, Upload
from bestarm.protocol.messages import Download
from bestarm.protocol.server import Server
from bestarm.simulation.api import prepare
from bestarm.simulation.engine import Engine

AGENTS = 10
PULLS_TARGETS = {
    "famabpe": 30e6,
    "falinpe": 5e6,
    "sharp": 2e6,
    "sharp (sites differ)": 1.5e6,
    "ugapec": 5e6,
    "lingape": 500e3,
    "lingape (d=25)": 100e3,
}


@dataclass(frozen=True, slots=True)
class Measure:
    """One measured number, its target if it has one, and whether it is met."""

    name: str
    value: float
    unit: str
    target: float | None = None
    at_most: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without one.

        >>> Measure("cost", 2.0, "×", target=2.5, at_most=True).met, Measure("cost", 2.0, "×").met
        (True, None)
        """
        if self.target is None:
            return None
        return self.value < self.target if self.at_most else self.value >= self.target

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"met": self.met}


class Timing(NamedTuple):
    """CPU seconds and pulls of a run, on average over the same runs."""

    seconds: float
    pulls: float
    uploads: float


def equal_gaps(gap: float, arms: int = 5, sites: str = ALIKE) -> Problem:
    """One arm with mean 0.9, the others worse by the gap; σ = 0.3, δ = 0.05."""
    return Problem.quick([0.9] + [0.9 - gap] * (arms - 1), sigma=0.3, sites=sites)


def orthogonal(a: float = 0.1, dimension: int = 5) -> Problem:
    """x₁ = (1+a)e₁, x_k = e_k, θ = a e₁: as many arms as dimensions."""
    features = np.eye(dimension)
    features[0, 0] = 1 + a
    theta = np.zeros(dimension)
    theta[0] = a
    return Problem([f"arm-{k}" for k in range(dimension)], features=features, theta=theta, sigma=0.3)


def many_features() -> Problem:
    """Ten arms with dense features of length 1 in 25 dimensions, gap 0.1."""
    features = np.random.default_rng(0).standard_normal((10, 25))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    theta = np.linalg.lstsq(features, np.array([0.3] + [0.2] * 9), rcond=None)[0]
    return Problem([f"arm-{k}" for k in range(10)], features=features, theta=theta, sigma=0.3)


def engine_of(
    name: str, problem: Problem, engine: str = "events", agents: int = AGENTS, max_samples: int | None = None
) -> Engine:
    """The engine of a method with its defaults, without a warning: the instances are what they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)
        return prepare(build_method(name, problem, agents), 0, engine, max_samples=max_samples)


def time_runs(engine: Engine, runs: int, repetitions: int = 3) -> Timing:
    """The CPU time of some runs, after one that compiles, the best of some repetitions."""
    return time_together([engine], [runs], repetitions)[0]


def time_together(engines: Sequence[Engine], runs: Sequence[int], repetitions: int = 3) -> list[Timing]:
    """The same for several engines in turns, so that a busy machine is busy for all of them."""
    best = [np.inf] * len(engines)
    outcomes = [[engine.run(0)] if engine.engine == "events" else [] for engine in engines]
    for _ in range(repetitions):
        for place, (engine, count) in enumerate(zip(engines, runs, strict=True)):
            started = time.process_time()
            outcomes[place] = [engine.run(number) for number in range(count)]
            best[place] = min(best[place], time.process_time() - started)
    return [
        Timing(
            seconds / count,
            sum(outcome.samples for outcome in made) / count,
            sum(outcome.uploads for outcome in made) / count,
        )
        for seconds, count, made in zip(best, runs, outcomes, strict=True)
    ]


def pulls(quick: bool) -> Iterator[Measure]:
    """Pulls simulated in a CPU second, for each method and engine."""
    plain = equal_gaps(0.1)
    problems = {
        name: plain if name in fitting(plain, AGENTS) else orthogonal()
        for name in METHODS
        if not METHODS[name].field
    }
    instances = [(name, name, problem) for name, problem in problems.items()]
    instances.append(("sharp (sites differ)", "sharp", equal_gaps(0.1, sites=DIFFER)))
    instances.append(("lingape (d=25)", "lingape", many_features()))
    for label, name, problem in instances:
        federated = METHODS[name].kind is Kind.FEDERATED
        bounded = None if federated else 20_000
        engine = engine_of(name, problem, max_samples=bounded)
        runs = (
            1 if quick else {"falinpe": 20, "lingape": 5, "sync-lingape": 5}.get(name, 200 if federated else 20)
        )
        timing = time_runs(engine, runs)
        target = PULLS_TARGETS.get(label)
        yield Measure(f"pulls.events.{label}", timing.pulls / timing.seconds, "pulls/s", target)
    for label, name, problem in instances:
        engine = engine_of(name, problem, "rounds", max_samples=500 if quick else 10_000)
        timing = time_runs(engine, 1, 1 if quick else 2)
        note = "at most 500 pulls a run" if quick else "at most 10,000 pulls a run"
        yield Measure(f"pulls.rounds.{label}", timing.pulls / timing.seconds, "pulls/s", note=note)


def engines(quick: bool) -> Iterator[Measure]:
    """CPU time of the rounds engine, through Agent and Server, as a multiple of the events engine's."""
    events_runs = 20 if quick else 300
    for name, problem, words, target in (
        ("famabpe", equal_gaps(0.1), "gap 0.1", 300.0),
        ("falinpe", orthogonal(), "d=5, a=0.1", 100.0),
    ):
        events, rounds = engine_of(name, problem), engine_of(name, problem, "rounds")
        fast, slow = time_together([events, rounds], [events_runs, 1 if quick else 3], 1 if quick else 3)
        per_pull = slow.seconds / slow.pulls
        note = f"rounds: CPU time a pull × the {fast.pulls:,.0f} pulls of a mean run"
        yield Measure(f"engines.{name}.{words}", per_pull * fast.pulls / fast.seconds, "×", target, note=note)
    events = engine_of("famabpe", equal_gaps(0.01))
    name = "engines.famabpe.gap 0.01"
    if quick:
        fast = time_runs(events, events_runs)
        seconds = _predict_rounds(fast)
        note = f"rounds: predicted from runs of at most 3,000 and 30,000 pulls for {fast.pulls:,.0f} pulls"
        yield Measure(name, seconds / fast.seconds, "×", note=note)
        return
    rounds = engine_of("famabpe", equal_gaps(0.01), "rounds")
    fast, slow = time_together([events, rounds], [events_runs, 1], 2)
    ratio = slow.seconds / slow.pulls * fast.pulls / fast.seconds
    note = f"rounds: CPU time a pull in a whole run of {slow.pulls:,.0f} × the {fast.pulls:,.0f} of a mean run"
    yield Measure(name, ratio, "×", 30_000.0, note=note)


def _predict_rounds(whole: Timing) -> float:
    """CPU seconds of the rounds engine for a whole run, from a cost a pull and a cost an upload.

    The first pulls of a run are uploaded one by one, so a cost a pull from them alone would be far too high.
    """
    parts = [
        time_runs(engine_of("famabpe", equal_gaps(0.01), "rounds", max_samples=bound), 1, 2)
        for bound in (3_000, 30_000)
    ]
    work = np.array([[part.pulls, part.uploads] for part in parts])
    costs = np.linalg.solve(work, [part.seconds for part in parts])
    return float(costs @ [whole.pulls, whole.uploads])


def gap(quick: bool) -> Iterator[Measure]:
    """CPU time of famabpe at gap 0.001 as a multiple of that at gap 0.1: 10,000 times the samples or more."""
    wide, narrow = engine_of("famabpe", equal_gaps(0.1)), engine_of("famabpe", equal_gaps(0.001))
    runs = 50 if quick else 500
    cheap, dear = time_together([wide, narrow], [runs, runs], 3 if quick else 7)
    note = (
        f"samples × {dear.pulls / cheap.pulls:,.0f}, uploads × {dear.uploads / cheap.uploads:.2f} "
        f"({cheap.uploads:,.0f} to {dear.uploads:,.0f})"
    )
    yield Measure("gap.famabpe", dear.seconds / cheap.seconds, "×", 2.5, at_most=True, note=note)


def agents(quick: bool) -> Iterator[Measure]:
    """The peak memory of a process that simulates a million agents."""
    count = 10_000 if quick else 1_000_000
    for name in ("famabpe", "sharp"):
        found = json.loads(_python("-m", "bestarm.benchmark", name, str(count)))
        note = f"{count:,} agents: a run of {found['samples']:,} samples, stopped: {_yes(found['stopped'])}"
        target = None if quick else 2000.0
        yield Measure(f"agents.memory.{name}", found["megabytes"], "MB", target, at_most=True, note=note)


def arms(quick: bool) -> Iterator[Measure]:
    """CPU time of a run with 10,000 arms, as a multiple of one with 100."""
    many = 1_000 if quick else 10_000
    for name in ("famabpe", "sharp"):
        few = time_runs(engine_of(name, equal_gaps(0.5, 100)), 3)
        problem = equal_gaps(0.5, many)
        engine = engine_of(name, problem)
        started = time.process_time()
        outcome = engine.run(0)
        seconds = time.process_time() - started
        note = f"{many:,} against 100 arms, gap 0.5"
        yield Measure(f"arms.time.{name}", seconds / few.seconds, "×", note=note)
        note = f"the {outcome.samples:,} samples of a run with {many:,} arms"
        yield Measure(
            f"arms.samples.{name}", outcome.samples / lower_bound(problem), "× lower bound", note=note
        )
        target, note = None if quick else 1.0, f"{many:,} arms"
        yield Measure(f"arms.finished.{name}", float(outcome.stopped), "of 1 run", target, note=note)


def upload(quick: bool) -> Iterator[Measure]:
    """CPU time of an upload at a server with 10,000 arms, from the message to the next plan."""
    many, uploads = (1_000, 5) if quick else (10_000, 40)
    problem = equal_gaps(0.05, many, DIFFER)
    means, random = np.asarray(problem.means), np.random.default_rng(0)
    server = Server(build_method("sharp", problem, AGENTS))
    reply, seconds = server.receive(Join("lab")), 0.0
    for sequence in range(1, uploads + 1):
        assert isinstance(reply, Download)
        assert reply.plan is not None
        pulls, sums = np.zeros(many, np.int64), np.zeros(many)
        pulls[list(reply.plan.arms)] = reply.plan.counts
        sums = pulls * means + 0.3 * np.sqrt(pulls) * random.standard_normal(many)
        tally = Tally.of(pulls.tolist(), np.where(pulls > 0, sums, 0.0).tolist())
        message = Upload(server.terms.fingerprint, "lab", sequence, tally)
        started = time.process_time()
        reply = server.receive(message)
        seconds += time.process_time() - started
    note = f"{many:,} arms: the mean of {uploads} uploads, with checks, fold, reading and plan"
    target = None if quick else 10.0
    yield Measure("upload.server", 1e3 * seconds / uploads, "ms", target, at_most=True, note=note)


def start(quick: bool) -> Iterator[Measure]:
    """The second start of a small `bestarm simulate`, less `import numba`: by the clock, and in CPU time."""
    small = ["-m", "bestarm.cli.main", "simulate", "--means", "0.9,0.5", "--sigma", "0.3", "--runs", "10"]
    _python(*small)
    whole = numba = (np.inf, np.inf)
    for _ in range(2 if quick else 7):
        whole = _lower(whole, _cost(*small))
        numba = _lower(numba, _cost("-c", "import numba"))
    note = "the best of several starts of each, in turns"
    for place, name in enumerate(("start.clock", "start.cpu")):
        yield Measure(name, whole[place] - numba[place], "s", 2.0, at_most=True, note=note)


GROUPS: dict[str, Callable[[bool], Iterator[Measure]]] = {
    "pulls": pulls,
    "engines": engines,
    "gap": gap,
    "agents": agents,
    "arms": arms,
    "upload": upload,
    "start": start,
}


def measure(only: Sequence[str] = (), quick: bool = False) -> Iterator[Measure]:
    """The measures of some groups, or of all, one after the other."""
    for name in only:
        if name not in GROUPS:
            raise UserError(f"there is no measure {name!r}; there are {', '.join(GROUPS)}.")
    for name, group in GROUPS.items():
        if not only or name in only:
            yield from group(quick)


def machine() -> dict[str, Any]:
    """What the numbers are measured on, and how busy it is: how many processes want a core."""
    packages = {name: version(name) for name in ("bestarm", "numpy", "numba")}
    busy = {"cores": os.cpu_count() or 1, "load": round(os.getloadavg()[0], 1)}
    return {"processor": platform.machine(), "python": platform.python_version(), **packages, **busy}


def _python(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout


def _cost(*arguments: str) -> tuple[float, float]:
    """How long a Python process takes, by the clock and in CPU time."""
    clock, before = time.perf_counter(), os.times()
    _python(*arguments)
    after = os.times()
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    return time.perf_counter() - clock, cpu


def _lower(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], other[0]), min(one[1], other[1])


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _report_run(name: str, count: int) -> None:
    """One run with many agents, in a process of its own, and the most memory that it ever had."""
    outcome = engine_of(name, equal_gaps(0.1), agents=count).run(0)
    print(json.dumps({"samples": outcome.samples, "stopped": outcome.stopped, "megabytes": _peak_megabytes()}))


def _peak_megabytes() -> float:
    """The peak of this process's memory.

    Linux counts the parent's memory into a child's `ru_maxrss`, as it was when the child started; VmHWM is the
    process's own.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024 / 1e6
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


if __name__ == "__main__":
    _report_run(sys.argv[1], int(sys.argv[2]))
