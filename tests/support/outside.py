"""Rules from outside of the package, in a folder of their own: known while a test runs, and no longer."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from unittest.mock import patch

from bestarm.methods import METHODS, SELECTIONS, TESTS, TRIGGERS

NAME = "rules_from_outside"


def plugin(folder: Path) -> Path:
    """The file of a plugin, in this folder."""
    file = folder / f"{NAME}.py"
    shutil.copy(Path(__file__).with_name("outside_rules.py"), file)
    return file


@contextmanager
def forgotten() -> Iterator[None]:
    """Whatever is registered within is forgotten in the end."""
    with (
        patch.dict(TESTS._records),
        patch.dict(SELECTIONS._records),
        patch.dict(TRIGGERS._records),
        patch.dict(METHODS._records),
        patch.object(sys, "path", sys.path.copy()),
    ):
        yield


@contextmanager
def brought(folder: Path) -> Iterator[None]:
    """The plugin in this folder is registered."""
    with forgotten():
        sys.path.append(str(plugin(folder).parent))
        import_module(NAME)
        try:
            yield
        finally:
            del sys.modules[NAME]
