"""`bestarm bench` prints every measure. How fast anything is depends on the machine and is not asserted."""

import json
import math

import pytest
from typer.testing import CliRunner

from bestarm.benchmark import GROUPS, Measure, many_features, measure, orthogonal, time_runs
from bestarm.cli.research.bench import app
from bestarm.errors import UserError
from bestarm.methods import METHODS
from bestarm.simulation.engine import Engine
from bestarm.simulation.outcome import Outcome

LABELS = (
    *(name for name, recipe in METHODS.items() if not recipe.field),
    "sharp (sites differ)",
    "lingape (d=25)",
)
NAMES = [
    *(f"pulls.{engine}.{label}" for engine in ("events", "rounds") for label in LABELS),
    *("engines.famabpe.gap 0.1", "engines.falinpe.d=5, a=0.1", "engines.famabpe.gap 0.01", "gap.famabpe"),
    *("agents.memory.famabpe", "agents.memory.sharp"),
    *(f"arms.{what}.{name}" for name in ("famabpe", "sharp") for what in ("time", "samples", "finished")),
    *("upload.server", "start.clock", "start.cpu"),
]


def test_a_quick_bench_has_every_measure() -> None:
    printed = CliRunner().invoke(app, ["--quick", "--format", "json"], catch_exceptions=False)
    found = json.loads(printed.stdout)
    assert set(found) == {"machine", "quick", "measures"}
    assert found["quick"] is True
    assert {"python", "numpy", "numba", "bestarm", "cores", "load"} <= set(found["machine"])
    assert [one["name"] for one in found["measures"]] == NAMES
    assert {one["name"].partition(".")[0] for one in found["measures"]} == set(GROUPS)
    for one in found["measures"]:
        assert set(one) == {"name", "value", "unit", "target", "at_most", "note", "met"}
        assert math.isfinite(one["value"])
        assert (one["met"] is None) == (one["target"] is None)


def test_one_group_as_a_table() -> None:
    printed = CliRunner().invoke(app, ["--quick", "--only", "gap"], catch_exceptions=False)
    assert "gap.famabpe" in printed.stdout
    assert "< 2.50 ×" in printed.stdout
    assert "pulls.events" not in printed.stdout


def test_an_unknown_group_is_a_sentence() -> None:
    with pytest.raises(UserError, match="there is no measure 'speed'; there are pulls, engines"):
        list(measure(["speed"]))


def test_a_target_is_met_from_the_right_side() -> None:
    assert Measure("x", 3.0, "×", 3.0).met
    assert not Measure("x", 2.9, "×", 3.0).met
    assert not Measure("x", 3.0, "×", 3.0, at_most=True).met
    assert Measure("x", 2.9, "×", 3.0, at_most=True).met


def test_a_timing_is_per_run() -> None:
    class Counted(Engine):
        def run(self, number: int) -> Outcome:
            return Outcome(0, True, 100 + number, 9, 2, 0, -0.1, 5)

    from bestarm.benchmark import engine_of, equal_gaps

    plain = engine_of("famabpe", equal_gaps(0.5))
    fields = (plain.method, plain.environment, plain.schedule, plain.seed, plain.engine, plain.max_samples)
    timing = time_runs(Counted(*fields), runs=3)
    assert timing.pulls == 101
    assert timing.uploads == 5


def test_the_instances_are_as_described() -> None:
    instance = orthogonal(0.1)
    assert instance.means is not None
    assert sorted(instance.means.tolist())[-2:] == pytest.approx([0.0, 0.11])
    dense = many_features()
    assert dense.means is not None
    assert (dense.K, dense.dimension) == (10, 25)
    assert dense.means.tolist() == pytest.approx([0.3] + [0.2] * 9)
    assert not dense.features_too_long
