"""What clients saw of a study: who sent what when, and what came back; and what must be true of it."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from bestarm import Problem, Server, Upload, method
from bestarm.protocol.messages import verdict_to_json
from bestarm.protocol.version import HEADER, VERSION

HASTE = 0.004  # seconds after which a client in a hurry does not wait for its answer any more


@dataclass
class Sent:
    """An upload: when it was first sent, when it was acknowledged, and with which answers."""

    agent: str
    sequence: int
    tally: dict[str, list[float]]
    since: float
    acknowledged: float | None = None
    answers: list[Any] = field(default_factory=list)


@dataclass
class Looked:
    """How many uploads somebody was told that there are."""

    since: float
    until: float
    uploads: int


class Clerk(threading.Thread):
    """A site that does nothing but send, again until it is acknowledged, and old ones again; and look."""

    def __init__(
        self, study: str, problem: Problem, agent: str, token: str, urls: list[str], seed: int
    ) -> None:
        super().__init__(daemon=True)
        self.study, self.problem, self.agent, self.urls = study, problem, agent, urls
        self.random = Random(seed)
        self.headers = {"Authorization": f"Bearer {token}", HEADER: str(VERSION)}
        self.sent: list[Sent] = []
        self.looked: list[Looked] = []
        self.lost = 0  # answers that never came, or said that the server could not
        self.refused: list[str] = []
        self.enough = threading.Event()

    @property
    def acknowledged(self) -> int:
        """How many rewards were in the uploads that were answered."""
        return sum(int(row[0]) for sent in self.sent if sent.answers for row in sent.tally.values())

    def run(self) -> None:
        with httpx.Client(headers=self.headers, trust_env=False) as http:
            journal = {"journal": f"journal-of-{self.agent}"}
            while self._call(http, "POST", "join", journal) is None and not self.enough.is_set():
                time.sleep(0.02)
            while not self.enough.is_set():
                known = [sent for sent in self.sent if sent.answers]
                if self.random.random() < 0.7 or not known:
                    self._send_next(http)
                elif self.random.random() < 0.6:
                    self._send(http, self.random.choice(known))
                else:
                    self._look(http)

    def _send_next(self, http: httpx.Client) -> None:
        arms = self.random.sample(self.problem.arms, 2)
        pulls = {arm: self.random.randint(1, 4) for arm in arms}
        tally = {
            arm: [count, float(self.random.randint(0, 1000 * count)) / 1024] for arm, count in pulls.items()
        }
        sent = Sent(self.agent, len(self.sent) + 1, tally, time.monotonic())
        self.sent.append(sent)
        while sent.acknowledged is None:  # also after the end: whoever sends does not give up
            if not self._send(http, sent):
                if self.enough.is_set() and self.lost > 10_000:
                    return
                time.sleep(self.random.uniform(0.0, 0.05))

    def _send(self, http: httpx.Client, sent: Sent) -> bool:
        body = {
            "problem": self.problem.fingerprint,
            "agent": self.agent,
            "sequence": sent.sequence,
            "tally": sent.tally,
        }
        answer = self._call(http, "POST", "uploads", body, hasty=self.random.random() < 0.2)
        if answer is None:
            return False
        sent.answers.append(answer)
        if sent.acknowledged is None:
            sent.acknowledged = time.monotonic()
        return True

    def _look(self, http: httpx.Client) -> None:
        since = time.monotonic()
        answer = self._call(http, "GET", "status")
        if answer is not None:
            self.looked.append(Looked(since, time.monotonic(), answer["uploads"]))

    def _call(self, http: httpx.Client, verb: str, what: str, body: object = None, hasty: bool = False) -> Any:
        url = f"{self.random.choice(self.urls)}/v1/studies/{self.study}/{what}"
        timeout = httpx.Timeout(2.0, read=HASTE if hasty else 10.0)
        try:
            answer = http.request(verb, url, json=body, timeout=timeout)
        except httpx.TransportError:
            self.lost += 1
            return None
        if answer.status_code >= 500 or answer.status_code == 429:
            self.lost += 1
            return None
        if answer.status_code != 200:
            self.refused.append(f"{answer.status_code} {answer.text}")
            return None
        return answer.json()


def check(clerks: list[Clerk], export: dict[str, Any]) -> None:
    """Everything that the histories and the log must have in common."""
    rows = export["uploads"]
    positions = {(row["agent"], row["sequence"]): row["position"] for row in rows}
    tallies = {(row["agent"], row["sequence"]): row["tally"] for row in rows}
    every = [sent for clerk in clerks for sent in clerk.sent]
    assert [row["position"] for row in rows] == list(range(1, len(rows) + 1))
    assert [clerk.refused for clerk in clerks] == [[] for _ in clerks]
    # Each upload is in the log at most once, unchanged, and every one that was acknowledged is there.
    assert len(positions) == len(rows)
    assert positions.keys() <= {(sent.agent, sent.sequence) for sent in every}
    for sent in every:
        key = sent.agent, sent.sequence
        if key in tallies:
            assert tallies[key] == sent.tally
        # Every answer to it is the same one, and names its place.
        for answer in sent.answers:
            assert answer["position"] == positions[key]
            assert answer["reply"] == sent.answers[0]["reply"]
    for clerk in clerks:
        own = [row["sequence"] for row in rows if row["agent"] == clerk.agent]
        assert own == list(range(1, len(own) + 1))
    check_order(every, positions)
    check_looks(clerks, every)
    replayed = replay(export)
    assert verdict_to_json(replayed.verdict) == export["verdict"]


def check_order(every: list[Sent], positions: dict[tuple[str, int], int]) -> None:
    """What was acknowledged before another one was sent comes before it in the log."""
    acknowledged = sorted(
        (sent.acknowledged, positions[sent.agent, sent.sequence])
        for sent in every
        if sent.acknowledged is not None
    )
    begun = sorted(
        (s.since, positions[s.agent, s.sequence]) for s in every if (s.agent, s.sequence) in positions
    )
    last, place = 0, 0
    for since, position in begun:
        while place < len(acknowledged) and acknowledged[place][0] < since:
            last = max(last, acknowledged[place][1])
            place += 1
        assert position > last


def check_looks(clerks: list[Clerk], every: list[Sent]) -> None:
    """Who looks sees all that was acknowledged before, and nothing that was not sent yet."""
    for clerk in clerks:
        for look in clerk.looked:
            done = sum(sent.acknowledged is not None and sent.acknowledged < look.since for sent in every)
            begun = sum(sent.since < look.until for sent in every)
            assert done <= look.uploads <= begun


def replay(export: dict[str, Any]) -> Server:
    """The server that the log leads to."""
    problem = Problem.from_dict(export["problem"])
    uploads = [
        Upload.from_json(
            {key: row[key] for key in ("agent", "sequence", "tally")} | {"problem": problem.fingerprint},
            problem,
        )
        for row in json.loads(json.dumps(export["uploads"]))
    ]
    built = method(export["method"], problem, export["agents"], **export["parameters"])
    return Server.replay(built, uploads)
