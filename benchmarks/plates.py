"""What plates cost: wells that are used, and samples beside those of the same studies without plates.

    python benchmarks/plates.py [--studies 200] [--plates 24,96]

Three laboratories that differ by ±σ, five arms of which one is better by σ/3, σ not known. Each laboratory asks
for a whole plate, does it, and asks for the next one. A plate that is under way when the study ends counts as a
whole, a batch of a laboratory without plates as far as it was done.
"""

from __future__ import annotations

import argparse
import heapq
import time
from statistics import fmean

import numpy as np

from bestarm import Agent, Problem, Server, Stop, method
from bestarm.protocol.entries import Join

MEANS = [0.9, 0.8, 0.8, 0.8, 0.8]
OFFSETS = [0.0, 0.3, -0.3]
PROBLEM = Problem(["A", "B", "C", "D", "E"])


def study(plate: int | None, seed: int) -> tuple[int, float, int]:
    """One study: its samples, the share of the wells that was used, and its uploads."""
    random = np.random.default_rng(seed)
    server = Server(method("sharp", PROBLEM, agents=len(OFFSETS)))
    agents = [Agent(server.method, f"lab-{number}") for number in range(len(OFFSETS))]
    wells = used = samples = 0
    for agent in agents:
        agent.receive(server.receive(Join(agent.name, plate=plate)))
    trials = {number: agent.ask(plate or agent.plan.size) for number, agent in enumerate(agents)}
    # When the batch of each will be done, when it was begun, and whose it is.
    done = [(float(random.gamma(len(trials[number]))), 0.0, number) for number in trials]
    heapq.heapify(done)
    while True:
        now, _, number = heapq.heappop(done)
        agent = agents[number]
        wells, used, samples = wells + (plate or 0), used + len(trials[number]), samples + len(trials[number])
        upload = None
        for trial in trials[number]:
            place = PROBLEM.arms.index(trial.arm)
            upload = (
                agent.tell(trial, MEANS[place] + OFFSETS[number] + 0.3 * random.standard_normal()) or upload
            )
        if upload is not None:
            reply = server.receive(upload)
            if isinstance(reply, Stop):
                break
            agent.receive(reply)
        trials[number] = agent.ask(plate or agent.to_hand_out)
        heapq.heappush(done, (now + float(random.gamma(len(trials[number]))), now, number))
    for end, begun, number in done:
        share = 1.0 if plate else (now - begun) / (end - begun)
        samples += round(share * len(trials[number]))
    return samples, used / wells if wells else 1.0, len(server.log)


def measured(plate: int | None, studies: int) -> tuple[float, float, float]:
    """The means over some studies of samples, wells used and uploads."""
    samples, used, uploads = zip(*(study(plate, seed) for seed in range(studies)), strict=True)
    return fmean(samples), fmean(used), fmean(uploads)


def main() -> None:
    """Print a line for each size of plates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--plates", default="24,96")
    options = parser.parse_args()
    started = time.perf_counter()
    plain, _, uploads = measured(None, options.studies)
    print(f"without plates: {plain:.0f} samples, {uploads:.0f} uploads ({time.perf_counter() - started:.0f} s)")
    for plate in map(int, options.plates.split(",")):
        samples, used, uploads = measured(plate, options.studies)
        print(
            f"plates of {plate}: {samples:.0f} samples, {samples / plain:.2f} times as many; "
            f"{used:.1%} of the wells used; {uploads:.0f} uploads"
        )


if __name__ == "__main__":
    main()
