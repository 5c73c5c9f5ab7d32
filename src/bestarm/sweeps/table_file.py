"""Rows of results as a CSV or Parquet file."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bestarm.cells import write_cell
from bestarm.errors import UserError

SUFFIXES = (".csv", ".parquet")


def check_table_path(path: str | os.PathLike[str]) -> Path:
    """The path, if a table can be written there: asked before the work, not after it."""
    target = Path(path)
    if target.suffix not in SUFFIXES:
        raise UserError(f"{target}: results are written as {' or '.join(SUFFIXES)}; the name must end so.")
    if not target.parent.is_dir():
        raise UserError(f"{target}: there is no folder {target.parent}; create it first.")
    if target.is_dir():
        raise UserError(f"{target}: this is a folder; results need the name of a file.")
    if target.suffix == ".parquet":
        _arrow()
    return target


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the rows; a column that a row does not have is empty. The file is replaced whole or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write = _write_csv if path.suffix == ".csv" else _write_parquet
        write(unfinished, columns, rows)
        unfinished.replace(path)
    except OSError as error:
        raise UserError(f"{path}: the file can't be written ({error.strerror}).") from None
    finally:
        unfinished.unlink(missing_ok=True)


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        table.writerows([write_cell(row.get(column, "")) for column in columns] for row in rows)


def _write_parquet(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    arrow, parquet = _arrow()
    values: dict[str, list[Any]] = {column: [] for column in columns}
    for row in rows:
        for column, items in values.items():
            items.append(row.get(column))
    parquet.write_table(arrow.table(values), path)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise UserError(
            'a .parquet file needs pyarrow: pip install "bestarm[experiments]"; or take .csv.'
        ) from None
    return pyarrow, pyarrow.parquet
