"""Whether an entry fits the log: what can't be right is refused in a sentence, and nothing changes."""

from __future__ import annotations

import math
from operator import add
from typing import TYPE_CHECKING

from bestarm.protocol.entries import (
    ArmAdded,
    ArmWithdrawn,
    Correction,
    Entry,
    Join,
    Note,
    Reopen,
    Restored,
    Upload,
)
from bestarm.protocol.messages import (
    MOST_PULLS,
    Gap,
    Over,
    ProtocolError,
    check_sender,
    check_site,
    check_tally,
)
from bestarm.reward import show
from bestarm.verdict import Reason

if TYPE_CHECKING:
    from bestarm.protocol.server import Server

FINAL = (Reason.BUDGET, Reason.DEADLINE)  # ends after which data are still recorded, as after the answer
ENDED = {
    Reason.FOUND: "the best arm is known",
    Reason.BUDGET: "its budget is used up",
    Reason.DEADLINE: "its deadline is past",
    Reason.CLOSED: "it was closed",
}


def check(entry: Entry, server: Server) -> None:
    """Refuse an entry that is not in the log yet and can't come next."""
    _check_open(entry, server)
    match entry:
        case Upload():
            _check_upload(entry, server)
        case Correction():
            _check_correction(entry, server)
        case ArmAdded():
            _check_arm_added(entry, server)
        case ArmWithdrawn():
            if entry.arm not in server.method.problem.arms:
                raise ProtocolError(f"arm: {show(entry.arm)} is not an arm of the study.")
            if len(server.method.problem.arms) <= 2:
                raise ProtocolError("arm: a study needs at least two arms; close it instead.")
        case Join():
            check_site(entry)
            unknown = set(entry.cannot) - set(server.arms)
            if unknown:
                raise ProtocolError(f"join: {show(min(unknown))} is not an arm of the study.")
            if not set(server.method.problem.arms) - set(entry.cannot):
                raise ProtocolError("join: a site must be able to do at least one arm.")


def _check_open(entry: Entry, server: Server) -> None:
    """After the answer, budget or deadline data are still recorded; a study that was closed takes none."""
    late = Correction | Restored | Note | (Upload | Join if server.closed in FINAL else Reopen)
    if server.closed is not None and not isinstance(entry, late):
        again = " and can't be opened again" if isinstance(entry, Reopen) else ""
        raise Over(f"the study is over{again} ({ENDED[server.closed]}); nothing more can be added to it.")
    if server.stopped and isinstance(entry, ArmAdded | ArmWithdrawn):
        raise Over("the study is over (the best arm is known); its arms stay as they are.")


def _check_upload(upload: Upload, server: Server) -> None:
    check_sender(upload, server.terms)
    check_tally(upload.tally, server.terms, server.arms)
    expected = server.sequences.get(upload.agent, 0) + 1
    if upload.sequence != expected:
        raise Gap(
            f"upload: agent {upload.agent!r} sent sequence {upload.sequence}; the next one is {expected}, "
            "so an earlier upload is missing and must be sent first."
        )
    tally, known = upload.tally, server.known
    sums = map(add, map(known.sums.__getitem__, tally.arms), tally.sums)
    if not known.samples + tally.samples < MOST_PULLS or not all(map(math.isfinite, sums)):
        raise ProtocolError("tally: with it the total would be too large for a number to hold.")


def _check_correction(entry: Correction, server: Server) -> None:
    if server.sequences.get(entry.agent, 0) < entry.sequence or entry.sequence < 1:
        raise ProtocolError(f"correction: agent {entry.agent!r} has no upload {entry.sequence} to correct.")
    check_tally(entry.tally, server.terms, server.arms)
    said = server.known.corrected.get((entry.agent, entry.sequence))
    if said is None:
        found = server.past.find(f"{entry.agent}/{entry.sequence}")
        assert found is not None
        assert isinstance(found.entry, Upload)
        said = found.entry.tally
    if server.samples - said.samples + entry.tally.samples >= MOST_PULLS:
        raise ProtocolError("tally: with it the total would be too large for a number to hold.")


def _check_arm_added(entry: ArmAdded, server: Server) -> None:
    if not server.method.test.arms_may_come:
        raise ProtocolError(
            f"arm: the test {server.method.test.name} counts its arms at the beginning, and its promise "
            "would not hold with another one; start a new study."
        )
    if entry.arm in server.arms:
        raise ProtocolError(f"arm: the study has, or had, an arm {show(entry.arm)} already.")
