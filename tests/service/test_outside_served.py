"""A study whose rules and method come from outside of the package is served like any other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import outside
import pytest
from uploads import small_problem

import bestarm
from bestarm.errors import UserError
from bestarm.methods import METHODS
from bestarm.service.view.exports.verify import verify

PROBLEM = small_problem()


@pytest.fixture(autouse=True)
def rules(tmp_path: Path) -> Iterator[None]:
    with outside.brought(tmp_path):
        yield


def test_it_is_created_worked_on_shown_exported_and_verified(make_world: Any, tmp_path: Path) -> None:
    world, random = make_world(), np.random.default_rng(1)
    made = world.create(method="mine", parameters={"size": "large"})
    assert "the scatter is the same for all arms" in made["promise"]
    with ExitStack() as stack:
        labs = [
            stack.enter_context(
                bestarm.connect(
                    "http://bestarm.test",
                    study="ligands",
                    token=world.token(role="agent", agent=name),
                    journal=tmp_path / f"{name}.db",
                    transport=world.local,
                )
            )
            for name in ("lab-a", "lab-b")
        ]
        assert PROBLEM.means is not None
        assert PROBLEM.sigma is not None
        shown = []
        while not any(lab.finished for lab in labs):
            for lab in labs:
                for trial in lab.ask(8, wait=None):
                    mean = PROBLEM.means[PROBLEM.arms.index(trial.arm)]
                    lab.tell(trial, float(random.normal(mean, PROBLEM.sigma)))
            shown.append(world.admin.call("GET", "/v1/studies/ligands/status"))
        exported = world.admin.call("GET", "/v1/studies/ligands/export?format=json")
    middle, last = shown[1], shown[-1]
    assert (middle["shows"], middle["intervals"], middle["remaining"]) == ("evidence", False, None)
    assert all(site["plan"] == 8 for site in middle["sites"])  # as many as are asked for at once
    assert all(arm["mean"] is not None and arm["low"] is None for arm in last["arms"])
    assert last["verdict"]["arm"] == PROBLEM.arms[int(np.argmax(PROBLEM.means))]
    assert all(len(row) == 3 for upload in exported["uploads"] for row in upload["tally"].values())
    assert verify(exported).arm == last["verdict"]["arm"]


def test_only_federated_methods_are_served(make_world: Any) -> None:
    world = make_world()
    with pytest.raises(UserError, match="can be simulated, not served; take sharp, famabpe, falinpe or mine"):
        world.create(method="mine-alone")


def test_who_does_not_know_the_method_says_so(make_world: Any) -> None:
    world = make_world()
    world.create(method="mine")
    exported = world.admin.call("GET", "/v1/studies/ligands/export?format=json")
    with patch.dict(METHODS._records):
        del METHODS._records["mine"]
        with pytest.raises(UserError, match="its method is 'mine', which this bestarm does not know"):
            verify(exported)
