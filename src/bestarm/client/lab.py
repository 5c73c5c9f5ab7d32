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
from bestarm.client.corrections import change, check_reason, counts_tally
from bestarm.client.doubt import Doubts
from bestarm.client.exchange import Exchange
from bestarm.client.history import History, history_of
from bestarm.client.journal import Happening, Journal, JournalError, Line, Said, asked_lines, upload_line
from bestarm.client.overview import Overview, Standing
from bestarm.client.past import counts_as
from bestarm.client.patience import Patience
from bestarm.client.split import split_of
from bestarm.client.wells import place_of
from bestarm.errors import ProblemWarning, ServiceError, UserError
from bestarm.protocol.agent import Agent
from bestarm.protocol.messages import Trial, trial_to_json, verdict_to_json
from bestarm.protocol.terms import Terms
from bestarm.reward import YES_NO
from bestarm.verdict import Verdict

if TYPE_CHECKING:
    from bestarm.problem import Problem

JOURNAL = "bestarm-journal.db"
HURRY = 3.0  # seconds that a server gets to answer while there is something to do without it
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
    sure: bool = False,
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

    `study` may be left out if the server knows just one for this token. `plate` is how many trials fit on one
    of the site's plates: its plans become whole plates. `cannot` are the arms that it can't do: its plans have
    none of them. Both are remembered and need not be given again; what is new holds from the next plan on.
    `items` is the site's own list, where the study has items: their names, a file with one a line, or how many
    there are; without it they are numbered. The journal keeps it, and the random order in which they come.
    `wait` is how long to try the first time, in seconds, None for as long as it takes. With `resume`, trials
    that an earlier process left open are handed out first, under their old numbers. `sure` is for rewards that
    come from an instrument or a program: none of them is taken for a slip of the pen. `waiting` is called with
    what is waited for and the seconds until the next try; the same goes to the log `bestarm.client`.

    >>> connect("laboratory", token="…")
    Traceback (most recent call last):
    bestarm.errors.UserError: url is 'laboratory'; it must look like http://host:8000 or https://host.
    """
    with ExitStack() as opened:
        connection = opened.enter_context(Connection(url, token, transport=transport))
        book = opened.enter_context(closing(Journal(journal)))
        lab = Lab(connection, book, study, resume, Patience(waiting), plate, cannot, sure)
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
        sure: bool = False,
    ) -> None:
        self.connection = connection
        self.sure = sure  # that no number is a slip of the pen
        self.journal = journal
        self.patience = Patience() if patience is None else patience
        self.waiting_for = ""  # what keeps this site from going on, in a sentence; empty if nothing does
        self._exchange = Exchange(connection, journal, study, plate, cannot)
        self._lock = self._exchange.lock
        self._doubts = Doubts(journal)
        self._changed = threading.Condition(self._lock)  # there may be trials to hand out, or the verdict
        self._wire = threading.Lock()  # held by the one thread that speaks to the server
        self._wanted = 0  # trials that are being asked for
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
        """Whether there is nothing more to do: the best arm is known, or the study is over, or was closed."""
        return self.agent.finished or bool(self.closed)

    @property
    def closed(self) -> str:
        """What the server said of a study that a person has closed, as long as it has said nothing else."""
        return self.journal.closed

    @property
    def verdict(self) -> Verdict | None:
        """The server's answer, once there is one."""
        return self.agent.verdict

    def ask(self, n: int = 1, wait: float | None = 0.0) -> list[Trial]:
        """`n` trials to do; none if the study is finished, and fewer if no more are to be had.

        As long as the plan lasts this needs no server. Where it has fewer trials left, `ask` tries to send what
        is complete, to fetch the next plan, and to get one as large as it is asked for: once, or, if there
        would be none at all, for `wait` seconds, or, with None, until there are trials or the verdict.
        `waiting_for` says what was in the way.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise UserError(f"n is {n!r}; it must be a whole number of at least 1.")
        if self.closed and not self.agent.finished:
            self._look_again()
        with self._lock:
            self._wanted += n
        try:
            return self._persist(lambda: self._obtain(n), wait, self._rest)
        except JournalError:
            raise
        except ServiceError:
            return []
        finally:
            with self._lock:
                self._wanted -= n

    def _look_again(self) -> None:
        """A study that was closed may go on; if nobody says so it stays closed."""
        try:
            self.sync()
        except JournalError:
            raise
        except (ServiceError, UserError) as error:
            log.info("%s", error)

    def _obtain(self, n: int) -> list[Trial]:
        """Trials, from the plan at hand or from the server's next one."""
        error: ServiceError | UserError | None = None
        more = True
        while True:
            try:
                more = self._fetch(n)
            except JournalError:
                raise
            except (ServiceError, UserError) as away:
                error = away
            trials = self._hand_out(n)
            if trials or self.finished or error is not None or not more:
                break  # otherwise others have taken what there was
        if error is not None:
            self.waiting_for = str(error)
        if not trials and not self.finished:
            raise self._none_left(error)
        return trials

    def _none_left(self, error: ServiceError | UserError | None) -> ServiceError | UserError:
        """Why there are no trials: the server is away, or all are under way, or it has none."""
        with self._lock:
            if isinstance(error, UserError) or (error is not None and self.agent.upload is not None):
                return error
            numbers = ", ".join(str(trial.number) for trial in self.open)
            if numbers:
                sentence = f"all trials of the plan are under way; tell or give back trial {numbers}."
            else:
                sentence = "the server has no trials for this site now."
            return ServiceError(sentence) if error is None or numbers else error

    def _short(self, n: int) -> bool:
        """Whether there are fewer trials to hand out than are asked for."""
        with self._lock:
            missing = n - len(self._left_open) - self.agent.to_hand_out
            together = len(self.agent.plan.arms) if self.terms.items else 1
            return not self.finished and missing >= min(together, n)

    def _fetch(self, n: int) -> bool:
        """Get more to hand out, if that is needed; whether there is enough then.

        If there is something already, a slow server is not waited for.
        """
        if not self._short(n):
            return True
        with self._wire:
            if not self._short(n):
                return True  # somebody else was faster
            with self._hurry():
                if self.agent.upload is None:
                    self._wish()
                self._exchange.send_and_fetch()
                if self._short(n) and self._wish():
                    self._exchange.send_and_fetch()
            self._tell_others()
            return not self._short(n)

    def _wish(self) -> bool:
        with self._lock:
            return self._exchange.wish(self._wanted)

    @contextmanager
    def _hurry(self) -> Iterator[None]:
        if not self.joined or not self.agent.to_hand_out:
            yield
        else:
            with self.connection.in_a_hurry(HURRY):
                yield

    def _tell_others(self) -> None:
        """Wake whoever waits for trials."""
        with self._changed:
            self._changed.notify_all()

    def _rest(self, pause: float) -> None:
        """Wait until there are trials to hand out, but not longer."""
        with self._changed:
            self._changed.wait_for(lambda: self.finished or self.agent.to_hand_out > 0, pause)

    def _hand_out(self, n: int) -> list[Trial]:
        with self._lock:
            if self.finished:
                return []
            again = [trial for trial in self.open if trial.number in self._left_open] if self._left_open else []
            again = again[:n]
            self._left_open -= {trial.number for trial in again}
            with self._exchange.all_or_nothing():
                new = self.agent.ask(n - len(again))
                if new:
                    self.journal.append(*asked_lines(self.agent, new))
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

    def tell(self, trial: Trial | int, reward: float | Sequence[float], sure: bool = False) -> bool:
        """Record what a trial gave; when this returns, the reward is safe. False if it was known already.

        Several numbers are measurements of the one trial: their mean counts, once, since three measurements of
        one preparation are not three experiments. The journal keeps them all.

        A reward that is far from all that this site has told of the arm is a `Doubtful`, and nothing is
        recorded, unless you are `sure`. Answer from the notebook, not by whether you like the number.

        The reward that fills the plan makes an upload, and it is sent if the server can be reached; if not,
        the next `ask`, `tell` or `sync` sends it.
        """
        with self._lock:
            number = _number(trial)
            reward, measured = self._measured(reward)
            if number not in self.agent.open:
                return self._already_told(trial, reward, measured)
            arm = self.terms.arms[self.agent.open[number]]
            self._check_arm(trial, arm)
            self._check_item(trial, self._label(number))
            if not (sure or self.sure):
                self._doubts.check_rewards(arm, measured or [reward], self.terms)
            batch = self.agent.batch_of(number)
            with self._exchange.all_or_nothing():
                body = json.dumps(measured) if measured else ""
                lines = [Line(Happening.TOLD, number, arm, reward, body, batch)]
                if self.agent.tell(number, reward) is not None:
                    lines.append(upload_line(self.agent, batch))
                self.journal.append(*lines)
            self._doubts.saw(arm, reward)
        self._try_to_send()
        return True

    def _measured(self, reward: float | Sequence[float]) -> tuple[float, tuple[float, ...]]:
        """What a trial counts as, and its single measurements if there are several; each is checked."""
        several = list(reward) if isinstance(reward, list | tuple) else [reward]
        if not several:
            raise UserError("reward is an empty list; give what was measured.")
        checked = [self.terms.check_reward(one) for one in several]
        mean, measured = counts_as(checked if len(checked) > 1 else checked[0])
        if self.terms.rewards == YES_NO and len(set(checked)) > 1:
            raise UserError(
                f"reward is {reward!r}; rewards are 0 or 1, and measurements of one trial must agree on it."
            )
        return mean, measured

    def correct(
        self, trial: Trial | int, reward: float | Sequence[float], reason: str = "", sure: bool = False
    ) -> bool:
        """Change what was told of a trial; False if it was told so already. When this returns, it is safe.

        As long as the batch was not sent, the server never hears of the mistake. Afterwards the tally of the
        whole batch is made anew from this site's raw rewards, and sent as a correction, with its reason, which
        stays in the study's log; if the server is away, `ask`, `tell` or `sync` sends it later. Until the
        study is decided it is read again with the right number. Then the verdict stays, and `notice` says what
        the answer would be now. Correct what was written down wrongly, never what you do not like.
        """
        reason = check_reason(reason)
        with self._lock:
            number = _number(trial)
            new, measured = self._measured(reward)
            if number in self.agent.open:
                raise UserError(f"trial {number} was not told yet; tell it.")
            told = self.journal.find(number)
            if told is None:
                raise self._never_told(number)
            self._check_arm(trial, told.arm)
            if (told.reward, told.measured) == (new, measured):
                return False
            if not (sure or self.sure):
                self._doubts.check_rewards(told.arm, measured or [new], self.terms, leave_out=number)
            change(self._exchange, told, list(measured) or new, reason)
            self._doubts.forget()
        self._try_to_send()
        return True

    def correct_counts(
        self, name: str, counts: Mapping[str, Sequence[Any]], reason: str = "", sure: bool = False
    ) -> bool:
        """Change all counts that were told under a name, as `correct` does; False if they were so already."""
        reason = check_reason(reason)
        with self._lock:
            known = [one for one in self.journal.all_counted() if one.name == name and name]
            if not known:
                raise UserError(f"no counts were told under the name {name!r}; tell them.")
            rows = {arm: list(row) for arm, row in counts.items()}
            if known[0].counts == rows:
                return False
            counts_tally(self._exchange, rows, self.journal.plan_of(known[0].sequence))
            if not (sure or self.sure):
                self._doubts.check_counts(rows, self.terms, leave_out=name)
            change(self._exchange, known[0], rows, reason)
        self._try_to_send()
        return True

    def history(self) -> History:
        """What this site has told, newest last, with what was corrected; `to_pandas()` makes a table of it."""
        with self._lock:
            return history_of(self.journal, self._exchange.answered if self.joined else 0)

    def cannot(self, arm: str, reason: str = "") -> int:
        """This site can't do an arm from now on, for a reason that is not its rewards: the reagent is used up.

        It holds at once for everything that was not handed out, and is remembered; open trials of the arm are
        given back, and how many is returned. What was told of it stays. `can_again` takes it back.
        """
        reason = check_reason(reason)
        with self._lock:
            said = self._said_of(arm)
            opened = sum(trial.arm == arm for trial in self.open)
            if arm not in said.cannot:
                if not set(self.terms.arms) - set(said.cannot) - {arm}:
                    raise UserError(
                        f"{arm!r} is the last arm that this site can do; `leave` if it can do none."
                    )
                self._exchange.can_do((*said.cannot, arm), {arm: reason})
        self._heard()
        return opened

    def can_again(self, arm: str) -> None:
        """This site can do an arm again, from the next plan on."""
        with self._lock:
            said = self._said_of(arm)
            if arm not in said.cannot:
                raise UserError(f"this site never said that it can't do {arm!r}.")
            self._exchange.can_do(tuple(one for one in said.cannot if one != arm), {})
        self._heard()

    def _said_of(self, arm: object) -> Said:
        if arm not in self.terms.arms:
            raise UserError(f"{arm!r} is not an arm of the study; there are {', '.join(self.terms.arms)}.")
        return self.journal.said or Said()

    def _heard(self) -> None:
        """Tell the server of it, if it can be reached; send what that has completed."""
        try:
            with self.connection.in_a_hurry(HURRY):
                self.try_to_say()
        except UserError as error:
            log.info("the server does not know yet how this site works: %s", error)

    def tell_counts(self, counts: Mapping[str, Sequence[Any]], name: str = "", sure: bool = False) -> bool:
        """Record a batch that was added up elsewhere: `{"A": (5000, 251), "B": (5000, 203)}`, pulls and sums.

        Where sigma is measured a third number is needed, the sum of squares. With items a row is `(pulls, sum,
        rival, pairs, Σd, Σd²)`, d being the rival's reward on an item less the arm's. Counts may differ from
        the plan's. The batch is sent if the server can be reached; if not, the next `ask` or `sync` does it.

        Under a `name` the same counts told again change nothing (False), and others are refused. Without one
        every call is another batch. A mean that is far from those told before is a `Doubtful`, unless you are
        `sure`.
        """
        with self._lock:
            body = json.dumps({arm: list(row) for arm, row in counts.items()})
            known = self.journal.counted(name) if name else None
            if known is not None:
                if known == body:
                    return False
                raise UserError(
                    f"the counts {name!r} were told before, with other numbers; a batch counts once. If these "
                    "are right, correct them."
                )
        self._try_to_send()
        with self._lock, self._exchange.all_or_nothing():
            batch = -self.agent.tell_counts(json.loads(body)).sequence
            if not (sure or self.sure):
                self._doubts.check_counts(json.loads(body), self.terms)
            line = Line(Happening.COUNTED, arm=name, body=body, batch=batch)
            self.journal.append(line, upload_line(self.agent, batch))
        self._try_to_send()
        return True

    def _already_told(self, trial: Trial | int, reward: float, measured: tuple[float, ...]) -> bool:
        number = _number(trial)
        told = self.journal.find(number) if 0 < number < self.agent.next_number else None
        if told is None:
            raise self._never_told(number)
        self._check_arm(trial, told.arm)
        if (told.reward, told.measured) == (reward, measured):
            return False
        before, now = (
            list(several) or one for one, several in ((told.reward, told.measured), (reward, measured))
        )
        raise UserError(
            f"trial {number} was told {before!r} and now {now!r}; if that was a mistake, correct it."
        )

    def _never_told(self, number: int) -> UserError:
        """Why a trial that is not open was not told either."""
        if not 0 < number < self.agent.next_number:
            return UserError(f"trial {number} was never handed out.")
        dropped = self.journal.why_dropped(number)
        if dropped is not None and dropped[1] == "withdrawn":
            return UserError(f"arm {dropped[0]!r} was withdrawn from the study, and trial {number} taken back.")
        if dropped is not None:
            return UserError(f"this site can't do {dropped[0]!r}, and trial {number} was given back.")
        return UserError(
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
        number = _number(trial)
        with self._lock, self._exchange.all_or_nothing():
            batch = self.agent.batch_of(number) if number in self.agent.open else 0
            self.agent.give_back(number)
            self.journal.append(Line(Happening.GIVEN_BACK, number, batch=batch))
        self._tell_others()

    def leave(self, wait: float | None = 0.0) -> bool:
        """Send what there is so far, although the plan is not full. False if there is nothing to send.

        If the server can't be reached within `wait` seconds this raises, and the next `ask` or `sync` sends it.
        This is harmless when the reason has nothing to do with the rewards that were not sent yet: the shift is
        over, the material is used up, the site closes. It is not harmless to leave because they look good or
        bad. Trials still open are dropped: they can't be told any more. The site may go on with `ask` later.
        """
        with self._lock:
            for batch in list(self.agent.batches):
                with self._exchange.all_or_nothing():
                    if self.agent.close_batch(batch) is not None:
                        self.journal.append(upload_line(self.agent, batch))
        if self.agent.upload is None:
            return False
        self.sync(wait)
        return True

    @property
    def split(self) -> dict[str, float]:
        """The plan as a split of traffic: which share of the next visitors each arm gets, the largest first.

        Counts that differ from it are fine. Empty while there is no plan.
        """
        with self._lock:
            return split_of(self.agent.plan, self.terms.arms) if self.agent.to_begin else {}

    def places(self, trials: Iterable[Trial]) -> list[tuple[int, str]]:
        """The plate, counted from 1, and the well of each of these open trials; empty without plates."""
        with self._lock:
            plate = None if self.journal.said is None else self.journal.said.plate
            if plate is None:
                return []
            firsts = [(trial.number, self.agent.batch_of(trial.number)) for trial in trials]
            return [place_of(number, first, self.agent.batches[first].size, plate) for number, first in firsts]

    def sync(self, wait: float | None = 0.0) -> None:
        """Send what is complete and fetch what is new; a `ServiceError` if the server can't be reached.

        It tries once, or for `wait` seconds, or, with None, until it succeeds.
        """
        self._persist(self._speak, wait)

    def _speak(self) -> None:
        with self._wire:
            self._exchange.send_and_fetch()
        self._tell_others()

    def status(self) -> dict[str, Any]:
        """Where this site stands, from its journal alone, in plain values."""
        with self._lock:
            agent, identity = self.agent, self.journal.identity
            assert identity is not None
            return {
                "study": identity.study,
                "agent": identity.agent,
                "finished": self.finished,
                "closed": self.closed,
                "verdict": None if agent.verdict is None else verdict_to_json(agent.verdict),
                "uploads": agent.sequence,
                "unsent": len(agent.uploads),
                "plan": agent.size,
                "batches": len(agent.batches),
                "to_hand_out": agent.to_hand_out,
                "split": self.split,
                "told": agent.local.samples,
                "open": [trial_to_json(trial) for trial in self.open],
                "corrections": len(self.journal.past.waiting()),
                "cannot": self._reasons(),
                "waiting_for": self.waiting_for,
            }

    def _reasons(self) -> dict[str, str]:
        """The arms that this site can't do, and why."""
        reasons = self.journal.reasons()
        return {arm: reasons.get(arm, "") for arm in (self.journal.said or Said()).cannot}

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

    def _persist(
        self, attempt: Callable[[], T], wait: float | None, rest: Callable[[float], None] | None = None
    ) -> T:
        def noted() -> T:
            with self._noting():
                return attempt()

        return self.patience.persist(noted, wait, rest)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Keep in `waiting_for` what is in the way."""
        self.waiting_for = ""
        try:
            yield
        except (ServiceError, UserError) as error:
            self.waiting_for = str(error)
            raise

    def _try_to_send(self) -> None:
        """A told reward is safe whatever the server says, so nothing is raised here; `ask` and `sync` do.

        Whoever is sending already sends this too, once it has looked again.
        """
        while self._has_to_send() and self._wire.acquire(blocking=False):
            try:
                with self._noting():
                    self._exchange.send_and_fetch()
            except JournalError:
                raise
            except (ServiceError, UserError) as error:
                log.warning("the upload is kept and will be sent again: %s", error)
                return
            finally:
                self._wire.release()
            self._tell_others()
            self.notice = self._exchange.notice or self.notice
            if self.agent.upload is None:
                return  # a correction that waits still is not taken now

    def _has_to_send(self) -> bool:
        with self._lock:
            return self.agent.upload is not None or bool(self.journal.past.waiting())


def _number(trial: Trial | int) -> int:
    try:
        return index(trial.number if isinstance(trial, Trial) else trial)
    except TypeError:
        raise UserError(f"{trial!r} is not a trial; give a trial that ask returned, or its number.") from None
