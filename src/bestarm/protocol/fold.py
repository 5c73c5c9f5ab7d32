"""What the uploads of a log add up to: the total, and the state that a verdict is read from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bestarm.core.tally import Tally
from bestarm.methods.compose import compose
from bestarm.methods.composed import Method
from bestarm.problem import Problem
from bestarm.protocol.entries import ArmAdded, ArmWithdrawn, Correction, Entry, Upload

Corrected = Mapping[tuple[str, int], Tally]


class Fold:
    """The fold over uploads, in one reading of them: with these arms, and with these corrections.

    An entry that changes the past is another reading: `changed` begins it, and all uploads are added to it
    anew. Nothing of the log is kept.
    """

    def __init__(
        self,
        original: Method,
        method: Method,
        arms: tuple[str, ...],
        start: Tally,
        corrected: Corrected | None = None,
        withdrawn: frozenset[str] = frozenset(),
        added: tuple[ArmAdded, ...] = (),
    ) -> None:
        self.original = original  # for the problem as the study began
        self.method = method  # for the arms that there are now
        self.arms = arms  # all that there ever were
        self.start = start
        self.corrected = corrected or {}  # what an upload should have said
        self.withdrawn = withdrawn
        self.added = added
        places = {name: k for k, name in enumerate(method.problem.arms)}
        self.active = {arm: places[name] for arm, name in enumerate(arms) if name in places}
        self.uploads = 0
        self.samples, self.pulls, self.sums = 0, [0] * len(arms), [0.0] * len(arms)
        self.squares = [0.0] * len(arms)
        self._count(start)
        self.state = method.begin(self._seen(start))

    def changed(self, entry: Entry) -> Fold:
        """The beginning of another reading, with an entry applied that changes the past."""
        method, arms, corrected, withdrawn, added = (
            self.method,
            self.arms,
            self.corrected,
            self.withdrawn,
            self.added,
        )
        match entry:
            case Correction():
                corrected = {**corrected, (entry.agent, entry.sequence): entry.tally}
            case ArmWithdrawn():
                withdrawn = withdrawn | {entry.arm}
                method = self._built(method.problem.without(withdrawn), len(withdrawn))
            case ArmAdded():
                method = self._built(method.problem.with_arm(entry.arm, entry.features), len(withdrawn))
                arms, added = (*arms, entry.arm), (*added, entry)
        return Fold(self.original, method, arms, self.start, corrected, withdrawn, added)

    def add(self, upload: Upload, site: int) -> None:
        """One more upload, of the site with this number. If it fails, the state can't be used any more."""
        seen = self.said(upload)
        if seen.arms:
            self.state = self.method.fold(self.state, seen, site)
        self._count(self._right(upload))
        self.uploads += 1

    def said(self, upload: Upload) -> Tally:
        """What the statistics see of an upload: as it was corrected, with the arms that there are now."""
        return self._seen(self._right(upload))

    @property
    def total(self) -> Tally:
        """All uploads together, as they were corrected, and the start."""
        return Tally.of(self.pulls, self.sums, self.squares if self.method.squares else None)

    def _built(self, problem: Problem, withdrawn: int) -> Method:
        method = self.original
        counted = len(problem.arms) + withdrawn
        return compose(method.recipe, problem, method.agents, method.parameters, counted)

    def _right(self, upload: Upload) -> Tally:
        """What an upload says, as it was corrected."""
        return self.corrected.get((upload.agent, upload.sequence), upload.tally)

    def _seen(self, tally: Tally) -> Tally:
        """A tally with the arms that there are now, and no others."""
        if len(self.active) == len(self.arms) == tally.size:
            return tally
        return tally.renumbered(self.active, len(self.active))

    def _count(self, tally: Tally) -> None:
        self.samples += tally.samples
        for arm, count, total in zip(tally.arms, tally.counts, tally.sums, strict=True):
            self.pulls[arm] += count
            self.sums[arm] += total
        for arm, square in zip(tally.arms, tally.squares, strict=False):  # mostly there are no squares
            self.squares[arm] += square


def plain_state(state: Any) -> Any:
    """A state as lists of arrays and numbers."""
    return [plain_state(part) for part in state] if hasattr(state, "_fields") else state


def state_like(example: Any, values: Any) -> Any:
    """The inverse of `plain_state`; the example says which named tuples they were."""
    if not hasattr(example, "_fields"):
        return values
    return type(example)(*(state_like(part, value) for part, value in zip(example, values, strict=True)))
