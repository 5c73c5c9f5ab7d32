"""`report.html`: one file, to be read without the paper, with every number from the CSV files beside it."""

from __future__ import annotations

import base64
import csv
import re
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from bestarm.experiments import words
from bestarm.experiments.claims import NO, PARTLY, UNTESTED, YES, Claim, read_claims
from bestarm.experiments.figures import BOUND, FOLDER, TITLES, Series, series
from bestarm.experiments.numbers import Line, Numbers, read_numbers

REPORT = "report.html"
MARKS = {YES: "✓ yes", PARTLY: "◐ partly", NO: "✗ no", UNTESTED: "– not tested"}
THRIFTY = (
    Series("sharp thrift=samples", "sharp, thrift=samples"),
    Series("sharp thrift=messages", "sharp, thrift=messages"),
    Series(BOUND, "lower bound (any method)"),
)

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 76rem; margin: 2rem auto; }
body { padding: 0 1rem; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.3rem; margin-top: 2.5rem; }
h3 { font-size: 1.05rem; }
table { border-collapse: collapse; font-size: 0.88rem; margin: 0.5rem 0 1rem; }
th, td { border-bottom: 1px solid #ddd; padding: 0.3rem 0.6rem; text-align: left; vertical-align: top; }
thead th { border-bottom: 2px solid #888; } td.n, th.n { text-align: right; white-space: nowrap; }
.wide { overflow-x: auto; } figure { margin: 1rem 0; } figure img { width: 100%; height: auto; }
figcaption, .small { font-size: 0.88rem; color: #444; } code { font-size: 0.92em; }
.verdict { white-space: nowrap; font-weight: 600; }
.yes { color: #00583f; } .partly { color: #7a5200; } .no { color: #a03000; } .untested { color: #555; }
@media print { body { max-width: none; margin: 0; font-size: 11pt; } figure, tr { break-inside: avoid; } }
"""


def write_report(folder: Path) -> None:
    """Write the report of a folder from its `summary.csv`, `claims.csv`, `about.csv` and figures."""
    numbers, claims = read_numbers(folder), read_claims(folder)
    with (folder / "about.csv").open(newline="", encoding="utf-8") as file:
        about = {row["name"]: row["value"] for row in csv.DictReader(file)}
    body = [
        _head(claims, about),
        _terms(),
        _claims(claims),
        *(_experiment(folder, numbers, experiment, about) for experiment in numbers.experiments()),
        _section("How it was done, and where it departs from the paper", _list(words.choices(numbers, about))),
        _section("Files, and how to run it again", _files(about)),
    ]
    (folder / REPORT).write_text(_page("\n".join(body)), encoding="utf-8")


def _page(body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The experiments, run again</title><style>{STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _head(claims: Sequence[Claim], about: dict[str, str]) -> str:
    counts = ", ".join(
        f"{sum(claim.verdict == verdict for claim in claims)} {name}"
        for verdict, name in (
            (YES, "hold"),
            (PARTLY, "hold partly"),
            (NO, "do not hold"),
            (UNTESTED, "not tested"),
        )
    )
    return (
        "<h1>Pure exploration in asynchronous federated bandits: the experiments, run again</h1><p>Several "
        "agents look together for the best of K arms and send a server, now and then, how often they "
        "pulled each arm and what they got. Wang et al. (UAI 2024) propose two such methods that need no "
        "rounds, <code>famabpe</code> for separate arms and <code>falinpe</code> for arms with features, "
        "and compare them with a single agent and with synchronous agents. This report runs their "
        "experiments again, adds the method <code>sharp</code> and the lower bound that holds for every "
        "method, and says which of the paper's statements hold with the stated parameters. Of "
        f"{len(claims)} statements: {counts}.</p>"
        f'<p class="small">bestarm {escape(about["bestarm"])}, {escape(about["runs"])} runs of every method at '
        f"every gap, seed {escape(about['seed'])}.</p>"
    )


def _terms() -> str:
    return _section("Words", f'<div class="small">{_list(words.TERMS)}</div>')


def _claims(claims: Sequence[Claim]) -> str:
    rows = [
        "<tr>"
        f"<td>{escape(claim.name)}</td><td>{escape(claim.says)}</td><td>{escape(claim.parameters)}</td>"
        f'<td>{_lines(claim.measured)}</td><td class="n">{claim.runs or "–"}</td>'
        f'<td class="verdict {claim.verdict.replace("not tested", "untested")}">{MARKS[claim.verdict]}</td>'
        f"<td>{_lines(claim.instead)}</td></tr>"
        for claim in claims
    ]
    heads = (
        "",
        "the paper says",
        "parameters",
        "measured",
        "runs",
        "holds",
        "with which parameters it would; remarks",
    )
    return _section(
        "What the paper says, and what was measured",
        "<p>Numbers are means over the runs, in the order of the gaps. «Runs» is the number for each "
        "method and gap. A statement about several gaps holds partly if it holds at some of them.</p>"
        f'<div class="wide"><table><thead><tr>{_cells("th", heads)}</tr></thead><tbody>{"".join(rows)}'
        "</tbody></table></div>",
    )


def _experiment(folder: Path, numbers: Numbers, experiment: str, about: dict[str, str]) -> str:
    parts = [f"<p>{escape(text)}</p>" for text in words.setting(numbers, experiment, about)]
    parts.append(_figure(folder, experiment, words.gap_caption(experiment)))
    for field in ("samples", "communications"):
        parts.append(f"<h3>{field.capitalize()}: mean ± half of the 95 % interval</h3>")
        parts.append(_table(numbers, experiment, field))
    parts.append("<h3>What a parameter buys</h3>")
    parts.append(_figure(folder, f"{experiment}-tradeoff", words.tradeoff_caption(numbers, experiment)))
    parts.append(_tradeoff_table(numbers, experiment))
    parts += [f"<p>{escape(text)}</p>" for text in words.remarks(numbers, experiment, about)]
    return _section(TITLES[experiment], "\n".join(parts))


def _table(numbers: Numbers, experiment: str, field: str) -> str:
    gaps = numbers.gaps(experiment)
    rows = []
    for one in (*series(experiment), *THRIFTY):
        lines = {line.gap: line for line in numbers.of(experiment, one.variant)}
        if not lines or (field == "communications" and all(not line.communications for line in lines.values())):
            continue
        cells = [mean_and_half(lines[gap], field) if gap in lines else "–" for gap in gaps]
        rows.append(f"<tr><th>{escape(one.label)}</th>{_cells('td', cells, numeric=True)}</tr>")
    heads = _cells("th", [f"gap {gap:g}" for gap in gaps], numeric=True)
    table = f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _tradeoff_table(numbers: Numbers, experiment: str) -> str:
    gap = numbers.gaps(experiment)[0]
    lines = [line for line in numbers.lines if line.experiment == experiment and line.gap == gap]
    rows = [
        f'<tr><th>{escape(line.variant)}</th><td class="n">{mean_and_half(line, "samples")}</td>'
        f'<td class="n">{mean_and_half(line, "communications")}</td></tr>'
        for line in sorted(lines, key=lambda line: (line.method, line.communications))
        if line.method != BOUND
    ]
    return (
        f"<details><summary>All settings at the gap {gap:g}, as a table</summary><table><thead><tr>"
        '<th>method and parameters</th><th class="n">samples</th><th class="n">communications</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></details>"
    )


def mean_and_half(line: Line, field: str) -> str:
    """The mean and half of its interval; the mean alone where the runs can't differ."""
    mean, half = getattr(line, field), getattr(line, f"{field}_high") - getattr(line, field)
    return f"{mean:,.0f} ± {half:,.0f}" if half >= 0.5 else f"{mean:,.0f}"


def _figure(folder: Path, name: str, caption: str) -> str:
    picture = base64.b64encode((folder / FOLDER / f"{name}.svg").read_bytes()).decode()
    return (
        f'<figure><img alt="{escape(caption)}" src="data:image/svg+xml;base64,{picture}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _files(about: dict[str, str]) -> str:
    rows = [f"<tr><td>{escape(name)}</td><td>{escape(value)}</td></tr>" for name, value in about.items()]
    return (
        _list(words.FILES)
        + f"<p><code>{escape(words.command(about))}</code></p>"
        + f"<details><summary>about.csv</summary><table>{''.join(rows)}</table></details>"
    )


def _lines(text: str) -> str:
    """One line for each part of a list."""
    return re.sub("(at the gaps [^:;]*:) ", r"\1<br>", escape(text)).replace("; ", ";<br>")


def _section(title: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{body}"


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def _cells(tag: str, texts: Iterable[str], numeric: bool = False) -> str:
    css = ' class="n"' if numeric else ""
    return "".join(f"<{tag}{css}>{escape(text)}</{tag}>" for text in texts)
