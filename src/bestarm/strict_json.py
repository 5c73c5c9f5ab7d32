"""Decoders of strict JSON: no NaN, and no name twice in an object."""

from __future__ import annotations

import json
from typing import Any, NoReturn

LONGEST_WHOLE = 19  # digits, which is what 64 bits hold


def _constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number in JSON")


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > LONGEST_WHOLE:
        raise ValueError(f"a whole number has more than {LONGEST_WHOLE} digits")
    return int(digits)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"{name[:40]!r} appears twice in one object")
            seen.add(name)
    return value


# The second looks at every whole number, which is slow, and needed only where there are many digits in a row.
QUICK = json.JSONDecoder(parse_constant=_constant, object_pairs_hook=_pairs)
CAREFUL = json.JSONDecoder(parse_constant=_constant, object_pairs_hook=_pairs, parse_int=_whole)
