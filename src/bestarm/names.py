"""What studies and agents may be called: names that fit into an address, a file name and a table."""

from __future__ import annotations

import re

from bestarm.errors import UserError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RULE = "1 to 64 of A-Z a-z 0-9 . _ -, no sign first"


def check_name(field: str, value: object) -> str:
    """The name, or a sentence that says why it is none.

    >>> check_name("agent", "lab-a")
    'lab-a'
    >>> check_name("agent", "lab a")
    Traceback (most recent call last):
    bestarm.errors.UserError: agent is 'lab a'; it must be 1 to 64 of A-Z a-z 0-9 . _ -, no sign first.
    """
    if isinstance(value, str) and NAME.fullmatch(value):
        return value
    shown = repr(value) if len(repr(value)) <= 80 else repr(value)[:77] + "..."
    raise UserError(f"{field} is {shown}; it must be {RULE}.")
