"""Trials as a table that people fill in: written once, and read with the habits of spreadsheets in mind."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bestarm.cells import NUMBER, column, read_cell, write_cell
from bestarm.client.sheets.excel import is_excel, read_rows, write_rows
from bestarm.errors import UserError
from bestarm.protocol.messages import Trial
from bestarm.protocol.terms import Terms

NEEDED = ("trial", "arm", "reward")
ITEM = "item"  # what a trial is tried on, where the study has items
PLATE, WELL = "plate", "well"  # where a trial goes, where the site has plates
SITE = "site"  # whose trials these are, as study/agent: other sites have trials of the same numbers
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}[.,]\d{3}", re.ASCII)
DECIMALS = re.compile(r"\d+([eE][+-]?\d+)?", re.ASCII)
SPACED = re.compile(r"[+-]?\d{1,3}( \d{3})+([.,]\d*)?", re.ASCII)
MORE = re.compile(r"reward\s?\d+")  # columns for more measurements of a trial
SURE = "sure"  # a column: "yes" beside a reward that looks like a slip, and is none
NOT_SURE = ("", "no", "n", "0", "false")
COUNTS = (
    ("arm", "pulls", "sum"),
    ("arm", "pulls", "sum", "squares"),
    ("arm", "pulls", "sum", "rival", "pairs", "differences", "squared_differences"),
)
SEPARATORS = ",;\t"
BROKEN = "\N{REPLACEMENT CHARACTER}"
TRIAL = re.compile(r"(\d{1,18})([.,]0*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Filled:
    """A filled line of a worksheet: a trial and its reward, or a sentence that says why it can't be used.

    A trial that was measured several times has several rewards.
    """

    line: int
    trial: int = 0
    arm: str = ""
    reward: float | tuple[float, ...] = 0.0
    site: str = ""
    item: str = ""
    sure: bool = False
    refusal: str = ""


def check_new(path: str | os.PathLike[str]) -> None:
    """A worksheet may hold a day's measurements, so a file that is there is never written over."""
    if Path(path).exists():
        raise UserError(f"{path}: the file exists already; name another one, or move it away.")
    if not Path(path).absolute().parent.is_dir():
        raise UserError(f"{path}: the folder does not exist.")


def write(
    path: str | os.PathLike[str],
    trials: Sequence[Trial],
    terms: Terms,
    site: str,
    places: Sequence[tuple[int, str]] = (),
) -> None:
    """Write a table of trials, with the arms' descriptions and features if any, and empty columns to fill in.

    `places` are the plate and the well of each trial, where the site has plates: there is a column for the
    plate if there are several, and one for the well if it has a name.
    """
    check_new(path)
    lines = [list(map(write_cell, line)) for line in _lines(trials, terms, site, places)]
    try:
        if is_excel(path):
            write_rows(path, lines)
            return
        with Path(path).open("x", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
    except OSError as error:
        raise UserError(f"{path}: it can't be written: {error.strerror}.") from None


def _lines(
    trials: Sequence[Trial], terms: Terms, site: str, places: Sequence[tuple[int, str]]
) -> Iterator[list[object]]:
    """The header, and a line for each trial."""
    rows = dict(zip(terms.arms, terms.features or (), strict=False))  # an arm that came later may have none
    width = len(terms.features[0]) if terms.features else 0
    features = [f"x{k}" for k in range(1, width + 1)]
    item = [ITEM] if terms.items else []
    plates, wells = len({plate for plate, _ in places}) > 1, any(well for _, well in places)
    where, told = [PLATE] * plates + [WELL] * wells, bool(terms.descriptions)
    arm = ["arm"] + ["description"] * told
    yield ["trial", *where, *item, *arm, *features, SITE, "reward", "note"]
    for trial, (plate, well) in zip(trials, places or [(0, "")] * len(trials), strict=True):
        spot = [plate] * plates + [well] * wells
        on = [trial.item] if terms.items else []
        what = [trial.arm] + [terms.descriptions.get(trial.arm, "")] * told
        own = rows.get(trial.arm, [""] * width)
        yield [trial.number, *spot, *on, *what, *own, site, "", ""]


def read_counts(path: str | os.PathLike[str]) -> tuple[dict[str, list[object]], str]:
    """The counts of a CSV file, arm by arm, and a name for them: that of the file and what is in it.

    The columns are arm, pulls, sum and, where it is needed, squares (or sum of squares); with items arm, pulls,
    sum, rival, pairs, differences, squared_differences; between commas, semicolons or tabs.
    """
    text = _text(path)
    names, lines = _counted(path, text)
    rows: dict[str, list[object]] = {}
    for line, cells in lines:
        if len(cells) != len(names):
            raise UserError(f"{path}, line {line}: it has {len(cells)} cells; it must have {len(names)}.")
        if cells[0] in rows:
            raise UserError(f"{path}, line {line}: arm {cells[0]!r} is there twice.")
        rows[cells[0]] = [
            _count(path, line, name, cell) for name, cell in zip(names[1:], cells[1:], strict=True)
        ]
    if not rows:
        raise UserError(f"{path}: there are no counts below the first line.")
    return rows, f"{Path(path).name}/{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _counted(path: object, text: str) -> tuple[tuple[str, ...], list[tuple[int, list[str]]]]:
    """The columns of a file of counts, and the lines below them."""
    refusal = f"the first line must be {' or '.join(map(','.join, COUNTS))}"
    for separator in SEPARATORS:
        try:
            (_, header), *lines = list(_strictly(list(io.StringIO(text, newline="")), separator)) or [(1, [])]
        except csv.Error as error:
            refusal = f"it can't be read as CSV: {error}"
            continue
        names = tuple(column(name) for name in header)
        if names in COUNTS:
            return names, lines
    raise UserError(f"{path}: {refusal}.")


def _count(path: object, line: int, name: str, cell: str) -> object:
    if name == "rival":
        return cell or None
    try:
        return int(cell) if name == "pulls" else number(cell)
    except UserError as error:
        raise UserError(f"{path}, line {line}: {name}{str(error).removeprefix('reward')}") from None
    except ValueError:
        raise UserError(f"{path}, line {line}: {name} is {cell!r}; it must be a whole number.") from None


def number(text: str, decimal_comma: bool = False) -> float:
    """A number with a decimal point or a decimal comma; what can be read in two ways is refused.

    With `decimal_comma`, other numbers of the same table have one, and a point may group thousands.

    >>> number("0,73"), number(" -1.5e3 ")
    (0.73, -1500.0)
    >>> number("1,234")
    Traceback (most recent call last):
    bestarm.errors.UserError: reward is '1,234', which may be 1.234 or 1234; write 1.2340 or 1234.
    """
    plain = text.strip().replace("\N{MINUS SIGN}", "-")
    if not NUMBER.fullmatch(plain):
        raise UserError(f"reward is {text.strip()!r}; it must be a number such as 0.73.")
    point = plain.replace(",", ".")
    if GROUPED.fullmatch(plain) and ("," in plain or decimal_comma):
        grouped = point.replace(".", "")
        raise UserError(
            f"reward is {text.strip()!r}, which may be {point} or {grouped}; write {point}0 or {grouped}."
        )
    return float(point)


def measurements(cells: Sequence[str], decimal_comma: bool = False) -> float | tuple[float, ...]:
    """The reward in a cell, or all that are there if a trial was measured several times, in one cell or more.

    >>> measurements(["0.81 0.79; 0.83"]), measurements(["0,81", "0,79"]), measurements(["0.81", ""])
    ((0.81, 0.79, 0.83), (0.81, 0.79), 0.81)
    >>> measurements(["1 234"])
    Traceback (most recent call last):
    bestarm.errors.UserError: reward is '1 234', which may be 1234 or several measurements; write 1234 or \
1; 234.
    """
    for cell in cells:
        if SPACED.fullmatch(cell.strip()):
            joined, apart = cell.strip().replace(" ", ""), cell.strip().replace(" ", "; ")
            raise UserError(
                f"reward is {cell.strip()!r}, which may be {joined} or several measurements; "
                f"write {joined} or {apart}."
            )
    found = tuple(number(word, decimal_comma) for cell in cells for word in re.split(r"[;\s]+", cell) if word)
    return found[0] if len(found) == 1 else found


def read(path: str | os.PathLike[str]) -> list[Filled]:
    """The filled lines of a worksheet; lines without a reward are passed over.

    A trial that was measured several times has several numbers in its cell, between spaces or semicolons, or
    the columns reward, reward2, …; "yes" in a column `sure` takes a reward that looks like a slip. It may have
    a byte order mark, semicolons or tabs for commas, decimal commas, Windows line ends, blank lines, more
    columns, and spaces around the cells. A line that can't be read for sure is refused. A name that ends in
    .xlsx is a spreadsheet's own file; its first sheet counts.
    """
    try:
        for separator, lines in _tables(path):
            _, header = next(lines, (1, []))
            names = [name.casefold() for name in header]
            if all(names.count(name) == 1 for name in NEEDED):
                return _rows(list(lines), separator, names)
    except csv.Error as error:
        raise UserError(f"{path}: its first line can't be read as CSV: {error}.") from None
    raise UserError(f"{path}: the first line must name the columns {', '.join(NEEDED)}, each once.")


def _tables(path: str | os.PathLike[str]) -> Iterator[tuple[str, Iterator[tuple[int, list[str]]]]]:
    """The ways in which a file can be read: its separator, and its lines with their numbers."""
    if is_excel(path):
        rows = ([read_cell(cell.strip()) for cell in row] for row in read_rows(path))
        yield "", ((line, cells) for line, cells in enumerate(rows, 1) if any(cells))
        return
    text = _text(path)
    for separator in SEPARATORS:
        yield separator, _records(text, separator)


def _text(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: it can't be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: it is not UTF-8 text; save it as CSV UTF-8.") from None


def _records(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The lines that are not blank, with the number on which each starts; the first must be readable.

    Where a quotation mark is out of place, one can't tell where a cell ends that has several lines, so each
    line is read by itself. One that can't be is a single cell, `BROKEN`.
    """
    lines = list(io.StringIO(text, newline=""))
    try:
        found = list(_strictly(lines, separator))
    except csv.Error:
        found = []
        for start, line in enumerate(lines, 1):
            try:
                found += [(start, cells) for _, cells in _strictly([line], separator)]
            except csv.Error:
                if not found:
                    raise
                found.append((start, [BROKEN]))
    yield from found


def _strictly(lines: list[str], separator: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=separator, strict=True)
    start = 1
    for record in reader:
        cells = [read_cell(cell.strip()) for cell in record]
        if any(cells):
            yield start, cells
        start = reader.line_num + 1


def _rows(lines: list[tuple[int, list[str]]], separator: str, header: list[str]) -> list[Filled]:
    places = [header.index(name) if name in header else len(header) for name in (*NEEDED, SITE, ITEM, SURE)]
    more = [place for place, name in enumerate(header) if MORE.fullmatch(name)]
    cells = [[record[place] if place < len(record) else "" for place in places] for _, record in lines]
    others = [[record[place] for place in more if place < len(record)] for _, record in lines]
    decimal_comma = any("," in reward for _, _, reward, *_ in cells) or any(
        "," in x for row in others for x in row
    )
    rows = []
    for (line, record), (trial, arm, reward, site, item, sure), again in zip(lines, cells, others, strict=True):
        try:
            if record == [BROKEN]:
                raise UserError("it has a quotation mark that is out of place.")
            _check_cells(record, header, separator)
            if not reward:
                if any(again):
                    raise UserError(
                        "reward is empty, and there are further measurements; the first belongs there."
                    )
                continue
            match = TRIAL.fullmatch(trial)
            if match is None:
                raise UserError(f"trial is {trial!r}; it must be the whole number that was handed out.")
            told = measurements([reward, *again], decimal_comma)
            rows.append(Filled(line, int(match[1]), arm, told, site, item, sure.casefold() not in NOT_SURE))
        except UserError as error:
            rows.append(Filled(line, refusal=str(error)))
    return _refuse_contradictions(rows)


def _check_cells(record: list[str], header: list[str], separator: str) -> None:
    """Refuse a line whose cells may have moved: between commas, `0,73` would read as 0 and a note."""
    if any(record[len(header) :]):
        raise UserError(f"it has {len(record)} cells, and the first line names {len(header)} columns.")
    place = header.index("reward")
    reward, after = record[place], record[place + 1] if place + 1 < len(record) else ""
    moved = len(record) > len(header) or header[place + 1 : place + 2] == ["note"]
    if separator == "," and moved and DECIMALS.fullmatch(after) and "." not in reward:
        raise UserError(
            f"{reward},{after} may be one number or two cells; write {reward}.{after} if it is one."
        )


def _refuse_contradictions(rows: list[Filled]) -> list[Filled]:
    rewards = defaultdict(set)
    for row in rows:
        if not row.refusal:
            rewards[row.trial].add(row.reward)
    return [
        Filled(row.line, refusal=f"trial {row.trial} is in this table with different rewards.")
        if len(rewards[row.trial]) > 1
        else row
        for row in rows
    ]
