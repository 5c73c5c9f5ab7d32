"""Compiled twins of the rules and the loops: the same code object, compiled by numba, never a second copy.

A twin's globals are those of the original with the functions of bestarm, and of the package that the original
is from, replaced by their twins; so are the functions that it was given by a function around it.
numba's cache on disk does not notice a changed callee, so its folder is named after the version of the
code (`simulation.sources`): a changed line in any source that runs are made by means a new folder.
"""

from __future__ import annotations

import dis
import os
import types
from functools import cache
from pathlib import Path

import numba

from bestarm.simulation.rebind import Function, rebind
from bestarm.simulation.sources import COMPILED, code_version


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

    `kept` says whether it may go to the cache on disk; what a rule from elsewhere calls may not, since it can
    be called with types that another process does not know.
    """
    kept = kept and _package(function) == "bestarm"
    return _compile(function, function.__qualname__, {}, kept, kept)


def bind(function: Function, rules: dict[str, Function]) -> Function:
    """The compiled twin of a function in which some of its global functions are replaced by others.

    The replacements' names become part of its name, which keeps the twins of one function apart in the cache.
    """
    used = sorted(_globals_of(function.__code__) & rules.keys())
    return _bind(function, tuple((name, rules[name]) for name in used))


@cache
def _bind(function: Function, rules: tuple[tuple[str, Function], ...]) -> Function:
    label = "_".join([function.__qualname__, *(rule.__name__ for _, rule in rules)])
    own = all(_package(rule) == "bestarm" for _, rule in rules)
    return _compile(function, label, {name: twin(rule, own) for name, rule in rules}, own, True)


def _compile(
    function: Function, name: str, replacements: dict[str, Function], kept: bool, called: bool
) -> Function:
    """`kept` and `called` say whether the function, and what it calls, may be kept on disk."""
    use_cache()
    twins = dict(replacements)
    for used in _globals_of(function.__code__) - replacements.keys():
        value = function.__globals__.get(used)
        if isinstance(value, types.FunctionType) and _package(value) in ("bestarm", _package(function)):
            twins[used] = twin(value, called)
    given = [cell.cell_contents for cell in function.__closure__ or ()]
    enclosed = [twin(value, called) if isinstance(value, types.FunctionType) else value for value in given]
    clone = rebind(function, twins, name, enclosed)
    # The cache's folder knows the package's sources only: a rule from elsewhere is compiled in each process.
    # A function that is handed from one compiled function to the next leaves an address in the code, which
    # can't be cached, unless the receiver is inlined and the address vanishes. With the call, the counting of
    # references to its arguments vanishes too, a third of the time of an upload.
    compiled: Function = numba.njit(cache=kept, nogil=True, forceinline=True)(clone)
    return compiled


def _package(function: Function) -> str:
    """The package that a function comes from: a rule from elsewhere brings its own functions with it."""
    return function.__module__.partition(".")[0]


def _globals_of(code: types.CodeType) -> set[str]:
    return {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
