"""How many files, and so connections, this process may have open."""

from __future__ import annotations

import resource

BACKLOG = 256  # connections that the machine keeps until the server takes them: it may take all at once
OWN = 128  # the database, the log, modules that are loaded late


def allow_files(connections: int) -> int:
    """Raise the limit to what so many connections need, as far as that is allowed; the limit there is then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + BACKLOG + OWN
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return wanted if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


def room(files: int) -> int:
    """How many connections so many files leave room for.

    >>> room(1024), room(256)
    (640, 128)
    """
    return max(files - BACKLOG - OWN, files // 2)
