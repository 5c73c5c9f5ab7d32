"""Fill the reward column of a worksheet, as a person or a grader would: python fill.py sheet.csv SEED

The scores are made up. In earnest, run the prompt that the line names on a document and score the answer.
"""

import csv
import random
import sys
from pathlib import Path

SCORES = {"plain": 0.30, "step by step": 0.50, "with examples": 0.85}  # on average; nobody knows them


def main(path: str, seed: str) -> None:
    with Path(path).open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    chances = {arm: random.Random(f"{seed} {Path(path).name} {arm}") for arm in SCORES}  # in whatever order
    for row in rows:
        mean = SCORES[row["arm"]]
        row["reward"] = f"{chances[row['arm']].betavariate(4 * mean, 4 * (1 - mean)):.2f}"
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(*sys.argv[1:])
