"""What the tests that kill have done: kills, and rewards that were told and found; summed up by `make soak`.

python tests/support/toll.py FILE 500     # prints the sums, and fails below so many kills
"""

from __future__ import annotations

import os
import sys
from pathlib import Path


def note(kills: int, rewards: int) -> None:
    """Add to the file that BESTARM_TOLL names, if somebody wants to know."""
    if path := os.environ.get("BESTARM_TOLL"):
        with Path(path).open("a") as file:
            file.write(f"{kills} {rewards}\n")


def total(path: Path) -> tuple[int, int]:
    """All kills and all rewards of a file."""
    rows = [[int(word) for word in line.split()] for line in path.read_text().splitlines()]
    return sum(row[0] for row in rows), sum(row[1] for row in rows)


if __name__ == "__main__":
    kills, rewards = total(Path(sys.argv[1]))
    print(f"{kills} kills; {rewards:,} acknowledged rewards, each in its log exactly once")
    sys.exit(kills < int(sys.argv[2]))
