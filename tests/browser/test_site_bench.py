"""The bench as a person uses it: typing, pasting, mistakes, files, leaving, and the verdict."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from bench import OPEN, Bench, Study, reward_of
from browsing import axe_source
from playwright.sync_api import Browser, expect
from serving import Process

import bestarm
from bestarm.client.history import COLUMNS

ARMS = ["A", "B", "C"]
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


@pytest.fixture
def bench(browser: Browser, server: Process) -> Iterator[Bench]:
    with Bench(browser, server.url) as opened:
        yield opened
        opened.check()


def study(server: Process, name: str, **options: Any) -> Study:
    return Study(server, bestarm.Problem(ARMS, name=name, **options), agents=2)


def test_an_invitation_leads_to_the_bench_and_leaves_the_address(server: Process, bench: Bench) -> None:
    made = study(server, "invited", reward_range=[0, 1])
    token = made.token("lab-a")
    page = bench.begin(made, token, plate=24)
    assert page.url == f"{server.url}/#/bench"
    expect(bench.rows).to_have_count(24)
    expect(bench.rows.first).to_contain_text("A1")
    expect(bench.rows.last).to_contain_text("D6")
    kept = page.get_by_text("Every reward stays in this browser")
    for sent in ("how often it was tried", "rewards", "squares", "differences", "bets"):
        expect(kept).to_contain_text(sent)
    tab = bench.context.new_page()
    page.close()
    bench.page = tab
    tab.goto(server.url)  # a tab of its own, without an invitation: it goes on here
    expect(bench.rows).to_have_count(24)
    tab.get_by_role("button", name="Sign out").click()
    expect(tab.get_by_label("Token")).to_be_visible()
    assert tab.evaluate("[sessionStorage.length, localStorage.length]") == [0, 0]
    tab.get_by_label("Token").fill(token)
    tab.get_by_role("button", name="Open").click()
    expect(bench.rows).to_have_count(24)
    bench.check(token)


def test_typing_with_the_keyboard_alone(server: Process, bench: Bench) -> None:
    page = bench.begin(study(server, "typed", reward_range=[0, 1]), made_token(server, "typed"))
    said = page.locator('[id^="said-"]')
    expect(bench.rows.first.locator("input")).to_be_focused()
    page.keyboard.type("0,73")
    page.keyboard.press("Enter")
    expect(said.nth(0)).to_have_text("✓ kept")
    expect(bench.rows.nth(1).locator("input")).to_be_focused()
    page.keyboard.type("1.5")
    expect(said.nth(1)).to_have_text("reward is 1.5; it must be a number from 0.0 to 1.0, the reward_range.")
    page.keyboard.press("ArrowDown")
    expect(bench.rows.nth(1).locator("input")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("0,234")
    page.keyboard.press("Enter")
    expect(said.nth(1)).to_have_text("✓ kept")
    page.keyboard.press("ArrowUp")
    page.keyboard.type("0.25")  # the field is selected, and what was kept is corrected
    page.keyboard.press("ArrowDown")
    expect(page.locator('[data-part="told"]')).to_contain_text("0.25 (was 0.234)")
    page.reload()
    expect(bench.rows.nth(1).locator("input")).to_have_value("0.25")
    expect(said.nth(0)).to_have_text("✓ kept")


def test_whoever_types_on_without_waiting_loses_no_digit(server: Process, bench: Bench) -> None:
    page = bench.begin(study(server, "hasty", reward_range=[0, 100]), made_token(server, "hasty"), plate=24)
    expect(bench.rows.first.locator("input")).to_be_focused()
    values = [f"{60 + 0.25 * k:.2f}" for k in range(1, 18, 2)]
    for value in values:
        page.keyboard.type(value)
        page.keyboard.press("Enter")
    expect(page.locator('[data-part="title"]')).to_have_text(f"Plate 1: {len(values)} of 24 told")
    told = page.locator('[data-part="told"] tr td:nth-child(3)')
    assert told.all_inner_texts() == values[::-1]


def made_token(server: Process, name: str) -> str:
    with server.admin() as admin:
        made = admin.call("POST", f"/v1/studies/{name}/tokens", {"role": "agent", "agent": "lab-a"})
    return str(made["token"])


PASTE = """(text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text", text);
  const pasted = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
  document.activeElement.dispatchEvent(pasted);
}"""


def test_a_column_is_pasted_and_a_slip_is_asked_about_once(
    server: Process, bench: Bench, tmp_path: Path
) -> None:
    made = study(server, "pasted")
    page = bench.begin(made, made.token("lab-a"), plate=6)
    bench.rows.first.locator("input").focus()
    page.evaluate(PASTE, "0,84\n0,79\tnote\n0,81\nx\n84\n0,83\n0,8\n")
    said = page.locator('[id^="said-"]')
    expect(said.nth(3)).to_have_text("reward is 'x'; it must be a number such as 0.73.")
    expect(said.nth(4)).to_contain_text("is 84, and the")
    expect(page.locator('[data-part="problems"]')).to_contain_text("1 line more than there are fields below")
    expect(page.locator('[data-part="title"]')).to_have_text("Plate 1: 4 of 6 told")
    said.nth(4).get_by_role("button", name="I am sure").click()
    expect(page.locator('[data-part="title"]')).to_have_text("Plate 1: 5 of 6 told")
    bench.rows.nth(3).locator("input").fill("0.8")
    page.keyboard.press("Enter")
    expect(page.locator('[data-part="title"]')).to_have_text("Plate 2: 0 of 6 told")
    (tally,) = made.tallies(tmp_path, "lab-a")
    assert sum(row[0] for row in tally.values()) == 6
    page.get_by_role("button", name="Correct trial 5").click()
    page.get_by_label("what was measured").fill("0.84")
    page.get_by_label("What was wrong").fill("decimal point")
    page.get_by_role("button", name="Correct", exact=True).click()
    expect(page.locator('[data-part="told"]')).to_contain_text("0.84 (was 84)")
    expect(page.locator('[data-part="told"] tr').nth(1)).to_contain_text("sent")
    expect(bench.line).to_contain_text("Connected")
    last = made.log(tmp_path)[-1]
    assert (last["kind"], last["reason"], last["id"]) == ("corrected", "decimal point", "lab-a/1/fix/1")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1\tA\t0.84\n2\tB\t0.7\n", "a line has 1 and 0.84"),
        ("0,84\n0,79\t0,81", "a line has 0,79 and 0,81"),
        ("Reward\n0.84\n0.79\n", "'Reward' is no reward"),
        ("A1\t0.84\nA2\t0.79\n", "'A1' is no reward"),
    ],
)
def test_what_would_go_to_wrong_trials_is_not_pasted(
    text: str, found: str, server: Process, bench: Bench
) -> None:
    made = study(server, f"wrongly-{sum(map(ord, text))}")
    page = bench.begin(made, made.token("lab-a"), plate=6)
    bench.rows.nth(1).locator("input").focus()
    page.evaluate(PASTE, text)
    expect(page.locator('[id^="said-"]').nth(1)).to_have_text(
        f"{found}: copy the column of rewards alone, without its heading. Nothing was taken."
    )
    assert [one.input_value() for one in bench.rows.locator("input").all()] == [""] * 6
    page.evaluate(PASTE, "\n0.79\tsee 3\n-0.5")  # a blank cell leaves its trial open
    expect(page.locator('[data-part="title"]')).to_have_text("Plate 1: 2 of 6 told")
    assert [one.input_value() for one in bench.rows.locator("input").all()][1:4] == ["", "0.79", "-0.5"]


def test_a_field_that_is_emptied_keeps_what_was_told(server: Process, bench: Bench) -> None:
    made = study(server, "emptied")
    page = bench.begin(made, made.token("lab-a"), plate=6)
    field, said = bench.rows.first.locator("input"), page.locator('[id^="said-"]').first
    field.fill("0.84")
    field.press("Enter")
    expect(said).to_have_text("✓ kept")
    field.fill("")
    expect(said).to_have_text("0.84 stays until another is typed")
    field.press("Enter")
    expect(field).to_have_value("0.84")
    expect(said).to_have_text("✓ kept")
    expect(page.locator('[data-part="told"] tr')).to_have_count(1)


def test_a_site_for_which_there_is_nothing_now_is_told_so(
    server: Process, browser: Browser, bench: Bench
) -> None:
    made = study(server, "tight", budget=12)
    bench.begin(made, made.token("lab-a"), plate=12)
    with Bench(browser, server.url) as other:  # the first has all of the budget under way
        other.page.goto(f"{server.url}/#/join/{made.name}/{made.token('lab-b')}")
        other.page.get_by_role("button", name="Begin").click()
        expect(other.line).to_contain_text("Connected. There are no trials for this site now")
        expect(other.rows).to_have_count(0)


def test_questions_fit_on_a_phone_whatever_arms_are_called(server: Process, browser: Browser) -> None:
    names = ["2-Dicyclohexylphosphino-2′,4′,6′-triisopropylbiphenyl with two equivalents", "y" * 60]
    made = Study(server, bestarm.Problem(names, name="long-names"))
    with Bench(browser, server.url, **PHONE) as bench:
        page = bench.begin(made, made.token("lab-a"))
        page.get_by_role("button", name="An arm can’t be done").click()
        for part in page.get_by_role("dialog").locator("p, select, input").all():
            box = part.bounding_box()
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360


def test_a_slip_that_is_none_is_taken_with_the_mouse(server: Process, bench: Bench) -> None:
    made = study(server, "slip")
    page = bench.begin(made, made.token("lab-a"), plate=12)
    expect(bench.rows.first.locator("input")).to_be_focused()
    for place, text in enumerate(("0.84", "0.79", "0.81", "0.8", "0.82", "0.83", "0.8", "0.79"), 1):
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        expect(bench.rows.nth(place).locator("input")).to_be_focused()
    expect(page.locator('[data-part="title"]')).to_have_text("Plate 1: 8 of 12 told")
    page.keyboard.type("84")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="I am sure").click()
    expect(page.locator('[data-part="title"]')).to_have_text("Plate 1: 9 of 12 told")


def test_a_renamed_study_finds_its_journal(server: Process, bench: Bench, tmp_path: Path) -> None:
    made = study(server, "before")
    page = bench.begin(made, made.token("lab-a"))
    trials = bench.trials()
    bench.tell([(trials[0][0], 0.5)])
    expect(page.locator('[data-part="title"]')).to_contain_text("1 of 6")
    with server.admin() as admin:
        admin.call("POST", "/v1/studies/before/rename", {"name": "after"})
    page.reload()
    expect(page.locator('[data-part="title"]')).to_contain_text("1 of 6")
    expect(page.locator('[data-part="who"]')).to_have_text("lab-a in after")
    bench.tell([(trial, reward_of(trial, arm)) for trial, arm in trials[1:]])
    expect(page.locator('[data-part="title"]')).to_contain_text("0 of 6")
    assert len(made.tallies(tmp_path, "lab-a")) == 1


def test_a_plan_of_several_plates_comes_plate_by_plate(server: Process, bench: Bench, tmp_path: Path) -> None:
    made = study(server, "several")
    page = bench.begin(made, made.token("lab-a"), plate=2)
    seen: list[int] = []
    while not made.tallies(tmp_path, "lab-a"):
        expect(bench.rows).to_have_count(2)
        trials = bench.trials()
        seen += [trial for trial, _ in trials if trial not in seen]
        bench.tell([(trial, reward_of(trial, arm)) for trial, arm in trials])
        page.wait_for_timeout(100)
    assert len(seen) >= 4
    (tally, *_) = made.tallies(tmp_path, "lab-a")
    assert sum(row[0] for row in tally.values()) % 2 == 0


def test_failed_cannot_and_sent_early(server: Process, bench: Bench, tmp_path: Path) -> None:
    made = study(server, "early")
    page = bench.begin(made, made.token("lab-a"), plate=6)
    failed = bench.trials()[0][0]
    bench.rows.first.get_by_role("button", name="Failed").click()
    page.get_by_role("button", name="It failed").click()
    expect(bench.rows.last).to_contain_text("7")
    assert failed not in [trial for trial, _ in bench.trials()]
    page.get_by_role("button", name="An arm can’t be done").click()
    page.get_by_label("What can’t be done").select_option("C")
    page.get_by_label("Why").fill("the bottle is empty")
    page.get_by_role("button", name="So it is").click()
    expect(page.locator('[data-part="cannots"]')).to_have_text("Not done here: C (the bottle is empty).")
    assert bench.state()["site"]["reasons"] == {"C": "the bottle is empty"}
    assert {arm for _, arm in bench.trials()} == {"A", "B"}
    (trial, arm), *_ = bench.trials()
    bench.tell([(trial, reward_of(trial, arm))])
    expect(page.locator('[data-part="title"]')).to_contain_text("1 of")
    page.get_by_role("button", name="Send early").click()
    page.get_by_role("button", name="Send it now").click()
    expect(page.locator('[data-part="title"]')).to_contain_text("0 of")
    assert made.tallies(tmp_path, "lab-a")[0][arm][:2] == [1, reward_of(trial, arm)]
    joined = [entry for entry in made.log(tmp_path) if entry["kind"] == "joined"]
    assert joined[-1]["cannot"] == ["C"]


def test_items_have_the_sites_own_names_each_once_in_every_pass(
    server: Process, bench: Bench, tmp_path: Path
) -> None:
    made = study(server, "named-items", items=True)
    names = [f"report {k}" for k in range(5)]
    token = made.token("lab-a")
    page = bench.page
    page.goto(f"{server.url}/#/join/{made.name}/{token}")
    page.get_by_label("Names of your items").fill("\n".join([*names, names[0]]))
    page.get_by_label("Trials that fit").fill("12")
    page.get_by_role("button", name="Begin").click()
    expect(page.locator('[data-part="begin-error"]')).to_have_text(
        "items has 'report 0' twice; each item must have a name of its own."
    )
    page.get_by_label("Names of your items").fill("\n".join(names))
    page.get_by_role("button", name="Begin").click()
    expect(bench.rows.first).to_be_visible()
    seen: list[str] = []
    while len(seen) < 6:
        rows = bench.rows.locator("td:nth-child(3)").all_inner_texts()
        arms = len({arm for _, arm in bench.trials()})
        assert all(rows.count(name) % arms == 0 for name in rows)
        seen += dict.fromkeys(rows)
        trials = bench.trials()
        bench.tell([(trial, reward_of(trial, arm)) for trial, arm in trials])
        page.wait_for_function(f"() => ({OPEN})()[0]?.[0] > {trials[-1][0]}")
    assert sorted(seen[:5]) == names
    expect(bench.line).to_contain_text("all 5 items were tried; from now on they come again")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export CSV").click()
    saved.value.save_as(tmp_path / "history.csv")
    exported = list(csv.DictReader(io.StringIO((tmp_path / "history.csv").read_text())))
    assert {row["item"] for row in exported} <= set(names)
    assert "report" not in str(made.log(tmp_path))
    page.reload()
    expect(bench.rows.first).to_contain_text("report")
    bench.check(token)


def test_several_plates_at_once_each_sent_when_it_is_full(
    server: Process, bench: Bench, tmp_path: Path
) -> None:
    made = study(server, "plates")
    page = bench.begin(made, made.token("lab-a"), plate=6)
    expect(bench.rows).to_have_count(6)
    page.get_by_role("button", name="Plates…").click()
    page.get_by_label("Plates at once").fill("3")
    page.get_by_role("button", name="Keep").click()
    expect(page.locator('[data-part="title"]')).to_have_text("3 plates: 0 of 18 told")
    heads = page.locator('[data-part="rows"] th')
    expect(heads).to_have_text([f"Plate {k}, trials {6 * k - 5} to {6 * k}: 0 of 6 told" for k in (1, 2, 3)])
    with page.expect_download() as saved:
        page.locator('[data-part="csv"]').click()
    saved.value.save_as(tmp_path / "plates.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "plates.csv").read_text())))
    assert [row["plate"] for row in rows] == ["1"] * 6 + ["2"] * 6 + ["3"] * 6
    second = bench.trials()[6:12]
    field = page.locator(f'[aria-describedby="said-{second[0][0] - 1}"]')
    field.fill("0.5")
    field.press("Enter")  # the line between two plates is stepped over
    expect(page.locator(f'[aria-describedby="said-{second[0][0]}"]')).to_be_focused()
    bench.tell([(trial, reward_of(trial, arm)) for trial, arm in second])
    expect(heads.nth(0)).to_have_text("Plate 1, trials 1 to 6: 1 of 6 told")
    expect(heads.nth(2)).to_contain_text("Plate 4, trials 19 to 24: 0 of 6 told")
    (tally,) = made.tallies(tmp_path, "lab-a")
    assert sum(row[0] for row in tally.values()) == 6
    page.reload()
    expect(page.locator('[data-part="title"]')).to_have_text("3 plates: 1 of 18 told")
    joined = [entry for entry in made.log(tmp_path) if entry["kind"] == "joined"]
    assert joined[-1]["plates"] == 3


def test_a_finished_bench_says_the_answer_and_offers_nothing_to_do(server: Process, bench: Bench) -> None:
    made = study(server, "finished", delta=0.2)
    page = bench.begin(made, made.token("lab-a"), plate=12)
    acts = page.locator('[data-part="acts"] button')
    expect(acts).to_have_count(3)
    expect(acts.first).to_be_visible()
    while not bench.state()["site"]["verdict"]:
        bench.tell([(trial, reward_of(trial, arm)) for trial, arm in bench.trials()])
        page.wait_for_timeout(50)
    expect(bench.line).to_contain_text("✓ The study is finished: A is best")
    expect(bench.line).to_contain_text("“Export CSV” below saves them.")
    expect(page.locator('[data-part="title"]')).to_have_text("Nothing more to do")
    for name in ("Send early…", "An arm can’t be done…", "Plates…", "Fill in from a file"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)
    expect(page.get_by_role("button", name="Export CSV")).to_be_visible()


def test_a_closed_bench_offers_nothing_to_do_until_it_goes_on(server: Process, bench: Bench) -> None:
    made = study(server, "shut")
    page = bench.begin(made, made.token("lab-a"), plate=6)
    for verb, many in (("close", 0), ("reopen", 3)):
        with server.admin() as admin:
            admin.call("POST", f"{made.path}/{verb}", {"reason": "the audit"})
        page.reload()
        expect(bench.line).to_contain_text("No more trials" if verb == "close" else "Connected")
        expect(page.locator('[data-part="acts"]').get_by_role("button")).to_have_count(many)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_plate_goes_out_and_comes_back_as_a_file(
    kind: str, server: Process, bench: Bench, tmp_path: Path
) -> None:
    made = study(server, f"file-{kind}")
    page = bench.begin(made, made.token("lab-a"), plate=6)
    with page.expect_download() as saved:
        page.locator(f'[data-part="{kind}"]').click()
    file = tmp_path / f"plate.{kind}"
    saved.value.save_as(file)
    if kind == "csv":
        rows = list(csv.DictReader(io.StringIO(file.read_text())))
        for row in rows:
            row["reward"] = "0.5"
        with file.open("w", newline="") as out:
            table = csv.DictWriter(out, rows[0].keys())
            table.writeheader()
            table.writerows(rows[:-1])
    else:
        book = openpyxl.load_workbook(file)
        sheet = book.worksheets[0]
        column = [cell.value for cell in sheet[1]].index("reward") + 1
        for line in range(2, 7):
            sheet.cell(line, column).value = 0.5
        book.save(file)
    page.locator('[data-part="file"]').set_input_files(file)
    expect(page.locator('[data-part="title"]')).to_have_text("Plate 1: 5 of 6 told")
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("trial,arm,site,reward\n1,A,other/lab,0.5\n6,nobody,,0.5\n99,A,,1\n1,,,x\n")
    page.locator('[data-part="file"]').set_input_files(wrong)
    problems = page.locator('[data-part="problems"]')
    expect(problems).to_contain_text(f"line 2: it is a trial of other/lab, and this is file-{kind}/lab-a.")
    expect(problems).to_contain_text("line 3: trial 6 is for arm")
    expect(problems).to_contain_text("line 4: trial 99 was never handed out.")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Export CSV").click()
    saved.value.save_as(tmp_path / "history.csv")
    exported = list(csv.DictReader(io.StringIO((tmp_path / "history.csv").read_text())))
    assert tuple(exported[0]) == COLUMNS
    assert [row["reward"] for row in exported] == ["0.5"] * 5


def exported(bench: Bench, file: Path) -> list[dict[str, str]]:
    """What a bench saves of all that was told."""
    with bench.page.expect_download() as saved:
        bench.page.get_by_role("button", name="Export CSV").click()
    saved.value.save_as(file)
    return list(csv.DictReader(io.StringIO(file.read_text())))


def test_an_exported_history_comes_back_and_counts_nowhere_twice(
    server: Process, browser: Browser, bench: Bench, tmp_path: Path
) -> None:
    made = study(server, "moved")
    token = made.token("lab-a")
    page = bench.begin(made, token)
    trials = bench.trials()
    bench.tell([(trial, reward_of(trial, arm)) for trial, arm in trials])
    expect(page.locator('[data-part="title"]')).to_have_text("Plate 2: 0 of 6 told")
    page.get_by_role("button", name=f"Correct trial {trials[0][0]}").click()
    page.get_by_label("what was measured").fill("0.7")
    page.get_by_role("button", name="Correct", exact=True).click()
    expect(page.locator('[data-part="told"]')).to_contain_text("0.7 (was")
    (unsent, _), *_ = bench.trials()
    bench.tell([(unsent, 0.5)])
    expect(page.locator('[data-part="title"]')).to_have_text("Plate 2: 1 of 6 told")
    expect(page.locator('[data-part="told"]')).not_to_contain_text("correction unsent")
    file = tmp_path / "moved.csv"
    rows = exported(bench, file)
    assert [row["state"] for row in rows] == ["sent"] * 6 + ["unsent"]
    before = made.log(tmp_path)

    page.locator('[data-part="exported"]').set_input_files(file)  # all of it is here already
    expect(page.locator('[data-part="import-said"]')).to_contain_text("0 rewards more from moved.csv")
    with Bench(browser, server.url) as other:  # the same site, and a browser that knows nothing of it
        there = other.page
        there.goto(f"{server.url}/#/join/{made.name}/{token}")
        said, told = there.locator('[data-part="import-said"]'), there.locator('[data-part="told"] tr')
        wrong = tmp_path / "wrong.csv"
        wrong.write_text(file.read_text().replace(",0.7,", ",x,"))
        there.locator('[data-part="exported"]').set_input_files(wrong)
        expect(said).to_have_text("line 2 is not of an exported history; nothing was taken.")
        expect(told).to_have_count(0)
        for new in (7, 0):  # and once more, which changes nothing
            there.locator('[data-part="exported"]').set_input_files(file)
            expect(said).to_contain_text(f"{new} rewards more from moved.csv, kept to read and never sent")
            expect(told).to_have_count(7)
        expect(told.last).to_contain_text("0.7 (was")
        expect(told.first).to_contain_text("unsent, from a file")
        expect(there.get_by_role("button", name="Correct trial")).to_have_count(0)
        there.reload()
        expect(told).to_have_count(7)
        assert exported(other, tmp_path / "again.csv") == rows
        there.get_by_role("button", name="Begin").click()
        expect(there.locator('[data-part="begin-error"]')).to_contain_text("has joined with another journal")
        expect(told).to_have_count(7)
        other.check(token)
    assert made.log(tmp_path) == before


def test_no_serious_finding_and_nothing_to_move_sideways(server: Process, browser: Browser) -> None:
    made = study(server, "seen", reward_range=[0, 1])
    for theme in ("light", "dark"):
        for options in ({"locale": "en-GB"}, PHONE):
            with Bench(browser, server.url, color_scheme=theme, **options) as bench:
                page = bench.begin(made, made.token(f"lab-{theme}-{len(options)}"))
                bench.rows.first.locator("input").fill("7")
                if "is_mobile" in options:
                    assert page.evaluate("document.documentElement.scrollWidth") == 360
                page.evaluate(axe_source())
                found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
                assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
                page.get_by_role("button", name="Send early").click()
                found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
                assert [one["id"] for one in found if one["impact"] in ("serious", "critical")] == []
