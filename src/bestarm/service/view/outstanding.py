"""How much a site is working on: its plan follows from its last download, so the server can tell its size."""

from __future__ import annotations

import math

import numpy as np

from bestarm.core.breaking import Reading
from bestarm.core.estimate import View
from bestarm.core.trigger import aim, count
from bestarm.methods import Method
from bestarm.service.storage.ledger import Entry

FROM_COUNTS = (aim, count)  # triggers that look at the samples and the evidence, and at nothing else


def outstanding(method: Method, answered: Entry) -> int | None:
    """The pulls in the plan of a site whose last upload is this entry; None where a count does not tell.

    `answered` holds the samples N and the evidence of the download that the plan was made from. The determinant
    trigger needs the whole tally, and while an arm has never been pulled there is no evidence.
    """
    if method.rules.trigger not in FROM_COUNTS or not math.isfinite(answered.verdict.breaking_index):
        return None
    nothing = np.empty(0)
    view = View(answered.samples, nothing, nothing, nothing, 0.0)
    reading = Reading(0, 0, answered.verdict.breaking_index, answered.verdict.evidence)
    return max(int(method.rules.trigger(view, reading, 0, method.setting)), method.setting.min_batch)
