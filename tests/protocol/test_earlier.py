"""Earlier data become what the sites would have sent, bit for bit; what can't be meant is refused."""

from __future__ import annotations

from typing import Any

import pytest

import bestarm
from bestarm.core.tally import Tally
from bestarm.earlier import ON_ITEMS, REWARDS, SQUARES, SUMS, Earlier
from bestarm.errors import UserError
from bestarm.names import RULE
from bestarm.protocol.agent import Agent
from bestarm.protocol.server import Server
from bestarm.protocol.terms import Terms

PROBLEM = bestarm.Problem(["A", "B", "C"])
KNOWN = bestarm.Problem(["A", "B", "C"], sigma=0.3)
BOUNDED = bestarm.Problem(["A", "B", "C"], reward_range=[0, 1])
ITEMS = bestarm.Problem(["A", "B"], items=True)


def read(columns: tuple[str, ...], text: str, problem: bestarm.Problem = PROBLEM) -> Earlier:
    rows = [line.split(",") for line in text.split()]
    return Earlier.of(columns, list(enumerate(rows, 2)), problem)


def sharp(problem: bestarm.Problem) -> Any:
    return bestarm.method("sharp", problem, agents=2)


RAW = "a,1,A,0.5 a,1,B,0.25 a,1,A,1.0 b,x,C,0.125 b,x,A,0.5 a,2,B,0.75"


def test_single_rewards_are_summed_up_by_site_and_batch() -> None:
    found = read(REWARDS, RAW).uploads(sharp(PROBLEM))
    assert [(upload.agent, upload.sequence) for upload in found] == [
        ("a.earlier", 1),
        ("b.earlier", 1),
        ("a.earlier", 2),
    ]
    assert found[0].tally.to_json(PROBLEM.arms) == {"A": [2, 1.5, 1.25], "B": [1, 0.25, 0.0625]}
    assert found[2].tally == Tally.of([0, 1, 0], [0.0, 0.75, 0.0], [0.0, 0.5625, 0.0])


def test_sums_are_the_same_as_the_rewards_that_they_are_the_sums_of() -> None:
    sums = "a,1,A,2,1.5,1.25 a,1,B,1,0.25,0.0625 b,x,C,1,0.125,0.015625 b,x,A,1,0.5,0.25 a,2,B,1,0.75,0.5625"
    assert read(SQUARES, sums).uploads(sharp(PROBLEM)) == read(REWARDS, RAW).uploads(sharp(PROBLEM))
    plain = " ".join(line.rpartition(",")[0] for line in sums.split())
    without = read(SUMS, plain, KNOWN).uploads(sharp(KNOWN))
    assert without == read(SQUARES, sums, KNOWN).uploads(sharp(KNOWN))  # squares that nobody asks for
    assert without == read(REWARDS, RAW, KNOWN).uploads(sharp(KNOWN))


def test_where_a_test_bets_the_rival_is_the_one_that_the_plan_would_have_named() -> None:
    """It is named from the batches before, never from its own."""
    method = sharp(BOUNDED)
    server, agent = Server(method), Agent(Terms.of(method), "a.earlier")
    told, sent = [], []
    for number in range(6):
        plan = method.with_rivals(server.state, method.make(server.state))
        agent.start(plan)
        for trial in agent.ask(1000):
            reward = {"A": 0.75, "B": 0.5, "C": 0.25}[trial.arm]
            told.append(f"a,{number},{trial.arm},{reward}")
            if (upload := agent.tell(trial, reward)) is not None:
                sent.append(upload)
                server.append(upload)
    found = read(REWARDS, " ".join(told), BOUNDED).uploads(method)
    assert found == sent
    assert any(rival >= 0 for upload in found for rival in upload.tally.rivals)


def test_items_are_paired() -> None:
    rows = "a,1,s1,A,1.0 a,1,s1,B,0.5 a,1,s2,B,0.25 a,1,s2,A,0.5 a,2,s3,A,1.0 a,2,s3,B,0.0"
    found = read(ON_ITEMS, rows, ITEMS).uploads(sharp(ITEMS))
    assert [upload.tally.counts.tolist() for upload in found] == [[2, 2], [1, 1]]
    duels = found[1].tally.duels  # A led after the first batch, and is B's rival
    assert duels[1] == (0, [1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("columns", "row", "sentence"),
    [
        (REWARDS, "a,1,A", "it has 3 cells; it must have 4, like the header."),
        (
            REWARDS,
            "lab/a,1,A,0.5",
            f"site is 'lab/a'; it must be {RULE}.",
        ),
        (REWARDS, f"{'x' * 60},1,A,0.5", "the agent of earlier data is 'xxxx"),
        (REWARDS, ",1,A,0.5", "site is ''"),
        (REWARDS, "a,,A,0.5", "batch is empty; every line must have one."),
        (REWARDS, "a,1,,0.5", "arm is empty; every line must have one."),
        (ON_ITEMS, "a,1,,A,0.5", "item is empty; every line must have one."),
        (REWARDS, "a,1,D,0.5", "arm is 'D', which the problem does not have."),
        (REWARDS, "a,1,A,high", "reward is 'high'; it must be a number."),
        (REWARDS, "a,1,A,nan", "reward is 'nan'; it must be a number."),
        (REWARDS, "a,1,A,1_0", "reward is '1_0'; it must be a number."),
        (REWARDS, "a,1,A,84", "reward is 84.0; it must be a number from 0.0 to 1.0, the reward_range."),
        (SUMS, "a,1,A,0,0", "pulls is 0.0; it must be a whole number of at least 1."),
        (SUMS, "a,1,A,2.5,1", "pulls is 2.5; it must be a whole number of at least 1."),
        (SUMS, "a,1,A,2,inf", "sum is 'inf'; it must be a number."),
        (SQUARES, "a,1,A,2,1,0.1", "squares is 0.1; 2 rewards with the sum 1 have at least 0.5."),
    ],
)
def test_a_line_that_can_not_be_meant_is_refused(columns: tuple[str, ...], row: str, sentence: str) -> None:
    first = {REWARDS: "a,1,B,0.5", ON_ITEMS: "a,1,s,B,0.5", SUMS: "a,1,B,1,0.5", SQUARES: "a,1,B,1,0.5,0.25"}
    found = read(columns, f"{first[columns]} {row}", BOUNDED)
    ((line, said),) = found.refused
    assert line == 3
    assert sentence in said
    with pytest.raises(UserError, match=r"^line 3: "):
        found.uploads(sharp(BOUNDED))


@pytest.mark.parametrize(
    ("columns", "rows", "problem", "sentence"),
    [
        (SUMS, "a,1,A,1,0.5 a,1,A,1,0.5", KNOWN, "arm 'A' is in batch '1' of site 'a' already, on line 2."),
        (ON_ITEMS, "a,1,s,A,1 a,1,s,A,1", ITEMS, "arm 'A' is in batch '1' of site 'a' on item 's' already"),
        (SUMS, "a,1,A,1,0.5", BOUNDED, "the test betting looks at single rewards, and sums do not have them"),
        (
            SUMS,
            "a,1,A,1,0.5",
            PROBLEM,
            "the test rule-out measures how much rewards scatter; give",
        ),
        (SUMS, "a,1,A,1,0.5", ITEMS, "items is true; earlier data must have site,batch,item,arm,reward."),
        (ON_ITEMS, "a,1,s,A,1", PROBLEM, "items is false; earlier data must have no column item."),
        (ON_ITEMS, "a,1,s,A,1 a,1,s,B,1 a,1,t,A,1", ITEMS, "item 't' was tried with 1 of the batch's 2 arms"),
        (("site", "arm"), "a,A", PROBLEM, "line 1 is 'site,arm'; the columns must be site,batch,arm,reward or"),
    ],
)
def test_data_that_do_not_fit_the_study_are_refused(
    columns: tuple[str, ...], rows: str, problem: bestarm.Problem, sentence: str
) -> None:
    with pytest.raises(UserError) as error:
        read(columns, rows, problem).uploads(sharp(problem))
    assert sentence in str(error.value)
