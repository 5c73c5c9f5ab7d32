"""Tables as real .xlsx files, for whoever opens them in a spreadsheet; this needs openpyxl."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bestarm.errors import UserError

SUFFIX = ".xlsx"
THOUSANDTHS = re.compile(r"-?\d{1,3}\.\d{3}")


def is_excel(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one by its name.

    >>> is_excel("plate.XLSX"), is_excel("plate.csv")
    (True, False)
    """
    return Path(path).suffix.lower() == SUFFIX


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise UserError(
            "an .xlsx worksheet needs openpyxl: pip install 'bestarm[excel]', or name the file .csv."
        ) from None
    return openpyxl


def write_rows(path: str | os.PathLike[str], rows: Iterable[Sequence[object]]) -> None:
    """A new file with these rows; numbers are numbers there, and text is text."""
    book = _openpyxl().Workbook(write_only=True)
    sheet = book.create_sheet("worksheet")
    for row in rows:
        sheet.append(["" if cell is None else cell for cell in row])
    with Path(path).open("xb") as file:
        book.save(file)


def read_rows(path: str | os.PathLike[str]) -> list[list[str]]:
    """The first sheet's cells as text, the first row being the first that is there.

    What a formula gave when the file was saved is what counts.
    """
    openpyxl = _openpyxl()
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        found = [[_text(cell) for cell in row] for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except OSError as error:
        raise UserError(f"{path}: it can't be read: {error.strerror}.") from None
    except (
        openpyxl.utils.exceptions.InvalidFileException,
        zipfile.BadZipFile,
        KeyError,
        ValueError,
        IndexError,
    ):
        raise UserError(f"{path}: it is not an .xlsx file, or it is damaged.") from None
    return found


def _text(cell: object) -> str:
    """A cell as text. A number can be read in one way only, and says so with a digit more.

    >>> _text(1.234), _text(7), _text(0.5), _text(None)
    ('1.2340', '7', '0.5', '')
    """
    text = "" if cell is None else repr(cell) if isinstance(cell, float) else str(cell)
    return f"{text}0" if isinstance(cell, float) and THOUSANDTHS.fullmatch(text) else text
