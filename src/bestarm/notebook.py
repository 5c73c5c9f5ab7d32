"""What a notebook shows: tables and pictures as HTML, drawn here so that a site needs no plotting library."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from bestarm.shown import estimate

ACCENT = "#0072B2"
WIDTH, LINE, NAMES = 520, 24, 150  # in pixels: a picture, a line of it, and the names at its left
DASHES = 'stroke="currentColor" stroke-dasharray="4 3"'


def table(caption: str, heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a caption; the first cell of each row is its head.

    >>> table("2 & 2", ["", "sum"], [["2 + 2", 4]])
    '<table><caption>2 &amp; 2</caption><tr><th></th><th>sum</th></tr><tr><th>2 + 2</th><td>4</td></tr></table>'
    """
    lines = [
        f"<th>{escape(str(first))}</th>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in rest)
        for first, *rest in rows
    ]
    head = "".join(f"<th>{escape(word)}</th>" for word in heads)
    body = "".join(f"<tr>{line}</tr>" for line in [head, *lines])
    return f"<table><caption>{escape(caption)}</caption>{body}</table>"


def picture(figure: Any) -> str:
    """A matplotlib figure as an image within the page."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    return f'<img alt="" src="data:image/svg+xml;base64,{base64.b64encode(drawn.getvalue()).decode()}">'


def meter(share: float, words: str) -> str:
    """A bar that is full when the share is 1, with words beside it.

    >>> meter(0.5, "half").count("<rect")
    2
    """
    full, top = WIDTH - NAMES, LINE - 14
    bar = f'<rect x="0" y="{top}" width="{full}" height="8" rx="4" fill="currentColor" fill-opacity="0.15"/>'
    done = f'<rect x="0" y="{top}" width="{full * min(share, 1.0):.1f}" height="8" rx="4" fill="{ACCENT}"/>'
    return _drawing(words, LINE, bar + done + _text(full + 10, LINE - 6, words))


def bars(rows: Sequence[tuple[str, float, str]], line: float, words: str) -> str:
    """A bar for each row of a name, a share and words, and a dashed line that they grow toward.

    >>> bars([("A", 0.2, "2 to 1 against"), ("B", 1.5, "ruled out")], 1.0, "20 to 1 rules out").count("<rect")
    2
    """
    full, bottom = WIDTH - NAMES - 170, len(rows) * LINE
    across = [NAMES + full * min(share / (line * 4 / 3), 1.0) for _, share, _ in rows]
    shapes = []
    for place, ((name, share, said), end) in enumerate(zip(rows, across, strict=True)):
        y, grey = place * LINE + LINE / 2, share >= line
        look = 'fill="currentColor" fill-opacity="0.3"' if grey else f'fill="{ACCENT}"'
        shapes.append(_text(0, y + 4, _short(name)) + _text(NAMES + full + 10, y + 4, said))
        shapes.append(f'<rect x="{NAMES}" y="{y - 5}" width="{end - NAMES:.1f}" height="10" rx="3" {look}/>')
    x = NAMES + full * 0.75
    shapes.append(_dashes(x, bottom))
    return _drawing(words, bottom + LINE, "".join(shapes) + _text(x, bottom + 14, words, "middle"))


class Row(NamedTuple):
    """A name with an estimate and the ends of its interval, where they are known."""

    name: str
    value: float | None
    low: float | None
    high: float | None


def intervals(rows: Sequence[Row], marked: str, words: str, at: float | None = None) -> str:
    """A line for each row that has an estimate: its interval, and a mark at it; the marked one in colour.

    `at` is a value that all are compared with: it gets a dashed line.

    >>> intervals([Row("A", 0.5, 0.4, 0.6)], "A", "means").count("<circle")
    1
    >>> ">20,003<" in intervals([Row("A", 20003.0, None, None)], "A", "means")
    True
    """
    known = [row for row in rows if row.value is not None]
    if not known:
        return ""
    ends = [value for row in known for value in row[1:] if value is not None] + ([] if at is None else [at])
    low, high = float(min(ends)), float(max(ends))

    def across(value: float) -> float:
        return NAMES + (WIDTH - NAMES - 20) * (value - low) / ((high - low) or 1.0)

    bottom = len(known) * LINE
    shapes = [] if at is None else [_dashes(across(at), bottom)]
    for place, row in enumerate(known):
        y, colour = place * LINE + LINE / 2, ACCENT if row.name == marked else "currentColor"
        shapes.append(_text(0, y + 4, _short(row.name)))
        if row.low is not None and row.high is not None:
            x1, x2 = across(row.low), across(row.high)
            shapes.append(
                f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>'
            )
        assert row.value is not None
        shapes.append(f'<circle cx="{across(row.value):.1f}" cy="{y}" r="4" fill="{colour}"/>')
    shapes.append(
        _text(NAMES, bottom + 14, estimate(low)) + _text(WIDTH - 20, bottom + 14, estimate(high), "end")
    )
    return _drawing(words, bottom + LINE, "".join(shapes))


def curve(points: Sequence[tuple[float, float]], line: float, words: str, unit: str) -> str:
    """How something grew toward a dashed line; the first number of a point goes to the right, from 0.

    >>> curve([(10, 0.2), (20, 0.7)], 1.0, "evidence", "samples").count("<circle")
    1
    """
    if not points:
        return ""
    height, most = 150, max(max(y for _, y in points), line) * 1.1
    last = points[-1][0] or 1.0
    places = [(x / last * (WIDTH - 70), height * (1.0 - max(y, 0.0) / most)) for x, y in points]
    path = "M" + " L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    top, (x, y) = height * (1.0 - line / most), places[-1]
    shapes = [
        f'<line x1="0" x2="{WIDTH - 70}" y1="{height}" y2="{height}" stroke="currentColor"/>',
        f'<line x1="0" x2="{WIDTH - 70}" y1="{top:.1f}" y2="{top:.1f}" {DASHES}/>',
        _text(WIDTH - 62, top + 4, f"{line:.0%}".replace("%", " %")),
        f'<path d="{path}" fill="none" stroke="{ACCENT}" stroke-width="2"/>',
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{ACCENT}"/>',
        _text(0, height + 16, "0") + _text(WIDTH - 70, height + 16, f"{last:,.0f} {unit}", "end"),
    ]
    return _drawing(words, height + LINE, "".join(shapes))


def _short(name: str) -> str:
    """A name as long as there is room for; capitals take more of it.

    >>> _short("a" * 20) == "a" * 20, len(_short("A" * 20))
    (True, 16)
    """
    most = 16 if sum(map(str.isupper, name)) > len(name) / 2 else 20
    return name if len(name) <= most else name[: most - 1] + "…"


def _dashes(x: float, bottom: float) -> str:
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}" {DASHES}/>'


def _drawing(words: str, height: float, shapes: str) -> str:
    """A picture without a style of its own: a page whose policy forbids those shows it too."""
    return (
        f'<svg role="img" aria-label="{escape(words)}" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">{shapes}</svg>'
    )


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor">{escape(words)}</text>'
