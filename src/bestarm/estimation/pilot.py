"""First measurements, and what they say about the arms: how far apart they are, and how noisy a reward is."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.errors import UserError
from bestarm.problem import Problem
from bestarm.problem.file import naming, read_text
from bestarm.reward import HIGHEST, reflected
from bestarm.simulation.worlds.table import read_cells, read_wide

Row = tuple[str, float, str]  # an arm, its reward, and the site where it was measured


@dataclass(frozen=True)
class Pilot:
    """The means of the arms as if all had been measured at every site, and the scatter of a reward.

    Means are those of the additive model, an effect of the arm and one of the site, by least squares. The
    noise is what rewards of one arm at one site scatter, n − 1 degrees of freedom for each such group: offsets
    of the sites, and arms that do better at one site than at another, are not in it. `error` is the standard
    error of the difference of the two best. Of a table with the same items for all arms, `on_items` is what the
    difference of the two best on an item scatters, over √2: what is left of the noise with items.

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
    on_items: float | None = None

    @classmethod
    def read(cls, path: str | os.PathLike[str], arms: Sequence[str], goal: str = HIGHEST) -> Pilot:
        """The pilot in a CSV file with the columns arm, reward and, if there are several, site.

        Or in a table with a row for each item and a column for each arm.
        """
        with naming(os.fspath(path)):
            header, rows = read_cells(read_text(Path(path)), "measurements")
            if header[:1] == ["arm"]:
                return cls.of(read_rows(header, rows), arms, goal)
            return cls.of_items(read_wide(header, rows), arms, goal)

    @classmethod
    def of_items(cls, table: Mapping[str, Sequence[float]], arms: Sequence[str], goal: str = HIGHEST) -> Pilot:
        """The pilot of a table in which every item was tried with all arms.

        >>> table = {"A": [1.0, 2.0, 3.0], "B": [0.5, 1.6, 2.4]}
        >>> pilot = Pilot.of_items(table, ["A", "B"])
        >>> round(pilot.noise, 3), round(pilot.on_items, 3)
        (0.977, 0.071)
        """
        found = cls.of([(arm, value, "") for arm, values in table.items() for value in values], arms, goal)
        if len(next(iter(table.values()))) < 2:
            raise UserError("the table has one item; it must have several to say how they differ.")
        second, best = np.argsort(found.means if goal == HIGHEST else reflected(found.means))[-2:]
        differences = np.array(table[arms[best]]) - np.array(table[arms[second]])
        scatter = float(np.std(differences, ddof=1)) / math.sqrt(2.0)
        if scatter == 0.0:
            raise UserError(
                "the two best arms differ by the same on all items: nothing says how that scatters."
            )
        return replace(found, on_items=scatter, error=scatter * math.sqrt(2.0 / len(differences)))

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


def read_rows(header: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> list[Row]:
    """Measurements line by line; without a column site they are all from one.

    >>> read_rows(["arm", "reward"], [(2, ["A", "0.5"])])
    [('A', 0.5, '')]
    """
    if header not in (["arm", "reward"], ["arm", "reward", "site"]):
        raise UserError(f"line 1 is {','.join(header)!r}; the columns must be arm,reward or arm,reward,site.")
    return [read_row(cells, len(header), line) for line, cells in rows]


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
