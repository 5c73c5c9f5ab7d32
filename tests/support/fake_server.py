"""The service's join and uploads over a plain `Server`, in memory: for tests with thousands of runs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bestarm import Problem, ProtocolError, Server, Upload, method
from bestarm.client.lab import Lab
from bestarm.client.memory.journal import Journal
from bestarm.client.server.connection import Connection
from bestarm.client.server.patience import Patience
from bestarm.protocol.entries import Correction, Join
from bestarm.protocol.messages import Conflict, Gap, tally_from_json, verdict_to_json
from bestarm.protocol.version import HEADER, VERSION

OPENED: list[Any] = []  # what is closed after the test
PROBLEM = Problem(["A", "B", "C"], name="ligands", sigma=0.3, delta=0.05, epsilon=0.0)


@dataclass
class FakeServer(httpx.BaseTransport):
    """Answers like the service; `online` and `answers_get_lost` are the network's moods."""

    problem: Problem = PROBLEM
    name: str = "famabpe"
    agents: int = 1
    study: str = "ligands"
    parameters: dict[str, Any] = field(default_factory=dict)
    online: bool = True
    answers_get_lost: bool = False
    seen: list[tuple[str, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._server = Server(method(self.name, self.problem, self.agents, **self.parameters))

    @property
    def server(self) -> Server:
        """What the uploads so far have led to."""
        return self._server

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if not self.online:
            raise httpx.ConnectError("no route to host", request=request)
        body = request.read()
        self.seen.append((request.url.path, body))
        try:
            status, answer = self._answer(request, body)
        except (Conflict, Gap) as error:
            status, answer = 409, {"error": str(error), "code": "refused"}
        except ProtocolError as error:
            status, answer = 422, {"error": str(error), "code": "refused"}
        if self.answers_get_lost:
            raise httpx.ReadError("connection reset", request=request)
        return httpx.Response(status, json=answer)

    def _answer(self, request: httpx.Request, body: bytes) -> tuple[int, dict[str, Any]]:
        agent = request.headers["Authorization"].removeprefix("Bearer token-of-")
        names = self.problem.arms
        if agent == "nobody":
            return 401, {"error": "this token is not valid.", "code": "token"}
        if request.url.path == "/v1/studies":
            return 200, {"studies": [{"study": self.study}]}
        if request.url.path == f"/v1/studies/{self.study}/status":
            verdict = {"leader": self.server.verdict.leader, "evidence": self.server.verdict.evidence}
            numbers = {"samples": self.server.total.samples, "uploads": len(self.server.log)}
            return 200, {"verdict": verdict, **numbers}
        if request.url.path == "/healthz":
            return 200, {"status": "ok", "protocol": VERSION}
        assert request.headers[HEADER] == str(VERSION)
        if request.url.path == f"/v1/studies/{self.study}/join":
            said = json.loads(body)
            entry = Join(
                agent,
                said["journal"],
                said.get("plate"),
                tuple(said.get("cannot", ())),
                said.get("number", 0),
                said.get("plates", 1),
                said.get("room", 1),
            )
            known = self.server.knows(entry)
            reply = self.server.last_answer(agent) if known else self.server.receive(entry)
            return 200, {
                "protocol": VERSION,
                "agent": agent,
                "sequence": self.server.sequences.get(agent, 0),
                "study": self.study,
                "problem": self.problem.to_dict(),
                "method": self.name,
                "parameters": self.parameters,
                "agents": self.agents,
                "terms": self.server.terms.to_json(),
                "reply": reply.to_json(names),
            }
        if request.url.path == f"/v1/studies/{self.study}/corrections":
            fix = json.loads(body)
            tally = tally_from_json(fix["tally"], self.study, names)
            self.server.receive(Correction(fix["id"], agent, agent, fix["sequence"], tally, fix["reason"]))
            verdict = verdict_to_json(self.server.verdict)
            return 200, {"position": 0, "verdict": verdict, "now": verdict, "sentence": "It is corrected."}
        assert request.url.path == f"/v1/studies/{self.study}/uploads"
        upload = Upload.from_json(json.loads(body), self.problem)
        assert upload.agent == agent
        reply = self.server.receive(upload)
        return 200, {"position": len(self.server.log), "reply": reply.to_json(names)}

    def end(self) -> None:
        """Nothing is open here."""

    @property
    def bodies(self) -> list[bytes]:
        """What was uploaded, as it came over the wire."""
        return [body for path, body in self.seen if path.endswith("/uploads")]


@dataclass
class Clock:
    """A clock that moves when somebody sleeps."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept.append(seconds)


def open_lab(
    path: Path,
    server: httpx.BaseTransport,
    agent: str = "lab-a",
    study: str | None = "ligands",
    resume: bool = True,
    patience: Patience | None = None,
    journal: Journal | None = None,
    **said: Any,
) -> Lab:
    """A lab on a fake network."""
    connection = Connection("http://fake", f"token-of-{agent}", transport=server)
    journal = journal or Journal(path, patience=0.0)
    OPENED.extend([connection, journal])
    lab = Lab(connection, journal, study, resume, patience, **said)
    if not lab.joined:
        lab.sync()
    return lab
