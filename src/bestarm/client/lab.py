"""A site's side of a study: ask what to try, tell what came out, offline whenever it has to be."""

from __future__ import annotations

import json
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from operator import index
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import httpx

from bestarm.client.connection import Connection
from bestarm.client.exchange import Exchange
from bestarm.client.journal import Happening, Journal, JournalError, Line, asked_line, upload_line
from bestarm.client.overview import Overview, Standing
from bestarm.client.patience import Patience
from bestarm.errors import ProblemWarning, ServiceError, UserError
from bestarm.protocol.agent import Agent
from bestarm.protocol.messages import Trial, trial_to_json, verdict_to_json
from bestarm.protocol.terms import Terms
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
    items: int | str | os.PathLike[str] | Iterable[int | str] | None = None,
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
    them. Both are remembered and need not be given again; what is new holds from the next plan on. `items` is
    the site's own list, where the study has items: their names, a file with one a line, or how many there are;
    without it they are numbered. The journal keeps it, and the random order in which they come. `wait` is
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
        if items is not None:
            lab.keep_items(items)
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
        self._exchange = Exchange(connection, journal, study, plate, cannot)
        self._lock = threading.RLock()
        self.notice = ""  # what whoever works here should know, in a sentence
        self._passes = 1  # through the list of items, of which was spoken
        # Trials that an earlier process left open, and that were not handed out again yet.
        self._left_open = set(self.agent.open) if resume and self.joined else set()

    @property
    def joined(self) -> bool:
        """Whether this journal has joined its study; from then on it can be used offline."""
        return self._exchange.joined

    @property
    def agent(self) -> Agent:
        """The state machine that the journal leads to."""
        return self._exchange.agent

    @property
    def has_news(self) -> bool:
        """Whether this site works in another way now, and the server does not know yet."""
        return self._exchange.has_news

    def try_to_say(self) -> None:
        """Tell the server how this site works now; if it is away, it hears of it when there is more to say."""
        try:
            self.sync()
        except JournalError:
            raise
        except ServiceError as error:
            log.info("the server does not know yet how this site works: %s", error)

    def keep_items(self, items: object) -> None:
        """Write down the site's own list of items, once; afterwards it must be the same."""
        if not self.terms.items:
            raise UserError(f"study {self.site.split('/')[0]!r} has no items; leave them out.")
        with self._lock:
            self.journal.keep_items(items, self.agent.next_item > 1)

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
            arms, found = self.terms.arms, sorted(self.agent.open.items())
            return [Trial(number, arms[arm], self._label(number)) for number, arm in found]

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
            self._exchange.send_and_fetch()
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
        with self._exchange.all_or_nothing():
            new = self.agent.ask(n - len(again))
            if new:
                self.journal.append(*map(asked_line, new))
        return again + [self._named(trial) for trial in new]

    def _named(self, trial: Trial) -> Trial:
        """A new trial with the site's own name of its item."""
        if not isinstance(trial.item, int):
            return trial
        items = self.journal.items
        if items.passes(trial.item) > max(self._passes, items.passes(max(trial.item - 1, 1))):
            self._passes, self.notice = items.passes(trial.item), items.again()
            log.warning("%s", self.notice)
        return replace(trial, item=items.label(trial.item))

    def _label(self, number: int) -> int | str | None:
        """The site's own name of an open trial's item."""
        item = self.agent.items.get(number)
        return None if item is None else self.journal.items.label(item)

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
            self._check_item(trial, self._label(number))
            with self._exchange.all_or_nothing():
                lines = [Line(Happening.TOLD, number, arm, reward)]
                if self.agent.tell(number, reward) is not None:
                    lines.append(upload_line(self.agent))
                self.journal.append(*lines)
            self._try_to_send()
            return True

    def tell_counts(self, counts: Mapping[str, Sequence[Any]], name: str = "") -> bool:
        """Record a batch that was added up elsewhere: `{"A": (5000, 251), "B": (5000, 203)}`, pulls and sums.

        Where sigma is measured a third number is needed, the sum of squares. With items a row is `(pulls, sum,
        rival, pairs, Σd, Σd²)`, d being the rival's reward on an item less the arm's. Counts may differ from
        the plan's. The batch is sent if the server can be reached; if not, the next `ask` or `sync` does it.

        Under a `name` the same counts told again change nothing (False), and others are refused. Without one
        every call is another batch.
        """
        with self._lock:
            body = json.dumps({arm: list(row) for arm, row in counts.items()})
            known = self.journal.counted(name) if name else None
            if known is not None:
                if known == body:
                    return False
                raise UserError(
                    f"the counts {name!r} were told before, with other numbers; a batch counts once."
                )
            if self.agent.upload is not None:
                self._try_to_send()
            with self._exchange.all_or_nothing():
                self.agent.tell_counts(json.loads(body))
                self.journal.append(Line(Happening.COUNTED, arm=name, body=body), upload_line(self.agent))
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

    @staticmethod
    def _check_item(trial: Trial | int, item: int | str | None) -> None:
        if isinstance(trial, Trial) and trial.item is not None and str(trial.item) != str(item):
            raise UserError(f"trial {trial.number} is on item {item!r}, not on {trial.item!r}.")

    def give_back(self, trial: Trial | int) -> None:
        """The experiment failed or can't be done: another `ask` hands out its place, as a new trial.

        This is harmless when the reason has nothing to do with the reward that was seen or expected.
        """
        with self._lock, self._exchange.all_or_nothing():
            self.agent.give_back(_number(trial))
            self.journal.append(Line(Happening.GIVEN_BACK, _number(trial)))

    def leave(self, wait: float | None = 0.0) -> bool:
        """Send what there is so far, although the plan is not full. False if there is nothing to send.

        If the server can't be reached within `wait` seconds this raises, and the next `ask` or `sync` sends it.
        This is harmless when the reason has nothing to do with the rewards that were not sent yet: the shift is
        over, the material is used up, the site closes. It is not harmless to leave because they look good or
        bad. Trials still open are dropped: they can't be told any more. The site may go on with `ask` later.
        """
        with self._lock, self._exchange.all_or_nothing():
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
        self._persist(self._exchange.send_and_fetch, wait)

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
                "open": [trial_to_json(trial) for trial in self.open],
                "waiting_for": self.waiting_for,
            }

    def study(self) -> Overview:
        """Where the whole study stands, from the server: plain values, which a notebook shows as a picture."""
        return Overview(self.connection.call("GET", f"{self._exchange.place()}/status"))

    @property
    def standing(self) -> Standing:
        """Who is ruled out, who leads, and what can be said now, from the server."""
        return Standing(self.study()["standing"])

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
                self._exchange.send_and_fetch()
        except JournalError:
            raise
        except (ServiceError, UserError) as error:
            log.warning("the upload is kept and will be sent again: %s", error)


def _number(trial: Trial | int) -> int:
    try:
        return index(trial.number if isinstance(trial, Trial) else trial)
    except TypeError:
        raise UserError(f"{trial!r} is not a trial; give a trial that ask returned, or its number.") from None
