"""The numbers that the rules of one method work with, in a form that compiled code can take too."""

from __future__ import annotations

from typing import NamedTuple

from bestarm.core.arrays import Counts, Floats


class Setting(NamedTuple):
    """Problem and parameters as the rules see them. A rule reads the fields it needs and no others.

    `features` has one row an arm: coordinates of the same lengths and angles as the given ones for the ridge
    estimate, orthonormal coordinates of the span for the span estimate, none (K×0) for separate arms.
    `design_arms[i, j]` and `design_weights[i, j]` hold p*(x_i − x_j), the arms first, −1 where there are no
    more; a first entry of −2 means that the linear programme of this pair was not solved yet. The last three
    hold the values of all parameters of the test, the selection and the trigger, in the order of their records:
    a rule from elsewhere finds its own there.
    """

    arms: int
    counted: int  # the arms that a union over arms pays for: those withdrawn since the beginning included
    agents: int
    sigma: float  # 0 where it is not known
    delta: float
    epsilon: float
    features: Floats
    dimension: int  # d: of the features as they were given
    gamma_over: int  # γ (FALinPE: γ₂) as a fraction of whole numbers
    gamma_under: int
    gamma1: float
    regulariser: float  # λ
    pseudo_count: float  # ρ
    growth: float  # a: a batch is at least this share of the samples, over the agents
    reach: float  # h: and at most this
    aim: float  # c: the share of the samples still missing that a batch takes
    min_batch: int
    design_arms: Counts
    design_weights: Floats
    low: float  # the range of the rewards, where there is one; else 0 and 1
    high: float
    centre: float  # squares of rewards are taken around it
    plate: int  # trials on a plate, where the site has plates; else 0
    own: Floats
    own_selection: Floats
    own_trigger: Floats
