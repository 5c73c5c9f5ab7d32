"""`reproduce`: run the experiments that are not run yet, and write numbers, figures and report."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np

import bestarm
from bestarm.errors import UserError
from bestarm.experiments import movielens as movielens_data
from bestarm.experiments import plans, synthetic
from bestarm.experiments.claims import Claim, judge, write_claims
from bestarm.experiments.figures import write_figures
from bestarm.experiments.films import make_films
from bestarm.experiments.numbers import read_numbers, write_runs, write_summary
from bestarm.experiments.points import Point, expected_seconds
from bestarm.experiments.report import write_report
from bestarm.simulation.compiled.sources import code_version
from bestarm.sweeps.grid import check_whole
from bestarm.sweeps.runs_file import Piece, Runs
from bestarm.sweeps.table_file import write_table
from bestarm.sweeps.work import work

EXPERIMENTS = ("mab", "linear", "movielens")
ABOUT, KEPT = "about.csv", "cells.jsonl"

Progress = Callable[[str, float, float], None]


def reproduce(
    what: Sequence[str],
    out: Path,
    *,
    runs: int = 10,
    seed: int = 0,
    instance: str = "random",
    data: Path | None = None,
    min_ratings: int = 3000,
    jobs: int = 1,
    progress: Progress = lambda stage, done, total: None,
) -> list[Claim]:
    """Run some of the paper's experiments and write everything into a folder; returns the claims.

    Runs that are kept in the folder are not made again, so an interrupted call goes on where it stopped.

    Parameters
    ----------
    what: some of `mab`, `linear`, `movielens`.
    out: the folder; it is made if need be.
    runs: how many runs of every method at every gap; the paper has 10.
    instance: of `linear`: `random` (a new one each run) or `orthogonal`.
    data, min_ratings: of `movielens`: the folder or zip, and the number of ratings that kept users exceed.
    jobs: processes.
    progress: is told a stage, how much of it is done, and how much there is, in expected seconds.
    """
    _check(what, runs, seed, instance, data, min_ratings, jobs)
    about = {
        "bestarm": bestarm.__version__,
        "code": code_version(),
        "experiments": " ".join(what),
        "runs": str(runs),
        "seed": str(seed),
        "instance": instance,
        "python": platform.python_version(),
        **{package: version(package) for package in ("numpy", "scipy", "numba", "pandas", "scikit-learn")},
    }
    points = _points(what, runs, seed, instance, data, min_ratings, about, progress)
    cells = [cell for point in points for cell in point.cells]
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out}: the folder can't be written ({error.strerror}).") from None
    with Runs(cells, out / KEPT) as kept:
        seconds = {cell.key: expected_seconds(cell) for cell in cells}
        total = sum(seconds[cell.key] * (cell.runs - kept.finished(cell)) for cell in cells)
        done = 0.0
        progress("running", done, total)

        def one_more(piece: Piece) -> None:
            nonlocal done
            done += seconds[piece.key] * len(piece.outcomes)
            progress("running", done, total)

        work(cells, kept, jobs, None, one_more)
    progress("drawing", 0.0, 0.0)
    return write_everything(out, points, kept, about)


def write_everything(out: Path, points: Sequence[Point], kept: Runs, about: dict[str, str]) -> list[Claim]:
    """Numbers first; figures, claims and report are then made from the files that hold the numbers."""
    write_runs(out, points, kept)
    write_summary(out)
    write_table(out / ABOUT, ["name", "value"], ({"name": name, "value": about[name]} for name in about))
    numbers = read_numbers(out)
    claims = judge(numbers, about)
    write_claims(out, claims)
    write_figures(out, numbers)
    write_report(out)
    return claims


def _points(
    what: Sequence[str],
    runs: int,
    seed: int,
    instance: str,
    data: Path | None,
    min_ratings: int,
    about: dict[str, str],
    progress: Progress,
) -> list[Point]:
    points: list[Point] = []
    if "mab" in what:
        points += plans.mab_points(runs, seed)
    if "linear" in what:
        points += plans.linear_points(runs, seed, instance)
    if "movielens" in what:
        assert data is not None
        progress(f"reading {data.name}", 0.0, 0.0)
        loaded = movielens_data.load(data, min_ratings)
        films = make_films(loaded, seed=seed)
        about |= {
            "data name": loaded.name,
            "data users": str(loaded.users),
            "data ratings": str(loaded.ratings),
            "data tags": str(loaded.tags),
            "data films": str(len(loaded.ids)),
            "data rated films": str(loaded.rated_films),
            "data min ratings": str(min_ratings),
            "data kept users": str(len(loaded.kept_users)),
            "data films rated by kept users": str(len(np.unique(np.concatenate(loaded.rated)))),
            "data interactions": str(loaded.interactions),
            "data films with features of their own": str(len(films.names)),
            "data smallest reward": f"{films.rewards.min():.4f}",
            "data largest reward": f"{films.rewards.max():.4f}",
            "data length of theta": f"{np.linalg.norm(films.theta):.4f}",
        }
        found = list(plans.movielens_points(films, runs, seed))
        if not any(point.experiment == plans.movielens(min(plans.ARM_COUNTS)) for point in found):
            raise UserError(f"the rewards of {data.name} are too close together for any of the gaps.")
        points += found
    about |= _ranks(points)
    return points


def _ranks(points: Sequence[Point]) -> dict[str, str]:
    """The smallest and largest rank of the features, by experiment."""
    problems = {
        (point.experiment, cell.problem.fingerprint): cell.problem.features
        for point in points
        for cell in point.cells
    }
    ranks: dict[str, list[int]] = {}
    for (experiment, _), features in problems.items():
        if features is not None:
            ranks.setdefault(experiment, []).append(int(np.linalg.matrix_rank(features)))
    return {f"{name} ranks": f"{min(found)} {max(found)}" for name, found in ranks.items()}


def _check(
    what: Sequence[str],
    runs: int,
    seed: int,
    instance: str,
    data: Path | None,
    min_ratings: int,
    jobs: int,
) -> None:
    for name, value, least in (("runs", runs, 1), ("seed", seed, 0), ("min-ratings", min_ratings, 0)):
        check_whole(name, value, least)
    check_whole("jobs", jobs, 1)
    if unknown := [name for name in what if name not in EXPERIMENTS]:
        raise UserError(f"there is no experiment {unknown[0]!r}; there are {', '.join(EXPERIMENTS)}.")
    if instance not in synthetic.INSTANCES:
        raise UserError(f"instance is {instance!r}; it must be one of {', '.join(synthetic.INSTANCES)}.")
    if "movielens" in what:
        if data is None:
            raise UserError(
                f"the movielens experiment needs --data, a folder or zip file. {movielens_data.HOME}. "
                "`bestarm reproduce mab` and `bestarm reproduce linear` need no data."
            )
        movielens_data.Source(data)  # before anything is run
