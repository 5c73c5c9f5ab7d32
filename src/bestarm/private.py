"""Files that only their owner may read."""

from __future__ import annotations

import os
from pathlib import Path

from bestarm.errors import UserError


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
