"""A word to the person who waits, and none to the one who doesn't."""

from __future__ import annotations

import time

import pytest

from bestarm.cli import progress
from bestarm.errors import UserError
from bestarm.simulation.interrupts import interruptible


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.1)


def test_long_compiling_is_explained_once(capsys: pytest.CaptureFixture[str]) -> None:
    from numba.core import event

    with progress.saying_when_compiling("events"):
        for _ in range(2):
            with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
                time.sleep(0.3)
    assert capsys.readouterr().err == "bestarm: compiling the simulation, once; it is cached afterwards …\n"


@pytest.mark.parametrize("compiling", [True, False])
def test_nothing_is_said_of_quick_compiling_or_of_long_runs(
    compiling: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    from numba.core import event

    with progress.saying_when_compiling("events"):
        if compiling:
            with event.trigger_event("numba:compile"):
                pass
        time.sleep(0.3)
    assert capsys.readouterr().err == ""


def test_a_sentence_after_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.saying_after_a_while("this takes long."):
        time.sleep(0.3)
    with progress.saying_after_a_while("this does not."):
        pass
    time.sleep(0.2)
    assert capsys.readouterr().err == "bestarm: this takes long.\n"


def test_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.Progress(10, "sharp") as bar:
        time.sleep(0.2)
        bar(5)
    assert bar.finished == 5
    assert capsys.readouterr().err == ""


def test_what_fails_in_a_thread_fails_here() -> None:
    def refuse() -> None:
        raise UserError("no.")

    with pytest.raises(UserError, match="no"):
        interruptible(refuse, lambda: None)
