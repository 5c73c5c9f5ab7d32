"""`create_study` and `open_study`: from the names of the arms to a first trial, without a server."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from bestarm.client.server.address import is_storage, open_inside, shown
from bestarm.client.server.connection import Connection
from bestarm.client.server.exchange import only_study, study_path
from bestarm.errors import Refused, UserError
from bestarm.local.inside import Inside
from bestarm.local.study import ME, Study
from bestarm.methods.likes import split_name
from bestarm.methods.registry import METHODS, RULES, known_parameters
from bestarm.names import check_name
from bestarm.problem import Problem

ABOUT = tuple(inspect.signature(Problem.__init__).parameters)[2:]  # what a problem has beside its arms
# What other tools call it, or have beside it.
GOAL = ("higher", "higher_is_better", "direction", "maximize", "maximise", "minimize", "minimise")
MUST_BE = "sqlite:///file.db or postgresql+psycopg://user:password@host/database"


def create_study(
    arms: Sequence[str] | None = None,
    *,
    problem: Problem | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    storage: str | None = None,
    method: str = "sharp",
    agents: int | None = None,
    agent: str = ME,
    exist_ok: bool = False,
    **more: Any,
) -> Study:
    """A study without a server: in memory, or kept in a `storage`.

        study = bestarm.create_study(["PPh3", "XPhos", "SPhos"])
        while not study.finished:
            for trial in study.ask(8):
                study.tell(trial, measure(trial.arm))
        print(study.verdict)

    With `storage="sqlite:///ligands.db"` the study stays in that file, and a script that was killed goes on
    where it was (`exist_ok=True`, or `open_study`); with `postgresql+psycopg://…` others share it. Other
    processes take part with `connect`, and `bestarm serve --storage …` shows it.

    Parameters:
        arms: the names of the options; or instead a whole `problem`, which may be a file.
        storage: where it is kept; by default in memory, and nothing is written to disk.
        method, agents: the method by its name, and about how many sites will take part, as for a server.
        agent: what the site is called whose trials `ask` hands out.
        exist_ok: go on with a study of this name, if there is one about the same problem.
        more: whatever a `Problem` takes, such as `name`, `delta`, `goal="lowest"`, `rewards="yes-no"`,
            `budget`; and the method's parameters, such as `thrift="messages"`.

    >>> study = create_study(["A", "B"], name="ligands", delta=0.1)
    >>> len(study.ask(2)), study.finished, study.verdict
    (2, False, None)
    >>> study.release()
    """
    check_name("agent", agent)
    parameters = {key: more.pop(key) for key in list(more) if key not in ABOUT}
    asked = _problem(arms, problem, more)
    name, own = split_name(method)
    _check_keys(parameters, name, asked, agents)
    body: dict[str, Any] = {"problem": asked.to_dict(), "method": name, "parameters": parameters | own}
    if agents is not None:
        body["agents"] = agents
    inside = _inside(storage, make=True)
    try:
        with Connection.within(inside.owner(agent), _called(storage)) as connection:
            try:
                made = connection.call("POST", "/v1/studies", body)
            except Refused as error:
                if error.code != "exists":
                    raise
                made = _same(connection, asked, exist_ok)
        return Study(inside, storage, made["study"], agent)
    except BaseException:
        inside.close()
        raise


def open_study(storage: str, name: str | None = None, *, agent: str = ME) -> Study:
    """A study that is in a storage already; its name may be left out if there is just one.

    >>> open_study("sqlite://")
    Traceback (most recent call last):
    bestarm.errors.UserError: sqlite:// is in memory, and a study there is known only to whoever made it, with \
bestarm.create_study; name a file, as in sqlite:///ligands.db.
    """
    check_name("agent", agent)
    inside = _inside(storage, make=False)
    try:
        with Connection.within(inside.owner(agent), _called(storage)) as connection:
            found = connection.call("GET", study_path(name or only_study(connection)))
        return Study(inside, storage, found["study"], agent)
    except BaseException:
        inside.close()
        raise


def _problem(
    arms: Sequence[str] | None,
    problem: Problem | Mapping[str, Any] | str | os.PathLike[str] | None,
    more: dict[str, Any],
) -> Problem:
    if (arms is None) == (problem is None):
        raise UserError("give the arms, as in create_study(arms=['A', 'B']), or a problem; one of them.")
    if problem is None:
        assert arms is not None
        return Problem(arms, **({"name": "study"} | more))
    if isinstance(problem, Mapping):
        problem = Problem.from_dict(problem)
    elif not isinstance(problem, Problem):
        problem = Problem.load(Path(problem))
    return Problem.from_dict(problem.to_dict() | more) if more else problem


def _check_keys(given: Iterable[str], method: str, problem: Problem, agents: int | None) -> None:
    """Refuse what is a key of no problem and a parameter of no method; a method that is none is refused later.

    >>> create_study(["A", "B"], detla=0.1)
    Traceback (most recent call last):
    bestarm.errors.UserError: create_study knows no 'detla'; did you mean delta?
    >>> create_study(["A", "B"], higher=False)
    Traceback (most recent call last):
    bestarm.errors.UserError: create_study knows no 'higher'; the highest mean is the best, unless you say \
goal='lowest'.
    """
    if method not in METHODS:
        return
    known = {*known_parameters(), *RULES, *METHODS[method].defaults(problem, agents or 1)}
    for key in given:
        if key.rstrip("_") in known:
            continue
        close = get_close_matches(key, [*ABOUT, *sorted(known)], n=1)
        what = f"{method} takes {', '.join(sorted(known))}, and a problem {', '.join(ABOUT)}."
        if key in GOAL:
            what = "the highest mean is the best, unless you say goal='lowest'."
        elif close:
            what = f"did you mean {close[0]}?"
        raise UserError(f"create_study knows no {key!r}; {what}")


def _same(connection: Connection, asked: Problem, exist_ok: bool) -> dict[str, Any]:
    """The study that there is already, if it may be gone on with."""
    found = connection.call("GET", study_path(asked.name))
    if not exist_ok:
        raise UserError(
            f"there is a study {asked.name!r} already; take another name, or go on with it: exist_ok=True."
        )
    if Problem.from_dict(found["problem"]).fingerprint != asked.fingerprint:
        raise UserError(f"there is a study {asked.name!r} already, about another problem; take another name.")
    return found


def _inside(storage: str | None, make: bool) -> Inside:
    if storage is None:
        return Inside(None)
    if not is_storage(storage):
        raise UserError(f"storage is {storage!r}; it must be {MUST_BE}.")
    return open_inside(storage, make)


def _called(storage: str | None) -> str:
    return "in memory" if storage is None else shown(storage)
