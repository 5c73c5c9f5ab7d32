"""sharp: the same guarantee for a fraction of the samples and of the messages. The default method."""

from __future__ import annotations

import numpy as np

from bestarm.core.rules import Test, Value
from bestarm.core.stopping.betting import BETTING
from bestarm.core.stopping.items import ITEMS
from bestarm.core.stopping.pairs import PAIRS
from bestarm.core.stopping.rule_out import RULE_OUT
from bestarm.core.stopping.rule_out_features import RULE_OUT_FEATURES
from bestarm.core.stopping.span import SPAN
from bestarm.core.stopping.two_by_two import TWO_BY_TWO
from bestarm.methods.recipe import Kind, Recipe
from bestarm.problem import Problem
from bestarm.problem.aims import ALIKE
from bestarm.reward import NORMAL, YES_NO


def defaults(problem: Problem, agents: int) -> dict[str, Value]:
    """A mixture test for stopping, plans that look ahead, and batches that aim at the end.

    The arm returned is within ε of the best with probability at least 1 − δ, for any number of agents, any
    speeds and any losses that do not depend on rewards not yet sent (`docs/guarantee.md`). What else is assumed
    depends on the test.

    - `stopping`: `two-by-two` for yes/no rewards, `betting` for bounded ones. For others `rule-out`, which
      measures sigma if it is not given, or `rule-out-features` for features of lower rank than there are arms
      (linearly independent ones add nothing); where sites are alike, `pairs` and `span`, which measure sigma
      too. With items, `items`, or `betting` for yes/no and bounded rewards.
    - `thrift`: what to spare, `samples`, `balanced` or `messages`.
    - `pseudo_count`: the mixture's ρ; the larger, the sharper for small gaps and the blunter for large ones. 9
      for `rule-out`, 10 for `pairs`, 20 √(rank/arms) for features, chosen by trial on gaps of 0.1 to 0.5 at
      sigma 0.3.
    - `selection`, `trigger`: the other rules; change one to see what it contributes. `gamma` belongs to
      `trigger=count`.
    - `min_batch`: an agent never uploads fewer pulls of an arm than this.
    """
    test = chosen_test(problem)
    return {
        "stopping": test.name,
        **suited(test, problem),
        "thrift": "balanced",
        "gamma": 1 / (2 * agents * len(problem.arms)),
        "min_batch": 1,
    }


def chosen_test(problem: Problem) -> Test:
    """The test that assumes no more than the problem says.

    Tables of yes/no outcomes and bets on bounded rewards need one arm that is the best in every batch. Sites
    that are alike have one, so they are taken there too: at small rates tables need a thirtieth of the samples
    of `pairs`, which knows only that σ is at most half of the range. They find the best arm and nothing less,
    so with ε > 0 the others stay.
    """
    alike = problem.sites == ALIKE
    if problem.items:
        return ITEMS if problem.rewards == NORMAL else BETTING
    if rank_of(problem) < len(problem.arms):
        return SPAN if alike else RULE_OUT_FEATURES
    if problem.rewards == NORMAL or problem.epsilon > 0:
        return PAIRS if alike else RULE_OUT
    return TWO_BY_TWO if problem.rewards == YES_NO else BETTING


def rank_of(problem: Problem) -> int:
    """The number of directions in which arms can differ; without features every arm is its own."""
    return len(problem.arms) if problem.features is None else int(np.linalg.matrix_rank(problem.features))


def suited(test: Test, problem: Problem) -> dict[str, Value]:
    """What goes with a test."""
    selection, trigger = ITEMS.goes_with if problem.items else test.goes_with
    own = {parameter.name: parameter.default for parameter in test.parameters}
    count = own.get("pseudo_count") or PAIRS.parameters[0].default
    if test.model.linear:
        count = 20.0 * (rank_of(problem) / len(problem.arms)) ** 0.5
    assert count is not None
    return {"selection": selection, "trigger": trigger, "pseudo_count": count}


SHARP = Recipe(
    "sharp",
    Kind.FEDERATED,
    defaults,
    "the package's own; docs/sharp.md",
    suited,
    colour="#0072B2",
    mark="o",
    when="several sites, whatever they are like: start here",
)
