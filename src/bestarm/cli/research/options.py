"""The options that `simulate` and `compare` share, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from bestarm.cli.output import Format, say
from bestarm.cli.shared import option, with_shared
from bestarm.errors import UserError
from bestarm.methods import Method, Parameter, check_agents
from bestarm.methods import method as build_method
from bestarm.problem import Problem
from bestarm.problem.file import naming, read_text
from bestarm.reward import BOUNDED, YES_NO
from bestarm.simulation.schedule import Offline, Schedule
from bestarm.simulation.worlds.table import read_table
from bestarm.simulation.worlds.world import ALIASES, World

AGENTS = 10
SET_HELP = "A parameter of the method, such as gamma=0.01; repeatable. `bestarm methods NAME` has them all."

# The options of a world, which `estimate` has too.
Rewards = Annotated[
    str | None,
    typer.Option(
        metavar="gaussian|yes-no|bounded|heavy|table",
        help="Where rewards come from: heavy has heavy tails (Student's t). By default the table if there is "
        "one, else what the problem says of its rewards.",
    ),
]
Noise = Annotated[
    str | None,
    typer.Option(
        metavar="0.3",
        help="The true scatter of rewards, one number or one for each arm: 0.3,0.2,… sigma is what the method "
        "is told.  [default: sigma]",
    ),
]
Offsets = Annotated[
    str | None,
    typer.Option(
        metavar="0,0.1,-0.2",
        help="What each site adds to all means, in units of the reward, with yes-no of log odds; the sites "
        "after the last begin again with the first.",
    ),
]
Drift = Annotated[
    float, typer.Option(help="All means move together, up and down by so much; with yes-no in log odds.")
]
Interactions = Annotated[
    float,
    typer.Option(
        help="How much arms differ from site to site: the standard deviation of what each site adds to each "
        "arm, drawn anew for each run; the best arm stays the best everywhere."
    ),
]
ItemEffects = Annotated[
    float,
    typer.Option(
        help="How much items differ: the standard deviation of what an item adds to all arms, with yes-no and "
        "bounded to their log odds."
    ),
]
ItemInteractions = Annotated[float, typer.Option(help="The same for what an item adds to each arm by itself.")]


# The options that say what the problem and its rewards are; a world with a name says all of it.
OF_PROBLEM = frozenset(
    {"problem", "means", "sigma", "delta", "epsilon", "reward_range", "items"}
    | {slot.name for slot in fields(World)}
)


@dataclass(frozen=True)
class Options:
    """What to simulate, how often and where."""

    problem: Annotated[
        Path | None, typer.Argument(metavar="problem.toml", help="The problem; or give --means and --sigma.")
    ] = None
    means: Annotated[
        str | None,
        typer.Option(metavar="0.9,0.8,…", help="The true means of the arms, instead of a problem file."),
    ] = None
    sigma: Annotated[
        float | None,
        typer.Option(
            help="How noisy a reward is, as the method is told; overrides the file's sigma or reward_range."
        ),
    ] = None
    delta: Annotated[
        float | None,
        typer.Option(help="The probability of a wrong answer; overrides the file's.  [default: 0.05]"),
    ] = None
    epsilon: Annotated[
        float | None,
        typer.Option(help="How far from the best the answer may be; overrides the file's.  [default: 0]"),
    ] = None
    rewards: Rewards = None
    reward_range: Annotated[
        str | None,
        typer.Option(
            metavar="0,1",
            help="Between what bounded rewards lie; overrides the file's.  [default: 0,1 with --means and "
            "--rewards bounded]",
        ),
    ] = None
    table: Annotated[
        Path | None,
        typer.Option(
            metavar="yields.csv",
            help="Measured rewards to draw from: a row an item, a column an arm, the first column the item's "
            "name; or the columns arm,value.",
        ),
    ] = None
    items: Annotated[
        bool | None,
        typer.Option("--items", help="Try every item with all arms of a batch.", show_default=False),
    ] = None
    noise: Noise = None
    offsets: Offsets = None
    drift: Drift = 0.0
    interactions: Interactions = 0.0
    item_effects: ItemEffects = 0.0
    item_interactions: ItemInteractions = 0.0
    set: Annotated[
        list[str] | None,
        typer.Option(metavar="name=value", help=SET_HELP),
    ] = None
    agents: Annotated[
        int | None, typer.Option(help="How many agents.  [default: 10, or as many as --rates]")
    ] = None
    rates: Annotated[
        str | None,
        typer.Option(
            metavar="1,1,0.2,…",
            help="How fast each agent is: its pulls in a unit of time, on average.  [default: 1 each]",
        ),
    ] = None
    offline: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AGENT:FROM:UNTIL",
            help="An agent does nothing between two times; repeatable. Agents count from 0; a unit of time is "
            "what an agent of rate 1 needs for one pull.",
        ),
    ] = None
    leave: Annotated[
        list[str] | None,
        typer.Option(metavar="AGENT:TIME", help="An agent leaves for good; repeatable. Agents count from 0."),
    ] = None
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Which agent is active, round by round: numbers from 0, separated by spaces, commas or lines. "
            "A run ends with the list.",
        ),
    ] = None
    plate: Annotated[
        int | None, typer.Option(help="How many trials an agent does at once; plans become whole plates.")
    ] = None
    runs: Annotated[int, typer.Option(help="How many runs.")] = 1000
    seed: Annotated[int, typer.Option(help="The same seed gives the same runs, whatever --jobs is.")] = 0
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="events|rounds",
            help="events: compiled, from upload to upload, exact. rounds: pull by pull through the Agent and "
            "Server that real sites run.  [default: events; rounds with --replay]",
        ),
    ] = None
    max_samples: Annotated[
        int | None,
        typer.Option(help="A run that has so many samples ends undecided.  [default: 10^7 or more, by engine]"),
    ] = None
    jobs: Annotated[int, typer.Option(help="Processes on this machine.")] = 1
    cluster: Annotated[
        str | None, typer.Option(metavar="tcp://…", help="The address of a Dask scheduler, instead of --jobs.")
    ] = None
    plot: Annotated[Path | None, typer.Option(metavar="out.png", help="Draw a figure: .png, .svg or .pdf.")] = (
        None
    )
    format: Annotated[Format, typer.Option(help="For people, or for programs.")] = Format.table

    def read(self) -> Simulation:
        """Everything that the options say, read and checked."""
        self.check_places()
        table = None if self.table is None else read_table(self.table)
        if table is not None and self.rewards not in (None, "table"):
            raise UserError(f"--table is given, but --rewards is {self.rewards}; leave one of them out.")
        world = read_world(self.rewards, self.noise, self.offsets, self.drift, self.interactions)
        world = replace(world, item_effects=self.item_effects, item_interactions=self.item_interactions)
        problem = self._read_problem(table)
        schedule, engine = self.read_schedule()
        return Simulation(self, problem, schedule, replace(world, table=table), engine)

    def check_places(self) -> None:
        """Where the work is done, and where the figure goes."""
        if self.jobs != 1 and self.cluster is not None:
            raise UserError("--jobs and --cluster are both given; the work is done in one place or the other.")
        if self.plot is not None:
            from bestarm.plot import check_path

            check_path(self.plot)

    def read_schedule(self) -> tuple[Schedule, str | None]:
        """Which agent is active when, and the engine for it."""
        schedule = self._read_schedule()
        if self.engine == "events" and schedule.replay is not None:
            say("a replayed schedule names every round, so nothing can be skipped: using --engine rounds.")
            return schedule, "rounds"
        return schedule, self.engine

    @property
    def about_the_problem(self) -> list[str]:
        """Those of the options given that say what the problem and its rewards are, as one types them."""
        given = [slot.name for slot in fields(self) if getattr(self, slot.name) != slot.default]
        return [
            "the problem" if name == "problem" else f"--{name.replace('_', '-')}"
            for name in given
            if name in OF_PROBLEM
        ]

    def _read_problem(self, table: dict[str, list[float]] | None) -> Problem:
        given: dict[str, Any] = {"sigma": self.sigma, "delta": self.delta, "epsilon": self.epsilon}
        given["items"] = self.items
        if self.reward_range is not None:
            given["reward_range"] = numbers("--reward-range", self.reward_range)
        given = {key: value for key, value in given.items() if value is not None}
        if self.problem is not None and self.means is not None:
            raise UserError("a problem file and --means are both given; the means belong into the file.")
        if self.means is not None and table is not None:
            raise UserError("--means and --table are both given; the table has the means.")
        if self.problem is not None:
            return override(Problem.load(self.problem), given)
        if self.means is None and table is None:
            raise UserError(
                "there is no problem: give a problem.toml, or for instance --means 0.9,0.8,0.7 --sigma 0.3."
            )
        if self.means is not None:
            more: dict[str, Any] = {key: given.pop(key) for key in ("items", "reward_range") if key in given}
            kind = ALIASES.get(self.rewards or "", self.rewards)
            if kind == YES_NO and self.sigma is None:
                more["rewards"] = YES_NO  # without a sigma the method is told what the rewards are
            if kind == BOUNDED:
                more.setdefault("reward_range", [0.0, 1.0])
            return override(Problem.quick(numbers("--means", self.means), **given), more)
        assert table is not None
        return Problem(list(table), name=self.table.stem if self.table else "table", **given)

    def _read_schedule(self) -> Schedule:
        rates = None if self.rates is None else numbers("--rates", self.rates)
        agents = self.agents if self.agents is not None else AGENTS if rates is None else len(rates)
        check_agents(agents)
        if rates is not None and len(rates) != agents:
            raise UserError(f"--rates has {len(rates)} numbers; it must have {agents}, one for each agent.")
        windows = [Offline(*words("--offline", text, 3)) for text in self.offline or ()]
        windows += [Offline(*words("--leave", text, 2)) for text in self.leave or ()]
        plate = 1 if self.plate is None else self.plate
        if self.replay is None:
            return Schedule(tuple(rates or (1.0,) * agents), tuple(windows), plate=plate)
        if rates is not None or windows:
            raise UserError("--replay says who is active when; --rates, --offline and --leave can't be given.")
        return replace(Schedule.replayed(agents, read_replay(self.replay)), plate=plate)


@dataclass(frozen=True)
class Simulation:
    """The options, read and checked."""

    options: Options
    problem: Problem
    schedule: Schedule
    world: World
    engine: str | None

    def method(self, name: str, parameters: dict[str, Parameter]) -> Method:
        """A method for this problem and these agents."""
        for key in ("name", "problem", "agents"):
            if key in parameters:
                raise UserError(f"{name} has no parameter {key!r}; there is an option or an argument for it.")
        return build_method(name, self.problem, self.schedule.agents, **parameters)


HINTS = get_type_hints(Options, include_extras=True)
with_options = with_shared(
    (option(field.name, HINTS[field.name], field.default) for field in fields(Options)),
    lambda command, shared, own: command(Options(**shared), **own),
)


def read_world(
    rewards: str | None, noise: str | None, offsets: str | None, drift: float, interactions: float
) -> World:
    """The world that the options describe."""
    scatter = None if noise is None else numbers("--noise", noise)
    return World(
        rewards,
        noise=scatter[0] if scatter is not None and len(scatter) == 1 else scatter,
        offsets=() if offsets is None else numbers("--offsets", offsets),
        drift=drift,
        interactions=interactions,
    )


def override(problem: Problem, given: dict[str, Any]) -> Problem:
    """The problem with some of its numbers replaced; a sigma takes the place of bounded rewards' range."""
    if not given:
        return problem
    table = problem.to_dict()
    if "sigma" in given and "reward_range" not in given and problem.rewards == BOUNDED:
        del table["reward_range"]
        say("--sigma replaces the file's reward_range, so rewards are not limited to it.")
    return Problem.from_dict(table | given)


def numbers(option: str, text: str) -> list[float]:
    """Numbers separated by commas.

    >>> numbers("--means", "0.9, 0.8")
    [0.9, 0.8]
    """
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise UserError(
            f"{option} is {text!r}; it must be numbers separated by commas, for instance 0.9,0.8,0.7."
        ) from None


def words(option: str, text: str, size: int) -> tuple[int, *tuple[float, ...]]:
    """An agent and some times, separated by colons.

    >>> words("--offline", "3:10:20.5", 3)
    (3, 10.0, 20.5)
    """
    parts = text.split(":")
    try:
        if len(parts) != size:
            raise ValueError
        return (int(parts[0]), *(float(part) for part in parts[1:]))
    except ValueError:
        form = "AGENT:FROM:UNTIL, for instance 3:100:200" if size == 3 else "AGENT:TIME, for instance 3:100"
        raise UserError(f"{option} is {text!r}; it must be {form}.") from None


def read_replay(path: Path) -> list[int]:
    """The active agents, round by round."""
    with naming(str(path)):
        cells = read_text(path).replace(",", " ").split()
        if not cells:
            raise UserError("the file is empty; it must name the active agents, one for each round.")
        try:
            return [int(cell) for cell in cells]
        except ValueError:
            wrong = next(cell for cell in cells if not cell.lstrip("-").isdecimal())
            raise UserError(f"{wrong!r} is not the number of an agent; agents count from 0.") from None
