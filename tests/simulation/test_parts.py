"""What a loop is compiled with depends on its world, and its numbers do not."""

from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.simulation.api import prepare
from bestarm.simulation.compiled.parts import ANY, as_planned, in_plates_of, no_rivals, parts_of
from bestarm.simulation.compiled.rebind import rebind
from bestarm.simulation.engine import loop_of
from bestarm.simulation.schedule import Schedule
from bestarm.simulation.worlds.environment import fill, fill_plainly, fill_sums
from bestarm.simulation.worlds.world import World

ALIKE: dict[str, Any] = {"means": [0.9, 0.5, 0.2], "sites": "alike"}
PLATES = Schedule((1.0, 2.0), plate=6)
CASES = [
    ("famabpe", ALIKE | {"sigma": 0.3}, World(), Schedule((1.0, 2.0)), fill_plainly),
    ("sharp", ALIKE | {"sigma": 0.3}, World(offsets=(0.0, 0.1), drift=0.1), PLATES, fill_plainly),
    ("sharp", ALIKE, World(noise=0.3), Schedule((1.0, 2.0)), fill_sums),
    ("sharp", ALIKE | {"rewards": "yes-no"}, World(), PLATES, fill_sums),
    ("sharp", {"means": [0.9, 0.5, 0.2], "reward_range": [0, 1]}, World(), PLATES, fill),
    ("ugapec", ALIKE | {"sigma": 0.3}, World(), Schedule.uniform(1), fill_plainly),
    ("sync-ugapec", ALIKE | {"rewards": "yes-no"}, World(), Schedule.uniform(2), fill_sums),
]


@pytest.mark.parametrize(("name", "words", "world", "schedule", "filled"), CASES)
def test_the_least_that_a_world_needs_gives_the_same_numbers(
    name: str, words: dict[str, Any], world: World, schedule: Schedule, filled: object
) -> None:
    method = bestarm.method(name, bestarm.Problem(list("ABC"), **words), schedule.agents)
    engine = prepare(method, 0, "events", world, schedule)
    parts = parts_of(engine.environment, method.squares, method.against, schedule.plate)
    assert parts.fill is filled
    assert parts.size is (in_plates_of if schedule.plate > 1 else as_planned)
    assert (parts.name is no_rivals) == (method.against == 0)
    found = []
    for chosen in (ANY, parts):
        random, trace = np.random.default_rng(5), np.zeros((200, 4))
        loop = loop_of(method, rebind, chosen)
        outcome, *_, rows = loop(*engine._arguments, 2_000, random, trace, np.zeros(1, np.int64))
        found.append((outcome, trace[:rows].tolist(), random.random()))
    assert found[0] == found[1]
    assert found[0][0].samples > 3
