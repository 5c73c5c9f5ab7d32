"""The points of a figure are cells of a sweep: a run is made once, whatever happens in between."""

from __future__ import annotations

from pathlib import Path

import pytest

from bestarm.experiments.points import Point, Variant, expected_seconds, make_points
from bestarm.experiments.synthetic import linear, linear_instances, separate
from bestarm.lower_bound import lower_bound
from bestarm.sweeps import work as module
from bestarm.sweeps.cell import Cell
from bestarm.sweeps.runs_file import Piece, Runs
from bestarm.sweeps.work import run_piece, work

NAME = "cells.jsonl"


def some_points(runs: int = 3, seed: int = 0, gap: float = 0.5) -> list[Point]:
    variants = [Variant.of("lower-bound"), Variant.of("famabpe"), Variant.of("famabpe", gamma=0.1)]
    return list(make_points("mab", gap, variants, [separate(gap)], agents=10, runs=runs, seed=seed))


def cells_of(points: list[Point]) -> list[Cell]:
    return [cell for point in points for cell in point.cells]


def make(cells: list[Cell], path: Path | None = None, jobs: int = 1) -> list[list[list[float]]]:
    """The numbers of all runs of the cells, made where they are missing."""
    with Runs(cells, path) as runs:
        work(cells, runs, jobs, None, lambda piece: None)
    return [runs.numbers(cell).tolist() for cell in cells]


def test_an_interrupted_call_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[tuple[str, object]] = []

    def counted(cell: Cell, numbers: range, code: str) -> Piece:
        ran.append((cell.method, cell.parameters.get("gamma")))
        if len(ran) == 3:
            raise KeyboardInterrupt
        return run_piece(cell, numbers, code)

    cells = cells_of(some_points())
    whole = make(cells)
    monkeypatch.setattr(module, "run_piece", counted)
    with pytest.raises(KeyboardInterrupt):
        make(cells, tmp_path / NAME)
    with Runs(cells, tmp_path / NAME) as runs:
        assert [runs.finished(cell) for cell in cells] == [3, 3, 0]
    assert make(cells, tmp_path / NAME) == whole
    assert ran == [("lower-bound", None), ("famabpe", 0.01), ("famabpe", 0.1), ("famabpe", 0.1)]


def test_a_line_that_was_cut_off_is_run_again(tmp_path: Path) -> None:
    cells = cells_of(some_points())
    whole = make(cells, tmp_path / NAME)
    (tmp_path / NAME).write_text((tmp_path / NAME).read_text()[:-20])
    with Runs(cells, tmp_path / NAME) as runs:
        assert [runs.finished(cell) for cell in cells] == [3, 3, 0]
    assert make(cells, tmp_path / NAME) == whole


def test_the_bound_is_kept_to_the_last_bit(tmp_path: Path) -> None:
    bound = cells_of(some_points())[0]
    for _ in range(2):
        (rows,) = make([bound], tmp_path / NAME)
        assert [row[2] for row in rows] == [lower_bound(bound.problem)] * 3


def test_the_key_stands_for_everything_that_fixes_the_outcome() -> None:
    cells = cells_of([*some_points(), *some_points(seed=1)[1:], *some_points(gap=0.4)[1:]])
    variants = [Variant.of("falinpe"), Variant.of("falinpe", selection="greedy")]
    for agents in (10, 11):
        points = make_points("linear", 0.1, variants, [linear(0.1, 7)], agents=agents, runs=2, seed=0)
        cells += cells_of(list(points))
    assert len({cell.key for cell in cells}) == len(cells)
    assert [cell.key for cell in cells_of(some_points())] == [cell.key for cell in cells_of(some_points(9))]


def test_more_runs_use_those_that_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cells(runs: int) -> list[Cell]:
        instances = linear_instances(0.5, "random", runs, seed=0)
        variants = [Variant.of("lower-bound"), Variant.of("famabpe")]
        return cells_of(list(make_points("linear", 0.5, variants, instances, agents=10, runs=runs, seed=0)))

    made: list[range] = []

    def counted(cell: Cell, numbers: range, code: str) -> Piece:
        made.append(numbers)
        return run_piece(cell, numbers, code)

    make(cells(2), tmp_path / NAME)
    monkeypatch.setattr(module, "run_piece", counted)
    assert make(cells(4), tmp_path / NAME) == make(cells(4))
    assert sorted(made[:4], key=lambda numbers: numbers.start) == [range(2, 3)] * 2 + [range(3, 4)] * 2


def test_each_run_has_its_own_instance() -> None:
    instances = linear_instances(0.5, "random", 12, seed=2)
    (point,) = make_points("linear", 0.5, [Variant.of("lower-bound")], instances, agents=10, runs=12, seed=2)
    assert [cell.numbers for cell in point.cells] == [range(run, run + 1) for run in range(12)]
    assert point.seeds == tuple(2_000_000 + run for run in range(12))
    assert len({row[2] for rows in make(list(point.cells)) for row in rows}) == 12


def test_two_runs_that_drew_the_same_instance_are_two_runs(tmp_path: Path) -> None:
    """Their cells have one key and differ in the number of the run only."""
    instances = [separate(0.5), separate(0.4), separate(0.5)]
    variants = [Variant.of("famabpe")]
    (point,) = make_points("mab", 0.5, variants, instances, agents=10, runs=3, seed=0)
    (all_at_once,) = make_points("mab", 0.5, variants, instances[:1], agents=10, runs=3, seed=0)
    for path in (None, tmp_path / NAME, tmp_path / NAME):
        first, _, third = make(list(point.cells), path)
        ((run_0, _, run_2),) = make(list(all_at_once.cells))
        assert (first, third) == ([run_0], [run_2])


def test_two_processes_give_what_one_gives() -> None:
    cells = cells_of(some_points())
    assert make(cells, jobs=1) == make(cells, jobs=2)


def test_the_same_cell_twice_is_run_once(tmp_path: Path) -> None:
    make(cells_of(some_points() * 2), tmp_path / NAME)
    assert len((tmp_path / NAME).read_text().splitlines()) == 3


def test_expected_seconds_are_positive() -> None:
    assert all(expected_seconds(cell) > 0 for cell in cells_of(some_points()))
