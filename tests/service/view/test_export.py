"""Exports: written in pieces, read one element at a time, whatever the order of their keys, and verified."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from folders import quick_folder
from stored import PROBLEM, create, look, send
from uploads import batch

from bestarm.chain import CANONICAL, charter, link
from bestarm.core.tally import Tally
from bestarm.errors import ServiceError, UserError
from bestarm.protocol.entries import Close, Correction, Entry, Join, Reopen, Upload, body_of
from bestarm.protocol.messages import verdict_to_json
from bestarm.protocol.server import Server
from bestarm.service.storage import Storage
from bestarm.service.storage.study.overview import Charter
from bestarm.service.view.exports import export_file
from bestarm.service.view.exports.export import PIECE, export_csv, export_json
from bestarm.service.view.exports.export_file import ExportFile
from bestarm.service.view.exports.verify import replay, verify

GOLDEN = Path(__file__).parents[2] / "golden" / "service-0.1.0" / "exports.json"


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    with quick_folder() as folder:
        storage = Storage(f"sqlite:///{folder / 'bestarm.db'}")
        yield storage
        storage.close()


@pytest.fixture(scope="module")
def text(storage: Storage) -> str:
    """The export of a study with two sites, which was closed and reopened."""
    study = create(storage)
    storage.join(study, Join("lab-a", "5f0c", plate=6)).result()
    for sequence in range(1, 4):
        send(storage, study, *(batch(PROBLEM, agent, sequence, size=1) for agent in ("lab-a", "lab-b")))
    storage.set_closed(study, True, "admin 1").result()
    storage.set_closed(study, False, "admin 1").result()
    overview = look(storage, study)
    return "".join(export_json(overview, storage))


def test_an_export_has_the_keys_of_version_0_1_and_the_entries(text: str) -> None:
    export = json.loads(text)
    for known in json.loads(GOLDEN.read_text()).values():
        added = {"versions", "length", "digest", "entries", "standing", "test"}
        assert [key for key in export if key not in added] == list(known)
        assert export.keys() == {*known, *added}
        assert export["uploads"][0].keys() == known["uploads"][0].keys()
    assert [entry["kind"] for entry in export["entries"]] == ["joined", *["uploaded"] * 6, "closed", "reopened"]
    assert [entry["position"] for entry in export["entries"]] == list(range(1, 10))
    first, second, last = export["entries"][0], export["entries"][1], export["entries"][-1]
    assert (first["id"], first["journal"], first["plate"]) == ("lab-a/join/0", "5f0c", 6)
    assert sum(count for _, count in first["plan"]) == 6
    assert second["tally"] == export["uploads"][0]["tally"]
    assert (last["by"], last["plan"]) == ("admin 1", None)
    del export["standing"], export["test"]
    del export["entries"]  # where plans and tallies stay as the storage has them
    assert text.startswith(json.dumps(export).removesuffix("}"))


class Longer:
    """A log that says everything a thousand times."""

    def __init__(self, storage: Storage) -> None:
        self.storage, self.plan_texts = storage, storage.plan_texts

    def entries(self, study: Charter, length: int, after: int = 0) -> Iterator[Any]:
        for _ in range(1000):
            yield from self.storage.entries(study, length, after)


def test_an_export_comes_in_pieces(storage: Storage, text: str) -> None:
    study = storage.find(PROBLEM.name)
    assert study is not None
    overview = look(storage, study)
    pieces = list(export_json(overview, Longer(storage)))
    assert len(pieces) > 10
    assert max(map(len, pieces)) < 2 * PIECE
    assert "".join(export_csv(overview, storage)).count("\n") == 1 + 6 * 3


@pytest.mark.parametrize("piece", [1, 7, 1000, 65_536])
@pytest.mark.parametrize("layout", [{}, {"indent": 1}, {"sort_keys": True}, {"separators": (",", ":")}])
def test_a_file_is_read_whatever_its_layout(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int, layout: dict[str, Any]
) -> None:
    monkeypatch.setattr(export_file, "PIECE", piece)
    file = tmp_path / "export.json"
    file.write_text("\ufeff" + json.dumps(json.loads(text), **layout) + "\n", encoding="utf-8")
    export, whole = ExportFile(file), json.loads(text)
    for name in export_file.LISTS:
        rows = export.rows(name)
        assert rows is not None
        assert list(rows) == whole.pop(name)
    assert export.facts == whole
    assert replay(export).verdict == verify(json.loads(text))


@pytest.mark.parametrize("name", ["finished", "open", "linear"])
def test_exports_of_version_0_1_verify(name: str, tmp_path: Path) -> None:
    export = json.loads(GOLDEN.read_text())[name]
    file = tmp_path / "export.json"
    file.write_text(json.dumps(export))
    assert replay(ExportFile(file)).verdict == verify(export)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "not JSON"),
        ("hello", "not JSON"),
        ("[1, 2]", "must be an object"),
        ("{}", "must be an object"),
        ('{"uploads": [1, 2', "not JSON"),
        ('{"uploads": [1 2]}', "not JSON"),
        ('{"uploads": [], "uploads": []}', "'uploads' appears twice"),
        ('{"problem": {"a": 1, "a": 2}}', "'a' appears twice"),
        ('{"uploads": [NaN]}', "NaN is not a number"),
        ('{"uploads": []} x', "more after its end"),
        ('{"uploads": [' + "[" * 100_000, "not JSON|nested too deeply"),
        ("{1: 2}", "a name is missing"),
    ],
)
def test_a_file_that_is_no_export_gets_a_sentence(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "export.json"
    file.write_text(content)
    with pytest.raises(UserError, match=sentence):
        replay(ExportFile(file))


def test_a_file_that_is_not_there_gets_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        ExportFile(tmp_path / "nothing.json")
    (tmp_path / "bytes").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(UserError, match="UTF-8"):
        ExportFile(tmp_path / "bytes")


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e["entries"][1]["tally"]["A"].__setitem__(1, 0.123),
        lambda e: e["entries"].pop(1),
        lambda e: e["entries"].reverse(),
        lambda e: e["entries"].append({"position": 10, "kind": "forgotten"}),
        lambda e: e["entries"].append({"position": 10, "kind": "closed"}),
        lambda e: e["entries"].append(7),
        lambda e: e["uploads"][0].__setitem__("received_at", "2020-01-01T00:00:00.000Z"),
        lambda e: e["uploads"].pop(),
        lambda e: e["uploads"].append(e["uploads"][0]),
        lambda e: e["verdicts"].append(e["verdicts"][0]),
    ],
)
def test_an_export_whose_lists_disagree_does_not_hold(text: str, change: Any) -> None:
    export = json.loads(text)
    change(export)
    with pytest.raises(ServiceError):
        verify(export)


def test_an_export_with_a_correction_verifies(storage: Storage, text: str) -> None:
    """Verdicts follow from the entries, not from the uploads alone."""
    study = storage.find(PROBLEM.name)
    assert study is not None
    server = Server(study.method)
    tally = Tally.of([4, 4, 4], [3.2, 3.2, 3.0])
    log: list[Entry] = [
        Upload(PROBLEM.fingerprint, "lab-a", 1, Tally.of([4, 4, 4], [3.3, 3.2, 3.0])),
        Correction("1", "admin", "lab-a", 1, tally),
        Close("2", "admin"),
        Reopen("3", "admin"),
        batch(PROBLEM, "lab-a", 2),
    ]
    export = json.loads(text) | {"uploads": [], "verdicts": [], "entries": []}
    facts = ("problem", "method", "parameters", "agents")
    digest = charter(*(export[key] for key in facts))
    for position, entry in enumerate(log, 1):
        server.append(entry)
        row = {"position": position, "kind": entry.word, "id": entry.id} | body_of(entry, PROBLEM.arms)
        decision = verdict_to_json(server.verdict) if server.stopped_at == len(server.log) else None
        said = None if decision is None else CANONICAL.encode(decision)
        body = CANONICAL.encode(body_of(entry, PROBLEM.arms))
        digest = link(digest, position, entry.word, "now", said, body)
        row |= {"plan": None, "received_at": "now", "digest": digest, "decision": decision}
        export["entries"].append(row)
        if isinstance(entry, Upload):
            export["uploads"].append(export["entries"][-1] | {"position": len(server.log)})
            export["verdicts"].append(verdict_to_json(server.verdict))
    export |= {"verdict": verdict_to_json(server.verdict), "length": len(log), "digest": digest}
    assert verify(export) == server.verdict
    assert verify(export).samples == 24
    with pytest.raises(ServiceError):
        verify({key: value for key, value in export.items() if key != "entries"})
