"""Which code makes the runs: one name for it, for results that are kept and for functions that are compiled."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import bestarm

# The modules and folders that decide how a run goes, or what is computed in place of one.
SOURCES = ("core", "lower_bound", "methods", "problem", "problem_checks", "protocol", "simulation")


@cache
def code_version() -> str:
    """The package's version, and a short hash of all sources that runs are made by."""
    root = Path(bestarm.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0].removesuffix(".py") in SOURCES:
            digest.update(name.as_posix().encode())
            digest.update(path.read_bytes())
    return f"{bestarm.__version__}-{digest.hexdigest()[:12]}"
