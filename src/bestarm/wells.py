"""Where a trial goes on a plate."""

from __future__ import annotations

from string import ascii_uppercase

# Rows and columns of the plates that laboratories have, by their number of wells.
LAYOUTS = {6: (2, 3), 12: (3, 4), 24: (4, 6), 48: (6, 8), 96: (8, 12), 384: (16, 24), 1536: (32, 48)}


def well(place: int, plate: int) -> str:
    """The name of a place on a plate, counted row by row from 0; nothing for a plate of another size.

    >>> well(0, 24), well(23, 24), well(95, 96), well(383, 384), well(1535, 1536), well(0, 23)
    ('A1', 'D6', 'H12', 'P24', 'AF48', '')
    """
    if plate not in LAYOUTS or not 0 <= place < plate:
        return ""
    row, column = divmod(place, LAYOUTS[plate][1])
    letters = ascii_uppercase[row] if row < 26 else f"A{ascii_uppercase[row - 26]}"
    return f"{letters}{column + 1}"


def place_of(number: int, first: int, size: int, plate: int) -> tuple[int, str]:
    """The plate, counted from 1, and the well of a trial whose batch of `size` begins with trial `first`.

    Trials of a batch have numbers in a row, so both are the same whenever they are asked for. One that takes
    the place of a trial that was given back has no well of its own: it gets that one's, or a free one.

    >>> place_of(25, 25, 24, 24), place_of(30, 25, 48, 24), place_of(49, 25, 24, 24)
    ((2, 'A1'), (2, 'A6'), (2, ''))
    """
    place = number - first
    if not 0 <= place < size:
        return 1 + (first - 1) // plate, ""
    begin = number - place % plate
    return 1 + (begin - 1) // plate, well(place % plate, plate)
