"""Spatial force on a body and spatial momentum of a body, both about a point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy.typing as npt

from merganser.multibody.math.spatial_vector import SpatialVector
from merganser.multibody.math.vectors import as_vector, cross, dot

if TYPE_CHECKING:
    from merganser.multibody.math.spatial_velocity import SpatialVelocity


class _MomentVector(SpatialVector):
    """Abstract: a vector and its moment about a point, dual to a spatial velocity."""

    def Shift(self, offset: npt.ArrayLike) -> Self:
        """Returns this vector about the point Q instead of P: the moment changes by -p_PQ x (lower half).

        Args:
            offset: p_PQ_E, from the present point P to the new point Q [m], shape [3].
        """
        p_PQ_E = as_vector(offset, 3, "offset")
        moment_P, vector = self._coeffs[:3], self._coeffs[3:]
        return self._from_parts(moment_P - cross(p_PQ_E, vector), vector)

    def dot(self, velocity: SpatialVelocity) -> Any:
        """Returns the scalar product with V_MBp_E, the velocity of the frame at the same point.

        Args:
            velocity: V_MBp_E, expressed in the frame of this vector.

        Raises:
            TypeError: if `velocity` is not a SpatialVelocity.
        """
        from merganser.multibody.math.spatial_velocity import SpatialVelocity

        if not isinstance(velocity, SpatialVelocity):
            kind, other = type(self).__name__, type(velocity).__name__
            raise TypeError(f"{kind}.dot() takes a SpatialVelocity, not a {other}.")
        return dot(self._coeffs, velocity._coeffs)

    def __matmul__(self, velocity: SpatialVelocity) -> Any:
        return self.dot(velocity)


class SpatialForce(_MomentVector):
    """F_Bp_E: torque tau_Bp_E [N m] about the point Bp over the force f_Bp_E [N]; `dot` gives its power [W].

    Args:
        tau: rotational part, shape [3].
        f: translational part, shape [3].
        F: both together, shape [6], instead of `tau` and `f`.
    """

    _keywords = ("tau", "f", "F")


class SpatialMomentum(_MomentVector):
    """L_MSP_E: angular momentum h_MSP_E [N m s] about P over the linear momentum l_MS_E [N s].

    `dot` with the velocity of the body's frame at P gives twice the kinetic energy in M [J].

    Args:
        h: rotational part, shape [3].
        l: translational part, shape [3].
        L: both together, shape [6], instead of `h` and `l`.
    """

    _keywords = ("h", "l", "L")
