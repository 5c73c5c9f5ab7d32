"""`bestarm study create`: a study from a problem file, from options, or with earlier data in it."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestarm.cli.output import Format, count, print_json, print_table, say
from bestarm.cli.server import Journal, Output, Token, Url
from bestarm.client.server.address import is_storage
from bestarm.client.server.connection import Connection, resolve
from bestarm.errors import UserError

if TYPE_CHECKING:
    from bestarm.problem import Problem

EXAMPLES = """\b
Examples:
  bestarm study create --name ligands --arms PPh3,XPhos,SPhos --unit %
  bestarm study create problem.toml
  bestarm study create problem.toml --study ligands-2 --budget 200 --deadline 2027-01-31
  bestarm study create problem.toml --set thrift=messages --set min_batch=8
  bestarm study create problem.toml --import earlier.csv

An option wins over what the file says. --agents may be left out: for most methods the promise does not depend
on it, and more or fewer may come; a number near the true one makes batches as large as they should be.
Earlier data are lines of site,batch,arm,reward, or site,batch,arm,pulls,sum,squares.
"""
MOST_SENTENCES = 20


def create(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="problem.toml", help="The problem; its name is the study's.", show_default=False
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the study is called, if not like the problem.")] = None,
    arms: Annotated[
        str | None, typer.Option(metavar="A,B,…", help="The options to choose from, without a file.")
    ] = None,
    agents: Annotated[int | None, typer.Option(min=1, help="About how many sites are expected.")] = None,
    method: Annotated[
        str, typer.Option(help="The method; `bestarm methods` lists the federated ones, which can be served.")
    ] = "sharp",
    set: Annotated[
        list[str] | None,
        typer.Option(
            metavar="name=value",
            help="A parameter of the method; repeatable. `bestarm methods NAME` has them all.",
        ),
    ] = None,
    delta: Annotated[float | None, typer.Option(help="The probability of a wrong answer.  [0.05]")] = None,
    epsilon: Annotated[float | None, typer.Option(help="How far from the best is good enough.  [0]")] = None,
    goal: Annotated[
        str | None, typer.Option(help="Which mean is the best: highest or lowest.  [highest]")
    ] = None,
    rewards: Annotated[str | None, typer.Option(help="Their kind: normal, yes-no or bounded.")] = None,
    sigma: Annotated[
        float | None, typer.Option(help="How much rewards scatter, if that is known for sure.")
    ] = None,
    reward_range: Annotated[
        str | None, typer.Option(metavar="LOW,HIGH", help="Where every reward lies.")
    ] = None,
    sites: Annotated[
        str | None, typer.Option(help="differ, or alike if an arm's mean is the same everywhere.  [differ]")
    ] = None,
    budget: Annotated[int | None, typer.Option(help="The most samples of all sites together.")] = None,
    deadline: Annotated[
        str | None, typer.Option(metavar="2027-01-31", help="The last day, or a moment.")
    ] = None,
    control: Annotated[str | None, typer.Option(metavar="ARM", help="The others are compared with it.")] = None,
    unit: Annotated[str | None, typer.Option(help="What rewards are measured in, such as % or mg/l.")] = None,
    items: Annotated[
        bool | None, typer.Option("--items/--no-items", help="Each item is tried with several arms.")
    ] = None,
    earlier: Annotated[
        Path | None,
        typer.Option("--import", metavar="earlier.csv", help="Begin with what was measured before."),
    ] = None,
    url: Url = None,
    token: Token = None,
    study: Annotated[str | None, typer.Option(help="The same as --name.")] = None,
    journal: Journal = None,
    output: Output = Format.table,
) -> None:
    """Create a study, and say what it promises."""
    from bestarm.methods import parse_parameters

    if None not in (name, study) and name != study:
        raise UserError(f"--name is {name!r} and --study is {study!r}; both are the study's name, so give one.")
    given = {
        "name": name or study,
        "delta": delta,
        "epsilon": epsilon,
        "goal": goal,
        "rewards": rewards,
        "sigma": sigma,
        "reward_range": _range(reward_range),
        "sites": sites,
        "budget": budget,
        "deadline": deadline,
        "control": control,
        "unit": unit,
        "items": items,
    }
    problem = read_problem(file, arms, {key: value for key, value in given.items() if value is not None})
    parameters = parse_parameters(set or [])
    body: dict[str, Any] = {"problem": problem.to_dict(), "method": method, "parameters": parameters}
    if agents is not None:
        body["agents"] = agents
    if earlier is not None:
        body["earlier"] = read_earlier(earlier, problem, method, agents or 1, parameters)
    settings = resolve(url, token)
    with Connection.to(settings, make=True) as connection:
        made = connection.call("POST", "/v1/studies", body)
    if output is Format.json:
        print_json(made)
        return
    called = made["study"]
    begun = f" It begins with {count(made['samples'], 'earlier sample')}." if made["samples"] else ""
    late = f" Its deadline, {problem.deadline}, is past already: it ends before it begins."
    over = late if problem.is_past(datetime.now(UTC)) else ""
    print_table(
        f"Study {called} is {'created' if over else 'open'}, with {made['method']} for "
        f"{count(made['agents'], 'agent')}.{over}{begun}",
        "",
        made["promise"],
        "",
        f"Next: bestarm ask --study {called} --agent SITE, each site under a name of its own."
        if is_storage(settings.url)
        else f"Next: bestarm token create --study {called} --agent SITE, once for each site.",
    )


def read_problem(file: Path | None, arms: str | None, given: dict[str, Any]) -> Problem:
    """The problem of a file, or of arms that were named, with what the options say in the place of its own."""
    from bestarm.problem import Problem

    if file is not None and arms is not None:
        raise UserError("a problem file and --arms are both given; the arms belong into the file.")
    if file is not None:
        read = Problem.load(file)
        return Problem.from_dict(read.to_dict() | given) if given else read
    if arms is None:
        raise UserError(
            "there is no problem: give a problem.toml, or for instance --name ligands --arms PPh3,XPhos,SPhos."
        )
    if "name" not in given:
        raise UserError("the study has no name: give --name, for instance --name ligands.")
    return Problem([arm.strip() for arm in next(csv.reader([arms], skipinitialspace=True), [])], **given)


def read_earlier(
    path: Path, problem: Problem, method: str, agents: int, parameters: dict[str, Any]
) -> list[dict[str, Any]]:
    """The uploads that earlier data become; every line that can't be used has its sentence."""
    from bestarm.earlier import ASSUMES, Earlier
    from bestarm.methods import method as build
    from bestarm.problem.file import naming

    found = Earlier.read(path, problem)
    for line, sentence in found.refused[:MOST_SENTENCES]:
        say(f"{path}, line {line}: {sentence}")
    if found.refused:
        more = len(found.refused) - MOST_SENTENCES
        rest = f", of which {MOST_SENTENCES} are shown" if more > 0 else ""
        raise UserError(
            f"{path}: {count(len(found.refused), 'line')} can't be used{rest}; nothing was created."
        )
    with naming(str(path)):
        uploads = found.uploads(build(method, problem, agents, **parameters))
    say(f"warning: {ASSUMES}")
    rows = [upload.to_json(problem.arms) for upload in uploads]
    return [{key: value for key, value in row.items() if key != "problem"} for row in rows]


def _range(text: str | None) -> list[float] | None:
    if text is None:
        return None
    try:
        low, high = (float(word) for word in text.split(","))
    except ValueError:
        raise UserError(f"--reward-range is {text!r}; it must be two numbers, for instance 0,1.") from None
    return [low, high]
