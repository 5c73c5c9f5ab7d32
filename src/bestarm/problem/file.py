"""Reads `problem.toml` and `arms.csv` into one plain table, the same that `Problem.from_dict` takes.

What only a file can get wrong (no such file, broken TOML, a ragged row, a cell that is no number) is refused
here with its line; what the values mean is checked by `Problem`.
"""

import csv
import difflib
import io
import math
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bestarm.cells import read_cell
from bestarm.errors import UserError
from bestarm.reward import show

KEYS = (
    *("name", "arms", "arm", "delta", "epsilon", "goal", "rewards", "sigma", "reward_range", "sites", "budget"),
    *("deadline", "control", "unit", "items", "theta", "normalise", "centre"),
)
ARM_KEYS = ("name", "description", "mean", "features")
GIVE_ARMS = 'give a list of names, arms = ["A", "B"], or arms = "arms.csv", or [[arm]] tables'


@contextmanager
def naming(source: str | None) -> Iterator[None]:
    """Puts the name of the file in front of every sentence about what it holds."""
    try:
        yield
    except UserError as error:
        if source is None:
            raise
        raise UserError(f"{source}: {error}") from None


def read_text(path: Path) -> str:
    """The text of a file, with or without a byte order mark."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError("there is no such file.") from None
    except UnicodeDecodeError:
        raise UserError("the file can't be read as text; it must be UTF-8.") from None
    except OSError as error:
        raise UserError(f"the file can't be read ({error.strerror}).") from None


def parse_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of too many digits, or lists too deep
        raise UserError(f"this is not valid TOML: {error}.") from None


def join_arms(table: Mapping[str, Any], source: str | None) -> tuple[dict[str, Any], str | None]:
    """The table with `[[arm]]` tables, whichever way its arms are given; also says which file holds the arms.

    Only a problem that is itself a file can name a file.
    """
    with naming(source):
        check_keys("", table, KEYS)
        if ("arms" in table) == ("arm" in table):
            given = "arms and [[arm]] are both given" if "arm" in table else "there are no arms"
            raise UserError(f"{given}; {GIVE_ARMS}.")
        others = {key: value for key, value in table.items() if key != "arms"}
        if "arm" in table:
            return others, source
        arms = table["arms"]
        if isinstance(arms, list | tuple):
            return others | {"arm": [{"name": arm} for arm in arms]}, source
        if not isinstance(arms, str) or not arms.strip() or "\0" in arms:
            raise UserError(f"arms is {show(arms)}; {GIVE_ARMS}.")
        if source is None:
            raise UserError(f"arms is {show(arms)}; only a problem that is itself a file can name a file.")
    path = Path(source).parent / arms
    return others | {"arm": read_arms(path)}, str(path)


def check_keys(where: str, table: object, keys: tuple[str, ...]) -> None:
    """Refuses a key that nobody would read, and says which one was probably meant."""
    if not isinstance(table, Mapping):
        raise UserError(f"{where or 'the problem'} is {show(table)}; it must be a table of keys and values.")
    for key in table:
        if key in keys:
            continue
        near = difflib.get_close_matches(str(key), keys, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(keys)}."
        if where and key in KEYS:
            hint = "keys of the whole problem must stand above the first [[arm]]."
        raise UserError(f"{where + ' has an ' if where else ''}unknown key {show(key)}; {hint}")


def arm_columns(arms: object) -> dict[str, list[Any]]:
    """`arms`, and of `descriptions`, `means`, `features` what some arm has: an item an arm, None for a gap."""
    if not isinstance(arms, list | tuple):
        raise UserError(f"arm is {show(arms)}; it must be a list of [[arm]] tables, at least two.")
    for k, arm in enumerate(arms, 1):
        check_keys(f"[[arm]] {k}", arm, ARM_KEYS)
        if "name" not in arm:
            raise UserError(f"[[arm]] {k} has no name; each arm must have one.")
    given = {key for arm in arms for key in arm}
    columns = zip(("arms", "descriptions", "means", "features"), ARM_KEYS, strict=True)
    return {name: [arm.get(key) for arm in arms] for name, key in columns if key in given or name == "arms"}


def read_arms(path: Path) -> list[dict[str, Any]]:
    """The arms of a CSV file: `name`, optionally `description` and `mean`, and every other column a feature."""
    with naming(str(path)):
        rows = csv.reader(io.StringIO(read_text(path), newline=""), skipinitialspace=True)
        try:
            header = [cell.strip() for cell in next(rows, [])]
            check_header(header)
            arms = [read_row(header, [read_cell(cell.strip()) for cell in row], rows.line_num) for row in rows]
        except csv.Error as error:
            raise UserError(f"line {rows.line_num} is not valid CSV: {error}.") from None
        if not arms:
            raise UserError("there are no rows below the header; there must be at least two arms.")
        lines: dict[str, int] = {}
        for arm in arms:
            line = arm.pop("line")
            if (first := lines.setdefault(arm["name"], line)) != line:
                taken = f"name is {arm['name']!r}, like on line {first}"
                raise UserError(f"line {line}: {taken}; each arm must have its own name.")
    return arms


def check_header(header: list[str]) -> None:
    """Refuses column names that would be misread."""
    if not any(header):
        raise UserError("line 1 is empty; it must hold the column names, separated by commas: name, mean, …")
    for position, column in enumerate(header, 1):
        if not column:
            raise UserError(f"line 1: column {position} has no name; each column must have one.")
        if header.index(column) != position - 1:
            raise UserError(f"line 1: column {column!r} appears twice; each column must have its own name.")
        right = column.casefold().removesuffix("s")
        if right in ("name", "description", "mean") and column != right:
            raise UserError(f"line 1: column {column!r} must be written {right!r}.")
    if "name" not in header:
        raise UserError(
            f"line 1: there is no column 'name' among {', '.join(map(repr, header))}; "
            "the columns must be name, optionally description and mean, and the features, separated by commas."
        )


def read_row(header: list[str], row: list[str], line: int) -> dict[str, Any]:
    """One arm: its line and name, description and mean if the cells are filled, features if there are some."""
    if not any(row):
        raise UserError(f"line {line} is blank; every line below the header must be an arm.")
    if len(row) != len(header):
        raise UserError(f"line {line} has {len(row)} cells; it must have {len(header)}, one for each column.")
    cells = dict(zip(header, row, strict=True))
    arm: dict[str, Any] = {"line": line, "name": cells.pop("name")}
    if not arm["name"]:
        raise UserError(f"line {line}: name is empty; each arm must have a name.")
    if description := cells.pop("description", ""):
        arm["description"] = description
    if cells.get("mean") == "":
        del cells["mean"]
    numbers = {column: read_number(column, cell, line) for column, cell in cells.items()}
    if "mean" in numbers:
        arm["mean"] = numbers.pop("mean")
    if numbers:
        arm["features"] = list(numbers.values())
    return arm


def read_number(column: str, cell: str, line: int) -> float:
    """The number in a cell."""
    try:
        number = float(cell) if "_" not in cell else math.nan
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UserError(f"line {line}: {column} is {cell!r}; it must be a finite number.")
    return number
