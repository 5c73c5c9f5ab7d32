"""Plans for arms with features: every batch by itself tells about all directions that need it."""

from __future__ import annotations

import numpy as np

from bestarm.core.algebra import inner, outer, product, times
from bestarm.core.arrays import Counts, Floats
from bestarm.core.breaking import Reading
from bestarm.core.fit import Fit
from bestarm.core.rules import Choose, Fire, Foresee, Selection
from bestarm.core.selection.greedy import greedy
from bestarm.core.setting import Setting
from bestarm.core.stopping.linear import row_products

PRIOR = 0.003  # of a batch: the information that its plan begins with, in proportion to all that there is
FLOOR = 0.01  # of the largest need: that of an arm that is ruled out, so that it can come back
STEPS = 250  # of a large batch


def serve(
    state: Fit,
    reading: Reading,
    setting: Setting,
    foresee: Foresee,
    choose: Choose,
    trigger: Fire,
    arms: Counts,
    counts: Counts,
) -> int:
    """The plan: step by step for the direction from an arm to the leader that the batch serves worst so far.

    How badly it serves y = z_i − z_k is √(information that k still needs) · y'B⁻¹y, B being the information of
    the batch with what is planned so far. The next arm is the one that lowers y'B⁻¹y most. Of a batch with c
    pulls around the mean m, t more of an arm z make B + ct/(c+t) (z−m)(z−m)'. The leader comes first.
    """
    features, leader, least = setting.features, reading.leader, setting.min_batch
    steps = max(trigger(state.estimate, reading, leader, setting) // least, 2)
    stride = max(steps // STEPS, 1)
    needs = np.sqrt(state.missing + FLOOR * state.missing.max() + 1e-300)
    needs[leader] = 0.0
    start = PRIOR * steps / max(state.estimate.samples, 1)
    inverse = state.estimate.inverse / start
    mapped = product(features, inverse)
    spread = row_products(mapped, features)  # z'B⁻¹z of every arm
    toward = spread - 2.0 * times(mapped, features[leader]) + spread[leader]  # y'B⁻¹y of every direction
    planned = np.zeros(setting.arms, np.int64)
    planned[leader] = 1
    middle, done = features[leader].copy(), 1
    while done < steps:
        take = min(stride, steps - done)
        share = done * take / (done + take)
        best = most_telling(features, inverse, spread, middle, leader, int(np.argmax(needs * toward)), share)
        offset = features[best] - middle
        along = times(inverse, offset)
        gain = share / (1.0 + share * inner(offset, along))
        seen = times(features, along)
        inverse = inverse - gain * outer(along, along)
        spread = np.maximum(spread - gain * seen * seen, 0.0)
        toward = np.maximum(toward - gain * (seen - seen[leader]) ** 2, 0.0)
        middle = middle + (take / (done + take)) * offset
        planned[best] += take
        done += take
    chosen = np.flatnonzero(planned)
    distinct = chosen.shape[0]
    arms[:distinct] = chosen
    counts[:distinct] = planned[chosen] * least
    return distinct


def most_telling(
    features: Floats, inverse: Floats, spread: Floats, middle: Floats, leader: int, arm: int, share: float
) -> int:
    """The arm z that lowers y'B⁻¹y most: argmax (u'B⁻¹y)²/(1 + s u'B⁻¹u), u = z − m."""
    wanted = times(inverse, features[leader] - features[arm])
    centre = times(inverse, middle)
    told = times(features, wanted) - inner(middle, wanted)
    length = np.maximum(spread - 2.0 * times(features, centre) + inner(middle, centre), 0.0)
    return int(np.argmax(told * told / (1.0 + share * length)))


DIRECTIONS = Selection(
    "directions",
    "the arms that tell most about the directions that need it; for features compared inside batches",
    greedy,
    serve,
    needs_features=True,
    needs_linear=True,
    needs_race=True,
)
