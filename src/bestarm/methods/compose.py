"""Put a method together from its rules: a stopping test, a selection of arms and a trigger, by name."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.making import one_arm
from bestarm.core.rules import Parameter, Selection, Test, Trigger, Value, as_fraction, rules_of
from bestarm.core.selection.ratio import UNSOLVED
from bestarm.core.setting import Setting
from bestarm.core.trigger.aim import THRIFT
from bestarm.errors import ProblemWarning, UserError, either
from bestarm.methods.composed import Method
from bestarm.methods.needs import unmet
from bestarm.methods.recipe import Kind, Recipe
from bestarm.methods.registry import METHODS, RULES, SELECTIONS, TESTS, TRIGGERS, known_parameters
from bestarm.problem import Problem
from bestarm.reward import HIGHEST, reflected

MOST_DESIGNS = 20_000_000  # entries of the ratio rule's table of designs, 16 bytes each


def compose(
    recipe: Recipe, problem: Problem, agents: int, parameters: Mapping[str, Value], counted: int | None = None
) -> Method:
    """A method from its parameters, all of which are checked here.

    `counted` is how many arms a union over arms pays for, if that is more than the problem has.
    """
    name = recipe.name
    test, selection, trigger = chosen = _chosen(name, parameters)
    _check_fit(name, problem, agents, *chosen)
    if test.inside_batches and recipe.kind is not Kind.FEDERATED:
        raise UserError(f"{name} has no batches, and stopping={test.name} compares arms inside batches.")
    by_pulls = recipe.kind is not Kind.FEDERATED and selection.turn is None
    if by_pulls and test.noise == "either" and problem.sigma is None:
        raise UserError(
            f"{name} adds up single pulls, of which stopping={test.name} can't measure sigma; give it."
        )
    if selection.turn is not None and recipe.kind is Kind.FEDERATED:
        raise UserError(
            f"selection={selection.name} is for a single agent; {name} has agents at their own pace."
        )
    own = [parameter for rule in chosen for parameter in rule.parameters]
    values = _checked(name, parameters, own)
    if test.least is not None and int(values["budget"]) < test.least(len(problem.arms)):
        raise UserError(
            f"{name}: budget is {values['budget']}; with {len(problem.arms)} arms it must be at least "
            f"{test.least(len(problem.arms))}."
        )
    if test.short_features:
        _warn_of_length(name, problem)
    shares = [parameter.name for parameter in trigger.parameters if parameter.kind == "fraction"]
    gamma = next((values[key] for key in ("gamma", "gamma2", *shares) if key in values), None)
    if shares and gamma is None:
        raise UserError(f"{name}: trigger={trigger.name} needs a value for {shares[0]}.")
    fraction = as_fraction(float(gamma)) if shares and gamma is not None else Fraction(0)
    growth, reach, aim = THRIFT[str(values["thrift"])]
    designs = _unsolved_designs(problem, selection)
    mirror = _mirror(problem, test)
    low, high = problem.reward_range or (0.0, 1.0)
    if mirror is not None:
        low, high = reflected(high, mirror), reflected(low, mirror)
    setting = Setting(
        arms=len(problem.arms),
        counted=counted or len(problem.arms),
        agents=agents,
        sigma=problem.sigma or 0.0,
        delta=problem.delta,
        epsilon=problem.epsilon,
        features=_coordinates(problem, test),
        dimension=problem.dimension,
        gamma_over=fraction.numerator,
        gamma_under=fraction.denominator,
        gamma1=float(values["gamma1"]),
        regulariser=float(values["lambda"]),
        pseudo_count=float(values["pseudo_count"]),
        growth=growth,
        reach=reach,
        aim=aim,
        min_batch=int(values["min_batch"]),
        design_arms=designs,
        design_weights=np.zeros(designs.shape),
        low=low,
        high=high,
        centre=problem.centre if mirror is None else reflected(problem.centre, mirror),
        plate=0,
        own=_numbers(test, values),
        own_selection=_numbers(selection, values),
        own_trigger=_numbers(trigger, values),
    )
    return Method(
        name=name,
        problem=problem,
        agents=agents,
        parameters=dict(parameters),
        recipe=recipe,
        test=test,
        several=selection.make is not one_arm or selection.turn is not None,
        rules=rules_of(test, selection, trigger),
        setting=setting,
        period=int(values["period"]),
        period_of_all=values["period_counts"] == "all",
        mirror=mirror,
    )


def _chosen(name: str, parameters: Mapping[str, Value]) -> tuple[Test, Selection, Trigger]:
    """The three rules that are named."""
    for what, known in RULES.items():
        word = parameters.get(what)
        if word not in known:
            raise UserError(f"{name}: {what} is {word!r}; it must be one of {', '.join(known)}.")
    stopping, selection, trigger = (str(parameters[what]) for what in RULES)
    return TESTS[stopping], SELECTIONS[selection], TRIGGERS[trigger]


def _checked(name: str, parameters: Mapping[str, Value], own: list[Parameter]) -> dict[str, Value]:
    """Every parameter that there is, each checked; those that nobody gave have their default.

    `own` are those of the method's rules: if another rule has a parameter of the same name, theirs counts.
    """
    values: dict[str, Value] = {}
    for key, parameter in (known_parameters() | {parameter.name: parameter for parameter in own}).items():
        value = parameters.get(key, parameter.default)
        if value is not None:
            try:
                values[key] = parameter.check(value)
            except ValueError as error:
                raise UserError(f"{name}: {error}") from None
    return values


def _numbers(rule: Test | Selection | Trigger, values: Mapping[str, Value]) -> Floats:
    """What a rule's own parameters are; nan where nobody said."""
    return np.array(
        [
            parameter.number(values[parameter.name]) if parameter.name in values else np.nan
            for parameter in rule.parameters
        ]
    )


def works_without_features(test: Test, selection: Selection, trigger: Trigger) -> bool:
    """Whether a method of these rules can do without features."""
    return not (test.model.linear or selection.needs_features or selection.needs_linear or trigger.needs_linear)


def fitting(problem: Problem, agents: int) -> list[str]:
    """The methods that can do without features, if the problem has none; else all."""
    return [
        name
        for name, recipe in METHODS.items()
        if problem.features is not None
        or works_without_features(*_chosen(name, recipe.defaults(problem, agents)))
    ]


def working_without_sigma(problem: Problem, agents: int) -> list[str]:
    """Those of them that a study can have and that need no sigma."""
    return [
        name
        for name in fitting(problem, agents)
        if METHODS[name].kind is Kind.FEDERATED
        and _chosen(name, METHODS[name].defaults(problem, agents))[0].noise != "known"
    ]


def _check_fit(
    name: str, problem: Problem, agents: int, test: Test, selection: Selection, trigger: Trigger
) -> None:
    words = f"{name} with stopping={test.name}, selection={selection.name}, trigger={trigger.name}"
    if problem.features is None and not works_without_features(test, selection, trigger):
        raise UserError(
            f"{words} works with features, and problem {problem.name!r} has none: "
            f"add feature columns to its arms, or take {either(fitting(problem, agents))}."
        )
    if test.inside_batches and selection.make is one_arm:
        several = either(known.name for known in SELECTIONS.values() if known.make is not one_arm)
        raise UserError(
            f"{words} does not fit together: {test.name} compares inside batches; set selection to {several}."
        )
    if selection.needs_race and not test.inside_batches:
        races = either(known.name for known in TESTS.values() if known.inside_batches)
        raise UserError(f"{words} does not fit together: {selection.name} needs stopping={races}.")
    if problem.items != selection.on_items or (problem.items and not (test.pairs or test.bets)):
        whose = "has items" if problem.items else "has no items"
        fit = [known.name for known in TESTS.values() if known.pairs or (known.bets and problem.items)]
        ask = f"take {either(fit)} with selection=blocks" if problem.items else "set items = true"
        raise UserError(f"{words} does not fit: problem {problem.name!r} {whose}; {ask}.")
    if test.pairs and not problem.items:
        raise UserError(f"{words} compares arms on the same items; set items = true.")
    if problem.sigma is None and test.noise == "known":
        others = working_without_sigma(problem, agents)
        who = name if name == test.name else f"{name} with stopping={test.name}"
        raise UserError(
            f"{who} needs sigma, and problem {problem.name!r} has none: "
            f"give sigma = …{', or take ' + either(others) if others else ''}."
        )
    need = unmet(test, problem)
    if need is not None and need.vital:
        raise UserError(f"{words} does not fit: {test.name} is for {need.words}; {need.remedy}.")
    if test.only_with and selection.name not in test.only_with:
        raise UserError(
            f"{words} does not fit together: the proof of {test.name} needs selection={either(test.only_with)}."
        )
    if selection.reads and test.name not in selection.reads:
        raise UserError(
            f"{words} does not fit together: {selection.name} needs stopping={either(selection.reads)}."
        )
    if not test.model.linear and (selection.needs_linear or trigger.needs_linear):
        linear = either(known.name for known in TESTS.values() if known.model.linear)
        rule = selection.name if selection.needs_linear else trigger.name
        raise UserError(f"{words} does not fit together: {rule} needs stopping={linear}.")


def _mirror(problem: Problem, test: Test) -> float | None:
    """Around the centre, rewards stay in their range; a linear model needs 0: 2·centre − x'θ is not linear."""
    if problem.goal == HIGHEST:
        return None
    return 0.0 if test.model.linear else problem.centre


def _warn_of_length(name: str, problem: Problem) -> None:
    if problem.features_too_long:
        warnings.warn(
            f"{name}: the longest feature vector of problem {problem.name!r} has length "
            f"{problem.longest_feature:.4g}, and the guarantee assumes at most 1; set normalise = true in the "
            "problem file to scale them.",
            ProblemWarning,
            stacklevel=4,
        )


def _coordinates(problem: Problem, test: Test) -> Floats:
    if problem.features is None:
        return np.zeros((len(problem.arms), 0))
    return test.model.coordinates(problem.features)


def _unsolved_designs(problem: Problem, selection: Selection) -> Counts:
    if not selection.needs_designs or problem.features is None:
        return np.zeros((0, 0, 0), dtype=np.int64)
    arms, dimension = problem.features.shape
    shape = (arms, arms, max(2, min(arms, dimension + 1)))
    if math.prod(shape) > MOST_DESIGNS:
        others = either(known.name for known in SELECTIONS.values() if not known.needs_designs)
        raise UserError(
            f"selection={selection.name} keeps a table of all pairs, too large for {arms} arms; "
            f"set selection to {others}."
        )
    return np.full(shape, UNSOLVED, dtype=np.int64)
