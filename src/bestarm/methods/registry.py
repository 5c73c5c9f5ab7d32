"""Everything that a method can be made of, by name: what the package brings, and what others add."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import TypeVar

from bestarm.core.rules import Parameter, Selection, Test, Trigger
from bestarm.core.selection.balance import BALANCE
from bestarm.core.selection.greedy import GREEDY
from bestarm.core.selection.lookahead import LOOKAHEAD
from bestarm.core.selection.ratio import RATIO
from bestarm.core.stopping.falinpe import FALINPE
from bestarm.core.stopping.famabpe import FAMABPE
from bestarm.core.stopping.lingape import LINGAPE
from bestarm.core.stopping.pairs import PAIRS
from bestarm.core.stopping.span import SPAN
from bestarm.core.stopping.ugapec import UGAPEC
from bestarm.core.trigger.aim import AIM
from bestarm.core.trigger.count import COUNT
from bestarm.core.trigger.determinant import DETERMINANT
from bestarm.core.trigger.every_pull import EVERY_PULL
from bestarm.errors import UserError
from bestarm.methods import falinpe, famabpe, lingape, sharp, synchronous, ugapec
from bestarm.methods.recipe import MIN_BATCH, PERIOD, PERIOD_COUNTS, Recipe

GROUP = "bestarm"  # the entry points of installed packages that bring rules or methods
VARIABLE = "BESTARM_PLUGINS"  # modules that do, separated by commas

Rule = Test | Selection | Trigger | Recipe
R = TypeVar("R", Test, Selection, Trigger, Recipe)


class Registry(Mapping[str, R]):
    """The records of one kind, in the order in which they came; a look at them loads the plugins first."""

    def __init__(self, *records: R) -> None:
        self._records: dict[str, R] = {record.name: record for record in records}

    def add(self, record: R) -> None:
        """One more; the package's own names stay what they are."""
        known = self._records.get(record.name)
        if known is not None and known != record:
            raise UserError(f"there is a {type(record).__name__.lower()} {record.name!r} already.")
        self._records[record.name] = record

    def __getitem__(self, name: str) -> R:
        load_plugins()
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        load_plugins()
        return iter(self._records)

    def __len__(self) -> int:
        return sum(1 for _ in self)


TESTS: Registry[Test] = Registry(FAMABPE, UGAPEC, PAIRS, FALINPE, LINGAPE, SPAN)
SELECTIONS: Registry[Selection] = Registry(BALANCE, RATIO, GREEDY, LOOKAHEAD)
TRIGGERS: Registry[Trigger] = Registry(COUNT, DETERMINANT, AIM, EVERY_PULL)
METHODS: Registry[Recipe] = Registry(
    sharp.SHARP,
    famabpe.FAMABPE,
    falinpe.FALINPE,
    ugapec.UGAPEC,
    lingape.LINGAPE,
    synchronous.SYNC_UGAPEC,
    synchronous.SYNC_LINGAPE,
)


def register(*records: Rule) -> None:
    """Add tests, selections, triggers or methods; from then on they work by name like the package's own.

    An installed package does it from an entry point in the group `bestarm`; `BESTARM_PLUGINS` names modules.

    >>> from dataclasses import replace
    >>> register(replace(BALANCE, name="my-balance"))
    >>> SELECTIONS["my-balance"].help
    'of leader and challenger the one with fewer pulls'
    """
    for record in records:
        if isinstance(record, Test):
            TESTS.add(record)
        elif isinstance(record, Selection):
            SELECTIONS.add(record)
        elif isinstance(record, Trigger):
            TRIGGERS.add(record)
        else:
            METHODS.add(record)


_loaded = False


def load_plugins() -> None:
    """Import what brings more rules, once."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    for point in entry_points(group=GROUP):
        point.load()
    for name in filter(None, os.environ.get(VARIABLE, "").split(",")):
        try:
            import_module(name.strip())
        except ImportError as error:
            raise UserError(f"{VARIABLE} names {name.strip()!r}, which can't be imported: {error}.") from None


def known_parameters() -> dict[str, Parameter]:
    """Every parameter of every rule by its name."""
    rules: list[Test | Selection | Trigger] = [*TESTS.values(), *SELECTIONS.values(), *TRIGGERS.values()]
    found = {parameter.name: parameter for rule in rules for parameter in rule.parameters}
    return found | {parameter.name: parameter for parameter in (MIN_BATCH, PERIOD, PERIOD_COUNTS)}
