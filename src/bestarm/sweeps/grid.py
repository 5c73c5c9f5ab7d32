"""The cells of a sweep, from problems, methods with lists of parameters, agents and seeds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from bestarm.errors import UserError
from bestarm.methods import METHODS, Kind, Method, Parameter
from bestarm.methods import method as build_method
from bestarm.methods.likes import label_of, make_method, split_name
from bestarm.problem import Problem
from bestarm.problem.file import naming, parse_toml, read_text
from bestarm.reward import show
from bestarm.simulation.worlds.world import PLAIN, World
from bestarm.sweeps.cell import Cell

ProblemLike = Problem | str | os.PathLike[str] | Mapping[str, Any]
MethodLike = str | Mapping[str, Any] | Method | Callable[[Problem, int], Method]

WORLD_KEYS = tuple(slot.name for slot in fields(World) if slot.name != "table")
KEYS = ("problem", "method", "agents", "runs", "seeds", "engine", "max_samples", *WORLD_KEYS)
VARIED = ("sigma", "delta", "epsilon")  # a list of these is a grid
FILE_KEYS = ("path", "name", *VARIED)
GAP_KEYS = ("K", "gaps", "best", "name", *VARIED)
INLINE_KEYS = (
    *("means", "arms", "features", "theta", "normalise", "name"),
    *("rewards", "reward_range", "goal", "sites", "items"),
    *VARIED,
)


def load_grid(path: str | os.PathLike[str], runs: int | None = None) -> list[Cell]:
    """The cells of a sweep's TOML file (`docs/sweeps.md` explains it); `runs` overrides its own.

    Paths in it start at its folder.
    """
    with naming(os.fspath(path)):
        table = parse_toml(read_text(Path(path)))
        _check_keys(table, KEYS)
        for key in ("problem", "method"):
            if not _tables(table.get(key)):
                raise UserError(f"{key} is missing; a sweep needs at least one [[{key}]] table.")
        if runs is not None:
            table["runs"] = runs
        world = World(**{key: table.pop(key) for key in WORLD_KEYS if key in table})
        problems, methods = table.pop("problem"), table.pop("method")
        return make_grid(problems, methods, world=world, folder=Path(path).parent, **table)


def make_grid(
    problems: ProblemLike | Sequence[ProblemLike],
    methods: MethodLike | Sequence[MethodLike],
    agents: int | Sequence[int] = 10,
    runs: int = 1000,
    seeds: int | Sequence[int] = 0,
    engine: str | None = None,
    max_samples: int | None = None,
    world: World = PLAIN,
    folder: Path | None = None,
) -> list[Cell]:
    """Every combination of problem, method, parameters, agents and seed, in this order.

    >>> cells = make_grid({"K": 5, "gaps": [0.1, 0.2], "sigma": 0.3}, {"name": "famabpe", "gamma": [0.1, 0.3]})
    >>> [(cell.problem.name, cell.parameters["gamma"]) for cell in cells]
    [('K=5 gap=0.1', 0.1), ('K=5 gap=0.1', 0.3), ('K=5 gap=0.2', 0.1), ('K=5 gap=0.2', 0.3)]
    """
    check_whole("runs", runs, 1)
    all_agents = [check_whole("agents", value, 1) for value in _values("agents", agents)]
    all_seeds = [check_whole("seeds", value, 0) for value in _values("seeds", seeds)]
    all_problems = [found for k, one in enumerate(_listed(problems), 1) for found in _problems(one, k, folder)]
    all_methods = [found for k, one in enumerate(_listed(methods), 1) for found in _methods(one, k)]
    _check_names(all_problems)
    cells: dict[tuple[str, str], Cell] = {}
    for problem, (where, named, given), count, seed in product(
        all_problems, all_methods, all_agents, all_seeds
    ):
        with naming(f"{where} with problem {problem.name!r}"):
            if problem.means is None:
                raise UserError("the problem has no means, and a simulation needs the truth.")
            name = named
            if not isinstance(named, str):
                built = make_method(named, problem, count)
                name, given = built.name, dict(built.parameters)
                if METHODS.get(name) is not built.recipe:
                    raise UserError(f"workers know methods by name: register the recipe of {name!r} first.")
                if built.agents != count and built.kind is not Kind.ALONE:
                    raise UserError(
                        f"the method was built for {built.agents} agents; say agents={built.agents}."
                    )
                if build_method(name, problem, count, **given).rules != built.rules:
                    raise UserError(
                        f"workers know rules by name, and one of {name!r} was exchanged: register its own."
                    )
            cell = Cell.of(problem, name, given, count, range(runs), seed, engine, max_samples, world)
        cells.setdefault((cell.key, problem.name), cell)
    return list(cells.values())


def _problems(one: object, number: int, folder: Path | None) -> Iterator[Problem]:
    if isinstance(one, Problem):
        yield one
        return
    if isinstance(one, str | os.PathLike):
        yield Problem.load(one)
        return
    where = f"[[problem]] {number}"
    if not isinstance(one, Mapping):
        raise UserError(f"problem {number} is {show(one)}; it must be a Problem, a path, or a table.")
    with naming(where):
        kinds = [key for key in ("path", "gaps", "means", "features") if key in one]
        if not kinds or ("path" in kinds and len(kinds) > 1) or {"gaps", "means"} <= set(kinds):
            given = f"has {' and '.join(kinds)}" if kinds else "has no arms"
            raise UserError(f"it {given}; give one of path, gaps (with K), or means (or features and theta).")
        keys = {"path": FILE_KEYS, "gaps": GAP_KEYS}.get(kinds[0], INLINE_KEYS)
        _check_keys(one, keys)
        grids = {key: _values(key, one[key]) for key in VARIED if key in one}
    for chosen in product(*grids.values()):
        varied = dict(zip(grids, chosen, strict=True))
        if kinds[0] == "path":
            yield _from_file(one, varied, where, folder)
            continue
        with naming(where):
            if kinds[0] == "gaps":
                yield from _from_gaps(one, varied)
            else:
                yield _inline(one, varied, number)


def _from_file(table: Mapping[str, Any], varied: dict[str, Any], where: str, folder: Path | None) -> Problem:
    path = table["path"]
    if not isinstance(path, str) or not path.strip() or "\0" in path:
        raise UserError(
            f'{where}: path is {show(path)}; it must be the path of a file, such as "problem.toml".'
        )
    with naming(where):
        problem = Problem.load((folder or Path()) / path)
        changes = varied | ({"name": table["name"]} if "name" in table else {})
        return Problem.from_dict(problem.to_dict() | changes) if changes else problem


def _from_gaps(table: Mapping[str, Any], varied: dict[str, Any]) -> Iterator[Problem]:
    """One best arm and K − 1 others that are all worse by the gap."""
    if "K" not in table:
        raise UserError("gaps needs K, the number of arms.")
    best = table.get("best", 0.9)
    for arms, gap in product(_values("K", table["K"]), _values("gaps", table["gaps"])):
        check_whole("K", arms, 2)
        for key, value in (("gaps", gap), ("best", best)):
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise UserError(f"{key} is {show(value)}; it must be a number.")
        if gap <= 0:
            raise UserError(f"gaps has {gap!r}; a gap must be above 0.")
        name = f"{table['name']} " if "name" in table else ""
        yield Problem(
            [f"arm-{k}" for k in range(1, arms + 1)],
            means=[best] + [best - gap] * (arms - 1),
            name=f"{name}K={arms} gap={gap}",
            **varied,
        )


def _inline(table: Mapping[str, Any], varied: dict[str, Any], number: int) -> Problem:
    given = dict(table) | varied
    rows = _listed(given.get("means", given.get("features")))
    given.setdefault("arms", [f"arm-{k}" for k in range(1, len(rows) + 1)])
    given.setdefault("name", f"problem-{number}")
    return Problem(given.pop("arms"), **given)


def _methods(one: object, number: int) -> Iterator[tuple[str, Any, dict[str, Parameter]]]:
    """Where a method stands, its name and the parameters given, for every combination of their values.

    A method that was built before, or a function that makes one, stands for its name.
    """
    if isinstance(one, str):
        yield f"method {one!r}", *split_name(one)
        return
    if isinstance(one, Method) or (callable(one) and not isinstance(one, Mapping)):
        yield f"method {label_of(one)!r}", one, {}
        return
    where = f"[[method]] {number}"
    if not isinstance(one, Mapping) or "name" not in one:
        raise UserError(f"{where} is {show(one)}; it must have a name, for instance sharp.")
    with naming(where):
        grids = {key: _values(key, value) for key, value in one.items()}
    for key, values in grids.items():
        for value in values:
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                raise UserError(f"{where}: {key} has {show(value)}; a value must be a number or a word.")
    for key in ("problem", "agents"):
        if key in grids:
            raise UserError(f"{where}: {key} is no parameter of a method; it belongs above the first table.")
    names = grids.pop("name")
    for name, chosen in product(names, product(*grids.values())):
        yield where, str(name), dict(zip(grids, chosen, strict=True))


def _check_names(problems: Iterable[Problem]) -> None:
    """Two different problems must look different in the table of results."""
    seen: dict[tuple[object, ...], Problem] = {}
    for problem in problems:
        gap = None if problem.means is None else tuple(sorted(problem.merits(problem.means).tolist())[-2:])
        looks = (problem.name, problem.K, problem.dimension, gap, problem.sigma, problem.delta, problem.epsilon)
        if seen.setdefault(looks, problem) != problem:
            raise UserError(f"two different problems are called {problem.name!r}; give each its own name.")


def _listed(value: Any) -> list[Any]:
    if isinstance(value, np.ndarray):
        return list(np.atleast_1d(value).tolist())
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str | bytes) else [value]


def _tables(value: object) -> bool:
    return isinstance(value, list) and bool(value)


def _values(key: str, value: object) -> list[Any]:
    """One value, or a list of them."""
    values = _listed(value)
    if not values:
        raise UserError(f"{key} is []; it must have at least one value.")
    return values


def check_whole(key: str, value: Any, least: int) -> int:
    """The value, if it is a whole number that is large enough."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserError(f"{key} is {show(value)}; it must be a whole number of at least {least}.")
    return value


def _check_keys(table: Mapping[str, Any], keys: Sequence[str]) -> None:
    for key in table:
        if key not in keys:
            near = get_close_matches(str(key), keys, n=1)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(keys)}."
            raise UserError(f"unknown key {show(key)}; {hint}")
