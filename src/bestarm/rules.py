"""For those who write rules or methods: the records, what rules are given, and what they can build on.

`register` makes a record known; from then on its name works wherever a name does. `docs/researchers.md` and
`examples/new-method` show how.
"""

from __future__ import annotations

from bestarm.core.arrays import Counts, Floats
from bestarm.core.batch import NOBODY, Batch
from bestarm.core.breaking import Reading, read, settled
from bestarm.core.coordinates import none_at_all, row_coordinates, span_coordinates
from bestarm.core.estimate import RIDGE, SEPARATE, SPAN, foresee, foresee_nothing
from bestarm.core.making import one_arm, spread
from bestarm.core.rules import Model, Parameter, Selection, Test, Trigger
from bestarm.core.setting import Setting
from bestarm.core.state import State, Totals, View
from bestarm.methods.recipe import Kind, Recipe
from bestarm.methods.registry import METHODS, SELECTIONS, TESTS, TRIGGERS, register

__all__ = [
    "METHODS",
    "NOBODY",
    "RIDGE",
    "SELECTIONS",
    "SEPARATE",
    "SPAN",
    "TESTS",
    "TRIGGERS",
    "Batch",
    "Counts",
    "Floats",
    "Kind",
    "Model",
    "Parameter",
    "Reading",
    "Recipe",
    "Selection",
    "Setting",
    "State",
    "Test",
    "Totals",
    "Trigger",
    "View",
    "foresee",
    "foresee_nothing",
    "none_at_all",
    "one_arm",
    "read",
    "register",
    "row_coordinates",
    "settled",
    "span_coordinates",
    "spread",
]
