"""What the demo is about: five ligands, and labs of different speeds."""

from __future__ import annotations

import string

import numpy as np

from bestarm.problem import Problem

PROBLEM = """
name = "ligands"
delta = 0.05
sigma = 0.12
arm = [
  { name = "PPh3", mean = 0.72 },
  { name = "XPhos", mean = 0.80 },
  { name = "SPhos", mean = 0.772 },
  { name = "RuPhos", mean = 0.76 },
  { name = "dppf", mean = 0.736 },
]
"""
TITLE = "Which ligand gives the best yield?"
AXIS = (0.65, 0.9)  # of the picture
FASTEST, SLOWEST = 4.0, 0.1


def truth() -> Problem:
    """The problem with its means, which only the simulated experiments know."""
    return Problem.from_toml(PROBLEM)


def question() -> Problem:
    """The problem as labs and server know it."""
    known = truth()
    return Problem(
        known.arms, name=known.name, sigma=known.sigma, delta=known.delta, epsilon=known.epsilon, means=None
    )


def speeds(agents: int) -> list[float]:
    """Each lab is slower than the one before.

    >>> speeds(3)
    [4.0, 0.63, 0.1]
    """
    rates = np.geomspace(FASTEST, SLOWEST, agents) if agents > 1 else [1.0]
    return [float(f"{rate:.2g}") for rate in rates]


def names(agents: int) -> list[str]:
    """What the labs are called.

    >>> names(2)
    ['lab-a', 'lab-b']
    """
    letters = string.ascii_lowercase
    return [f"lab-{letters[m] if m < len(letters) else m + 1}" for m in range(agents)]
