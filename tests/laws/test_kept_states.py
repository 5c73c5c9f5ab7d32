"""A state that was kept is the state: whatever comes later, every bit is as in a replay."""

from __future__ import annotations

import pytest

from bestarm.methods import METHODS, Kind, Method
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Close, Correction, Entry, Join, Reopen, Upload
from bestarm.protocol.frozen import freeze, thaw
from bestarm.protocol.server import Server
from bestarm.service.storage.kept.packing import gather, pack, unpack
from bestarm.testing.demand import same_bits
from bestarm.testing.worlds import batches, methods_on_worlds

SERVED = [name for name, recipe in METHODS.items() if recipe.kind is not Kind.SYNCHRONOUS]


def story(method: Method) -> list[Entry]:
    """Two sites, and everything that people do to a study."""
    names, fingerprint = method.problem.arms, method.problem.fingerprint
    sent = list(batches(method, 10, 3, complete=True))
    entries: list[Entry] = [Join("lab-a", "5f0c", plate=6, plates=2), Join("lab-b")]
    for number, tally in enumerate(sent):
        entries.append(Upload(fingerprint, f"lab-{'ab'[number % 2]}", number // 2 + 1, tally))
        if number == 3:
            entries.append(Correction("c1", "admin", "lab-a", 1, sent[9], "units"))
        if number == 5:
            entries += [Close("x1", "admin"), Reopen("r1", "admin"), Join("lab-a", plates=1, number=1)]
    if method.test.arms_may_come and method.problem.features is None:
        entries.insert(8, ArmAdded("a1", "admin", "one more"))
    if len(names) > 2:
        entries.insert(9, ArmWithdrawn("w1", "admin", names[-1]))
    return entries


@pytest.mark.parametrize("name", SERVED)
def test_a_state_kept_at_any_position_goes_on_as_the_replay(name: str) -> None:
    for method in methods_on_worlds(name).values():
        whole, kept = Server(method), Server(method)
        for entry in story(method):
            try:
                whole.append(entry)
            except ValueError:  # it is over, or the study has too few arms
                continue
            kept.append(entry)
            packed = gather(freeze(kept))
            assert packed == gather(freeze(whole))
            kept = thaw(method, unpack(pack(packed)), kept.past)
            assert gather(freeze(kept)) == packed
            assert same_bits(kept.state, whole.state)
            assert (kept.verdict, kept.total, kept.now) == (whole.verdict, whole.total, whole.now)
