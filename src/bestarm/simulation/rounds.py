"""The paper's environment round by round, through the same Agent and Server that real sites run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bestarm.core.tally import Tally
from bestarm.methods.method import Method
from bestarm.protocol.agent import Agent
from bestarm.protocol.messages import Stop
from bestarm.protocol.server import Server
from bestarm.simulation.environment import Environment, draw_sum
from bestarm.simulation.outcome import Outcome
from bestarm.simulation.schedule import Schedule

Observer = Callable[[Server], None]


def first_pulls(environment: Environment, random: np.random.Generator) -> Tally:
    """One pull of each arm, known to everybody: the paper's initialisation."""
    arms = environment.means.shape[0]
    return Tally.of([1] * arms, [draw_sum(environment, arm, 1, random) for arm in range(arms)])


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
    server = Server(method, first_pulls(environment, random))
    agents = [Agent(method, f"agent-{m}") for m in range(schedule.agents)]
    for agent in agents:
        agent.receive(server.download())
    places = {name: k for k, name in enumerate(method.problem.arms)}
    last = [-1] * schedule.agents
    samples, switches = server.total.samples, 0
    for active in schedule.rounds(random):
        agent = agents[active]
        (trial,) = agent.ask()
        arm = places[trial.arm]
        samples += 1
        switches += last[active] not in (-1, arm)
        last[active] = arm
        upload = agent.tell(trial, draw_sum(environment, arm, 1, random))
        if upload is None:
            continue
        reply = server.receive(upload)
        observe(server)
        if isinstance(reply, Stop) or server.total.samples >= max_samples:
            break
        agent.receive(reply)
    uploads = len(server.log)
    return Outcome(
        arm=places[server.verdict.leader],
        stopped=server.stopped,
        samples=samples,
        communications=max(2 * uploads - 1, 0),
        switches=switches,
        unsent=samples - server.total.samples,
        breaking_index=server.verdict.breaking_index,
        uploads=uploads,
    )
