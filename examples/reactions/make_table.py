"""Compute yields.csv from the published yields: python make_table.py deoxyf.csv > yields.csv

The input has one line a reaction, with the columns base_name, fluoride_name, substrate_name and yield (in %).
"""

import csv
import statistics
import sys
from collections import defaultdict
from pathlib import Path


def table(path: str) -> list[list[object]]:
    """Mean and standard deviation of the yield over the substrates, for each base and sulfonyl fluoride."""
    yields: dict[tuple[str, str], list[float]] = defaultdict(list)
    with Path(path).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yields[row["base_name"], row["fluoride_name"]].append(float(row["yield"]))
    return [
        [
            f"{base} + {fluoride}",
            base,
            fluoride,
            f"{statistics.mean(found):.2f}",
            f"{statistics.stdev(found):.2f}",
            len(found),
        ]
        for (base, fluoride), found in sorted(yields.items())
    ]


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["condition", "base", "sulfonyl_fluoride", "mean", "standard_deviation", "substrates"])
    writer.writerows(table(sys.argv[1]))
