"""DoDifferentialInverseKinematics: generalized velocities for a velocity of an end effector.

With the Jacobian J and the velocity V that is wanted, the velocities v that go as fast as possible in the direction of
V, no faster than V, and beside that towards a posture, are

    min over v, alpha   -100 alpha + |P (v - N+(q) K (q_nominal - q))|^2
    subject to          J v = alpha V,  0 <= alpha <= 1,  limits of positions, velocities and accelerations:
                        q_min <= q + N v dt <= q_max,  v_min <= v <= v_max,  a_min <= (v - v_now) / dt <= a_max  (1)

where the rows of P are an orthonormal basis of the null space of J. With these, all v of J v = alpha V are

    v = alpha J^+ V + P^T w                                                                                (2)

so that (1) is a problem of w and alpha, min -100 alpha + |w - w_0|^2, without equations. The linear term is taken for
one of squares about the latest alpha, -100 alpha + (alpha - alpha_k)^2 (the proximal point method); this is repeated
until alpha stays. Where the optimum lies within 0 < alpha < 1 the curvature that balances -100 is at least 50, so that
each time is 50 times nearer.

Sources: R. Tedrake, Robotic Manipulation, section 3.10; R. T. Rockafellar, Monotone operators and the proximal point
algorithm, SIAM J. Control 14 (1976).
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Context
from merganser.framework.core.values.arguments import bind_overload, require_types
from merganser.framework.math import RigidTransform
from merganser.multibody.inverse_kinematics.differential_parameters import (
    DifferentialInverseKinematicsParameters,
    DifferentialInverseKinematicsResult,
    DifferentialInverseKinematicsStatus,
)
from merganser.multibody.inverse_kinematics.inequality_least_squares import least_squares_within, rows_of_bounds
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame, JacobianWrtVariable

__all__ = ["DoDifferentialInverseKinematics", "pose_difference"]

Array = NDArray[np.float64]

_REWARD = 100.0  # of alpha
_MOST_STEPS = 30  # of the proximal point method
_SAME = 1e-13  # alpha that has come to rest
_IN_RANGE = 1e-9  # part of V that no v makes, relative to V


@overload
def DoDifferentialInverseKinematics(
    q_current: ArrayLike,
    v_current: ArrayLike,
    V: ArrayLike,
    J: ArrayLike,
    parameters: DifferentialInverseKinematicsParameters,
    N: ArrayLike | None = ...,
    Nplus: ArrayLike | None = ...,
) -> DifferentialInverseKinematicsResult: ...
@overload
def DoDifferentialInverseKinematics(
    robot: MultibodyPlant,
    context: Context,
    V_WE_desired: ArrayLike,
    frame_E: Frame,
    parameters: DifferentialInverseKinematicsParameters,
) -> DifferentialInverseKinematicsResult: ...
@overload
def DoDifferentialInverseKinematics(
    robot: MultibodyPlant,
    context: Context,
    V_AE_desired: ArrayLike,
    frame_A: Frame,
    frame_E: Frame,
    parameters: DifferentialInverseKinematicsParameters,
) -> DifferentialInverseKinematicsResult: ...
@overload
def DoDifferentialInverseKinematics(
    robot: MultibodyPlant,
    context: Context,
    X_WE_desired: RigidTransform,
    frame_E: Frame,
    parameters: DifferentialInverseKinematicsParameters,
) -> DifferentialInverseKinematicsResult: ...
@overload
def DoDifferentialInverseKinematics(
    robot: MultibodyPlant,
    context: Context,
    X_AE_desired: RigidTransform,
    frame_A: Frame,
    frame_E: Frame,
    parameters: DifferentialInverseKinematicsParameters,
) -> DifferentialInverseKinematicsResult: ...
def DoDifferentialInverseKinematics(*args: Any, **kwargs: Any) -> DifferentialInverseKinematicsResult:
    """Finds generalized velocities for a velocity of an end effector, or towards a pose of it; see (1).

    Five forms:

        DoDifferentialInverseKinematics(q_current, v_current, V, J, parameters, N=None, Nplus=None)
        DoDifferentialInverseKinematics(robot, context, V_WE_desired, frame_E, parameters)
        DoDifferentialInverseKinematics(robot, context, V_AE_desired, frame_A, frame_E, parameters)
        DoDifferentialInverseKinematics(robot, context, X_WE_desired, frame_E, parameters)
        DoDifferentialInverseKinematics(robot, context, X_AE_desired, frame_A, frame_E, parameters)

    Args:
        q_current: positions now, shape [num_positions].
        v_current: velocities now, shape [num_velocities].
        V: what J v shall be, shape [m].
        J: Jacobian with respect to v, shape [m, num_velocities].
        parameters: limits and wishes.
        N: of qdot = N v, shape [num_positions, num_velocities]; by default the identity.
        Nplus: of v = N+ qdot, shape [num_velocities, num_positions]; by default the identity.
        robot: a plant, with the positions and velocities of now in `context`.
        V_AE_desired: spatial velocity of E in A, expressed in A [rad/s, m/s], shape [6]. Of its elements, expressed in
            E, those count that `parameters` says.
        X_AE_desired: pose of E in A to be reached in one time step, within the limits of its velocities in A.
        frame_A: by default the world.
        frame_E: the end effector.

    Raises:
        ValueError: sizes do not fit, or numbers are not finite; or there are limits of positions, and no N, where
            velocities are not their rates.
        TypeError: the arguments fit none of the forms.
    """
    if (args and isinstance(args[0], MultibodyPlant)) or "robot" in kwargs:
        return _for_robot(*_robot_arguments(args, kwargs))
    names = ("q_current", "v_current", "V", "J", "parameters", "N", "Nplus")
    given = bind_overload("DoDifferentialInverseKinematics", names, {"N": None, "Nplus": None}, args, kwargs)
    return _search(**given)


def _robot_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """robot, context, what is wanted, frame_A (or None), frame_E, parameters."""
    wanted = next((name for name in kwargs if name[:2] in ("V_", "X_")), "X_AE_desired")
    names = ["robot", "context", wanted, "frame_E", "parameters"]
    if len(args) + len(kwargs) == len(names) + 1:
        names.insert(3, "frame_A")
    given = bind_overload("DoDifferentialInverseKinematics", names, {}, args, kwargs)
    return given["robot"], given["context"], given[wanted], given.get("frame_A"), given["frame_E"], given["parameters"]


def _for_robot(
    robot: MultibodyPlant,
    context: Context,
    wanted: Any,
    frame_A: Frame | None,
    frame_E: Frame,
    parameters: DifferentialInverseKinematicsParameters,
) -> DifferentialInverseKinematicsResult:
    kind = DifferentialInverseKinematicsParameters
    require_types("DoDifferentialInverseKinematics", robot=(robot, MultibodyPlant), parameters=(parameters, kind))
    frame_A = robot.world_frame() if frame_A is None else frame_A
    X_AE = robot.CalcRelativeTransform(context, frame_A, frame_E)
    if isinstance(wanted, RigidTransform):
        V_AE = _within_speeds(pose_difference(X_AE, wanted) / parameters.get_time_step(), parameters)
    else:
        V_AE = np.array(wanted, float).ravel()
        if V_AE.shape != (6,):
            raise ValueError(f"DoDifferentialInverseKinematics: a spatial velocity has 6 elements; got {V_AE.size}.")
    R_EA = X_AE.rotation().matrix().T
    V_AE_E = np.concatenate([R_EA @ V_AE[:3], R_EA @ V_AE[3:]])
    J_AE_E = robot.CalcJacobianSpatialVelocity(context, JacobianWrtVariable.kV, frame_E, np.zeros(3), frame_A, frame_E)
    flags = parameters.get_end_effector_velocity_flag()
    N = Nplus = None
    if not robot.IsVelocityEqualToQDot():
        N, Nplus = robot.MakeVelocityToQDotMap(context).toarray(), robot.MakeQDotToVelocityMap(context).toarray()
    q, v = robot.GetPositions(context), robot.GetVelocities(context)
    return _search(q, v, V_AE_E[flags], J_AE_E[flags], parameters, N, Nplus)


def pose_difference(X_AE: RigidTransform, X_AE_desired: RigidTransform) -> Array:
    """The rotation vector and the translation in A from one pose to another [rad, m], shape [6]."""
    turn = (X_AE_desired.rotation() @ X_AE.rotation().inverse()).ToAngleAxis()
    return np.concatenate([turn.angle() * turn.axis(), X_AE_desired.translation() - X_AE.translation()])


def _within_speeds(V: Array, parameters: DifferentialInverseKinematicsParameters) -> Array:
    """V with its angular speed and its translational velocity within the limits of the end effector."""
    w, most = V[:3], parameters.get_end_effector_angular_speed_limit()
    speed = float(np.linalg.norm(w))
    w = w * (most / speed) if speed > most else w
    limits = parameters.get_end_effector_translational_velocity_limits()
    return np.concatenate([w, V[3:] if limits is None else np.clip(V[3:], *limits)])


def _search(
    q_current: ArrayLike,
    v_current: ArrayLike,
    V: ArrayLike,
    J: ArrayLike,
    parameters: DifferentialInverseKinematicsParameters,
    N: ArrayLike | None,
    Nplus: ArrayLike | None,
) -> DifferentialInverseKinematicsResult:
    """Solves (1)."""
    kind = DifferentialInverseKinematicsParameters
    require_types("DoDifferentialInverseKinematics", parameters=(parameters, kind))
    num_q, num_v = parameters.get_num_positions(), parameters.get_num_velocities()
    q, v, V = _checked(q_current, num_q, "q_current"), _checked(v_current, num_v, "v_current"), np.array(V, float)
    J = np.array(J, float)
    if V.ndim != 1 or J.shape != (V.size, num_v):
        raise ValueError(
            f"DoDifferentialInverseKinematics: V and J must have shapes (m,) and (m, {num_v}); got {V.shape} and "
            f"{J.shape}."
        )
    for name, numbers in (("q_current", q), ("v_current", v), ("V", V), ("J", J)):
        if not np.isfinite(numbers).all():
            raise ValueError(f"DoDifferentialInverseKinematics: {name} must be finite, got {numbers.tolist()}.")
    a, Pt, is_reachable = _directions(J, V)
    M, low, high = _limits(q, v, parameters, N)
    columns = np.column_stack([Pt, a if is_reachable else 0.0 * a])
    n = columns.shape[1]
    G, h = rows_of_bounds(M @ columns, low, high)
    G_alpha, h_alpha = rows_of_bounds(np.eye(n)[n - 1 :], np.zeros(1), np.array([1.0 if is_reachable else 0.0]))
    G, h = np.vstack([G, G_alpha]), np.concatenate([h, h_alpha])
    w_0 = Pt.T @ _wish(q, parameters, Nplus) if Pt.shape[1] else np.zeros(0)
    x = _nearest(w_0, G, h)
    if x is None:
        return DifferentialInverseKinematicsResult()
    is_stuck = x[-1] < parameters.get_maximum_scaling_to_report_stuck()
    statuses = DifferentialInverseKinematicsStatus
    return DifferentialInverseKinematicsResult(
        joint_velocities=columns @ x, status=statuses.kStuck if is_stuck else statuses.kSolutionFound
    )


def _nearest(w_0: Array, G: Array, h: Array) -> Array | None:
    """min -100 alpha + |w - w_0|^2 of x = [w; alpha] subject to G x >= h; None if there is none."""
    identity, alpha = np.eye(len(w_0) + 1), 1.0
    x: Array | None = None
    for _ in range(_MOST_STEPS):
        x = least_squares_within(identity, np.append(w_0, alpha + 0.5 * _REWARD), G, h)
        if x is None or abs(x[-1] - alpha) <= _SAME:
            break
        alpha = x[-1]
    return x


def _directions(J: Array, V: Array) -> tuple[Array, Array, bool]:
    """J^+ V, P^T of equation (2), and whether any v makes J v = V."""
    U, s, Wt = np.linalg.svd(J)
    rank = int((s > s.max(initial=0.0) * max(J.shape) * np.finfo(float).eps).sum())
    a = Wt[:rank].T @ ((U[:, :rank].T @ V) / s[:rank])
    missed = np.linalg.norm(J @ a - V)
    return a, Wt[rank:].T, bool(missed <= _IN_RANGE * np.linalg.norm(V))


def _limits(
    q: Array, v: Array, parameters: DifferentialInverseKinematicsParameters, N: ArrayLike | None
) -> tuple[Array, Array, Array]:
    """low <= M v <= high, of positions, velocities and accelerations."""
    dt, num_v = parameters.get_time_step(), len(v)
    rows: list[tuple[Array, Array, Array]] = [(np.zeros((0, num_v)), np.zeros(0), np.zeros(0))]
    positions = parameters.get_joint_position_limits()
    if positions is not None:
        rows.append((_map(N, (len(q), num_v), "N"), (positions[0] - q) / dt, (positions[1] - q) / dt))
    velocities = parameters.get_joint_velocity_limits()
    if velocities is not None:
        rows.append((np.eye(num_v), *velocities))
    accelerations = parameters.get_joint_acceleration_limits()
    if accelerations is not None:
        rows.append((np.eye(num_v), v + dt * accelerations[0], v + dt * accelerations[1]))
    M, low, high = (np.concatenate(parts) for parts in zip(*rows))
    return M, low, high


def _wish(q: Array, parameters: DifferentialInverseKinematicsParameters, Nplus: ArrayLike | None) -> Array:
    """N+ K (q_nominal - q)."""
    qdot = parameters.get_joint_centering_gain() @ (parameters.get_nominal_joint_position() - q)
    return np.asarray(_map(Nplus, (parameters.get_num_velocities(), len(q)), "Nplus") @ qdot)


def _map(matrix: ArrayLike | None, shape: tuple[int, int], name: str) -> Array:
    """A matrix that was given, or the identity."""
    if matrix is None:
        if shape[0] != shape[1]:
            raise ValueError(
                f"DoDifferentialInverseKinematics: {name} is needed where there are {shape} positions and velocities."
            )
        return np.eye(shape[0])
    array = np.array(matrix, float)
    if array.shape != shape:
        raise ValueError(f"DoDifferentialInverseKinematics: {name} must have shape {shape}, got {array.shape}.")
    return array


def _checked(value: ArrayLike, size: int, name: str) -> Array:
    vector = np.array(value, float).ravel()
    if vector.shape != (size,):
        raise ValueError(f"DoDifferentialInverseKinematics: {name} must have {size} elements, got {vector.size}.")
    return vector
