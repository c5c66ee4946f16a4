"""Rows of constraints, as records of kernels/constraints/records.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RigidTransform
from merganser.multibody.kernels.constraints import ConstraintKind, constraint_row_dtype, set_constraint_kind

DEFAULT_STABILIZATION_TIME = 0.1  # [s]


def make_rows(
    kind: ConstraintKind,
    num_rows: int,
    *,
    mobods: Sequence[int] | npt.NDArray[Any] = (0, 0),
    frames: Sequence[RigidTransform] = (),
    joints: Sequence[Any] = (),
    constants: Sequence[float] = (),
    spring: tuple[float, float] = (math.inf, 0.0),
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> npt.NDArray[Any]:
    """Returns the rows of one constraint, stabilized in continuous time with DEFAULT_STABILIZATION_TIME.

    Args:
        kind: what they hold.
        num_rows: how many there are.
        mobods: of A and B.
        frames: X_AP and X_BQ; by default those of the bodies.
        joints: whose coordinates rows between coordinates are about, up to MAX_COORDINATES; one is used for both.
        constants: up to eight numbers of the kind.
        spring: stiffness, infinite for a rigid constraint, and damping.
        bounds: of what each row exerts [N or N m].
    """
    rows = np.zeros(num_rows, constraint_row_dtype)
    for index, row in enumerate(rows):
        set_constraint_kind(row, kind)
        row["index"] = index
    rows["num_rows"], rows["joint"], rows["acts_on_coordinates"] = num_rows, -1, kind.acts_on_coordinates
    rows["mobod_A"], rows["mobod_B"] = mobods
    both = tuple(frames) or (RigidTransform(), RigidTransform())
    rows["X_AP"], rows["X_BQ"] = (X.GetAsMatrix34() for X in both)
    for number, joint in enumerate((*joints, *joints)[:2]):
        rows[f"q_{number}"], rows[f"v_{number}"] = joint.position_start(), joint.velocity_start()
    rows["num_more"] = max(0, len(joints) - 2)
    for number, joint in enumerate(joints[2:]):
        rows["more_q"][:, number], rows["more_v"][:, number] = joint.position_start(), joint.velocity_start()
    rows["constants"][:, : len(constants)] = constants
    rows["lower"], rows["upper"] = bounds
    if math.isfinite(spring[0]):
        rows["is_compliant"], rows["stiffness"], rows["damping"] = 1, *spring
    else:
        stabilize(rows, DEFAULT_STABILIZATION_TIME)
    return rows


def stabilize(rows: npt.NDArray[Any], time: float | None) -> None:
    """Sets T of gddot = -2/T gdot - 1/T^2 g [s], or None for gddot = 0."""
    rows["stiffness"], rows["damping"] = (0.0, 0.0) if time is None else (1.0 / time**2, 2.0 / time)
