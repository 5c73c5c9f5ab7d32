"""A study as a row of a table, and whether it still is what was given out."""

from __future__ import annotations

import json
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import sqlalchemy

from bestarm.chain import CANONICAL
from bestarm.core.tally import Tally
from bestarm.errors import ProblemWarning, ServiceError, UserError, either
from bestarm.methods import Kind, Method, Parameter, Verdict, federated, method
from bestarm.names import check_name
from bestarm.problem import Problem
from bestarm.problem.visible import check_visible
from bestarm.protocol.decision import agree
from bestarm.protocol.entries import Upload
from bestarm.protocol.messages import upload_from_json, verdict_from_json, verdict_to_json
from bestarm.service.storage.study.ledger import Ledger, OutOfRange
from bestarm.service.storage.study.overview import Charter

MOST_AGENTS = 1_000_000
USUAL_AGENTS = 10
MOST_COUNT = 10**6  # of an arm in a plan, for its length as text
MOST_DIMENSIONS = 2_000
RESERVED = {"name", "problem", "agents"}
_one_at_a_time = threading.Lock()


def check_method(
    table: Mapping[str, Any],
    name: str,
    agents: int | None,
    parameters: Mapping[str, Parameter],
    most_arms: int,
    most_body: int,
) -> Method:
    """The method of a new study; `table` is its problem as plain values. A sentence if it can't be served.

    How many agents come need not be known where they are no part of the promise: a number near it only makes
    batches as large as they should be.
    """
    problem = read_problem(table)
    check_name("the problem's name, which is the study's too,", problem.name)
    check_visible(problem)
    if problem.dimension > MOST_DIMENSIONS:
        raise UserError(f"problem: it has {problem.dimension} features; this server takes {MOST_DIMENSIONS}.")
    if len(problem.arms) > most_arms:
        raise UserError(f"problem: it has {problem.K} arms; this server takes at most {most_arms}.")
    longest = len(json.dumps([[arm, MOST_COUNT] for arm in problem.arms], ensure_ascii=False).encode())
    if longest > most_body:
        raise UserError(
            f"problem: with its {problem.K} arms a plan or a batch can have {longest:,} bytes, and this server "
            f"reads {most_body:,} at most; take shorter names, or start it with a larger --max-body."
        )
    for key in RESERVED & parameters.keys():
        raise UserError(f"parameters has {key!r}, which is not a parameter; it stands beside them.")
    try:
        built = build(problem, name, USUAL_AGENTS if agents is None else agents, parameters)
        if built.kind is not Kind.FEDERATED:
            raise UserError(f"{name} can be simulated, not served; take {either(federated())}.")
        if agents is None and built.test.counts_agents:
            raise UserError(
                f"agents is not given, and the test {built.test.name} counts on at most so many; say how many."
            )
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            nothing = [0.0] * problem.K
            built.verdict(Tally.of([1] * problem.K, nothing, nothing if built.squares else None))
    except (ArithmeticError, np.linalg.LinAlgError):
        raise UserError(
            "problem: its numbers are too large or too small to compute with; scale them."
        ) from None
    return built


def check_earlier(built: Method, rows: Sequence[Mapping[str, Any]]) -> list[Upload]:
    """The uploads that a study begins with; all of them are tried before anything is written."""
    ledger = Ledger(Charter(0, built.problem.name, built.problem, built, ""))
    uploads = []
    for place, row in enumerate(rows):
        try:
            upload = upload_from_json({"problem": built.problem.fingerprint, **row}, built.problem)
            check_name("agent", upload.agent)
            ledger.append(upload, "", 0)
        except OutOfRange:
            raise UserError(f"earlier[{place}]: its numbers are too large to compute with.") from None
        except UserError as error:
            raise UserError(f"earlier[{place}]: {error}") from None
        uploads.append(upload)
    return uploads


def build(problem: Problem, name: str, agents: int, parameters: Mapping[str, Parameter]) -> Method:
    """The method, without its warnings: what they say is part of the promise (`promise.py`)."""
    with _quiet():
        return method(name, problem, agents, **parameters)


@contextmanager
def _quiet() -> Iterator[None]:
    with _one_at_a_time, warnings.catch_warnings():  # Python keeps one list of filters for all threads
        warnings.simplefilter("ignore", ProblemWarning)
        yield


def read_problem(value: Mapping[str, Any]) -> Problem:
    """A problem from decoded JSON."""
    with _quiet():
        return Problem.from_dict(value)


def to_row(built: Method) -> dict[str, Any]:
    """What is kept of a study, as text that gives back every bit."""
    return {
        "name": built.problem.name,
        "problem": json.dumps(built.problem.to_dict(), allow_nan=False),
        "method": built.name,
        "parameters": json.dumps(dict(built.parameters), allow_nan=False),
        "agents": built.agents,
    }


def from_row(row: sqlalchemy.Row[Any]) -> Charter:
    """The study that a row describes."""
    try:
        stored = json.loads(row.problem), json.loads(row.parameters)
        problem = read_problem(stored[0])
        built = build(problem, row.method, row.agents, stored[1])
    except (ValueError, LookupError, TypeError) as error:  # also what is no JSON any more
        raise ServiceError(f"study {row.name!r}: this bestarm can't work with it: {error}") from None
    return Charter(row.id, row.name, problem, built, row.created_at, row.archived_at is not None, stored)


def check_verdict(ledger: Ledger, stopped_at: int | None, verdict: str | None) -> None:
    """The verdict that was given out never changes: a log that now says otherwise is not served."""
    found = None if ledger.stopped_at is None else ledger.server.verdict
    try:
        given_out = None if verdict is None else verdict_from_json(json.loads(verdict))
        same = found == given_out or (found is not None and given_out is not None and agree(given_out, found))
    except ValueError:  # it is no verdict any more
        same = False
    if ledger.stopped_at != stopped_at or not same:
        raise ServiceError(
            f"study {ledger.study.name!r}: its log does not lead to the verdict that was given out; "
            "the log was changed, or another version of bestarm wrote it."
        )


def verdict_text(verdict: Verdict) -> str:
    """A verdict as JSON text."""
    return CANONICAL.encode(verdict_to_json(verdict))
