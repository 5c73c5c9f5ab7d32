"""The lines of a journal: what can happen at a site, how it is written down, and how an agent does it again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from bestarm.core.plan import Plan
from bestarm.protocol.agent import Agent
from bestarm.protocol.messages import Download, Stop, Trial, reply_from_json


class Happening(Enum):
    """What can happen at a site."""

    DOWNLOAD = "download"
    STOP = "stop"
    BEGUN = "begun"  # a batch, with its plan
    ASKED = "asked"
    TOLD = "told"
    GIVEN_BACK = "given_back"
    DROPPED = "dropped"  # an arm, from a batch in hand: it was withdrawn, or the site can't do it any more
    COUNTED = "counted"  # a whole batch that was added up elsewhere
    UPLOAD = "upload"
    SENT = "sent"  # for the first time, or about to be


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the log; a line has only what belongs to what happened. Counts have their name as `arm`.

    `batch` is the number of the first trial of the batch that it is about; for counts it is minus that of their
    upload. What the server said last comes first in the log, whenever it came.
    """

    what: Happening
    trial: int = 0
    arm: str = ""
    reward: float = 0.0
    body: str = ""
    batch: int = 0


PLACES = {Happening.DOWNLOAD: -1, Happening.STOP: 0}  # of what the server said last; the others come after


def reply_lines(agent: Agent, reply: Download | Stop) -> list[Line]:
    """The lines for the answer that the agent has just received: where it stands, and perhaps the verdict."""
    body: dict[str, Any] = {
        "sequence": agent.sequence - len(agent.uploads),
        "next_number": agent.next_number,
        "plan": plan_body(agent.plan),
        "times": agent.times,
    }
    if agent.terms.items:
        body["next_item"] = agent.next_item
    if agent.arms:
        body["names"] = agent.arms
    lines = [Line(Happening.DOWNLOAD, body=json.dumps(body))]
    if isinstance(reply, Stop):
        lines.append(Line(Happening.STOP, body=json.dumps(reply.to_json())))
    return lines


def asked_lines(agent: Agent, trials: Iterable[Trial]) -> list[Line]:
    """The lines for trials that the agent has just handed out; items are numbers there."""
    lines = []
    for trial in trials:
        first = agent.batch_of(trial.number)
        if first == trial.number:
            plan = json.dumps(plan_body(agent.batches[first].plan))
            lines.append(Line(Happening.BEGUN, body=plan, batch=first))
        item = "" if trial.item is None else str(trial.item)
        lines.append(Line(Happening.ASKED, trial.number, trial.arm, body=item, batch=first))
    return lines


def upload_line(agent: Agent, batch: int) -> Line:
    """The line for the upload that the agent has just made."""
    body = json.dumps(agent.uploads[-1].to_json(agent.terms.arms))
    return Line(Happening.UPLOAD, body=body, batch=batch)


def plan_body(plan: Plan) -> dict[str, Any]:
    """A plan, as lines have it."""
    body: dict[str, Any] = {"arms": plan.arms, "counts": plan.counts}
    return body | {"rivals": plan.rivals} if plan.rivals else body


def plan_in(body: Mapping[str, Any]) -> Plan:
    """The inverse of `plan_body`."""
    return Plan(tuple(body["arms"]), tuple(body["counts"]), tuple(body.get("rivals", ())))


def repeat(agent: Agent, line: Line) -> None:
    """Do again what a line of the log says; a line that does not fit is a mistake of ours and raises."""
    if line.what is Happening.BEGUN:
        agent.begin(line.batch, plan_in(json.loads(line.body)))
    elif line.what is Happening.ASKED:
        agent.hand_out(line.batch, line.trial, agent.terms.arms.index(line.arm), int(line.body or 0))
    elif line.what is Happening.TOLD:
        agent.tell(line.trial, line.reward)
    elif line.what is Happening.GIVEN_BACK:
        agent.give_back(line.trial)
    elif line.what is Happening.DROPPED:
        agent.drop(line.batch, agent.terms.arms.index(line.arm))
    elif line.what is Happening.COUNTED:
        agent.tell_counts(json.loads(line.body))
    elif line.what is Happening.UPLOAD:
        agent.close_batch(line.batch)  # unless the last reward or the counts have made it
        if upload_line(agent, line.batch) != line:
            raise ValueError("the journal's upload is not the sum of its rewards")
    elif line.what is Happening.SENT:
        pass
    elif line.what is Happening.STOP:
        agent.receive(reply_from_json(json.loads(line.body), agent.terms))
    else:
        body = json.loads(line.body)
        agent.resume(body["sequence"], body["next_number"], body.get("next_item", 1))
        plan = plan_in(body.get("plan", body))  # the first version had it beside the others
        agent.start(plan, tuple(body.get("names", ())), body.get("times", 1))
