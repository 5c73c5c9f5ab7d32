"""Earlier data as the first uploads of a study: what was measured before it began, by site and batch.

A file has single rewards or sums, a line each; every site's batches become uploads, in the order of the file,
through the same `Agent` and `Server` that a site's own would go.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bestarm.core.plan import Plan
from bestarm.errors import UserError
from bestarm.methods.composed import Method
from bestarm.names import check_name
from bestarm.problem import Problem
from bestarm.problem.file import naming, read_text
from bestarm.protocol.agent import Agent
from bestarm.protocol.entries import Upload
from bestarm.protocol.server import Server
from bestarm.protocol.terms import Terms
from bestarm.reward import check_number
from bestarm.simulation.worlds.table import read_cells

REWARDS = ("site", "batch", "arm", "reward")
ON_ITEMS = ("site", "batch", "item", "arm", "reward")
SUMS = ("site", "batch", "arm", "pulls", "sum")
SQUARES = (*SUMS, "squares")
COLUMNS = (REWARDS, ON_ITEMS, SUMS, SQUARES)
ASSUMES = (
    "earlier data count like the sites' own uploads. That is right if every batch is complete, none was left "
    "out or chosen because of its results, batches stand in the order in which they were made, the arms inside "
    "a batch were tried in random order, and the measuring did not end because of its results."
)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the file: a reward, or pulls, sum and perhaps squares."""

    line: int
    arm: str
    numbers: tuple[float, ...]
    item: str = ""


@dataclass(slots=True)
class Batch:
    """What one site did between two messages, or would have, had there been a server."""

    site: str
    name: str
    rows: list[Row] = field(default_factory=list)

    @property
    def where(self) -> str:
        """Which one it is, for a sentence about it."""
        return f"batch {self.name!r} of site {self.site!r}, from line {self.rows[0].line} on"


@dataclass(frozen=True, slots=True)
class Earlier:
    """The batches of a file, in its order, and what was wrong with lines of it; then nothing can be used."""

    columns: tuple[str, ...]
    batches: tuple[Batch, ...]
    refused: tuple[tuple[int, str], ...] = ()

    @classmethod
    def read(cls, path: str | os.PathLike[str], problem: Problem) -> Earlier:
        """The earlier data in a CSV file: site,batch,arm,reward or site,batch,arm,pulls,sum[,squares]."""
        with naming(os.fspath(path)):
            header, lines = read_cells(read_text(Path(path)), "data")
            return cls.of(header, lines, problem)

    @classmethod
    def of(cls, header: Sequence[str], lines: Sequence[tuple[int, list[str]]], problem: Problem) -> Earlier:
        """The same from cells.

        >>> lines = [(2, ["lab-a", "1", "A", "0.5"]), (3, ["lab-a", "1", "B", "much"])]
        >>> found = Earlier.of(REWARDS, lines, Problem(["A", "B"]))
        >>> found.batches[0].rows[0].numbers, found.refused
        ((0.5,), ((3, "reward is 'much'; it must be a number."),))
        """
        columns = tuple(header)
        if columns not in COLUMNS:
            raise UserError(
                f"line 1 is {','.join(header)!r}; the columns must be {' or '.join(map(','.join, COLUMNS))}."
            )
        batches: dict[tuple[str, str], Batch] = {}
        refused = []
        for line, cells in lines:
            try:
                site, name, row = _row(columns, cells, line, problem)
                batch = batches.setdefault((site, name), Batch(site, name))
                _check_once(batch, row, columns)
                batch.rows.append(row)
            except UserError as error:
                refused.append((line, str(error)))
        return cls(columns, tuple(batches.values()), tuple(refused))

    def uploads(self, method: Method) -> list[Upload]:
        """What a method's sites would have sent; an agent is called like its site, and `.earlier`.

        Where the test bets, or pairs rewards on items, an arm's rival is the one that the plan would have named
        from the batches before.
        """
        for line, sentence in self.refused:
            raise UserError(f"line {line}: {sentence}")
        self._check_columns(method)
        server, terms = Server(method), Terms.of(method)
        agents: dict[str, Agent] = {}
        uploads = []
        for batch in self.batches:
            agent = agents.setdefault(batch.site, Agent(terms, agent_of(batch.site)))
            try:
                upload = self._upload(batch, agent, lambda plan: method.with_rivals(server.state, plan))
                server.append(upload)
            except UserError as error:
                raise UserError(f"{batch.where}: {error}") from None
            uploads.append(upload)
        return uploads

    def _check_columns(self, method: Method) -> None:
        """Refuse what the study's test can't use."""
        problem, test = method.problem, method.test.name
        if problem.items != (self.columns == ON_ITEMS):
            wanted = ",".join(ON_ITEMS) if problem.items else "no column item"
            raise UserError(f"items is {str(problem.items).lower()}; earlier data must have {wanted}.")
        if method.against and self.columns != ON_ITEMS and self.columns != REWARDS:
            raise UserError(
                f"the test {test} looks at single rewards, and sums do not have them; give {','.join(REWARDS)}."
            )
        if method.squares and self.columns == SUMS:
            raise UserError(
                f"the test {test} measures how much rewards scatter; give {','.join(SQUARES)}, the sum of the "
                f"squared rewards being the last, or {','.join(REWARDS)}, or a sigma."
            )

    def _upload(self, batch: Batch, agent: Agent, named: Callable[[Plan], Plan]) -> Upload:
        arms = sorted({agent.terms.arms.index(row.arm) for row in batch.rows})
        if self.columns in (SUMS, SQUARES):
            agent.start(Plan(tuple(arms), (1,) * len(arms)))
            width = 3 if agent.terms.squares else 2
            return agent.tell_counts(
                {row.arm: (int(row.numbers[0]), *row.numbers[1:width]) for row in batch.rows}
            )
        counts = [sum(agent.terms.arms[arm] == row.arm for row in batch.rows) for arm in arms]
        plan = Plan(tuple(arms), tuple(counts))
        agent.start(named(plan) if agent.terms.bets or agent.terms.pairs else plan)
        items = _numbered(batch, len(arms), agent.next_item) if agent.terms.items else {}
        first, upload = agent.begin(agent.next_number, agent.plan).first, None
        for row in sorted(batch.rows, key=lambda row: items.get(row.item, 0)):
            arm, item = agent.terms.arms.index(row.arm), items.get(row.item, 0)
            trial = agent.hand_out(first, agent.next_number, arm, item)
            upload = agent.tell(trial, row.numbers[0])
        assert upload is not None
        return upload


def agent_of(site: str) -> str:
    """Who sent a site's earlier data: the site's own name stays free for the site itself.

    >>> agent_of("lab-a")
    'lab-a.earlier'
    """
    return f"{site}.earlier"


def _row(columns: Sequence[str], cells: list[str], line: int, problem: Problem) -> tuple[str, str, Row]:
    if len(cells) != len(columns):
        raise UserError(f"it has {len(cells)} cells; it must have {len(columns)}, like the header.")
    given = dict(zip(columns, cells, strict=True))
    check_name("site", given["site"])
    check_name("the agent of earlier data", agent_of(given["site"]))
    for column in ("batch", "arm", *(["item"] if "item" in given else [])):
        if not given[column]:
            raise UserError(f"{column} is empty; every line must have one.")
    if given["arm"] not in problem.arms:
        raise UserError(f"arm is {given['arm']!r}, which the problem does not have.")
    if "reward" in given:
        numbers: tuple[float, ...] = (problem.check_reward(_number("reward", given["reward"])),)
    else:
        numbers = _sums(given)
    return given["site"], given["batch"], Row(line, given["arm"], numbers, given.get("item", ""))


def _sums(given: Mapping[str, str]) -> tuple[float, ...]:
    pulls = check_number(
        "pulls",
        _number("pulls", given["pulls"]),
        "a whole number of at least 1",
        lambda x: x >= 1 and x % 1 == 0,
    )
    total = _number("sum", given["sum"])
    if "squares" not in given:
        return pulls, total
    squares = _number("squares", given["squares"])
    if squares * (1 + 1e-9) < total * total / pulls:
        raise UserError(
            f"squares is {squares:g}; {pulls:g} rewards with the sum {total:g} have at least "
            f"{total * total / pulls:g}."
        )
    return pulls, total, squares


def _number(column: str, cell: str) -> float:
    try:
        number = float(cell) if "_" not in cell else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"{column} is {cell!r}; it must be a number.")
    return number


def _check_once(batch: Batch, row: Row, columns: Sequence[str]) -> None:
    """An arm has one sum in a batch, and one reward on an item."""
    if "reward" in columns and "item" not in columns:
        return
    for other in batch.rows:
        if (other.arm, other.item) == (row.arm, row.item):
            on = f" on item {row.item!r}" if row.item else ""
            raise UserError(
                f"arm {row.arm!r} is in batch {batch.name!r} of site {batch.site!r}{on} already, on line "
                f"{other.line}."
            )


def _numbered(batch: Batch, arms: int, first: int) -> dict[str, int]:
    """The items of a batch, numbered in their order; each must have been tried with every arm of the batch."""
    tried: dict[str, int] = {}
    for row in batch.rows:
        tried[row.item] = tried.get(row.item, 0) + 1
    for item, number in tried.items():
        if number < arms:
            raise UserError(
                f"item {item!r} was tried with {number} of the batch's {arms} arms; it must be all of them."
            )
    return {item: number for number, item in enumerate(tried, first)}
