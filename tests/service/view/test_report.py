"""The report: everything that a lab book wants, with the numbers of `study show`, and no way in for markup."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
from folders import quick_folder
from hostile import NAMES

import bestarm
from bestarm.core.tally import Tally
from bestarm.protocol.entries import ArmWithdrawn, Correction, Upload, entry_from
from bestarm.protocol.server import Server
from bestarm.service.storage import Storage
from bestarm.service.storage.study.overview import Charter
from bestarm.service.view.paper import report as reporting
from bestarm.service.view.paper.report import report
from bestarm.service.view.said.since import ruled_out_since
from bestarm.service.view.status import status
from bestarm.shown import arm_columns
from bestarm.standing import standing

ARMS = ["PPh3", "XPhos", "SPhos", "dppf"]


class Texts(HTMLParser):
    """The texts of a page and the names of its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture
def storage() -> Iterator[Storage]:
    with quick_folder() as folder:
        opened = Storage(f"sqlite:///{folder / 'bestarm.db'}")
        yield opened
        opened.close()


def tally(means: list[float], chance: random.Random, size: int = 6) -> Tally:
    rewards = [[chance.gauss(mean, 0.3) for _ in range(size)] for mean in means]
    return Tally.of(
        [size] * len(means), [sum(one) for one in rewards], [sum(x * x for x in one) for one in rewards]
    )


def begin(storage: Storage, uploads: int, means: list[float] | None = None, **fields: Any) -> Charter:
    means = means or [0.6, 0.9, 0.5, 0.4]
    problem = bestarm.Problem(fields.pop("arms", ARMS), name="ligands", **fields)
    study = storage.create(bestarm.method("sharp", problem, agents=2)).result().study
    chance = random.Random("report")
    for k in range(uploads):
        agent, shift = ("oslo", 0.1) if k % 2 else ("rome", 0.0)
        sent = tally([mean + shift for mean in means], chance)
        storage.take(study, Upload(problem.fingerprint, agent, k // 2 + 1, sent)).result()
    return study


def page_of(storage: Storage, study: Charter) -> str:
    overview = storage.look(study).result()
    return report(overview, list(storage.entries(study, overview.length)), storage.now(), 86_400.0)


def words_of(page: str) -> str:
    return re.sub(r"\s+", " ", " ".join(Texts(page).texts))


def test_a_settled_study(storage: Storage) -> None:
    study = begin(storage, 30, control="PPh3", unit="yield")
    page, said = page_of(storage, study), words_of(page_of(storage, study))
    overview = storage.look(study).result()
    assert "Which of 4 arms has the highest mean, in yield?" in said
    assert "XPhos is the answer, after" in said
    assert "XPhos is above PPh3, the control" in said
    assert "except with probability at most 0.05" in said
    assert "compares arms inside batches" in said
    assert "as it stands" not in said
    assert page.count("<svg") == 4  # odds, two kinds of differences, evidence
    assert f"bestarm {bestarm.__version__}, protocol 2, storage" in said
    rows = list(storage.entries(study, overview.length))
    assert rows[-1].digest in said
    assert rows[-2].digest not in said


def test_its_numbers_are_those_of_study_show(storage: Storage) -> None:
    study = begin(storage, 8, control="PPh3")
    overview = storage.look(study).result()
    table = arm_columns(status(overview, storage.now(), 86_400.0))
    texts = Texts(page_of(storage, study)).texts
    for row in table.rows:
        place = texts.index(row[0], texts.index("ruled out after"))
        assert [text for text in texts[place : place + 2 * len(row)] if text.strip()][: len(row)] == row


def test_an_open_study_as_it_stands(storage: Storage) -> None:
    study = begin(storage, 0, budget=2000, deadline="2099-01-31", descriptions=["cheap", "", "", "new"])
    said = words_of(page_of(storage, study))
    assert "Report of an open study, as it stands" in said
    assert "As it stands: nothing was uploaded yet." in said
    assert "No site has joined yet." in said
    assert "PPh3 : cheap" in said
    study = begin_again(storage)
    said = words_of(page_of(storage, study))
    assert "As it stands: XPhos leads" in said
    assert "Budget: 48 of 2,000 samples used" in said
    assert "Deadline: 2099-01-31." in said


def begin_again(storage: Storage) -> Charter:
    study = storage.find("ligands")
    assert study is not None
    chance = random.Random("report")
    for sequence in (1, 2):
        sent = tally([0.6, 0.9, 0.5, 0.4], chance)
        storage.take(study, Upload(study.problem.fingerprint, "oslo", sequence, sent)).result()
    return study


def test_what_people_did_and_why(storage: Storage) -> None:
    study = begin(storage, 4, [0.6, 0.65, 0.5, 0.4])
    storage.change(study, ArmWithdrawn("w", "admin 7f", "dppf", "it is toxic")).result()
    right = tally([0.6, 0.65, 0.5, 0.4], random.Random(1))
    storage.change(study, Correction("c", "oslo", "oslo", 1, right, "wrong column")).result()
    storage.set_closed(study, True, "admin 7f", "the money is gone").result()
    said = words_of(page_of(storage, study))
    assert "dppf was withdrawn (it is toxic)." in said
    assert "Batch 1 of oslo was corrected (wrong column)." in said
    assert "The study was closed (the money is gone)." in said
    assert "by admin 7f (the money is gone). 96 samples arrived in all." in said
    assert "Withdrawn: dppf (it is toxic)." in said
    assert "oslo 48 50 % 2 1 " in said  # samples, share, uploads, corrected


@pytest.mark.parametrize("how", ["budget", "deadline"])
def test_a_study_that_ended_without_an_answer(storage: Storage, how: str) -> None:
    fields: dict[str, Any] = {"budget": 96} if how == "budget" else {"deadline": "2099-01-31T00:00:00Z"}
    study = begin(storage, 4, [0.6, 0.65, 0.5, 0.4], **fields)
    if how == "deadline":
        before = storage.now
        storage.now = lambda: before() + timedelta(days=40_000)
    said = words_of(page_of(storage, study))
    assert {"budget": "The budget is used up.", "deadline": "The deadline is past."}[how] in said
    assert {"budget": "96 of 96 samples used.", "deadline": "2099-01-31"}[how] in said


def test_since_when_an_arm_is_ruled_out(storage: Storage) -> None:
    study = begin(storage, 20, [0.6, 0.8, 0.5, 0.3])
    wrong = tally([0.9, 0.2, 0.9, 0.9], random.Random(2), size=40)
    storage.change(study, Correction("c", "oslo", "oslo", 1, wrong, "")).result()
    overview = storage.look(study).result()
    rows = list(storage.entries(study, overview.length))
    server, out = Server(study.method), []
    for row in rows:
        server.append(entry_from(row.kind, json.loads(row.body), server.arms))
        out.append((set(standing(server.method, server.state).ruled_out), len(server.log), row.received_at))
    expected = {}
    for arm in out[-1][0]:
        first = len(out) - 1
        while first > 0 and arm in out[first - 1][0]:
            first -= 1
        expected[arm] = out[first][1:]
    found = ruled_out_since(study.method, rows)
    assert {arm: (one.uploads, one.at) for arm, one in found.items()} == expected
    assert ruled_out_since(study.method, rows[:-1]).keys() == out[-2][0] != set()


def test_what_comes_after_the_verdict_does_not_change_when_an_arm_was_ruled_out(storage: Storage) -> None:
    study, chance = begin(storage, 20, [0.9, 0.1, 0.2, 0.1]), random.Random("late")
    verdict = storage.look(study).result().verdict
    assert verdict.stopped
    for sequence, means in enumerate(([0.1, 0.9, 0.9, 0.9], [0.9, 0.1, 0.1, 0.1]), start=1):
        late = Upload(study.problem.fingerprint, "york", sequence, tally(means, chance, size=40 * 10**sequence))
        storage.take(study, late).result()
    rows = list(storage.entries(study, storage.look(study).result().length))
    assert len(ruled_out_since(study.method, rows[:-1])) < 3  # for a while not all of them are
    found = ruled_out_since(study.method, rows)
    assert len(found) == 3
    assert max(one.samples for one in found.values()) == verdict.samples


def test_a_table_that_has_more_than_the_answer_says_so(storage: Storage) -> None:
    study, said, sequence = begin(storage, 0), "The table and the pictures have what came after the end, too", 0
    chance = random.Random("late")
    while storage.look(study).result().verdict.reason is None:
        sequence += 1
        sent = Upload(study.problem.fingerprint, "oslo", sequence, tally([0.9, 0.1, 0.2, 0.1], chance))
        storage.take(study, sent).result()
    assert said not in words_of(page_of(storage, study))
    late = Upload(study.problem.fingerprint, "rome", 1, tally([0.9, 0.1, 0.2, 0.1], chance))
    storage.take(study, late).result()
    assert said in words_of(page_of(storage, study))


def test_a_log_that_is_too_long_is_not_replayed(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    study = begin(storage, 4)
    monkeypatch.setattr(reporting, "MOST_REPLAYED", 3)

    def unread() -> Iterator[Any]:
        raise AssertionError("somebody reads it")
        yield

    said = words_of(report(storage.look(study).result(), unread(), storage.now(), 86_400.0))
    assert "ruled out after" not in said
    assert "The log is too long to say here since when" in said


def test_names_full_of_markup_are_text(storage: Storage) -> None:
    means = [0.9 if k == 1 else 0.2 for k in range(len(NAMES))]
    study = begin(
        storage, 2, means, arms=NAMES, control=NAMES[0], unit="<b>%</b>", descriptions=NAMES, delta=0.05
    )
    storage.change(study, ArmWithdrawn("w", "<i>me</i>", NAMES[2], NAMES[2])).result()
    page = Texts(page_of(storage, study))
    allowed = (
        "html head meta title style body main h1 h2 h3 p ul li bdi div table thead tbody tr th td dl dt dd "
    )
    allowed += "code svg rect line circle path text"
    assert set(page.tags) <= set(allowed.split())
    assert page.tags.count("style") == 1
    assert not [
        name for name, _ in page.attributes if name.startswith("on") or name in ("href", "src", "style")
    ]
    shown = set(page.texts)
    assert {name for name in NAMES if name not in shown} == set()


def test_it_needs_nothing_from_elsewhere(storage: Storage) -> None:
    page = page_of(storage, begin(storage, 4))
    assert "://" not in page
    assert "@import" not in page
    assert "url(" not in page


def test_who_may_read_it(world: Any) -> None:
    path = "/v1/studies/ligands/report"
    viewer = world.token(role="viewer")
    for token in (world.admin_token, viewer):
        answer = world.http(token).get(path)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
        assert "As it stands" in answer.text
    assert world.http(world.token(role="agent", agent="lab-a")).get(path).status_code == 403
    assert world.http().get(path).status_code == 401
    assert world.http(world.admin_token).get("/v1/studies/other/report").status_code == 404
