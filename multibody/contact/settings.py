"""What a contact problem is given once: records of its trees, and the settings of its solution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.contact.layout import LAGGED, TAMSI, settings_dtype
from merganser.multibody.linear.records import tree_dtype


def make_trees(sizes: Sequence[int]) -> NDArray[Any]:
    """Records of trees with these numbers of velocities, one after the other, shape [num_trees]."""
    trees = np.zeros(len(sizes), tree_dtype)
    trees["num_v"] = sizes
    trees["v_start"] = np.cumsum(trees["num_v"]) - trees["num_v"]
    squares = trees["num_v"] ** 2
    trees["matrix_start"] = np.cumsum(squares) - squares
    return trees


def make_settings(
    approximation: int = LAGGED,
    *,
    stiction_tolerance: float = 1e-3,
    sigma: float = 1e-3,
    absolute_tolerance: float = 1e-14,
    relative_tolerance: float = 1e-6,
    max_iterations: int = 100,
    shortest_relaxation: float = 0.0,
) -> Any:
    """The settings as a record.

    Args:
        approximation: TAMSI, SAP, SIMILAR or LAGGED, as numbered in pydrake's DiscreteContactApproximation.
        stiction_tolerance: slip velocity below which contacts count as sticking [m/s]; SAP has none.
        sigma: tangential over normal regularization of SAP.
        absolute_tolerance: of the momentum residual [sqrt(J)].
        relative_tolerance: of the momentum residual.
        max_iterations: of an island.
        shortest_relaxation: time in which errors of rigid constraints decay at the fastest [s]; twice the step if that
            is longer. Where steps have different lengths, it lets a very short one not make up for the error of a
            long one by a velocity without bounds.

    Raises:
        ValueError: if a number is out of range.
    """
    positive = {"stiction_tolerance": stiction_tolerance, "sigma": sigma}
    for name, value in positive.items():
        if not 0.0 < value < math.inf:
            raise ValueError(f"{name} of a contact problem must be positive and finite, got {value}.")
    if approximation not in range(TAMSI, LAGGED + 1):
        raise ValueError(f"approximation must be TAMSI (0), SAP (1), SIMILAR (2) or LAGGED (3), got {approximation}.")
    if not 0.0 <= shortest_relaxation < math.inf:
        raise ValueError(f"shortest_relaxation must be finite and not negative, got {shortest_relaxation}.")
    if absolute_tolerance < 0.0 or relative_tolerance < 0.0 or max_iterations < 0:
        raise ValueError("Tolerances and max_iterations of a contact problem must not be negative.")
    settings = np.zeros(1, settings_dtype)
    settings[0] = (
        approximation,
        stiction_tolerance,
        sigma,
        absolute_tolerance,
        relative_tolerance,
        max_iterations,
        shortest_relaxation,
    )
    return settings[0]
