"""A loop with the rules of one method: the same code, with other functions for some of its global names."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Function = Callable[..., Any]


def rebind(
    function: Function, replacements: Mapping[str, Any], name: str = "", enclosed: Sequence[Any] | None = None
) -> Function:
    """The function with other values for some of the globals that it uses.

    `enclosed` are the values that it has from a function around it, if they are others too.

    >>> def area(side):
    ...     return power(side, 2)
    >>> rebind(area, {"power": pow})(3)
    9
    """
    scope = function.__globals__ | dict(replacements)
    cells = function.__closure__ if enclosed is None else tuple(map(types.CellType, enclosed))
    clone = types.FunctionType(
        function.__code__, scope, name or function.__name__, function.__defaults__, cells or None
    )
    clone.__qualname__ = name or function.__qualname__
    clone.__module__ = function.__module__
    return clone
