"""Fed-SEL's test (Mitra, Hassani and Pappas, 2021): sites eliminate among their own arms, then the winners."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bestarm.core.arrays import Counts, Flags, Floats
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading, best_left, last_left
from bestarm.core.coordinates import none_at_all
from bestarm.core.estimate import begin_separate, fold_separate, foresee_nothing
from bestarm.core.race import single
from bestarm.core.rules import Model, Test
from bestarm.core.setting import Setting
from bestarm.core.state import Totals, View
from bestarm.core.stopping.elimination import elimination_radius


class Owned(NamedTuple):
    """The total, which arms are `left`, and how many messages sites have `sent`.

    Arm k belongs to site k mod M.
    """

    pulls: Counts
    sums: Floats
    estimate: View
    left: Flags
    sent: int


def begin(setting: Setting) -> Owned:
    """Every arm is left, and nobody has sent anything."""
    total = begin_separate(setting)
    return Owned(total.pulls, total.sums, total.estimate, np.ones(setting.arms, np.bool_), 0)


def fold(state: Owned, batch: Batch, setting: Setting) -> Owned:
    """The pulls of all sites until they look again.

    While a site has several arms left, nobody sends anything. Then each tells its winner, and from then on
    every site that is left reports in every round.
    """
    left, sent, before = state.left, state.sent, winners(state.left, setting.agents)
    if before > 0 and state.estimate.samples > 0:
        sent += before
    total = fold_separate(Totals(state.pulls, state.sums, state.estimate, 0.0, 0.0), batch, setting)
    if total.pulls.min() > 0:
        ahead = margins(total.pulls, total.estimate.values, left, before == 0, setting)
        for k in range(setting.arms):
            left[k] = left[k] and ahead[k] < 1.0
        if before == 0 or state.estimate.samples == 0:
            sent += winners(left, setting.agents)
    return Owned(total.pulls, total.sums, total.estimate, left, sent)


def winners(left: Flags, sites: int) -> int:
    """How many sites have an arm left, if none of them has several; else 0.

    >>> [int(winners(np.array(left), 2)) for left in ([True, True, False, True], [True, True, False, False])]
    [0, 2]
    """
    found = 0
    for site in range(min(sites, left.shape[0])):
        own = 0
        for k in range(site, left.shape[0], sites):
            own += left[k]
        if own > 1:
            return 0
        found += own
    return found


def margins(pulls: Counts, values: Floats, left: Flags, at_home: bool, setting: Setting) -> Floats:
    """By how much each arm is behind the best other one that is left, over the sum of the two radii.

    While sites look for their winners, `at_home`, only the arms of the same site count.
    """
    behind = np.zeros(setting.arms)
    for k in range(setting.arms):
        for i in range(setting.arms):
            meet = not at_home or i % setting.agents == k % setting.agents
            if left[i] and left[k] and meet and values[i] > values[k]:
                widths = elimination_radius(float(pulls[i]), setting.sigma, setting)
                widths += elimination_radius(float(pulls[k]), setting.sigma, setting)
                behind[k] = max(behind[k], (values[i] - values[k]) / (0.5 * widths))
    return behind


def fed_sel(state: Owned, setting: Setting) -> Reading:
    """Settled when one arm is left of all sites.

    *Proof.* Hoeffding's inequality for both sides of every arm at each number of pulls n, with a union over n
    and arms: K Σ_n 2δ/(4K n²) ≤ 0.83 δ. Outside of that no interval of the best arm lies below another's. ε
    is not used.
    """
    behind = margins(state.pulls, state.estimate.values, state.left, False, setting)
    return last_left(best_left(state.estimate.values, state.left), state.left, behind * behind)


def absorb(state: Owned, arm: int, reward: float, setting: Setting) -> Owned:
    """A single pull."""
    return fold(state, single(arm, reward), setting)


FED_SEL = Test(
    "fed-sel",
    "Fed-SEL's: one arm is left of the winners of all sites, each of which has arms of its own",
    Model(begin, fold, foresee_nothing, absorb, none_at_all, linear=False),
    fed_sel,
    shows_index=False,
    by_phase=True,
    growth=None,
    only_with=("fed-sel",),
    how="compares the means of a site's own arms, then those of the sites' winners",
    assumes=("each arm is tried at one site only",),
)
