"""Functions of the state of a plant as constraints of programs: velocities of a frame, momentum about the mass center.

Derivatives are those of the plant of AutoDiffXd, which knows the closed forms of its kernels (multibody/plant/scalars).
Its Context holds q, or q and v, with one derivative for each of their numbers, so that constraints of one program share
what is computed at one state. A quaternion that turns with a constant angular velocity for some time is one, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, System
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.core.inside import scalar_of
from merganser.framework.optimization import Constraint
from merganser.framework.optimization.evaluators.evaluators import ClosedFormEvaluator
from merganser.multibody.inverse_kinematics.posture_functions import finite_vector, unit_vector
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame, ModelInstanceIndex

Array = NDArray[np.float64]
Objects = NDArray[Any]


class PlantFunction(ClosedFormEvaluator):
    """A function of x = [q, v] or [q, ...]; a Context of the plant is moved to each x."""

    _plant: MultibodyPlant
    _context: Context

    def _take(self, plant: MultibodyPlant, plant_context: Context) -> None:
        self._plant, self._context = with_derivatives(type(self).__name__, plant, plant_context)

    def _frame(self, what: str, frame: Frame, plant: MultibodyPlant) -> Frame:
        """The frame of the AutoDiffXd plant that corresponds to a frame of the given plant.

        Raises:
            RuntimeError: the frame is of another plant.
        """
        if frame.GetParentPlant() is not plant:
            raise RuntimeError(
                f"{type(self).__name__}: {what}, '{frame.name()}', is not of plant '{plant.GetSystemPathname()}'. Take "
                "a frame of the plant that is given."
            )
        return self._plant.get_frame(frame.index())

    def _at(self, x: Array) -> tuple[Array, Array]:
        """Values and derivatives where the Context is at x, shapes [num_outputs] and [num_outputs, num_vars]."""
        raise NotImplementedError

    def _num_state_vars(self) -> int:
        """How many of x are of the state: num_positions, or that and num_velocities."""
        return self._plant.num_positions()

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        size = self._num_state_vars()
        if not np.isfinite(x[:size]).all():
            raise ValueError(f"{type(self).__name__}: the state of the plant must be finite, got {x[:size]}.")
        everything = size > self._plant.num_positions()
        state = self._plant.GetPositionsAndVelocities(self._context) if everything else self._positions()
        if not _has_one_derivative_each(state, x[:size]):
            seeded = InitializeAutoDiff(x[:size]).ravel()
            if everything:
                self._plant.SetPositionsAndVelocities(self._context, seeded)
            else:
                self._plant.SetPositions(self._context, seeded)
        return self._at(x)

    def _positions(self) -> Objects:
        positions: Objects = self._plant.GetPositions(self._context)
        return positions

    def is_thread_safe(self) -> bool:
        """No: it moves its Context."""
        return False


def with_derivatives(caller: str, plant: MultibodyPlant, context: Context) -> tuple[MultibodyPlant, Context]:
    """A plant of AutoDiffXd and its Context: those given, or, for a plant of floats, copies of all its diagram.

    Raises:
        TypeError: an argument is not a plant or not a Context, or the plant is of another scalar.
        RuntimeError: the Context is not of the plant.
    """
    if not isinstance(plant, MultibodyPlant) or scalar_of(plant) not in (float, AutoDiffXd):
        raise TypeError(
            f"{caller}: plant must be a MultibodyPlant of AutoDiffXd or of floats, got {type(plant).__name__}. "
            "plant.ToAutoDiffXd() makes one."
        )
    if not isinstance(context, Context):
        raise TypeError(f"{caller}: the Context of the plant must be a Context, got {type(context).__name__}.")
    plant.ValidateContext(context)
    if scalar_of(plant) is AutoDiffXd:
        return plant, context
    root: Any = context
    while root.parent is not None:
        root = root.parent
    system: System = root.system
    copy: Any = system.ToAutoDiffXd()
    copied_context = copy.CreateDefaultContext()
    copied_context.SetTimeStateAndParametersFrom(root)
    copy.FixInputPortsFrom(system, root, copied_context)
    here: Any = copy
    for name in plant.GetSystemPathname().removeprefix(system.GetSystemPathname()).split("::")[1:]:
        here = here.GetSubsystemByName(name)
    return here, here.GetMyMutableContextFromRoot(copied_context)


def _has_one_derivative_each(numbers: Objects, values: Array) -> bool:
    """Whether numbers have these values, and the derivatives by themselves."""
    if not np.array_equal(ExtractValue(numbers).ravel(), values):
        return False
    slopes = [each.derivatives() for each in numbers]
    return all(slope.size == values.size and slope[i] == 1.0 for i, slope in enumerate(slopes)) and np.array_equal(
        slopes, np.eye(values.size)
    )


def values_of(numbers: Objects) -> Array:
    """The values of AutoDiffXd, in their shape."""
    values: Array = np.array([each.value() for each in np.ravel(numbers)]).reshape(np.shape(numbers))
    return values


def derivatives_of(numbers: Objects, num_vars: int) -> Array:
    """The derivatives of a vector of AutoDiffXd, shape [size, num_vars]; 0 for numbers without."""
    gradient = np.asarray(ExtractGradient(np.ravel(numbers)), dtype=np.float64)
    return gradient if gradient.shape[1] == num_vars else np.zeros((np.size(numbers), num_vars))


class QuaternionEulerIntegrationConstraint(ClosedFormEvaluator, Constraint):
    """The orientation z2 is that which z1 takes when it turns with the angular velocity w for the time h.

        z2 . (dz (x) z1) = 1,     dz = [cos(|w| h / 2), w / |w| sin(|w| h / 2)]                          (1)

    with the product (x) of quaternions; with `allow_quaternion_negation`, the square of the left-hand side is 1, as z2
    and -z2 are one orientation. Variables: x = [z1, z2, w, h], shape [12], of quaternions [w, x, y, z], w in the world
    frame [rad/s], and h [s]. By w = 0 and h = 0, where |w| has none, derivatives are those of the limit: dz is smooth.

    Args:
        allow_quaternion_negation: whether z2 may be -dz (x) z1.
    """

    def __init__(self, allow_quaternion_negation: bool) -> None:
        self._allow_negation = bool(allow_quaternion_negation)
        Constraint.__init__(self, 12, [1.0], [1.0], "quaternion Euler integration constraint")

    def allow_quaternion_negation(self) -> bool:
        """Whether z2 may be -dz (x) z1."""
        return self._allow_negation

    def ComposeVariable(self, quat1: Any, quat2: Any, angular_vel: Any, h: Any) -> NDArray[Any]:
        """x = [z1, z2, w, h], shape [12], of numbers, variables or expressions.

        Raises:
            ValueError: a part has another size.
        """
        parts = [np.ravel(np.asarray(part)) for part in (quat1, quat2, angular_vel, h)]
        for part, name, size in zip(parts, ("quat1", "quat2", "angular_vel", "h"), (4, 4, 3, 1)):
            if part.size != size:
                raise ValueError(
                    f"QuaternionEulerIntegrationConstraint.ComposeVariable: {name} must have size {size}, got "
                    f"{part.size}."
                )
        return np.concatenate(parts)

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        z1, z2, w, h = x[:4], x[4:8], x[8:11], float(x[11])
        cosine, sine_rate, by_speed = _half_turn(float(np.linalg.norm(w)), h)
        dz = np.array([cosine, *(sine_rate * w)])
        # z2 . (dz (x) z1) = dz . (z2 (x) conj(z1)) = z1 . (conj(dz) (x) z2)
        turned, wanted = _product(dz, z1), _product(z2, _conjugate(z1))
        value = float(z2 @ turned)
        by_w = -0.5 * h * sine_rate * w * wanted[0] + by_speed * w * (w @ wanted[1:]) + sine_rate * wanted[1:]
        by_h = 0.5 * (-sine_rate * (w @ w) * wanted[0] + cosine * (w @ wanted[1:]))
        jacobian = np.concatenate((_product(_conjugate(dz), z2), turned, by_w, [by_h]))
        if self._allow_negation:
            return np.array([value * value]), 2.0 * value * jacobian[np.newaxis]
        return np.array([value]), jacobian[np.newaxis]


def _half_turn(speed: float, h: float) -> tuple[float, float, float]:
    """cos(a), s = sin(a) / speed and ds/dspeed / speed of the half angle a = speed h / 2."""
    a = 0.5 * speed * h
    if abs(a) < 1e-3:  # by series, as the quotients lose all digits
        square, half = a * a, 0.5 * h
        return np.cos(a), half * (1.0 - square / 6.0 + square**2 / 120.0), half**3 * (-1.0 / 3.0 + square / 30.0)
    sine_rate = np.sin(a) / speed
    return np.cos(a), sine_rate, (0.5 * h * np.cos(a) - sine_rate) / speed**2


def _product(a: Array, b: Array) -> Array:
    """The product a (x) b of quaternions [w, x, y, z]."""
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def _conjugate(a: Array) -> Array:
    return a * np.array([1.0, -1.0, -1.0, -1.0])


# Below, an angular velocity has no direction to speak of [rad/s].
_LEAST_SPEED = 10.0 * float(np.finfo(np.float64).eps)


@dataclass(eq=False)
class AngularVelocityBounds:
    """Bounds on the length and the direction of an angular velocity w_AC.

    Attributes:
        magnitude_lower: least length [rad/s], not negative.
        magnitude_upper: greatest length [rad/s].
        reference_direction: a direction in A, of any length, shape [3].
        theta_bound: greatest angle between w_AC and that direction, in [0, pi] [rad].
    """

    magnitude_lower: float = 0.0
    magnitude_upper: float = math.inf
    reference_direction: Any = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    theta_bound: float = math.pi

    def rows(self) -> tuple[Array, list[float], list[float]]:
        """The unit vector of the direction, and bounds of |w|^2 and of the cosine.

        Raises:
            ValueError: a bound is out of range, or the direction has no length.
        """
        name = "SpatialVelocityConstraint: w_AC_bounds"
        if not 0.0 <= self.magnitude_lower <= self.magnitude_upper:
            raise ValueError(
                f"{name} must have 0 <= magnitude_lower <= magnitude_upper, got {self.magnitude_lower} and "
                f"{self.magnitude_upper}."
            )
        if not 0.0 <= self.theta_bound <= math.pi:
            raise ValueError(f"{name} must have theta_bound in [0, pi], got {self.theta_bound}.")
        direction = unit_vector(f"{name}.reference_direction", self.reference_direction)
        lower = [self.magnitude_lower**2, math.cos(self.theta_bound)]
        return direction, lower, [self.magnitude_upper**2, 1.0]


_Bounds = AngularVelocityBounds


class SpatialVelocityConstraint(PlantFunction, Constraint):
    """The velocity of frame C, fixed to B, is within bounds, measured and expressed in frame A; variables: [q, v].

    The value is [v_AC; |w_AC|^2; w_AC . a / |w_AC|], with the unit vector a of the reference direction, the last two
    only with `w_AC_bounds`. A tiny number is added to |w_AC|^2 under the fraction: of w_AC = 0 the cosine is 0.

    Args:
        plant: a finalized plant of AutoDiffXd; of floats, it is copied with all its diagram.
        frameA: of the plant.
        v_AC_lower, v_AC_upper: bounds of the velocity of Co in A, expressed in A [m/s], shape [3] each.
        frameB: of the plant.
        p_BCo: the origin of C, in B [m], shape [3].
        plant_context: of the plant; it is moved, or its copy.
        w_AC_bounds: bounds on the angular velocity, of class `AngularVelocityBounds`; None for none.

    Raises:
        ValueError: a bound is not a number or out of range.
        RuntimeError: a frame is not of the plant.
    """

    AngularVelocityBounds = AngularVelocityBounds

    def __init__(
        self,
        plant: MultibodyPlant,
        frameA: Frame,
        v_AC_lower: Any,
        v_AC_upper: Any,
        frameB: Frame,
        p_BCo: Any,
        plant_context: Context,
        w_AC_bounds: _Bounds | None = None,
    ) -> None:
        name = "SpatialVelocityConstraint"
        self._take(plant, plant_context)
        self._A, self._B = self._frame("frameA", frameA, plant), self._frame("frameB", frameB, plant)
        self._p_BCo = finite_vector(f"{name}: p_BCo", p_BCo)
        lower, upper = np.array(v_AC_lower, float).ravel(), np.array(v_AC_upper, float).ravel()
        if lower.shape != (3,) or upper.shape != (3,) or not (lower <= upper).all():
            raise ValueError(
                f"{name}: v_AC_lower <= v_AC_upper must hold for three numbers each, got {lower} and {upper}."
            )
        self._direction: Array | None = None
        if w_AC_bounds is not None:
            self._direction, low, high = w_AC_bounds.rows()
            lower, upper = np.append(lower, low), np.append(upper, high)
        Constraint.__init__(self, self._num_state_vars(), lower, upper, "spatial velocity constraint")

    def _num_state_vars(self) -> int:
        return self._plant.num_multibody_states()

    def _at(self, x: Array) -> tuple[Array, Array]:
        V_AB = self._B.CalcSpatialVelocity(self._context, self._A, self._A)
        R_AB = self._plant.CalcRelativeRotationMatrix(self._context, self._A, self._B).matrix()
        w, v = V_AB.rotational(), V_AB.Shift(R_AB @ self._p_BCo).translational()
        w_value, w_slopes = values_of(w), derivatives_of(w, x.size)
        value, jacobian = values_of(v), derivatives_of(v, x.size)
        if self._direction is None:
            return value, jacobian
        square = float(w_value @ w_value)
        length = math.sqrt(square + _LEAST_SPEED**2)
        cosine = float(w_value @ self._direction) / length
        by_w = np.array([2.0 * w_value, (self._direction - cosine * w_value / length) / length])
        return np.array([*value, square, cosine]), np.vstack((jacobian, by_w @ w_slopes))


class CentroidalMomentumConstraint(PlantFunction, Constraint):
    """h_WC(q, v) - h = 0 for the momentum of model instances about their centre of mass C, expressed in the world.

    Variables: [q, v, h], with h = [angular; linear] [N m s, N s], shape [6]; with `angular_only` its first three.

    Args:
        plant: a finalized plant of AutoDiffXd; of floats, it is copied with all its diagram.
        model_instances: of which models; None for all.
        plant_context: of the plant; it is moved, or its copy.
        angular_only: whether the angular momentum alone counts.

    Raises:
        RuntimeError: the models have no mass.

    Orin and Goswami (2008), Centroidal momentum matrix of a humanoid robot.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        model_instances: Sequence[ModelInstanceIndex] | None,
        plant_context: Context,
        angular_only: bool,
    ) -> None:
        self._take(plant, plant_context)
        self._instances: Any = () if model_instances is None else (list(model_instances),)
        self._rows = 3 if angular_only else 6
        nothing = np.zeros(self._rows)
        num_vars = self._num_state_vars() + self._rows
        Constraint.__init__(self, num_vars, nothing, nothing, "Centroidal momentum constraint")

    def _num_state_vars(self) -> int:
        return self._plant.num_multibody_states()

    def _at(self, x: Array) -> tuple[Array, Array]:
        plant, context, size = self._plant, self._context, self._num_state_vars()
        p_WC = plant.CalcCenterOfMassPositionInWorld(context, *self._instances)
        of: Any = *self._instances, p_WC
        L_WC = plant.CalcSpatialMomentumInWorldAboutPoint(context, *of)
        h = L_WC.get_coeffs()[: self._rows]
        return values_of(h) - x[size:], np.hstack((derivatives_of(h, size), -np.eye(self._rows)))
