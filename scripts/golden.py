"""Write the golden traces anew: what every method does on small problems, in both engines, and a stored study.

    make golden                             the traces, tests/golden/traces.json
    python scripts/golden.py readings       what each upload of a log led to, tests/golden/readings.json
    python scripts/golden.py service        what this version stores, tests/golden/service-<version>/

The traces are compared by tests/golden/test_traces.py; a change in them is reviewed like a change in the code.
A folder of a version is made once, by that version, and later versions must open what is in it.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

import bestarm
from bestarm import Method, Offline, Problem, Schedule, Tally, UserError, method
from bestarm.methods import Kind
from bestarm.simulation.api import prepare
from bestarm.simulation.worlds.world import World

FOLDER = Path(__file__).parent.parent / "tests" / "golden"
TRACES = FOLDER / "traces.json"
READINGS = FOLDER / "readings.json"
SEEDS = range(10)
FEATURES = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 0.0],
    [0.0, 0.0, 1.0],
    [0.6, 0.8, 0.0],
    [0.8, 0.0, 0.6],
    [0.5, 0.5, 0.5],
]

PROBLEMS = {
    "tabular": Problem(list("ABCD"), sigma=0.3, means=[0.9, 0.6, 0.5, 0.1], sites="alike"),
    "linear": Problem(list("ABCDEF"), sigma=0.1, features=FEATURES, theta=[0.9, 0.3, 0.1], sites="alike"),
    "bounded": Problem(list("ABC"), reward_range=[0, 1], means=[0.8, 0.3, 0.2], sites="alike"),
}
TABLE = {"A": [0.9, 0.8, 1.0], "B": [0.5, 0.1], "C": [0.2, 0.3, 0.1, 0.2, 0.2]}
METHODS: list[tuple[str, dict[str, Any]]] = [
    ("sharp", {}),
    ("sharp", {"thrift": "samples", "min_batch": 3}),
    ("sharp", {"stopping": "famabpe", "trigger": "count"}),
    ("famabpe", {}),
    ("famabpe", {"gamma": 0.1}),
    ("famabpe", {"stopping": "pairs"}),
    ("falinpe", {}),
    ("falinpe", {"selection": "greedy", "gamma1": 0.1}),
    ("falinpe", {"stopping": "span", "trigger": "aim"}),
    ("ugapec", {}),
    ("lingape", {}),
    ("sync-ugapec", {"period": 20}),
    ("sync-lingape", {"period": 20, "period_counts": "all"}),
]
UNEVEN = Schedule((1.0, 3.0, 0.5), (Offline(1, 5.0, 40.0), Offline(2, 30.0)))
WORLDS: list[tuple[str, dict[str, Any]]] = [
    ("tabular", {}),
    ("linear", {}),
    ("bounded", {}),
    ("bounded", {"rewards": "bernoulli"}),
    ("bounded", {"table": TABLE}),
    ("tabular", {"schedule": UNEVEN}),
]


def cases() -> list[dict[str, Any]]:
    """Every method on every world that it takes, in both engines."""
    found = []
    for world, others in WORLDS:
        for name, parameters in METHODS:
            try:
                built = method(name, PROBLEMS[world], 3, **parameters)
            except UserError:
                continue
            if others and (built.kind is not Kind.FEDERATED or parameters):
                continue
            words = " ".join([*(f"{key}={value}" for key, value in parameters.items())])
            extra = (
                ""
                if not others
                else " " + next(iter(others)) + (f"={others['rewards']}" if "rewards" in others else "")
            )
            for engine in ("events", "rounds"):
                found.append(
                    {
                        "case": f"{name} {words}".strip() + f" on {world}{extra}, {engine}",
                        "method": built,
                        "engine": engine,
                        "others": others,
                    }
                )
    return found


def trace(case: dict[str, Any]) -> list[list[Any]]:
    """Samples, communications, switches, arm and breaking index of ten runs."""
    rows = []
    others = dict(case["others"])
    schedule = others.pop("schedule", None)
    world = World(**others)
    for seed in SEEDS:
        outcome = prepare(case["method"], seed, case["engine"], world, schedule).run(0)
        rows.append(
            [
                int(outcome.samples),
                int(outcome.communications),
                int(outcome.switches),
                int(outcome.arm),
                float(outcome.breaking_index),
            ]
        )
    return rows


def write_traces() -> None:
    """All traces, a line each."""
    lines = [f"{json.dumps(case['case'])}: {json.dumps(trace(case))}" for case in cases()]
    TRACES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(lines)} cases in {TRACES}")


def uploads(problem: Problem) -> list[Tally]:
    """Ten batches, the same every time: the first ones leave arms out, and no sum is a short decimal."""
    chance = random.Random(problem.name)
    found = []
    for number in range(10):
        arms = range(problem.K) if number > 3 else [k for k in range(problem.K) if chance.random() < 0.4]
        pulls = [chance.randint(1, 4 * 2**number) if k in arms else 0 for k in range(problem.K)]
        pulls[number % problem.K] = pulls[number % problem.K] or 1
        sums = [count * chance.gauss(0.5 if k else 0.7, 0.1) for k, count in enumerate(pulls)]
        found.append(Tally.of(pulls, sums))
    return found


def readings() -> dict[str, list[list[Any]]]:
    """For every method and each of its uploads: verdict and plan of the total so far."""
    found: dict[str, list[list[Any]]] = {}
    for world in ("tabular", "linear"):
        for name, parameters in METHODS:
            try:
                built = method(name, PROBLEMS[world], 3, **parameters)
            except UserError:
                continue
            total = Tally.empty(built.problem.K)
            rows = found[
                " ".join([name, *(f"{key}={value}" for key, value in parameters.items()), "on", world])
            ] = []
            for upload in uploads(built.problem):
                total = total + upload
                rows.append(reading(built, total))
    return found


def reading(built: Method, total: Tally) -> list[Any]:
    """Stopped, leader, challenger, samples, arms and counts of the plan, evidence and breaking index."""
    said, plan = built.verdict(total), built.plan(total)
    index = float(said.breaking_index)
    return [
        said.stopped,
        said.leader,
        said.challenger,
        said.samples,
        list(plan.arms),
        list(plan.counts),
        float(said.evidence),
        index if math.isfinite(index) else None,
    ]


def write_readings() -> None:
    """All readings, a line each."""
    lines = [f"{json.dumps(case)}: {json.dumps(rows)}" for case, rows in readings().items()]
    READINGS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(lines)} cases in {READINGS}")


def write_service() -> None:
    """A storage with a finished and an open study, two journals amid their work, and the exports."""
    sys.path.insert(0, str(FOLDER.parent / "support"))
    from serving import serving

    from bestarm.client.connect import connect

    folder = FOLDER / f"service-{bestarm.__version__}"
    if folder.exists():
        raise SystemExit(f"{folder} exists already; it was made by this version and stays.")
    folder.mkdir(parents=True)
    rewards = {"A": 0.9, "B": 0.6, "C": 0.2}
    problems = {
        "finished": Problem(list("ABC"), name="finished", sigma=0.3),
        "open": Problem(list("ABC"), name="open", sigma=0.3, delta=0.001),
        "linear": Problem(list("ABCDEF"), name="linear", sigma=0.1, features=FEATURES),
    }
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        with (
            serving("--storage", f"sqlite:///{place / 'storage.db'}", folder=place) as server,
            server.admin() as admin,
        ):
            tokens = {"admin": server.admin_token}
            for study, problem in problems.items():
                admin.call("POST", "/v1/studies", {"problem": problem.to_dict(), "agents": 2})
                for agent in ("lab-a", "lab-b"):
                    made = admin.call("POST", f"/v1/studies/{study}/tokens", {"role": "agent", "agent": agent})
                    tokens[f"{study}/{agent}"] = made["token"]
            chance = random.Random(1)

            def work(study: str, agent: str, uploads: int, more: int) -> None:
                """Some whole plans, then a few trials of the next one, of which one stays open."""
                journal = place / f"{study}-{agent}.db"
                with connect(server.url, study=study, token=tokens[f"{study}/{agent}"], journal=journal) as lab:
                    sent = 0
                    while sent < uploads and not lab.finished:
                        (trial,) = lab.ask()
                        lab.tell(trial, chance.gauss(rewards.get(trial.arm, 0.4), 0.1))
                        sent = lab.agent.sequence
                    for trial in lab.ask(more + 1)[:more]:
                        lab.tell(trial, chance.gauss(rewards.get(trial.arm, 0.4), 0.1))

            for study, rounds in (("finished", 40), ("linear", 2), ("open", 4)):
                for _ in range(rounds):
                    for agent in ("lab-a", "lab-b"):
                        work(study, agent, 1, 0)
            work("open", "lab-a", 0, 3)
            admin.call("POST", "/v1/studies/linear/close")
            exports = {
                study: admin.call("GET", f"/v1/studies/{study}/export?format=json") for study in problems
            }
        # lab-b fills its plan while the server is away: its upload waits in the journal.
        lab = connect("http://127.0.0.1:9", study="open", token="x" * 43, journal=place / "open-lab-b.db")
        while lab.agent.upload is None:
            (trial,) = lab.ask()
            lab.tell(trial, chance.gauss(rewards[trial.arm], 0.1))
        lab.close()
        for path in ("storage", "open-lab-a", "open-lab-b"):
            with sqlite3.connect(place / f"{path}.db") as database:
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.close()
            shutil.copy(place / f"{path}.db", folder / f"{path}.sqlite")
    (folder / "exports.json").write_text(json.dumps(exports, indent=1) + "\n", encoding="utf-8")
    (folder / "tokens.json").write_text(json.dumps(tokens, indent=1) + "\n", encoding="utf-8")
    print(f"a storage, two journals and {len(exports)} exports in {folder}")


if __name__ == "__main__":
    {"service": write_service, "readings": write_readings}.get("".join(sys.argv[1:]), write_traces)()
