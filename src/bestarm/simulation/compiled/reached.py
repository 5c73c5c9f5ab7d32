"""Which code a rule from elsewhere is: one hash of it, and of all that it calls and uses.

Compiled code has everything inside that the functions had at hand when it was made: what they call, and the
values of their global names. So all of that is in the hash.
"""

from __future__ import annotations

import builtins
import dis
import hashlib
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bestarm.simulation.compiled.rebind import Function
from bestarm.simulation.compiled.sources import COMPILED

KNOWN = ("numpy", "numba", "scipy", "math", "cmath", "builtins", "operator")  # what numba has its own code for
COMPILED_FROM = tuple(f"bestarm.{name}." for name in COMPILED)
VALUES = (type(None), bool, int, float, complex, str, bytes, np.generic)


class Unnameable(Exception):
    """Something that a hash can't tell from another one."""


def reached_version(functions: Iterable[Function]) -> str | None:
    """A short hash of these functions and all that they reach; None where there is something unknown.

    Those of the package that compiled code is named after anyway do not count.

    >>> reached_version([np.log]) == reached_version([np.log]) != reached_version([np.exp])
    True
    >>> reached_version([object()])
    """
    digest, seen = hashlib.sha256(), set[int]()
    try:
        for function in functions:
            for word in _words(function, seen):
                digest.update(word.encode() + b"\0")
    except Unnameable:
        return None
    return digest.hexdigest()[:12]


def package_of(thing: Any) -> str:
    """The package that a function, a class or a module comes from."""
    name = thing.__name__ if isinstance(thing, types.ModuleType) else getattr(thing, "__module__", None) or ""
    return str(name).partition(".")[0]


def globals_of(code: types.CodeType) -> set[str]:
    """The global names that a function uses, and the functions written inside it."""
    names = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return names.union(*(globals_of(inner) for inner in code.co_consts if isinstance(inner, types.CodeType)))


def _words(thing: Any, seen: set[int]) -> Iterator[str]:
    """Everything that two things differ in, if they are not the same."""
    thing = getattr(thing, "py_func", thing)  # what was compiled by numba before
    yield type(thing).__name__
    if isinstance(thing, VALUES):
        yield repr(thing)
    elif isinstance(thing, tuple | list):
        for value in thing:
            yield from _words(value, seen)
    elif isinstance(thing, frozenset):
        yield repr(sorted(map(repr, thing)))
    elif isinstance(thing, np.ndarray) and not thing.dtype.hasobject:
        yield f"{thing.dtype}{thing.shape}"
        yield thing.tobytes().hex()
    elif isinstance(thing, types.CodeType):
        yield thing.co_code.hex()
        yield repr((thing.co_names, thing.co_varnames, thing.co_freevars, thing.co_cellvars, thing.co_argcount))
        yield from _words(thing.co_consts, seen)
    elif package_of(thing) in KNOWN and hasattr(thing, "__name__"):
        yield f"{getattr(thing, '__module__', '')} {thing.__name__}"
    elif str(getattr(thing, "__module__", "")).startswith(COMPILED_FROM) and hasattr(thing, "__qualname__"):
        yield f"{thing.__module__} {thing.__qualname__}"
    elif isinstance(thing, types.FunctionType) and thing.__module__ in sys.modules:
        yield from _words_of_function(thing, seen)
    elif isinstance(thing, type) and thing.__module__ != "__main__" and hasattr(thing, "_fields"):
        yield f"{thing.__module__} {thing.__qualname__} {thing._fields} {thing.__annotations__}"
    else:
        raise Unnameable


def _words_of_function(function: types.FunctionType, seen: set[int]) -> Iterator[str]:
    yield f"{function.__module__} {function.__qualname__}"
    if id(function) in seen:
        return
    seen.add(id(function))
    yield from _words(function.__code__, seen)
    yield from _words(function.__defaults__, seen)
    for cell in function.__closure__ or ():
        yield from _words(cell.cell_contents, seen)
    for name in sorted(globals_of(function.__code__)):
        yield name
        if name in function.__globals__:
            yield from _words(function.__globals__[name], seen)
        elif not hasattr(builtins, name):
            raise Unnameable
