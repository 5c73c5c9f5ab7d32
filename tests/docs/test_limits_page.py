"""The numbers of the documentation are those of the code."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

from bestarm.cli.coordinator.serve import serve
from bestarm.service.http.connections.listener import GRACE
from bestarm.service.http.connections.wire import MOST_HEAD
from bestarm.service.http.limits import Limits

ROOT = Path(__file__).parents[2]
LIMITS = Limits()
NUMBERS: dict[str, float | list[float]] = {
    "bytes of a body": LIMITS.body,
    "bytes of a head": MOST_HEAD,
    "arms of a study, and so of an upload": LIMITS.arms,
    "calls a second with a token": [LIMITS.rate, LIMITS.burst],
    "seconds for TLS's handshake and for the head of a request": LIMITS.patience,
    "seconds for a body after its head": LIMITS.patience,
    "seconds for an answer to be read": LIMITS.patience,
    "seconds between an answer and the next request, or the rest of a body that was answered early": (
        LIMITS.idle
    ),
    "connections": LIMITS.connections,
    "connections from one address": LIMITS.connections_by_address,
    "requests under way with one token": LIMITS.requests_by_token,
    "event streams": LIMITS.streams,
    "event streams from one address": LIMITS.connections_by_address,
    "event streams with one token": LIMITS.requests_by_token,
    "exports at a time": LIMITS.exports,
    "exports from one address": LIMITS.exports_by_address,
    "exports with one token": LIMITS.exports_by_token,
}


def test_the_table_of_limits_is_true() -> None:
    section = (ROOT / "docs" / "deploy.md").read_text().partition("\n## Limits\n")[2]
    rows = [line.strip("| \n").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    told = {row[0]: [float(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", row[1])] for row in rows}
    assert told == {
        name: value if isinstance(value, list) else [float(value)] for name, value in NUMBERS.items()
    }


def test_the_options_have_the_same_defaults() -> None:
    options = {name: parameter.default for name, parameter in inspect.signature(serve).parameters.items()}
    for option, field in (
        ("max_body", "body"),
        ("max_arms", "arms"),
        ("rate", "rate"),
        ("patience", "patience"),
        ("max_connections", "connections"),
        ("max_exports", "exports"),
        ("stale_after", "stale_after"),
    ):
        assert options[option] == getattr(LIMITS, field), option


def test_how_long_an_end_may_take_is_said() -> None:
    assert GRACE == 10
    text = (ROOT / "docs" / "deploy.md").read_text()
    assert "up to ten seconds" in text
    assert "gives a sign of life every 15 s" in text
    assert LIMITS.keep_alive == 15
