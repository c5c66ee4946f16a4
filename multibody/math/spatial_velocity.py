"""Spatial velocity and spatial acceleration of a frame."""

from __future__ import annotations

from typing import Any, overload

import numpy.typing as npt

from merganser.framework.math._scalars import expect_instance
from merganser.multibody.math.spatial_force import SpatialForce, SpatialMomentum
from merganser.multibody.math.spatial_vector import SpatialVector
from merganser.multibody.math.vectors import as_vector, cross, dot


class SpatialVelocity(SpatialVector):
    """V_MB_E: angular velocity w_MB_E [rad/s] over the velocity v_MBo_E of the origin [m/s].

    Args:
        w: rotational part, shape [3].
        v: translational part, shape [3].
        V: both together, shape [6], instead of `w` and `v`.
    """

    _keywords = ("w", "v", "V")

    def Shift(self, offset: npt.ArrayLike) -> SpatialVelocity:
        """Returns V_MC_E of a frame C fixed to B: v_MCo = v_MBo + w_MB x p_BoCo.

        Args:
            offset: p_BoCo_E, from Bo to Co [m], shape [3].
        """
        p_BoCo_E = as_vector(offset, 3, "offset")
        w_MB_E, v_MBo_E = self._coeffs[:3], self._coeffs[3:]
        return SpatialVelocity._from_parts(w_MB_E, v_MBo_E + cross(w_MB_E, p_BoCo_E))

    def ComposeWithMovingFrameVelocity(
        self, position_of_moving_frame: npt.ArrayLike, velocity_of_moving_frame: SpatialVelocity
    ) -> SpatialVelocity:
        """Returns V_MC_E of a frame C that moves in B: this velocity shifted to Co, plus V_BC_E.

        Args:
            position_of_moving_frame: p_BoCo_E [m], shape [3].
            velocity_of_moving_frame: V_BC_E.

        Raises:
            TypeError: if `velocity_of_moving_frame` is not a SpatialVelocity.
        """
        where = "SpatialVelocity.ComposeWithMovingFrameVelocity"
        expect_instance(velocity_of_moving_frame, SpatialVelocity, f"{where}: velocity_of_moving_frame")
        return self.Shift(position_of_moving_frame) + velocity_of_moving_frame

    @overload
    def dot(self, force: SpatialForce) -> Any: ...
    @overload
    def dot(self, force: SpatialMomentum) -> Any: ...
    @overload
    def dot(self, *, momentum: SpatialMomentum) -> Any: ...
    def dot(
        self, force: SpatialForce | SpatialMomentum | None = None, *, momentum: SpatialMomentum | None = None
    ) -> Any:
        """Returns the power of a force [W], or twice the kinetic energy of a momentum [J].

        Args:
            force: F_Bo_E or L_MBo_E, about the origin Bo and expressed in the frame of this velocity.
            momentum: L_MBo_E by name, instead of `force`.

        Raises:
            TypeError: unless exactly one SpatialForce or SpatialMomentum is given.
        """
        other = momentum if force is None else force
        if not isinstance(other, (SpatialForce, SpatialMomentum)) or (force is not None and momentum is not None):
            raise TypeError(
                "SpatialVelocity.dot() takes one SpatialForce or one SpatialMomentum, not a "
                f"{type(other).__name__}{'' if momentum is None else ' together with a momentum'}."
            )
        return dot(self._coeffs, other._coeffs)

    def __matmul__(self, other: SpatialForce | SpatialMomentum) -> Any:
        return self.dot(other)


class SpatialAcceleration(SpatialVector):
    """A_MB_E: angular acceleration alpha_MB_E [rad/s^2] over the acceleration a_MBo_E of the origin [m/s^2].

    It is the derivative in M of V_MB, so a_MBo is the second derivative of the position of Bo in M.
    (Featherstone's spatial acceleration has a_MBo - w_MB x v_MBo in that place.)

    Args:
        alpha: rotational part, shape [3].
        a: translational part, shape [3].
        A: both together, shape [6], instead of `alpha` and `a`.
    """

    _keywords = ("alpha", "a", "A")

    def Shift(self, offset: npt.ArrayLike, angular_velocity_of_this_frame: npt.ArrayLike) -> SpatialAcceleration:
        """Returns A_MC_E of a frame C fixed to B: a_MCo = a_MBo + alpha x p + w x (w x p), with p = p_BoCo.

        Args:
            offset: p_BoCo_E, from Bo to Co [m], shape [3].
            angular_velocity_of_this_frame: w_MB_E [rad/s], shape [3].
        """
        p_BoCo_E = as_vector(offset, 3, "offset")
        w_MB_E = as_vector(angular_velocity_of_this_frame, 3, "angular_velocity_of_this_frame")
        alpha_MB_E, a_MBo_E = self._coeffs[:3], self._coeffs[3:]
        a_MCo_E = a_MBo_E + cross(alpha_MB_E, p_BoCo_E) + cross(w_MB_E, cross(w_MB_E, p_BoCo_E))
        return SpatialAcceleration._from_parts(alpha_MB_E, a_MCo_E)

    def ShiftWithZeroAngularVelocity(self, offset: npt.ArrayLike) -> SpatialAcceleration:
        """Returns A_MC_E of a frame C fixed to B when w_MB is zero: Shift without its centripetal term.

        Args:
            offset: p_BoCo_E, from Bo to Co [m], shape [3].
        """
        p_BoCo_E = as_vector(offset, 3, "offset")
        alpha_MB_E, a_MBo_E = self._coeffs[:3], self._coeffs[3:]
        return SpatialAcceleration._from_parts(alpha_MB_E, a_MBo_E + cross(alpha_MB_E, p_BoCo_E))

    def ComposeWithMovingFrameAcceleration(
        self,
        position_of_moving_frame: npt.ArrayLike,
        angular_velocity_of_this_frame: npt.ArrayLike,
        velocity_of_moving_frame: SpatialVelocity,
        acceleration_of_moving_frame: SpatialAcceleration,
    ) -> SpatialAcceleration:
        """Returns A_MC_E of a frame C that moves in B.

            alpha_MC = alpha_MB + alpha_BC + w_MB x w_BC
            a_MCo = a_MBo + alpha_MB x p + w_MB x (w_MB x p) + 2 w_MB x v_BCo + a_BCo,   p = p_BoCo

        Args:
            position_of_moving_frame: p_BoCo_E [m], shape [3].
            angular_velocity_of_this_frame: w_MB_E [rad/s], shape [3].
            velocity_of_moving_frame: V_BC_E.
            acceleration_of_moving_frame: A_BC_E.

        Raises:
            TypeError: if the velocity or acceleration of the moving frame is not a spatial one.
        """
        where = "SpatialAcceleration.ComposeWithMovingFrameAcceleration"
        expect_instance(velocity_of_moving_frame, SpatialVelocity, f"{where}: velocity_of_moving_frame")
        expect_instance(acceleration_of_moving_frame, SpatialAcceleration, f"{where}: acceleration_of_moving_frame")
        w_MB_E = as_vector(angular_velocity_of_this_frame, 3, "angular_velocity_of_this_frame")
        w_BC_E, v_BCo_E = velocity_of_moving_frame._coeffs[:3], velocity_of_moving_frame._coeffs[3:]
        coriolis = SpatialAcceleration._from_parts(cross(w_MB_E, w_BC_E), 2.0 * cross(w_MB_E, v_BCo_E))
        return self.Shift(position_of_moving_frame, w_MB_E) + coriolis + acceleration_of_moving_frame
