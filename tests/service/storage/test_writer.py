"""The thread that writes: what waits goes together, nobody waits for ever, and a lone task is not held up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from bestarm.errors import Refused
from bestarm.service.storage import writer as module
from bestarm.service.storage.writer import Task, Writer


class Book:
    """Notes how many tasks came together; how long each transaction takes is in `takes`, by its own clock."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.takes: list[float] = []
        self.now = 0.0
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def run(self, tasks: list[Task]) -> None:
        self.groups.append(len(tasks))
        self.may_go_on.wait()
        self.now += self.takes.pop(0) if self.takes else 0.0
        for task in tasks:
            task.pending.settle(task.act())


@pytest.fixture
def book() -> Book:
    return Book()


@pytest.fixture
def writer(book: Book) -> Iterator[Writer]:
    writer = Writer(book.run, lambda: book.now)
    yield writer
    book.may_go_on.set()
    writer.close()


def task(act: Callable[[], object] = lambda: None) -> Task:
    return Task(act, None, True)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def submit(writer: Writer, count: int) -> None:
    """Have so many tasks done at once."""
    for pending in [writer.submit(task()) for _ in range(count)]:
        pending.result()


def together(writer: Writer, book: Book, count: int) -> None:
    """Have so many tasks done in one transaction, after one that keeps the writer busy meanwhile."""
    book.may_go_on.clear()
    first = writer.submit(task())
    until(lambda: bool(book.groups))
    pendings = [writer.submit(task()) for _ in range(count)]
    assert writer.waiting == count
    book.may_go_on.set()
    for pending in [first, *pendings]:
        pending.result()


def test_what_arrives_during_a_transaction_goes_into_the_next(writer: Writer, book: Book) -> None:
    together(writer, book, 5)
    assert book.groups == [1, 5]


def test_one_transaction_has_an_end(writer: Writer, book: Book) -> None:
    together(writer, book, module.MOST_TOGETHER + 3)
    assert book.groups == [1, module.MOST_TOGETHER, 3]


def test_outcomes_belong_to_their_tasks(writer: Writer) -> None:
    pendings = [writer.submit(task(partial(int, k))) for k in range(300)]
    assert [pending.result() for pending in pendings] == list(range(300))


def test_it_lingers_for_those_it_has_just_answered(
    writer: Writer, book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINGER", 60.0)
    book.takes = [0.0, 100.0]  # so it waits for up to fifty seconds after the second
    together(writer, book, 3)
    two = [writer.submit(task()), writer.submit(task())]
    time.sleep(0.05)
    assert book.groups == [1, 3]
    three = [*two, writer.submit(task())]  # now all are back
    for pending in three:
        pending.result()
    assert book.groups == [1, 3, 3]


def test_it_does_not_wait_long_for_those_who_stay_away(writer: Writer, book: Book) -> None:
    book.takes = [0.0, 100.0]
    together(writer, book, 3)
    began = time.monotonic()
    submit(writer, 1)
    assert time.monotonic() - began < 10  # LINGER is 2 ms, and half of the last transaction fifty seconds
    assert book.groups == [1, 3, 1]


def test_a_lone_task_is_not_held_up(writer: Writer, book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINGER", 60.0)
    book.takes = [100.0]
    submit(writer, 1)
    began = time.monotonic()
    submit(writer, 1)
    assert time.monotonic() - began < 10  # half of the last transaction would be fifty


def test_closing_does_what_was_asked_for(book: Book) -> None:
    writer = Writer(book.run)
    book.may_go_on.clear()
    pendings = [writer.submit(task(lambda: "done")) for _ in range(5)]
    closing = threading.Thread(target=writer.close)
    closing.start()
    until(lambda: writer.closed)
    assert not any(pending.settled for pending in pendings)
    book.may_go_on.set()
    closing.join()
    assert all(pending.settled for pending in pendings)
    assert [pending.result() for pending in pendings] == ["done"] * 5
    with pytest.raises(Refused, match="is stopping"):
        writer.submit(task())


def test_it_refuses_more_than_it_can_hold(writer: Writer, book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_WAITING", 2)
    book.may_go_on.clear()
    writer.submit(task())
    until(lambda: bool(book.groups))
    writer.submit(task())
    writer.submit(task())
    with pytest.raises(Refused, match="too much to do"):
        writer.submit(task())


def test_a_mistake_of_ours_leaves_nobody_waiting() -> None:
    def fail(tasks: list[Task]) -> None:
        tasks[0].pending.settle("in time")
        raise ZeroDivisionError

    writer = Writer(fail)
    assert writer.submit(task()).result() == "in time"
    pendings = [writer.submit(task()) for _ in range(3)]
    outcomes = []
    for pending in pendings:
        try:
            outcomes.append(pending.result())
        except ZeroDivisionError:
            outcomes.append("failed")
    assert set(outcomes) <= {"in time", "failed"}
    assert outcomes[0] == "in time"
    writer.close()
