"""What befalls the labs of the demo, step by step."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bestarm.cli.demo.story import Act, Story
from bestarm.cli.demo.view import AgentState


def labs(agents: int, samples: int = 20) -> list[AgentState]:
    return [AgentState(f"lab-{m}", 1.0, 2, 5, samples, 3) for m in range(agents)]


def test_a_lab_is_killed_another_is_lost_and_the_first_comes_back() -> None:
    story = Story(agents=10, pause=3.0)
    seen = [story.next(labs(10), seconds) for seconds in (5.0, 5.1, 5.2, 7.9, 8.1, 9.0)]
    assert seen == [(Act.CRASH, 1), (Act.LOSS, 5), None, None, (Act.RESTART, 1), None]
    assert story.over


def test_nobody_is_killed_before_there_is_something_to_lose() -> None:
    story = Story(agents=3, pause=3.0)
    assert story.next(labs(3, samples=1), 5.0) is None
    waiting = labs(3)
    waiting[1] = replace(waiting[1], done=0)
    assert story.next(waiting, 5.0) is None
    assert story.over
    assert story.next(labs(3), 5.0) == (Act.CRASH, 1)
    assert not story.over


def test_after_the_stop_nobody_is_killed_and_who_is_away_comes_back() -> None:
    assert Story(agents=10, pause=3.0).next(labs(10), 5.0, stopped=True) is None
    story = Story(agents=10, pause=3.0)
    story.next(labs(10), 5.0)
    assert story.next(labs(10), 5.1, stopped=True) == (Act.RESTART, 1)
    assert story.next(labs(10), 5.2, stopped=True) is None


@pytest.mark.parametrize("agents", range(1, 21))
def test_somebody_is_left(agents: int) -> None:
    story = Story(agents, pause=3.0)
    assert 0 <= story.returning < agents
    assert (story.losing is None) == (agents == 1)
    assert story.losing not in (0, story.returning)  # the fastest lab stays
