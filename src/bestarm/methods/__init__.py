"""The methods, one file each: which rules, with which defaults. `method` builds one by name."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from bestarm.core.rules import Value as Parameter
from bestarm.errors import UserError
from bestarm.methods.compose import compose
from bestarm.methods.composed import Method
from bestarm.methods.recipe import Kind, Recipe
from bestarm.methods.registry import METHODS, RULES, SELECTIONS, TESTS, TRIGGERS, federated, register
from bestarm.problem import Problem
from bestarm.verdict import Verdict

__all__ = [
    "METHODS",
    "SELECTIONS",
    "TESTS",
    "TRIGGERS",
    "Kind",
    "Method",
    "Parameter",
    "Recipe",
    "Verdict",
    "federated",
    "method",
    "parse_parameters",
    "register",
]

MOST_AGENTS = 10**7


def method(name: str, problem: Problem, agents: int = 1, **parameters: Parameter) -> Method:
    """A method by name, with its parameters; what is not given takes the method's default.

    >>> problem = Problem(arms=["A", "B"], sigma=0.3, delta=0.05, epsilon=0.0)
    >>> method("famabpe", problem, agents=10, gamma=0.1).parameters["gamma"]
    0.1
    """
    if name not in METHODS:
        raise UserError(
            f"method is {name!r}; it must be one of {', '.join(METHODS)}.{_did_you_mean(name, METHODS)}"
        )
    if not isinstance(problem, Problem):
        raise UserError(f"problem is {problem!r}; it must be a Problem, for instance from Problem.load.")
    check_agents(agents)
    recipe = METHODS[name]
    merged = recipe.defaults(problem, agents)
    given = {key.rstrip("_"): value for key, value in parameters.items()}
    asked = TESTS.get(str(given.get("stopping", merged.get("stopping"))))
    if recipe.suited is not None and asked is not None:
        merged |= recipe.suited(asked, problem)
    allowed = merged.keys() | set(_of_rules(merged | given))
    for key, value in given.items():
        if key not in allowed:
            raise UserError(
                f"{name} has no parameter {key!r}; it has {', '.join(merged)}.{_did_you_mean(key, merged)}"
            )
        merged[key] = value
    return compose(recipe, problem, agents, merged)


def _of_rules(chosen: Mapping[str, Parameter]) -> Iterator[str]:
    """The parameters of the rules that are named."""
    for what, known in RULES.items():
        rule = known.get(str(chosen.get(what)))
        if rule is not None:
            yield from (parameter.name for parameter in rule.parameters)


def check_agents(agents: object) -> None:
    """Refuse what is no number of agents."""
    if isinstance(agents, bool) or not isinstance(agents, int) or agents < 1:
        raise UserError(f"agents is {agents!r}; it must be a whole number of at least 1.")
    if agents > MOST_AGENTS:
        raise UserError(f"agents is {agents}; it must be at most {MOST_AGENTS}.")


def parse_parameters(settings: list[str]) -> dict[str, Parameter]:
    """Parameters from `name=value` words: whole numbers, numbers, or words.

    >>> parse_parameters(["gamma=0.1", "period=50", "selection=greedy"])
    {'gamma': 0.1, 'period': 50, 'selection': 'greedy'}
    """
    parsed: dict[str, Parameter] = {}
    for setting in settings:
        key, separator, text = setting.partition("=")
        if not separator or not key or not text:
            raise UserError(f"--set takes name=value, for instance gamma=0.01; it got {setting!r}.")
        value = parsed[key.strip()] = _number_or_word(text.strip())
        if isinstance(value, float) and not math.isfinite(value):
            raise UserError(f"--set {setting}: the value must be a finite number, or a word.")
    return parsed


def _number_or_word(text: str) -> Parameter:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    close = get_close_matches(word, list(known), n=1)
    return f" Did you mean {close[0]}?" if close else ""
