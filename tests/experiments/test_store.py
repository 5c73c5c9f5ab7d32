"""A cell is run once, whatever happens in between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bestarm.errors import UserError
from bestarm.experiments import store as module
from bestarm.experiments.cells import Cell, Row, Variant, code_hash, make_cells, run_cell
from bestarm.experiments.store import NAME, Store, expected_seconds, run_cells, run_here
from bestarm.experiments.synthetic import linear, linear_instances, separate


def some_cells(runs: int = 3, seed: int = 0, gap: float = 0.5) -> list[Cell]:
    variants = [Variant.of("lower-bound"), Variant.of("famabpe"), Variant.of("famabpe", gamma=0.1)]
    return list(make_cells("mab", gap, variants, [separate(gap)], agents=10, runs=runs, seed=seed))


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def counted(cell: Cell) -> list[Row]:
        ran.append(cell.variant.name)
        if len(ran) == 3:
            raise KeyboardInterrupt
        return run_cell(cell)

    monkeypatch.setattr(module, "run_cell", counted)
    cells = some_cells()
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, Store(tmp_path), jobs=1)
    store = Store(tmp_path)
    assert [cell in store for cell in cells] == [True, True, False]
    run_cells(cells, store, jobs=1)
    assert ran == ["lower-bound", "famabpe", "famabpe gamma=0.1", "famabpe gamma=0.1"]
    assert [Store(tmp_path)[cell] for cell in cells] == [run_cell(cell) for cell in cells]


def test_a_line_that_was_cut_off_is_run_again(tmp_path: Path) -> None:
    cells = some_cells()
    run_cells(cells, Store(tmp_path), jobs=1)
    path = tmp_path / NAME
    path.write_text(path.read_text().rstrip()[:-20])
    store = Store(tmp_path)
    assert [cell in store for cell in cells] == [True, True, False]
    run_cells(cells, store, jobs=1)
    assert [Store(tmp_path)[cell] for cell in cells] == [run_cell(cell) for cell in cells]


def test_the_key_stands_for_everything_that_fixes_the_outcome() -> None:
    cells = [*some_cells(), *some_cells(seed=1)[1:], *some_cells(runs=4)[1:], *some_cells(gap=0.4)[1:]]
    instance = linear(0.1, 7)
    linear_variants = [Variant.of("falinpe"), Variant.of("falinpe", selection="greedy")]
    for agents in (10, 11):
        cells += make_cells("linear", 0.1, linear_variants, [instance], agents=agents, runs=2, seed=0)
    assert len({cell.key for cell in cells}) == len(cells)
    assert [cell.key for cell in some_cells()] == [cell.key for cell in some_cells()]


def test_more_runs_use_the_blocks_that_are_there() -> None:
    def keys(runs: int) -> set[str]:
        instances = linear_instances(0.1, "random", runs, seed=0)
        cells = make_cells("linear", 0.1, [Variant.of("lingape")], instances, agents=10, runs=runs, seed=0)
        return {cell.key for cell in cells}

    assert keys(10) < keys(30)
    assert len(keys(30)) == 3


def test_each_run_has_its_own_instance() -> None:
    instances = linear_instances(0.5, "random", 12, seed=2)
    variants = [Variant.of("lower-bound")]
    rows = [
        row
        for cell in make_cells("linear", 0.5, variants, instances, agents=10, runs=12, seed=2)
        for row in run_cell(cell)
    ]
    assert [row.run for row in rows] == list(range(12))
    assert [row.instance_seed for row in rows] == [2_000_000 + run for run in range(12)]
    assert len({row.samples for row in rows}) == 12


def test_two_processes_give_what_one_gives(tmp_path: Path) -> None:
    cells = some_cells()
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    run_cells(cells, Store(tmp_path / "one"), jobs=1)
    run_cells(cells, Store(tmp_path / "two"), jobs=2)
    one, two = Store(tmp_path / "one"), Store(tmp_path / "two")
    assert [one[cell] for cell in cells] == [two[cell] for cell in cells]


def test_a_process_with_other_sources_is_noticed() -> None:
    cell = some_cells()[0]
    assert run_here(cell, code_hash()) == run_cell(cell)
    with pytest.raises(UserError, match="sources of bestarm changed"):
        run_here(cell, "another")


def test_the_same_cell_twice_is_run_once(tmp_path: Path) -> None:
    run_cells(some_cells() * 2, Store(tmp_path), jobs=1)
    lines = [line for line in (tmp_path / NAME).read_text().splitlines() if line]
    assert len({json.loads(line)["key"] for line in lines}) == len(lines) == 3


def test_jobs_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="jobs is 0"):
        run_cells([], Store(tmp_path), jobs=0)


def test_expected_seconds_are_positive() -> None:
    assert all(expected_seconds(cell) > 0 for cell in some_cells())
