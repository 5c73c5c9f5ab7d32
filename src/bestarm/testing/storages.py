"""What every storage keeps to, whatever database is behind it.

A storage is opened as often as a law asks for, as several server processes would: `open_storage()` gives
another view of the same, at first empty, database.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from bestarm.core.tally import Tally
from bestarm.errors import Refused
from bestarm.methods import method as build
from bestarm.problem import Problem
from bestarm.protocol.entries import Join, Upload
from bestarm.protocol.server import Server
from bestarm.service.storage import Storage
from bestarm.service.storage.study.overview import Charter, Overview
from bestarm.testing.demand import demand

Open = Callable[[], Storage]

ROUNDS = 6


def check_storage(open_storage: Open) -> None:
    """Every law for storages, each on a study of its own."""
    for law in STORAGE_LAWS:
        law(open_storage, f"storage, {law.__name__.replace('_', ' ')}")


def a_log_is_its_replay(open_storage: Open, who: str) -> None:
    """What was taken is there, in one order, for whoever opens the storage later; the verdict follows."""
    first, study = _begin(open_storage, "replay")
    uploads = _uploads(study)
    for upload in uploads:
        first.take(study, upload).result()
    before = _look(first, study)
    demand(before.uploads == len(uploads), f"{who}: {len(uploads)} were sent, {before.uploads} are there")
    replayed = Server.replay(study.method, first.uploads(before))
    demand(replayed.total == before.total, f"{who}: the total is not that of the log")
    demand(replayed.verdict == before.verdict, f"{who}: the verdict is not that of the log")
    first.close()
    after = _look(open_storage(), study)
    demand(after.uploads == before.uploads, f"{who}: {before.uploads} were taken, {after.uploads} are there")
    demand((after.total, after.verdict) == (before.total, before.verdict), f"{who}: it reads otherwise later")


def a_repeat_gets_the_same_answer(open_storage: Open, who: str) -> None:
    """Joins and uploads sent again, to another process too, change nothing, and get the plan that they got."""
    first, study = _begin(open_storage, "repeat")
    second = open_storage()
    join = Join("lab-a", "journal-a", plate=4, cannot=("C",))
    _, plan = first.join(study, join).result()
    demand(second.join(study, join).result() == (0, plan), f"{who}: a join again has another answer")
    uploads = _uploads(study)
    answers = [first.take(study, upload).result() for upload in uploads]
    for upload, answer in zip(uploads, answers, strict=True):
        again = second.take(study, upload).result()
        demand(again.reply == answer.reply, f"{who}: upload {upload.id} again has another answer")
        demand(again.position == answer.position and not again.new, f"{who}: {upload.id} was counted twice")
    demand(_look(second, study).uploads == len(uploads), f"{who}: a repeat made the log longer")


def what_does_not_fit_changes_nothing(open_storage: Open, who: str) -> None:
    """A gap and a changed repeat are refused, and leave no trace."""
    storage, study = _begin(open_storage, "refusals")
    first, *later = [upload for upload in _uploads(study) if upload.agent == "lab-a"]
    storage.take(study, first).result()
    before = _look(storage, study)
    other = Upload(first.problem, first.agent, first.sequence, first.tally + first.tally)
    for upload, code in ((later[-1], "gap"), (other, "conflict")):
        try:
            storage.take(study, upload).result()
            found = ""
        except Refused as refusal:
            found = refusal.code
        demand(found == code, f"{who}: {upload.id} should be refused as a {code}, and was {found or 'taken'}")
    after = _look(open_storage(), study)
    demand((after.uploads, after.total) == (before.uploads, before.total), f"{who}: a refusal left a trace")
    storage.take(study, later[0]).result()


def two_processes_make_one_log(open_storage: Open, who: str) -> None:
    """Uploads through two processes in turn are one log, which both read alike."""
    first, study = _begin(open_storage, "processes")
    second = open_storage()
    for turn, upload in enumerate(_uploads(study)):
        (first, second)[turn % 2].take(study, upload).result()
    views = [_look(storage, study) for storage in (first, second)]
    demand(views[0].total == views[1].total, f"{who}: two processes know different totals")
    demand(views[0].verdict == views[1].verdict, f"{who}: two processes give different verdicts")


def closed_is_closed(open_storage: Open, who: str) -> None:
    """A closed study takes nothing, for every process, until it is opened again."""
    first, study = _begin(open_storage, "closed")
    second = open_storage()
    upload = _uploads(study)[0]
    first.set_closed(study, True, "administrator").result()
    try:
        second.take(study, upload).result()
        refused = ""
    except Refused as refusal:
        refused = refusal.code
    demand(refused == "closed", f"{who}: an upload to a closed study was {refused or 'taken'}")
    second.set_closed(study, False, "administrator").result()
    demand(first.take(study, upload).result().new, f"{who}: a study that was opened again takes nothing")


def a_name_leads_to_its_study_for_ever(open_storage: Open, who: str) -> None:
    """A study that is renamed takes uploads under all its names, for every process; none is given away."""
    first, study = _begin(open_storage, "before")
    second, uploads = open_storage(), _uploads(study)
    first.take(study, uploads[0]).result()
    for _ in range(2):  # again is harmless
        renamed = first.rename(study, "after", "administrator").result().study
    demand(renamed.name == "after", f"{who}: a renamed study is called {renamed.name!r}")
    demand(renamed.problem.fingerprint == study.problem.fingerprint, f"{who}: a name changed the fingerprint")
    for name, upload in zip(("before", "after"), uploads[1:], strict=False):
        found = second.find(name)
        demand(found is not None and found.id == study.id, f"{who}: {name!r} does not lead to the study")
        assert found is not None
        demand(second.take(found, upload).result().new, f"{who}: under {name!r} nothing is taken")
    for name in ("before", "after"):
        try:
            _begin(open_storage, name)
            refused = ""
        except Refused as refusal:
            refused = refusal.code
        demand(refused == "exists", f"{who}: the name {name!r} was given to two studies")
    demand(_look(first, study).uploads == 3, f"{who}: uploads were lost with a name")
    back = first.rename(renamed, "before", "administrator").result().study
    demand(back.name == "before", f"{who}: a study does not get its own name back")


STORAGE_LAWS: tuple[Callable[[Open, str], None], ...] = (
    a_log_is_its_replay,
    a_repeat_gets_the_same_answer,
    what_does_not_fit_changes_nothing,
    two_processes_make_one_log,
    closed_is_closed,
    a_name_leads_to_its_study_for_ever,
)


def _begin(open_storage: Open, name: str) -> tuple[Storage, Charter]:
    storage = open_storage()
    problem = Problem(["A", "B", "C"], sigma=0.3, delta=0.001, name=name)
    return storage, storage.create(build("sharp", problem, agents=2)).result().study


def _look(storage: Storage, study: Charter) -> Overview:
    found = storage.find(study.name)
    assert found is not None
    return storage.look(found).result()


def _uploads(study: Charter) -> list[Upload]:
    """A few batches of two sites, the same every time."""
    chance = random.Random(study.name)
    return [
        Upload(
            study.problem.fingerprint,
            agent,
            sequence,
            Tally.of([2, 2, 1], [chance.gauss(mean, 0.3) for mean in (1.8, 1.6, 0.5)]),
        )
        for sequence in range(1, ROUNDS + 1)
        for agent in ("lab-a", "lab-b")
    ]
