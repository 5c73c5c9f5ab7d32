"""The live picture of a federation: a snapshot in, something to print out. It knows nothing of who feeds it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderResult
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from bestarm.shown import share

MOST_AGENTS = 10  # in the picture; a terminal has 24 lines
FULL, EMPTY = "█", "░"


@dataclass(frozen=True, slots=True)
class ArmState:
    """What is known about an arm: the truth lies between low and high; nan where that is not known.

    `against` says how much speaks against it, where the test looks at each arm by itself; else it is empty.
    """

    name: str
    pulls: int
    low: float
    estimate: float
    high: float
    against: str = ""

    @classmethod
    def of(cls, name: str, pulls: int, *places: float | None, against: str = "") -> ArmState:
        """From numbers that may be missing."""
        low, estimate, high = (math.nan if place is None else place for place in places)
        return cls(name, pulls, low, estimate, high, against)


@dataclass(frozen=True, slots=True)
class AgentState:
    """How far an agent is with its plan, how fast it is, and what it has done so far.

    `away` says in a word why it does not work at the moment; empty if it does.
    """

    name: str
    speed: float
    done: int
    planned: int
    samples: int
    uploads: int
    away: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A federation at one moment."""

    title: str
    arms: Sequence[ArmState]
    agents: Sequence[AgentState]
    leader: str
    challenger: str
    evidence: float
    samples: int
    communications: int
    stopped: bool
    news: str


def picture(snapshot: Snapshot, axis: tuple[float, float]) -> Panel:
    """The whole picture; `axis` is the range of the arms' bars."""
    arms = Table.grid(padding=(0, 1), expand=True)
    arms.add_column(no_wrap=True)
    arms.add_column(ratio=1)
    arms.add_column(justify="right", no_wrap=True)
    arms.add_column(justify="right", no_wrap=True)
    tested = any(arm.against for arm in snapshot.arms)
    arms.add_column(width=22 if tested else 10, no_wrap=True)
    for arm in snapshot.arms:
        role, look = role_of(arm.name, snapshot)
        estimate = "" if math.isnan(arm.estimate) else f"{arm.estimate:.3f}"
        arms.add_row(
            Text(arm.name, style=look),
            Interval(arm.low, arm.estimate, arm.high, axis, look),
            estimate,
            Text(f"{arm.pulls:,}×", style="dim"),
            Text(f"{role}, {arm.against}" if role and arm.against else role or arm.against, style=look),
        )
    low, high = (Text(f"{end:g}", style="dim") for end in axis)
    scale = Table.grid(expand=True)
    scale.add_column(justify="left")
    scale.add_column(justify="right")
    scale.add_row(low, high)
    arms.add_row("", scale)
    return Panel(
        Group(arms, evidence_line(snapshot), Text(), agent_grid(snapshot.agents), Text(snapshot.news)),
        title=snapshot.title,
        title_align="left",
        subtitle=f"samples {snapshot.samples:,}   communications {snapshot.communications:,}",
        subtitle_align="right",
        box=box.ROUNDED,
    )


def line(snapshot: Snapshot) -> str:
    """A snapshot as one line."""
    counts = f"samples {snapshot.samples:>6,}  communications {snapshot.communications:>5,}"
    evidence = f"evidence {share(snapshot.evidence):>5}"
    return f"{counts}  {evidence}  leader {snapshot.leader}, challenger {snapshot.challenger}"


def role_of(arm: str, snapshot: Snapshot) -> tuple[str, str]:
    """What an arm is called at this moment, and how it looks."""
    if arm == snapshot.leader:
        return ("best" if snapshot.stopped else "leader"), "bold green"
    challenging = arm == snapshot.challenger and not snapshot.stopped
    return ("challenger", "yellow") if challenging else ("", "dim")


def evidence_line(snapshot: Snapshot) -> Table:
    """How much of the evidence that the guarantee asks for has come together."""
    line = Table.grid(padding=(0, 1), expand=True)
    line.add_column(no_wrap=True)
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True, width=9)
    bar = Share(min(snapshot.evidence, 1.0), "green" if snapshot.stopped else "cyan")
    line.add_row("evidence", bar, share(snapshot.evidence))
    return line


def agent_grid(agents: Sequence[AgentState]) -> Table:
    """The agents in two columns, each with its progress through its plan."""
    shown = agents[:MOST_AGENTS]
    half = (len(shown) + 1) // 2
    grid = Table.grid(padding=(0, 1), expand=True)
    for _ in range(2):
        grid.add_column(no_wrap=True)
        grid.add_column(ratio=1)
        grid.add_column(justify="right", no_wrap=True, width=8)
        grid.add_column(justify="right", no_wrap=True, width=8)
    for place in range(half):
        pair = shown[place::half][:2]
        grid.add_row(*(cell for agent in pair for cell in agent_cells(agent)))
    if len(agents) > len(shown):
        grid.add_row(Text(f"and {len(agents) - len(shown)} more", style="dim"))
    return grid


def agent_cells(agent: AgentState) -> tuple[Text, Share | Text, Text, Text]:
    """Name and speed, the bar, how many pulls of the plan are done, how often it has sent."""
    share = Share(agent.done / agent.planned if agent.planned else 0.0, "blue")
    return (
        Text(f"{agent.name} {agent.speed:>4.3g}×", style="dim" if agent.away else ""),
        Text(agent.away, style="bold red", overflow="ellipsis") if agent.away else share,
        Text(f"{agent.done}/{agent.planned}"),
        Text(f"sent {agent.uploads:>3}", style="dim"),
    )


@dataclass(frozen=True, slots=True)
class Share:
    """A bar that is filled to a share of its width."""

    share: float
    look: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        filled = min(int(self.share * width + 0.5), width)
        yield Text(FULL * filled, style=self.look) + Text(EMPTY * (width - filled), style="dim")


@dataclass(frozen=True, slots=True)
class Interval:
    """A mark at the estimate and a line from low to high, on a given range."""

    low: float
    estimate: float
    high: float
    axis: tuple[float, float]
    look: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        if math.isnan(self.estimate):
            yield Text("?", style=self.look)
            return
        cells = [" "] * width
        if not math.isnan(self.low):
            first, last = self._place(self.low, width), self._place(self.high, width)
            cells[first : last + 1] = "─" * (last + 1 - first)
            if self.low >= self.axis[0]:
                cells[first] = "├"
            if self.high <= self.axis[1]:
                cells[last] = "┤"
        cells[self._place(self.estimate, width)] = "●"
        yield Text("".join(cells), style=self.look)

    def _place(self, value: float, width: int) -> int:
        share = (value - self.axis[0]) / (self.axis[1] - self.axis[0])
        return min(max(int(share * (width - 1) + 0.5), 0), width - 1)
