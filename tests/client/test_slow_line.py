"""A line so slow that the server gives up waiting for a message: it is sent again, and counts once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx
from serving import serving

from bestarm.client.lab import Lab
from bestarm.client.memory.journal import Journal
from bestarm.client.server.connection import Connection

PATIENCE = 0.3  # seconds that the server waits for a body


class Line(httpx.HTTPTransport):
    """The network; while it is slow, the rest of a message comes too late."""

    slow = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.slow:
            body = request.read()
            request = httpx.Request(request.method, request.url, headers=request.headers, content=pieces(body))
        return super().handle_request(request)


def pieces(body: bytes) -> Iterator[bytes]:
    yield body[:1]
    time.sleep(4 * PATIENCE)
    yield body[1:]


def test_a_message_that_came_too_slowly_is_sent_again(tmp_path: Path) -> None:
    with serving("--patience", str(PATIENCE), folder=tmp_path) as server, server.admin() as admin:
        arms = [{"name": "A"}, {"name": "B"}]
        admin.call("POST", "/v1/studies", {"problem": {"name": "ligands", "arm": arms}, "agents": 1})
        made = admin.call("POST", "/v1/studies/ligands/tokens", {"role": "agent", "agent": "lab-a"})
        line = Line()
        connection = Connection(server.url, made["token"], transport=line)
        with Lab(connection, Journal(tmp_path / "lab.db"), "ligands") as lab:
            lab.sync()
            trials = lab.ask(4)
            line.slow = True
            for trial in trials:
                lab.tell(trial, 0.5)
            assert lab.ask() == []
            assert "it took too long to arrive" in lab.waiting_for
            line.slow = False
            assert len(lab.ask()) == 1
        export = admin.call("GET", "/v1/studies/ligands/export?format=json")
        counted = [sum(row[0] for row in upload["tally"].values()) for upload in export["uploads"]]
        assert counted == [len(trials)]
        assert server.metrics('refused_total{kind="too-slow') >= 1
