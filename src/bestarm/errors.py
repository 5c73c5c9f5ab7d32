"""What a person did wrong, and what went wrong elsewhere: one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Iterable


class UserError(ValueError):
    """Input that can't be used; the message is one sentence for the person who gave it.

    >>> raise UserError("delta is 2; it must be a number above 0 and below 1.")
    Traceback (most recent call last):
    bestarm.errors.UserError: delta is 2; it must be a number above 0 and below 1.
    """


class Refused(UserError):
    """A server refused a request and changed nothing; `code` says why in one word, `status` is HTTP's."""

    def __init__(self, sentence: str, code: str, status: int) -> None:
        super().__init__(sentence)
        self.code = code
        self.status = status


class ServiceError(RuntimeError):
    """The work failed for a reason outside of the input: a server out of reach, a check that did not hold.

    Nothing that was told is lost; the same call may be made again later.

    >>> issubclass(ServiceError, RuntimeError)
    True
    """


class Unreached(ServiceError):
    """A server could not be reached at all: it has certainly not seen what was to be sent."""


def either(words: Iterable[str]) -> str:
    """Words from which one is to be taken, as a sentence has them.

    >>> either(["sharp", "famabpe", "falinpe"])
    'sharp, famabpe or falinpe'
    """
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last


class ProblemWarning(UserWarning):
    """The input can be used, but it promises less than it seems to."""
