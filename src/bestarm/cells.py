"""Text in the cells of a table: what a spreadsheet would run is written so that it does not.

A spreadsheet takes a cell that begins with =, +, -, @ or a tab for a formula. Such text gets an apostrophe in
front, which says "this is text", and loses it when it is read. Numbers stay as they are.
"""

from __future__ import annotations

import re
from typing import TypeVar

T = TypeVar("T")
NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?", re.ASCII)
RUN = re.compile(r"'*(\s*[=+\-@＝＋－＠]|[\t\r\n])")  # with apostrophes before it, too: one is taken off later


def write_cell(value: T) -> T | str:
    """What is written for a value; `read_cell` gives the text back.

    >>> write_cell("=1+1"), write_cell("PPh3"), write_cell("'-x"), write_cell(-0.5), write_cell("-0.5")
    ("'=1+1", 'PPh3', "''-x", -0.5, '-0.5')
    """
    if isinstance(value, str) and RUN.match(value) and not NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def column(name: str) -> str:
    """The name of a column of counts, however somebody writes it.

    >>> column("Arm"), column("squares"), column("sum of squares"), column("Sum_of_squares")
    ('arm', 'squares', 'squares', 'squares')
    """
    plain = name.casefold()
    return "squares" if plain.replace("_", " ") == "sum of squares" else plain


def read_cell(text: str) -> str:
    """The text that was written, or that somebody typed without an apostrophe.

    >>> read_cell("'=1+1"), read_cell("=1+1"), read_cell("PPh3"), read_cell("'tis"), read_cell("''-x")
    ('=1+1', '=1+1', 'PPh3', "'tis", "'-x")
    """
    return text[1:] if text.startswith("'") and RUN.match(text) else text
