"""What a test keeps of all the batches that it has seen: named tuples of arrays, which compile."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from bestarm.core.arrays import Counts, Floats


class View(NamedTuple):
    """Estimates: `values` per arm, and for a linear model the inverse of its matrix.

    `widths` is 1/√T_k for separate arms, and empty for a linear model. `log_det` is what the confidence rule of
    the estimate needs of the determinant: log det(V)/det(λI) for ridge, log det(A + ρI)/det(ρI) for span, 0 for
    separate arms. Plans are steered by `noise`, sigma or what is known of it, and by `grain`, the number
    of pulls that tell something: 1, and more where nearly all outcomes are equal. Nothing is decided by them.
    """

    samples: int
    values: Floats
    widths: Floats
    inverse: Floats
    log_det: float
    noise: float
    grain: float


class Totals(NamedTuple):
    """A state that is the total tally, and the estimates that follow from it.

    `residual` is a sum of squares with `freedom` degrees of freedom that says how much rewards scatter
    (`core.scatter`), 0 where nobody asks for it. Folding changes the arrays in place: whoever folds owns the
    state, and goes on with what is returned.
    """

    pulls: Counts
    sums: Floats
    estimate: View
    residual: float
    freedom: float


class State(Protocol):
    """What every state has, whatever else its test keeps: the pulls of each arm, and the estimates.

    Plans are made from these two.
    """

    @property
    def pulls(self) -> Counts: ...

    @property
    def estimate(self) -> View: ...
