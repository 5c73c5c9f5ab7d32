"""Rules that a test needs and the package does not have: they are known while a test runs, and no longer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import Batch
from bestarm.core.breaking import Reading, read
from bestarm.core.estimate import SEPARATE, add, begin_separate
from bestarm.core.rules import Selection, Test, Trigger
from bestarm.core.setting import Setting
from bestarm.core.state import View
from bestarm.core.stopping.famabpe import FAMABPE
from bestarm.methods import METHODS, SELECTIONS, TESTS, TRIGGERS, Recipe


@contextmanager
def known(*records: Test | Selection | Trigger | Recipe) -> Iterator[None]:
    """While it lasts, these rules and methods are registered."""
    with ExitStack() as stack:
        for record in records:
            if isinstance(record, Test):
                known = TESTS._records
                stack.enter_context(patch.dict(known, {record.name: record}))
            elif isinstance(record, Selection):
                stack.enter_context(patch.dict(SELECTIONS._records, {record.name: record}))
            elif isinstance(record, Trigger):
                stack.enter_context(patch.dict(TRIGGERS._records, {record.name: record}))
            else:
                stack.enter_context(patch.dict(METHODS._records, {record.name: record}))
        yield


class Scattered(NamedTuple):
    """A total with squares."""

    pulls: Counts
    sums: Floats
    squares: Floats
    estimate: View


def begin_scattered(setting: Setting) -> Scattered:
    """No pulls."""
    state = begin_separate(setting)
    return Scattered(state.pulls, state.sums, np.zeros(setting.arms), state.estimate)


def fold_scattered(state: Scattered, batch: Batch, setting: Setting) -> Scattered:
    """Add everything."""
    view = state.estimate
    samples = view.samples + add(state, batch)  # type: ignore[arg-type]  # it needs pulls and sums alone
    for place in range(batch.arms.shape[0]):
        arm = batch.arms[place]
        state.squares[arm] += batch.squares[place]
        view.values[arm] = state.sums[arm] / state.pulls[arm]
        view.widths[arm] = 1.0 / np.sqrt(state.pulls[arm])
    estimate = View(samples, view.values, view.widths, view.inverse, view.log_det, view.noise, view.grain)
    return Scattered(state.pulls, state.sums, state.squares, estimate)


def variance(state: Scattered, centre: float) -> float:
    """Pooled over the arms."""
    beside = state.sums - state.pulls * centre
    within = state.squares - beside * beside / state.pulls
    return float(max(within.sum(), 0.0) / max(state.pulls.sum() - state.pulls.shape[0], 1))


def read_scattered(state: Scattered, setting: Setting) -> Reading:
    """The radius of known scatter, and the measured one on top: never too narrow, and squares count."""
    view = state.estimate
    leader = int(np.argmax(view.values))
    spread = 4.0 * setting.counted / setting.delta * view.samples * view.samples
    scale = np.sqrt(2.0 * (setting.sigma**2 + variance(state, setting.centre)) * np.log(spread))
    return read(view.values, leader, view.widths, view.widths[leader], scale, setting.epsilon)


def radii_scattered(state: Scattered, setting: Setting) -> Floats:
    """Of every arm by itself."""
    spread = 4.0 * setting.counted / setting.delta * state.estimate.samples**2
    scale = np.sqrt(2.0 * (setting.sigma**2 + variance(state, setting.centre)) * np.log(spread))
    radii: Floats = scale * state.estimate.widths
    return radii


SCATTERED = Test(
    "scattered",
    "a toy that asks for squares",
    SEPARATE._replace(begin=begin_scattered, fold=fold_scattered),
    read_scattered,
    radii_scattered,
    squares=True,
)
OPEN = replace(FAMABPE, name="open", help="a toy that claims to pay for arms that come", arms_may_come=True)
