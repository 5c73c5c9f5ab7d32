"""A study of bounded rewards from its first plan to its export: bets go with uploads, rewards stay at home."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path
from typing import Any

import pytest

from bestarm import Problem
from bestarm.client.lab import Lab
from bestarm.client.memory.journal import Journal
from bestarm.core.bets import BETS
from bestarm.service.view.exports.verify import verify

MEANS = {"A": 0.75, "B": 0.4, "C": 0.5}


@pytest.mark.parametrize("goal", ["highest", "lowest"])
def test_a_study_by_bets(world: Any, tmp_path: Path, goal: str) -> None:
    problem = Problem(list(MEANS), reward_range=[0.0, 1.0], goal=goal, name="yields")
    world.create(problem=problem.to_dict(), agents=2)
    token = world.token("yields", role="agent", agent="lab")
    chance = random.Random(3)
    while True:  # a new process for every handful: the journal is all that a site has
        lab = Lab(world.connect(token), Journal(tmp_path / "lab.db"), "yields")
        if not lab.joined:
            lab.sync()
        trials = lab.ask(7)
        for trial in reversed(trials):
            mean = MEANS[trial.arm] if goal == "highest" else 1 - MEANS[trial.arm]
            lab.tell(trial, chance.betavariate(8 * mean, 8 * (1 - mean)))
        finished = lab.finished
        lab.journal.close()
        if finished:
            break
    export = world.admin.call("GET", "/v1/studies/yields/export")
    assert verify(export).leader == "A"
    assert export["standing"]["arms"][1]["ruled_out"]
    tallies = [entry["tally"] for entry in export["entries"] if "tally" in entry]
    assert {len(row) for tally in tallies for row in tally.values()} == {3 + len(BETS)}, tallies[:3]
    assert any(row[2] == "A" and row[-1] > 0 for tally in tallies[1:] for row in tally.values())
    assert "betting" in export["test"]
    text = world.admin.send("GET", "/v1/studies/yields/export?format=csv").text
    lines = list(csv.DictReader(io.StringIO(text)))
    assert list(lines[0])[-len(BETS) - 1 :] == ["rival", *(f"bet_{bet}" for bet in BETS)]
    assert {line["rival"] for line in lines} > {"", "A"}
