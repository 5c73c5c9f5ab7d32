"""How a study went, thinned out as it goes on: evenly spread uploads, and never more than a few hundred."""

from __future__ import annotations

from bestarm.service.storage.study.overview import Judged

MOST = 1_024


class History:
    """Every upload at first; when there are too many every second one is left out, and so on.

    >>> history = History()
    >>> history.step, len(history.kept)
    (1, 0)
    """

    def __init__(self) -> None:
        self.step = 1  # the first upload, and every so-many-th after it, are kept
        self.kept: list[Judged] = []
        self.last: Judged | None = None
        self.stopped: Judged | None = None  # the first with a verdict that stays

    def add(self, judged: Judged) -> None:
        """One more upload."""
        self.last = judged
        if self.stopped is None and judged.verdict.stopped:
            self.stopped = judged
        if (judged.position - 1) % self.step == 0:
            self.kept.append(judged)
            if len(self.kept) >= MOST:
                self.step *= 2
                self.kept = self.kept[::2]

    @property
    def all(self) -> tuple[Judged, ...]:
        """Those that were kept, with the last one and the one that settled the study, in their order."""
        more = {one.position: one for one in (self.stopped, self.last) if one is not None}
        found = {one.position: one for one in self.kept} | more
        return tuple(found[position] for position in sorted(found))
