"""The whole command: what it writes, that the report's numbers are the files' numbers, and that it goes on."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import bestarm
from bestarm.cli.research.reproduce import app
from bestarm.errors import UserError
from bestarm.experiments import api, films, plans, synthetic
from bestarm.experiments.claims import judge, read_claims
from bestarm.experiments.figures import front, series
from bestarm.experiments.numbers import read_numbers
from bestarm.lower_bound import lower_bound
from bestarm.sweeps import work

Rows = list[dict[str, str]]


def read(path: Path) -> Rows:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def text_of(report: Path) -> str:
    """The report as it is read: without tags and styles."""
    html = report.read_text(encoding="utf-8")
    return unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL))


@pytest.fixture(scope="module")
def mab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("mab")
    api.reproduce(["mab"], out, runs=4)
    return out


@pytest.fixture(scope="module")
def linear(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("linear")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(synthetic, "GAPS", (0.1, 0.5))
        patch.setitem(plans.GAMMA1S, "linear", (0.01, 1.0))
        api.reproduce(["linear"], out, runs=2)
    return out


@pytest.fixture(scope="module")
def movielens(tmp_path_factory: pytest.TempPathFactory, movielens_zip: Path) -> Path:
    out = tmp_path_factory.mktemp("movielens")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(films, "GAPS", (0.15, 0.5))
        patch.setattr(plans, "HARDEST", 0.15)
        for experiment in ("movielens-10", "movielens-100"):
            patch.setitem(plans.GAMMA1S, experiment, (0.1,))
        api.reproduce(["movielens"], out, runs=1, data=movielens_zip, min_ratings=250)
    return out


@pytest.mark.parametrize("name", ["mab", "linear", "movielens"])
def test_everything_is_written(name: str, request: pytest.FixtureRequest) -> None:
    out: Path = request.getfixturevalue(name)
    experiments = ["movielens-10", "movielens-100"] if name == "movielens" else [name]
    for figure in (figure for experiment in experiments for figure in (experiment, f"{experiment}-tradeoff")):
        assert (out / "figures" / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (out / "figures" / f"{figure}.svg").read_text(encoding="utf-8")
    files = {"about.csv", "cells.jsonl", "claims.csv", "figures", "report.html", "runs.csv", "summary.csv"}
    assert {path.name for path in out.iterdir()} == files


@pytest.mark.parametrize("name", ["mab", "linear", "movielens"])
def test_the_report_needs_nothing_but_itself(name: str, request: pytest.FixtureRequest) -> None:
    html = (request.getfixturevalue(name) / "report.html").read_text(encoding="utf-8")
    sources = re.findall(r'(?:src|href)="([^"]{0,40})', html)
    assert sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    for word in ("<script", "<link", "@import", "url(", "http://", "https://"):
        assert word not in html


@pytest.mark.parametrize("name", ["mab", "linear", "movielens"])
def test_the_summary_is_what_the_runs_say(name: str, request: pytest.FixtureRequest) -> None:
    out: Path = request.getfixturevalue(name)
    groups: dict[tuple[str, ...], Rows] = defaultdict(list)
    for row in read(out / "runs.csv"):
        groups[row["experiment"], row["variant"], row["gap"]].append(row)
    summary = read(out / "summary.csv")
    assert len(summary) == len(groups)
    for line in summary:
        rows = groups[line["experiment"], line["variant"], line["gap"]]
        for field in ("samples", "communications"):
            values = np.array([float(row[field]) for row in rows])
            assert float(line[field]) == pytest.approx(values.mean())
            assert float(line[f"{field}_most"]) == values.max()
            assert float(line[f"{field}_low"]) <= values.mean() <= float(line[f"{field}_high"])
        assert int(line["runs"]) == len(rows)
        assert int(line["best"]) == sum(row["best"] == "1" for row in rows)


@pytest.mark.parametrize("name", ["mab", "linear", "movielens"])
def test_the_reports_numbers_are_the_files_numbers(name: str, request: pytest.FixtureRequest) -> None:
    out: Path = request.getfixturevalue(name)
    text = text_of(out / "report.html")
    groups: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in read(out / "runs.csv"):
        groups[row["experiment"], row["variant"], row["gap"]].append(float(row["samples"]))
    for (experiment, variant, gap), samples in groups.items():
        drawn = variant in {one.variant for one in series(experiment)}
        if drawn or float(gap) == min(float(other) for name, _, other in groups if name == experiment):
            assert f" {np.mean(samples):,.0f} " in text
    for claim in read_claims(out):
        assert claim.says in text
        assert claim.measured in text
        assert claim.instead in text


@pytest.mark.parametrize("name", ["mab", "linear", "movielens"])
def test_the_claims_are_what_the_summary_says(name: str, request: pytest.FixtureRequest) -> None:
    out: Path = request.getfixturevalue(name)
    about = {row["name"]: row["value"] for row in read(out / "about.csv")}
    assert read_claims(out) == judge(read_numbers(out), about)


def test_the_interval_is_students(mab: Path) -> None:
    rows = [row for row in read(mab / "runs.csv") if (row["variant"], row["gap"]) == ("famabpe", "0.1")]
    samples = np.array([float(row["samples"]) for row in rows])
    half = 3.182446 * samples.std(ddof=1) / 2  # the 97.5 % quantile of Student's t with 3 degrees of freedom
    line = read_numbers(mab)("mab", "famabpe", 0.1)
    assert samples.size == 4
    assert line.samples_high - line.samples == pytest.approx(half, rel=1e-5)


def test_mab_finds_what_holds_in_every_run(mab: Path) -> None:
    claims = {claim.name: claim.verdict for claim in read_claims(mab)}
    assert claims["mab-1"] == "yes"  # wrong with probability at most 0.05 a run, measured: never
    assert claims["mab-5"] == "no"  # every pull is an upload until N = 100
    assert claims["mab-6"] == "no"
    assert claims["mab-7"] == "yes"


def test_rows_keep_the_seed_of_their_instance(linear: Path) -> None:
    numbers = read(linear / "runs.csv")
    for row in numbers:
        assert int(row["instance_seed"]) == synthetic.instance_seed(int(row["seed"]), int(row["run"]))
    bound = next(row for row in numbers if row["method"] == "lower-bound" and row["gap"] == "0.1")
    problem = synthetic.linear(0.1, int(bound["instance_seed"])).problem
    assert float(bound["samples"]) == pytest.approx(lower_bound(problem))


def test_a_row_can_be_simulated_again(linear: Path) -> None:
    """A reviewer can take any row and run it with the public interface."""
    row = next(
        row
        for row in read(linear / "runs.csv")
        if (row["variant"], row["gap"], row["run"]) == ("falinpe", "0.5", "0")
    )
    problem = synthetic.linear(0.5, int(row["instance_seed"])).problem
    parameters = json.loads(row["parameters"])
    result = bestarm.simulate(problem, "falinpe", 10, runs=1, seed=int(row["seed"]), **parameters)
    assert result.samples.tolist() == [int(row["samples"])]
    assert result.communications.tolist() == [int(row["communications"])]


def test_hundred_films_go_beyond_the_dimension(movielens: Path) -> None:
    about = {row["name"]: row["value"] for row in read(movielens / "about.csv")}
    text = text_of(movielens / "report.html")
    assert about["movielens-10 ranks"] == "10 10"
    assert about["movielens-100 ranks"] == "25 25"
    assert "K = 10 ≤ d = 25" in text
    assert "K = 100 > d = 25" in text
    assert "falinpe picks arms greedily here" in text
    methods = {
        row["variant"] for row in read(movielens / "summary.csv") if row["experiment"] == "movielens-100"
    }
    assert {"falinpe selection=greedy", "sharp", "lingape", "sync-lingape", "lower-bound"} <= methods


def test_the_front_has_no_setting_that_another_beats(mab: Path) -> None:
    lines = read_numbers(mab).variants("mab", "famabpe", 0.1)
    best = front(lines)
    assert best
    for line in lines:
        beaten = any(
            other.samples <= line.samples and other.communications <= line.communications
            for other in lines
            if other is not line
        )
        assert (line in best) == (not beaten)


def test_a_second_call_runs_nothing_and_writes_the_same(mab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*piece: object) -> None:
        raise AssertionError(f"{piece} is run again")

    kept = {path: path.read_bytes() for path in mab.rglob("*") if path.is_file()}
    monkeypatch.setattr(work, "run_piece", refuse)
    api.reproduce(["mab"], mab, runs=4)
    assert {path: path.read_bytes() for path in mab.rglob("*") if path.is_file()} == kept


def test_the_command_prints_the_claims(mab: Path) -> None:
    arguments = ["mab", "--out", str(mab), "--runs", "4", "--jobs", "1"]
    table = CliRunner().invoke(app, arguments)
    assert table.exit_code == 0
    assert "mab-6" in table.stdout
    assert "report.html" in table.stdout
    found = json.loads(CliRunner().invoke(app, [*arguments, "--format", "json"]).stdout)
    assert [claim["name"] for claim in found["claims"]] == [claim.name for claim in read_claims(mab)]


def test_progress_ends_at_the_total(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "GAPS", (0.1,))
    told: list[tuple[str, float, float]] = []
    api.reproduce(["mab"], tmp_path, runs=1, progress=lambda *stage: told.append(stage))
    running = [(done, total) for stage, done, total in told if stage == "running"]
    assert running[0][0] == 0
    assert running[-1][0] == pytest.approx(running[-1][1])
    assert [done for done, _ in running] == sorted(done for done, _ in running)


@pytest.mark.parametrize(
    ("what", "given", "sentence"),
    [
        (["movielens"], {}, "GroupLens"),
        (["mab", "linear", "movielens"], {"data": Path("nowhere")}, "nowhere"),
        (["mab"], {"runs": 0}, "runs is 0"),
        (["mab"], {"jobs": 0}, "jobs is 0"),
        (["linear"], {"instance": "round"}, "random, orthogonal"),
        (["mice"], {}, "no experiment 'mice'"),
    ],
)
def test_mistakes_get_a_sentence_before_anything_is_run(
    tmp_path: Path, what: list[str], given: dict[str, object], sentence: str
) -> None:
    with pytest.raises(UserError, match=sentence):
        api.reproduce(what, tmp_path / "out", **given)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_an_out_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(UserError, match="can't be written"):
        api.reproduce(["mab"], tmp_path / "out", runs=1)


def test_what_an_earlier_version_left_behind_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "cells.jsonl").write_text(
        '\n{"key": "0a", "rows": [[0, null, 17.0, 0, 0, 0, true, "", true, false]]}\n'
    )
    with pytest.raises(UserError, match=r"cells\.jsonl: line 1 can't be read; delete the file to begin anew"):
        api.reproduce(["mab"], tmp_path, runs=1)


def test_the_orthogonal_instance_warns_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "GAPS", (0.1, 0.5))
    monkeypatch.setitem(plans.GAMMA1S, "linear", (1.0,))
    api.reproduce(["linear"], tmp_path, runs=2, instance="orthogonal")
    text = text_of(tmp_path / "report.html")
    assert "longer than the 1" in text
    assert "--instance orthogonal" in text
