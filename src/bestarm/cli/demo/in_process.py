"""The demo within one process: the same agents and server as objects, and a course that the seed fixes."""

from __future__ import annotations

import time
from dataclasses import dataclass

from rich.console import Console
from rich.live import Live

from bestarm.cli.demo.federation import Federation
from bestarm.cli.demo.problem import AXIS, TITLE, names, speeds
from bestarm.cli.demo.view import line, picture
from bestarm.methods import Method
from bestarm.simulation.schedule import Schedule
from bestarm.simulation.worlds.environment import environment

FRAMES = 12.0  # pictures a second
EASE = 0.7  # below 1: slower at the start, when every pull is news


@dataclass(frozen=True)
class Show:
    """One course of events, and three ways to look at it."""

    method: Method
    seed: int

    @property
    def schedule(self) -> Schedule:
        """Each lab is slower than the one before."""
        return Schedule(tuple(speeds(self.method.agents)))

    def begin(self) -> Federation:
        """The federation before its first step."""
        labs = names(self.method.agents)
        return Federation(self.method, environment(self.method.problem), self.schedule, labs, self.seed)

    def run_through(self) -> Federation:
        """Without looking."""
        federation = self.begin()
        for _ in federation.steps():
            pass
        return federation

    def run_live(self, console: Console, seconds: float) -> Federation:
        """As a picture that moves. The course is fixed by the seed, so a first pass says how long it is."""
        last = self.run_through().samples if seconds else 1
        federation = self.begin()
        start, next_frame = time.monotonic(), 0.0
        with Live(console=console, auto_refresh=False) as live:
            for samples in federation.steps():
                due = seconds * (samples / last) ** EASE
                if seconds and due >= next_frame:
                    live.update(picture(federation.snapshot(TITLE), AXIS), refresh=True)
                    time.sleep(max(0.0, start + due - time.monotonic()))
                    next_frame = due + 1 / FRAMES
            live.update(picture(federation.snapshot(TITLE), AXIS), refresh=True)
        return federation

    def run_in_lines(self) -> Federation:
        """As lines of text: one for each tenth of the evidence."""
        federation = self.begin()
        print(f"{TITLE} {self.method.problem.K} ligands, {self.method.agents} labs, {self.method.name}.")
        told = 0
        for _ in federation.steps():
            tenths = int(10 * federation.server.verdict.evidence)
            if tenths > told or federation.server.stopped:
                told = tenths
                print(line(federation.snapshot(TITLE)))
        return federation
