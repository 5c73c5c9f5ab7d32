"""Nobody changes, removes or inserts an entry without the digests telling; the last bits do not matter."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from folders import quick_folder
from stored import PROBLEM, create, look, send
from uploads import batch, small_problem

from bestarm.chain import CANONICAL, body_in, charter, link
from bestarm.core.tally import Tally
from bestarm.errors import ServiceError, UserError
from bestarm.protocol.decision import TOLERANCE
from bestarm.protocol.entries import ENTRIES, Correction, Join
from bestarm.protocol.server import Server
from bestarm.service.storage import Storage
from bestarm.service.storage.study.overview import Charter
from bestarm.service.view.exports.export import export_json
from bestarm.service.view.exports.verify import verify
from bestarm.verdict import Verdict


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    with quick_folder() as folder:
        storage = Storage(f"sqlite:///{folder / 'bestarm.db'}")
        yield storage
        storage.close()


def exported(storage: Storage, study: Charter) -> dict[str, Any]:
    overview = look(storage, study)
    found: dict[str, Any] = json.loads("".join(export_json(overview, storage)))
    return found


@pytest.fixture(scope="module")
def still_open(storage: Storage) -> dict[str, Any]:
    """A study that goes on: joins, uploads, a correction, closed and opened again."""
    study = create(storage, small_problem("still-open"))
    problem = study.problem
    storage.join(study, Join("lab-a", "5f0c", plate=6)).result()
    for sequence in (1, 2):
        send(storage, study, *(batch(problem, agent, sequence, size=1) for agent in ("lab-a", "lab-b")))
    tally = batch(problem, "lab-a", 7, size=1).tally
    storage.change(study, Correction("c1", "admin 7f", "lab-a", 1, tally, "typing mistake")).result()
    storage.set_closed(study, True, "admin 7f").result()
    storage.set_closed(study, False, "admin 7f").result()
    return exported(storage, study)


@pytest.fixture(scope="module")
def decided(storage: Storage) -> dict[str, Any]:
    """A study that was decided at its second upload, and got one more."""
    study = create(storage)
    send(storage, study, batch(PROBLEM, "lab-a", 1, size=1), batch(PROBLEM, "lab-b", 1, size=1000))
    send(storage, study, batch(PROBLEM, "lab-a", 2, size=1))
    return exported(storage, study)


def copy_of(export: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(export))
    return found


def test_an_open_and_a_decided_study_hold(still_open: dict[str, Any], decided: dict[str, Any]) -> None:
    assert not verify(still_open).stopped
    assert verify(decided).arm == "A"
    assert [("decision" in entry) for entry in decided["entries"]] == [False, True, False]
    assert decided["entries"][1]["decision"] == decided["verdict"] == decided["verdicts"][1]
    assert [entry["by"] for entry in still_open["entries"][5:]] == ["admin 7f"] * 3
    assert still_open["length"] == 8
    assert still_open["digest"] == still_open["entries"][-1]["digest"]


def test_every_value_of_every_entry_is_in_its_digest(still_open: dict[str, Any]) -> None:
    for place, entry in enumerate(still_open["entries"]):
        for key in entry:
            if key == "plan" or (key == "id" and "id" not in ENTRIES[entry["kind"]].__slots__):
                continue  # made from the others, or not said by the sender
            export = copy_of(still_open)
            value = export["entries"][place][key]
            other = value + 1 if isinstance(value, int) else [value] if value is None else f"{value}x"
            export["entries"][place][key] = other
            with pytest.raises((ServiceError, UserError)):
                verify(export)


def forge(export: dict[str, Any], after: int) -> None:
    """Make the digests fit again from some entry on, as who has the database could."""
    digest = (
        export["entries"][after - 1]["digest"]
        if after
        else charter(*(export[key] for key in ("problem", "method", "parameters", "agents")))
    )
    for position, row in enumerate(export["entries"][after:], after + 1):
        row["position"] = position
        said = CANONICAL.encode(row["decision"]) if row.get("decision") else None
        body = body_in(row, "id" in ENTRIES[row["kind"]].__slots__)
        digest = row["digest"] = link(digest, position, row["kind"], row["received_at"], said, body)
    export["length"], export["digest"] = len(export["entries"]), digest


@pytest.mark.parametrize("seed", range(12))
def test_entries_that_are_left_out_or_put_in_or_swapped_show(still_open: dict[str, Any], seed: int) -> None:
    """Whatever else is put right, the digests are those of another log."""
    draw = random.Random(seed)
    export = copy_of(still_open)
    rows = export["entries"]
    place = draw.randrange(len(rows) - 1)
    match seed % 4:
        case 0:
            del rows[place]
        case 1:
            rows.insert(place, copy_of(rows[place]))
        case 2:
            rows[place], rows[place + 1] = rows[place + 1], rows[place]
        case 3:
            del rows[place + 1 :]
    for position, row in enumerate(rows, 1):
        row["position"] = position
    with pytest.raises(ServiceError):
        verify(export)


def test_who_makes_all_digests_anew_has_another_last_one(still_open: dict[str, Any]) -> None:
    """Such an export verifies. That is why sites keep receipts, and people exports and reports."""
    export = copy_of(still_open)
    export["entries"][-1]["by"] = export["entries"][-2]["by"] = "somebody else"
    forge(export, 0)
    verify(export)
    assert export["entries"][-3]["digest"] == still_open["entries"][-3]["digest"]
    assert export["digest"] != still_open["digest"]


def nudged(verdict: dict[str, Any], factor: float) -> dict[str, Any]:
    return verdict | {key: verdict[key] * factor for key in ("evidence", "breaking_index")}


def test_the_last_bits_do_not_matter_and_all_others_do(decided: dict[str, Any]) -> None:
    for factor, holds in ((1 + 1e-13, True), (1 - TOLERANCE / 4, True), (1 + 1e-6, False), (0.5, False)):
        export = copy_of(decided)
        for row in export["entries"]:
            if "decision" in row:
                row["decision"] = nudged(row["decision"], factor)
        export["verdicts"] = [nudged(verdict, factor) for verdict in export["verdicts"]]
        export["verdict"] = nudged(export["verdict"], factor)
        forge(export, 0)
        if holds:
            assert verify(export).arm == "A"
        else:
            with pytest.raises(ServiceError):
                verify(export)


def test_the_decision_in_the_log_holds_where_the_evidence_is_on_the_line(storage: Storage) -> None:
    """Of two machines one finds 1 and the other the number below it: both keep to what was decided."""
    study = storage.find(PROBLEM.name) or create(storage)
    upload = batch(PROBLEM, "lab-a", 1, size=200)
    for found in (1.0, 1.0 - 2.0**-53, 1.0 + 2.0**-52):
        for decision in (Verdict(True, "A", "B", -0.5, 1.0, 600), None):
            server = Server(study.method)
            server.known.method = cast(Any, OnTheLine(server.method, found))
            server.append_decided(upload, decision)
            assert server.stopped == (decision is not None) == server.verdict.stopped
    for found in (0.9, 1.1):
        server = Server(study.method)
        server.known.method = cast(Any, OnTheLine(server.method, found))
        with pytest.raises(UserError, match="does not lead to the decision"):
            server.append_decided(upload, Verdict(True, "A", "B", -0.5, 1.0, 600))


class OnTheLine:
    """A method whose evidence is given."""

    def __init__(self, method: Any, evidence: float) -> None:
        self._method, self._evidence = method, evidence

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    def judge(self, state: Any, reading: Any = None) -> Verdict:
        return Verdict(self._evidence >= 1.0, "A", "B", -0.5, self._evidence, int(state.pulls.sum()))


def test_a_finished_study_stays_readable_where_the_last_bits_are_others(storage: Storage) -> None:
    """The same log, with a verdict that another machine computed."""
    study = create(storage, small_problem("other-bits"))
    send(storage, study, batch(study.problem, "lab-a", 1, size=200))
    export = exported(storage, study)
    other = nudged(export["verdict"], 1 + 1e-14)
    assert other != export["verdict"]
    row = export["entries"][0] | {"decision": other}
    export["entries"][0] = row
    forge(export, 0)
    with storage.engine.begin() as connection:
        said = {"said": CANONICAL.encode(other), "digest": row["digest"], "study": study.id}
        for query in (
            "UPDATE entries SET decision = :said, digest = :digest WHERE study_id = :study",
            "UPDATE studies SET verdict = :said WHERE id = :study",
        ):
            connection.exec_driver_sql(query, said)
    fresh = Storage(str(storage.engine.url))
    try:
        overview = look(fresh, study)
        assert overview.state == "stopped"
        assert overview.verdict.evidence == other["evidence"]  # what was given out
        late = send(fresh, study, batch(study.problem, "lab-b", 1, size=1))[0].reply
        assert late.verdict == overview.verdict
        assert verify(exported(fresh, study)) == overview.verdict
    finally:
        fresh.close()


def test_an_export_of_a_later_version_is_left_to_it(still_open: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="verify it with the bestarm that wrote it"):
        verify(still_open | {"versions": {"bestarm": "9", "export": 9}})
    with pytest.raises(UserError, match="has the version None"):
        verify({key: value for key, value in still_open.items() if key != "versions"})
    with pytest.raises(ServiceError, match="no digest or no entries"):
        verify({key: value for key, value in still_open.items() if key != "entries"})


def test_another_charter_shows(still_open: dict[str, Any]) -> None:
    for change in ({"agents": 9}, {"problem": still_open["problem"] | {"delta": 0.1}}):
        with pytest.raises(ServiceError):
            verify(copy_of(still_open) | change)
    renamed = copy_of(still_open)
    renamed["problem"]["name"] = "another-name"
    verify(renamed)
    assert Tally.from_json(renamed["uploads"][0]["tally"], PROBLEM.arms).samples == 3
    assert replace(verify(renamed), samples=0) == replace(verify(still_open), samples=0)
