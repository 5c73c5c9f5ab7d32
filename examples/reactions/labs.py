"""Real yields, three laboratories that differ: a whole study, as a picture.

python labs.py deoxyf.csv [--seed 0] [--out labs.png]

The table has the columns base_name, fluoride_name and yield (README.md says where it is from). A reaction draws
one of the measured yields of its condition, so the noise is what it is. The laboratories and their drift are
made up: each measures more or less than the others, up to 20 points, and all change together with time.
"""

import argparse
import csv
import math
import random
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt

import bestarm
from bestarm.protocol.entries import Join
from bestarm.standing import standing

OFFSETS = {"lab-a": 0.2, "lab-b": -0.2, "lab-c": 0.0}
DRIFT, DELTA = 0.2, 0.05
COLOURS = ("#E69F00", "#009E73", "#D55E00", "#CC79A7")


def read(path: str) -> dict[str, list[float]]:
    """The yields of every condition, as fractions."""
    found = defaultdict(list)
    with Path(path).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found[f"{row['base_name']} + {row['fluoride_name']}"].append(float(row["yield"]) / 100)
    return dict(found)


def study(yields: dict[str, list[float]], seed: int) -> tuple[bestarm.Verdict, list[int], list[list[float]]]:
    """A study from beginning to end: the verdict, and the odds against every condition after each upload."""
    problem = bestarm.Problem(list(yields), delta=DELTA)  # the names, and nothing else
    method = bestarm.method("sharp", problem, agents=len(OFFSETS))
    server, chance = bestarm.Server(method), random.Random(seed)
    labs = [bestarm.Agent(method, lab, chance=lambda number: chance.random()) for lab in OFFSETS]
    for lab in labs:
        lab.receive(server.receive(Join(lab.name)))
    samples, odds, reactions = [0], [[1.0] * problem.K], 0
    while True:
        lab = chance.choice(labs)  # whoever comes next
        day = DRIFT * math.sin(reactions / 500)
        upload = None
        for trial in lab.ask(24):
            upload = lab.tell(trial, chance.choice(yields[trial.arm]) + OFFSETS[lab.name] + day)
            reactions += 1
        if upload is None:
            continue
        reply = server.receive(upload)
        samples.append(server.samples)
        odds.append([max(arm.odds or 1.0, 1.0) for arm in standing(method, server.state).arms])
        if server.stopped:
            return server.verdict, samples, odds
        lab.receive(reply)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="labs.png")
    wanted = parser.parse_args()
    yields = read(wanted.table)
    means = {arm: sum(values) / len(values) for arm, values in yields.items()}
    best = max(means, key=lambda arm: means[arm])
    verdict, samples, odds = study(yields, wanted.seed)
    right = "which is right" if verdict.arm == best else f"and the best is {best}"
    print(f"{verdict.arm} is the best of {len(means)} conditions, {right}: {samples[-1]:,} reactions.")

    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    late = sorted(range(len(means)), key=lambda k: odds[-len(odds) // 4][k])  # the hardest to rule out first
    for place, k in enumerate(late):
        arm, line = list(means)[k], [row[k] for row in odds]
        if arm == verdict.arm:
            axes.plot(samples, line, color="#0072B2", linewidth=2.5, label=f"{arm}, {means[arm]:.0%}", zorder=3)
        else:
            near = place < len(COLOURS)
            named = (
                {"label": f"{arm}, {means[arm]:.0%}", "color": COLOURS[place]} if near else {"color": "#bbb"}
            )
            axes.plot(samples, line, linewidth=1, **named)
    axes.axhline(1 / DELTA, color="black", linestyle="--", linewidth=1)
    axes.text(samples[-1] / 2, 0.9 / DELTA, f"{1 / DELTA:.0f} to 1 rules out", va="top")
    axes.set(yscale="log", ylim=(0.8, 1e6), xlabel="reactions in three laboratories", ylabel="odds against")
    axes.set_title("Which condition has the best yield? The one that is left.")
    axes.legend(title="condition, mean yield", loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    figure.savefig(wanted.out, dpi=150)
    print(f"wrote {wanted.out}")


if __name__ == "__main__":
    main()
