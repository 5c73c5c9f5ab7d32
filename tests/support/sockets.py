"""Bare connections to a server, for callers that do not keep to what clients do."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit


def connect(url: str, source: str = "127.0.0.1", window: int = 0) -> socket.socket:
    """A connection from an address of this machine; `window` bytes at most wait there to be read."""
    address = urlsplit(url)
    made = socket.socket()
    made.settimeout(20)
    if window:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
    made.bind((source, 0))
    made.connect((address.hostname, address.port or 80))
    return made


def head(line: str, token: str = "", **fields: str) -> bytes:
    """The head of a request, with its end."""
    lines = [f"{line} HTTP/1.1", "Host: here", "Bestarm-Protocol: 2"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def answer(connection: socket.socket) -> bytes:
    """All that comes until the other side ends the connection, or one whole answer in JSON."""
    found = b""
    while chunk := connection.recv(65_536):
        found += chunk
        if found.endswith(b"}"):
            break
    return found


def ended(connection: socket.socket) -> bool:
    """Whether the server ends the connection, without a word."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def open_still(connection: socket.socket) -> bool:
    """Whether the server has not ended the connection."""
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except (ConnectionResetError, BrokenPipeError):
        return False
    finally:
        connection.settimeout(20)
