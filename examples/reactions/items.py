"""The same substrates with every condition, or other ones each time: what items save, as a picture.

python items.py deoxyf.csv [--runs 100] [--out items.png]

The table has the columns base_name, fluoride_name, substrate_name and yield (README.md says where it is from).
Three laboratories measure 20 points too much, 20 too little, and right. With items a plan is "these conditions,
on so many substrates"; without, every reaction is on a substrate of its own.
"""

import argparse
import csv
from collections import defaultdict
from pathlib import Path

import matplotlib.pyplot as plt

import bestarm

OFFSETS, DELTA = (0.2, -0.2, 0.0), 0.05


def read(path: str) -> dict[str, list[float]]:
    """The yields of every condition, as fractions, the substrates in the same order for all of them."""
    found = defaultdict(dict)
    with Path(path).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            condition = f"{row['base_name']} + {row['fluoride_name']}"
            found[condition][row["substrate_name"]] = float(row["yield"]) / 100
    substrates = sorted(set.intersection(*(set(yields) for yields in found.values())))
    return {condition: [yields[name] for name in substrates] for condition, yields in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("table")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--out", default="items.png")
    wanted = parser.parse_args()
    yields = read(wanted.table)
    results = {}
    for items in (True, False):
        problem = bestarm.Problem(list(yields), delta=DELTA, items=items)
        result = bestarm.simulate(problem, agents=3, runs=wanted.runs, table=yields, offsets=OFFSETS)
        results[items] = result
        how = "the same substrates with every condition" if items else "another substrate for every reaction"
        print(
            f"{how}: {result.samples.mean():,.0f} reactions on average, {result.wrong} of {wanted.runs} wrong."
        )
    ratio = results[False].samples.mean() / results[True].samples.mean()
    print(f"Items save: {ratio:.1f} times fewer reactions.")

    figure, axes = plt.subplots(figsize=(8, 3.2), layout="constrained")
    names = {
        True: "items: the same substrates\nwith every condition",
        False: "no items: another substrate\neach time",
    }
    boxes = axes.boxplot(
        [results[items].samples for items in (False, True)],
        orientation="horizontal",
        tick_labels=[names[items] for items in (False, True)],
        widths=0.6,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
    )
    for box, colour in zip(boxes["boxes"], ("#bbbbbb", "#0072B2"), strict=True):
        box.set_facecolor(colour)
    for line in boxes["medians"]:
        line.set_color("black")
    axes.set_xlim(left=0)
    axes.set_xlabel("reactions until the best is known (box: middle half of the runs)")
    axes.set_title(f"{len(yields)} conditions, three laboratories that differ, delta = {DELTA:g}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(wanted.out, dpi=150)
    print(f"wrote {wanted.out}")


if __name__ == "__main__":
    main()
