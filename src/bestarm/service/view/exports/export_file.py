"""An export that is read from its file, one element of its long lists at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from pathlib import Path
from typing import Any, TextIO

from bestarm.errors import UserError
from bestarm.problem.file import naming
from bestarm.service.view.exports import uploads_table
from bestarm.strict_json import QUICK
from bestarm.tables import to_pandas

LISTS = ("uploads", "verdicts", "entries")
PIECE = 65_536  # letters that are read at once, at least
SPACE = " \t\n\r"


class ExportFile:
    """An export in a file: `facts` are all its values but the long lists, `rows` gives the elements of one.

    The order of the keys does not matter: what is asked for is looked for from the start of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.facts: dict[str, Any] = {}
        self.lists: set[str] = set()
        with self._opened() as text:
            if text.peek() != "{":
                self.facts = {"": text.value()}  # JSON, and no export
                return
            for key in _keys(text):
                if key in self.facts or key in self.lists:
                    raise text.broken(f"{key[:40]!r} appears twice in one object")
                if key in LISTS and text.peek() == "[":
                    self.lists.add(key)
                    for _ in _elements(text):
                        pass
                else:
                    self.facts[key] = text.value()
            if text.peek():
                raise text.broken("there is more after its end")

    def rows(self, name: str) -> Iterator[Any] | None:
        """The elements of a list; None if there is no list of this name."""
        return self._rows(name) if name in self.lists else None

    def to_pandas(self) -> Any:
        """The uploads as a pandas data frame, one row for each upload and arm, as `--format csv` has them."""
        found = [row for upload in self.rows("uploads") or () for row in uploads_table.rows(upload)]
        return to_pandas(found, None if found else uploads_table.columns(2))

    def _rows(self, name: str) -> Iterator[Any]:
        with self._opened() as text:
            for key in _keys(text):
                if key == name:
                    yield from _elements(text)
                    return
                if key in self.lists:
                    for _ in _elements(text):
                        pass
                else:
                    text.value()

    @contextmanager
    def _opened(self) -> Iterator[Text]:
        try:
            with self.path.open(encoding="utf-8-sig") as file:
                yield Text(file)
        except FileNotFoundError:
            raise UserError("there is no such file.") from None
        except UnicodeDecodeError:
            raise UserError("the file can't be read as text; it must be UTF-8.") from None
        except OSError as error:
            raise UserError(f"the file can't be read ({error.strerror}).") from None


def read_export(path: str | os.PathLike[str]) -> ExportFile:
    """What `study export` wrote; `to_pandas()` makes a table of its uploads."""
    with naming(os.fspath(path)):
        return ExportFile(Path(path))


class Text:
    """JSON text of which only a piece is in memory."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._held = ""
        self._at = 0

    def peek(self) -> str:
        """The next letter that is not white space; nothing at the end."""
        while True:
            while self._at < len(self._held):
                if self._held[self._at] not in SPACE:
                    return self._held[self._at]
                self._at += 1
            if not self._more():
                return ""

    def take(self, *expected: str) -> str:
        """The next letter, which must be one of these."""
        found = self.peek()
        if found not in expected or not found:
            raise self.broken(f"{' or '.join(expected)} is missing")
        self._at += 1
        return found

    def value(self) -> Any:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                value, end = QUICK.raw_decode(self._held, self._at)
            except JSONDecodeError as error:  # it may go on in the next piece
                if not self._more():
                    raise self.broken(error.msg) from None
            except (ValueError, RecursionError) as error:
                deep = isinstance(error, RecursionError)
                raise self.broken("it is nested too deeply" if deep else str(error)) from None
            else:
                if end < len(self._held) or not self._more():  # a number may go on as well
                    self._at = end
                    return value

    def broken(self, reason: str) -> UserError:
        """What is said of text that is not JSON."""
        return UserError(f"it is not JSON that can be used: {reason}.")

    def _more(self) -> bool:
        """Read on, twice as much as is held: a long value is then not tried often."""
        rest = self._held[self._at :]
        piece = self._file.read(max(PIECE, len(rest)))
        self._held, self._at = rest + piece, 0
        return bool(piece)


def _keys(text: Text) -> Iterator[str]:
    """The keys of an object; the value after each must be read before the next."""
    text.take("{")
    if text.peek() == "}":
        text.take("}")
        return
    while True:
        if text.peek() != '"':
            raise text.broken("a name is missing")
        key = text.value()
        text.take(":")
        yield key
        if text.take(",", "}") == "}":
            return


def _elements(text: Text) -> Iterator[Any]:
    text.take("[")
    if text.peek() == "]":
        text.take("]")
        return
    while True:
        yield text.value()
        if text.take(",", "]") == "]":
            return
