"""The finished runs of a sweep, in memory and in a file beside the results, so that a rerun continues.

The file has one line of JSON for each piece of work: the key of its cell, the number of its first run, and one
list a run. A line is written when its piece is finished. Pieces of other cells, of an earlier version of the
sweep or of the package, stay in the file and are not used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, TextIO

import numpy as np

from bestarm.core.arrays import Floats
from bestarm.errors import UserError
from bestarm.simulation.outcome import Outcome
from bestarm.sweeps.cell import Cell

SAMPLES = Outcome._fields.index("samples")


class Piece(NamedTuple):
    """Some runs of a cell that are finished, the first of them by number, and the CPU seconds they took."""

    key: str
    first: int
    seconds: float
    outcomes: Sequence[tuple[float, ...]]


@dataclass
class Kept:
    """What is known of one key: the number of the first run that somebody wants, and one row for each run."""

    first: int
    numbers: Floats
    seconds: float = 0.0


class Runs:
    """The finished runs of some cells; with a path, also those that its file has already.

    >>> import bestarm
    >>> cell = Cell.of(bestarm.Problem.quick([0.9, 0.5], sigma=0.3), "famabpe", {}, 10, range(3), 0)
    >>> runs = Runs([cell])
    >>> runs.add(Piece(cell.key, 1, 0.1, [Outcome(0, True, 50, 9, 2, 0, -0.1, 5)]))
    >>> [list(missing) for missing in runs.missing(cell)]
    [[0], [2]]
    """

    def __init__(self, cells: Iterable[Cell], path: Path | None = None) -> None:
        self._kept: dict[str, Kept] = {}
        for cell in cells:
            first, last = cell.numbers.start, cell.numbers.stop
            if other := self._kept.get(cell.key):
                first, last = min(first, other.first), max(last, other.first + len(other.numbers))
            self._kept[cell.key] = Kept(first, np.full((last - first, len(Outcome._fields)), np.nan))
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
        waiting = np.isnan(self.numbers(cell)[:, SAMPLES]).astype(np.int8)
        edges = cell.numbers.start + np.flatnonzero(np.diff(waiting, prepend=0, append=0))
        for first, last in edges.reshape(-1, 2).tolist():
            yield range(first, last)

    def finished(self, cell: Cell) -> int:
        """How many of a cell's runs are finished."""
        return int((~np.isnan(self.numbers(cell)[:, SAMPLES])).sum())

    def numbers(self, cell: Cell) -> Floats:
        """One row a run of a cell: the numbers of its outcome, or NaN if it is not finished."""
        kept = self._kept[cell.key]
        return kept.numbers[cell.numbers.start - kept.first : cell.numbers.stop - kept.first]

    def outcomes(self, cell: Cell) -> list[Outcome]:
        """The outcomes of a cell whose runs are all finished."""
        return [
            Outcome(int(arm), bool(stopped), int(a), int(b), int(c), int(d), index, int(uploads))
            for arm, stopped, a, b, c, d, index, uploads in self.numbers(cell).tolist()
        ]

    def seconds(self, cell: Cell) -> float:
        """The CPU seconds of the finished runs of a cell's key."""
        return self._kept[cell.key].seconds

    def _take(self, piece: Piece) -> None:
        kept = self._kept.get(piece.key)
        if kept is None:
            return
        first = max(piece.first, kept.first)
        last = min(piece.first + len(piece.outcomes), kept.first + len(kept.numbers))
        if first < last:
            fitting = np.array(piece.outcomes[first - piece.first : last - piece.first], dtype=np.float64)
            kept.numbers[first - kept.first : last - kept.first] = fitting
            kept.seconds += piece.seconds

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
    return Piece(str(line["key"]), int(line["first"]), float(line["seconds"]), line["outcomes"])


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
