"""Everything that a method can be made of, by name: what the package brings, and what others add."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from threading import RLock
from types import FunctionType, ModuleType
from typing import TypeVar

from bestarm.core.rules import Parameter, Selection, Test, Trigger, Value
from bestarm.core.selection.balance import BALANCE
from bestarm.core.selection.blocks import BLOCKS
from bestarm.core.selection.budget import HALVING as BETTER_HALF
from bestarm.core.selection.budget import REJECTS as ALL_BUT_WORST
from bestarm.core.selection.directions import DIRECTIONS
from bestarm.core.selection.elimination import ELIMINATION as IN_RACE
from bestarm.core.selection.elimination import PHASES
from bestarm.core.selection.fed_sel import FED_SEL as OWN_ARMS
from bestarm.core.selection.greedy import GREEDY
from bestarm.core.selection.lil_ucb import LIL_UCB as HIGHEST_LIMIT
from bestarm.core.selection.lookahead import LOOKAHEAD
from bestarm.core.selection.lucb import KL_LUCB as TWO_KL_LIMITS
from bestarm.core.selection.lucb import LUCB as TWO_LIMITS
from bestarm.core.selection.race import RACE
from bestarm.core.selection.rage import RAGE as BEST_DESIGN
from bestarm.core.selection.ratio import RATIO
from bestarm.core.selection.top_two import EB_TC, EB_TCI, T3C, TTTS
from bestarm.core.selection.tracking import TRACKING
from bestarm.core.selection.uniform import UNIFORM
from bestarm.core.stopping.betting import BETTING
from bestarm.core.stopping.budget import HALVING, REJECTS, SHARES
from bestarm.core.stopping.chernoff import CHERNOFF, CHERNOFF_YES_NO
from bestarm.core.stopping.elimination import ELIMINATION
from bestarm.core.stopping.falinpe import FALINPE
from bestarm.core.stopping.famabpe import FAMABPE
from bestarm.core.stopping.fed_sel import FED_SEL
from bestarm.core.stopping.items import ITEMS
from bestarm.core.stopping.kl_lucb import KL_LUCB
from bestarm.core.stopping.lil_ucb import LIL_UCB
from bestarm.core.stopping.lingape import LINGAPE
from bestarm.core.stopping.lucb import LUCB
from bestarm.core.stopping.msprt import MSPRT
from bestarm.core.stopping.pairs import PAIRS
from bestarm.core.stopping.peeking import PEEKING
from bestarm.core.stopping.rage import RAGE
from bestarm.core.stopping.rule_out import RULE_OUT
from bestarm.core.stopping.rule_out_features import RULE_OUT_FEATURES
from bestarm.core.stopping.rule_out_span import RULE_OUT_SPAN
from bestarm.core.stopping.span import SPAN
from bestarm.core.stopping.two_by_two import TWO_BY_TWO
from bestarm.core.stopping.ugapec import UGAPEC
from bestarm.core.trigger.aim import AIM
from bestarm.core.trigger.count import COUNT
from bestarm.core.trigger.determinant import DETERMINANT
from bestarm.core.trigger.every_pull import EVERY_PULL
from bestarm.core.trigger.finish import FINISH, FINISH_ITEMS, FINISH_SPAN
from bestarm.errors import UserError
from bestarm.methods import (
    eb_tc,
    eb_tci,
    elimination,
    even_shares,
    falinpe,
    famabpe,
    fed_sel,
    halving,
    kl_lucb,
    lil_ucb,
    lingape,
    lucb,
    peeking,
    rage,
    rejects,
    sharp,
    sync_elimination,
    synchronous,
    t3c,
    track_and_stop,
    ttts,
    ugapec,
    uniform,
)
from bestarm.methods.recipe import MIN_BATCH, PERIOD, PERIOD_COUNTS, Kind, Recipe

GROUP = "bestarm"  # the entry points of installed packages that bring rules or methods
VARIABLE = "BESTARM_PLUGINS"  # modules that do, or files that end in .py, separated by commas

Rule = Test | Selection | Trigger | Recipe
R = TypeVar("R", Test, Selection, Trigger, Recipe)


class Registry(Mapping[str, R]):
    """The records of one kind, in the order in which they came; a look at them loads the plugins first."""

    def __init__(self, *records: R) -> None:
        self._records: dict[str, R] = {record.name: record for record in records}
        self._own = frozenset(self._records)

    def add(self, record: R) -> None:
        """One more. A name stays with the modules that came first, which may say anew what it means.

        The package's own names stay what they are.
        """
        known = self._records.get(record.name, record)
        if known != record and (record.name in self._own or modules_of(known) != modules_of(record)):
            raise UserError(f"there is a {type(record).__name__.lower()} {record.name!r} already.")
        self._records[record.name] = record

    @property
    def outside(self) -> tuple[R, ...]:
        """Those that the package did not bring."""
        load_plugins()
        return tuple(record for name, record in self._records.items() if name not in self._own)

    def __getitem__(self, name: str) -> R:
        load_plugins()
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        load_plugins()
        return iter(self._records)

    def __len__(self) -> int:
        return sum(1 for _ in self)


TESTS: Registry[Test] = Registry(
    *(FAMABPE, UGAPEC, PAIRS, FALINPE, LINGAPE, SPAN),
    *(RULE_OUT, TWO_BY_TWO, BETTING, ITEMS, RULE_OUT_FEATURES, RULE_OUT_SPAN),
    *(CHERNOFF, CHERNOFF_YES_NO, LUCB, KL_LUCB, LIL_UCB, ELIMINATION, MSPRT, PEEKING, RAGE, FED_SEL),
    *(HALVING, REJECTS, SHARES),
)
SELECTIONS: Registry[Selection] = Registry(
    *(BALANCE, RATIO, GREEDY, LOOKAHEAD, RACE, BLOCKS, DIRECTIONS),
    *(
        TRACKING,
        BEST_DESIGN,
        EB_TCI,
        EB_TC,
        T3C,
        TTTS,
        TWO_LIMITS,
        TWO_KL_LIMITS,
        HIGHEST_LIMIT,
        IN_RACE,
        UNIFORM,
    ),
    *(PHASES, OWN_ARMS, BETTER_HALF, ALL_BUT_WORST),
)
TRIGGERS: Registry[Trigger] = Registry(COUNT, DETERMINANT, AIM, FINISH, FINISH_ITEMS, FINISH_SPAN, EVERY_PULL)
METHODS: Registry[Recipe] = Registry(
    sharp.SHARP,
    famabpe.FAMABPE,
    falinpe.FALINPE,
    ugapec.UGAPEC,
    lingape.LINGAPE,
    synchronous.SYNC_UGAPEC,
    synchronous.SYNC_LINGAPE,
    rage.RAGE,
    track_and_stop.TRACK_AND_STOP,
    eb_tci.EB_TCI,
    eb_tc.EB_TC,
    t3c.T3C,
    ttts.TTTS,
    lucb.LUCB,
    kl_lucb.KL_LUCB,
    lil_ucb.LIL_UCB,
    elimination.ELIMINATION,
    uniform.UNIFORM,
    peeking.PEEKING,
    sync_elimination.SYNC_ELIMINATION,
    fed_sel.FED_SEL,
    halving.HALVING,
    rejects.REJECTS,
    even_shares.EVEN_SHARES,
)
# The parameter that names a rule, and where it is looked up.
RULES: dict[str, Mapping[str, Test | Selection | Trigger]] = {
    "stopping": TESTS,
    "selection": SELECTIONS,
    "trigger": TRIGGERS,
}


def register(*records: Rule) -> None:
    """Add tests, selections, triggers or methods; from then on they work by name like the package's own.

    An installed package does it from an entry point in the group `bestarm`; `BESTARM_PLUGINS` names modules or
    files that do.

    >>> from dataclasses import replace
    >>> register(replace(BALANCE, name="my-balance"))
    >>> SELECTIONS["my-balance"].help
    'of leader and challenger the one with fewer pulls'
    """
    for record in records:
        match record:
            case Test():
                TESTS.add(record)
            case Selection():
                SELECTIONS.add(record)
            case Trigger():
                TRIGGERS.add(record)
            case Recipe():
                METHODS.add(record)
            case _:
                raise UserError(f"{record!r} is no Test, Selection, Trigger or Recipe; only those are known.")


def outside() -> tuple[Rule, ...]:
    """Everything that is not the package's own."""
    return (*TESTS.outside, *SELECTIONS.outside, *TRIGGERS.outside, *METHODS.outside)


def functions_of(record: Rule) -> list[FunctionType]:
    """The functions that make a record what it is."""
    values = [value if isinstance(value, tuple) else (value,) for value in vars(record).values()]
    return [part for value in values for part in value if isinstance(part, FunctionType)]


def modules_of(record: Rule) -> set[str]:
    """Where these functions come from."""
    return {function.__module__ for function in functions_of(record)}


def records_of(method: str, parameters: Mapping[str, Value]) -> tuple[Rule, ...]:
    """The records that a method with these parameters is made of, as far as they are known."""
    found: list[Rule] = [METHODS[method]] if method in METHODS else []
    for what, known in RULES.items():
        rule = known.get(str(parameters.get(what)))
        if rule is not None:
            found.append(rule)
    return tuple(found)


def federated() -> list[str]:
    """The methods that can be served: those whose agents work at their own pace."""
    return [name for name, recipe in METHODS.items() if recipe.kind is Kind.FEDERATED]


_one_at_a_time = RLock()
_loading = _loaded = False


def load_plugins() -> None:
    """Import what brings more rules, once."""
    global _loading, _loaded
    if _loaded:
        return
    with _one_at_a_time:
        if _loaded or _loading:  # by another thread; or this is a plugin that looks at what there is
            return
        _loading = True
        try:
            for point in entry_points(group=GROUP):
                point.load()
            for name in plugins():
                _load(name)
            _loaded = True
        finally:
            _loading = False


def plugins() -> list[str]:
    """What `BESTARM_PLUGINS` names, files with their whole path."""
    names = (name.strip() for name in os.environ.get(VARIABLE, "").split(","))
    return [str(Path(name).resolve()) if name.endswith(".py") else name for name in names if name]


def _load(name: str) -> ModuleType:
    """Import a module, or a file as a script of its folder would: other processes find it by the same path."""
    file = Path(name) if name.endswith(".py") else None
    if file is not None and str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    try:
        module = import_module(name if file is None else file.stem)
    except ImportError as error:
        raise UserError(f"{VARIABLE} names {name!r}, which can't be imported: {error}.") from None
    if file is not None and Path(module.__file__ or "").resolve() != file:
        raise UserError(f"{VARIABLE} names {name!r}, but there is another module {file.stem}; rename the file.")
    return module


def known_parameters() -> dict[str, Parameter]:
    """Every parameter of every rule by its name; of two with the same name the one that was there first."""
    rules: list[Test | Selection | Trigger] = [*TESTS.values(), *SELECTIONS.values(), *TRIGGERS.values()]
    found = [MIN_BATCH, PERIOD, PERIOD_COUNTS, *(parameter for rule in rules for parameter in rule.parameters)]
    return {parameter.name: parameter for parameter in reversed(found)}
