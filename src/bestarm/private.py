"""Files that only their owner may read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from bestarm.errors import UserError


def make_private(file: Path) -> None:
    """Make sure that there is a file for a database; an OSError if it can't be used.

    One that is there is not opened: closing it again would end the locks that SQLite holds on it elsewhere in
    this process.
    """
    try:
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        wrong = errno.EISDIR if file.is_dir() else 0 if os.access(file, os.R_OK | os.W_OK) else errno.EACCES
        if wrong:
            raise OSError(wrong, os.strerror(wrong)) from None


def write_private(file: Path, text: str) -> None:
    """Write a small secret to a file, so that it is on the disk when this returns."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            os.fchmod(descriptor, 0o600)
            opened.write(text)
            opened.flush()
            os.fsync(descriptor)
    except OSError as error:
        raise UserError(f"{file}: the token can't be written: {error.strerror}.") from None
