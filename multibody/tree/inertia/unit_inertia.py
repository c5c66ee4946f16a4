"""Unit inertia: the rotational inertia of a body of mass 1, with the closed forms of common solids.

Formulas: any table of moments of inertia, for example Meriam and Kraige, Engineering Mechanics: Dynamics,
table D/4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math._scalars import expect_instance
from merganser.multibody.math.spatial_vector import as_scalar, as_vector
from merganser.multibody.tree.inertia.rotational_inertia import RotationalInertia, point_inertia
from merganser.multibody.tree.inertia.validity import (
    check_not_negative,
    check_positive,
    check_unit_vector,
    real_values,
)


class UnitInertia(RotationalInertia):
    """G_SP_E: inertia of S about P for mass 1, expressed in E [m^2]; the inertia is mass * G_SP_E.

    Args:
        args: nothing (all elements NaN), the moments Ixx, Iyy, Izz, these and the products Ixy, Ixz, Iyz, or
            one RotationalInertia I of a body of mass 1.

    Raises:
        TypeError: if the arguments fit none of these forms.
    """

    _forms = "(Ixx, Iyy, Izz), (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) or (I)"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        inertia = kwargs.get("I", args[0] if len(args) == 1 else None)
        if isinstance(inertia, RotationalInertia) and len(args) + len(kwargs) == 1:
            self._I = inertia.CopyToFullMatrix3()
        else:
            super().__init__(*args, **kwargs)

    @staticmethod
    def _of_particle(*args: Any, **kwargs: Any) -> npt.NDArray[Any]:
        raise TypeError(
            f"UnitInertia() takes no argument, {UnitInertia._forms}; two arguments are none of these. For a particle "
            "of mass 1, use UnitInertia.PointMass(p_FQ)."
        )

    def SetFromRotationalInertia(self, I: RotationalInertia, mass: Any) -> UnitInertia:
        """Makes this the unit inertia I / mass, and returns it.

        Raises:
            RuntimeError: if the mass is not positive and finite.
            TypeError: if `I` is not a RotationalInertia.
        """
        expect_instance(I, RotationalInertia, "SetFromRotationalInertia: I")
        mass = as_scalar(mass, "SetFromRotationalInertia: mass")
        check_positive("SetFromRotationalInertia", "mass", mass)
        self._I = I.CopyToFullMatrix3() / mass
        return self

    # The mass is 1, so the shifts of the base class lose an argument.
    def ShiftFromCenterOfMass(self, p_BcmQ_E: npt.ArrayLike) -> UnitInertia:  # type: ignore[override]
        """Returns G_BQ_E, if this is about the centre of mass; p_BcmQ_E [m], shape [3]."""
        p = as_vector(p_BcmQ_E, 3, "ShiftFromCenterOfMass: p_BcmQ_E")
        return UnitInertia._from_matrix(self._I + point_inertia(p))

    def ShiftToCenterOfMass(self, p_QBcm_E: npt.ArrayLike) -> UnitInertia:  # type: ignore[override]
        """Returns G_BBcm_E, if this is about Q; p_QBcm_E [m], shape [3]."""
        p = as_vector(p_QBcm_E, 3, "ShiftToCenterOfMass: p_QBcm_E")
        return UnitInertia._from_matrix(self._I - point_inertia(p))

    # A multiple or sum of unit inertias is none: `G *= 2` makes G a new RotationalInertia.
    __iadd__ = RotationalInertia.__add__
    __isub__ = RotationalInertia.__sub__
    __imul__ = RotationalInertia.__rmul__
    __itruediv__ = RotationalInertia.__truediv__

    # -- bodies, about their centre of mass unless said otherwise --------------------------------------------

    @staticmethod
    def PointMass(p_FQ: npt.ArrayLike) -> UnitInertia:
        """Particle at p_FQ [m], about the origin of F."""
        return UnitInertia._from_matrix(point_inertia(as_vector(p_FQ, 3, "PointMass: p_FQ")))

    @staticmethod
    def SolidEllipsoid(a: Any, b: Any, c: Any) -> UnitInertia:
        """Solid ellipsoid with semi-axes a, b, c along x, y, z [m]."""
        _check_lengths("SolidEllipsoid", a=a, b=b, c=c)
        return UnitInertia(0.2 * (b * b + c * c), 0.2 * (a * a + c * c), 0.2 * (a * a + b * b))

    @staticmethod
    def SolidSphere(r: Any) -> UnitInertia:
        """Solid sphere of radius r [m]."""
        _check_lengths("SolidSphere", r=r)
        return UnitInertia.TriaxiallySymmetric(0.4 * r * r)

    @staticmethod
    def HollowSphere(r: Any) -> UnitInertia:
        """Infinitely thin spherical shell of radius r [m]."""
        _check_lengths("HollowSphere", r=r)
        return UnitInertia.TriaxiallySymmetric(2.0 / 3.0 * r * r)

    @staticmethod
    def SolidBox(Lx: Any, Ly: Any, Lz: Any) -> UnitInertia:
        """Solid box with edges Lx, Ly, Lz along x, y, z [m]."""
        _check_lengths("SolidBox", Lx=Lx, Ly=Ly, Lz=Lz)
        x, y, z = Lx * Lx / 12.0, Ly * Ly / 12.0, Lz * Lz / 12.0
        return UnitInertia(y + z, x + z, x + y)

    @staticmethod
    def SolidCube(L: Any) -> UnitInertia:
        """Solid cube with edge L [m]."""
        return UnitInertia.SolidBox(L, L, L)

    @staticmethod
    def SolidCylinder(radius: Any, length: Any, unit_vector: npt.ArrayLike) -> UnitInertia:
        """Solid cylinder; `unit_vector` points along its axis."""
        _check_lengths("SolidCylinder", radius=radius, length=length)
        parallel = 0.5 * radius * radius
        perpendicular = 0.25 * radius * radius + length * length / 12.0
        return _axially_symmetric("SolidCylinder", parallel, perpendicular, unit_vector)

    @staticmethod
    def SolidCylinderAboutEnd(radius: Any, length: Any, unit_vector: npt.ArrayLike) -> UnitInertia:
        """Solid cylinder about the centre of one of its end faces."""
        _check_lengths("SolidCylinderAboutEnd", radius=radius, length=length)
        parallel = 0.5 * radius * radius
        perpendicular = 0.25 * radius * radius + length * length / 3.0
        return _axially_symmetric("SolidCylinderAboutEnd", parallel, perpendicular, unit_vector)

    @staticmethod
    def SolidCapsule(radius: Any, length: Any, unit_vector: npt.ArrayLike) -> UnitInertia:
        """Solid capsule: a cylinder of the given length [m] between two half balls of the given radius [m].

        The centre of mass of a half ball lies 3/8 r from its flat face.
        """
        _check_lengths("SolidCapsule", radius=radius, length=length)
        r, L = radius, length
        if (real_values(L) == 0.0) and (real_values(r) == 0.0):
            return _axially_symmetric("SolidCapsule", 0.0, 0.0, unit_vector)
        # Shares of the cylinder and of the ball in the mass; the volumes are pi r^2 L and 4/3 pi r^3.
        cylinder = L / (L + 4.0 / 3.0 * r)
        ball = 1.0 - cylinder
        offset = 0.5 * L + 0.375 * r  # of a half ball's centre of mass
        parallel = cylinder * 0.5 * r * r + ball * 0.4 * r * r
        half_ball = 83.0 / 320.0 * r * r  # about its centre of mass, perpendicular to the axis
        perpendicular = cylinder * (0.25 * r * r + L * L / 12.0) + ball * (half_ball + offset * offset)
        return _axially_symmetric("SolidCapsule", parallel, perpendicular, unit_vector)

    @staticmethod
    def ThinRod(length: Any, unit_vector: npt.ArrayLike) -> UnitInertia:
        """Infinitely thin rod of the given length [m] along `unit_vector`."""
        check_positive("ThinRod", "length", length)
        return _axially_symmetric("ThinRod", 0.0, length * length / 12.0, unit_vector)

    @staticmethod
    def AxiallySymmetric(moment_parallel: Any, moment_perpendicular: Any, unit_vector: npt.ArrayLike) -> UnitInertia:
        """Body symmetric about `unit_vector`: J there, K about every perpendicular axis [m^2].

        Raises:
            RuntimeError: if a moment is negative or J > 2 K, which no distribution of mass has, or if
                `unit_vector` has not length 1.
        """
        J, K = real_values(moment_parallel), real_values(moment_perpendicular)
        if J is not None and K is not None and not (0.0 <= J <= 2.0 * K * (1.0 + 1e-14)):
            raise RuntimeError(
                "AxiallySymmetric(): needs 0 <= moment_parallel <= 2 moment_perpendicular, but "
                f"moment_parallel = {moment_parallel} and moment_perpendicular = {moment_perpendicular}."
            )
        return _axially_symmetric("AxiallySymmetric", moment_parallel, moment_perpendicular, unit_vector)

    @staticmethod
    def StraightLine(moment_perpendicular: Any, unit_vector: npt.ArrayLike) -> UnitInertia:
        """Mass on a line through the point along `unit_vector`: no moment about it.

        Raises:
            RuntimeError: if the moment is not positive and finite, or if `unit_vector` has not length 1.
        """
        check_positive("StraightLine", "moment_perpendicular", moment_perpendicular)
        return _axially_symmetric("StraightLine", 0.0, moment_perpendicular, unit_vector)

    @staticmethod
    def SolidTetrahedronAboutPoint(
        p0: npt.ArrayLike, p1: npt.ArrayLike, p2: npt.ArrayLike, p3: npt.ArrayLike
    ) -> UnitInertia:
        """Solid tetrahedron about the point P.

        The mean of x x^T over a simplex of n + 1 vertices p is (sum p p^T + s s^T) / ((n + 1) (n + 2)) with
        s = sum p, here with n = 3 (Lasserre and Avrachenkov 2001, The multi-dimensional version of
        int_a^b x^p dx, Amer. Math. Monthly 108).

        Args:
            p0, p1, p2, p3: positions of the vertices from P [m], shape [3].
        """
        where = "SolidTetrahedronAboutPoint"
        vertices = [as_vector(p, 3, f"{where}: p{i}") for i, p in enumerate((p0, p1, p2, p3))]
        s = sum(vertices[1:], vertices[0])
        second_moment = (sum((np.outer(p, p) for p in vertices), np.outer(s, s))) / 20.0
        return UnitInertia._from_matrix(inertia_of_second_moment(second_moment))

    @staticmethod
    def SolidTetrahedronAboutVertex(p1: npt.ArrayLike, p2: npt.ArrayLike, p3: npt.ArrayLike) -> UnitInertia:
        """Solid tetrahedron about its vertex P; p1, p2, p3 are the others, from P [m], shape [3]."""
        return UnitInertia.SolidTetrahedronAboutPoint(np.zeros(3), p1, p2, p3)


def inertia_of_second_moment(J: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Inertia matrix tr(J) 1 - J of a body whose second moment of mass, the integral of x x^T dm, is J."""
    return np.trace(J) * np.eye(3) - J


def _axially_symmetric(where: str, J: Any, K: Any, unit_vector: npt.ArrayLike) -> UnitInertia:
    """G = K 1 + (J - K) u u^T."""
    u = as_vector(unit_vector, 3, f"{where}: unit_vector")
    check_unit_vector(where, u)
    return UnitInertia._from_matrix(K * np.eye(3) + (J - K) * np.outer(u, u))


def _check_lengths(where: str, **lengths: Any) -> None:
    for name, value in lengths.items():
        check_not_negative(where, name, value)
