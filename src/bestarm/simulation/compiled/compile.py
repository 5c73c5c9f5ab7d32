"""Compiled twins of the rules and the loops: the same code object, compiled by numba, never a second copy.

A twin's globals are those of the original with the functions among them replaced by their twins; so are the
functions that it was given by a function around it. numba's cache on disk does not notice a changed callee, so
its folder is named after the version of the code (`sources`): a changed line in any source that runs
are made by means a new folder. With rules from elsewhere the name of the function has a hash of all that these
reach (`reached`).
"""

from __future__ import annotations

import os
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

import numba
import numpy as np
from numba.extending import overload

from bestarm.simulation.compiled.einsum import loops_of
from bestarm.simulation.compiled.inlined import part, whole
from bestarm.simulation.compiled.reached import KNOWN, globals_of, package_of, reached_version
from bestarm.simulation.compiled.rebind import Function, rebind
from bestarm.simulation.compiled.sources import COMPILED, code_version

StandIns = tuple[tuple[Function, Function], ...]

overload(np.einsum, prefer_literal=True)(loops_of)


@cache
def use_cache() -> Path:
    """Tell numba where to keep compiled code: `BESTARM_CACHE`, or bestarm's folder in the user's cache."""
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "bestarm"
    folder = Path(os.environ.get("BESTARM_CACHE") or user) / f"compiled-{code_version(COMPILED)}"
    numba.config.CACHE_DIR = str(folder)
    return folder


@cache
def twin(function: Function, kept: bool = True) -> Function:
    """The compiled twin of a function of this package, or of one that brings a rule.

    `kept` says whether it may go to the cache on disk.
    """
    compiled: Function = whole(_clone(function, function.__qualname__, {}), kept and _own(function))
    return compiled


def bind(
    function: Function,
    rules: dict[str, Function],
    unreached: Mapping[str, Mapping[Function, Function]] = MappingProxyType({}),
) -> Function:
    """The compiled twin of a function in which some of its global functions are replaced by others.

    `unreached` has stand-ins for functions anywhere in it, by a name for all that are alike. The replacements'
    names become part of its name, which keeps the twins of one function apart in the cache.
    """
    used = sorted(globals_of(function.__code__) & rules.keys())
    stand_ins = tuple(pair for alike in unreached.values() for pair in alike.items())
    return _bind(function, tuple((name, rules[name]) for name in used), tuple(unreached), stand_ins)


@cache
def _bind(
    function: Function, rules: tuple[tuple[str, Function], ...], labels: tuple[str, ...], stand_ins: StandIns
) -> Function:
    theirs = [rule for _, rule in rules if not _own(rule)]
    version = reached_version(theirs)
    names = [function.__qualname__, *(rule.__name__ for _, rule in rules), *labels]
    label = "_".join([*names, version] if theirs and version else names)
    parts = {name: _part(rule, stand_ins) for name, rule in rules}
    compiled: Function = whole(_clone(function, label, parts, stand_ins), version is not None)
    return compiled


@cache
def _part(function: Function, stand_ins: StandIns) -> Function:
    # A function that is handed from one compiled function to the next leaves an address in the code, which
    # can't be cached, unless the receiver is inlined and the address vanishes. With the call, the counting of
    # references to its arguments vanishes too, a third of the time of an upload.
    taken = dict(stand_ins).get(function, function)
    compiled: Function = part(_clone(taken, taken.__qualname__, {}, stand_ins))
    return compiled


def _clone(
    function: Function, name: str, replacements: dict[str, Function], stand_ins: StandIns = ()
) -> Function:
    """The function as it stands, but with parts in the place of the functions that it uses."""
    use_cache()
    parts = dict(replacements)
    for used in globals_of(function.__code__) - replacements.keys():
        value = function.__globals__.get(used)
        if isinstance(value, types.FunctionType) and package_of(value) not in KNOWN:
            parts[used] = _part(value, stand_ins)
    given = [cell.cell_contents for cell in function.__closure__ or ()]
    enclosed = [_part(value, stand_ins) if isinstance(value, types.FunctionType) else value for value in given]
    return rebind(function, parts, name, enclosed)


def _own(function: Function) -> bool:
    return package_of(function) == "bestarm"
