"""One simulated run by number: the same seed and number give the same run, wherever it is made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property, partial
from traceback import walk_tb
from types import FunctionType
from typing import Any

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.errors import UserError
from bestarm.methods.composed import Method
from bestarm.methods.recipe import Kind
from bestarm.methods.registry import functions_of
from bestarm.simulation import events, pulls, turns
from bestarm.simulation.environment import Environment, with_interactions
from bestarm.simulation.interrupts import held_interrupts
from bestarm.simulation.mirror import mirrored
from bestarm.simulation.outcome import Outcome
from bestarm.simulation.parts import ANY, Parts, parts_of
from bestarm.simulation.rebind import rebind
from bestarm.simulation.rounds import run_rounds
from bestarm.simulation.schedule import Schedule
from bestarm.simulation.unreached import unreached

ENGINES = ("events", "rounds")
UNBOUNDED = {"events": 10**12, "pulls": 10**9, "rounds": 10**7}  # max_samples by what a sample costs

Loop = Callable[..., tuple[Outcome, int, int, int]]
LOOPS: dict[Kind, Loop] = {
    Kind.FEDERATED: events.run,
    Kind.ALONE: pulls.alone,
    Kind.SYNCHRONOUS: pulls.lockstep,
}


def reason_of(message: str) -> str:
    """What numba says that it stumbled over, out of its long message.

    >>> reason_of("maximum recursion depth exceeded")
    ' (a function calls itself)'
    >>> reason_of("Failed in nopython mode\\nUntyped global name 'json': Cannot determine\\n(1)")
    " (Untyped global name 'json')"
    >>> reason_of("format spec in f-strings not supported yet. Raised from rules.py (26)")
    ' (format spec in f-strings not supported yet)'
    """
    if "recursion depth" in message:
        return " (a function calls itself)"
    plain = re.sub(r"\x1b\[[0-9;]*m", "", message)
    found = re.search(
        r"^(Untyped|Unknown|No implementation|Unsupported|Cannot|Invalid use)[^\n:]*", plain, re.M
    ) or re.match(r"[^\n]*?(?=\.+ Raised from )", plain)
    return f" ({found.group().strip()})" if found else ""


def while_compiling(error: Exception) -> bool:
    """Whether numba's own code failed: not all that it can't compile is one of its errors."""
    return any(
        frame.f_globals.get("__name__", "").startswith("numba.") for frame, _ in walk_tb(error.__traceback__)
    )


def loop_of(method: Method, bind: Callable[..., Loop], parts: Parts = ANY) -> Loop:
    """A method's loop with its rules, bound by `rebind` as they stand or by `compile.bind` compiled."""
    functions = method.rules._asdict() | parts._asdict()
    loop = turns.run if method.by_turns else LOOPS[method.kind]
    return bind(loop, {f"_{name}": function for name, function in functions.items()})


@dataclass(frozen=True)
class Engine:
    """Everything that a run needs but its number. `engine` is `events` (compiled) or `rounds` (plain Python).

    The events engine skips from upload to upload and is exact; the per-pull baselines have nothing to skip, and
    there it is their loop, compiled. The rounds engine drives real Agents and Servers, or the same loop as it
    stands.
    """

    method: Method
    environment: Environment
    schedule: Schedule
    seed: int
    engine: str
    max_samples: int

    @property
    def functions(self) -> list[Any]:
        """The functions that its method is made of."""
        records = (self.method.recipe, self.method.test)
        return [*self.method.rules, *(function for record in records for function in functions_of(record))]

    def run(self, number: int) -> Outcome:
        """The outcome of one run."""
        return self._run(number, np.zeros((0, 4)))[0]

    def ending(self, number: int) -> tuple[Outcome, Any]:
        """One run, and its last state with no more than `max_samples`.

        Nothing is compiled, so it is for runs that are short.
        """
        last: list[Any] = []

        def read(state: Any, setting: Any) -> Any:
            if state.pulls.sum() <= self.max_samples:
                last[:] = [deepcopy(state)]
            return self.method.rules.read(state, setting)

        watched = replace(self.method, rules=self.method.rules._replace(read=read))
        plain = replace(self, method=watched, engine="events")
        plain.__dict__["_loop"] = loop_of(watched, rebind)
        return plain.run(number), last[0]

    def cancel(self) -> None:
        """End the compiled run that another thread is making, and all later ones, undecided."""
        self._cancelled[0] = 1

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return bool(self._cancelled[0])

    @cached_property
    def _cancelled(self) -> Counts:
        return np.zeros(1, np.int64)

    def trace(self, number: int, rows: int = 100_000) -> tuple[Outcome, Floats]:
        """One run with a row for each upload (per-pull methods: each pull): samples, time, index, evidence."""
        table = np.zeros((rows, 4))
        outcome, used = self._run(number, table)
        return outcome, table[:used]

    def _run(self, number: int, trace: Floats) -> tuple[Outcome, int]:
        world = self._world(number)
        while True:
            random = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number,)))
            if self.engine == "rounds" and self.method.kind is Kind.FEDERATED:
                return self._run_rounds(world, random, trace)
            with held_interrupts() if self.engine == "events" else nullcontext(), self._said_if_uncompilable():
                outcome, leader, challenger, used = self._loop(
                    *self._arguments_in(world), self.max_samples, random, trace, self._cancelled
                )
            if leader < 0:
                return Outcome(*outcome), used
            # The run met a pair whose linear programme is not solved yet: solve it and make the run again.
            self.method.solve_design(leader, challenger)

    @contextmanager
    def _said_if_uncompilable(self) -> Iterator[None]:
        """A rule from elsewhere that numba can't compile is a sentence; one of the package's own is a fault."""
        rules = (rule for rule in self.method.rules if rule is not None)
        theirs = [rule for rule in rules if not rule.__module__.startswith("bestarm.")]
        if self.engine != "events" or not theirs:
            yield
            return
        from numba.core.errors import NumbaError

        objects = [type(rule).__name__ for rule in theirs if not isinstance(rule, FunctionType)]
        try:
            if objects:
                raise NumbaError(f"Cannot compile {objects[0]} objects, only functions")
            yield
        except Exception as error:
            if not (isinstance(error, NumbaError | RecursionError) or while_compiling(error)):
                raise
            names = ", ".join(dict.fromkeys(getattr(rule, "__qualname__", repr(rule)) for rule in theirs))
            raise UserError(
                f"{self.method.name} has rules from elsewhere ({names}) that can't be compiled"
                f"{reason_of(str(error))}; take engine=rounds, or keep to what numba knows."
            ) from None

    def _world(self, number: int) -> Environment:
        """The environment of a run. Its own draws have a stream of their own, and leave the noise as it is.

        They are made on the method's side, where the best arm is the highest.
        """
        if self.environment.scatter == 0.0:
            return self.environment
        random = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(number, 1)))
        there = mirrored(self.environment, self.method)
        return mirrored(with_interactions(there, self.schedule.agents, random), self.method)

    def _run_rounds(
        self, world: Environment, random: np.random.Generator, trace: Floats
    ) -> tuple[Outcome, int]:
        rows: list[tuple[float, ...]] = []

        def observe(server: Any) -> None:
            if len(rows) < trace.shape[0]:
                verdict = server.verdict
                rows.append((server.samples, np.nan, verdict.breaking_index, verdict.evidence))

        outcome = run_rounds(self.method, world, self.schedule, random, self.max_samples, observe)
        trace[: len(rows)] = np.array(rows).reshape(-1, 4)
        return outcome, len(rows)

    @cached_property
    def _loop(self) -> Loop:
        if self.engine == "rounds":
            return loop_of(self.method, rebind)
        try:
            from bestarm.simulation.compile import bind
        except ImportError:
            raise UserError(
                'the events engine needs numba: pip install "bestarm[simulate]"; to simulate, compare or sweep '
                "without it, take engine rounds."
            ) from None
        asks = self.method.squares, self.method.against
        compiled = partial(bind, unreached=unreached(self.method))
        return loop_of(self.method, compiled, parts_of(self.environment, *asks, self.schedule.plate))

    def __getstate__(self) -> dict[str, Any]:
        # What is compiled stays in its process; another one loads it from the cache.
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    @property
    def _arguments(self) -> tuple[Any, ...]:
        return self._arguments_in(self.environment)

    def _arguments_in(self, environment: Environment) -> tuple[Any, ...]:
        method, world = self.method, mirrored(environment, self.method)
        if method.by_turns:
            together = method.agents if method.kind is Kind.SYNCHRONOUS and not method.owned else 1
            return method.plan_width, together, method.squares, method.setting, world
        if method.kind is Kind.ALONE:
            return method.squares, method.setting, world
        if method.kind is Kind.SYNCHRONOUS:
            return method.period, method.period_of_all, method.squares, method.setting, world
        setting = method.setting._replace(plate=self.schedule.plate if self.schedule.plate > 1 else 0)
        return method.plan_width, method.squares, method.against, setting, world, self._clocks

    @cached_property
    def _clocks(self) -> events.Clocks:
        rates = np.array(self.schedule.rates, dtype=np.float64)
        return events.Clocks(rates, *self.schedule.windows())
