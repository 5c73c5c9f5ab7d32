"""Results do not depend on the workers, on the pieces, or on what was made when."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import bestarm
from bestarm import Problem, UserError
from bestarm.errors import ServiceError
from bestarm.sweeps import work as module
from bestarm.sweeps.api import run_grid
from bestarm.sweeps.cell import Cell
from bestarm.sweeps.grid import make_grid
from bestarm.sweeps.runs_file import Runs
from bestarm.sweeps.work import run_piece

PROBLEM = Problem.quick([0.9, 0.5, 0.5], sigma=0.3)
GRID = {"name": "famabpe", "gamma": [0.05, 0.1]}


def cells(runs: int = 30, engine: str = "rounds", grid: Any = GRID, **others: Any) -> list[Cell]:
    return make_grid(PROBLEM, grid, agents=3, runs=runs, engine=engine, **others)


def timeless(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def count_runs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many runs each piece made, from now on."""
    made: list[int] = []

    def counted(*piece: Any) -> Any:
        found = run_piece(*piece)
        made.append(len(found.outcomes))
        return found

    monkeypatch.setattr(module, "run_piece", counted)
    return made


@pytest.mark.parametrize("engine", ["rounds", "events"])
def test_one_job_two_jobs_and_simulate_agree(engine: str) -> None:
    grid = cells(60, engine)
    one, two = run_grid(grid, jobs=1), run_grid(grid, jobs=2)
    assert timeless(one.rows) == timeless(two.rows)
    assert list(one.each) == list(two.each)
    direct = bestarm.simulate(PROBLEM, "famabpe", agents=3, runs=60, engine=engine, gamma=0.1)
    assert direct.samples.tolist() == one.results[1].samples.tolist()
    assert direct.returned.tolist() == one.results[1].returned.tolist()
    assert direct.breaking_indices.tolist() == one.results[1].breaking_indices.tolist()


def test_pieces_that_are_cut_short_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run_grid(cells(), jobs=1)
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    monkeypatch.setattr(module, "PIECE", 7)
    assert timeless(run_grid(cells(), jobs=1).rows) == timeless(whole.rows)


def test_a_rerun_makes_only_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "results.csv"
    first = run_grid(cells(), out, jobs=1)
    text = out.read_text()
    made = count_runs(monkeypatch)
    assert run_grid(cells(), out, jobs=1).rows == first.rows
    assert made == []
    assert out.read_text() == text
    more = run_grid(cells(runs=50), out, jobs=1)
    assert sum(made) == 2 * 20
    assert timeless(more.rows) == timeless(run_grid(cells(runs=50), jobs=1).rows)


def test_a_changed_specification_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "results.csv"
    run_grid(cells(), out, jobs=1)
    made = count_runs(monkeypatch)
    changed = cells(grid={"name": "famabpe", "gamma": [0.1, 0.2]})
    found = run_grid(changed, out, jobs=1)
    assert sum(made) == 30
    assert timeless(found.rows) == timeless(run_grid(changed, jobs=1).rows)
    made.clear()
    monkeypatch.setattr("bestarm.sweeps.cell.code_version", lambda: "0.0.0-another")
    monkeypatch.setattr(module, "code_version", lambda: "0.0.0-another")
    run_grid(cells(), out, jobs=1)
    assert sum(made) == 60


def test_fewer_runs_are_the_first_ones(tmp_path: Path) -> None:
    out = tmp_path / "results.csv"
    run_grid(cells(), out, jobs=1)
    assert timeless(run_grid(cells(runs=10), out, jobs=1).rows) == timeless(run_grid(cells(10), jobs=1).rows)


def test_a_line_that_a_kill_cut_off_is_made_again(tmp_path: Path) -> None:
    out, kept = tmp_path / "results.csv", tmp_path / "results.runs.jsonl"
    first = run_grid(cells(), out, jobs=1)
    kept.write_text(kept.read_text()[:-20])
    again = run_grid(cells(), out, jobs=1)
    assert timeless(again.rows) == timeless(first.rows)
    assert all(json.loads(line) for line in kept.read_text().splitlines())


def test_a_broken_file_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "results.runs.jsonl").write_text('{"key": 3}\n')
    with pytest.raises(UserError, match=r"results\.runs\.jsonl: line 1 can't be read"):
        run_grid(cells(), tmp_path / "results.csv", jobs=1)


def test_two_sweeps_do_not_write_to_one_file(tmp_path: Path) -> None:
    with (
        Runs(cells(), tmp_path / "results.runs.jsonl"),
        pytest.raises(UserError, match="another sweep is writing"),
    ):
        run_grid(cells(), tmp_path / "results.csv", jobs=1)


def test_a_worker_with_other_code_is_refused() -> None:
    (cell, _) = cells()
    with pytest.raises(ServiceError, match="install the same one everywhere"):
        run_piece(cell, range(1), "0.0.0-another")


def test_progress_counts_every_run_once(tmp_path: Path) -> None:
    out = tmp_path / "results.csv"
    told: list[int] = []
    run_grid(cells(), out, jobs=1, progress=told.append)
    assert sum(told) == 60
    told.clear()
    run_grid(cells(), out, jobs=1, progress=told.append)
    assert sum(told) == 60
