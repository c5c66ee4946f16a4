"""Spatial inertia of a rigid body about a point."""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from merganser.framework.core.scalars.scalars import cast, cast_array, scalar_of_array
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.framework.math._scalars import expect_instance, sqrt
from merganser.multibody.math import SpatialAcceleration, SpatialForce, SpatialMomentum, SpatialVelocity
from merganser.multibody.math.spatial_vector import as_scalar, as_vector, cross, skew
from merganser.multibody.tree.inertia.rotational_inertia import RotationalInertia, point_inertia
from merganser.multibody.tree.inertia.unit_inertia import UnitInertia
from merganser.multibody.tree.inertia.validity import (
    check_positive,
    is_zero,
    real_values,
    triangle_inequality_violation,
)

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
            negative principal moment or violates the triangle inequality. The message gives the principal
            moments. What depends on variables is not checked.
        TypeError: if an argument is not of the type above.
        ValueError: if p_PScm_E has not three entries.
    """

    __array_ufunc__ = None  # no products with arrays

    def __init__(
        self, mass: Any, p_PScm_E: npt.ArrayLike, G_SP_E: UnitInertia, skip_validity_check: bool = False
    ) -> None:
        if not isinstance(G_SP_E, UnitInertia):
            raise TypeError(
                f"SpatialInertia(): G_SP_E must be a UnitInertia, not a {type(G_SP_E).__name__}. From a "
                "RotationalInertia about the centre of mass, use SpatialInertia.MakeFromCentralInertia()."
            )
        self._mass = as_scalar(mass, "SpatialInertia: mass")
        self._p_PScm_E = as_vector(p_PScm_E, 3, "SpatialInertia: p_PScm_E")
        self._G_SP_E = G_SP_E.__copy__()
        if not skip_validity_check:
            fault = self._fault()
            if fault is not None:
                raise RuntimeError(f"SpatialInertia(): not physically valid: {fault}.{self._description()}")

    @classmethod
    def _from_parts(cls, mass: Any, p_PScm_E: Array, G_SP_E: UnitInertia) -> SpatialInertia:
        """Wraps parts without check or copy; the caller must not change them later."""
        inertia = cls.__new__(cls)
        inertia._mass, inertia._p_PScm_E, inertia._G_SP_E = mass, p_PScm_E, G_SP_E
        return inertia

    @staticmethod
    def MakeFromCentralInertia(mass: Any, p_PScm_E: npt.ArrayLike, I_SScm_E: RotationalInertia) -> SpatialInertia:
        """Returns M_SP_E from the rotational inertia about the centre of mass.

        Args:
            mass: mass of S, positive [kg].
            p_PScm_E: position of the centre of mass from P [m], shape [3].
            I_SScm_E: rotational inertia about Scm [kg m^2].

        Raises:
            RuntimeError: if the mass is not positive and finite or the result is not physically valid.
        """
        mass = as_scalar(mass, "MakeFromCentralInertia: mass")
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
        """Returns whether any element is NaN; elements that depend on variables are none."""
        values = real_values(np.array([self._mass, *self._p_PScm_E]))
        return self._G_SP_E.IsNaN() or (values is not None and bool(np.isnan(values).any()))

    def IsZero(self) -> Any:
        """Returns whether mass, centre of mass and unit inertia are all zero; a Formula, if variables decide."""
        return is_zero(np.array([self._mass, *self._p_PScm_E, *self._G_SP_E._I.flat]))

    def SetNaN(self) -> None:
        """Makes all elements NaN."""
        self._mass, self._p_PScm_E = np.nan, np.full(3, np.nan)
        self._G_SP_E.SetToNaN()

    def IsPhysicallyValid(self) -> bool:
        """Returns whether some body could have this inertia: the checks of the constructor.

        Raises:
            RuntimeError: if an element depends on variables.
        """
        if self._numbers() is None:
            raise RuntimeError(f"IsPhysicallyValid(): needs numbers, but variables decide on {self!r}.")
        return self._fault() is None

    def _numbers(self) -> tuple[float, Array, Array] | None:
        """The real numbers behind mass, p_PScm_E and G_SP_E, or None if one of them depends on variables."""
        mass, p, G = real_values(self._mass), real_values(self._p_PScm_E), real_values(self._G_SP_E._I)
        return None if mass is None or p is None or G is None else (float(mass), p, G)

    def _finite_numbers(self) -> tuple[float, Array, Array] | None:
        numbers = self._numbers()
        if numbers is None or not np.isfinite([numbers[0], *numbers[1], *numbers[2].flat]).all():
            return None
        return numbers

    def _fault(self) -> str | None:
        """Says why no body can have this inertia, or None."""
        numbers = self._numbers()
        if numbers is None:
            return None
        mass, p_PScm_E, G_SP_E = numbers
        if not 0.0 <= mass < math.inf:
            return f"the mass must be finite and not negative, but is {self._mass}"
        G_SScm_E = G_SP_E - point_inertia(p_PScm_E)
        if not np.isfinite(G_SScm_E).all():
            return "the centre of mass and the unit inertia must be finite"
        moments = mass * np.linalg.eigvalsh(G_SScm_E)
        return triangle_inequality_violation(moments, mass * abs(G_SP_E).max())

    def _description(self) -> str:
        """The values that an error message shows."""
        lines = f"\n mass = {self._mass} kg\n centre of mass p_PScm_E = {self._p_PScm_E} m"
        numbers = self._finite_numbers()
        if numbers is not None:
            mass, p_PScm_E, G_SP_E = numbers
            moments = mass * np.linalg.eigvalsh(G_SP_E - point_inertia(p_PScm_E))
            lines += f"\n principal moments about the centre of mass = {moments} kg m^2"
        return lines + "\nCorrect the values, or pass skip_validity_check=True to keep them."

    # -- equivalent bodies -----------------------------------------------------------------------------------

    def CalcPrincipalSemiDiametersAndPoseForSolidEllipsoid(self) -> tuple[Array, RigidTransform]:
        """Returns the semi-axes and the pose of the solid ellipsoid that has this inertia.

        Returns:
            the semi-axes in descending order [m], shape [3], and the pose of the frame A of the ellipsoid, whose
            origin is the centre of mass, in the frame with origin P and axes E. What would be the square root of a
            negative number, in an inertia that no body has or by rounding, is zero.

        Raises:
            RuntimeError: if an element depends on variables or is not finite.
        """
        return self._half_lengths_and_pose(1.0 / 5.0)

    def CalcPrincipalHalfLengthsAndPoseForSolidBox(self) -> tuple[Array, RigidTransform]:
        """Returns half lengths and pose of the solid box that has this inertia.

        Returns and raises as CalcPrincipalSemiDiametersAndPoseForSolidEllipsoid.
        """
        return self._half_lengths_and_pose(1.0 / 3.0)

    def CalcPrincipalHalfLengthsAndPoseForMinimumBoundingBox(self) -> tuple[Array, RigidTransform]:
        """Returns half lengths and pose of the smallest box that can hold a body of this inertia.

        It is the box with an eighth of the mass in each corner. Returns and raises as
        CalcPrincipalSemiDiametersAndPoseForSolidEllipsoid.
        """
        return self._half_lengths_and_pose(1.0)

    def _half_lengths_and_pose(self, factor: float) -> tuple[Array, RigidTransform]:
        """Half lengths and pose of the body of a given kind that has this inertia.

        A body symmetric about three planes has the unit moments Gx = f (b^2 + c^2) ... about its centre, with
        half lengths a, b, c and a factor f of its kind: so a^2 = (Gy + Gz - Gx) / (2 f), and likewise b, c.
        """
        numbers = self._finite_numbers()
        if numbers is None:
            raise RuntimeError(f"The shape equivalent to an inertia needs finite numbers, but it is {self!r}.")
        _, p_PScm_E, G_SP_E = numbers
        G_SScm_E = UnitInertia._from_matrix(G_SP_E - point_inertia(p_PScm_E))
        moments, R_EA = G_SScm_E.CalcPrincipalMomentsAndAxesOfInertia()
        squares = (0.5 * moments.sum() - moments) / factor
        return np.sqrt(np.maximum(squares, 0.0)), RigidTransform(R_EA, p_PScm_E)

    def CalcMinimumPhysicalLength(self) -> Any:
        """Returns the diagonal of the minimum bounding box [m]: some two points of a body are that far apart."""
        squares = 2.0 * (np.trace(self._G_SP_E._I) - 2.0 * (self._p_PScm_E @ self._p_PScm_E))
        return sqrt(squares.item() if isinstance(squares, np.generic) else squares)

    # -- another frame, another point, another body ----------------------------------------------------------

    def ReExpress(self, R_AE: RotationMatrix) -> SpatialInertia:
        """Returns M_SP_A, the same inertia expressed in A.

        Raises:
            TypeError: if `R_AE` is not a RotationMatrix.
        """
        expect_instance(R_AE, RotationMatrix, "SpatialInertia.ReExpress: R_AE")
        p_PScm_A = R_AE.matrix() @ self._p_PScm_E
        return SpatialInertia._from_parts(self._mass, p_PScm_A, self._G_SP_E.ReExpress(R_AE))

    def Shift(self, p_PQ_E: npt.ArrayLike) -> SpatialInertia:
        """Returns M_SQ_E, about Q instead of P (parallel axes twice, by way of the centre of mass).

        Args:
            p_PQ_E: from P to Q [m], shape [3].
        """
        p_QScm_E = self._p_PScm_E - as_vector(p_PQ_E, 3, "Shift: p_PQ_E")
        G_SQ_E = self._G_SP_E._I - point_inertia(self._p_PScm_E) + point_inertia(p_QScm_E)
        return SpatialInertia._from_parts(self._mass, p_QScm_E, UnitInertia._from_matrix(G_SQ_E))

    def __add__(self, other: SpatialInertia) -> SpatialInertia:
        """Returns the inertia of both bodies together, about the common point in the common frame."""
        if not isinstance(other, SpatialInertia):
            return NotImplemented
        mass = self._mass + other._mass
        massless = real_values(mass) == 0.0
        # Without mass the weighted mean does not exist; its limit for equal masses does.
        mine, others, total = (0.5, 0.5, 1.0) if massless else (self._mass, other._mass, mass)
        p = (mine * self._p_PScm_E + others * other._p_PScm_E) / total
        G = (mine * self._G_SP_E._I + others * other._G_SP_E._I) / total
        return SpatialInertia._from_parts(mass, p, UnitInertia._from_matrix(G))

    def __iadd__(self, other: SpatialInertia) -> SpatialInertia:
        if not isinstance(other, SpatialInertia):
            return NotImplemented
        total = self + other
        self._mass, self._p_PScm_E, self._G_SP_E = total._mass, total._p_PScm_E, total._G_SP_E
        return self

    @overload
    def __mul__(self, motion: SpatialAcceleration) -> SpatialForce: ...
    @overload
    def __mul__(self, motion: SpatialVelocity) -> SpatialMomentum: ...
    def __mul__(self, motion: SpatialAcceleration | SpatialVelocity) -> SpatialForce | SpatialMomentum:
        """Returns F_Sp_E = M A (without gyroscopic terms), or the momentum L_WSp_E = M V."""
        if isinstance(motion, SpatialVelocity):
            return SpatialMomentum._from_coeffs(self._times(motion._coeffs))
        if isinstance(motion, SpatialAcceleration):
            return SpatialForce._from_coeffs(self._times(motion._coeffs))
        return NotImplemented

    def _times(self, coeffs: Array) -> Array:
        """Product of the six by six matrix with a vector: [m (G w + p x v); m (v + w x p)], shape [6]."""
        w, v, p = coeffs[:3], coeffs[3:], self._p_PScm_E
        product = np.concatenate((self._G_SP_E._I @ w + cross(p, v), v + cross(w, p)))
        return self._mass * product

    def _scalar_type(self) -> Any:
        return scalar_of_array(np.array([self._mass, *self._p_PScm_E, *self._G_SP_E._I.ravel()]))

    def _cast(self, T: Any) -> SpatialInertia:
        return SpatialInertia._from_parts(cast(self._mass, T), cast_array(self._p_PScm_E, T), self._G_SP_E._cast(T))

    def __copy__(self) -> SpatialInertia:
        return SpatialInertia._from_parts(self._mass, self._p_PScm_E, self._G_SP_E.__copy__())

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
    def SolidCylinderWithMass(mass: Any, radius: Any, length: Any, unit_vector: npt.ArrayLike) -> SpatialInertia:
        """Solid cylinder of the given mass [kg], radius and length [m], its axis along `unit_vector`."""
        _check("SolidCylinderWithMass", mass=mass, radius=radius, length=length)
        return _central(mass, UnitInertia.SolidCylinder(radius, length, unit_vector))

    @staticmethod
    def SolidCylinderWithDensity(density: Any, radius: Any, length: Any, unit_vector: npt.ArrayLike) -> SpatialInertia:
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
    def SolidCapsuleWithMass(mass: Any, radius: Any, length: Any, unit_vector: npt.ArrayLike) -> SpatialInertia:
        """Solid capsule of the given mass [kg]; `length` [m] is that between the half balls."""
        _check("SolidCapsuleWithMass", mass=mass, radius=radius, length=length)
        return _central(mass, UnitInertia.SolidCapsule(radius, length, unit_vector))

    @staticmethod
    def SolidCapsuleWithDensity(density: Any, radius: Any, length: Any, unit_vector: npt.ArrayLike) -> SpatialInertia:
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

    @staticmethod
    def SolidTetrahedronAboutPointWithDensity(
        density: Any, p0: npt.ArrayLike, p1: npt.ArrayLike, p2: npt.ArrayLike, p3: npt.ArrayLike
    ) -> SpatialInertia:
        """Solid tetrahedron of the given density [kg/m^3] about the point P.

        Args:
            density: mass per volume [kg/m^3].
            p0, p1, p2, p3: positions of the vertices from P [m], shape [3], in any order.

        Raises:
            RuntimeError: if the density is not positive and finite.
        """
        where = "SolidTetrahedronAboutPointWithDensity"
        _check(where, density=density)
        q0, q1, q2, q3 = (as_vector(p, 3, f"{where}: p{i}") for i, p in enumerate((p0, p1, p2, p3)))
        volume = (q1 - q0) @ cross(q2 - q0, q3 - q0) / 6.0
        sign = real_values(volume)
        # abs() of a complex number would lose its imaginary part, the derivative.
        volume = abs(volume) if sign is None else -volume if sign < 0.0 else volume
        G = UnitInertia.SolidTetrahedronAboutPoint(q0, q1, q2, q3)
        return SpatialInertia(density * volume, (q0 + q1 + q2 + q3) / 4.0, G)

    @staticmethod
    def SolidTetrahedronAboutVertexWithDensity(
        density: Any, p1: npt.ArrayLike, p2: npt.ArrayLike, p3: npt.ArrayLike
    ) -> SpatialInertia:
        """As SolidTetrahedronAboutPointWithDensity about a vertex; p1, p2, p3 are the others [m]."""
        return SpatialInertia.SolidTetrahedronAboutPointWithDensity(density, np.zeros(3), p1, p2, p3)


def _central(mass: Any, G_SScm_E: UnitInertia) -> SpatialInertia:
    return SpatialInertia(mass, np.zeros(3), G_SScm_E)


def _check(where: str, **values: Any) -> None:
    for name, value in values.items():
        check_positive(where, name, value)
