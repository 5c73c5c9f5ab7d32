"""What a notebook shows: tables and pictures as HTML, drawn here so that a site needs no plotting library."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

ACCENT = "#0072B2"
WIDTH, LINE, NAMES = 520, 24, 150  # in pixels: a picture, a line of it, and the names at its left


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
    full, bottom = WIDTH - NAMES - 130, len(rows) * LINE
    across = [NAMES + full * min(share / (line * 4 / 3), 1.0) for _, share, _ in rows]
    shapes = []
    for place, ((name, share, said), end) in enumerate(zip(rows, across, strict=True)):
        y, grey = place * LINE + LINE / 2, share >= line
        look = 'fill="currentColor" fill-opacity="0.3"' if grey else f'fill="{ACCENT}"'
        shapes.append(_text(0, y + 4, _short(name)) + _text(NAMES + full + 10, y + 4, said))
        shapes.append(f'<rect x="{NAMES}" y="{y - 5}" width="{end - NAMES:.1f}" height="10" rx="3" {look}/>')
    x = NAMES + full * 0.75
    dashes = 'stroke="currentColor" stroke-dasharray="4 3"'
    shapes.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}" {dashes}/>')
    return _drawing(words, bottom + LINE, "".join(shapes) + _text(x, bottom + 14, words, "middle"))


def intervals(arms: Sequence[Mapping[str, Any]], leader: str) -> str:
    """A line for each arm that has an estimate: its interval, and a mark at its mean; the leader's in colour.

    >>> intervals([{"arm": "A", "mean": 0.5, "low": 0.4, "high": 0.6}], "A").count("<circle")
    1
    """
    known = [arm for arm in arms if arm["mean"] is not None]
    if not known:
        return ""
    ends = [arm[end] if arm[end] is not None else arm["mean"] for arm in known for end in ("low", "high")]
    low, high = float(min(ends)), float(max(ends))

    def across(value: float) -> float:
        return NAMES + (WIDTH - NAMES - 20) * (value - low) / ((high - low) or 1.0)

    shapes = []
    for place, arm in enumerate(known):
        y, colour = place * LINE + LINE / 2, ACCENT if arm["arm"] == leader else "currentColor"
        shapes.append(_text(0, y + 4, _short(arm["arm"])))
        if arm["low"] is not None:
            x1, x2 = across(arm["low"]), across(arm["high"])
            shapes.append(
                f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y}" y2="{y}" stroke="{colour}" stroke-width="2"/>'
            )
        shapes.append(f'<circle cx="{across(arm["mean"]):.1f}" cy="{y}" r="4" fill="{colour}"/>')
    bottom = len(known) * LINE
    shapes.append(
        _text(NAMES, bottom + 14, f"{low:.4g}") + _text(WIDTH - 20, bottom + 14, f"{high:.4g}", "end")
    )
    return _drawing("estimates and intervals", bottom + LINE, "".join(shapes))


def _short(name: str) -> str:
    return name if len(name) <= 20 else name[:19] + "…"


def _drawing(words: str, height: float, shapes: str) -> str:
    return (
        f'<svg role="img" aria-label="{escape(words)}" width="{WIDTH}" height="{height}" '
        f'style="font:12px sans-serif;display:block">{shapes}</svg>'
    )


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor">{escape(words)}</text>'
