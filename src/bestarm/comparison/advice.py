"""Which method for a problem: what each would promise there, from the records of its rules."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from bestarm.comparison.worlds import ALIKE, LACKING, NamedWorld
from bestarm.core.rules import Test
from bestarm.errors import ProblemWarning, UserError
from bestarm.methods import METHODS, TESTS, Method, check_agents, method
from bestarm.methods.needs import unmet
from bestarm.methods.recipe import Kind
from bestarm.problem import Problem
from bestarm.problem.aims import DIFFER

WHO = {
    Kind.FEDERATED: "sites at their own pace",
    Kind.ALONE: "one agent that sees every reward at once",
    Kind.SYNCHRONOUS: "sites that wait for each other",
}


@dataclass(frozen=True, slots=True)
class Advice:
    """A method beside a problem: whether its promise holds, why it does not, and when to take it.

    `method` is None where it can't be run on the problem at all.
    """

    name: str
    who: str
    when: str
    method: Method | None
    against: str

    @property
    def promises(self) -> bool:
        """Whether its answers are wrong with probability at most δ here."""
        return not self.against


def advise(problem: Problem, agents: int = 10) -> list[Advice]:
    """What every method would promise for a problem; those that keep it come first, and `sharp` before all.

    >>> advice = advise(Problem(["A", "B", "C"]))
    >>> advice[0].name, advice[0].promises
    ('sharp', True)
    >>> {one.name: one.against for one in advise(Problem(["A", "B"], sigma=0.3, sites="differ"))}["uniform"]
    "it assumes that an arm's mean is the same at every site and all the time"
    """
    check_agents(agents)
    found = [_beside(name, problem, agents) for name in METHODS]
    return sorted(found, key=lambda one: (not one.promises, one.method is None))


def _beside(name: str, problem: Problem, agents: int) -> Advice:
    recipe = METHODS[name]
    built, against = None, ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ProblemWarning)
            built = method(name, problem, agents)
    except UserError as error:
        test = TESTS[str(recipe.defaults(problem, agents)["stopping"])]
        against = _lacking(test, problem) or str(error).rstrip(".")
    if built is not None:
        against = NamedWorld(problem.name, "", problem).against(built)
        if not against and built.test.sites_alike and problem.sites == DIFFER:
            against = LACKING[ALIKE]
    return Advice(name, WHO[recipe.kind], recipe.when, built, against)


def _lacking(test: Test, problem: Problem) -> str:
    """What a problem lacks that a test can't do without, in a few words."""
    need = unmet(test, problem)
    needs = {
        "features": test.model.linear and problem.features is None,
        "" if need is None else need.words: need is not None,
        "sigma": test.noise == "known" and problem.sigma is None,
    }
    lacking = [word for word, missing in needs.items() if missing]
    return f"it needs {' and '.join(lacking)}" if lacking else ""
