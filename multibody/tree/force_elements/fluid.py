"""Forces of a fluid around bodies: drag of a box, and drag and lift of an ellipsoid."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RigidTransform
from merganser.multibody.kernels.elements.fluid_box import FLUID_BOX
from merganser.multibody.kernels.elements.fluid_ellipsoid import FLUID_ELLIPSOID
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.element import MultibodyElement
from merganser.multibody.tree.force_elements.force_element import ForceElement
from merganser.multibody.tree.rigid_body import RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context

Vector = npt.NDArray[np.float64]


class _FluidForce(ForceElement):
    """Base of both: the body, the pose of the shape on it, and the fluid."""

    def __init__(
        self,
        body: RigidBody,
        X_BG: RigidTransform,
        size: npt.ArrayLike,
        density: float,
        viscosity: float = 0.0,
        wind: npt.ArrayLike = (0.0, 0.0, 0.0),
    ) -> None:
        if not isinstance(body, RigidBody):
            raise TypeError(f"{type(self).__name__}(): body must be a RigidBody, not a {type(body).__name__}.")
        if not isinstance(X_BG, RigidTransform):
            raise TypeError(f"{type(self).__name__}(): X_BG must be a RigidTransform, not a {type(X_BG).__name__}.")
        super().__init__(body.model_instance())
        self._body, self._X_BG = body, X_BG
        self._size, self._wind = self._numbers("size", size, 3), self._numbers("wind", wind, 3)
        if not self._size.min() > 0.0:
            raise ValueError(f"{type(self).__name__}(): the size must be positive, but is {self._size}.")
        self._density = self._checked("density", density, 0.0)
        self._viscosity = self._checked("viscosity", viscosity, 0.0)

    def body(self) -> RigidBody:
        """Returns the body in the fluid."""
        return self._body

    def density(self) -> float:
        """Returns the density of the fluid that new Contexts start with [kg/m^3]."""
        return self._density

    def viscosity(self) -> float:
        """Returns the viscosity of the fluid that new Contexts start with [Pa s]."""
        return self._viscosity

    def wind(self) -> Vector:
        """Returns the velocity of the fluid that new Contexts start with, in the world [m/s], shape [3]."""
        return self._wind.copy()

    def GetWind(self, context: Context) -> npt.NDArray[Any]:
        """Returns the velocity of the fluid in the Context, in the world [m/s], shape [3]."""
        return np.array(self._constants(context)["X_L1C"][:, 3])

    def SetWind(self, context: Context, wind: npt.ArrayLike) -> None:
        """Sets the velocity of the fluid in the Context, in the world [m/s], shape [3]; ValueError if not finite."""
        constants = self.GetParentPlant()._views.mutable_constants(context)
        constants["X_L1C"][self._index - 1, :, 3] = self._numbers("wind", wind, 3)

    def _numbers(self, name: str, values: npt.ArrayLike, size: int) -> Vector:
        vector: Vector = as_vector(values, size, f"{type(self).__name__}: {name}").astype(np.float64)
        if not np.isfinite(vector).all():
            raise ValueError(f"{type(self).__name__}(): {name} must be finite, but is {vector}.")
        return vector

    def _parts(self) -> tuple[MultibodyElement, ...]:
        return (self._body,)

    def _write_constants(self, record: Any) -> None:
        record["X_L0A"] = self._X_BG.GetAsMatrix34()
        record["X_L1C"][:, 0], record["X_L1C"][:, 3] = self._size, self._wind
        record["constants"][:2] = self._density, self._viscosity


class FluidForceOnBox(_FluidForce):
    """The drag on a box in a fluid that fills the world, by Stokes' law and by pressure on its faces.

    Args:
        body: on which the box is.
        X_BG: pose of the middle of the box in the body.
        size: lengths of the box along its axes, positive [m], shape [3].
        density: of the fluid, not negative [kg/m^3].
        viscosity: of the fluid, not negative [Pa s].
        wind: velocity of the fluid in the world [m/s], shape [3].

    Raises:
        RuntimeError: density or viscosity are negative or not finite.
        ValueError: size or wind have not three finite numbers, or a length is not positive.
        TypeError: body or X_BG is of another type.
    """

    kind = FLUID_BOX


class FluidForceOnEllipsoid(_FluidForce):
    """Drag, lift and velocity-dependent forces of the added mass of an ellipsoid in a fluid that fills the world.

    Args:
        body: on which the ellipsoid is.
        X_BG: pose of the centre of the ellipsoid in the body.
        size: semi-axes, positive [m], shape [3].
        density: of the fluid, not negative [kg/m^3].
        viscosity: of the fluid, not negative [Pa s].
        wind: velocity of the fluid in the world [m/s], shape [3].
        coefficients: of blunt drag, slender drag, angular drag, Kutta lift and Magnus lift, dimensionless, shape [5].

    Raises:
        RuntimeError: density or viscosity are negative or not finite.
        ValueError: other numbers are not finite or not as many as they should be, or a semi-axis is not positive.
        TypeError: body or X_BG is of another type.
    """

    kind = FLUID_ELLIPSOID

    def __init__(
        self,
        body: RigidBody,
        X_BG: RigidTransform,
        size: npt.ArrayLike,
        density: float,
        viscosity: float = 0.0,
        wind: npt.ArrayLike = (0.0, 0.0, 0.0),
        coefficients: npt.ArrayLike = (0.5, 0.25, 1.5, 1.0, 1.0),
    ) -> None:
        super().__init__(body, X_BG, size, density, viscosity, wind)
        self._coefficients = self._numbers("coefficients", coefficients, 5)

    def _write_constants(self, record: Any) -> None:
        super()._write_constants(record)
        record["X_L1C"][:, 1], record["X_L1C"][:, 2] = added_mass_of_ellipsoid(self._size)
        record["constants"][2:7] = self._coefficients


def added_mass_of_ellipsoid(size: npt.ArrayLike) -> tuple[Vector, Vector]:
    """Added mass and added moments of inertia of an ellipsoid, for a fluid of density 1.

    With kappa_i = a_x a_y a_z int_0^inf dl / ((a_i^2 + l) ((a_x^2 + l) (a_y^2 + l) (a_z^2 + l))^(1/2)), which is an
    elliptic integral of Carlson's, and the volume V,

        m_i = V kappa_i / (2 - kappa_i)
        j_i = V/5 (a_j^2 - a_k^2)^2 (kappa_k - kappa_j) / (2 (a_j^2 - a_k^2) + (a_j^2 + a_k^2) (kappa_j - kappa_k))

    Args:
        size: semi-axes [m], shape [3].

    Returns:
        m, shape [3] [m^3], and j, shape [3] [m^5].

    Source: H. Lamb, Hydrodynamics (1932), articles 114 and 115.
    """
    from scipy.special import elliprd  # which few need

    a = np.asarray(size, float)
    squares, volume = a * a, 4.0 / 3.0 * math.pi * float(a.prod())
    kappa = np.array([2.0 / 3.0 * a.prod() * elliprd(squares[i - 2], squares[i - 1], squares[i]) for i in range(3)])
    moments = np.zeros(3)
    for i in range(3):
        j, k = i - 2, i - 1
        difference = squares[j] - squares[k]
        below = 2.0 * difference + (squares[j] + squares[k]) * (kappa[j] - kappa[k])
        if below != 0.0:  # of a body of revolution about axis i the fluid stays at rest
            moments[i] = volume / 5.0 * difference**2 * (kappa[k] - kappa[j]) / below
    return volume * kappa / (2.0 - kappa), moments
