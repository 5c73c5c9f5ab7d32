"""The parts of `benchmarks/field.py`: what is finished is kept, who gets fewer runs, what tables say."""

from __future__ import annotations

import importlib.util
from argparse import Namespace
from pathlib import Path

import pytest

import bestarm
from bestarm.comparison import NamedWorld

FILE = Path(__file__).parents[2] / "benchmarks" / "field.py"
spec = importlib.util.spec_from_file_location("benchmark_of_the_field", FILE)
assert spec is not None
assert spec.loader is not None
field = importlib.util.module_from_spec(spec)
spec.loader.exec_module(field)


def wanted(out: Path, worlds: str, methods: str, runs: int) -> Namespace:
    fixed = {"agents": 2, "seed": 0, "jobs": 1, "engine": "rounds", "out": out}
    return Namespace(worlds=worlds, methods=methods, runs=runs, **fixed)


def test_what_is_finished_is_kept(tmp_path: Path) -> None:
    asked, kept = wanted(tmp_path, "stairs,offsets", "sharp,uniform", 3), tmp_path / "field.runs.jsonl"
    first, lines = field.worlds(asked), kept.read_text().splitlines()
    assert field.worlds(asked) == first
    assert kept.read_text().splitlines() == lines
    kept.write_text("\n".join(lines[:2]) + "\n" + lines[2][: len(lines[2]) // 2])  # broken off in a line
    assert field.worlds(asked) == first
    assert kept.read_text().splitlines()[:2] == lines[:2]
    assert (tmp_path / "field.svg").stat().st_size > 1000
    assert "| sharp |" in first
    assert "| uniform | *" in first.split("sites differ")[1]  # it promises nothing where sites differ


def test_slow_pairs_get_fewer_runs() -> None:
    assert field.runs_of("stairs", "sharp", 1000) == 1000
    assert field.runs_of("linear", "ttts", 1000) == field.FEWEST
    assert field.runs_of("linear", "ttts", 5) == 5
    for (world, label), seconds in field.SECONDS.items():
        runs = field.runs_of(world, label, 1000)
        assert runs == field.FEWEST or seconds * runs / 1000 < 1.2 * field.PATIENCE


def test_messages_are_of_those_who_send_any(tmp_path: Path) -> None:
    said = field.worlds(wanted(tmp_path, "stairs,no-sigma", "famabpe,sharp,uniform", 2))
    head, _, *rows = said.split("## Messages\n\n")[1].splitlines()
    assert head == "| world | famabpe | sharp |"
    assert rows[0].startswith("| stairs | ")
    assert rows[1].startswith("| no-sigma | – | ")
    assert int(rows[1].split("|")[3]) > 0


def test_who_breaks_the_promise_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    close = bestarm.Problem.quick([0.5, 0.49], sigma=0.3, delta=0.05)
    monkeypatch.setattr(field, "WORLDS", {"close": NamedWorld("close", "two arms that are close", close)})
    monkeypatch.setattr(field, "TABLES", {"Close": ("close",)})
    monkeypatch.setattr(field, "CAPS", {"close": 600})
    said = field.worlds(wanted(tmp_path, "close", "peeking,uniform", 100))
    rows = {line.split(" | ")[0]: line for line in said.splitlines()}
    assert "**!**" in rows["| peeking"]
    assert "**!**" not in rows["| uniform"]
    assert "% wrong" in (tmp_path / "field.svg").read_text()
