"""The demo's federation on this machine: a server process, a process for each lab, and what befalls them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from bestarm.cli.demo.problem import names, question, speeds
from bestarm.cli.demo.processes import Processes
from bestarm.cli.demo.story import Act, Story
from bestarm.cli.demo.view import AgentState, ArmState, Snapshot
from bestarm.cli.output import count
from bestarm.client.server.connection import Connection
from bestarm.errors import ServiceError
from bestarm.methods import Method

NEEDED = ("fastapi", "uvicorn", "sqlalchemy")  # by the server
MOST_LABS = 20  # processes that a small machine starts in a few seconds
START = 12.0  # experiments a second, of all labs together, at the beginning
PICTURES = 8.0  # a second
PATIENCE = 30.0  # seconds in which the server must be there
STAGGER = 0.1  # seconds between the starts of two labs
SHOWN = 3.0  # seconds that a piece of news stays when the next ones are small


def missing() -> str | None:
    """A package that the server needs and that is not installed."""
    return next((name for name in NEEDED if find_spec(name) is None), None)


@dataclass(slots=True)
class Site:
    """A lab as the demo knows it: who it is, and what it last reported."""

    name: str
    number: int
    speed: float
    token: str
    report: tuple[int, int, int, int] = (0, 0, 0, 0)  # done, planned, samples, uploads
    away: str = "starts"

    @property
    def state(self) -> AgentState:
        """For the picture."""
        return AgentState(self.name, self.speed, *self.report, away=self.away)


class Machine:
    """Server and labs as processes. `haste` is how much faster than usual the labs are."""

    def __init__(self, processes: Processes, method: Method, seed: int, haste: float = 1.0) -> None:
        self.processes, self.method, self.seed = processes, method, seed
        self.story = Story(method.agents, pause=3.0 / min(haste, 4.0))
        self.unit = haste * START / sum(speeds(method.agents))
        self.events: list[str] = []
        self.news, self._big_news_until = "The labs start.", 0.0
        self._serve()
        self._create()
        self.began = time.monotonic()

    def _serve(self) -> None:
        folder = self.processes.folder
        words = ["--storage", f"sqlite:///{folder / 'demo.db'}", "--port", "0", "--stale-after", "10"]
        words += ["--admin-token-file", str(folder / "admin-token")]
        self.processes.start("server", "bestarm.cli.main", "serve", *words)
        end = time.monotonic() + PATIENCE
        while not (lines := self.processes.lines("server")):
            self.processes.sleep(0.05)
            self._check("server")
            if time.monotonic() > end:
                raise ServiceError(f"the demo's server did not start within {PATIENCE:.0f} seconds.")
        self.url = lines[0].removeprefix("listening on ")
        secret = (folder / "admin-token").read_text(encoding="utf-8").strip()
        self.admin = Connection(self.url, secret, timeout=PATIENCE)

    def _create(self) -> None:
        problem, agents = question(), self.method.agents
        self.path = f"/v1/studies/{problem.name}"
        self.admin.call(
            "POST",
            "/v1/studies",
            {"problem": problem.to_dict(), "method": self.method.name, "agents": agents, "parameters": {}},
        )
        self.viewer: str = self._token(role="viewer")
        self.sites = [
            Site(name, number, speed, self._token(role="agent", agent=name))
            for number, (name, speed) in enumerate(zip(names(agents), speeds(agents), strict=True))
        ]

    def _token(self, **fields: str) -> str:
        return str(self.admin.call("POST", f"{self.path}/tokens", fields)["token"])

    def pictures(self) -> Iterator[Snapshot]:
        """Run it all, one snapshot after the other; the last one is after the stop."""
        for site in self.sites:
            self._start(site)
            self.processes.sleep(STAGGER)
        while True:
            next_one = time.monotonic() + 1.0 / PICTURES
            for site in self.sites:
                self._listen(site)
            self.status = self.admin.call("GET", f"{self.path}/status")
            stopped = self.status["verdict"]["stopped"]
            states = [site.state for site in self.sites]
            act = self.story.next(states, time.monotonic() - self.began, stopped)
            if act is not None:
                self._happen(*act)
            back = self.story.over and not self.sites[self.story.returning].away
            if stopped and back:
                self.news = "That was enough."
            yield self._snapshot(stopped and back)
            if stopped and back:
                return
            self.processes.sleep(max(0.0, next_one - time.monotonic()))

    def _start(self, site: Site) -> None:
        journal = str(self.processes.folder / f"{site.name}.db")
        rate = self.unit * site.speed
        words = (self.url, question().name, journal, self.seed, site.number, rate, self.began)
        module = "bestarm.cli.demo.site"
        self.processes.start(site.name, module, *(str(word) for word in words), token=site.token)
        site.away = "starts"

    def _listen(self, site: Site) -> None:
        """Take the last report of a lab; a lab that failed by itself is a mistake of ours."""
        if site.name not in self.processes.running:
            return
        lines = self.processes.lines(site.name)
        self._check(site.name)
        if not lines:
            return
        before = site.report
        site.report = read(lines[-1])
        uploads = site.report[3]
        if site.away and before[2]:
            self._tell(f"{site.name} is back and goes on from its journal, with {progress(read(lines[0]))}.")
        elif uploads > before[3] and time.monotonic() > self._big_news_until:
            self.news = f"{site.name} sent a message, number {uploads}, and got a new plan."
        site.away = ""

    def _check(self, name: str) -> None:
        failure = self.processes.failure(name)
        if failure is not None:
            raise ServiceError(f"the demo's {name} has failed: {failure}")

    def _happen(self, act: Act, number: int) -> None:
        site = self.sites[number]
        if act is Act.RESTART:
            self._start(site)
            return
        lines = self.processes.kill(site.name)
        site.report = read(lines[-1]) if lines else site.report
        if act is Act.CRASH:
            site.away = "killed"
            self._tell(f"{site.name} was killed, with {progress(site.report)}.")
        else:
            site.away = "gone"
            self._tell(f"{site.name} was killed and never comes back; nobody waits for it.")

    def _tell(self, sentence: str) -> None:
        self.events.append(sentence)
        self.news, self._big_news_until = sentence, time.monotonic() + SHOWN

    @property
    def samples(self) -> int:
        """All experiments that the labs did, sent or not."""
        return sum(site.report[2] for site in self.sites)

    @property
    def communications(self) -> int:
        """As the server counts them."""
        return int(self.status["communications"])

    def close(self) -> None:
        """Hang up; the processes end with their block."""
        self.admin.close()

    def export(self) -> dict[str, Any]:
        """The whole log, from the server."""
        return self.admin.call("GET", f"{self.path}/export?format=json")

    def _snapshot(self, stopped: bool) -> Snapshot:
        verdict = self.status["verdict"]
        tested = self.status["standing"]["error"] is not None
        arms = [
            ArmState.of(
                *(row[key] for key in ("arm", "pulls", "low", "mean", "high")),
                against=stands["words"] if tested else "",
            )
            for row, stands in zip(self.status["arms"], self.status["standing"]["arms"], strict=True)
        ]
        return Snapshot(
            title=f"{count(len(arms), 'ligand')}, {count(len(self.sites), 'lab')}, {self.method.name}",
            arms=arms,
            agents=[site.state for site in self.sites],
            leader=verdict["leader"],
            challenger=verdict["challenger"],
            evidence=verdict["evidence"],
            samples=self.samples,
            communications=self.communications,
            stopped=stopped,
            news=self.news,
        )


def read(line: str) -> tuple[int, int, int, int]:
    """A lab's report: done and planned now, samples and uploads since the study began.

    >>> read("2 5 12 3")
    (2, 5, 12, 3)
    """
    done, planned, samples, uploads = map(int, line.split())
    return done, planned, samples, uploads


def progress(report: tuple[int, int, int, int]) -> str:
    """Where a lab stands; a plan that is full is a message until the server has answered it.

    >>> progress((2, 5, 12, 3)), progress((0, 0, 15, 4))
    ('2 of 5 experiments of its plan done', 'a message that is not answered yet')
    """
    done, planned, _, _ = report
    return (
        f"{done} of {planned} experiments of its plan done" if planned else "a message that is not answered yet"
    )
