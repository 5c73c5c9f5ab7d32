"""`compare`: several methods on the same problems, with the same seeds, and who keeps the promise."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from bestarm.comparison.text import table_rows
from bestarm.comparison.worlds import NamedWorld, world_of
from bestarm.errors import UserError
from bestarm.live import progress_shown
from bestarm.methods.composed import Method
from bestarm.methods.likes import MethodLike, label_of, make_method
from bestarm.methods.recipe import Kind
from bestarm.notebook import picture, table
from bestarm.problem import Problem
from bestarm.simulation.api import simulate
from bestarm.simulation.result import Result
from bestarm.simulation.schedule import Schedule
from bestarm.simulation.worlds.world import World

SURELY = 0.001  # how unlikely so many wrong answers must be under the promise, until it is called broken

WORLD_KEYS = tuple(slot.name for slot in fields(World))
WorldLike = Problem | NamedWorld | str


@dataclass(frozen=True)
class Entry:
    """One method in one world. `promised` says whether it claims to be right there."""

    world: str
    label: str
    promised: bool
    result: Result

    @property
    def broken(self) -> bool:
        """Whether it is wrong more often than δ, beyond what chance could do."""
        from scipy.special import bdtrc  # the binomial's tail, without all of scipy.stats

        result = self.result
        return bool(bdtrc(result.wrong - 1, result.runs, result.problem.delta) < SURELY)

    @property
    def row(self) -> dict[str, Any]:
        """Everything that a table shows, in plain values."""
        result = self.result
        samples, sent = result.summary(), result.summary("communications")
        return {
            "world": self.world,
            "method": self.label,
            "samples": samples.mean,
            "samples_stderr": samples.stderr,
            "samples_most": samples.most,
            "communications": sent.mean,
            "wrong": result.wrong,
            "wrong_rate": result.wrong / result.runs,
            "delta": result.problem.delta,
            "promised": self.promised,
            "broken": self.broken,
            "unfinished": result.unfinished,
            "runs": result.runs,
        }


@dataclass(frozen=True)
class Comparison:
    """What a comparison gave: `rows`, one for each method in each world, and who could not take part and why.

    >>> import bestarm
    >>> problem = bestarm.Problem.quick([0.9, 0.5], sigma=0.3)
    >>> found = bestarm.compare(problem, ["sharp", "lucb"], agents=2, runs=5, engine="rounds")
    >>> [(row["method"], row["wrong"], row["promised"]) for row in found.rows]
    [('sharp', 0, True), ('lucb', 0, True)]
    """

    entries: tuple[Entry, ...]
    left_out: tuple[tuple[str, str, str], ...] = ()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each method in each world."""
        return [entry.row for entry in self.entries]

    @property
    def results(self) -> list[Result]:
        """The results, in the order of the rows."""
        return [entry.result for entry in self.entries]

    def to_pandas(self) -> Any:
        """The rows as a pandas data frame."""
        import pandas

        return pandas.DataFrame(self.rows)

    def __str__(self) -> str:
        """The table that `bestarm compare` prints."""
        rows = table_rows(self)
        wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(map(str.ljust, row, wide)).rstrip() for row in rows)
        return "\n".join(
            [*lines, *(f"{label} is not in {world}: {why}" for world, label, why in self.left_out)]
        )

    def _repr_html_(self) -> str:
        """A table, world after world, and the picture where there is matplotlib."""
        heads, *lines = table_rows(self)
        page = table(f"{len(self.entries)} methods and worlds", heads, lines)
        try:
            return page + picture(self.plot())
        except UserError:  # the only thing missing is matplotlib
            return page

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A figure of who is fast where, and who breaks the promise; saved to `path` if there is one."""
        from bestarm.comparison.picture import draw
        from bestarm.plot import save

        figure = draw(self)
        if path is not None:
            save(figure, path)
        return figure


def compare(
    worlds: WorldLike | Sequence[WorldLike],
    methods: MethodLike | Sequence[MethodLike] = ("sharp", "famabpe"),
    *,
    agents: int = 10,
    runs: int = 1000,
    seed: int = 0,
    engine: str | None = None,
    schedule: Schedule | None = None,
    plate: int | None = None,
    max_samples: int | None = None,
    jobs: int = 1,
    cluster: str | None = None,
    progress: Callable[[int], None] | None = None,
    **world: Any,
) -> Comparison:
    """Run several methods with the same seeds, on a problem of your own or in worlds that have a name.

    Parameters:
        worlds: a problem, the name of a world (`bestarm compare --help` lists them), or several of these.
        methods: names with settings after colons (`"sharp:thrift=messages"`), methods, or functions that make
            one from a problem and a number of agents.
        agents, runs, seed, engine, schedule, plate, max_samples, jobs, cluster, progress: as in `simulate`.
            Methods without agents at their own pace go without the schedule and plates.
        world: for a problem of your own, what `simulate` takes: `noise`, `offsets`, `drift`, ….

    Of several worlds a method is left out where it does not fit (`Comparison.left_out` says why). One that fits
    nowhere is an error.
    """
    asked = _listed(worlds)
    named = [_named(one, world) for one in asked]
    likes = _listed(methods)
    labels = [label_of(like) for like in likes]
    _check_once(named, labels, likes)
    fitting, left_out = _built(named, dict(zip(labels, likes, strict=True)), agents)
    entries = []
    with progress_shown(progress, runs * len(fitting), ", ".join(labels)) as told:
        for where, label, built in fitting:
            paced = built.kind is Kind.FEDERATED
            result = simulate(
                where.problem,
                built,
                runs=runs,
                seed=seed,
                engine=engine,
                schedule=schedule if paced else None,
                plate=plate if paced else None,
                max_samples=max_samples,
                jobs=jobs,
                cluster=cluster,
                progress=told,
                **where.world.given,
            )
            entries.append(Entry(where.name, label, where.promised(built), result))
    return Comparison(tuple(entries), left_out)


def _built(
    worlds: list[NamedWorld], likes: dict[str, MethodLike], agents: int
) -> tuple[list[tuple[NamedWorld, str, Method]], tuple[tuple[str, str, str], ...]]:
    """Each method in each world that it fits into, and who fits where not and why."""
    fitting, left_out = [], []
    for where in worlds:
        for label, like in likes.items():
            try:
                fitting.append((where, label, make_method(like, where.problem, agents)))
            except UserError as error:
                left_out.append((where.name, label, str(error)))
                if sum(label == other for _, other, _ in left_out) == len(worlds):
                    raise
    return fitting, tuple(left_out)


def _listed(value: Any) -> list[Any]:
    several = isinstance(value, Sequence | Iterator) and not isinstance(value, str)
    found = list(value) if several else [value]
    if not found:
        raise UserError("there is nothing to compare: give at least one world and one method.")
    return found


def _check_once(worlds: list[NamedWorld], labels: list[str], likes: list[MethodLike]) -> None:
    names = [where.name for where in worlds]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise UserError(f"two worlds are called {name}; leave one out, or give each its own name.")
    for place, label in enumerate(labels):
        if label in labels[:place]:
            if isinstance(likes[place], str) and isinstance(likes[labels.index(label)], str):
                raise UserError(f"{label} is there twice; once is enough, the runs would be the same.")
            raise UserError(f"two methods are called {label}; give each its own name.")


def _named(one: WorldLike, world: dict[str, Any]) -> NamedWorld:
    if isinstance(one, Problem):
        unknown = next((key for key in world if key not in WORLD_KEYS), None)
        if unknown is not None:
            raise UserError(
                f"compare has no argument {unknown!r}; of a world there are {', '.join(WORLD_KEYS)}, and a "
                "method's own settings follow its name after colons."
            )
        return NamedWorld(one.name, "", one, World(**world))
    if world:
        raise UserError(f"{', '.join(world)} can't be given with the name of a world, which says it all.")
    return one if isinstance(one, NamedWorld) else world_of(one)
