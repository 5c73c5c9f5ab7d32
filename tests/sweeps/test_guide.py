"""The guide's file runs as it is printed."""

import json
import re
from pathlib import Path

import pandas
from typer.testing import CliRunner

from bestarm.cli.research.sweep import app

GUIDE = Path(__file__).parents[2] / "docs" / "sweeps.md"


def test_the_sweep_of_the_guide_runs(tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml[^\n]*\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    # Its size and its results are the guide's; the engine needs no compilation.
    (tmp_path / "sweep.toml").write_text('engine = "rounds"\n' + text)
    command = [str(tmp_path / "sweep.toml"), "--runs", "3", "--jobs", "1"]
    out = ["--out", str(tmp_path / "results.parquet")]
    printed = CliRunner().invoke(app, [*command, *out, "--format", "json"], catch_exceptions=False)
    rows = json.loads(printed.stdout)
    assert len(rows) == 4 * 4 * 2
    assert {row["method"] for row in rows} == {"famabpe", "sharp", "ugapec"}
    assert {row["runs"] for row in rows} == {3}
    frame = pandas.read_parquet(tmp_path / "results.parquet")
    assert frame["samples_mean"].tolist() == [row["samples_mean"] for row in rows]

    again = CliRunner().invoke(app, [*command, *out], catch_exceptions=False)
    assert "famabpe gamma=0.01" in again.stdout
    assert "stairs" in again.stdout

    each = ["--out", str(tmp_path / "each.csv"), "--each"]
    CliRunner().invoke(app, [*command, *each], catch_exceptions=False)
    assert len((tmp_path / "each.csv").read_text().splitlines()) == 1 + 3 * len(rows)


def test_every_column_is_explained() -> None:
    from bestarm.simulation.result import RUN_COLUMNS
    from bestarm.sweeps.api import ROW_COLUMNS

    text = GUIDE.read_text()
    for column in (*ROW_COLUMNS, *RUN_COLUMNS):
        stem, _, part = column.rpartition("_")
        summarised = stem in ("samples", "communications", "switches") and part not in ("bound", "lower")
        assert f"`{'_' + part if summarised else column}`" in text, column
