"""Spatial inertia of a rigid body about a point."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.math import SpatialAcceleration, SpatialForce, SpatialMomentum, SpatialVelocity
from merganser.multibody.math.vectors import as_vector, skew
from merganser.multibody.tree.inertia.rotational_inertia import RotationalInertia, point_inertia
from merganser.multibody.tree.inertia.unit_inertia import UnitInertia
from merganser.multibody.tree.inertia.validity import (
    check_positive,
    real_values,
    triangle_inequality_violation,
)

if TYPE_CHECKING:
    from merganser.framework.math import RotationMatrix

__all__ = ["SpatialInertia"]

Array = npt.NDArray[Any]


class SpatialInertia:
    """M_SP_E: mass, centre of mass and unit inertia of the body S about the point P, expressed in E.

    Args:
        mass: mass of S [kg].
        p_PScm_E: position of the centre of mass from P [m], shape [3].
        G_SP_E: unit inertia of S about P [m^2].
        skip_validity_check: whether to accept what no body can have.

    Raises:
        RuntimeError: if the mass is negative or not finite, or the inertia about the centre of mass has a
            negative principal moment or violates the triangle inequality.
    """

    def __init__(
        self, mass: Any, p_PScm_E: npt.ArrayLike, G_SP_E: UnitInertia, skip_validity_check: bool = False
    ) -> None:
        if not isinstance(G_SP_E, UnitInertia):
            raise TypeError(
                f"SpatialInertia(): G_SP_E must be a UnitInertia, not a {type(G_SP_E).__name__}. From a "
                "RotationalInertia about the centre of mass, use SpatialInertia.MakeFromCentralInertia()."
            )
        self._mass = float(mass) if isinstance(mass, (int, np.integer)) else mass
        self._p_PScm_E = as_vector(p_PScm_E, 3, "SpatialInertia: p_PScm_E")
        self._G_SP_E = G_SP_E.__copy__()
        if not skip_validity_check:
            fault = self._fault()
            if fault is not None:
                raise RuntimeError(f"SpatialInertia(): not physically valid: {fault}.{self._description()}")

    @staticmethod
    def MakeFromCentralInertia(
        mass: Any, p_PScm_E: npt.ArrayLike, I_SScm_E: RotationalInertia
    ) -> SpatialInertia:
        """Returns M_SP_E from the rotational inertia about the centre of mass.

        Args:
            mass: mass of S, positive [kg].
            p_PScm_E: position of the centre of mass from P [m], shape [3].
            I_SScm_E: rotational inertia about Scm [kg m^2].

        Raises:
            RuntimeError: if the mass is not positive and finite or the result is not physically valid.
        """
        check_positive("MakeFromCentralInertia", "mass", mass)
        p = as_vector(p_PScm_E, 3, "MakeFromCentralInertia: p_PScm_E")
        G_SScm_E = UnitInertia().SetFromRotationalInertia(I_SScm_E, mass)
        return SpatialInertia(mass, p, G_SScm_E.ShiftFromCenterOfMass(p))

    @staticmethod
    def Zero() -> SpatialInertia:
        """Returns the inertia of nothing: no mass, centre of mass at P, zero unit inertia."""
        return SpatialInertia(0.0, np.zeros(3), UnitInertia(0.0, 0.0, 0.0))

    @staticmethod
    def NaN() -> SpatialInertia:
        """Returns an inertia whose elements are all NaN."""
        return SpatialInertia(np.nan, np.full(3, np.nan), UnitInertia(), skip_validity_check=True)

    # -- elements --------------------------------------------------------------------------------------------

    def get_mass(self) -> Any:
        """Returns the mass [kg]."""
        return self._mass

    def get_com(self) -> Array:
        """Returns a copy of p_PScm_E, the centre of mass from P [m], shape [3]."""
        return self._p_PScm_E.copy()

    def get_unit_inertia(self) -> UnitInertia:
        """Returns a copy of G_SP_E [m^2]."""
        return self._G_SP_E.__copy__()

    def CalcComMoment(self) -> Array:
        """Returns mass * p_PScm_E [kg m], shape [3]."""
        return self._mass * self._p_PScm_E

    def CalcRotationalInertia(self) -> RotationalInertia:
        """Returns I_SP_E = mass * G_SP_E [kg m^2]."""
        return self._mass * self._G_SP_E

    def CopyToFullMatrix6(self) -> Array:
        """Returns [I, m px; -m px, m 1] with p = p_PScm_E, shape [6, 6]."""
        m_px = self._mass * skew(self._p_PScm_E)
        I_SP_E = self._mass * self._G_SP_E.CopyToFullMatrix3()
        return np.block([[I_SP_E, m_px], [-m_px, self._mass * np.eye(3)]])

    def IsNaN(self) -> bool:
        """Returns whether any element is NaN."""
        values = real_values(np.array([self._mass, *self._p_PScm_E]))
        return self._G_SP_E.IsNaN() or (values is not None and bool(np.isnan(values).any()))

    def IsZero(self) -> bool:
        """Returns whether mass, centre of mass and unit inertia are all zero."""
        values = real_values(np.array([self._mass, *self._p_PScm_E]))
        return self._G_SP_E.IsZero() and values is not None and not values.any()

    def SetNaN(self) -> None:
        """Makes all elements NaN."""
        self._mass, self._p_PScm_E = np.nan, np.full(3, np.nan)
        self._G_SP_E.SetToNaN()

    def IsPhysicallyValid(self) -> bool:
        """Returns whether some body could have this inertia; symbolic elements cannot be judged and pass."""
        return self._fault() is None

    def _fault(self) -> str | None:
        """Says why no body can have this inertia, or None."""
        mass = real_values(self._mass)
        if mass is None:
            return None
        if not (np.isfinite(mass) and mass >= 0.0):
            return f"the mass must be finite and not negative, but is {self._mass}"
        G_SP_E, p = real_values(self._G_SP_E.CopyToFullMatrix3()), real_values(self._p_PScm_E)
        if G_SP_E is None or p is None:
            return None
        if not (np.isfinite(G_SP_E).all() and np.isfinite(p).all()):
            return "the centre of mass and the unit inertia must be finite"
        moments = np.linalg.eigvalsh(G_SP_E - point_inertia(p))
        unit = float(mass) if mass > 0.0 else 1.0  # a massless body must still have a possible unit inertia
        return triangle_inequality_violation(unit * moments, unit * abs(G_SP_E).max())

    def _description(self) -> str:
        """The values that an error message shows."""
        lines = f"\n mass = {self._mass} kg\n centre of mass p_PScm_E = {self._p_PScm_E} m"
        numbers = real_values(np.concatenate([[self._mass], self._p_PScm_E, self._G_SP_E._I.ravel()]))
        if numbers is not None and np.isfinite(numbers).all():
            p, G_SP_E = numbers[1:4], numbers[4:].reshape(3, 3)
            moments = numbers[0] * np.linalg.eigvalsh(G_SP_E - point_inertia(p))
            lines += f"\n principal moments about the centre of mass = {moments} kg m^2"
        return lines + "\nCorrect the values, or pass skip_validity_check=True to keep them."

    # -- another frame, another point, another body ----------------------------------------------------------

    def ReExpress(self, R_AE: RotationMatrix) -> SpatialInertia:
        """Returns M_SP_A, the same inertia expressed in A."""
        p_PScm_A = R_AE.matrix() @ self._p_PScm_E
        return SpatialInertia(self._mass, p_PScm_A, self._G_SP_E.ReExpress(R_AE), skip_validity_check=True)

    def Shift(self, p_PQ_E: npt.ArrayLike) -> SpatialInertia:
        """Returns M_SQ_E, about Q instead of P (parallel axes twice, by way of the centre of mass).

        Args:
            p_PQ_E: from P to Q [m], shape [3].
        """
        p_QScm_E = self._p_PScm_E - as_vector(p_PQ_E, 3, "Shift: p_PQ_E")
        G_SQ_E = self._G_SP_E.ShiftToCenterOfMass(self._p_PScm_E).ShiftFromCenterOfMass(p_QScm_E)
        return SpatialInertia(self._mass, p_QScm_E, G_SQ_E, skip_validity_check=True)

    def __add__(self, other: SpatialInertia) -> SpatialInertia:
        """Returns the inertia of both bodies together, about the common point in the common frame."""
        if not isinstance(other, SpatialInertia):
            return NotImplemented
        mass = self._mass + other._mass
        massless = real_values(mass) == 0.0
        # Without mass the weighted mean does not exist; its limit for equal masses does.
        mine, others, total = (0.5, 0.5, 1.0) if massless else (self._mass, other._mass, mass)
        p = (mine * self._p_PScm_E + others * other._p_PScm_E) / total
        G = (mine * self._G_SP_E.CopyToFullMatrix3() + others * other._G_SP_E.CopyToFullMatrix3()) / total
        return SpatialInertia(mass, p, UnitInertia._from_matrix(G), skip_validity_check=True)

    def __iadd__(self, other: SpatialInertia) -> SpatialInertia:
        if not isinstance(other, SpatialInertia):
            return NotImplemented
        total = self + other
        self._mass, self._p_PScm_E, self._G_SP_E = total._mass, total._p_PScm_E, total._G_SP_E
        return self

    def __mul__(self, motion: SpatialAcceleration | SpatialVelocity) -> SpatialForce | SpatialMomentum:
        """Returns F_Sp_E = M A (without gyroscopic terms), or the momentum L_WSp_E = M V."""
        if isinstance(motion, SpatialVelocity):
            return SpatialMomentum(self.CopyToFullMatrix6() @ motion.get_coeffs())
        if isinstance(motion, SpatialAcceleration):
            return SpatialForce(self.CopyToFullMatrix6() @ motion.get_coeffs())
        return NotImplemented

    def __copy__(self) -> SpatialInertia:
        return SpatialInertia(self._mass, self._p_PScm_E, self._G_SP_E, skip_validity_check=True)

    def __deepcopy__(self, memo: dict[int, Any]) -> SpatialInertia:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"SpatialInertia(mass={self._mass}, p_PScm_E={self._p_PScm_E.tolist()}, G_SP_E={self._G_SP_E})"

    # -- solids, about their centre of mass unless said otherwise --------------------------------------------

    @staticmethod
    def PointMass(mass: Any, position: npt.ArrayLike) -> SpatialInertia:
        """Particle of the given mass [kg] at `position` p_PQ_E [m], about P."""
        return SpatialInertia(mass, position, UnitInertia.PointMass(position))

    @staticmethod
    def SolidBoxWithMass(mass: Any, lx: Any, ly: Any, lz: Any) -> SpatialInertia:
        """Solid box of the given mass [kg] with edges lx, ly, lz [m]."""
        _check("SolidBoxWithMass", mass=mass, lx=lx, ly=ly, lz=lz)
        return _central(mass, UnitInertia.SolidBox(lx, ly, lz))

    @staticmethod
    def SolidBoxWithDensity(density: Any, lx: Any, ly: Any, lz: Any) -> SpatialInertia:
        """Solid box of the given density [kg/m^3] with edges lx, ly, lz [m]."""
        _check("SolidBoxWithDensity", density=density, lx=lx, ly=ly, lz=lz)
        return SpatialInertia.SolidBoxWithMass(density * lx * ly * lz, lx, ly, lz)

    @staticmethod
    def SolidCubeWithMass(mass: Any, length: Any) -> SpatialInertia:
        """Solid cube of the given mass [kg] and edge [m]."""
        _check("SolidCubeWithMass", mass=mass, length=length)
        return _central(mass, UnitInertia.SolidCube(length))

    @staticmethod
    def SolidCubeWithDensity(density: Any, length: Any) -> SpatialInertia:
        """Solid cube of the given density [kg/m^3] and edge [m]."""
        _check("SolidCubeWithDensity", density=density, length=length)
        return SpatialInertia.SolidCubeWithMass(density * length**3, length)

    @staticmethod
    def SolidSphereWithMass(mass: Any, radius: Any) -> SpatialInertia:
        """Solid sphere of the given mass [kg] and radius [m]."""
        _check("SolidSphereWithMass", mass=mass, radius=radius)
        return _central(mass, UnitInertia.SolidSphere(radius))

    @staticmethod
    def SolidSphereWithDensity(density: Any, radius: Any) -> SpatialInertia:
        """Solid sphere of the given density [kg/m^3] and radius [m]."""
        _check("SolidSphereWithDensity", density=density, radius=radius)
        return SpatialInertia.SolidSphereWithMass(density * 4.0 / 3.0 * math.pi * radius**3, radius)

    @staticmethod
    def HollowSphereWithMass(mass: Any, radius: Any) -> SpatialInertia:
        """Thin spherical shell of the given mass [kg] and radius [m]."""
        _check("HollowSphereWithMass", mass=mass, radius=radius)
        return _central(mass, UnitInertia.HollowSphere(radius))

    @staticmethod
    def HollowSphereWithDensity(area_density: Any, radius: Any) -> SpatialInertia:
        """Thin spherical shell of the given mass per area [kg/m^2] and radius [m]."""
        _check("HollowSphereWithDensity", area_density=area_density, radius=radius)
        return SpatialInertia.HollowSphereWithMass(area_density * 4.0 * math.pi * radius**2, radius)

    @staticmethod
    def SolidEllipsoidWithMass(mass: Any, a: Any, b: Any, c: Any) -> SpatialInertia:
        """Solid ellipsoid of the given mass [kg] with semi-axes a, b, c [m]."""
        _check("SolidEllipsoidWithMass", mass=mass, a=a, b=b, c=c)
        return _central(mass, UnitInertia.SolidEllipsoid(a, b, c))

    @staticmethod
    def SolidEllipsoidWithDensity(density: Any, a: Any, b: Any, c: Any) -> SpatialInertia:
        """Solid ellipsoid of the given density [kg/m^3] with semi-axes a, b, c [m]."""
        _check("SolidEllipsoidWithDensity", density=density, a=a, b=b, c=c)
        return SpatialInertia.SolidEllipsoidWithMass(density * 4.0 / 3.0 * math.pi * a * b * c, a, b, c)

    @staticmethod
    def SolidCylinderWithMass(
        mass: Any, radius: Any, length: Any, unit_vector: npt.ArrayLike
    ) -> SpatialInertia:
        """Solid cylinder of the given mass [kg], radius and length [m], its axis along `unit_vector`."""
        _check("SolidCylinderWithMass", mass=mass, radius=radius, length=length)
        return _central(mass, UnitInertia.SolidCylinder(radius, length, unit_vector))

    @staticmethod
    def SolidCylinderWithDensity(
        density: Any, radius: Any, length: Any, unit_vector: npt.ArrayLike
    ) -> SpatialInertia:
        """Solid cylinder of the given density [kg/m^3], radius and length [m], along `unit_vector`."""
        _check("SolidCylinderWithDensity", density=density, radius=radius, length=length)
        mass = density * math.pi * radius**2 * length
        return SpatialInertia.SolidCylinderWithMass(mass, radius, length, unit_vector)

    @staticmethod
    def SolidCylinderWithMassAboutEnd(
        mass: Any, radius: Any, length: Any, unit_vector: npt.ArrayLike
    ) -> SpatialInertia:
        """Solid cylinder about the centre P of an end face; `unit_vector` points from P into the cylinder."""
        central = SpatialInertia.SolidCylinderWithMass(mass, radius, length, unit_vector)
        return central.Shift(-0.5 * length * as_vector(unit_vector, 3, "unit_vector"))

    @staticmethod
    def SolidCylinderWithDensityAboutEnd(
        density: Any, radius: Any, length: Any, unit_vector: npt.ArrayLike
    ) -> SpatialInertia:
        """As SolidCylinderWithMassAboutEnd, for a given density [kg/m^3]."""
        _check("SolidCylinderWithDensityAboutEnd", density=density, radius=radius, length=length)
        mass = density * math.pi * radius**2 * length
        return SpatialInertia.SolidCylinderWithMassAboutEnd(mass, radius, length, unit_vector)

    @staticmethod
    def SolidCapsuleWithMass(
        mass: Any, radius: Any, length: Any, unit_vector: npt.ArrayLike
    ) -> SpatialInertia:
        """Solid capsule of the given mass [kg]; `length` [m] is that between the half balls."""
        _check("SolidCapsuleWithMass", mass=mass, radius=radius, length=length)
        return _central(mass, UnitInertia.SolidCapsule(radius, length, unit_vector))

    @staticmethod
    def SolidCapsuleWithDensity(
        density: Any, radius: Any, length: Any, unit_vector: npt.ArrayLike
    ) -> SpatialInertia:
        """As SolidCapsuleWithMass, for a given density [kg/m^3]."""
        _check("SolidCapsuleWithDensity", density=density, radius=radius, length=length)
        mass = density * math.pi * radius**2 * (length + 4.0 / 3.0 * radius)
        return SpatialInertia.SolidCapsuleWithMass(mass, radius, length, unit_vector)

    @staticmethod
    def ThinRodWithMass(mass: Any, length: Any, unit_vector: npt.ArrayLike) -> SpatialInertia:
        """Thin rod of the given mass [kg] and length [m] along `unit_vector`."""
        _check("ThinRodWithMass", mass=mass, length=length)
        return _central(mass, UnitInertia.ThinRod(length, unit_vector))

    @staticmethod
    def ThinRodWithMassAboutEnd(mass: Any, length: Any, unit_vector: npt.ArrayLike) -> SpatialInertia:
        """Thin rod about its end P; `unit_vector` points from P into the rod."""
        central = SpatialInertia.ThinRodWithMass(mass, length, unit_vector)
        return central.Shift(-0.5 * length * as_vector(unit_vector, 3, "unit_vector"))


def _central(mass: Any, G_SScm_E: UnitInertia) -> SpatialInertia:
    return SpatialInertia(mass, np.zeros(3), G_SScm_E)


def _check(where: str, **values: Any) -> None:
    for name, value in values.items():
        check_positive(where, name, value)
