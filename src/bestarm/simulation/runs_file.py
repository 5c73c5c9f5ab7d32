"""The finished runs of a sweep, in memory and in a file beside the results, so that a rerun continues.

The file has one line of JSON for each piece of work: the key of its cell, the number of its first run, and one
list a run. A line is written when its piece is finished. Pieces of other cells, of an earlier version of the
sweep or of the package, stay in the file and are not used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TextIO

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.errors import UserError
from bestarm.simulation.cell import Cell
from bestarm.simulation.outcome import Outcome

SAMPLES = Outcome._fields.index("samples")


class Piece(NamedTuple):
    """Some runs of a cell that are finished, the first of them by number, and the CPU seconds they took."""

    key: str
    first: int
    seconds: float
    outcomes: list[Outcome]


class Runs:
    """The finished runs of some cells; with a path, also those that its file has already.

    >>> import bestarm
    >>> cell = Cell.of(bestarm.Problem.quick([0.9, 0.5], sigma=0.3), "famabpe", {}, 10, 3, 0)
    >>> runs = Runs([cell])
    >>> runs.add(Piece(cell.key, 1, 0.1, [Outcome(0, True, 50, 9, 2, 0, -0.1, 5)]))
    >>> [list(missing) for missing in runs.missing(cell)]
    [[0], [2]]
    """

    def __init__(self, cells: Iterable[Cell], path: Path | None = None) -> None:
        self._numbers: dict[str, Floats] = {}
        self._seconds: dict[str, float] = {}
        for cell in cells:
            size = max(cell.runs, len(self._numbers.get(cell.key, ())))
            self._numbers[cell.key] = np.full((size, len(Outcome._fields)), np.nan)
        self._path, self._file = path, None if path is None else _open(path)

    def __enter__(self) -> Runs:
        if self._file is not None:
            try:
                self._recover(self._file)
            except UserError:
                self._file.close()
                raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, piece: Piece) -> None:
        """Take a finished piece, then write it down, so that what the file has is always taken."""
        self._take(piece)
        if self._file is not None:
            # The loops that are not compiled hand out numpy's numbers; `item` makes them Python's.
            line = json.dumps(piece._asdict(), separators=(",", ":"), default=lambda value: value.item())
            self._file.write(line + "\n")
            self._file.flush()

    def missing(self, cell: Cell) -> Iterator[range]:
        """The runs of a cell that are not finished, as ranges."""
        waiting = np.isnan(self._numbers[cell.key][: cell.runs, SAMPLES]).astype(np.int8)
        edges = np.flatnonzero(np.diff(waiting, prepend=0, append=0)).tolist()
        for first, last in zip(edges[::2], edges[1::2], strict=True):
            yield range(first, last)

    def finished(self, cell: Cell) -> int:
        """How many of a cell's runs are finished."""
        return int((~np.isnan(self._numbers[cell.key][: cell.runs, SAMPLES])).sum())

    def outcomes(self, cell: Cell) -> list[Outcome]:
        """The outcomes of a cell whose runs are all finished."""
        return [
            Outcome(int(arm), bool(stopped), int(a), int(b), int(c), int(d), index, int(uploads))
            for arm, stopped, a, b, c, d, index, uploads in self._numbers[cell.key][: cell.runs].tolist()
        ]

    def seconds(self, cell: Cell) -> float:
        """The CPU seconds of a cell's finished runs."""
        return self._seconds.get(cell.key, 0.0)

    def _take(self, piece: Piece) -> None:
        numbers = self._numbers.get(piece.key)
        if numbers is None:
            return
        fitting = np.array(piece.outcomes[: max(len(numbers) - piece.first, 0)], dtype=np.float64)
        if len(fitting):
            numbers[piece.first : piece.first + len(fitting)] = fitting
            self._seconds[piece.key] = self._seconds.get(piece.key, 0.0) + piece.seconds

    def _recover(self, file: TextIO) -> None:
        file.seek(0)
        end = 0
        for number, line in enumerate(iter(file.readline, ""), 1):
            if not line.endswith("\n"):  # what a kill in the middle of a line left behind
                file.truncate(end)
                break
            end = file.tell()
            try:
                self._take(_read(json.loads(line)))
            except (ValueError, TypeError, KeyError):
                raise UserError(
                    f"{self._path}: line {number} can't be read; delete the file to begin anew."
                ) from None
        file.seek(0, os.SEEK_END)


def _read(line: dict[str, Any]) -> Piece:
    outcomes = [Outcome(*run) for run in line["outcomes"]]
    return Piece(str(line["key"]), int(line["first"]), float(line["seconds"]), outcomes)


def _open(path: Path) -> TextIO:
    """The file for reading and appending; held by one sweep at a time."""
    try:
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: the file can't be written ({error.strerror}).") from None
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # no such locks on this system
        pass
    except OSError:
        file.close()
        raise UserError(
            f"{path}: another sweep is writing to it; wait for it, or take another --out."
        ) from None
    return file
