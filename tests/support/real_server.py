"""The service itself, without a port, on the same moody network as the fake."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import httpx
from fake_server import OPENED, FakeServer
from serving import Local

from bestarm import Problem, Server, Upload, method
from bestarm.client.server.connection import Connection
from bestarm.local.inside import Inside
from bestarm.service.http.app import create_app
from bestarm.service.http.service import Limits
from bestarm.service.storage import Storage


@dataclass
class RealServer(FakeServer):
    """A study on a server of its own, with a SQLite file in a folder of its own.

    Where `without_server` is set, requests go into the storage by themselves, as `connect("sqlite:///…")` does.
    """

    without_server: ClassVar[bool] = False

    def __post_init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        url = f"sqlite:///{Path(self.folder.name) / 'bestarm.db'}"
        self.inside = Inside(url) if self.without_server else None
        self.storage = Storage(url)
        self.local = Local(create_app(self.storage, Limits(rate=0)))
        OPENED.append(self)
        self.admin = Connection("http://local", self.storage.admit(None).result() or "", transport=self.local)
        problem = self.problem.to_dict() | {"name": self.study}
        study = {"problem": problem, "method": self.name, "agents": self.agents, "parameters": self.parameters}
        self.admin.call("POST", "/v1/studies", study)
        self.tokens = {"nobody": "x" * 43}

    def close(self) -> None:
        """Also what httpx calls when one of several clients is closed: the server stays for the others."""

    def end(self) -> None:
        self.admin.close()
        self.local.close()
        self.storage.close()
        if self.inside is not None:
            self.inside.close()
        self.folder.cleanup()

    def _answer(self, request: httpx.Request, body: bytes) -> tuple[int, dict[str, Any]]:
        agent = request.headers["Authorization"].removeprefix("Bearer token-of-")
        if self.inside is not None and agent != "nobody":
            response = self.inside.site(agent).handle_request(request)
            return response.status_code, response.json()
        if agent not in self.tokens:
            wanted = {"role": "agent", "agent": agent}
            self.tokens[agent] = self.admin.call("POST", f"/v1/studies/{self.study}/tokens", wanted)["token"]
        request.headers["Authorization"] = f"Bearer {self.tokens[agent]}"
        response = self.local.handle_request(request)
        response.read()
        return response.status_code, response.json()

    @property
    def server(self) -> Server:
        """What the log leads to."""
        export = self.admin.call("GET", f"/v1/studies/{self.study}/export?format=json")
        problem = Problem.from_dict(export["problem"])
        uploads = []
        for row in export["uploads"]:
            message = {key: row[key] for key in ("agent", "sequence", "tally")}
            uploads.append(Upload.from_json(message | {"problem": problem.fingerprint}, problem))
        replayed = Server.replay(
            method(export["method"], problem, export["agents"], **export["parameters"]), uploads
        )
        assert json.loads(json.dumps(export["verdict"]))["arm"] == replayed.verdict.arm
        return replayed
