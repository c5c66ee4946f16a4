"""Constraints and costs on where points and axes of a plant are: PositionConstraint and its like."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.framework.optimization import AdjustableConstraint, Constraint, Cost
from merganser.framework.optimization.solvers.nonlinear_form import NARROW
from merganser.multibody.inverse_kinematics.posture_functions import (
    MeasuredPosture,
    PostureFunction,
    finite_vector,
    unit_vector,
)
from merganser.multibody.inverse_kinematics.posture_rows import COSINE, GAZE, LINE, POINT, POSITION, TRACE
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame, JacobianWrtVariable, ModelInstanceIndex

Array: TypeAlias = NDArray[np.float64]


def _checked_range(name: str, lower: float, upper: float, least: float, most: float) -> tuple[float, float]:
    lower, upper = float(lower), float(upper)
    if not least <= lower <= upper <= most:
        raise ValueError(f"{name}: bounds must be {least} <= lower <= upper <= {most}, got {lower} and {upper}.")
    return lower, upper


class PositionConstraint(MeasuredPosture, AdjustableConstraint):
    """p_AQ_lower <= p_AQ <= p_AQ_upper for a point Q of frame B, seen from frame A [m].

    Takes (plant, frameA, lower, upper, frameB, p_BQ, plant_context), or (plant, frameAbar, X_AbarA, lower, upper,
    frameB, p_BQ, plant_context) with A fixed to Abar at X_AbarA. The variables are q; with p_BQ None also p_BQ.

    Raises:
        ValueError: a lower bound is above the upper one, or numbers are not finite.
        RuntimeError: a frame is not of the plant.
    """

    def __init__(self, plant: MultibodyPlant, *args: Any, **kwargs: Any) -> None:
        names = ["frameA", "p_AQ_lower", "p_AQ_upper", "frameB", "p_BQ", "plant_context"]
        if len(args) + len(kwargs) == 7:
            names[:1] = ["frameAbar", "X_AbarA"]
        given = dict(zip(names, args), **kwargs)
        if given.keys() != set(names):
            raise TypeError(f"PositionConstraint takes plant and {', '.join(names)}; got {', '.join(given)}.")
        self._p_BQ = None if given["p_BQ"] is None else finite_vector("PositionConstraint: p_BQ", given["p_BQ"])
        X_AbarA = given.get("X_AbarA") or RigidTransform()
        self._frames = self._take(plant, given["plant_context"], given[names[0]], given["frameB"])
        self._R_AAbar = X_AbarA.rotation().matrix().T
        p_BQ = np.zeros(3) if self._p_BQ is None else self._p_BQ
        self._measure(POSITION, *self._frames, X_A=X_AbarA.GetAsMatrix34(), p_BQ=p_BQ)
        Constraint.__init__(self, plant.num_positions() + 3 * (self._p_BQ is None), np.zeros(3), np.zeros(3))
        self.set_bounds(given["p_AQ_lower"], given["p_AQ_upper"])

    def set_bounds(self, new_lb: Any, new_ub: Any) -> None:
        """Sets both bounds [m], shape [3] each.

        Raises:
            ValueError: they have another size, or a lower bound is above the upper one.
        """
        if not np.less_equal(np.ravel(new_lb), np.ravel(new_ub)).all():
            raise ValueError(f"PositionConstraint: lower bounds must not be above the upper ones: {new_lb}, {new_ub}.")
        super().set_bounds(new_lb, new_ub)

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        if self._p_BQ is not None:
            return super()._value_and_jacobian(x)
        self._measures["p_BQ"] = x[-3:]
        value, by_q = super()._value_and_jacobian(x)
        R_AB = self._R_AAbar @ self._plant.CalcRelativeRotationMatrix(self._context, *self._frames).matrix()
        return value, np.hstack([by_q, R_AB])


class OrientationConstraint(MeasuredPosture, Constraint):
    """The angle between frames A and B is at most theta_bound [rad]: trace(R_AB) >= 1 + 2 cos(theta_bound).

    A is fixed to Abar at R_AbarA, B to Bbar at R_BbarB. The variables are q.

    Raises:
        ValueError: theta_bound is negative.
        RuntimeError: a frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        frameAbar: Frame,
        R_AbarA: RotationMatrix,
        frameBbar: Frame,
        R_BbarB: RotationMatrix,
        theta_bound: float,
        plant_context: Context,
    ) -> None:
        frameAbar, frameBbar = self._take(plant, plant_context, frameAbar, frameBbar)
        if not theta_bound >= 0.0:
            raise ValueError(f"OrientationConstraint: theta_bound must not be negative, got {theta_bound}.")
        aim = 0.95 * theta_bound if theta_bound > NARROW else 0.0  # the rotation vector by which B is turned too far
        self._measure(TRACE, frameAbar, frameBbar, R_A=R_AbarA, R_B=R_BbarB, constant=aim, limit=theta_bound)
        Constraint.__init__(self, plant.num_positions(), [2.0 * math.cos(theta_bound) + 1.0], [3.0])


class AngleBetweenVectorsConstraint(MeasuredPosture, Constraint):
    """The angle between a vector fixed to frame A and one fixed to frame B is within bounds [rad], by its cosine.

    Raises:
        ValueError: a vector has no direction, or not 0 <= angle_lower <= angle_upper <= pi.
        RuntimeError: a frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        frameA: Frame,
        a_A: Any,
        frameB: Frame,
        b_B: Any,
        angle_lower: float,
        angle_upper: float,
        plant_context: Context,
    ) -> None:
        name = type(self).__name__
        frameA, frameB = self._take(plant, plant_context, frameA, frameB)
        a_A, b_B = unit_vector(f"{name}: a_A", a_A), unit_vector(f"{name}: b_B", b_B)
        lower, upper = _checked_range(name, angle_lower, angle_upper, 0.0, math.pi)
        self._measure(COSINE, frameA, frameB, a_A=a_A, b_B=b_B)
        Constraint.__init__(self, plant.num_positions(), [math.cos(upper)], [math.cos(lower)])


class GazeTargetConstraint(MeasuredPosture, Constraint):
    """A point T of frame B is in a cone fixed to frame A, with source S, axis n_A and this half angle [rad].

    Values: p_ST . n and (p_ST . n)^2 - cos(half angle)^2 p_ST . p_ST, both at least 0.

    Raises:
        ValueError: n_A has no direction, or the half angle is not in [0, pi/2].
        RuntimeError: a frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        frameA: Frame,
        p_AS: Any,
        n_A: Any,
        frameB: Frame,
        p_BT: Any,
        cone_half_angle: float,
        plant_context: Context,
    ) -> None:
        name = type(self).__name__
        frameA, frameB = self._take(plant, plant_context, frameA, frameB)
        p_AS, p_BT = finite_vector(f"{name}: p_AS", p_AS), finite_vector(f"{name}: p_BT", p_BT)
        n_A = unit_vector(f"{name}: n_A", n_A)
        if not 0.0 <= cone_half_angle <= 0.5 * math.pi:
            raise ValueError(f"{name}: cone_half_angle must be in [0, pi/2], got {cone_half_angle}.")
        square = math.cos(cone_half_angle) ** 2
        self._measure(GAZE, frameA, frameB, p_AP=p_AS, a_A=n_A, p_BQ=p_BT, constant=square)
        Constraint.__init__(self, plant.num_positions(), np.zeros(2), np.full(2, np.inf))


class PointToPointDistanceConstraint(MeasuredPosture, Constraint):
    """The distance [m] of point P1 of frame 1 and P2 of frame 2 is within bounds; the value is its square.

    Raises:
        ValueError: not 0 <= distance_lower <= distance_upper.
        RuntimeError: a frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        frame1: Frame,
        p_B1P1: Any,
        frame2: Frame,
        p_B2P2: Any,
        distance_lower: float,
        distance_upper: float,
        plant_context: Context,
    ) -> None:
        name = type(self).__name__
        frame1, frame2 = self._take(plant, plant_context, frame1, frame2)
        p_B1P1, p_B2P2 = finite_vector(f"{name}: p_B1P1", p_B1P1), finite_vector(f"{name}: p_B2P2", p_B2P2)
        lower, upper = _checked_range(name, distance_lower, distance_upper, 0.0, math.inf)
        self._measure(POINT, frame1, frame2, p_AP=p_B1P1, p_BQ=p_B2P2)
        Constraint.__init__(self, plant.num_positions(), [lower * lower], [upper * upper])


class PointToLineDistanceConstraint(MeasuredPosture, Constraint):
    """The distance [m] of point P of frame B1 from a line of frame B2 through Q along n is within bounds; the value is
    its square.

    Raises:
        ValueError: n_B2 has no direction, or not 0 <= distance_lower <= distance_upper.
        RuntimeError: a frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        frame_point: Frame,
        p_B1P: Any,
        frame_line: Frame,
        p_B2Q: Any,
        n_B2: Any,
        distance_lower: float,
        distance_upper: float,
        plant_context: Context,
    ) -> None:
        name = type(self).__name__
        frame_point, frame_line = self._take(plant, plant_context, frame_point, frame_line)
        p_B1P, p_B2Q = finite_vector(f"{name}: p_B1P", p_B1P), finite_vector(f"{name}: p_B2Q", p_B2Q)
        n_B2 = unit_vector(f"{name}: n_B2", n_B2)
        lower, upper = _checked_range(name, distance_lower, distance_upper, 0.0, math.inf)
        self._measure(LINE, frame_line, frame_point, p_AP=p_B2Q, a_A=n_B2, p_BQ=p_B1P)
        Constraint.__init__(self, plant.num_positions(), [lower * lower], [upper * upper])


class PolyhedronConstraint(MeasuredPosture, Constraint):
    """A [p_FP1; p_FP2; ...] <= b for points of frame G, seen from frame F [m].

    Args:
        plant: the plant.
        frameF: from which points are seen.
        frameG: to which they are fixed.
        p_GP: their positions, shape [3, n].
        A: shape [m, 3 n].
        b: shape [m].
        plant_context: of the plant; it is moved.

    Raises:
        ValueError: sizes do not fit.
        RuntimeError: a frame is not of the plant.
    """

    def __init__(
        self, plant: MultibodyPlant, frameF: Frame, frameG: Frame, p_GP: Any, A: Any, b: Any, plant_context: Context
    ) -> None:
        frameF, frameG = self._take(plant, plant_context, frameF, frameG)
        p_GP, self._A = np.array(p_GP, dtype=np.float64).reshape(3, -1), np.atleast_2d(np.array(A, float))
        upper = np.array(b, dtype=np.float64).ravel()
        if self._A.shape != (upper.size, p_GP.size):
            raise ValueError(
                f"PolyhedronConstraint: A must have shape {(upper.size, p_GP.size)} for {upper.size} numbers in "
                f"b and {p_GP.shape[1]} points, got {self._A.shape}."
            )
        for p_GPi in p_GP.T:
            self._measure(POSITION, frameF, frameG, p_BQ=p_GPi)
        Constraint.__init__(self, plant.num_positions(), np.full(upper.size, -np.inf), upper)

    def _at(self, x: Array) -> tuple[Array, Array]:
        p_FP, J = super()._at(x)
        return self._A @ p_FP, self._A @ J


class _OfCenterOfMass(PostureFunction):
    """The centre of mass C of model instances, seen from frame E."""

    _instances: Sequence[ModelInstanceIndex] | None
    _E: Frame

    def _set_up(
        self,
        plant: MultibodyPlant,
        model_instances: Sequence[ModelInstanceIndex] | None,
        expressed_frame: Frame,
        plant_context: Context,
    ) -> None:
        (expressed_frame,) = self._take(plant, plant_context, expressed_frame)
        self._E = expressed_frame
        self._instances = None if model_instances is None else list(model_instances)

    def _center(self) -> tuple[Array, Array]:
        plant, context, world = self._plant, self._context, self._plant.world_frame()
        of: Any = () if self._instances is None else (self._instances,)
        p_WC = plant.CalcCenterOfMassPositionInWorld(context, *of)
        speeds: Any = JacobianWrtVariable.kQDot, world, world
        J_W = plant.CalcJacobianCenterOfMassTranslationalVelocity(context, *of, *speeds)
        p_EC = plant.CalcPointsPositions(context, world, p_WC, self._E).ravel()
        # In E, the point of the world where C is moves by itself.
        J_E = plant.CalcJacobianPositionVector(context, world, p_WC, self._E, self._E)
        R_EW = plant.CalcRelativeRotationMatrix(context, self._E, world).matrix()
        return p_EC, R_EW @ J_W + J_E


class ComPositionConstraint(_OfCenterOfMass, Constraint):
    """p_EC(q) - r = 0 for the centre of mass C of model instances (None: all) [m]; the variables are [q, r].

    Raises:
        RuntimeError: the frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        model_instances: Sequence[ModelInstanceIndex] | None,
        expressed_frame: Frame,
        plant_context: Context,
    ) -> None:
        self._set_up(plant, model_instances, expressed_frame, plant_context)
        Constraint.__init__(self, plant.num_positions() + 3, np.zeros(3), np.zeros(3))

    def _at(self, x: Array) -> tuple[Array, Array]:
        p_EC, J = self._center()
        return p_EC - x[-3:], np.hstack([J, -np.eye(3)])


class ComInPolyhedronConstraint(_OfCenterOfMass, Constraint):
    """lb <= A p_EC <= ub for the centre of mass C of model instances (None: all) [m].

    Raises:
        ValueError: sizes do not fit.
        RuntimeError: the frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        model_instances: Sequence[ModelInstanceIndex] | None,
        expressed_frame: Frame,
        A: Any,
        lb: Any,
        ub: Any,
        plant_context: Context,
    ) -> None:
        self._set_up(plant, model_instances, expressed_frame, plant_context)
        self._A = np.atleast_2d(np.array(A, dtype=np.float64))
        lower, upper = (np.array(bound, dtype=np.float64).ravel() for bound in (lb, ub))
        if not self._A.shape == (lower.size, 3) == (upper.size, 3):
            raise ValueError(
                f"ComInPolyhedronConstraint: A must have the shape [m, 3] and bounds that of [m]; got {self._A.shape}, "
                f"{lower.shape} and {upper.shape}."
            )
        Constraint.__init__(self, plant.num_positions(), lower, upper)

    def _at(self, x: Array) -> tuple[Array, Array]:
        p_EC, J = self._center()
        return self._A @ p_EC, self._A @ J


class UnitQuaternionConstraint(Constraint):
    """x . x = 1 for a quaternion x."""

    def __init__(self) -> None:
        super().__init__(4, [1.0], [1.0])

    def _eval(self, x: Any) -> Any:
        return [x @ x]


class PositionCost(MeasuredPosture, Cost):
    """(p_AP - p_AQ)^T C (p_AP - p_AQ) for a point P of frame A and a point Q of frame B, C of shape [3, 3].

    Raises:
        ValueError: C has another shape, or numbers are not finite.
        RuntimeError: a frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        frameA: Frame,
        p_AP: Any,
        frameB: Frame,
        p_BQ: Any,
        C: Any,
        plant_context: Context,
    ) -> None:
        frameA, frameB = self._take(plant, plant_context, frameA, frameB)
        self._p_AP = finite_vector("PositionCost: p_AP", p_AP)
        self._measure(POSITION, frameA, frameB, p_BQ=finite_vector("PositionCost: p_BQ", p_BQ))
        self._C = finite_vector("PositionCost: C", C, 9).reshape(3, 3)
        Cost.__init__(self, plant.num_positions())

    def _at(self, x: Array) -> tuple[Array, Array]:
        p_AQ, J = super()._at(x)
        e = p_AQ - self._p_AP
        return np.array([e @ self._C @ e]), (e @ (self._C + self._C.T) @ J)[np.newaxis]


class OrientationCost(MeasuredPosture, Cost):
    """c (1 - cos(theta)), where theta is the angle between frames A and B, fixed to Abar and Bbar.

    Raises:
        RuntimeError: a frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        frameAbar: Frame,
        R_AbarA: RotationMatrix,
        frameBbar: Frame,
        R_BbarB: RotationMatrix,
        c: float,
        plant_context: Context,
    ) -> None:
        frameAbar, frameBbar = self._take(plant, plant_context, frameAbar, frameBbar)
        self._measure(TRACE, frameAbar, frameBbar, R_A=R_AbarA, R_B=R_BbarB)
        self._c = float(c)
        Cost.__init__(self, plant.num_positions())

    def _at(self, x: Array) -> tuple[Array, Array]:
        trace, J = super()._at(x)
        return 0.5 * self._c * (3.0 - trace), -0.5 * self._c * J


class AngleBetweenVectorsCost(MeasuredPosture, Cost):
    """c (1 - cos(theta)), where theta is the angle between a vector fixed to frame A and one fixed to frame B.

    Raises:
        ValueError: a vector has no direction.
        RuntimeError: a frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        frameA: Frame,
        a_A: Any,
        frameB: Frame,
        b_B: Any,
        c: float,
        plant_context: Context,
    ) -> None:
        name = type(self).__name__
        frameA, frameB = self._take(plant, plant_context, frameA, frameB)
        a_A, b_B = unit_vector(f"{name}: a_A", a_A), unit_vector(f"{name}: b_B", b_B)
        self._measure(COSINE, frameA, frameB, a_A=a_A, b_B=b_B)
        self._c = float(c)
        Cost.__init__(self, plant.num_positions())

    def _at(self, x: Array) -> tuple[Array, Array]:
        cosine, J = super()._at(x)
        return self._c * (1.0 - cosine), -self._c * J
