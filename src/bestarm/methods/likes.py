"""How a method is given to a simulation: a name with settings, a method, or a function that makes one."""

from __future__ import annotations

from collections.abc import Callable

from bestarm.core.rules import Value
from bestarm.errors import UserError
from bestarm.methods import method as build_method
from bestarm.methods import parse_parameters
from bestarm.methods.composed import Method
from bestarm.problem import Problem

MethodLike = str | Method | Callable[[Problem, int], Method]


def split_name(text: str) -> tuple[str, dict[str, Value]]:
    """A name and the settings after it, separated by colons.

    >>> split_name("sharp:thrift=messages:min_batch=2")
    ('sharp', {'thrift': 'messages', 'min_batch': 2})
    """
    name, *settings = text.strip().split(":")
    if not name or any("=" not in setting for setting in settings):
        raise UserError(
            f"method is {text!r}; it must be a name with settings after colons, such as famabpe:gamma=0.1."
        )
    return name, parse_parameters(settings)


def label_of(like: MethodLike) -> str:
    """What a method is called in a table: its name with the settings given, or the name of the function.

    >>> import bestarm
    >>> problem = bestarm.Problem(["A", "B"], sigma=0.3)
    >>> label_of(bestarm.method("famabpe", problem, 2, gamma=0.1))
    'famabpe:gamma=0.1'
    """
    if isinstance(like, str):
        return like.strip()
    if not isinstance(like, Method):
        return getattr(like, "__name__", type(like).__name__)
    if like.name != like.recipe.name:
        return like.name
    usual = like.recipe.defaults(like.problem, like.agents)
    given = (f"{key}={value}" for key, value in like.parameters.items() if usual.get(key) != value)
    return ":".join([like.name, *given])


def make_method(like: MethodLike, problem: Problem, agents: int, **parameters: Value) -> Method:
    """The method that is meant, for a problem and a number of agents.

    A function is called with both, and returns a method. Parameters go with names only.

    >>> import bestarm
    >>> problem = bestarm.Problem(["A", "B"], sigma=0.3)
    >>> make_method("sharp:thrift=messages", problem, 5).parameters["thrift"]
    'messages'
    >>> make_method(lambda problem, agents: bestarm.method("famabpe", problem, agents), problem, 5).name
    'famabpe'
    """
    if isinstance(like, str):
        name, own = split_name(like)
        return build_method(name, problem, agents, **(parameters | own))
    if parameters:
        raise UserError(f"{', '.join(parameters)} can't be given with a method that was built before.")
    built = like
    if not isinstance(built, Method):
        if not callable(built):
            raise UserError(f"method is {built!r}; it must be a name, a Method, or a function that makes one.")
        built = built(problem, agents)
        if not isinstance(built, Method):
            raise UserError(f"the function {label_of(like)} returned {built!r}; it must return a Method.")
    if built.problem != problem:
        raise UserError(
            f"the method was built for problem {built.problem.name!r} with other numbers; build it anew."
        )
    return built
