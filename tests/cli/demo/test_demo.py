"""`bestarm demo --in-process`: what it says in the end, and the picture that every demo draws."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from command import Call, bestarm
from rich.console import Console

from bestarm.cli.demo.in_process import Show
from bestarm.cli.demo.problem import PROBLEM
from bestarm.cli.demo.view import AgentState, ArmState, Snapshot, line, picture
from bestarm.methods import method
from bestarm.problem import Problem
from bestarm.theory import bounds

ARMS = [
    ArmState("PPh3", 40, 0.55, 0.6, 0.65),
    ArmState("XPhos", 90, 0.7, 0.8, 0.9),
    ArmState("[dppf]", 0, math.nan, math.nan, math.nan),
]
AGENTS = [AgentState(f"lab-{m}", 4.0 - m, 3, 12, 30, 5) for m in range(3)]


HALFWAY = Snapshot(
    title="Which?",
    arms=ARMS,
    agents=AGENTS,
    leader="XPhos",
    challenger="PPh3",
    evidence=0.5,
    samples=130,
    communications=29,
    stopped=False,
    news="lab-0 sent one message.",
)


def drawn(what: Snapshot, width: int = 80) -> list[str]:
    """The picture as lines of text."""
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(picture(what, (0.5, 1.0)))
    return capture.get().splitlines()


def test_the_picture_has_the_odds_where_the_test_has_them() -> None:
    against = ("ruled out", "1 to 1 against", "12 to 1 against")
    arms = [replace(arm, against=words) for arm, words in zip(ARMS, against, strict=True)]
    lines = drawn(replace(HALFWAY, arms=arms))
    assert any("PPh3" in line and "ruled out" in line for line in lines)
    assert any("[dppf]" in line and "12 to 1 against" in line for line in lines)
    assert not any("against" in line for line in drawn(HALFWAY))


def test_without_a_terminal_it_is_lines_that_end_with_the_verdict() -> None:
    process = bestarm("demo", "--in-process")
    assert (process.returncode, process.stderr) == (0, "")
    assert "\x1b" not in process.stdout
    lines = process.stdout.splitlines()
    verdict = lines.index("Verdict: XPhos is the best.")
    assert all(text.startswith("samples ") for text in lines[1:verdict])
    assert "evidence 100 %" in lines[verdict - 1]
    assert lines[verdict + 1].startswith("Guarantee: of many such studies at most 5 % end with a wrong answer")
    costs = "\n".join(lines[verdict:])
    theory = bounds(Problem.from_toml(PROBLEM), "famabpe", 10)
    assert theory is not None
    assert theory.samples is not None
    for words in (
        "sharp, this run",
        "famabpe, one simulated run",
        f"{theory.samples:,.0f}",
        f"{theory.lower:,.0f}",
    ):
        assert words in costs


def test_json(call: Call) -> None:
    code, printed, errors = call(
        "demo", "--in-process", "--method", "famabpe", "--seed", "4", "--agents", "3", "--format", "json"
    )
    assert (code, errors) == (0, "")
    found = json.loads(printed)
    assert (found["method"], found["agents"], found["seed"], found["arm"]) == ("famabpe", 3, 4, "XPhos")
    assert found["other"]["method"] == "sharp"
    assert found["samples"] < found["famabpe_bounds"]["samples"]


@pytest.mark.parametrize("agents", [1, 30])
def test_any_number_of_agents(agents: int) -> None:
    show = Show(method("sharp", Problem.from_toml(PROBLEM), agents), seed=1)
    federation = show.run_through()
    assert federation.server.verdict.arm == "XPhos"
    assert federation.samples == 5 + sum(federation.samples_of)
    assert federation.communications == 2 * len(federation.server.log) - 1
    picture_of_it = drawn(federation.snapshot("Which?"))
    assert any("and 20 more" in text for text in picture_of_it) == (agents == 30)


def test_the_course_depends_on_the_seed_alone() -> None:
    built = method("sharp", Problem.from_toml(PROBLEM), 10)
    first, again, other = (Show(built, seed).run_through() for seed in (1, 1, 2))
    assert first.server.total == again.server.total
    assert first.server.total != other.server.total


def test_the_picture_fits_a_small_terminal() -> None:
    federation = Show(method("sharp", Problem.from_toml(PROBLEM), 10), seed=0).run_through()
    text = drawn(federation.snapshot("Which?"))
    assert len(text) <= 23
    assert {len(row) for row in text} == {80}


def test_leader_challenger_evidence_and_plans() -> None:
    rows = drawn(HALFWAY)
    text = "\n".join(rows)
    (leader,) = (row for row in rows if "XPhos" in row)
    (challenger,) = (row for row in rows if "PPh3" in row)
    assert "leader" in leader
    assert "0.800" in leader
    assert "challenger" in challenger
    assert leader.index("●") > challenger.index("●")
    assert leader.index("├") < leader.index("●") < leader.index("┤")
    (unknown,) = (row for row in rows if "[dppf]" in row)
    assert "?" in unknown
    (evidence,) = (row for row in rows if "evidence" in row)
    assert "50 %" in evidence
    assert abs(evidence.count("█") - evidence.count("░")) <= 1
    assert text.count("3/12") == 3
    assert "samples 130" in text
    assert "lab-0 sent one message." in text


@pytest.mark.parametrize("away", ["killed", "gone"])
def test_a_lab_that_is_away_says_why(away: str) -> None:
    rows = drawn(replace(HALFWAY, agents=[AGENTS[0], replace(AGENTS[1], away=away)]))
    (row,) = (row for row in rows if "lab-1" in row)
    assert away in row
    assert "3/12" in row


def test_in_the_end_there_is_a_best_arm_and_no_challenger() -> None:
    text = "\n".join(drawn(replace(HALFWAY, stopped=True, evidence=1.2)))
    assert "best" in text
    assert "challenger" not in text
    assert "100 %" in text


@pytest.mark.parametrize("width", [40, 200])
def test_narrow_and_wide(width: int) -> None:
    assert {len(row) for row in drawn(HALFWAY, width)} == {width}


def test_what_lies_outside_of_the_range_reaches_its_end() -> None:
    wide = ArmState("XPhos", 1, -3.0, 0.75, 4.0)
    (row,) = (row for row in drawn(replace(HALFWAY, arms=[wide])) if "XPhos" in row)
    assert "├" not in row
    assert "┤" not in row
    assert row.count("─") > 30


def test_a_snapshot_as_a_line() -> None:
    assert "evidence  50 %" in line(HALFWAY)
    assert "evidence  99 %" in line(replace(HALFWAY, evidence=0.998))
    assert "evidence 100 %" in line(replace(HALFWAY, evidence=1.3))
