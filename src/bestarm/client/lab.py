"""A site's side of a study: ask what to try, tell what came out, offline whenever it has to be."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from bestarm.client.asking import Asking
from bestarm.client.audit import Audit, audit
from bestarm.client.correcting import Correcting
from bestarm.client.history import History, history_of
from bestarm.client.memory.identity import Said
from bestarm.client.memory.journal import Journal
from bestarm.client.overview import Overview, Standing
from bestarm.client.server.connection import Connection
from bestarm.client.server.exchange import Exchange
from bestarm.client.server.link import Link
from bestarm.client.server.patience import Patience
from bestarm.client.split import split_of
from bestarm.client.telling import Telling
from bestarm.errors import ProblemWarning, ServiceError, UserError
from bestarm.live import watch
from bestarm.notebook import table
from bestarm.pictures import MOST
from bestarm.protocol.agent import Agent
from bestarm.protocol.messages import Trial, trial_to_json, verdict_to_json
from bestarm.protocol.terms import Terms
from bestarm.shown import count
from bestarm.verdict import Verdict
from bestarm.wells import place_of

if TYPE_CHECKING:
    from bestarm.problem import Problem

LOOK = 3.0  # seconds that a notebook waits for the server when it shows a site


class Lab:
    """An agent with a journal and a connection. It may be used from several threads.

    Each verb is here with what it promises; `asking`, `telling` and `correcting` have what it does.
    """

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
        self.journal = journal
        self.sure = sure  # that no number is a slip of the pen
        self._exchange = Exchange(connection, journal, study, plate, cannot)
        self._lock = self._exchange.lock
        self._link = Link(self._exchange, Patience() if patience is None else patience)
        self._asking = Asking(self._link, resume)
        self._telling = Telling(self._link, self._asking)
        self._correcting = Correcting(self._link, self._telling)

    @property
    def waiting_for(self) -> str:
        """What keeps this site from going on, in a sentence; empty if nothing does."""
        return self._link.waiting_for

    @property
    def notice(self) -> str:
        """What whoever works here should know, in a sentence."""
        return self._link.notice

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
        self._link.try_to_say()

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
        return self._asking.open

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to do: the best arm is known, or the study is over, or was closed."""
        return self._link.finished

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
        return self._asking.ask(n, wait)

    def hand_out_again(self, trials: Iterable[Trial]) -> None:
        """Trials of an `ask` never reached whoever asked: the next one hands them out, under their numbers."""
        self._asking.hand_out_again(trials)

    def wake(self) -> None:
        """Let every `ask` that waits for trials look whether it still has to."""
        self._link.tell_others()

    def tell(self, trial: Trial | int, reward: float | Sequence[float], sure: bool = False) -> bool:
        """Record what a trial gave; when this returns, the reward is safe. False if it was known already.

        Several numbers are measurements of the one trial: their mean counts, once, since three measurements of
        one preparation are not three experiments. The journal keeps them all.

        A reward that is far from all that this site has told of the arm is a `Doubtful`, and nothing is
        recorded, unless you are `sure`. Answer from the notebook, not by whether you like the number.

        The reward that fills the plan makes an upload, and it is sent if the server can be reached; if not,
        the next `ask`, `tell` or `sync` sends it.
        """
        return self._telling.tell(trial, reward, sure or self.sure)

    def tell_counts(self, counts: Mapping[str, Sequence[Any]], name: str = "", sure: bool = False) -> bool:
        """Record a batch that was added up elsewhere: `{"A": (5000, 251), "B": (5000, 203)}`, pulls and sums.

        Where sigma is measured a third number is needed, the sum of squares. With items a row is `(pulls, sum,
        rival, pairs, Σd, Σd²)`, d being the rival's reward on an item less the arm's. Counts may differ from
        the plan's. The batch is sent if the server can be reached; if not, the next `ask` or `sync` does it.

        Under a `name` the same counts told again change nothing (False), and others are refused. Without one
        every call is another batch. A mean that is far from those told before is a `Doubtful`, and so are the
        very counts that were told before under another name, unless you are `sure`.
        """
        return self._telling.tell_counts(counts, name, sure or self.sure)

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
        return self._correcting.correct(trial, reward, reason, sure or self.sure)

    def correct_counts(
        self, name: str, counts: Mapping[str, Sequence[Any]], reason: str = "", sure: bool = False
    ) -> bool:
        """Change all counts that were told under a name, as `correct` does; False if they were so already."""
        return self._correcting.correct_counts(name, counts, reason, sure or self.sure)

    def history(self) -> History:
        """What this site has told, newest last, with what was corrected; `to_pandas()` makes a table of it."""
        with self._lock:
            return history_of(self.journal, self._exchange.answered if self.joined else 0)

    def audit(self) -> Audit:
        """Whether the server's log still has every upload of this site, unchanged; its text says so."""
        with self._link.wire:
            return audit(self._exchange)

    def cannot(self, arm: str, reason: str = "") -> int:
        """This site can't do an arm from now on, for a reason that is not its rewards: the reagent is used up.

        It holds at once for everything that was not handed out, and is remembered; open trials of the arm are
        given back, and how many is returned. What was told of it stays. `can_again` takes it back.
        """
        return self._correcting.cannot(arm, reason)

    def can_again(self, arm: str) -> None:
        """This site can do an arm again, from the next plan on."""
        self._correcting.can_again(arm)

    def give_back(self, trial: Trial | int) -> None:
        """The experiment failed or can't be done: another `ask` hands out its place, as a new trial.

        This is harmless when the reason has nothing to do with the reward that was seen or expected.
        """
        self._telling.give_back(trial)

    def leave(self, wait: float | None = 0.0) -> bool:
        """Send what there is so far, although the plan is not full. False if there is nothing to send.

        If the server can't be reached within `wait` seconds this raises, and the next `ask` or `sync` sends it.
        This is harmless when the reason has nothing to do with the rewards that were not sent yet: the shift is
        over, the material is used up, the site closes. It is not harmless to leave because they look good or
        bad. Trials still open are dropped: they can't be told any more. The site may go on with `ask` later.
        """
        return self._telling.leave(wait)

    def sync(self, wait: float | None = 0.0) -> None:
        """Send what is complete and fetch what is new; a `ServiceError` if the server can't be reached.

        It tries once, or for `wait` seconds, or, with None, until it succeeds.
        """
        self._link.sync(wait)

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

    def watch(self, every: float = 1.0) -> None:
        """Draw the study anew whenever something happens, until it is over or this is interrupted."""
        watch(self.study, every)

    def _repr_html_(self) -> str:
        """The site's own part, and the study as the server has it, if that answers at once."""
        if not self.joined:
            return "<p>This site has not joined a study yet.</p>"
        rows = [(trial.number, trial.arm) for trial in self.open]
        said = [self.site, count(len(self.history()), "reward") + " told", self.notice, self.waiting_for]
        page = f"<p>{escape('; '.join(filter(None, said)))}</p>"
        if rows:
            page += table(count(len(rows), "open trial"), ["trial", "arm"], rows[:MOST])
        try:
            with self.connection.in_a_hurry(LOOK):
                return page + self.study()._repr_html_()
        except (ServiceError, UserError) as error:
            return f"{page}<p>{escape(str(error))}</p>"

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
