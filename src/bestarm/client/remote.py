"""A site's side of a study: ask what to try, tell what came out, offline whenever it has to be."""

from __future__ import annotations

import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from operator import index
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import quote

import httpx

from bestarm.client.agreement import check_identity, check_sequence, identity_of
from bestarm.client.connection import Connection
from bestarm.client.journal import Happening, Journal, JournalError, Line, Said, reply_line, upload_line
from bestarm.client.overview import Overview
from bestarm.client.patience import Patience
from bestarm.errors import ProblemWarning, Refused, ServiceError, UserError
from bestarm.protocol.agent import Agent
from bestarm.protocol.messages import Download, Stop, Trial, reply_from_json, verdict_to_json
from bestarm.protocol.terms import Terms
from bestarm.protocol.version import check_server
from bestarm.verdict import Verdict

if TYPE_CHECKING:
    from bestarm.problem import Problem

JOURNAL = "bestarm-journal.db"
T = TypeVar("T")
log = logging.getLogger("bestarm.client")


def connect(
    url: str,
    *,
    token: str,
    study: str | None = None,
    journal: str | os.PathLike[str] = JOURNAL,
    plate: int | None = None,
    cannot: Sequence[str] | None = None,
    wait: float | None = 0.0,
    resume: bool = True,
    waiting: Callable[[str, float], None] | None = None,
    transport: httpx.BaseTransport | None = None,
) -> Lab:
    """Take part in a study as the agent that the token belongs to.

        lab = bestarm.connect("http://host:8000", study="ligands", token="…", journal="lab-a.db")
        while not lab.finished:
            for trial in lab.ask(8, wait=None):
                lab.tell(trial, measure(trial.arm))

    Everything that the site knows is in the journal, a file that survives a kill: the next `connect` goes on
    where the last one was. Only the first one needs the server; later ones work offline.

    `study` may be left out if the server knows just one for this token. `plate` is how many trials the site
    does at once: its plans become whole plates. `cannot` are the arms that it can't do: its plans have none of
    them. Both are remembered and need not be given again; what is new holds from the next plan on. `wait` is
    how long to try the first time, in seconds, None for as long as it takes. With `resume`, trials that an
    earlier process left open are handed out first, under their old numbers. `waiting` is called with what is
    waited for and the seconds until the next try; the same goes to the log `bestarm.client`.

    >>> connect("laboratory", token="…")
    Traceback (most recent call last):
    bestarm.errors.UserError: url is 'laboratory'; it must look like http://host:8000 or https://host.
    """
    with ExitStack() as opened:
        connection = opened.enter_context(Connection(url, token, transport=transport))
        book = opened.enter_context(closing(Journal(journal)))
        lab = Lab(connection, book, study, resume, Patience(waiting), plate, cannot)
        if not lab.joined:
            lab.sync(wait)
        elif lab.has_news:
            lab.try_to_say()
        opened.pop_all()
    return lab


class Lab:
    """An agent with a journal and a connection. It may be used from several threads."""

    def __init__(
        self,
        connection: Connection,
        journal: Journal,
        study: str | None = None,
        resume: bool = True,
        patience: Patience | None = None,
        plate: int | None = None,
        cannot: Sequence[str] | None = None,
    ) -> None:
        self.connection = connection
        self.journal = journal
        self.patience = Patience() if patience is None else patience
        self.waiting_for = ""  # what keeps this site from going on, in a sentence; empty if nothing does
        self._study = study
        self._lock = threading.RLock()
        self._met = False  # whether this process has compared its journal with the server
        self._agent: Agent | None = None
        self._left_open: set[int] = set()  # by an earlier process, and not handed out again yet
        if journal.identity is not None:
            if study not in (None, journal.identity.study):
                raise UserError(
                    f"journal {journal.path}: it belongs to study {journal.identity.study!r}, not {study!r}; "
                    "each study needs a journal of its own."
                )
            if resume:
                self._left_open = set(self.agent.open)
        self._before = journal.said or Said()  # what the server heard last
        self._note(plate, cannot)

    def _note(self, plate: int | None, cannot: Sequence[str] | None) -> None:
        """Write down how this site works, if that is new."""
        if plate is not None and (isinstance(plate, bool) or not isinstance(plate, int) or plate < 1):
            raise UserError(f"plate is {plate!r}; it must be a whole number of at least 1.")
        if isinstance(cannot, str) or not all(isinstance(arm, str) for arm in cannot or ()):
            raise UserError(f"cannot is {cannot!r}; it must be a list of arms.")
        old = self._before
        now = Said(
            old.plate if plate is None else plate,
            old.cannot if cannot is None else tuple(cannot),
            old.number,
        )
        if self.journal.said is None:
            self.journal.say(now)
        elif now != old:
            self.journal.say(replace(now, number=old.number + 1))

    @property
    def has_news(self) -> bool:
        """Whether this site works in another way now, and the server does not know yet."""
        return not self._met and self.journal.said != self._before

    def try_to_say(self) -> None:
        """Tell the server how this site works now; if it is away, it hears of it when there is more to say."""
        try:
            self.sync()
        except JournalError:
            raise
        except ServiceError as error:
            log.info("the server does not know yet how this site works: %s", error)

    @property
    def joined(self) -> bool:
        """Whether this journal has joined its study; from then on it can be used offline."""
        return self.journal.identity is not None

    @property
    def agent(self) -> Agent:
        """The state machine that the journal leads to."""
        if self._agent is None:
            if not self.joined:
                raise UserError(f"journal {self.journal.path}: it has not joined a study yet; sync first.")
            self._agent = self.journal.replay()
        return self._agent

    @property
    def site(self) -> str:
        """Which agent of which study this is, in one word."""
        identity = self.journal.identity
        return "" if identity is None else f"{identity.study}/{identity.agent}"

    @property
    def terms(self) -> Terms:
        """What a site has to know of its study: the arms, and which rewards can be true."""
        return self.agent.terms

    @property
    def problem(self) -> Problem:
        """What the study is about, in full; this alone needs numpy."""
        from bestarm.problem import Problem

        identity = self.journal.identity
        if identity is None:
            raise UserError(f"journal {self.journal.path}: it has not joined a study yet; sync first.")
        with warnings.catch_warnings():  # what it warns of was said to whoever created the study
            warnings.simplefilter("ignore", ProblemWarning)
            return Problem.from_dict(identity.problem)

    @property
    def open(self) -> list[Trial]:
        """The trials that were handed out and wait for their reward."""
        with self._lock:
            return [Trial(number, self.terms.arms[arm]) for number, arm in sorted(self.agent.open.items())]

    @property
    def finished(self) -> bool:
        """Whether the server has said which arm is best."""
        return self.agent.finished

    @property
    def verdict(self) -> Verdict | None:
        """The server's answer, once there is one."""
        return self.agent.verdict

    def ask(self, n: int = 1, wait: float | None = 0.0) -> list[Trial]:
        """Up to `n` trials to do; none if the study is finished, or if there is none to be had.

        As long as the plan lasts this needs no server. When it is used up, `ask` tries to send what is complete
        and to fetch the next plan: once, or for `wait` seconds, or, with None, until there are trials or
        the verdict. `waiting_for` says what was in the way.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise UserError(f"n is {n!r}; it must be a whole number of at least 1.")
        try:
            return self._persist(lambda: self._hand_out(n) or self._fetch(n), wait)
        except JournalError:
            raise
        except ServiceError:
            return []

    def _fetch(self, n: int) -> list[Trial]:
        if self.finished:
            return []
        under_way = self.agent.upload is None  # then the server can only have the verdict
        try:
            self._exchange()
        except ServiceError as error:
            if not under_way or isinstance(error, JournalError):
                raise
        trials = self._hand_out(n)
        if not trials and not self.finished:
            numbers = ", ".join(str(trial.number) for trial in self.open)
            raise ServiceError(f"all trials of the plan are under way; tell or give back trial {numbers}.")
        return trials

    def _hand_out(self, n: int) -> list[Trial]:
        if self.finished:
            return []
        again = [trial for trial in self.open if trial.number in self._left_open] if self._left_open else []
        again = again[:n]
        self._left_open -= {trial.number for trial in again}
        with self._all_or_nothing():
            new = self.agent.ask(n - len(again))
            if new:
                self.journal.append(*(Line(Happening.ASKED, trial.number, trial.arm) for trial in new))
        return again + new

    def tell(self, trial: Trial | int, reward: float) -> bool:
        """Record what a trial gave; when this returns, the reward is safe. False if it was known already.

        The reward that fills the plan makes an upload, and it is sent if the server can be reached; if not,
        the next `ask`, `tell` or `sync` sends it.
        """
        with self._lock:
            number = _number(trial)
            reward = self.terms.check_reward(reward)
            if number not in self.agent.open:
                return self._already_told(trial, reward)
            arm = self.terms.arms[self.agent.open[number]]
            self._check_arm(trial, arm)
            with self._all_or_nothing():
                lines = [Line(Happening.TOLD, number, arm, reward)]
                if self.agent.tell(number, reward) is not None:
                    lines.append(upload_line(self.agent))
                self.journal.append(*lines)
            self._try_to_send()
            return True

    def _already_told(self, trial: Trial | int, reward: float) -> bool:
        number = _number(trial)
        if not 0 < number < self.agent.next_number:
            raise UserError(f"trial {number} was never handed out.")
        told = self.journal.told(number)
        if told is not None:
            arm, known = told
            self._check_arm(trial, arm)
            if known == reward:
                return False
            raise UserError(
                f"trial {number} was told {known!r} and now {reward!r}; a told reward can't be changed."
            )
        raise UserError(
            f"trial {number} is not open any more: it was given back, or its batch was sent without it."
        )

    @staticmethod
    def _check_arm(trial: Trial | int, arm: str) -> None:
        if isinstance(trial, Trial) and trial.arm != arm:
            raise UserError(f"trial {trial.number} is for arm {arm!r}, not for {trial.arm!r}.")

    def give_back(self, trial: Trial | int) -> None:
        """The experiment failed or can't be done: another `ask` hands out its place, as a new trial.

        This is harmless when the reason has nothing to do with the reward that was seen or expected.
        """
        with self._lock, self._all_or_nothing():
            self.agent.give_back(_number(trial))
            self.journal.append(Line(Happening.GIVEN_BACK, _number(trial)))

    def leave(self, wait: float | None = 0.0) -> bool:
        """Send what there is so far, although the plan is not full. False if there is nothing to send.

        If the server can't be reached within `wait` seconds this raises, and the next `ask` or `sync` sends it.
        This is harmless when the reason has nothing to do with the rewards that were not sent yet: the shift is
        over, the material is used up, the site closes. It is not harmless to leave because they look good or
        bad. Trials still open are dropped: they can't be told any more. The site may go on with `ask` later.
        """
        with self._lock, self._all_or_nothing():
            if self.agent.close_batch() is not None:
                self.journal.append(upload_line(self.agent))
        if self.agent.upload is None:
            return False
        self.sync(wait)
        return True

    def sync(self, wait: float | None = 0.0) -> None:
        """Send what is complete and fetch what is new; a `ServiceError` if the server can't be reached.

        It tries once, or for `wait` seconds, or, with None, until it succeeds.
        """
        self._persist(self._exchange, wait)

    def status(self) -> dict[str, Any]:
        """Where this site stands, from its journal alone, in plain values."""
        with self._lock:
            agent, identity = self.agent, self.journal.identity
            assert identity is not None
            return {
                "study": identity.study,
                "agent": identity.agent,
                "finished": agent.finished,
                "verdict": None if agent.verdict is None else verdict_to_json(agent.verdict),
                "uploads": agent.sequence,
                "unsent": int(agent.upload is not None),
                "plan": agent.plan.size,
                "to_hand_out": agent.to_hand_out,
                "told": agent.local.samples,
                "open": [{"trial": trial.number, "arm": trial.arm} for trial in self.open],
                "waiting_for": self.waiting_for,
            }

    def study(self) -> Overview:
        """Where the whole study stands, from the server: plain values, which a notebook shows as a picture."""
        return Overview(self.connection.call("GET", f"{self._place()}/status"))

    def close(self) -> None:
        """Let another process use the journal. Nothing is sent."""
        self.connection.close()
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """What the agent does here is in the journal at the end; if that fails, the agent has not done it."""
        try:
            yield
        except BaseException:
            self._agent = None
            raise

    def _persist(self, attempt: Callable[[], T], wait: float | None) -> T:
        def locked() -> T:
            with self._lock, self._noting():
                return attempt()

        return self.patience.persist(locked, wait)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Keep in `waiting_for` what was in the way."""
        try:
            yield
            self.waiting_for = ""
        except (ServiceError, UserError) as error:
            self.waiting_for = str(error)
            raise

    def _try_to_send(self) -> None:
        """A told reward is safe whatever the server says, so nothing is raised here; `ask` and `sync` do."""
        if self.agent.upload is None:
            return
        try:
            with self._noting():
                self._exchange()
        except JournalError:
            raise
        except (ServiceError, UserError) as error:
            log.warning("the upload is kept and will be sent again: %s", error)

    def _exchange(self) -> None:
        """Compare journal and server, once a process; then send an upload, or look whether there is news."""
        if not self._met or self.agent.upload is None:
            self._meet()
        if self.agent.upload is not None:
            if not self.journal.sent:
                self.journal.append(Line(Happening.SENT))
            answer = self.connection.call("POST", f"{self._place()}/uploads", self.journal.upload)
            self._receive(self._reply(answer, self.terms))

    def _place(self) -> str:
        return f"/v1/studies/{quote(self._name(), safe='')}"

    def _name(self) -> str:
        if self.journal.identity is not None:
            return self.journal.identity.study
        if self._study is None:
            studies = self.connection.call("GET", "/v1/studies").get("studies", [])
            names = [str(study.get("study")) for study in studies]
            if len(names) != 1:
                raise UserError(f"study is not given, and the token is for {len(names)} studies; name one.")
            self._study = names[0]
        return self._study

    def _meet(self) -> None:
        """Join, which is how a restarted agent asks again; what the journal and the server know must agree."""
        answer = self._join()
        theirs = identity_of(answer)
        check_identity(self.journal, theirs)
        check_sequence(self.journal, self.agent if self.joined else None, answer["sequence"])
        if self.joined:
            reply = self._reply(answer, self.terms)
            if self._takes(reply):
                self._receive(reply)
        else:
            agent = Agent(theirs.terms, theirs.agent, self.journal.chance)
            reply = self._reply(answer, agent.terms)
            agent.receive(reply)
            self.journal.append(reply_line(agent, reply), joined=theirs)
            self._agent = agent
        self._met = True

    def _join(self) -> dict[str, Any]:
        said = self.journal.said
        assert said is not None
        body: dict[str, Any] = {"journal": self.journal.id}
        if said != Said():  # an old server would refuse what it does not know, without saying that it is old
            body |= {"plate": said.plate, "cannot": list(said.cannot), "number": said.number}
        try:
            answer = self.connection.call("POST", f"{self._place()}/join", body)
        except Refused as error:
            if error.status == 422:
                check_server(self.connection.call("GET", "/healthz").get("protocol"), self.connection.url)
                self.journal.say(replace(self._before, number=said.number + 1))  # it was never so
            raise
        check_server(answer.get("protocol"), self.connection.url)
        return answer

    def _takes(self, reply: Download | Stop) -> bool:
        """Whether what a site that comes back is told is new to it, and comes between two batches."""
        agent = self.agent
        if agent.upload is not None or agent.finished:
            return False
        if isinstance(reply, Stop):
            return True
        return not agent.open and not agent.local.samples and reply.plan != agent.plan

    def _reply(self, answer: dict[str, Any], terms: Terms) -> Download | Stop:
        try:
            reply = reply_from_json(answer.get("reply"), terms)
            if isinstance(reply, Download) and reply.plan is None:
                raise UserError("reply: it has no plan.")
            return reply
        except UserError as error:
            raise ServiceError(f"{self.connection.url} sent an answer that can't be used: {error}") from None

    def _receive(self, reply: Download | Stop) -> None:
        with self._all_or_nothing():
            self.agent.receive(reply)
            self.journal.append(reply_line(self.agent, reply))


def _number(trial: Trial | int) -> int:
    try:
        return index(trial.number if isinstance(trial, Trial) else trial)
    except TypeError:
        raise UserError(f"{trial!r} is not a trial; give a trial that ask returned, or its number.") from None
