"""What changes in its place: a study that is watched, and progress; without a notebook, and without a clock."""

from __future__ import annotations

import io
from typing import Any

import pytest

import bestarm
from bestarm import live
from bestarm.errors import ServiceError
from bestarm.live import Place, in_notebook, progress_shown, watch


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(study: Any, rewards: dict[str, float]) -> None:
    for trial in study.ask(6):
        study.tell(trial, rewards[trial.arm])


def test_a_study_is_drawn_when_something_happened_until_it_is_over() -> None:
    stream, waits = io.StringIO(), []
    with bestarm.create_study(["A", "B"], name="ligands", rewards="yes-no") as study:

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) % 2:  # nothing happens while every other wait lasts
                told(study, {"A": 1.0, "B": 0.0})

        watch(study.status, 0.5, Place(stream), sleep)
        lines = stream.getvalue().splitlines()
        assert study.finished
    assert set(waits) == {0.5}
    assert "nothing was uploaded yet" in lines[0]
    assert "the answer is A" in lines[-1]
    assert 3 <= len(lines) <= len(waits) // 2 + 2


def test_a_server_that_is_away_is_waited_for_and_stop_is_no_error() -> None:
    stream, looks = io.StringIO(), []
    with bestarm.create_study(["A", "B"], name="ligands") as study:

        def look() -> Any:
            looks.append(1)
            if len(looks) == 2:
                raise ServiceError("the server is away.")
            if len(looks) == 4:
                raise KeyboardInterrupt
            return study.status()

        watch(look, 0.0, Place(stream), lambda seconds: None)
    assert [line.split(":")[0].split(" (")[0] for line in stream.getvalue().splitlines()] == [
        "Study ligands",
        "the server is away.",
        "Study ligands",
    ]


def test_a_terminal_has_one_line() -> None:
    stream = Terminal()
    place = Place(stream)
    place.show("", "a long line")
    place.show("", "short")
    place.end()
    assert stream.getvalue() == "\ra long line\rshort      \n"


def test_progress_is_the_callers_own_or_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    counted: list[int] = []
    with progress_shown(counted.append, 10, "x") as shown:
        shown(4)
    with progress_shown(None, 10, "x") as shown:
        shown(4)
    assert not in_notebook()
    assert counted == [4]
    assert capsys.readouterr() == ("", "")


def test_progress_in_a_notebook_shows_after_a_while_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[str] = []
    clock = iter([0.0, 1.0, 3.0, 3.1, 4.0])
    monkeypatch.setattr(live, "in_notebook", lambda: True)
    monkeypatch.setattr(Place, "_show", lambda self, page, line: pages.append(line))
    with progress_shown(None, 10, "sharp on <b>", lambda: next(clock)) as shown:
        for _ in range(4):
            shown(2)
    assert pages == ["sharp on <b>: 4 of 10 runs, 4 s left", "sharp on <b>: 8 of 10 runs, 1 s left", ""]


def test_everything_that_is_shown_has_a_picture() -> None:
    problem = bestarm.Problem.quick([0.9, 0.5], sigma=0.3)
    compared = bestarm.compare(problem, ["sharp", "lucb"], agents=2, runs=5, engine="rounds")
    assert compared._repr_html_().count("<img") == 1
    assert "<td>kept</td>" in compared._repr_html_()
    estimated = bestarm.estimate(problem, agents=2, gaps=[0.6], runs=5, engine="rounds")
    assert estimated._repr_html_().count("<img") == 1
    assert "Assumed: one arm is best" in estimated._repr_html_()
    with bestarm.create_study(["<b>A", "B"], name="ligands", sigma=0.1) as study:
        told(study, {"<b>A": 0.9, "B": 0.2})
        for shown in (study, study.status(), study.standing, study.lab()):
            page = shown._repr_html_()
            assert page.count("<svg") >= 1
            assert "<b>" not in page
        assert "open trial" not in study.lab()._repr_html_()
        study.ask(2)
        assert "2 open trials" in study.lab()._repr_html_()
        history = study.history()
        assert len(history[-2:]._repr_html_().split("<tr>")) == 4
        assert "measurements" not in history._repr_html_()  # of which there are none
        assert history[0]["arm"] in ("<b>A", "B")
