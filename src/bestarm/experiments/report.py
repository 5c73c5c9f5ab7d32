"""`report.html`: one file, to be read without the paper, with every number from the CSV files beside it."""

from __future__ import annotations

import base64
import csv
import re
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from bestarm.experiments import words
from bestarm.experiments.claims import NO, PARTLY, UNTESTED, YES, read_claims
from bestarm.experiments.figures import BOUND, FOLDER, TITLES, Series, series
from bestarm.experiments.numbers import Line, Numbers, read_numbers

REPORT = "report.html"
TEMPLATE = "report.html.jinja"
MARKS = {YES: "✓ yes", PARTLY: "◐ partly", NO: "✗ no", UNTESTED: "– not tested"}
COUNTED = {YES: "hold", PARTLY: "hold partly", NO: "do not hold", UNTESTED: "not tested"}
THRIFTY = (
    Series("sharp thrift=samples", "sharp, thrift=samples"),
    Series("sharp thrift=messages", "sharp, thrift=messages"),
    Series(BOUND, "lower bound (any method)"),
)

Rows = list[tuple[str, list[str]]]  # a label and its cells


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, in the page itself."""

    content: str  # SVG in base64
    caption: str


@dataclass(frozen=True, slots=True)
class Part:
    """What the report shows of one experiment."""

    title: str
    setting: list[str]
    gaps: list[str]
    by_gap: Picture
    tables: dict[str, Rows]  # samples and communications by gap
    tradeoff: Picture
    settings: Rows
    remarks: list[str]


def write_report(folder: Path) -> None:
    """Write the report of a folder from its `summary.csv`, `claims.csv`, `about.csv` and figures."""
    numbers, claims = read_numbers(folder), read_claims(folder)
    with (folder / "about.csv").open(newline="", encoding="utf-8") as file:
        about = {row["name"]: row["value"] for row in csv.DictReader(file)}
    page = _template().render(
        about=about,
        claims=claims,
        counted=COUNTED,
        marks=MARKS,
        terms=words.TERMS,
        experiments=[_part(folder, numbers, experiment, about) for experiment in numbers.experiments()],
        choices=words.choices(numbers, about),
        files=words.FILES,
        command=words.command(about),
    )
    (folder / REPORT).write_text(page, encoding="utf-8")


def _part(folder: Path, numbers: Numbers, experiment: str, about: dict[str, str]) -> Part:
    tradeoff = words.tradeoff_caption(numbers, experiment)
    return Part(
        title=TITLES[experiment],
        setting=words.setting(numbers, experiment, about),
        gaps=[f"{gap:g}" for gap in numbers.gaps(experiment)],
        by_gap=_picture(folder, experiment, words.gap_caption(experiment)),
        tables={field: _by_gap(numbers, experiment, field) for field in ("samples", "communications")},
        tradeoff=_picture(folder, f"{experiment}-tradeoff", tradeoff),
        settings=_settings(numbers, experiment),
        remarks=words.remarks(numbers, experiment, about),
    )


def _picture(folder: Path, name: str, caption: str) -> Picture:
    return Picture(base64.b64encode((folder / FOLDER / f"{name}.svg").read_bytes()).decode(), caption)


def _by_gap(numbers: Numbers, experiment: str, field: str) -> Rows:
    gaps = numbers.gaps(experiment)
    rows = []
    for one in (*series(experiment), *THRIFTY):
        lines = {line.gap: line for line in numbers.of(experiment, one.variant)}
        if not lines or (field == "communications" and all(not line.communications for line in lines.values())):
            continue
        rows.append((one.label, [mean_and_half(lines[gap], field) if gap in lines else "–" for gap in gaps]))
    return rows


def _settings(numbers: Numbers, experiment: str) -> Rows:
    """Every method with every parameter, at the smallest gap."""
    gap = numbers.gaps(experiment)[0]
    lines = [line for line in numbers.lines if line.experiment == experiment and line.gap == gap]
    return [
        (line.variant, [mean_and_half(line, "samples"), mean_and_half(line, "communications")])
        for line in sorted(lines, key=lambda line: (line.method, line.communications))
        if line.method != BOUND
    ]


def mean_and_half(line: Line, field: str) -> str:
    """The mean and half of its interval; the mean alone where the runs can't differ."""
    mean, half = getattr(line, field), getattr(line, f"{field}_high") - getattr(line, field)
    return f"{mean:,.0f} ± {half:,.0f}" if half >= 0.5 else f"{mean:,.0f}"


def pieces(text: str) -> list[str]:
    """The parts of a list in a sentence, one for each line.

    >>> pieces("at the gaps 0.1, 0.2: 3; 4")
    ['at the gaps 0.1, 0.2:', '3;', '4']
    """
    return re.sub("(at the gaps [^:;]*:|;) ", r"\1\n", text).split("\n")


def _template() -> Template:
    """The page around the numbers; whatever is put into it is escaped."""
    pages = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    pages.filters["pieces"] = pieces
    return pages.get_template(TEMPLATE)
