"""The rows of a sweep, and the files they are written to."""

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import bestarm
from bestarm import Problem, Sweep, UserError
from bestarm.methods import METHODS
from bestarm.simulation.result import RUN_COLUMNS
from bestarm.sweeps.api import ROW_COLUMNS


@pytest.fixture(scope="module")
def found() -> Sweep:
    methods: list[Any] = [{"name": "famabpe", "gamma": [0.05, 1]}, "ugapec"]
    problem = Problem.quick([0.9, 0.5, 0.5], sigma=0.3)
    return bestarm.sweep(problem, methods, agents=3, runs=20, seeds=[0, 5], engine="rounds", jobs=1)


def test_a_row_says_what_simulate_says(found: Sweep) -> None:
    row = found.rows[1]
    result = bestarm.simulate(
        Problem.quick([0.9, 0.5, 0.5], sigma=0.3), "famabpe", 3, runs=20, seed=5, engine="rounds", gamma=0.05
    )
    assert (row["method"], row["gamma"], row["agents"], row["runs"], row["seed"]) == ("famabpe", 0.05, 3, 20, 5)
    assert (row["arms"], row["gap"], row["sigma"], row["delta"], row["epsilon"]) == (3, 0.4, 0.3, 0.05, 0.0)
    for field in ("samples", "communications", "switches"):
        each = getattr(result, field)
        low, median, high = np.quantile(each, [0.05, 0.5, 0.95])
        assert row[f"{field}_mean"] == each.mean()
        assert row[f"{field}_stderr"] == pytest.approx(each.std(ddof=1) / np.sqrt(20))
        assert (row[f"{field}_low"], row[f"{field}_median"], row[f"{field}_high"]) == (low, median, high)
        assert row[f"{field}_most"] == each.max()
    assert row["wrong"] == result.wrong
    assert row["unfinished"] == 0
    assert row["samples_to_lower"] == pytest.approx(row["samples_mean"] / row["lower_bound"])
    assert row["samples_to_bound"] == pytest.approx(row["samples_mean"] / row["samples_bound"])
    assert row["communications_to_bound"] == pytest.approx(
        row["communications_mean"] / row["communications_bound"]
    )


def test_a_world_is_simulated_and_has_its_columns(tmp_path: Path) -> None:
    problem = Problem.quick([0.9, 0.5, 0.5], sigma=0.3)
    world: dict[str, Any] = {"noise": 0.2, "offsets": [0.0, 0.1], "drift": 0.1, "interactions": 0.05}
    found = bestarm.sweep(problem, "sharp", agents=3, runs=5, engine="rounds", jobs=1, **world)
    same = bestarm.simulate(problem, "sharp", agents=3, runs=5, engine="rounds", **world)
    assert found.results[0].samples.tolist() == same.samples.tolist()
    assert found.rows[0]["lower_bound"] == same.to_json()["bounds"]["lower"]
    found.save(tmp_path / "rows.csv")
    (row,) = csv.DictReader((tmp_path / "rows.csv").read_text().splitlines())
    assert (row["noise"], row["offsets"], row["interactions"]) == ("0.2", "0,0.1", "0.05")


def test_a_method_without_a_theorem_has_only_the_lower_bound(found: Sweep) -> None:
    row = found.rows[-1]
    assert row["method"] == "ugapec"
    assert row["lower_bound"] > 0
    assert row["samples_bound"] is None
    assert row["samples_to_bound"] is None


def test_unfinished_runs_are_counted_and_return_no_arm() -> None:
    problem = Problem.quick([0.9, 0.89], sigma=0.3)
    found = bestarm.sweep(problem, "famabpe", runs=4, engine="rounds", max_samples=50, jobs=1)
    assert found.rows[0]["unfinished"] == 4
    assert [(row["arm"], row["unfinished"], row["wrong"]) for row in found.each] == [(None, 1, 0)] * 4


def test_wrong_answers_are_marked_run_by_run() -> None:
    problem = Problem.quick([0.6, 0.0], sigma=1.0, delta=0.9)
    found = bestarm.sweep(problem, "sharp", runs=100, seeds=1, engine="rounds", jobs=1)
    wrong = [row["wrong"] for row in found.each]
    assert sum(wrong) == found.rows[0]["wrong"] > 0
    assert all((row["arm"] == "arm-2") == bool(row["wrong"]) for row in found.each)


def test_csv_and_parquet_hold_the_rows_bit_by_bit(found: Sweep, tmp_path: Path) -> None:
    found.save(tmp_path / "rows.csv")
    found.save(tmp_path / "rows.parquet")
    with (tmp_path / "rows.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    frame = pandas.read_parquet(tmp_path / "rows.parquet")
    assert list(frame.columns) == list(read[0])
    assert len(read) == len(frame) == len(found.rows) == 6
    for row, text, (_, line) in zip(found.rows, read, frame.iterrows(), strict=True):
        for column in frame.columns:
            value = row.get(column)
            if value is None:
                assert text[column] == ""
                assert pandas.isna(line[column])
            else:
                assert type(value)(text[column]) == value
                assert line[column] == value


def test_each_writes_one_row_a_run(found: Sweep, tmp_path: Path) -> None:
    found.save(tmp_path / "each.csv", each=True)
    found.save(tmp_path / "each.parquet", each=True)
    with (tmp_path / "each.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    frame = pandas.read_parquet(tmp_path / "each.parquet")
    assert list(frame.columns) == list(read[0])
    assert len(read) == len(frame) == 6 * 20
    assert [int(row["samples"]) for row in read] == frame["samples"].tolist()
    assert [int(row["samples"]) for row in read[:20]] == found.results[0].samples.tolist()
    assert {int(row["run"]) for row in read} == set(range(20))
    assert {row["arm"] for row in read} == {"arm-1"}


def test_a_frame_has_the_rows(found: Sweep) -> None:
    assert found.to_pandas()["samples_mean"].tolist() == [row["samples_mean"] for row in found.rows]
    assert len(found.to_pandas(each=True)) == 6 * 20


def test_no_parameter_hides_a_column() -> None:
    problem = Problem(["A", "B"], features=np.eye(2), means=[0.9, 0.1], sigma=0.3)
    (cell,) = bestarm.sweep(problem, "ugapec", runs=1, engine="rounds", jobs=1).cells
    columns = {*cell.describe(), *ROW_COLUMNS, *RUN_COLUMNS}
    for recipe in METHODS.values():
        assert not columns & recipe.defaults(problem, 2).keys()


@pytest.mark.parametrize(
    ("name", "words"),
    [("rows.xlsx", "must end so"), ("none/rows.csv", "there is no folder"), ("", "must end so")],
)
def test_a_place_that_can_not_be_written_is_said_before_the_work(
    tmp_path: Path, name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bestarm.sweeps.api.work", lambda *what: pytest.fail("it worked first"))
    with pytest.raises(UserError, match=words):
        bestarm.sweep(Problem.quick([0.9, 0.5], sigma=0.3), "sharp", out=tmp_path / name)


def test_parquet_without_pyarrow_is_a_sentence_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match="needs pyarrow"):
        bestarm.sweep(Problem.quick([0.9, 0.5], sigma=0.3), "sharp", out=tmp_path / "rows.parquet")
