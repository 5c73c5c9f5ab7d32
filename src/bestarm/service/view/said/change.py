"""Why the evidence rose or fell: the last change, and the last fall, in sentences."""

from __future__ import annotations

from bestarm.methods import Verdict
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Correction, Upload
from bestarm.reward import HIGHEST
from bestarm.service.storage.study.overview import Happened, Judged, Overview
from bestarm.service.view.said.ending import sentence
from bestarm.shown import apart, share

LOOK_BACK = 20  # uploads
A_FALL = 0.05  # of the evidence


def changes(overview: Overview) -> list[str]:
    """The last change, and before it the last fall that is worth a word."""
    lately = overview.lately
    if not lately:
        return []
    last = len(lately) - 1
    by_hand = _by_hand(overview, overview.uploads)
    because = by_hand and _because(lately[last][0].verdict, overview.now, by_hand)
    said = [because or _step(overview, last)]
    first = last if by_hand else last - 1
    for k in range(first, max(first - LOOK_BACK, 0), -1):
        before, after = lately[k - 1][0].verdict, lately[k][0].verdict
        if after.evidence < before.evidence - A_FALL:
            said.append("Before that: " + _step(overview, k))
            break
    return [one for one in said if one]


def _step(overview: Overview, k: int) -> str:
    """From the upload before to this one, of the last ones."""
    judged, upload = overview.lately[k]
    if judged.position == 1:
        return f"The first batch came from {judged.agent}."
    before = overview.lately[k - 1][0].verdict
    by_hand = _by_hand(overview, judged.position - 1)
    if by_hand:
        return _because(before, judged.verdict, by_hand)
    moved = _moved(before, judged.verdict)
    earlier = [sent for _, sent in overview.lately[:k]]
    why = _in_it(overview, judged, upload, before, earlier)
    return f"With batch {judged.sequence} of {judged.agent} {moved}{why}"


def _by_hand(overview: Overview, uploads: int) -> list[Happened]:
    """What people changed when there were so many uploads."""
    kinds = Correction | ArmAdded | ArmWithdrawn
    return [one for one in overview.happened if one.uploads == uploads and isinstance(one.entry, kinds)]


def _because(before: Verdict, after: Verdict, by_hand: list[Happened]) -> str:
    why = " ".join(sentence(one.entry) for one in by_hand[-2:])
    moved = _moved(before, after)
    return f"{why} With that {moved}."


def _moved(before: Verdict, after: Verdict) -> str:
    """What became of the lead and of the evidence."""
    old, new = share(before.evidence), share(after.evidence)
    how = "rose" if after.evidence > before.evidence else "fell"
    evidence = f"the evidence stayed at {new}" if old == new else f"the evidence {how} from {old} to {new}"
    if before.leader != after.leader:
        return f"{after.leader} took the lead from {before.leader}, and {evidence}"
    return evidence


def _in_it(overview: Overview, judged: Judged, upload: Upload, before: Verdict, earlier: list[Upload]) -> str:
    """What a batch said of the two arms in front, where it explains a fall; and a full stop."""
    same = share(judged.verdict.evidence) == share(before.evidence)
    if same or judged.verdict.evidence > before.evidence or before.leader == before.challenger:
        return "."
    leader, rival = (overview.arms.index(name) for name in (before.leader, before.challenger))
    found = _means(upload, leader, rival)
    if found is None:
        return "."
    first, second, _ = found
    ours, theirs = apart(first, second)
    up = 1.0 if overview.method.problem.goal == HIGHEST else -1.0
    ahead = up * (first - second)
    if ahead < 0.0:
        return f": in it {before.challenger} ({theirs}) did better than {before.leader} ({ours})."
    said = f": in it {before.leader} ({ours}) was"
    known = [one for one in (_means(sent, leader, rival) for sent in earlier) if one is not None]
    if sum(weight * (up * (one - other) - ahead) for one, other, weight in known) > 0.0:
        return f"{said} less far ahead of {before.challenger} ({theirs}) than before."
    return f"{said} ahead of {before.challenger} ({theirs}), and yet more is needed than it seemed."


def _means(upload: Upload, one: int, other: int) -> tuple[float, float, float] | None:
    """The means of two arms in a batch, and how much their difference tells; None if it had not both."""
    rows = [upload.tally.rows.get(arm) for arm in (one, other)]
    if any(row is None or not row[0] for row in rows):
        return None
    (pulls, total), (pulls_other, total_other) = ((row[0], row[1]) for row in rows if row is not None)
    return total / pulls, total_other / pulls_other, pulls * pulls_other / (pulls + pulls_other)
