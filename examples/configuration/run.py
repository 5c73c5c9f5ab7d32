"""Algorithm configuration: which settings of a solver do best over problem instances? python run.py [--seed 0]

As with irace, every instance is tried with all settings that are still in the race; here the answer comes with
a guarantee. An arm is a setting of a small solver for travelling salesmen, an item is an instance (its cities),
the reward is the length of the tour after the same number of steps, and the lowest is the best. Two machines
work side by side.
"""

import argparse
import math
import random

import bestarm
from bestarm.protocol.entries import Join

CITIES, STEPS = 15, 150
SETTINGS = {
    "swap, greedy": ("swap", 0.0),
    "reverse, greedy": ("reverse", 0.0),
    "reverse, annealed": ("reverse", 0.3),
}


def instance(name: str) -> list[tuple[float, float]]:
    """The cities of an instance."""
    chance = random.Random(f"instance {name}")
    return [(chance.random(), chance.random()) for _ in range(CITIES)]


def length(tour: list[tuple[float, float]]) -> float:
    return sum(math.dist(a, b) for a, b in zip(tour, tour[1:] + tour[:1], strict=True))


def solve(cities: list[tuple[float, float]], move: str, heat: float, seed: str) -> float:
    """The length of the tour that so many steps lead to."""
    chance, tour = random.Random(seed), list(cities)
    now = length(tour)
    for step in range(STEPS):
        i, j = sorted(chance.sample(range(CITIES), 2))
        other = list(tour)
        if move == "swap":
            other[i], other[j] = other[j], other[i]
        else:
            other[i : j + 1] = reversed(other[i : j + 1])
        new = length(other)
        warmth = heat * (1 - step / STEPS)
        if new < now or (warmth > 0 and chance.random() < math.exp((now - new) / warmth)):
            tour, now = other, new
    return now


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    problem = bestarm.Problem(list(SETTINGS), goal="lowest", items=True, name="solver")
    method = bestarm.method("sharp", problem, agents=2)
    server = bestarm.Server(method)
    machines = {name: bestarm.Agent(method, name) for name in ("left", "right")}
    for name, machine in machines.items():
        machine.receive(server.receive(Join(name)))
    solved = 0
    while not server.stopped:
        for name, machine in machines.items():
            upload = None
            for trial in machine.ask(30):
                cities = instance(f"{seed} {name} {trial.item}")
                upload = machine.tell(
                    trial, solve(cities, *SETTINGS[trial.arm], f"{seed} {name} {trial.number}")
                )
                solved += 1
            if upload is not None:
                reply = server.receive(upload)
                if server.stopped:
                    break
                machine.receive(reply)
    print(
        f"{server.verdict.arm!r} is best, after {solved} solved instances; wrong with probability at most 0.05."
    )


if __name__ == "__main__":
    main()
