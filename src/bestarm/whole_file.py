"""Files that are there whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bestarm.errors import UserError


def write_whole(out: Path, pieces: Iterable[bytes]) -> None:
    """Write a file that is there only when it is complete; one that was there before stays until then."""
    special = out.exists() and not out.is_file()  # such as /dev/stdout
    beside = out if special else out.with_name(f"{out.name}.part")
    try:
        try:
            with beside.open("wb") as file:
                for piece in pieces:
                    file.write(piece)
            if not special:
                beside.replace(out)
        except BaseException:
            if not special:
                beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UserError(f"{out}: it can't be written: {error.strerror}.") from None
