"""A study on one page, for a lab book: question, answer, promise, pictures, tables, the log's digest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from bestarm import __version__, pictures
from bestarm.protocol.entries import Correction
from bestarm.protocol.version import VERSION as PROTOCOL
from bestarm.reward import HIGHEST
from bestarm.service.storage.rows.schema import VERSION as STORAGE
from bestarm.service.storage.study.overview import Overview
from bestarm.service.view.paper.report_style import POLICY, STYLE
from bestarm.service.view.said.ending import sentence
from bestarm.service.view.said.since import Since, ruled_out_since
from bestarm.service.view.status import status
from bestarm.shown import (
    ArmColumns,
    arm_columns,
    best_first,
    count,
    limits,
    moment,
    number,
    percent,
    settings,
    so_far,
)

TEMPLATE = "report.html.jinja"
MOST_REPLAYED = 10_000  # entries: looking at each takes about as long as it took to take them


def report(overview: Overview, rows: Iterable[Any], now: datetime, stale_after: float) -> str:
    """One HTML page that needs nothing else; `rows` are the log's, up to what the overview knows.

    They are not read if there are too many of them.
    """
    found = status(overview, now, stale_after)
    short = overview.length <= MOST_REPLAYED
    since = ruled_out_since(overview.study.method, rows) if short else None
    table = _arms(found, since)
    versions = {"bestarm": __version__, "protocol": str(PROTOCOL), "storage": STORAGE}
    return _template().render(
        found=found,
        policy=POLICY,
        style=Markup(STYLE),
        versions=versions,
        made=moment(found["time"]),
        kind="Report" if found["end"] is not None else "Report of an open study, as it stands",
        question=question(overview),
        described=[arm for arm in found["problem"]["arm"] if "description" in arm],
        answer=answer(found),
        beside=_beside(found),
        promise=found["promise"].splitlines(),
        arms=table,
        odds_column=next((place for place, head in enumerate(table.heads) if head.startswith("odds; ")), None),
        notes=_notes(overview, short),
        odds=Markup(pictures.standing_picture(found["standing"], best_first(found))),
        differences=[(words, Markup(drawn)) for words, drawn in pictures.difference_pictures(found)],
        means=Markup("" if found["differences"] else pictures.means_picture(found)),
        evidence=Markup(pictures.evidence_picture(found)),
        hidden=len(found["arms"]) > pictures.MOST,
        shown_most=pictures.MOST,
        sites=_sites(found, overview),
        happened=[
            [moment(one.received_at), sentence(one.entry) + " After the end." * one.late, one.entry.by]
            for one in overview.happened
        ],
        facts=_facts(found, versions),
        digest=overview.digest,
    )


def question(overview: Overview) -> str:
    """What the study asks, in a sentence or two.

    The arms are those that there are; what came and went stands among what happened.
    """
    problem = overview.method.problem
    which = "highest" if problem.goal == HIGHEST else "lowest"
    near = f", or is within {problem.epsilon:g} of it" if problem.epsilon else ""
    unit = f", in {problem.unit}" if problem.unit else ""
    control = f" They are compared with {problem.control}, the control." if problem.control else ""
    return (
        f"Which of {len(problem.arms):,} arms has the {which} mean{unit}{near}? "
        f"The answer may be wrong with probability at most {problem.delta:g}.{control}"
    )


def answer(found: Mapping[str, Any]) -> str:
    """What is known, or what can be said as it stands."""
    if found["end"] is not None:
        return str(found["end"]["said"])
    if not found["uploads"]:
        return "As it stands: nothing was uploaded yet."
    return f"As it stands: {so_far(found)}"


def _beside(found: Mapping[str, Any]) -> list[str]:
    """Why and when it ended and what came later, or what is left; and the arms that are gone."""
    end = found["end"]
    if end is None:
        return limits(found)
    by = f" by {end['by']}" if end["by"] and end["reason"] == "closed" else ""
    why = f" ({end['why']})" if end["why"] else ""
    ended = f"It ended {moment(end['at'])}{by}{why}. {count(found['samples'], 'sample')} arrived in all."
    budget = found["budget"]
    used = [] if budget is None else [f"{number(budget['used'])} of {number(budget['budget'])} samples used."]
    return [ended, *([end["later"]] if end["later"] else []), *used, *limits(found)]


def _arms(found: Mapping[str, Any], since: Mapping[str, Since] | None) -> ArmColumns:
    """The table of `study show`, and after how many samples an arm was ruled out."""
    table = arm_columns(found)
    if since is None or found["standing"]["error"] is None:
        return table
    when = {arm: count(one.samples, "sample") for arm, one in since.items()}
    return ArmColumns([*table.heads, "ruled out after"], [[*row, when.get(row[0], "–")] for row in table.rows])


def _notes(overview: Overview, short: bool) -> list[str]:
    """What is to be said of the table of arms."""
    late = overview.verdict.reason is not None and overview.now.samples > overview.verdict.samples
    more = "The table and the pictures have what came after the end, too; the answer rests on what came before."
    long = "The log is too long to say here since when an arm is ruled out."
    return [more] * late + [long] * (not short)


def _sites(found: Mapping[str, Any], overview: Overview) -> list[list[str]]:
    corrected = Counter(one.entry.agent for one in overview.happened if isinstance(one.entry, Correction))
    total = sum(site["samples"] for site in found["sites"]) or 1
    return [
        [
            site["agent"],
            number(site["samples"]),
            percent(round(site["samples"] / total, 3)),
            number(site["uploads"]),
            number(corrected[site["agent"]]),
            moment(site["last_seen"]),
        ]
        for site in found["sites"]
    ]


def _facts(found: Mapping[str, Any], versions: Mapping[str, str]) -> list[tuple[str, str]]:
    problem = found["problem"]
    budget, deadline = problem.get("budget"), problem.get("deadline")
    return [
        ("method", found["method"]),
        ("parameters", settings(found["parameters"])),
        ("sites that it counts on", number(found["agents"])),
        ("begun", moment(found["created_at"])),
        ("state", found["state"]),
        ("budget", "none" if budget is None else count(budget, "sample")),
        ("deadline", "none" if deadline is None else str(deadline)),
        ("samples, uploads, messages", ", ".join(
            number(found[key]) for key in ("samples", "uploads", "communications")
        )),
        ("versions", ", ".join(f"{what} {version}" for what, version in versions.items())),
    ]  # fmt: skip


@cache
def _template() -> Template:
    loader = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template(TEMPLATE)
