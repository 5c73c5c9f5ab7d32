"""Plain values and arrays as bytes, and back to the last bit."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from array import array
from typing import Any

import numpy as np

CHECK = hashlib.sha256().digest_size
MARK = "~"  # no key of ours; what stands behind it is an array, or a number of numpy's


def gather(value: Any) -> bytes:
    """Values of JSON, tuples (which come back as lists), numpy's arrays and numbers, as they are now.

    An array that appears twice is one array afterwards as well.
    """
    arrays: list[Any] = []
    seen: dict[int, int] = {}
    head = json.dumps(_out(value, arrays, seen)).encode()
    return b"".join([struct.pack("<I", len(head)), head, *(_bytes(one) for one in arrays)])


def pack(gathered: bytes, about: str = "") -> bytes:
    """The same, compressed, with a checksum at the end, also of what they are about.

    >>> unpack(pack(gather({"a": np.arange(3), "b": [1.5, None, float("inf")]})))["b"]
    [1.5, None, inf]
    """
    packed = zlib.compress(gathered, 1)
    return packed + _check(packed, about)


def unpack(packed: bytes, about: str = "") -> Any:
    """The inverse of `pack`; a ValueError for bytes that it did not make, or made about something else."""
    packed, check = packed[:-CHECK], packed[-CHECK:]
    if _check(packed, about) != check:
        raise ValueError("the bytes are damaged, or about something else")
    try:
        whole = zlib.decompress(packed)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    (length,) = struct.unpack_from("<I", whole)
    return _Reader(whole, 4 + length).value(json.loads(whole[4 : 4 + length]))


def _check(packed: bytes, about: str) -> bytes:
    return hashlib.sha256(about.encode() + b"\0" + packed).digest()


def _bytes(one: Any) -> bytes:
    return bytes(one.tobytes("F" if _fortran(one) else "C"))


def _fortran(one: Any) -> bool:
    return bool(one.flags.f_contiguous and not one.flags.c_contiguous)


def _out(value: Any, arrays: list[Any], seen: dict[int, int]) -> Any:
    if isinstance(value, array):
        value = np.array(value)
    if isinstance(value, np.ndarray):
        place = seen.get(id(value))
        if place is None:
            place = seen[id(value)] = len(arrays)
            arrays.append(value)  # and so it lives until we are done, and its id with it
            return {MARK: [place, value.dtype.str, value.shape, _fortran(value)]}
        return {MARK: [place]}
    if isinstance(value, np.generic):
        return {MARK: [-1, value.dtype.str, value.item()]}
    if isinstance(value, dict):
        return {key: _out(part, arrays, seen) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_out(part, arrays, seen) for part in value]
    return value


class _Reader:
    """Gives the values back, in the order in which they were written."""

    def __init__(self, whole: bytes, at: int) -> None:
        self.whole, self.at = whole, at
        self.arrays: list[Any] = []

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.value(part) for part in value]
        if not isinstance(value, dict):
            return value
        if MARK not in value:
            return {key: self.value(part) for key, part in value.items()}
        place, *about = value[MARK]
        if place < 0:
            return np.dtype(about[0]).type(about[1])
        return self.arrays[place] if not about else self._array(*about)

    def _array(self, kind: str, shape: list[int], fortran: bool) -> Any:
        dtype = np.dtype(kind)
        size = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(self.whole, dtype, size, self.at)
        self.at += size * dtype.itemsize
        found = flat.reshape(shape, order="F" if fortran else "C").copy(order="F" if fortran else "C")
        self.arrays.append(found)
        return found
