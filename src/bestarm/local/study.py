"""A study that needs no server, for whoever has a notebook: ask, tell, look, change, keep."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Any, Self
from weakref import finalize

from bestarm.client.history import History
from bestarm.client.lab import Lab
from bestarm.client.memory.beside import journal_beside
from bestarm.client.memory.journal import MEMORY, Journal
from bestarm.client.overview import Overview, Standing
from bestarm.client.server.address import shown
from bestarm.client.server.connection import Connection
from bestarm.client.server.exchange import CLOSED, study_path
from bestarm.errors import Refused, ServiceError
from bestarm.live import watch
from bestarm.local.inside import Inside
from bestarm.protocol.messages import Trial, verdict_from_json
from bestarm.verdict import Verdict
from bestarm.whole_file import write_whole

ME = "me"


def _let_go(labs: dict[str, Lab], inside: Inside) -> None:
    """A study that nobody has any more keeps no journal from whoever opens it next, as in a cell run again."""
    for lab in labs.values():
        lab.close()
    with suppress(RuntimeError):  # at the end of the process there are no new threads
        Thread(target=inside.close, daemon=True).start()


class Study:
    """A study in memory, in a file or in a database, and a site of it: `ask` what to try, `tell` what came out.

    `lab(name)` is the same for another site; all sites may be used at once, also from several threads. What is
    told is safe as it is at any site: it is in the site's journal, which is beside the storage, or in memory if
    the study is.
    """

    def __init__(self, inside: Inside, storage: str | None, name: str, agent: str = ME) -> None:
        """The caller has made the study, or knows that there is one."""
        self.storage = storage
        self.agent = agent
        self._called = "in memory" if storage is None else shown(storage)
        self._inside = inside
        self._connection = Connection.within(inside.owner(agent), self._called)
        self._labs: dict[str, Lab] = {}
        self._name = name
        finalize(self, _let_go, self._labs, inside).atexit = False

    @property
    def name(self) -> str:
        """What the study is called."""
        return str(self._show()["study"])

    @property
    def promise(self) -> str:
        """What the study promises, and what that rests on, in plain words."""
        return str(self._show()["promise"])

    # As a site

    def lab(
        self,
        agent: str | None = None,
        *,
        journal: str | os.PathLike[str] | None = None,
        plate: int | None = None,
        cannot: Sequence[str] | None = None,
        items: object = None,
        sure: bool = False,
    ) -> Lab:
        """A site of this study by its name; again, it is the same one. The options are those of `connect`."""
        agent = self.agent if agent is None else agent
        if agent in self._labs:
            return self._labs[agent]
        with ExitStack() as opened:
            connection = opened.enter_context(Connection.within(self._inside.site(agent), self._called))
            if journal is None:
                journal = MEMORY if self.storage is None else self._beside(connection, agent)
            book = opened.enter_context(closing(Journal(journal)))
            name = self._name if book.identity is None else None  # it may have another one by now
            lab = Lab(connection, book, name, plate=plate, cannot=cannot, sure=sure)
            if not lab.joined or lab.has_news:
                lab.sync()
            if items is not None:
                lab.keep_items(items)
            opened.pop_all()
        self._labs[agent] = lab
        return lab

    def _beside(self, connection: Connection, agent: str) -> Path:
        assert self.storage is not None
        return journal_beside(connection, self.storage, self._name, agent)

    def ask(self, n: int = 1, wait: float | None = 0.0) -> list[Trial]:
        """`n` trials to do; none if the study is finished, and fewer if no more are to be had."""
        lab = self.lab()
        try:
            lab.sync()  # others may have ended it, or withdrawn an arm
        except Refused as error:
            if error.code != CLOSED:
                raise
        except ServiceError:
            pass  # a database that is away: the plan at hand lasts for a while
        return lab.ask(n, wait)

    def tell(self, trial: Trial | int, reward: float | Sequence[float], sure: bool = False) -> bool:
        """Record what a trial gave; when this returns, the reward is safe. False if it was known already."""
        return self.lab().tell(trial, reward, sure)

    def tell_counts(self, counts: Mapping[str, Sequence[Any]], name: str = "", sure: bool = False) -> bool:
        """Record a batch that was added up elsewhere: `{"A": (5000, 251), "B": (5000, 203)}`."""
        return self.lab().tell_counts(counts, name, sure)

    def correct(
        self, trial: Trial | int, reward: float | Sequence[float], reason: str = "", sure: bool = False
    ) -> bool:
        """Change what was told of a trial; False if it was told so already."""
        return self.lab().correct(trial, reward, reason, sure)

    def correct_counts(
        self, name: str, counts: Mapping[str, Sequence[Any]], reason: str = "", sure: bool = False
    ) -> bool:
        """Change all counts that were told under a name; False if they were so already."""
        return self.lab().correct_counts(name, counts, reason, sure)

    def give_back(self, trial: Trial | int) -> None:
        """The experiment failed or can't be done: another `ask` hands out its place, as a new trial."""
        self.lab().give_back(trial)

    def cannot(self, arm: str, reason: str = "") -> int:
        """An arm can't be done here from now on; how many open trials of it were given back."""
        return self.lab().cannot(arm, reason)

    def can_again(self, arm: str) -> None:
        """An arm can be done here again, from the next plan on."""
        self.lab().can_again(arm)

    def leave(self) -> bool:
        """Count what there is so far, although the plan is not full. False if there is nothing."""
        return self.lab().leave()

    def history(self) -> History:
        """What was told here, newest last, with what was corrected; `to_pandas()` makes a table of it."""
        return self.lab().history()

    @property
    def open(self) -> list[Trial]:
        """The trials that were handed out here and wait for their reward."""
        return self.lab().open

    # As a whole

    @property
    def finished(self) -> bool:
        """Whether there is nothing more to do: the best arm is known, or the study is over, or was closed."""
        return str(self._show()["state"]) != "open"

    @property
    def verdict(self) -> Verdict | None:
        """The answer, once there is one."""
        found = verdict_from_json(self._show()["verdict"])
        return None if found.reason is None else found

    @property
    def standing(self) -> Standing:
        """Who is ruled out, who leads, and what can be said now."""
        return Standing(self.status()["standing"])

    def status(self) -> Overview:
        """Where the study stands, all sites together: plain values, which a notebook shows as a picture."""
        return Overview(self._call("GET", "/status"))

    def watch(self, every: float = 1.0) -> None:
        """Draw the study anew whenever something happens, until it is over or this is interrupted."""
        watch(self.status, every)

    def log(self, last: int = 20) -> list[dict[str, Any]]:
        """What happened last: batches, corrections, arms, closing, with who did it."""
        return list(self._call("GET", f"/log?last={last}")["entries"])

    def export(self, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
        """The study's whole log as plain values, and in a file for `bestarm study verify` if one is named."""
        answer = self._connection.send("GET", f"{study_path(self._name)}/export?format=json")
        if path is not None:
            write_whole(Path(path), [answer.content])
        exported: dict[str, Any] = answer.json()
        return exported

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML page for the lab book: question, answer, promise, pictures and tables."""
        answer = self._connection.send("GET", f"{study_path(self._name)}/report")
        write_whole(Path(path), [answer.content])

    def add_arm(self, arm: str, *, features: Sequence[float] | None = None, reason: str = "") -> str:
        """Add an arm, which is tried from the next plans on; what that means, in a sentence."""
        more = {} if features is None else {"features": list(features)}
        return str(self._call("POST", "/arms", {"arm": arm, "reason": reason} | more)["sentence"])

    def withdraw_arm(self, arm: str, reason: str = "") -> str:
        """Take an arm out, as if it had never been there, for a reason that must not be its rewards."""
        return str(self._call("POST", "/arms/withdraw", {"arm": arm, "reason": reason})["sentence"])

    def close(self, reason: str = "") -> None:
        """End the study: it takes no more, and says what can be said. `reopen` takes that back."""
        self._call("POST", "/close", {"reason": reason})

    def reopen(self, reason: str = "") -> None:
        """Go on with a study that was closed."""
        self._call("POST", "/reopen", {"reason": reason})

    def release(self) -> None:
        """Let other processes use the journals; nothing is lost. One in memory is gone."""
        for lab in self._labs.values():
            lab.close()
        self._labs.clear()
        self._connection.close()
        self._inside.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def __repr__(self) -> str:
        return f"<bestarm study {self._name!r}, {self._called}>"

    def _repr_html_(self) -> str:
        return self.status()._repr_html_()

    def _show(self) -> dict[str, Any]:
        return self._call("GET", "")

    def _call(self, verb: str, what: str, body: object = None) -> dict[str, Any]:
        return self._connection.call(verb, study_path(self._name) + what, body)
