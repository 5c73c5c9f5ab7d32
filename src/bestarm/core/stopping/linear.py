"""What the tests of linear models share: radii that are lengths of feature vectors."""

from __future__ import annotations

import numpy as np

from bestarm.core.algebra import product, row_inner
from bestarm.core.arrays import Floats
from bestarm.core.breaking import Reading, read
from bestarm.core.setting import Setting
from bestarm.core.state import View


def ridge_reading(view: View, scale: float, setting: Setting) -> Reading:
    """The reading with α(i,k) = scale · ‖x_i − x_k‖_{V⁻¹}."""
    leader = int(np.argmax(view.values))
    directions = setting.features - setting.features[leader]
    widths = np.sqrt(row_products(product(directions, view.inverse), directions))
    return read(view.values, leader, widths, 0.0, scale, setting.epsilon)


def ridge_radii(view: View, scale: float, setting: Setting) -> Floats:
    """`scale · ‖x_k‖_{V⁻¹}`: the radius of an arm's gap to one whose features are 0, and so its mean."""
    features = setting.features
    radii: Floats = scale * np.sqrt(row_products(product(features, view.inverse), features))
    return radii


def row_products(left: Floats, right: Floats) -> Floats:
    """`Σ_j left_kj right_kj` for every row k, never below zero: squared lengths that rounding can't turn."""
    products: Floats = np.maximum(row_inner(left, right), 0.0)
    return products
