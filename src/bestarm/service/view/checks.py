"""The numbers and words with which a site that is not this package checks what people type.

They are those of the functions that every other site calls; the answer to a join has them.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from bestarm import doubt
from bestarm.core.bets import BETS
from bestarm.protocol.terms import Terms
from bestarm.reward import reward_bounds
from bestarm.wells import LAYOUTS

DOUBT = ("looked_at", "few", "most_times", "slip", "percent", "further", "largest_times", "normal_nine_of_ten")


def checks_of(terms: Terms) -> dict[str, Any]:
    """Plain values: what a reward must be, when it is doubtful, which bets there are, how plates look.

    >>> checks = checks_of(Terms("ligands", ("A", "B"), "18566d70caa08ade", None, (0.0, 1.0)))
    >>> checks["limits"][0]["must_be"], checks["doubt"]["few"], checks["plates"]["24"]
    ('a number from 0.0 to 1.0, the reward_range', 8, [4, 6])
    """
    bounds = reward_bounds(terms.reward_range, terms.sigma, terms.rewards)
    return {
        "limits": [asdict(one) | {"only": list(one.only) or None} for one in bounds],
        "doubt": {name: getattr(doubt, name.upper()) for name in DOUBT}
        | {"noise": doubt.noise_of(terms.reward_range, terms.sigma)},
        "bets": list(BETS),
        "plates": {str(size): list(layout) for size, layout in LAYOUTS.items()},
        "aim": terms.aim,
    }
