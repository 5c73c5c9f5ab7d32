"""A fixed budget: how often each method's answer is wrong, beside a study of ours that has one."""

from __future__ import annotations

import heapq
import sys
from pathlib import Path

import numpy as np

import bestarm
from bestarm.comparison import WORLDS
from bestarm.core.batch import Batch
from bestarm.core.tally import Tally
from bestarm.protocol.entries import Join, Upload
from bestarm.protocol.messages import Download
from bestarm.protocol.server import Server
from bestarm.simulation.workers import spread_over_workers
from bestarm.simulation.worlds.environment import Environment, environment, fill, first_pulls

OTHERS = ("halving", "rejects", "even-shares")
PIECE = 20


def budgets(
    worlds: dict[str, int], shares: tuple[int, ...], agents: int, runs: int, seed: int, jobs: int, out: Path
) -> str:
    """A table of error rates: a row a world and a budget."""
    lines = [
        f"| world | budget | sharp | of these settled | its samples | {' | '.join(OTHERS)} |",
        "|---|---|---|---|---|" + "---|" * len(OTHERS),
    ]
    for world, ours in worlds.items():
        for share in shares:
            budget = share * WORLDS[world].problem.K
            pieces = [
                (world, budget, agents, seed, range(first, min(first + PIECE, ours)))
                for first in range(0, ours, PIECE)
            ]
            rows = [row for piece in spread_over_workers(some_runs, pieces, jobs, None) for row in piece]
            wrong, settled, samples = np.array(rows).mean(axis=0)
            cells = [rate(wrong, ours), f"{100 * settled:.0f} %", f"{samples:,.0f}"]
            for name in OTHERS:
                there = WORLDS[world]
                found = bestarm.simulate(
                    there.problem, name, agents, runs, seed, budget=budget, jobs=1, **there.world.given
                )
                cells.append(rate(found.wrong / runs, runs))
            lines.append(f"| {world} | {budget:,} | {' | '.join(cells)} |")
            print(lines[-1], file=sys.stderr, flush=True)
    return "## A fixed budget\n\n" + "\n".join(lines)


def rate(share: float, runs: int) -> str:
    """A share with its standard error, in per cent."""
    return f"{100 * share:.1f} ± {100 * (share * (1 - share) / runs) ** 0.5:.1f} %"


def some_runs(world: str, budget: int, agents: int, seed: int, numbers: range) -> list[tuple[bool, bool, int]]:
    """Some runs of a study with a budget: whether its answer is wrong, whether it is settled, its samples."""
    there = WORLDS[world]
    problem = bestarm.Problem.from_dict(there.problem.to_dict() | {"budget": budget})
    method, rewards = bestarm.method("sharp", problem, agents), environment(there.problem, there.world)
    best = problem.arms[int(np.argmax(rewards.means))]
    found = []
    for number in numbers:
        random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number,)))
        server = one_study(method, rewards, agents, random)
        found.append((server.verdict.leader != best, server.stopped, server.samples))
    return found


def one_study(method: bestarm.Method, rewards: Environment, agents: int, random: np.random.Generator) -> Server:
    """A real server with the budget, and sites that are equally fast; everybody knows one pull of each arm."""
    arms = method.setting.arms
    start = first_pulls(rewards, arms, method.squares, random)
    server = Server(method, Tally.of(start.pulls.tolist(), start.sums.tolist()))
    waiting: list[tuple[float, int, Download]] = []
    for site in range(agents):
        later(waiting, 0.0, site, server.receive(Join(f"site-{site}")), random)
    sent = [0] * agents
    while waiting and not server.over:
        now, site, answer = heapq.heappop(waiting)
        assert answer.plan is not None
        counts = np.zeros(arms, np.int64)
        sums = np.zeros(arms)
        planned, pulls = np.array(answer.plan.arms), np.array(answer.plan.counts)
        batch = Batch(site, planned, pulls, np.empty(len(planned)), np.empty(0), np.empty(0), planned[:0])
        fill(batch, rewards, random, server.samples)
        counts[planned], sums[planned] = pulls, batch.sums
        sent[site] += 1
        tally = Tally.of(counts.tolist(), sums.tolist())
        upload = Upload(server.terms.fingerprint, f"site-{site}", sent[site], tally)
        reply = server.receive(upload)
        if (end := server.due(False)) is not None:
            server.append(end)
        later(waiting, now, site, reply, random)
    return server


def later(
    waiting: list[tuple[float, int, Download]],
    now: float,
    site: int,
    reply: object,
    random: np.random.Generator,
) -> None:
    """A site works on its plan, if it has one."""
    if isinstance(reply, Download) and reply.plan is not None and reply.plan.size:
        heapq.heappush(waiting, (now + random.standard_gamma(reply.plan.size), site, reply))
