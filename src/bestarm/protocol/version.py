"""Which version of the wire between site and server this is, and what to do where the other side has another.

A site names its version in a header of every call, a server in its answer to a join. The first version named
none.
"""

from __future__ import annotations

from bestarm.errors import Refused

VERSION = 2
HEADER = "Bestarm-Protocol"
SINCE = "0.2"  # the first release that speaks it


def check_site(named: str | None, release: str) -> None:
    """Refuse a site of another version; `release` is the server's.

    >>> check_site("2", "0.2.1")
    >>> check_site(None, "0.2.1")
    Traceback (most recent call last):
    bestarm.errors.Refused: this server has bestarm 0.2.1, and this site an older one: pip install --upgrade \
"bestarm>=0.2" at the site; its journal opens there with nothing lost.
    """
    if named == str(VERSION):
        return
    newer = named is not None and named.isascii() and named.isdigit() and int(named[:9]) > VERSION
    sentence = (
        f"this server has bestarm {release}, and this site a newer one: ask the coordinator to upgrade the "
        "server. Nothing at the site is lost."
        if newer
        else f"this server has bestarm {release}, and this site an older one: pip install --upgrade "
        f'"bestarm>={SINCE}" at the site; its journal opens there with nothing lost.'
    )
    raise Refused(sentence, "protocol", 409)


def check_server(named: object, url: str) -> None:
    """Refuse to work with a server of another version; it is named in the answer to a join.

    >>> check_server(None, "http://host")
    Traceback (most recent call last):
    bestarm.errors.Refused: the server at http://host is older than this site: ask the coordinator to pip \
install --upgrade "bestarm[server]>=0.2" there. Nothing at this site is lost.
    """
    if named == VERSION and not isinstance(named, bool):
        return
    if isinstance(named, int) and named > VERSION:
        sentence = (
            f"the server at {url} is newer than this site: pip install --upgrade bestarm; the journal opens "
            "there with nothing lost."
        )
    else:
        sentence = (
            f"the server at {url} is older than this site: ask the coordinator to pip install --upgrade "
            f'"bestarm[server]>={SINCE}" there. Nothing at this site is lost.'
        )
    raise Refused(sentence, "protocol", 409)
