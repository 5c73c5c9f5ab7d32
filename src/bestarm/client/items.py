"""A site's own list of items, drawn in a random order that its journal keeps."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from random import Random

from bestarm.errors import UserError

Label = int | str
MOST_ITEMS = 1_000_000


class Items:
    """Which item of the list a number stands for: each once in every pass, in another order each time.

    >>> items = Items(("s1", "s2", "s3"), seed="x")
    >>> sorted(items.label(number) for number in (1, 2, 3)), items.passes(3), items.passes(4)
    (['s1', 's2', 's3'], 1, 2)
    """

    def __init__(self, labels: tuple[Label, ...], seed: str) -> None:
        self.labels, self._seed = labels, seed
        self._order: tuple[int, list[Label]] = (0, [])

    def label(self, number: int) -> Label:
        """The item's own name; without a list, its number."""
        if not self.labels:
            return number
        turn = self.passes(number)
        if self._order[0] != turn:
            drawn = Random(f"{self._seed}/items/{turn}").sample(self.labels, len(self.labels))
            self._order = turn, drawn
        return self._order[1][(number - 1) % len(self.labels)]

    def passes(self, number: int) -> int:
        """In which pass through the list an item's number is."""
        return 1 + (number - 1) // len(self.labels) if self.labels else 1

    def again(self) -> str:
        """What it means that the list is used up."""
        return (
            f"all {len(self.labels)} items were tried; from now on they come again, in another order. As long "
            "as items are new, the answer is about all items that yours are drawn from; with items that come "
            "again it is about those on your list."
        )


def checked_items(given: object) -> tuple[Label, ...]:
    """The labels of a list of items: a number n for 0 to n − 1, a file with one a line, or an iterable.

    >>> checked_items(3), checked_items(["s1", "s2"])
    ((0, 1, 2), ('s1', 's2'))
    >>> checked_items(["s1", "s1"])
    Traceback (most recent call last):
    bestarm.errors.UserError: items has 's1' twice; each item must have a name of its own.
    """
    if isinstance(given, bool):
        raise UserError(f"items is {given!r}; it must be a number, a file, or a list of names.")
    if isinstance(given, int):
        if not 1 <= given <= MOST_ITEMS:
            raise UserError(f"items is {given}; it must be a number from 1 to {MOST_ITEMS}.")
        return tuple(range(given))
    if isinstance(given, str | os.PathLike):
        return _distinct(_lines(Path(given)))
    if not isinstance(given, Iterable):
        raise UserError(f"items is {given!r}; it must be a number, a file, or a list of names.")
    labels = []
    for label in given:
        if isinstance(label, bool) or not isinstance(label, int | str) or label == "":
            raise UserError(f"items has {label!r}; each must be a name or a whole number.")
        labels.append(label)
        if len(labels) > MOST_ITEMS:
            raise UserError(f"items has more than {MOST_ITEMS} names.")
    return _distinct(labels)


def _lines(path: Path) -> list[Label]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"items {path}: it can't be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UserError(f"items {path}: it is not UTF-8 text.") from None
    return [line.strip() for line in text.splitlines() if line.strip()]


def _distinct(labels: list[Label]) -> tuple[Label, ...]:
    if not labels:
        raise UserError("items is empty; a list of items must have at least one.")
    seen: set[str] = set()
    for label in labels:
        if str(label) in seen:
            raise UserError(f"items has {label!r} twice; each item must have a name of its own.")
        seen.add(str(label))
    return tuple(labels)


def check_same(path: object, known: tuple[Label, ...], given: tuple[Label, ...]) -> None:
    """A list of items stays as it was when its journal was begun; only its order may be another."""
    before, now = set(map(str, known)), set(map(str, given))
    if before == now:
        return
    gone, new = sorted(before - now), sorted(now - before)
    what = f"{gone[0]!r} is gone" if gone else f"{new[0]!r} is new"
    raise UserError(
        f"journal {path}: its list of items has changed ({len(known)} before, {len(given)} now; {what}). Items "
        "must stay the same while a study goes on: give the old list, or none."
    )
