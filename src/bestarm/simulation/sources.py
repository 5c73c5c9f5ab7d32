"""Which code makes the runs: one name for it, for results that are kept and for functions that are compiled."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

import bestarm

# What asks for runs, shows them or serves a study. All else counts: a new module is never forgotten.
ASIDE = (
    "__main__",
    "benchmark",
    "cli",
    "client",
    "estimate",
    "experiments",
    "plot",
    "service",
    "sweeps",
    "testing",
    "theory",
)


@cache
def code_version() -> str:
    """The package's version, and a short hash of all sources that a run may depend on."""
    root = Path(bestarm.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if name.parts[0].removesuffix(".py") not in ASIDE:
            digest.update(name.as_posix().encode())
            digest.update(path.read_bytes())
    return f"{bestarm.__version__}-{digest.hexdigest()[:12]}"
