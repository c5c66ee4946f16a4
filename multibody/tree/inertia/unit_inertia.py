"""Unit inertia: the rotational inertia of a body of mass 1, with the closed forms of common solids.

Formulas: any table of moments of inertia, for example Meriam and Kraige, Engineering Mechanics: Dynamics,
table D/4.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.inertia.rotational_inertia import RotationalInertia, point_inertia
from merganser.multibody.tree.inertia.validity import check_positive, check_unit_vector, real_values

__all__ = ["UnitInertia"]


class UnitInertia(RotationalInertia):
    """G_SP_E: inertia of S about P for mass 1, expressed in E [m^2]; the inertia is mass * G_SP_E.

    Args:
        args: as for RotationalInertia; or one RotationalInertia of a body of mass 1.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        inertia = kwargs.get("I", args[0] if len(args) == 1 else None)
        if isinstance(inertia, RotationalInertia):
            self._I = inertia.CopyToFullMatrix3()
        else:
            super().__init__(*args, **kwargs)

    def SetFromRotationalInertia(self, I: RotationalInertia, mass: Any) -> UnitInertia:
        """Makes this the unit inertia I / mass, and returns it.

        Raises:
            RuntimeError: if the mass is not positive and finite.
        """
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
        _check_lengths("ThinRod", length=length)
        return _axially_symmetric("ThinRod", 0.0, length * length / 12.0, unit_vector)

    @staticmethod
    def AxiallySymmetric(
        moment_parallel: Any, moment_perpendicular: Any, unit_vector: npt.ArrayLike
    ) -> UnitInertia:
        """Body symmetric about `unit_vector`: J there, K about every perpendicular axis [m^2].

        Raises:
            ValueError: if a moment is negative or J > 2 K, which no distribution of mass has.
            RuntimeError: if `unit_vector` has not length 1.
        """
        J, K = real_values(moment_parallel), real_values(moment_perpendicular)
        if J is not None and K is not None and not (0.0 <= J <= 2.0 * K * (1.0 + 1e-14)):
            raise ValueError(
                "AxiallySymmetric(): needs 0 <= moment_parallel <= 2 moment_perpendicular, but "
                f"moment_parallel = {moment_parallel} and moment_perpendicular = {moment_perpendicular}."
            )
        return _axially_symmetric("AxiallySymmetric", moment_parallel, moment_perpendicular, unit_vector)

    @staticmethod
    def StraightLine(moment_perpendicular: Any, unit_vector: npt.ArrayLike) -> UnitInertia:
        """Mass on a line through the point along `unit_vector`: no moment about it."""
        return UnitInertia.AxiallySymmetric(0.0, moment_perpendicular, unit_vector)


def _axially_symmetric(where: str, J: Any, K: Any, unit_vector: npt.ArrayLike) -> UnitInertia:
    """G = K 1 + (J - K) u u^T."""
    u = as_vector(unit_vector, 3, f"{where}: unit_vector")
    check_unit_vector(where, u)
    return UnitInertia._from_matrix(K * np.eye(3) + (J - K) * np.outer(u, u))


def _check_lengths(where: str, **lengths: Any) -> None:
    """Raises ValueError unless every length is a finite number >= 0 (or symbolic)."""
    for name, value in lengths.items():
        real = real_values(value)
        if real is not None and not (np.isfinite(real) and real >= 0.0):
            raise ValueError(f"{where}(): {name} must be finite and not negative, but is {value}.")
