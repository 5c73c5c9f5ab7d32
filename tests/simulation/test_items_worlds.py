"""Worlds with items: both engines agree, what is common cancels, and tables are read in both forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import bestarm as run_command

import bestarm
from bestarm.errors import UserError
from bestarm.simulation.worlds.environment import environment
from bestarm.simulation.worlds.table import read_table
from bestarm.simulation.worlds.world import World

MEANS = [0.7, 0.55, 0.4]
EFFECTS: dict[str, Any] = {"item_effects": 0.6, "item_interactions": 0.1}
TABLE = {
    "A": [0.9, 0.3, 0.6, 0.8, 0.5, 0.7],
    "B": [0.7, 0.2, 0.5, 0.7, 0.3, 0.6],
    "C": [0.6, 0.1, 0.2, 0.4, 0.3, 0.2],
}
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "normal": ({"means": MEANS}, {"noise": 0.1, "offsets": [0.5, -0.5], "drift": 0.2, **EFFECTS}),
    "heavy": ({"means": MEANS}, {"rewards": "heavy", "noise": 0.1, **EFFECTS}),
    "yes-no": ({"means": MEANS, "rewards": "yes-no"}, {"offsets": [0.3, -0.3], **EFFECTS}),
    "bounded": ({"means": MEANS, "reward_range": [0, 1]}, {"offsets": [0.05, -0.05], **EFFECTS}),
    "lowest": ({"means": MEANS, "goal": "lowest"}, {"noise": 0.1, **EFFECTS}),
    "table": ({}, {"table": TABLE, "offsets": [0.2, -0.2]}),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_both_engines_agree(kind: str) -> None:
    given, around = KINDS[kind]
    problem = bestarm.Problem(["A", "B", "C"], items=True, **given)
    shared: dict[str, Any] = {"agents": 2, "plate": 9, **around}
    events = bestarm.simulate(problem, runs=1_000, seed=1, **shared)
    rounds = bestarm.simulate(problem, runs=150, seed=2, engine="rounds", **shared)
    for field in ("samples", "communications", "unsent"):
        one, two = (getattr(result, field).astype(float) for result in (events, rounds))
        error = np.sqrt(one.var() / one.size + two.var() / two.size)
        assert abs(one.mean() - two.mean()) < 4 * error + 1e-9, field
    assert events.wrong + rounds.wrong < 20


@pytest.mark.parametrize("kind", ["yes-no", "bounded"])
def test_without_items_every_pull_is_on_another_one(kind: str) -> None:
    """The mean over items, and the variance that they bring; both are the same with items, arm by arm."""
    given, _ = KINDS[kind]
    found = {}
    for items in (True, False):
        problem = bestarm.Problem(["A", "B", "C"], items=items, **given)
        result = bestarm.simulate(problem, agents=2, runs=40, seed=3, engine="rounds", **EFFECTS)
        found[items] = float(result.samples.mean())
        assert result.wrong < 5
    assert found[True] < 1.5 * found[False]


def test_gaussian_items_without_items_are_noise() -> None:
    problem = bestarm.Problem(["A", "B"], means=[0.5, 0.4])
    world = environment(problem, World(noise=0.3, item_effects=0.4))
    assert world.spreads.tolist() == pytest.approx([0.5, 0.5])
    assert (world.common, world.apart) == (0.0, 0.0)


def test_a_table_with_a_row_an_item(tmp_path: Path) -> None:
    path = tmp_path / "yields.csv"
    path.write_text("substrate,A,B\ns1,0.9,0.7\ns2,0.3,0.2\n\ns3,0.6,0.5\n")
    assert read_table(path) == {"A": [0.9, 0.3, 0.6], "B": [0.7, 0.2, 0.5]}
    path.write_text("arm,value\nA,0.9\nB,0.7\nA,0.3\n")
    assert read_table(path) == {"A": [0.9, 0.3], "B": [0.7]}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item,A\ns1,1\n", "at least two arms"),
        ("item,A,A\ns1,1,2\n", "at least two arms"),
        ("item,A,\ns1,1,2\n", "at least two arms"),
        ("item,A,B\ns1,1\n", "line 2 has 2 cells; it must have 3"),
        ("item,A,B\ns1,1,2\ns1,1,2\n", "line 3: item 's1' is in the table twice"),
        ("item,A,B\ns1,1,\n", "line 2: B is ''; it must be a number"),
        ("item,A,B\ns1,1,nan\n", "line 2: B is 'nan'; it must be a number"),
        ("item,A,B\n", "there are no rewards below the header"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "yields.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=words):
        read_table(path)


def test_items_need_the_same_items_for_all_arms() -> None:
    problem = bestarm.Problem(["A", "B"], items=True)
    with pytest.raises(UserError, match="has not the same items for all arms"):
        bestarm.simulate(problem, runs=1, table={"A": [1.0, 2.0], "B": [1.0]}, engine="rounds")


def test_the_command_takes_tables_and_items(tmp_path: Path) -> None:
    path = tmp_path / "yields.csv"
    rows = zip(*TABLE.values(), strict=True)
    path.write_text("item,A,B,C\n" + "".join(f"s{k},{a},{b},{c}\n" for k, (a, b, c) in enumerate(rows)))
    words = ["--agents", "2", "--runs", "20", "--engine", "rounds", "--format", "json"]
    samples = {}
    for items in (True, False):
        done = run_command("simulate", "--table", str(path), *(["--items"] if items else []), *words)
        samples[items] = json.loads(done.stdout)["samples"]["mean"]
    assert samples[True] < samples[False] / 2
    (tmp_path / "p.toml").write_text('arms = ["A", "B", "C"]\n')
    said = run_command(
        "estimate", str(tmp_path / "p.toml"), "--pilot", str(path), "--agents", "2", "--runs", "2"
    ).stdout
    assert "times less variance" in " ".join(said.split())
    assert "With items = true up to about" in " ".join(said.split())
