"""One seed, one trace: through plain objects, JSON text, HTTP in one process, and HTTP between processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import driven_site
import httpx
import numpy as np
import pytest
from driven_site import PROBLEMS, nature
from serving import Local, Process, serving

from bestarm import Agent, Method, Server, Upload, connect, method
from bestarm.client.server.connection import Connection
from bestarm.protocol.messages import reply_from_json, verdict_to_json
from bestarm.service.http.app import create_app
from bestarm.service.http.service import Limits
from bestarm.service.storage import Storage

AGENTS, SEED, LONGEST = 3, 7, 5000
CASES = [("plain", "sharp"), ("plain", "famabpe"), ("linear", "sharp"), ("linear", "falinpe")]
Step = Callable[[int], bool]


@dataclass(frozen=True)
class Trace:
    """Everything that an outsider can see of a run: the uploads in order, and the verdict."""

    uploads: list[tuple[str, int, dict[str, list[float]]]]
    verdict: dict[str, Any]


def drive(step: Step) -> None:
    """The schedule: in every round one agent does one trial, until its upload ends the study."""
    active = np.random.default_rng(SEED).integers(AGENTS, size=LONGEST).tolist()
    assert any(step(agent) for agent in active)


def trace_of(server: Server) -> Trace:
    arms = server.method.problem.arms
    uploads = [(upload.agent, upload.sequence, upload.tally.to_json(arms)) for upload in server.log]
    return Trace(uploads, verdict_to_json(server.verdict))


def through_objects(built: Method) -> Trace:
    return through(built, lambda server, upload: server.receive(upload))


def through_text(built: Method) -> Trace:
    problem = built.problem

    def send(server: Server, upload: Upload) -> Any:
        text = json.dumps(upload.to_json(problem.arms))
        reply = server.receive(Upload.from_json(json.loads(text), problem))
        return reply_from_json(json.loads(json.dumps(reply.to_json(problem.arms))), problem)

    return through(built, send)


def through(built: Method, send: Callable[[Server, Upload], Any]) -> Trace:
    server = Server(built)
    agents = [Agent(built, f"lab-{k}") for k in range(AGENTS)]
    rewards = [nature(built.problem, SEED, k) for k in range(AGENTS)]
    for agent in agents:
        agent.receive(server.download())

    def step(k: int) -> bool:
        (trial,) = agents[k].ask()
        upload = agents[k].tell(trial, rewards[k](trial.arm))
        if upload is not None:
            agents[k].receive(send(server, upload))
        return agents[k].finished

    drive(step)
    return trace_of(server)


def create(admin: Connection, built: Method) -> list[str]:
    """A study on a server, and its agents' tokens."""
    name = f"{built.problem.name}-{built.name}"
    problem = built.problem.to_dict() | {"name": name}
    body = {"problem": problem, "method": built.name, "agents": AGENTS, "parameters": dict(built.parameters)}
    admin.call("POST", "/v1/studies", body)
    wanted = [{"role": "agent", "agent": f"lab-{k}"} for k in range(AGENTS)]
    return [str(admin.call("POST", f"/v1/studies/{name}/tokens", token)["token"]) for token in wanted]


def exported(admin: Connection, built: Method) -> Trace:
    export = admin.call("GET", f"/v1/studies/{built.problem.name}-{built.name}/export?format=json")
    uploads = [(row["agent"], row["sequence"], row["tally"]) for row in export["uploads"]]
    return Trace(uploads, export["verdict"])


@dataclass
class Wire(httpx.BaseTransport):
    """One application for several clients: closing a client does not end it."""

    local: Local

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self.local.handle_request(request)


def through_http(built: Method, folder: Path) -> Trace:
    with ExitStack() as opened:
        storage = Storage(f"sqlite:///{folder / 'bestarm.db'}")
        opened.callback(storage.close)
        local = Local(create_app(storage, Limits(rate=0)))
        opened.callback(local.close)

        admin = opened.enter_context(
            Connection("http://local", storage.admit(None).result() or "", transport=Wire(local))
        )
        labs = [
            opened.enter_context(
                connect("http://local", token=token, journal=folder / f"{k}.db", transport=Wire(local))
            )
            for k, token in enumerate(create(admin, built))
        ]
        rewards = [nature(built.problem, SEED, k) for k in range(AGENTS)]

        def step(k: int) -> bool:
            (trial,) = labs[k].ask()
            labs[k].tell(trial, rewards[k](trial.arm))
            return labs[k].finished

        drive(step)
        return exported(admin, built)


def through_processes(built: Method, folder: Path, server: Process) -> Trace:
    study = f"{built.problem.name}-{built.name}"
    with ExitStack() as opened:
        admin = opened.enter_context(server.admin())
        sites = []
        for k, token in enumerate(create(admin, built)):
            words = [server.url, study, token, str(folder / f"{k}.db"), built.problem.name, str(SEED), str(k)]
            command = [sys.executable, "-W", "error", driven_site.__file__, *words]
            site = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            sites.append(opened.enter_context(site))
        for site in sites:
            assert site.stdout is not None
            assert site.stdout.readline() == "joined\n"

        def step(k: int) -> bool:
            stdin, stdout = sites[k].stdin, sites[k].stdout
            assert stdin is not None
            assert stdout is not None
            print(file=stdin, flush=True)
            word = stdout.readline()
            assert word in ("open\n", "finished\n")
            return word == "finished\n"

        drive(step)
        return exported(admin, built)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with serving("--rate", "0", folder=tmp_path_factory.mktemp("server")) as process:
        yield process


@pytest.mark.parametrize(("problem", "name"), CASES)
def test_the_same_seed_gives_the_same_trace_whichever_way_it_goes(
    problem: str, name: str, tmp_path: Path, server: Process
) -> None:
    built = method(name, PROBLEMS[problem], AGENTS)
    wanted = through_objects(built)
    assert wanted.verdict["arm"] == "A"
    assert len(wanted.uploads) > AGENTS
    assert through_text(built) == wanted
    (tmp_path / "one").mkdir()
    (tmp_path / "many").mkdir()
    assert through_http(built, tmp_path / "one") == wanted
    assert through_processes(built, tmp_path / "many", server) == wanted
