"""How messages are counted: as the paper does, in one place for simulators, servers and the demo."""

from __future__ import annotations


def messages(uploads: int, ended_at: int) -> int:
    """Communications: every upload, and every download that answered one.

    `ended_at` is the upload that ended it all, counted from 1, or 0 if none did: neither that one nor a later
    one is answered by a download.

    >>> messages(12, 0), messages(12, 12), messages(12, 10)
    (24, 23, 21)
    """
    return uploads + (uploads if ended_at == 0 else ended_at - 1)
