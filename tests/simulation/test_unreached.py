"""What is left out of compiled code is never called: without it the plain loop gives the same run."""

import sys
from typing import Any

import numpy as np
import pytest

import bestarm
from bestarm.simulation.api import prepare
from bestarm.simulation.compiled.rebind import rebind
from bestarm.simulation.compiled.unreached import EXACT, SIGMA, unreached
from bestarm.simulation.engine import loop_of
from bestarm.simulation.schedule import Schedule
from bestarm.simulation.worlds.world import World

PLAIN: dict[str, Any] = {"means": [0.9, 0.5, 0.2], "sigma": 0.3}
ROWS = {"features": [[1.0, 0.0], [0.6, 0.6], [0.0, 1.0]]}
CASES = [
    ("sharp", PLAIN, ["sigma", "exact"]),
    ("sharp", PLAIN | {"sites": "alike"}, ["sigma", "exact"]),
    ("sharp", PLAIN | {"epsilon": 0.1}, ["sigma"]),
    ("sharp", PLAIN | {"items": True}, ["sigma", "exact"]),
    ("sharp", PLAIN | ROWS, ["sigma", "exact"]),
    ("sharp", PLAIN | ROWS | {"sites": "alike"}, ["sigma", "exact"]),
    ("famabpe", PLAIN, ["sigma", "exact"]),
    ("sharp", PLAIN | {"sigma": None}, ["exact"]),
    ("sharp", PLAIN | {"sigma": None, "epsilon": 0.1}, []),
]


def run(engine: Any) -> Any:
    random, trace = np.random.default_rng(5), np.zeros((50, 4))
    loop = loop_of(engine.method, rebind)
    outcome, *_, rows = loop(*engine._arguments, 1_000, random, trace, np.zeros(1, np.int64))
    return outcome, trace[:rows].tolist(), random.random()


@pytest.mark.filterwarnings("ignore::bestarm.ProblemWarning")
@pytest.mark.parametrize(("name", "words", "labels"), CASES)
def test_what_is_left_out_is_never_called(
    name: str, words: dict[str, Any], labels: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    method = bestarm.method(name, bestarm.Problem(list("ABC"), **words), 2)
    assert list(unreached(method)) == labels
    engine = prepare(method, 0, "events", World(noise=0.3), Schedule((1.0, 2.0)))
    found = run(engine)
    assert found[0].uploads > 1
    left_out = {function for alike in unreached(method).values() for function in alike}
    for module in [module for key, module in sys.modules.items() if key.startswith("bestarm.core.")]:
        for key, value in list(vars(module).items()):
            if callable(value) and value in left_out:
                monkeypatch.setattr(module, key, None)
    assert run(engine) == found


def test_a_test_that_measures_sigma_calls_what_others_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    method = bestarm.method("sharp", bestarm.Problem(list("ABC"), **PLAIN | {"sigma": None, "epsilon": 0.1}), 2)
    engine = prepare(method, 0, "events", World(noise=0.3), Schedule((1.0, 2.0)))
    for function in (*SIGMA, *EXACT):
        with monkeypatch.context() as patch:
            for module in [module for key, module in sys.modules.items() if key.startswith("bestarm.core.")]:
                if vars(module).get(function.__name__) is function:
                    patch.setattr(module, function.__name__, None)
            with pytest.raises(TypeError, match="not callable"):
                run(engine)
