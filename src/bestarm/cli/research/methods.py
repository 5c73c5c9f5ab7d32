"""`bestarm methods`: every method, test, selection and trigger, with its parameters, from their records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any

import typer
from rich.table import Table

from bestarm.cli.output import Format, make_table, print_json, print_table
from bestarm.core.rules import Parameter, Selection, Test, Trigger, Value
from bestarm.errors import UserError, either
from bestarm.methods import METHODS, SELECTIONS, TESTS, TRIGGERS, Recipe
from bestarm.methods.registry import RULES, known_parameters
from bestarm.problem import Problem

EXAMPLES = """\b
Examples:
  bestarm methods
  bestarm methods sharp
  bestarm methods pairs --format json

A method is put together from a test (the parameter stopping), a selection and a trigger; its parameters are
its own and theirs. Set them with --set name=value, or as keywords in Python.
"""
OF = {"stopping": "when to stop", "selection": "which arm", "trigger": "when to upload"}
Rule = Test | Selection | Trigger
KINDS: dict[str, Mapping[str, Rule]] = {"tests": TESTS, "selections": SELECTIONS, "triggers": TRIGGERS}

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command(epilog=EXAMPLES)
def methods(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A method or a rule, to be shown in full.")
    ] = None,
    format: Annotated[Format, typer.Option(help="For people, or for programs.")] = Format.table,
) -> None:
    """List every method and every rule that methods are made of, with their parameters."""
    if name is not None:
        one(name, format)
    elif format is Format.json:
        listed = {kind: [rule_json(rule) for rule in known.values()] for kind, known in KINDS.items()}
        print_json({"methods": [method_json(recipe) for recipe in METHODS.values()], **listed})
    else:
        print_table(*overview())


def one(name: str, format: Format) -> None:
    """Everything about one name; a method and a rule may have the same."""
    recipe = METHODS.get(name)
    rules = {kind: known[name] for kind, known in KINDS.items() if name in known}
    if recipe is None and not rules:
        every = [*METHODS, *(rule for known in KINDS.values() for rule in known)]
        raise UserError(f"there is no method or rule {name!r}; there are {either(dict.fromkeys(every))}.")
    if format is Format.json:
        found: dict[str, Any] = {} if recipe is None else {"method": method_json(recipe)}
        print_json(found | {kind.removesuffix("s"): rule_json(rule) for kind, rule in rules.items()})
        return
    parts: list[Table | str] = []
    if recipe is not None:
        parts += [f"{recipe.name}: a method, {recipe.kind.value}; {recipe.reference}", "", recipe.help]
        parts.append(parameter_table(method_parameters(recipe)))
    for kind, rule in rules.items():
        parts += [f"{rule.name}: one of the {kind}; {rule.help}", *facts_lines(rule)]
        parts.append(parameter_table(rule_parameters(rule)))
    print_table(*parts)


def overview() -> list[Table | str]:
    """A line for each method and rule, and what its parameters are."""
    table = left_table("method", "kind", "what it does", "parameters", title="Methods")
    for recipe in METHODS.values():
        given = settings(method_parameters(recipe))
        table.add_row(recipe.name, recipe.kind.value, f"{line(recipe.help)} ({recipe.reference})", given)
    parts: list[Table | str] = [table]
    for (what, _), (kind, known) in zip(RULES.items(), KINDS.items(), strict=True):
        rules = left_table(what, "what it does", "parameters", title=f"{kind.capitalize()}: {OF[what]}")
        for rule in known.values():
            rules.add_row(rule.name, rule.help, settings(rule_parameters(rule)))
        parts.append(rules)
    legend = "… is a default that depends on the problem, the agents or the method."
    return [*parts, f"{legend} `bestarm methods NAME` explains one of them and its parameters."]


def left_table(*columns: str, title: str) -> Table:
    """The house's table for words: all of it to the left, broken where it is too wide."""
    table = make_table(*columns, title=title)
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "left", False
    table.columns[0].no_wrap = True
    return table


def parameter_table(rows: list[dict[str, Any]]) -> Table | str:
    """Parameters with what they are if nobody says."""
    if not rows:
        return "It has no parameters."
    table = left_table("parameter", "default", "what it is", title="")
    for row in rows:
        words = f" ({either(row['words'])})" if row["words"] else ""
        table.add_row(row["name"], shown(row), row["help"] + words)
    return table


def method_json(recipe: Recipe) -> dict[str, Any]:
    """A method in plain values."""
    return {
        "name": recipe.name,
        "kind": recipe.kind.value,
        "summary": line(recipe.help),
        "help": recipe.help,
        "reference": recipe.reference,
        "parameters": method_parameters(recipe),
    }


def rule_json(rule: Rule) -> dict[str, Any]:
    """A rule in plain values, with every fact that its record has."""
    return {"name": rule.name, "help": rule.help, "facts": facts(rule), "parameters": rule_parameters(rule)}


def method_parameters(recipe: Recipe) -> list[dict[str, Any]]:
    """What a method takes beside the parameters of rules that are not its own."""
    known = known_parameters() | {parameter.name: parameter for parameter in recipe.parameters}
    tried = [recipe.defaults(problem, agents) for problem, agents in trials()]
    rows = []
    for name in tried[0]:
        if name in RULES:
            record = Parameter(name, OF[name], "word", words=tuple(RULES[name]))
        else:
            record = known.get(name, Parameter(name, ""))
        rows.append(parameter_json(record, common([defaults[name] for defaults in tried])))
    return rows


def trials() -> list[tuple[Problem, int]]:
    """Problems of different kinds: what is the same for all of them is the method's default."""
    plain = Problem(["A", "B"], features=[[1.0, 0.0], [0.0, 1.0]], sigma=0.3)
    dependent = Problem(["A", "B", "C"], features=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], sigma=0.5)
    return [(plain, 1), (dependent, 7)]


def common(values: list[Value]) -> Value | None:
    """The value that they all have; different words are all named, and different numbers are None."""
    if len(set(values)) == 1:
        return values[0]
    return " or ".join(dict.fromkeys(map(str, values))) if isinstance(values[0], str) else None


def rule_parameters(rule: Rule) -> list[dict[str, Any]]:
    """A rule's parameters."""
    return [parameter_json(parameter, parameter.default) for parameter in rule.parameters]


def parameter_json(parameter: Parameter, default: Value | None) -> dict[str, Any]:
    """A parameter in plain values; a default of null depends on the problem, the agents or the method."""
    return {
        "name": parameter.name,
        "help": parameter.help,
        "kind": parameter.kind,
        "default": default,
        "words": list(parameter.words),
    }


def facts(rule: Rule) -> dict[str, Any]:
    """Everything in a record that is a plain fact: flags, numbers and words."""
    found: dict[str, Any] = {}
    for field in fields(rule):
        value = getattr(rule, field.name)
        if field.name in ("name", "help", "parameters"):
            continue
        if isinstance(value, bool | str | int | float):
            found[field.name] = value
        elif isinstance(value, tuple) and not callable(value[0] if value else None):
            found[field.name] = list(value)
    if isinstance(rule, Test):
        found |= {"linear": rule.model.linear, "intervals": rule.radii is not None}
    return found


def facts_lines(rule: Rule) -> list[str]:
    """The facts that hold, on one line."""
    true = [name.replace("_", " ") for name, value in facts(rule).items() if value is True]
    return [f"Facts: {', '.join(true)}."] if true else []


def settings(rows: list[dict[str, Any]]) -> str:
    """Parameters and their defaults on one line."""
    return ", ".join(f"{row['name']}={shown(row)}" for row in rows)


def shown(row: Mapping[str, Any]) -> str:
    """A default as a person reads it; `…` if it depends on the problem, the agents or the method."""
    value = row["default"]
    return "…" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)


def line(text: str) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(text.partition("\n\n")[0].split())
