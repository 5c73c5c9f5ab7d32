"""The paper's environment round by round, through the same Agent and Server that real sites run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bestarm.core.counting import messages
from bestarm.methods.composed import Method
from bestarm.protocol.server import Server
from bestarm.simulation.federation import Federation
from bestarm.simulation.outcome import Outcome
from bestarm.simulation.schedule import Schedule
from bestarm.simulation.worlds.environment import Environment

Observer = Callable[[Server], None]


def run_rounds(
    method: Method,
    environment: Environment,
    schedule: Schedule,
    random: np.random.Generator,
    max_samples: int,
    observe: Observer = lambda server: None,
) -> Outcome:
    """One run: in each round the active agent pulls one arm of its plan, and a full plan is uploaded.

    The run ends when the server stops, or undecided when the server has counted `max_samples`, or when nobody
    is left. `observe` sees the server after each upload.
    """
    federation = Federation(method, environment, schedule, random)
    server = federation.server
    for _, upload in federation.pulls():
        if upload is not None:
            observe(server)
            if server.samples >= max_samples:
                break
    uploads = server.uploads
    return Outcome(
        arm=server.arms.index(server.verdict.leader),
        stopped=server.stopped,
        samples=federation.samples,
        communications=messages(uploads, uploads),
        switches=federation.switches,
        unsent=federation.samples - server.samples,
        breaking_index=server.verdict.breaking_index,
        uploads=uploads,
    )
