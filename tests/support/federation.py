"""A study on a running server, with sites that work when a test tells them to."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Self

from serving import Process

import bestarm
from bestarm.client.lab import Lab


class Federation:
    """A study with sites that use the package's own client, each with a journal."""

    def __init__(
        self, server: Process, problem: bestarm.Problem, sites: list[str], folder: Path, method: str = "sharp"
    ) -> None:
        self.server, self.problem, self.folder = server, problem, folder
        self.path = f"/v1/studies/{problem.name}"
        self.random = random.Random(problem.name)
        self.turns = 0
        self.admin = server.admin()
        self.admin.call(
            "POST", "/v1/studies", {"problem": problem.to_dict(), "method": method, "agents": len(sites)}
        )
        self.viewer: str = self.token(role="viewer")["token"]
        self.labs = [self.join(name) for name in sites]

    def token(self, **fields: Any) -> dict[str, Any]:
        return self.admin.call("POST", f"{self.path}/tokens", fields)

    def join(self, name: str) -> Lab:
        token = self.token(role="agent", agent=name)["token"]
        journal = self.folder / f"{self.problem.name}-{name}.db"
        return bestarm.connect(self.server.url, study=self.problem.name, token=token, journal=journal)

    def step(self, times: int = 1) -> None:
        """The sites in turn do all trials of their plan, which ends in an upload."""
        assert self.problem.means is not None
        assert self.problem.sigma is not None
        for _ in range(times):
            lab = self.labs[self.turns % len(self.labs)]
            self.turns += 1
            uploads = lab.agent.sequence
            while lab.agent.sequence == uploads and not lab.finished:
                for trial in lab.ask():
                    mean = self.problem.means[self.problem.arms.index(trial.arm)]
                    shared = 0.0 if trial.item is None else random.Random(f"{lab.site}/{trial.item}").random()
                    lab.tell(trial, shared + self.random.gauss(mean, self.problem.sigma))

    def status(self) -> dict[str, Any]:
        return self.admin.call("GET", f"{self.path}/status")

    def close(self) -> None:
        for lab in self.labs:
            lab.close()
        self.admin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
