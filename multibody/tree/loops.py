"""Joints that close loops, and constraints: which rows of kernels/loops.py they are.

A loop joint has no coordinates. Of the six degrees of freedom of M in F it takes those that the joint does not have,
each as one row of kernels/loops.py, a translation along u or an angle between u (fixed in F) and w (fixed in M):

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

from merganser.framework.math import RigidTransform
from merganser.multibody.kernels.layout import BALL_RPY, WELD
from merganser.multibody.kernels.loops import COUPLER, DISTANCE, PERPENDICULAR, TRANSLATION, loop_row_dtype
from merganser.multibody.kernels.mobilizers import MOBILIZERS, Closing
from merganser.multibody.tree.constraints import (
    BallConstraintSpec,
    ConstraintSpec,
    CouplerConstraintSpec,
    DistanceConstraintParams,
    DistanceConstraintSpec,
    WeldConstraintSpec,
)
from merganser.multibody.tree.joints import Joint

__all__ = ["DEFAULT_STABILIZATION_TIME", "check_can_close_loop", "directions", "make_constraint_rows", "make_loop_rows"]

DEFAULT_STABILIZATION_TIME = 0.1  # [s]

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
    """Returns the constraints of loop joints, as records of kernels/loops.py, shape [num_rows].

    Args:
        joints: the loop joints.
        stabilization_times: for each of them, T of gddot = -2/T gdot - 1/T^2 g [s], or None for gddot = 0.
        mobod_of_body: number of the mobilized body of each body.
    """
    rows: list[Any] = []
    for number, (joint, time) in enumerate(zip(joints, stabilization_times)):
        parent, child = (mobod_of_body[body.index()] for body in (joint.parent_body(), joint.child_body()))
        rows += _rows_between(parent, child, *_frames(joint), _closing(joint), time, number)
    return np.array(rows, loop_row_dtype)


def make_constraint_rows(specs: Sequence[ConstraintSpec], tree: Any) -> npt.NDArray[Any]:
    """Returns constraints between bodies and coordinates as records of kernels/loops.py, shape [num_rows].

    They are stabilized with DEFAULT_STABILIZATION_TIME.

    Args:
        specs: the constraints; distances with the parameters that count.
        tree: finalized.
    """
    rows: list[Any] = []
    for spec in specs:
        if isinstance(spec, CouplerConstraintSpec):
            rows.append(_row_of_coupler(spec, tree))
        elif isinstance(spec, DistanceConstraintSpec):
            rows.append(_row_of_distance(spec.params, tree.mobod_of_body))
        else:
            X_AP, X_BQ, closing = _frames_of(spec)
            A, B = (tree.mobod_of_body[body] for body in (spec.body_A, spec.body_B))
            rows += _rows_between(A, B, X_AP, X_BQ, closing, DEFAULT_STABILIZATION_TIME)
    return np.array(rows, loop_row_dtype)


def _frames_of(spec: BallConstraintSpec | WeldConstraintSpec) -> tuple[RigidTransform, RigidTransform, Closing]:
    """X_PF, X_CM and what they keep, of a ball or weld: as those of the joints of these types."""
    if isinstance(spec, WeldConstraintSpec):
        kind, frames = MOBILIZERS[WELD], (spec.X_AP, spec.X_BQ)
    else:
        assert spec.p_BQ is not None  # since Finalize()
        kind, frames = MOBILIZERS[BALL_RPY], (RigidTransform(spec.p_AP), RigidTransform(spec.p_BQ))
    assert kind.closing is not None
    return *frames, kind.closing(np.zeros(3))


def _rows_between(
    parent: int,
    child: int,
    X_PF: RigidTransform,
    X_CM: RigidTransform,
    closing: Closing,
    time: float | None,
    number: int = -1,
) -> list[Any]:
    """The rows that keep frames F and M of two mobods together.

    Args:
        parent, child: the mobods of P and C.
        X_PF, X_CM: the frames.
        closing: which of their motions.
        time: T of gddot = -2/T gdot - 1/T^2 g [s], or None for gddot = 0.
        number: of the loop joint.
    """
    R_PF, R_CM = X_PF.rotation().matrix(), X_CM.rotation().matrix()
    rows = []
    constraints = [(TRANSLATION, u, np.zeros(3)) for u in closing.translations]
    for kind, u_F, w_M in constraints + [(PERPENDICULAR, u, w) for u, w in closing.angles]:
        row = _row(kind, time)
        row["joint"], row["parent"], row["child"] = number, parent, child
        row["p_PoFo_P"], row["p_CoMo_C"] = X_PF.translation(), X_CM.translation()
        row["u_P"], row["w_C"] = R_PF @ u_F, R_CM @ w_M
        rows.append(row)
    return rows


def _row(kind: int, time: float | None) -> Any:
    """One row, stabilized with the time T."""
    row = np.zeros((), loop_row_dtype)
    row["joint"], row["kind"] = -1, kind
    if time is not None:
        row["stiffness"], row["damping"] = 1.0 / time**2, 2.0 / time
    return row


def _row_of_coupler(spec: CouplerConstraintSpec, tree: Any) -> Any:
    row = _row(COUPLER, DEFAULT_STABILIZATION_TIME)
    for number, joint in enumerate((spec.joint0, spec.joint1)):
        found = tree.get_joint(joint)
        row[f"q_{number}"], row[f"v_{number}"] = found.position_start(), found.velocity_start()
    row["gear_ratio"], row["offset"] = spec.gear_ratio, spec.offset
    return row


def _row_of_distance(params: DistanceConstraintParams, mobod_of_body: npt.NDArray[np.int64]) -> Any:
    """A rigid rod, or one that is a spring and damper."""
    row = _row(DISTANCE, DEFAULT_STABILIZATION_TIME)
    row["parent"], row["child"] = mobod_of_body[params.bodyA()], mobod_of_body[params.bodyB()]
    row["p_PoFo_P"], row["p_CoMo_C"], row["length"] = params.p_AP(), params.p_BQ(), params.distance()
    if np.isfinite(params.stiffness()):
        row["is_compliant"], row["stiffness"], row["damping"] = 1, params.stiffness(), params.damping()
    return row


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
