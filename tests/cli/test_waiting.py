"""A word to the person who waits, and none to the one who doesn't."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from bestarm.cli import progress
from bestarm.errors import UserError
from bestarm.simulation.compiled.interrupts import interruptible

LONG = 60.0  # seconds that no test takes


class Said(list[str]):
    """What was said, and a way to wait until something was."""

    def __init__(self) -> None:
        super().__init__()
        self.anything = threading.Event()

    def say(self, sentence: str) -> None:
        self.append(sentence)
        self.anything.set()


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Said:
    found = Said()
    monkeypatch.setattr(progress, "say", found.say)
    return found


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    """Whoever could still say something has ended with the work, at most a moment later."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


def test_long_compiling_is_explained_once(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import event

    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    with progress.saying_when_compiling("events"):
        (watch,) = (thread for thread in threading.enumerate() if thread.name.endswith("(watch)"))
        with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
            assert said.anything.wait(10)
        watch.join(10)
        assert not watch.is_alive()  # so there is nobody to say it again
    assert said == ["compiling the simulation, once; it is cached afterwards …"]


@pytest.mark.parametrize("compiling", [True, False])
def test_nothing_is_said_of_quick_compiling_or_of_long_runs(
    compiling: bool, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    from numba.core import event

    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    with progress.saying_when_compiling("events"):
        if compiling:
            with event.trigger_event("numba:compile"):
                pass
        assert not said.anything.wait(0.15)


def test_a_sentence_after_a_while(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.saying_after_a_while("this takes long."):
        assert said.anything.wait(10)
    monkeypatch.setattr(progress, "PATIENCE", LONG)
    with progress.saying_after_a_while("this does not."):
        pass
    assert said == ["this takes long."]


def test_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    with progress.Progress(10, "sharp") as bar:
        bar(5)
    assert bar.finished == 5
    assert capsys.readouterr().err == ""


def test_what_fails_in_a_thread_fails_here() -> None:
    def refuse() -> None:
        raise UserError("no.")

    with pytest.raises(UserError, match="no"):
        interruptible(refuse, lambda: None)
