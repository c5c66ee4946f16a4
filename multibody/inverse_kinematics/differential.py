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

import functools
import math
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import Context
from merganser.framework.core.values.arguments import bind_overload, require_types
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.framework.native import specialize
from merganser.multibody.inverse_kinematics.differential_parameters import (
    DifferentialInverseKinematicsParameters,
    DifferentialInverseKinematicsResult,
    DifferentialInverseKinematicsStatus,
)
from merganser.multibody.inverse_kinematics.inequality_least_squares import Polyhedron
from merganser.multibody.inverse_kinematics.reachable_motions import reachable_motions
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame, JacobianWrtVariable

Array = NDArray[np.float64]

_REWARD = 100.0  # of alpha
_MOST_STEPS = 30  # of the proximal point method
_SAME = 1e-13  # change of alpha at convergence
_IN_RANGE = 1e-9  # part of V that no v makes, relative to V
_NEARLY_HALF = 1e-3  # sine of an angle near a half turn, where the antisymmetric part says little
_PARAMETERS = DifferentialInverseKinematicsParameters
_EPS = float(np.finfo(float).eps)


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
    require_types("DoDifferentialInverseKinematics", parameters=(given["parameters"], _PARAMETERS))
    return _search(**given)


def _robot_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """robot, context, what is wanted, frame_A (or None), frame_E, parameters."""
    if not kwargs and 5 <= len(args) <= 6:
        return (*args[:3], None if len(args) == 5 else args[3], *args[-2:])
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
    kinds = {"robot": (robot, MultibodyPlant), "parameters": (parameters, _PARAMETERS)}
    require_types("DoDifferentialInverseKinematics", **kinds)
    frame_A = robot.world_frame() if frame_A is None else frame_A
    X_AE = robot.CalcRelativeTransform(context, frame_A, frame_E)
    if isinstance(wanted, RigidTransform):
        V_AE = _within_speeds(pose_difference(X_AE, wanted) / parameters.get_time_step(), parameters)
    else:
        V_AE = np.array(wanted, float).ravel()
        if V_AE.shape != (6,):
            raise ValueError(f"DoDifferentialInverseKinematics: a spatial velocity has 6 elements; got {V_AE.size}.")
    V_AE_E = V_AE.reshape(2, 3).dot(X_AE.rotation().matrix()).ravel()
    J_AE_E = robot.CalcJacobianSpatialVelocity(context, JacobianWrtVariable.kV, frame_E, np.zeros(3), frame_A, frame_E)
    flags = parameters.get_end_effector_velocity_flag()
    N = Nplus = None
    q, v = robot.GetPositions(context), robot.GetVelocities(context)
    if not robot.IsVelocityEqualToQDot():
        # Of the two quaternions of an orientation the one nearer to the posture that is wished for.
        nominal, signs = parameters.get_nominal_joint_position(), np.ones(len(q))
        for start in robot._model.quaternions if len(nominal) == len(q) else ():
            signs[start : start + 4] = 1.0 if q[start : start + 4] @ nominal[start : start + 4] >= 0.0 else -1.0
        N, Nplus = robot.MakeVelocityToQDotMap(context).toarray(), robot.MakeQDotToVelocityMap(context).toarray()
        q, N, Nplus = signs * q, signs[:, np.newaxis] * N, Nplus * signs
    return _search(q, v, V_AE_E[flags], J_AE_E[flags], parameters, N, Nplus)


def pose_difference(X_AE: RigidTransform, X_AE_desired: RigidTransform) -> Array:
    """The rotation vector and the translation in A from one pose to another [rad, m], shape [6]."""
    R = X_AE_desired.rotation().matrix().dot(X_AE.rotation().matrix().T)
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R.tolist()
    # The antisymmetric part is sin(angle) axis, the trace 1 + 2 cos(angle).
    x, y, z, cosine = 0.5 * (zy - yz), 0.5 * (xz - zx), 0.5 * (yx - xy), 0.5 * (xx + yy + zz - 1.0)
    sine = math.sqrt(x * x + y * y + z * z)
    if cosine < 0.0 and sine < _NEARLY_HALF:
        turn = RotationMatrix(R).ToAngleAxis()
        x, y, z = turn.angle() * turn.axis()
    elif sine > 0.0:
        scale = math.atan2(sine, cosine) / sine
        x, y, z = scale * x, scale * y, scale * z
    return np.array([x, y, z, *(X_AE_desired.translation() - X_AE.translation())])


def _within_speeds(V: Array, parameters: DifferentialInverseKinematicsParameters) -> Array:
    """V, changed so that its angular speed and translational velocity are within the limits of the end effector."""
    limits = parameters.get_end_effector_translational_velocity_limits()
    most = parameters.get_end_effector_angular_speed_limit()
    speed = math.sqrt(V[:3].dot(V[:3]))
    if speed > most:
        V[:3] *= most / speed
    if limits is not None:
        V[3:] = np.clip(V[3:], *limits)
    return V


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
    num_q, num_v = parameters.get_num_positions(), parameters.get_num_velocities()
    q, v, V = _checked(q_current, num_q, "q_current"), _checked(v_current, num_v, "v_current"), np.array(V, float)
    J = np.array(J, float, order="C")
    if V.ndim != 1 or J.shape != (V.size, num_v):
        raise ValueError(
            f"DoDifferentialInverseKinematics: V and J must have shapes (m,) and (m, {num_v}); got {V.shape} and "
            f"{J.shape}."
        )
    is_finite = math.isfinite(q.dot(q) + v.dot(v) + V.dot(V) + J.ravel().dot(J.ravel()))  # or the sum overflows
    for name, numbers in () if is_finite else (("q_current", q), ("v_current", v), ("V", V), ("J", J)):
        if not np.isfinite(numbers).all():
            raise ValueError(f"DoDifferentialInverseKinematics: {name} must be finite, got {numbers.tolist()}.")
    columns, is_reachable = _directions(J, V)
    n, most = columns.shape[1], 1.0 if is_reachable else 0.0
    M, low, high = _limits(q, v, parameters, N)
    free = [np.inf] * (n - 1)
    lower, upper = np.concatenate(([*(-x for x in free), 0.0], low)), np.concatenate(([*free, most], high))
    x_0 = np.zeros(n)
    if n > 1:
        x_0[:-1] = _wish(q, parameters, Nplus).dot(columns[:, :-1])
    x = _nearest(x_0, columns if M is None else M @ columns, lower, upper)
    if x is None:
        return DifferentialInverseKinematicsResult()
    is_stuck = x[-1] < parameters.get_maximum_scaling_to_report_stuck()
    statuses = DifferentialInverseKinematicsStatus
    return DifferentialInverseKinematicsResult(
        joint_velocities=columns.dot(x), status=statuses.kStuck if is_stuck else statuses.kSolutionFound
    )


def _nearest(x_0: Array, A: Array, lower: Array, upper: Array) -> Array | None:
    """min -100 alpha + |w - w_0|^2 of x = [w; alpha] subject to lower <= [x; A x] <= upper; None if infeasible."""
    polyhedron, alpha = Polyhedron(A, lower, upper), 1.0
    x: Array | None = None
    for _ in range(_MOST_STEPS):
        x_0[-1] = alpha + 0.5 * _REWARD
        x = polyhedron.nearest(x_0)
        if x is None or abs(x[-1] - alpha) <= _SAME:
            break
        alpha = x[-1]
    return x


def _arrays(m: int, n: int) -> tuple[tuple[Any, ...], Array, Array]:
    """Work arrays and outputs of reachable_motions()."""
    work = np.empty(m, np.int64), np.empty((n, m)), np.empty(m), np.empty((3, m)), np.empty((m, m))
    return work, np.empty((n, n + 1)), np.empty(2)


@functools.cache
def _compiled() -> Any:
    """reachable_motions() for arrays of floats: looking at their types would take five times as long as the rest."""
    work, columns, missed = _arrays(1, 1)
    return specialize(reachable_motions, np.zeros((1, 1)), np.zeros(1), 0.0, *work, columns, missed)


def _directions(J: Array, V: Array) -> tuple[Array, bool]:
    """The columns of P^T and J^+ V of equation (2), and whether any v makes J v = V; if none does, 0 for J^+ V."""
    m, n = J.shape
    work, columns, missed = _arrays(m, n)
    rank = _compiled()(J, V, max(m, n) * _EPS, *work, columns, missed)
    is_reachable = bool(missed[0] <= _IN_RANGE**2 * missed[1])
    if not is_reachable:
        columns[:, n - rank] = 0.0
    return columns[:, : n - rank + 1], is_reachable


def _limits(
    q: Array, v: Array, parameters: DifferentialInverseKinematicsParameters, N: ArrayLike | None
) -> tuple[Array | None, Array, Array]:
    """low <= M v <= high, of positions, velocities and accelerations; None for the identity."""
    dt, num_v = parameters.get_time_step(), len(v)
    velocities, accelerations, positions = (parameters._limits[of] for of in ("velocity", "acceleration", "position"))
    low, high = velocities or (np.full(num_v, -np.inf), np.full(num_v, np.inf))
    M = None
    if accelerations is not None:
        low, high = np.maximum(low, v + dt * accelerations[0]), np.minimum(high, v + dt * accelerations[1])
    if positions is not None:
        bounds = (positions[0] - q) / dt, (positions[1] - q) / dt
        if N is None and len(q) == num_v:
            low, high = np.maximum(low, bounds[0]), np.minimum(high, bounds[1])
        else:
            M = np.vstack((np.eye(num_v), _map(N, (len(q), num_v), "N")))
            low, high = np.concatenate((low, bounds[0])), np.concatenate((high, bounds[1]))
    return M, low, high


def _wish(q: Array, parameters: DifferentialInverseKinematicsParameters, Nplus: ArrayLike | None) -> Array:
    """The desired velocity N+ K (q_nominal - q)."""
    qdot = parameters._centering.dot(parameters._nominal - q)
    if Nplus is None and len(q) == parameters.get_num_velocities():
        return np.asarray(qdot)
    return np.asarray(_map(Nplus, (parameters.get_num_velocities(), len(q)), "Nplus") @ qdot)


def _map(matrix: ArrayLike | None, shape: tuple[int, int], name: str) -> Array:
    """The given matrix, or the identity."""
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
