"""The bench's modules, in a real browser, beside the package's: the same table, bits, sentences and wells."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from bench import evaluate
from playwright.sync_api import Browser, Page
from serving import Process

from bestarm import Problem, UserError, method
from bestarm.client.items import MOST_ITEMS, Items, checked_items
from bestarm.client.memory.past import counts_as
from bestarm.client.sheets import worksheet
from bestarm.core.plan import Plan
from bestarm.doubt import question
from bestarm.protocol.agent import TRANSITIONS, Agent
from bestarm.protocol.messages import plan_to_json
from bestarm.protocol.terms import Terms
from bestarm.service.view.checks import checks_of
from bestarm.wells import LAYOUTS, place_of

ARMS = ["A", "B", "it's", "D"]
PROBLEMS = {
    "squares": Problem(ARMS, name="squares"),
    "sigma": Problem(ARMS, name="sigma", sigma=0.3),
    "bets": Problem(ARMS, name="bets", reward_range=[0, 1]),
    "yes-no": Problem(ARMS, name="yes-no", rewards="yes-no"),
    "items": Problem(ARMS, name="items", items=True),
    "item-bets": Problem(ARMS, name="item-bets", items=True, reward_range=[-1, 3]),
    "lowest": Problem(ARMS, name="lowest", items=True, goal="lowest"),
}


@pytest.fixture(scope="module")
def page(browser: Browser, server: Process) -> Iterator[Page]:
    opened = browser.new_page()
    opened.goto(server.url)
    yield opened
    opened.close()


def test_the_table_of_states_is_the_agents_own(page: Page) -> None:
    theirs = evaluate(page, "agent", "return agent.TRANSITIONS")
    assert theirs == {f"{state.name} {event.name}": after.name for (state, event), after in TRANSITIONS.items()}


WORK = """
const { terms, checks, plan, steps, chances } = given;
const site = agent.fresh(terms, "lab-a", checks.bets);
agent.receive(site, { kind: "download", problem: terms.fingerprint, plan });
const seen = [];
for (const [verb, ...rest] of steps) {
  if (verb === "ask") seen.push(agent.ask(site, rest[0], (number) => chances[number]));
  const open = agent.openTrials(site);
  if (verb === "tell" && open.length) agent.tell(site, open[rest[0] % open.length].trial, { reward: rest[1] });
  if (verb === "back" && open.length) agent.giveBack(site, open[rest[0] % open.length].trial);
  if (verb === "drop") agent.drop(site, [rest[0]]);
  if (verb === "leave") [...site.batches].forEach((batch) => agent.closeBatch(site, batch));
}
return [site.state, seen, site.uploads.map(({ body }) => body), agent.toHandOut(site)];
"""


def python_work(
    terms: Terms, plan: Plan, steps: list[list[Any]], chances: list[float]
) -> tuple[str, list[Any], list[Any], int]:
    agent = Agent(terms, "lab-a", chances.__getitem__)
    agent.start(plan)
    seen = []
    for verb, *rest in steps:
        if verb == "ask":
            trials = agent.ask(rest[0])
            seen.append([{"trial": t.number, "arm": t.arm, "item": t.item or 0} for t in trials])
        firsts = sorted(agent.batches)
        open_now = [n for first in firsts for n in agent.open if agent.batch_of(n) == first]
        if verb == "tell" and open_now:
            agent.tell(open_now[rest[0] % len(open_now)], rest[1])
        elif verb == "back" and open_now:
            agent.give_back(open_now[rest[0] % len(open_now)])
        elif verb == "drop":
            for first in list(agent.batches):
                agent.drop(first, terms.arms.index(rest[0]))
            agent.leave_out([terms.arms.index(rest[0])])
        elif verb == "leave":
            for first in list(agent.batches):
                agent.close_batch(first)
    uploads = [upload.to_json(terms.arms) for upload in agent.uploads]
    return agent.state.name, seen, uploads, agent.to_hand_out


@pytest.mark.parametrize("kind", PROBLEMS)
def test_the_same_plan_and_rewards_give_the_same_trials_and_the_same_bits(kind: str, page: Page) -> None:
    problem = PROBLEMS[kind]
    terms = Terms.of(method("sharp", problem, agents=2))
    for seed in range(12):
        chance = random.Random(f"{kind} {seed}")
        arms = chance.sample(range(len(ARMS)), chance.randint(2, len(ARMS)))
        counts = [chance.randint(1, 6) if not problem.items else 4 for _ in arms]
        rivals = tuple(chance.choice([*(b for b in arms if b != a), -1]) for a in arms)
        plan = Plan(tuple(arms), tuple(counts), rivals if terms.bets or terms.pairs else ())
        steps: list[list[Any]] = []
        for _ in range(60):
            verb = chance.choices(["ask", "tell", "back", "drop"], [3, 8, 1, 0.1])[0]
            low, high = problem.reward_range or (-9.0, 20.0)
            reward = chance.uniform(low, high) if kind != "yes-no" else float(chance.random() < 0.5)
            rest: list[Any] = [chance.randrange(99), reward]
            if verb == "ask":
                rest = [chance.randint(1, 7)]
            elif verb == "drop":
                rest = [chance.choice(ARMS)]
            steps.append([verb, *rest])
        steps.append(["leave"])
        chances = [chance.random() for _ in range(200)]
        given = {
            "terms": terms.to_json(),
            "checks": checks_of(terms),
            "plan": plan_to_json(plan, terms.arms),
            "steps": steps,
            "chances": chances,
        }
        state, seen, uploads, left = python_work(terms, plan, steps, chances)
        theirs = evaluate(page, "agent", WORK, given)
        assert theirs[:2] == [state, seen]
        assert theirs[2] == uploads
        assert [list(one["tally"]) for one in theirs[2]] == [list(one["tally"]) for one in uploads]
        assert theirs[3] == left


TYPED = ["0.73", "0,73", " -1.5e3 ", "1,234", "1.234", "1 234", "0.81 0.79; 0.83", "84", "x", "−2", "1e400"]
TYPED += ["", "12e", ".5", "1.2.3", "0.1 0.2 0.3", "1;x", "+3"]
CHECK = "try { return rewards.countsAs([given.value], given.checks); } catch (error) { return error.message; }"
WELLS = """return given[0].map((one) => {
  const { plate: number, well } = plate.place(...one, given[1]);
  return [number, well];
});"""


@pytest.mark.parametrize("comma", [False, True])
def test_what_is_typed_is_read_as_a_worksheet_is(comma: bool, page: Page) -> None:
    for text in TYPED:
        try:
            found = worksheet.measurements([text], comma)
            numbers: Any = list(found) if isinstance(found, tuple) else [found]
            mine: Any = [numbers, counts_as(found)[0] if numbers else None]
        except UserError as error:
            mine = str(error)
        body = """try {
            const values = rewards.measurements([given.text], given.comma);
            const free = { limits: [{ low: -Infinity, high: Infinity, must_be: "" }] };
            if (values.some((one) => !Number.isFinite(one))) return "infinite";
            return [values, values.length ? rewards.countsAs(values, free) : null];
        } catch (error) { return error.message; }"""
        theirs = evaluate(page, "rewards", body, {"text": text, "comma": comma})
        assert theirs == ("infinite" if text == "1e400" else mine), text


def test_what_a_reward_must_be_is_said_in_the_same_words(page: Page) -> None:
    for kind, problem in PROBLEMS.items():
        terms = Terms.of(method("sharp", problem, agents=2))
        for value in (0.0, 1.0, 0.5, -3.5, 7.25, 1e101, -4e11, 3e12):
            try:
                mine: Any = terms.check_reward(value)
            except UserError as error:
                mine = str(error)
            theirs = evaluate(page, "rewards", CHECK, {"value": value, "checks": checks_of(terms)})
            if isinstance(mine, str):  # JavaScript has its own way to write the same number
                assert theirs.partition(";")[2] == mine.partition(";")[2], (kind, value)
            else:
                assert theirs == mine


def test_a_slip_is_noticed_by_the_same_rule_and_asked_about_in_the_same_words(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bestarm.client.doubt import Doubtful, Doubts

    chance = random.Random("slips")
    asked = 0
    for kind in ("squares", "sigma", "bets", "yes-no"):
        terms = Terms.of(method("sharp", PROBLEMS[kind], agents=2))
        for _ in range(60):
            earlier = [
                {"trial": n, "arm": chance.choice(ARMS[:3]), "reward": round(chance.gauss(0.8, 0.02), 3)}
                for n in range(chance.randint(0, 14))
            ]
            value = chance.choice([0.84, 84.0, 8.4, -0.8, 0.084, 123456789.0, 0.5])
            arm = chance.choice(ARMS[:3])
            doubts = Doubts.__new__(Doubts)
            told = {name: [e["reward"] for e in earlier if name in (None, e["arm"])] for name in (None, *ARMS)}
            monkeypatch.setattr(Doubts, "_earlier", lambda self, name, leave_out=0, told=told: told[name])
            try:
                doubts.check_rewards(arm, [value], terms)
                mine = ""
            except Doubtful as error:
                mine, asked = str(error), asked + 1
            body = "return rewards.doubt(given.arm, [given.value], given.earlier, given.checks)"
            given = {"arm": arm, "value": value, "earlier": earlier, "checks": checks_of(terms)}
            assert evaluate(page, "rewards", body, given) == mine
    assert asked > 40
    assert "say that you are sure" in question("the reward", 84.0, [0.84])


def test_a_trial_goes_into_the_same_well(page: Page) -> None:
    places = [
        (first + at, first, size, plate)
        for plate in (*LAYOUTS, 10)
        for first in (1, plate + 1)
        for size in (plate, 2 * plate)
        for at in (0, 1, plate - 1, plate, 2 * plate - 1, 2 * plate + 3)
    ]
    mine = [list(place_of(*place)) for place in places]
    layouts = {str(size): list(layout) for size, layout in LAYOUTS.items()}
    assert evaluate(page, "plate", WELLS, [places, layouts]) == mine


def test_the_order_of_trials_is_as_good_as_random(page: Page) -> None:
    body = "return Array.from({ length: 20000 }, (_, k) => journal.chance(`${given}/${k}`))"
    for seed in ("5f0c2b9a4d7e1830", "x"):
        drawn = evaluate(page, "journal", body, seed)
        assert all(0.0 <= one < 1.0 for one in drawn)
        assert len(set(drawn)) == len(drawn)
        bins = [sum(1 for one in drawn if int(20 * one) == k) for k in range(20)]
        assert sum((one - 1000) ** 2 / 1000 for one in bins) < 50.8  # chi square of 19, 1 in 10,000
        pairs = [sum(1 for a, b in pairwise(drawn) if int(4 * a) * 4 + int(4 * b) == k) for k in range(16)]
        assert sum((one - 1250) ** 2 / 1250 for one in pairs) < 44.3  # of 15


def test_items_are_drawn_each_once_in_every_pass_and_spoken_of_in_the_same_words(page: Page) -> None:
    names = [f"s{k}" for k in range(40)]
    body = """const drawn = new items.Items(given, "5f0c2b9a4d7e1830");
        const labels = Array.from({ length: 120 }, (_, k) => drawn.label(k + 1));
        const passes = labels.map((_, k) => drawn.passes(k + 1));
        return [labels, passes, drawn.again(), drawn.label(7)];"""
    labels, passes, again, seventh = evaluate(page, "items", body, names)
    mine = Items(tuple(names), "x")
    turns = [labels[:40], labels[40:80], labels[80:]]
    assert all(sorted(turn) == sorted(names) for turn in turns)
    assert names != turns[0] != turns[1] != turns[2]
    assert passes == [mine.passes(k) for k in range(1, 121)]
    assert (again, seventh) == (mine.again(), labels[6])
    assert evaluate(page, "items", "return new items.Items([], 'x').label(7)") == Items((), "x").label(7)
    body = "try { return items.checked(given); } catch (error) { return error.message; }"
    assert evaluate(page, "items", body, "a\r\n\n b \n") == ["a", "b"]
    assert evaluate(page, "items", "return items.MOST") == MOST_ITEMS
    for given in (["a", "b", "a"], ["it's", "it's"]):
        with pytest.raises(UserError) as refused:
            checked_items(given)
        assert evaluate(page, "items", body, "\n".join(given)) == str(refused.value)


ROWS: list[list[Any]] = [
    ["trial", "arm", "site", "reward", "note"],
    [7, "=1+1", "s/a", 0.25, 'a "quoted", cell'],
    [8, "B & <C>", "s/a", "0.5; 0.75", "-x"],
]


def test_a_worksheet_from_the_bench_opens_in_a_spreadsheet_and_at_a_site(page: Page, tmp_path: Path) -> None:
    raw = evaluate(page, "sheets", "return [...new Uint8Array(await sheets.toXlsx(given).arrayBuffer())]", ROWS)
    book = openpyxl.load_workbook(io.BytesIO(bytes(raw)))
    cells = [list(row) for row in book.worksheets[0].iter_rows(values_only=True)]
    assert cells[1] == [7, "'=1+1", "s/a", 0.25, 'a "quoted", cell']
    assert cells[2][1:] == ["B & <C>", "s/a", "0.5; 0.75", "'-x"]
    path = tmp_path / "plate.csv"
    path.write_text(evaluate(page, "sheets", "return sheets.toCsv(given)", ROWS))
    rows = worksheet.read(path)
    assert [(row.trial, row.arm, row.reward, row.site) for row in rows] == [
        (7, "=1+1", 0.25, "s/a"),
        (8, "B & <C>", (0.5, 0.75), "s/a"),
    ]


READ = """const file = new File([new Uint8Array(given.bytes)], given.name);
try { return await sheets.readSheet(file); } catch (error) { return error.message; }"""


def read_sheet(page: Page, name: str, raw: bytes) -> Any:
    return evaluate(page, "sheets", READ, {"name": name, "bytes": list(raw)})


def test_a_worksheet_from_a_spreadsheet_is_read_in_the_browser(page: Page) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in [
        ["Trial", "Arm", "Reward", "reward2"],
        [1, "A", 0.1, None],
        [2, "'=B", 1.234, 7],
        [3, "C", None, None],
    ]:
        sheet.append(row)
    book.create_sheet("notes").append(["trial"])
    file = io.BytesIO()
    book.save(file)
    rows = read_sheet(page, "plate.xlsx", file.getvalue())
    assert [(row["line"], row["trial"], row["arm"], row["rewards"]) for row in rows] == [
        (2, 1, "A", ["0.1"]),
        (3, 2, "=B", ["1.2340", "7"]),
    ]
    rows = read_sheet(page, "plate.csv", "\ufefftrial;arm;reward;note\r\n1;A;0,73;\r\n2;B;;x\r\n".encode())
    assert [(row["trial"], row["rewards"], row["refusal"]) for row in rows] == [(1, ["0,73"], "")]
    (row,) = read_sheet(page, "plate.csv", b"trial,arm,reward,note\n1,A,0,73\n")
    assert row["refusal"] == "0,73 may be one number or two cells; write 0.73 if it is one."
    assert read_sheet(page, "x.csv", b"a,b\n1,2\n") == (
        "x.csv: the first line must name the columns trial, arm, reward."
    )
    assert "damaged" in read_sheet(page, "x.xlsx", b"PK nothing")
