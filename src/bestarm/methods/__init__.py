"""The methods, one file each: which rules, with which defaults. `method` builds one by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from difflib import get_close_matches

from bestarm.errors import UserError
from bestarm.methods import falinpe, famabpe, lingape, sharp, synchronous, ugapec
from bestarm.methods.compose import compose
from bestarm.methods.method import Kind, Method, Parameter, Verdict
from bestarm.problem import Problem

__all__ = ["METHODS", "Kind", "Method", "Parameter", "Verdict", "method", "parse_parameters"]

Defaults = Callable[[Problem, int], dict[str, Parameter]]

MOST_AGENTS = 10**7
METHODS: dict[str, tuple[Kind, Defaults]] = {
    "sharp": (sharp.KIND, sharp.defaults),
    "famabpe": (famabpe.KIND, famabpe.defaults),
    "falinpe": (falinpe.KIND, falinpe.defaults),
    "ugapec": (ugapec.KIND, ugapec.defaults),
    "lingape": (lingape.KIND, lingape.defaults),
    "sync-ugapec": (synchronous.KIND, synchronous.ugapec_defaults),
    "sync-lingape": (synchronous.KIND, synchronous.lingape_defaults),
}


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
    kind, defaults = METHODS[name]
    merged = defaults(problem, agents)
    for given, value in parameters.items():
        key = given.rstrip("_")
        if key not in merged:
            raise UserError(
                f"{name} has no parameter {key!r}; it has {', '.join(merged)}.{_did_you_mean(key, merged)}"
            )
        merged[key] = value
    return compose(name, kind, problem, agents, merged)


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
