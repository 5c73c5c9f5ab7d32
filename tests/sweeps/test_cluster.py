"""The same sweep on a real Dask scheduler with two worker processes."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from distributed import Client
from outside import forgotten

import bestarm
from bestarm import Problem, UserError
from bestarm.errors import ServiceError
from bestarm.rules import METHODS, Kind, Recipe, Selection, register, spread
from bestarm.simulation.workers import spread_over_workers


@contextmanager
def running(*command: str) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """The address of a scheduler on the loopback interface that two workers have joined."""
    card = tmp_path / "scheduler.json"
    scheduler = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    worker = ["distributed.cli.dask_worker", "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny"]
    with ExitStack() as stack:
        stack.enter_context(running(*scheduler, "--no-dashboard", "--scheduler-file", str(card)))
        deadline = time.monotonic() + 30
        while not card.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for _ in range(2):
            joining = ["--no-dashboard", "--scheduler-file", str(card), "--local-directory", str(tmp_path)]
            stack.enter_context(running(*worker, *joining))
        address: str = json.loads(card.read_text())["address"]
        with Client(address, timeout=30) as client:
            client.wait_for_workers(2, timeout=30)
        yield address


def test_a_cluster_gives_the_same_results(cluster: str, tmp_path: Path) -> None:
    def make(**where: Any) -> bestarm.Sweep:
        problems = [{"K": 3, "gaps": [0.3, 0.35, 0.4], "sigma": 0.3}]
        return bestarm.sweep(problems, ["famabpe", "sharp"], agents=5, runs=20, engine="rounds", **where)

    there, here = make(cluster=cluster, out=tmp_path / "there.csv"), make(jobs=1)
    assert list(there.each) == list(here.each)

    def cells_prepared() -> int:
        import bestarm.sweeps.work as module

        return len(module._runners)

    with Client(cluster, timeout=30) as client:
        prepared = client.run(cells_prepared)
    assert len(prepared) == 2
    assert min(prepared.values()) >= 1


def fewest(pulls: Any, view: Any, reading: Any, setting: Any) -> int:
    return smallest(pulls)


def smallest(pulls: Any) -> int:
    return int(pulls.argmin())


def evenly(problem: Problem, agents: int) -> dict[str, Any]:
    """As sharp, but all arms are pulled equally often."""
    return METHODS["sharp"].defaults(problem, agents) | {"stopping": "pairs", "selection": "fewest"}


@pytest.mark.parametrize("engine", ["rounds", "events"])
def test_a_method_of_ones_own_runs_there_too(cluster: str, engine: str) -> None:
    """Workers can import neither this module nor what it registers."""
    with forgotten():
        register(
            Selection("fewest", "the arm with the fewest pulls", fewest, spread),
            Recipe("evenly", Kind.FEDERATED, evenly, "tests"),
        )
        problem = Problem.quick([0.9, 0.5, 0.4], sigma=0.3)
        built = bestarm.method("evenly", problem, 3, pseudo_count=5.0)
        fixed: dict[str, Any] = {"agents": 3, "engine": engine}
        there = bestarm.sweep(problem, ["evenly", built], runs=8, cluster=cluster, **fixed)
        assert list(there.each) == list(bestarm.sweep(problem, ["evenly", built], runs=8, jobs=1, **fixed).each)
        one = bestarm.simulate(problem, built, runs=8, cluster=cluster, **fixed)
        assert one.samples.tolist() == there.results[1].samples.tolist()


def test_what_workers_can_not_import_is_a_sentence(cluster: str) -> None:
    with pytest.raises(UserError, match="the workers of the cluster can't import 'nowhere'; install it"):
        list(spread_over_workers(import_module, [("nowhere",)], 1, cluster))


def test_a_scheduler_that_is_not_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestarm.simulation.workers.CONNECT_SECONDS", 1)
    problem = Problem.quick([0.9, 0.5], sigma=0.3)
    with pytest.raises(ServiceError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        bestarm.sweep(problem, "sharp", runs=2, cluster="tcp://127.0.0.1:9")
    with pytest.raises(UserError, match="must look like tcp://host:8786"):
        bestarm.sweep(problem, "sharp", runs=2, cluster="foo://127.0.0.1:9")
