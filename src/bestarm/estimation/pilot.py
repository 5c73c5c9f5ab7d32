"""First measurements, and what they say about the arms: how far apart they are, and how noisy a reward is."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.errors import UserError
from bestarm.problem import Problem
from bestarm.problem.file import naming, read_text
from bestarm.reward import HIGHEST, reflected

Row = tuple[str, float, str]  # an arm, its reward, and the site where it was measured


@dataclass(frozen=True)
class Pilot:
    """The means of the arms as if all had been measured at every site, and the scatter of a reward.

    Means are those of the additive model, an effect of the arm and one of the site, by least squares. The
    noise is what rewards of one arm at one site scatter, n − 1 degrees of freedom for each such group: offsets
    of the sites, and arms that do better at one site than at another, are not in it. `error` is the standard
    error of the difference of the two best.

    >>> rows = [("A", 1.0, "x"), ("A", 1.2, "x"), ("B", 0.6, "x"), ("A", 3.1, "y"), ("B", 2.6, "y")]
    >>> pilot = Pilot.of(rows, ["A", "B"])
    >>> (pilot.means[0] - pilot.means[1]).round(3), round(pilot.noise, 3), pilot.measurements, pilot.sites
    (np.float64(0.5), 0.141, 5, 2)
    """

    means: Floats
    noise: float
    error: float
    measurements: int
    sites: int

    @classmethod
    def read(cls, path: str | os.PathLike[str], arms: Sequence[str], goal: str = HIGHEST) -> Pilot:
        """The pilot in a CSV file with the columns arm, reward and, if there are several, site."""
        with naming(os.fspath(path)):
            return cls.of(read_rows(read_text(Path(path))), arms, goal)

    @classmethod
    def of(cls, rows: Iterable[Row], arms: Sequence[str], goal: str = HIGHEST) -> Pilot:
        """The pilot of some measurements; every arm must be among them. The two best are those of the goal."""
        rows = list(rows)
        unknown = {arm for arm, _, _ in rows} - set(arms)
        missing = [arm for arm in arms if arm not in {arm for arm, _, _ in rows}]
        if unknown:
            raise UserError(f"the pilot has arm {min(unknown)!r}, which the problem does not have.")
        if missing:
            raise UserError(f"the pilot has no measurement of arm {missing[0]!r}; it must have one of each.")
        sites = sorted({site for _, _, site in rows})
        rewards = np.array([reward for _, reward, _ in rows])
        design = np.zeros((len(rows), len(arms) + len(sites)))
        for place, (arm, _, site) in enumerate(rows):
            design[place, arms.index(arm)] = design[place, len(arms) + sites.index(site)] = 1.0
        fitted, _, rank, _ = np.linalg.lstsq(design, rewards, rcond=None)
        if rank < design.shape[1] - 1:
            raise UserError(
                "the pilot has arms that were never measured at a site with the others, so nothing tells the "
                "arms from the sites; measure one of them where another one was."
            )
        means: Floats = fitted[: len(arms)] + fitted[len(arms) :].mean()
        noise = noise_inside(rows)
        second, best = np.argsort(means if goal == HIGHEST else reflected(means))[-2:]
        difference = np.zeros(design.shape[1])
        difference[best], difference[second] = 1.0, -1.0
        error = noise * math.sqrt(difference @ np.linalg.pinv(design.T @ design) @ difference)
        return cls(means, noise, error, len(rows), len(sites))

    @property
    def what(self) -> str:
        """What it is, in a sentence."""
        where = f" at {self.sites} sites" if self.sites > 1 else ""
        return f"the pilot of {self.measurements} measurements{where}"


def as_pilot(given: str | os.PathLike[str] | Iterable[Row], problem: Problem) -> Pilot:
    """The pilot in a file, or of rows."""
    if isinstance(given, str | os.PathLike):
        return Pilot.read(given, problem.arms, problem.goal)
    return Pilot.of(given, problem.arms, problem.goal)


def noise_inside(rows: Iterable[Row]) -> float:
    """The standard deviation inside the groups of one arm at one site."""
    groups: dict[tuple[str, str], list[float]] = {}
    for arm, reward, site in rows:
        groups.setdefault((arm, site), []).append(reward)
    freedom = sum(len(group) - 1 for group in groups.values())
    scatter = sum(float(np.sum((np.array(group) - np.mean(group)) ** 2)) for group in groups.values())
    if freedom == 0:
        raise UserError("the pilot has no arm twice at one site, so it does not say how rewards scatter.")
    if scatter == 0.0:
        raise UserError(
            "the rewards of each arm are all the same in the pilot: they don't say how they scatter."
        )
    return math.sqrt(scatter / freedom)


def read_rows(text: str) -> list[Row]:
    """The measurements of a CSV text; without a column site they are all from one.

    >>> read_rows("arm,reward\\nA,0.5\\n")
    [('A', 0.5, '')]
    """
    lines = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True)
    found: list[Row] = []
    try:
        header = [cell.strip() for cell in next(lines, [])]
        if header not in (["arm", "reward"], ["arm", "reward", "site"]):
            raise UserError(
                f"line 1 is {','.join(header)!r}; the columns must be arm,reward or arm,reward,site."
            )
        for cells in lines:
            if cells:
                found.append(read_row(cells, len(header), lines.line_num))
    except csv.Error as error:
        raise UserError(f"line {lines.line_num} is not valid CSV: {error}.") from None
    if not found:
        raise UserError("there are no measurements below the header.")
    return found


def read_row(cells: Sequence[str], width: int, line: int) -> Row:
    """One measurement."""
    if len(cells) != width:
        raise UserError(f"line {line} has {len(cells)} cells; it must have {width}, like the header.")
    arm, reward, *site = (cell.strip() for cell in cells)
    try:
        number = float(reward)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"line {line}: reward is {reward!r}; it must be a number.")
    return arm, number, site[0] if site else ""
