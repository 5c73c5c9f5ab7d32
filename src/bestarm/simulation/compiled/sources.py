"""Which code makes the runs: one name for it, for results that are kept and for functions that are compiled."""

from __future__ import annotations

import hashlib
import inspect
import marshal
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import bestarm
from bestarm.methods.registry import Rule, functions_of

# What asks for runs, shows them or serves a study. All else counts: a new module is never forgotten.
ASIDE = (
    "__main__",
    "benchmark",
    "cli",
    "client",
    "estimation",
    "experiments",
    "plot",
    "service",
    "sweeps",
    "testing",
    "theory",
)


COMPILED = ("core", "simulation")  # where compiled functions come from


@cache
def code_version(only: tuple[str, ...] = ()) -> str:
    """The package's version, and a short hash of all sources that a run may depend on, or `only` of some."""
    root = Path(bestarm.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        part = name.parts[0].removesuffix(".py")
        if part in only if only else part not in ASIDE:
            digest.update(name.as_posix().encode())
            digest.update(path.read_bytes())
    return f"{bestarm.__version__}-{digest.hexdigest()[:12]}"


def outside_version(records: Iterable[Rule]) -> str:
    """A short hash of the modules that rules from elsewhere come from; empty if all are the package's own.

    What these modules import in turn is not seen. Where there is no file, as in a notebook, it is the code of
    the records' own functions.
    """
    digest = hashlib.sha256()
    functions = [function for record in records for function in functions_of(record)]
    theirs = [function for function in functions if not function.__module__.startswith("bestarm.")]
    for function in theirs:
        try:
            source = inspect.getsource(sys.modules[function.__module__]).encode()
        except (KeyError, OSError, TypeError):
            source = marshal.dumps(function.__code__)
        digest.update(source)
    return digest.hexdigest()[:12] if theirs else ""
