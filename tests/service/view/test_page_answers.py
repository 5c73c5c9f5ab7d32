"""What the page answers: who is out, what can be said today, how much better, why it fell, what happened."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ledgers import Followed

import bestarm
from bestarm.core.tally import Tally
from bestarm.intervals import intervals
from bestarm.pictures import standing_picture
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Close, Correction, Entry, Join, Upload
from bestarm.service.storage import clock
from bestarm.service.storage.study.overview import Charter
from bestarm.service.view.said.remaining import pace
from bestarm.service.view.status import status
from bestarm.shown import best_first, share, so_far

START = datetime(2027, 1, 4, 8, 0, tzinfo=UTC)
MEANS = {"A": 0.9, "B": 0.6, "C": 0.3}


class Told:
    """A study whose log a test writes by hand; an hour passes before every entry."""

    def __init__(self, method: str = "sharp", **fields: Any) -> None:
        self.problem = bestarm.Problem(list(MEANS), name="told", **fields)
        self.method = bestarm.method(method, self.problem, 2)
        charter = Charter(1, "told", self.problem, self.method, clock.write(START))
        self.followed = Followed(charter)
        self.ledger = self.followed.ledger
        self.now = START
        self.sequences: dict[str, int] = {}
        self.chance = random.Random(7)

    def add(self, entry: Entry) -> None:
        self.now += timedelta(hours=1)
        self.followed.append(entry, clock.write(self.now), 10, 6)

    def tally(self, **rewards: list[float]) -> Tally:
        rows = {
            list(MEANS).index(arm): (len(found), sum(found), sum(x * x for x in found))
            for arm, found in rewards.items()
        }
        kept = rows if self.method.squares else {arm: row[:2] for arm, row in rows.items()}
        return Tally.from_rows(kept, len(self.ledger.server.arms))

    def upload(self, agent: str, **rewards: list[float]) -> None:
        if agent not in self.sequences:
            self.add(Join(agent))
        self.sequences[agent] = self.sequences.get(agent, 0) + 1
        self.add(Upload(self.problem.fingerprint, agent, self.sequences[agent], self.tally(**rewards)))

    def work(self, agent: str, n: int = 6, **shift: float) -> None:
        rewards = {
            arm: [mean + shift.get(arm, 0.0) + self.chance.gauss(0.0, 0.2) for _ in range(n)]
            for arm, mean in MEANS.items()
        }
        self.upload(agent, **rewards)

    def shown(self, later: timedelta = timedelta(0)) -> dict[str, Any]:
        return status(self.followed.overview(), self.now + later, 86_400.0)

    def answers(self) -> dict[str, Any]:
        found: dict[str, Any] = self.shown()["answers"]
        return found


def test_a_study_without_data_says_so_and_nothing_more() -> None:
    found = Told(budget=200, deadline="2027-01-31").answers()
    assert found["ruled_out"] == "None of the 3 arms is ruled out yet."
    assert found["stopping_now"] == "Nothing was measured yet."
    assert (found["better"], found["changes"], found["agreement"], found["lately"]) == ("", [], None, [])
    assert [one["sentence"] for one in found["limits"]] == [
        "0 of 200 samples used, 200 left.",
        "2027-01-31: 27 days left.",
    ]


def test_who_is_ruled_out_and_what_can_be_said_today() -> None:
    told = Told()
    for turn in range(3):
        told.work(f"lab-{turn % 2}")
    found = told.answers()
    assert found["ruled_out"] == "1 of 3 is ruled out: C; 2 can still be the best."
    assert found["stopping_now"].startswith("A is the best, except with probability at most ")
    assert found["stopping_now"].endswith(" Ruled out: C.")


def test_how_much_better_than_the_control_with_an_interval() -> None:
    told = Told(control="C")
    for turn in range(4):
        told.work(f"lab-{turn % 2}")
    said = told.answers()["better"]
    assert said.startswith("A is above C, the control, by 0.")
    difference = next(one for one in told.shown()["differences"] if one["role"] == "control")["arms"][0]
    assert said.endswith(f"({difference['low']:.3g} to {difference['high']:.3g}).")


def test_a_winner_whose_interval_still_has_0_is_said_to_be_settled_by_the_test() -> None:
    told = Told(rewards="yes-no", control="B")
    while not told.shown()["verdict"]["stopped"]:
        rates = {"A": 90, "B": 60, "C": 30}
        told.upload("lab-0", **{arm: [1.0] * ones + [0.0] * (2000 - ones) for arm, ones in rates.items()})
    found = next(one for one in told.shown()["differences"] if one["role"] == "control")
    row = found["arms"][0]
    apart = f"{row['difference']:.3g} ({row['low']:.3g} to {row['high']:.3g})"
    assert row["low"] < 0.0 < row["high"]  # it allows for the largest noise that 0 and 1 can have
    assert told.answers()["better"] == (
        f"A is above B, the control, by {apart}; that it is above was settled by the study's test, which "
        "makes more of the same data than this interval."
    )
    assert "an arm may be ruled out while its interval still has 0 in it." in found["sentence"]


@pytest.mark.parametrize("goal", ["highest", "lowest"])
def test_means_are_on_the_level_of_all_rewards(goal: str) -> None:
    told = Told(goal=goal)
    told.work("lab-0", A=5.0, B=5.0, C=5.0)  # the first batch is far above all others
    for turn in range(3):
        told.work("lab-1", n=8 + turn)
    overview = told.followed.overview()
    found = {arm["arm"]: arm for arm in told.shown()["arms"]}
    rewards = overview.total.reward_sums.sum() / overview.total.samples
    pulls = sum(arm["pulls"] for arm in found.values())
    assert sum(arm["pulls"] * arm["mean"] for arm in found.values()) / pulls == pytest.approx(rewards)
    first, _, last = (one.mean or 0.0 for one in intervals(told.method, overview.known))
    assert first > 4.0  # on the level of the first batch
    assert found["A"]["mean"] - found["C"]["mean"] == pytest.approx(first - last)


def test_means_of_the_arms_that_are_left() -> None:
    told = Told()
    for agent in ("lab-0", "lab-1"):
        told.work(agent)
    told.add(ArmWithdrawn("w1", "admin 7f", "B", "gone"))
    assert [arm["arm"] for arm in told.shown()["arms"]] == ["A", "C"]


def test_without_a_control_it_is_the_next_best() -> None:
    told = Told()
    for turn in range(5):
        told.work(f"lab-{turn % 2}")
    said = told.answers()["better"]
    assert said.startswith(("A is ahead of B, the next best, by ", "A is above B, the next best, by "))


def test_a_fall_is_explained_by_the_batch_that_made_it() -> None:
    told = Told()
    for turn in range(3):
        told.work(f"lab-{turn % 2}")
    before = told.shown()["progress"]
    told.upload("lab-1", A=[0.5, 0.6, 0.4], B=[0.9, 0.8, 1.0])
    after = told.shown()["progress"]
    assert told.answers()["changes"][0] == (
        f"With batch 2 of lab-1 the evidence fell from {before} to {after}: "
        "in it B (0.9) did better than A (0.5)."
    )
    told.work("lab-0")
    last, fall = told.answers()["changes"]
    assert last.startswith("With batch 3 of lab-0 the evidence rose from ")
    assert fall.startswith("Before that: With batch 2 of lab-1 the evidence fell")


def test_means_that_explain_a_fall_can_be_told_apart() -> None:
    told = Told()
    for turn in range(3):
        told.work(f"lab-{turn % 2}", A=295.0, B=295.0, C=295.0)
    told.upload("lab-1", A=[295.5, 295.6, 295.4], B=[295.9, 295.8, 296.0])
    assert told.answers()["changes"][0].endswith(": in it B (295.9) did better than A (295.5).")


def test_what_a_correction_has_unsettled_is_not_called_settled() -> None:
    told = Told(control="B")
    while not told.shown()["verdict"]["stopped"]:
        told.work("lab-0")
    swapped = told.tally(A=[0.55, 0.95] * 3, B=[0.95, 0.55] * 3, C=[0.1, 0.5] * 3)
    for sequence in (1, 2, 3):
        told.add(Correction(f"c{sequence}", "admin 7f", "lab-0", sequence, swapped, "swapped"))
    found = told.shown()
    assert "nothing would be settled" in found["end"]["later"]
    assert "settled by" not in found["answers"]["better"]


def test_no_end_is_foreseen_while_rewards_never_differ() -> None:
    told = Told()
    for _ in range(6):
        told.upload("lab-0", A=[3.0] * 4, B=[2.0] * 4, C=[1.0] * 4)
    found = told.shown()
    assert found["standing"]["sentence"].endswith("if they never do, nothing needs to be tried again.")
    assert found["remaining"] is None
    assert "to go" not in so_far(found)


def test_a_change_by_hand_is_explained_by_what_was_done() -> None:
    told = Told()
    for turn in range(3):
        told.work(f"lab-{turn % 2}")
    before = told.shown()["progress"]
    swapped = told.tally(A=[0.55, 0.95] * 3, B=[0.95, 0.55] * 3, C=[0.1, 0.5] * 3)
    told.add(Correction("c1", "admin 7f", "lab-0", 2, swapped, "swapped"))
    after = told.shown()["progress"]
    assert told.answers()["changes"][0] == (
        f"Batch 2 of lab-0 was corrected (swapped). With that the evidence fell from {before} to {after}."
    )
    told.add(ArmAdded("a1", "admin 7f", "D", None, "a new one"))
    assert "D was added (a new one). With that the evidence fell" in told.answers()["changes"][0]


def test_what_happened_lately_is_in_order_and_says_who() -> None:
    told = Told()
    told.work("lab-0")
    told.add(ArmWithdrawn("w1", "admin 7f", "C", "sold out"))
    told.work("lab-1")
    told.add(Close("x1", "admin 7f", reason="enough"))
    found = told.answers()["lately"]
    assert [one["sentence"] for one in found] == [
        "The study was closed (enough).",
        "lab-1 joined.",
        "C was withdrawn (sold out).",
        "lab-0 joined.",
    ]
    assert [one["by"] for one in found] == ["admin 7f", "lab-1", "admin 7f", "lab-0"]
    assert told.answers()["stopping_now"] == told.shown()["end"]["said"]


def test_sites_agree_or_not() -> None:
    told = Told()
    for turn in range(10):
        told.work(f"lab-{turn % 3}", n=3)
    found = told.answers()["agreement"]
    assert (found["leader"], found["other"]) == ("A", "B")
    assert [one["site"] for one in found["sites"]] == ["lab-0", "lab-1", "lab-2"]
    assert all(one["low"] < one["difference"] < one["high"] for one in found["sites"])
    assert found["sentence"] == "A is ahead of B at all 3 sites that tried both."
    told.work("lab-3", n=12, A=-0.6)
    assert told.answers()["agreement"]["sentence"] == (
        "A is ahead of B at 3 of 4 sites; at lab-3 it is behind, by more than chance mostly explains."
    )


def test_sites_that_are_alike_are_not_compared() -> None:
    told = Told(sites="alike")
    for turn in range(4):
        told.work(f"lab-{turn % 2}")
    found = told.answers()
    assert found["agreement"] is None
    assert found["better"].startswith("A has 0.")


def test_what_a_site_is_asked_and_since_when() -> None:
    told = Told()
    told.work("lab-0")
    (site,) = told.shown()["sites"]
    assert (site["asked"], site["plan"]) == ("6 trials", 6)
    assert site["asked_at"] == clock.write(told.now)
    assert site["joined_at"] == clock.write(told.now - timedelta(hours=1))
    told.add(Close("x1", "admin 7f"))
    (site,) = told.shown()["sites"]
    assert (site["asked"], site["asked_at"]) == ("nothing any more", None)


def test_the_arms_are_ranked_by_what_is_shown_and_the_challenger_has_no_seat_of_its_own() -> None:
    means = {"D": 0.1, "C": None, "A": 0.7, "B": 0.8}
    found: dict[str, Any] = {
        "problem": {},
        "differences": [],
        "verdict": {"leader": "A", "challenger": "D"},
        "arms": [{"arm": name, "mean": mean, "pulls": 9} for name, mean in means.items()],
    }
    assert [found["arms"][k]["arm"] for k in best_first(found)] == ["A", "B", "D", "C"]
    told = Told()
    for turn in range(4):
        told.work(f"lab-{turn % 2}")
    assert [arm["rank"] for arm in told.shown()["arms"]] == [1, 2, 3]


def test_the_late_end_counts_on_the_slower_of_two_paces() -> None:
    told = Told()
    for turn in range(6):
        told.work(f"lab-{turn % 2}", n=2)
    idle = told.shown(timedelta(days=3))["remaining"]
    at_once = told.shown()["remaining"]
    assert idle["seconds"]["low"] > at_once["seconds"]["low"]
    overview = told.ledger.overview({})
    paces = pace(overview.history, told.now)
    assert paces is not None
    assert at_once["seconds"] == {
        "low": at_once["low"] / max(paces),
        "high": at_once["high"] / min(paces),
    }
    assert Told().shown()["remaining"] is None


def test_nothing_is_foreseen_while_hardly_anybody_said_yes() -> None:
    told = Told(rewards="yes-no")
    hundred = [1.0] * 3 + [0.0] * 97
    told.upload("lab-a", A=hundred[3:], B=hundred[3:], C=hundred[3:])
    told.upload("lab-a", A=[*hundred, 1.0], B=hundred, C=hundred[1:])
    found = told.shown()
    assert found["verdict"]["evidence"] > 0.0
    assert found["remaining"] is None
    assert "to go" not in so_far(found)
    told.upload("lab-a", A=hundred, B=hundred, C=hundred)
    assert told.shown()["remaining"]["low"] > 0


@pytest.mark.parametrize("fields", [{}, {"rewards": "yes-no"}, {"rewards": "bounded", "reward_range": [0, 1]}])
def test_a_first_batch_is_no_evidence_however_large_it_is(fields: dict[str, Any]) -> None:
    """It names the rivals of the next; what steers until then is a guess, which grows with the samples."""
    told = Told(**fields)
    told.upload("lab-a", **{arm: [0.0, 1.0] * 100 for arm in MEANS})
    found = told.shown()
    assert found["samples"] == 600
    assert (found["verdict"]["evidence"], found["progress"], found["remaining"]) == (0.0, "0 %", None)
    assert found["standing"]["error"] == 1.0
    told.upload("lab-a", A=[0.0, 1.0, 1.0] * 60, B=[0.0, 1.0] * 90, C=[0.0, 1.0] * 90)
    assert told.shown()["verdict"]["evidence"] > 0.0


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (0.52, "A (0.52) was less far ahead of B (0.5) than before."),
        (0.9, "A (0.9) was ahead of B (0.5), and yet more is needed than it seemed."),
    ],
)
def test_only_what_is_so_explains_a_fall(first: float, said: str) -> None:
    """The scatter is measured: where it turns out larger, the evidence falls though the leader did well."""
    told = Told()
    for _ in range(2):
        told.upload("lab-a", A=[0.7, 0.5] * 3, B=[0.6, 0.4] * 3, C=[0.3, 0.1] * 3)
    told.upload("lab-b", A=[first + 2.0, first - 2.0] * 3, B=[2.5, -1.5] * 3, C=[2.2, -1.8] * 3)
    assert told.answers()["changes"][0].endswith(f": in it {said}")


def test_a_leader_that_is_behind_where_both_were_is_not_said_to_be_better() -> None:
    told = Told()
    told.upload("lab-a", A=[0.9, 0.8] * 6, B=[0.5, 0.4] * 6, C=[0.3, 0.1] * 6)
    told.upload("lab-b", A=[0.5, 0.4] * 3, B=[0.6, 0.4] * 3, C=[0.3, 0.1] * 3)
    assert told.answers()["better"].startswith(
        "A is below B, the next best, by 0.05 in the batches that had both, though all batches together put it "
        "in front; nothing is sure yet, from -0."
    )


@pytest.mark.parametrize(("budget", "word"), [(60, "will"), (90, "may"), (100_000, "")])
def test_it_is_said_when_the_budget_comes_first(budget: int, word: str) -> None:
    told = Told(budget=budget)
    for turn in range(3):
        told.work(f"lab-{turn % 2}")
    before = told.shown()["remaining"]["before"]
    assert before == (f"The budget {word} be used up before that." if word else "")


def test_one_rounding() -> None:
    told = Told()
    for turn in range(3):
        told.work(f"lab-{turn % 2}")
    found = told.shown()
    assert found["progress"] == share(found["verdict"]["evidence"])
    assert f"with {found['progress']} of the evidence" in str(told.ledger.server.verdict)


def test_a_picture_has_arms_with_nothing_against_them_in_the_order_of_the_table() -> None:
    arms = [
        {"arm": arm, "odds": odds, "words": ""}
        for arm, odds in (("C", 0.5), ("D", 30.0), ("B", 0.9), ("A", 0.7))
    ]
    standing = {"arms": arms, "leader": "A", "error": 1.0, "needed": 20.0, "line": "20 to 1 rules out"}
    drawn = standing_picture(standing, [3, 2, 0, 1])
    assert re.findall(">([A-D])<", drawn) == ["A", "B", "C", "D"]
