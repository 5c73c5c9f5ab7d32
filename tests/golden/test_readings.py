"""Upload after upload, verdict and plan are the first version's, also while some arms were never pulled."""

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "scripts"))
import golden

from bestarm import Method, Server, Tally, Upload, UserError, Verdict
from bestarm import method as build
from bestarm.methods import Kind

WANTED: dict[str, list[list[Any]]] = json.loads(golden.READINGS.read_text(encoding="utf-8"))


def methods() -> dict[str, Method]:
    found = {}
    for world in ("tabular", "linear"):
        for name, parameters in golden.METHODS:
            try:
                built = build(name, golden.PROBLEMS[world], 3, **parameters)
            except UserError:
                continue
            words = [f"{key}={value}" for key, value in parameters.items()]
            found[" ".join([name, *words, "on", world])] = built
    return found


METHODS = methods()
SERVED = [name for name, method in METHODS.items() if method.kind is not Kind.SYNCHRONOUS]


def test_no_case_is_lost() -> None:
    assert METHODS.keys() == WANTED.keys()
    early = [row for rows in WANTED.values() for row in rows if row[-1] is None]
    assert len(early) > len(WANTED)  # arms that were never pulled are among them


def same(verdict: Verdict, plan: tuple[tuple[int, ...], tuple[int, ...]] | None, wanted: list[Any]) -> None:
    stopped, leader, challenger, samples, arms, counts, evidence, index = wanted
    said = verdict.stopped, verdict.leader, verdict.challenger, verdict.samples
    assert said == (stopped, leader, challenger, samples)
    if plan is not None:
        assert plan == (tuple(arms), tuple(counts))
    # Logarithms and matrix products may differ in the last bit from one processor to the next.
    assert verdict.evidence == pytest.approx(evidence, rel=1e-9, abs=1e-12)
    assert verdict.breaking_index == pytest.approx(math.inf if index is None else index, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_folding_batch_by_batch_reads_like_the_first_version(name: str) -> None:
    method = METHODS[name]
    state = method.begin()
    for site, (tally, wanted) in enumerate(zip(golden.uploads(method.problem), WANTED[name], strict=True)):
        state = method.fold(state, tally, site)
        plan = method.make(state)
        same(method.judge(state), (plan.arms, plan.counts), wanted)


@pytest.mark.parametrize("name", METHODS)
def test_a_total_in_one_piece_reads_like_the_first_version(name: str) -> None:
    assert [golden.reading(METHODS[name], total)[:6] for total in totals(METHODS[name])] == [
        row[:6] for row in WANTED[name]
    ]


def totals(method: Method) -> list[Tally]:
    found = [Tally.empty(method.problem.K)]
    for tally in golden.uploads(method.problem):
        found.append(found[-1] + tally)
    return found[1:]


@pytest.mark.parametrize("name", SERVED)
def test_a_log_without_plans_is_answered_with_the_plans_of_the_first_version(name: str) -> None:
    """Its sites made their plans themselves, from the total at that position; nobody wrote them down."""
    method = METHODS[name]
    server = Server(method)
    uploads = [
        Upload(method.problem.fingerprint, f"lab-{number % 3}", number // 3 + 1, tally)
        for number, tally in enumerate(golden.uploads(method.problem))
    ]
    for upload in uploads:
        server.append(upload)
    last = server.stopped_at or len(uploads)
    assert last > 4
    for place in range(last):
        answer = server.receive(uploads[place])
        stopped, *_, arms, counts, _, _ = WANTED[name][place]
        if stopped:
            assert answer.to_json(method.problem.arms)["kind"] == "stop"
        else:
            names = method.problem.arms
            wanted = [[names[arm], count] for arm, count in zip(arms, counts, strict=True)]
            assert answer.to_json(names)["plan"] == wanted
