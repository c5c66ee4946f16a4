"""Bounds on velocities of a frame, and the momentum about the centre of mass as a variable of programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.optimization import Constraint
from merganser.multibody.inverse_kinematics.posture_functions import finite_vector, unit_vector
from merganser.multibody.optimization.plant_functions import PlantFunction, derivatives_of, values_of
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame, ModelInstanceIndex

Array = NDArray[np.float64]

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
