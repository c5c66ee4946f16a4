"""Joints that close loops: which rows of constraints they are.

A loop joint has no coordinates. Of the six degrees of freedom of M in F it takes those that the joint does not have,
each as one row of kernels/constraints/, a translation along u or an angle between u (fixed in F) and w (fixed in M):

    weld         along Fx, Fy, Fz;  Fx My, Fy Mz, Fz Mx at right angles, where F is shifted by the pose of the weld
    revolute     along Fx, Fy, Fz;  b1 a, b2 a
    prismatic    along b1, b2;      Fx Mx.. as weld
    universal    along Fx, Fy, Fz;  Fx My
    planar       along Fz;          Fx Mz, Fy Mz
    ball         along Fx, Fy, Fz

with the axis a and two unit vectors b1, b2 at right angles to it; which they are is part of the kind of mobilizer
(kernels/mobilizers/). Axes at right angles to those of the other side may
also be turned the wrong way round: `directions` says which must point the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.kernels.constraints import constraint_row_dtype
from merganser.multibody.kernels.constraints.perpendicular import KIND as PERPENDICULAR
from merganser.multibody.kernels.constraints.translation import KIND as TRANSLATION
from merganser.multibody.kernels.mobilizers import MOBILIZERS, Closing
from merganser.multibody.tree.constraints import make_rows, stabilize
from merganser.multibody.tree.joints import Joint

Array = npt.NDArray[Any]


def check_can_close_loop(caller: str, joint: Joint, stabilization_time: float | None) -> None:
    """Refuses joints that no constraints describe.

    Raises:
        RuntimeError: if the joint is of a type that cannot close a loop, or damped.
        ValueError: if the time is not positive.
    """
    if joint.kind.closing is None:
        types = ", ".join(kind.name for kind in MOBILIZERS if kind.closing)
        raise RuntimeError(
            f"{caller}(): joint '{joint.name()}' is of type {joint.type_name()}, which cannot close a loop. Joints of "
            f"these types can: {types}. Close the loop at another of its joints."
        )
    if joint.default_damping_vector().any():
        raise RuntimeError(
            f"{caller}(): joint '{joint.name()}' is damped ({joint.default_damping_vector()}), but a joint that "
            "closes a loop has no coordinates that damping could act on. Close the loop at another of its joints, or "
            "set the damping to zero."
        )
    if stabilization_time is not None and not stabilization_time > 0.0:
        raise ValueError(
            f"{caller}(): the stabilization time of joint '{joint.name()}' must be positive, or None for no "
            f"stabilization, got {stabilization_time}."
        )


def make_loop_rows(
    joints: Sequence[Joint], stabilization_times: Sequence[float | None], mobod_of_body: npt.NDArray[np.int64]
) -> npt.NDArray[Any]:
    """Returns the constraints of loop joints, as records of kernels/constraints/records.py, shape [num_rows].

    Args:
        joints: the loop joints.
        stabilization_times: for each of them, T of gddot = -2/T gdot - 1/T^2 g [s], or None for gddot = 0.
        mobod_of_body: number of the mobilized body of each body.
    """
    rows = [np.zeros(0, constraint_row_dtype)]
    for number, (joint, time) in enumerate(zip(joints, stabilization_times)):
        mobods = [mobod_of_body[body.index()] for body in (joint.parent_body(), joint.child_body())]
        of_joint = _rows_of(joint, mobods)
        of_joint["joint"] = number
        stabilize(of_joint, time)
        rows.append(of_joint)
    return np.concatenate(rows)


def _rows_of(joint: Joint, mobods: Sequence[int]) -> npt.NDArray[Any]:
    """The rows that keep frames F and M of two mobods together."""
    X_PF, X_CM = frames = _frames(joint)
    R_PF, R_CM, closing = X_PF.rotation().matrix(), X_CM.rotation().matrix(), _closing(joint)
    constraints = [(TRANSLATION, u, np.zeros(3)) for u in closing.translations]
    constraints += [(PERPENDICULAR, u, w) for u, w in closing.angles]
    rows = np.zeros(len(constraints), constraint_row_dtype)
    for index, (kind, u_F, w_M) in enumerate(constraints):
        rows[index] = make_rows(kind, len(constraints), mobods=mobods, frames=frames)[index]
        rows[index]["u_A"], rows[index]["w_B"] = R_PF @ u_F, R_CM @ w_M
    return rows


def directions(joint: Joint) -> list[tuple[Array, Array]]:
    """Returns pairs of unit vectors, fixed in bodies P and C, that point the same way when the joint is closed."""
    X_PF, X_CM = _frames(joint)
    same = _closing(joint).directions
    return [(X_PF.rotation().matrix() @ a, X_CM.rotation().matrix() @ a) for a in same]


def _closing(joint: Joint) -> Closing:
    assert joint.kind.closing is not None
    return joint.kind.closing(joint._mobilizer_axis())


def _frames(joint: Joint) -> tuple[Any, Any]:
    """X_PF and X_CM; F of a weld is where M is to be."""
    X_PF = joint.frame_on_parent().GetFixedPoseInBodyFrame() @ joint._mobilizer_X_FM()
    return X_PF, joint.frame_on_child().GetFixedPoseInBodyFrame()
