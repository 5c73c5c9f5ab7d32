"""What a study's data say at one moment."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from html import escape

from bestarm.notebook import meter
from bestarm.shown import share


class Reason(Enum):
    """Why a study is over."""

    FOUND = "found"  # the test has settled which arm is best
    BUDGET = "budget"
    DEADLINE = "deadline"
    CLOSED = "closed"  # by a person


ENDS = {
    Reason.BUDGET: "The budget is used up. ",
    Reason.DEADLINE: "The deadline is past. ",
    Reason.CLOSED: "The study is closed. ",
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a tally says: who leads, who could still be better, and whether that is settled.

    `arm` is the answer, and None until the method stops. `reason` says why a study is over, and is None while
    it goes on.
    """

    stopped: bool
    leader: str
    challenger: str
    breaking_index: float
    evidence: float
    samples: int
    reason: Reason | None = None

    def __post_init__(self) -> None:
        if self.stopped:
            object.__setattr__(self, "reason", Reason.FOUND)

    @property
    def arm(self) -> str | None:
        """The arm that is the answer, once there is one."""
        return self.leader if self.stopped else None

    def __str__(self) -> str:
        """What it says, in a sentence.

        >>> print(Verdict(True, "A", "B", -0.1, 1.2, 1234))
        A is the answer, after 1,234 samples.
        >>> print(str(Verdict(False, "A", "B", 0.02, 0.7, 200, Reason.BUDGET)).split(";")[0])
        The budget is used up. A leads after 200 samples, with 70 % of the evidence
        """
        return ("" if self.reason is None else ENDS.get(self.reason, "")) + self._so_far

    @property
    def _so_far(self) -> str:
        if self.samples == 0:
            return "Nothing was measured yet."
        known = f"after {self.samples:,} sample" + "s" * (self.samples != 1)
        if self.stopped:
            return f"{self.leader} is the answer, {known}."
        rival = f"{self.challenger} could still be better"
        if math.isfinite(self.breaking_index):
            rival += f" by up to {self.breaking_index:.3g}"
        return f"{self.leader} leads {known}, with {self.progress}; {rival}."

    @property
    def progress(self) -> str:
        """How much there is of the evidence that is needed; 100 % only when there is all of it."""
        return f"{share(self.evidence)} of the evidence"

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>" + meter(self.evidence, self.progress)
