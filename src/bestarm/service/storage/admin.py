"""The administrator's first token: printed once, or kept in a file that only its owner reads."""

from __future__ import annotations

from pathlib import Path

from bestarm.errors import UserError
from bestarm.private import write_private
from bestarm.service.storage import Storage
from bestarm.service.storage.rows.tokens import TOKEN, new_secret


def admit(storage: Storage, file: Path | None) -> str | None:
    """Make sure that there is an administrator; a new token, if it is to be printed.

    With a file, the token in it is an administrator's from now on; a file that is missing or empty gets a new
    one. Without, a storage that never had an administrator gets one.
    """
    if file is None:
        return storage.admit(None).result()
    secret = _read(file)
    if not secret:
        secret = new_secret()
        write_private(file, secret + "\n")
    storage.admit(secret).result()
    return None


def _read(file: Path) -> str:
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: the token can't be read: {error}.") from None
    if secret and not TOKEN.fullmatch(secret):
        raise UserError(
            f"{file}: it holds no token of 43 to 128 letters, digits, dashes and underscores; "
            "empty it, and it gets one."
        )
    return secret
