"""Rotational inertia of a rigid body about a point."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RotationMatrix
from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.inertia.validity import real_values, triangle_inequality_violation

__all__ = ["RotationalInertia", "point_inertia"]

Array = npt.NDArray[Any]


def point_inertia(p: Array) -> Array:
    """Inertia matrix of a unit mass at position p from the point: (p . p) 1 - p p^T [m^2], shape [3, 3]."""
    return (p @ p) * np.eye(3) - np.outer(p, p)


class RotationalInertia:
    """I_SP_E: inertia matrix of the body S about the point P, expressed in the frame E [kg m^2].

    Products of inertia carry the sign of the matrix elements: Ixy = -integral of x y dm.

    Args:
        args: nothing (all elements NaN), the three moments Ixx, Iyy, Izz, these and the three products Ixy,
            Ixz, Iyz, or the mass of a particle Q [kg] and its position p_PQ_E [m]. Keywords of these names
            work too.

    Raises:
        TypeError: if the arguments fit none of these forms.
        ValueError: if p_PQ_E has not three entries or the mass of a particle is negative.
    """

    _elements = ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not args and not kwargs:
            self._I = np.full((3, 3), np.nan)
            return
        if "mass" in kwargs or len(args) + len(kwargs) == 2:
            self._I = self._of_particle(*args, **kwargs)
            return
        values = list(args) + [kwargs.pop(name) for name in self._elements[len(args) :] if name in kwargs]
        if kwargs or len(values) not in (3, 6):
            raise TypeError(
                f"{type(self).__name__}() takes no argument, (Ixx, Iyy, Izz), the same and (Ixy, Ixz, "
                "Iyz), or "
                f"(mass, p_PQ_E); got {len(args)} positional arguments and keywords {sorted(kwargs)}."
            )
        Ixx, Iyy, Izz, Ixy, Ixz, Iyz = as_vector(
            values + [0.0, 0.0, 0.0][: 6 - len(values)], 6, "moments and products of inertia"
        )
        self._I = np.array([[Ixx, Ixy, Ixz], [Ixy, Iyy, Iyz], [Ixz, Iyz, Izz]])

    @staticmethod
    def _of_particle(mass: Any, p_PQ_E: npt.ArrayLike) -> Array:
        real_mass = real_values(mass)
        if real_mass is not None and not real_mass >= 0.0:
            raise ValueError(
                f"RotationalInertia(): the mass of a particle must not be negative, but is {mass}."
            )
        return mass * point_inertia(as_vector(p_PQ_E, 3, "RotationalInertia: p_PQ_E"))

    @classmethod
    def _from_matrix(cls, matrix: Array) -> Self:
        """Wraps a symmetric matrix, shape [3, 3]."""
        inertia = cls.__new__(cls)
        inertia._I = matrix
        return inertia

    @classmethod
    def TriaxiallySymmetric(cls, I_triaxial: Any) -> Self:
        """Returns the inertia with the same moment I_triaxial about every axis through the point.

        Raises:
            ValueError: if I_triaxial is negative.
        """
        real = real_values(I_triaxial)
        if real is not None and not real >= 0.0:
            raise ValueError(f"TriaxiallySymmetric(): the moment must not be negative, but is {I_triaxial}.")
        return cls._from_matrix(I_triaxial * np.eye(3))

    # -- elements --------------------------------------------------------------------------------------------

    def rows(self) -> int:
        """Returns 3."""
        return 3

    def cols(self) -> int:
        """Returns 3."""
        return 3

    def __getitem__(self, row_and_column: tuple[int, int]) -> Any:
        return self._I[row_and_column]

    def get_moments(self) -> Array:
        """Returns the moments of inertia [Ixx, Iyy, Izz]."""
        return self._I.diagonal().copy()

    def get_products(self) -> Array:
        """Returns the products of inertia [Ixy, Ixz, Iyz]."""
        return np.array([self._I[0, 1], self._I[0, 2], self._I[1, 2]])

    def CopyToFullMatrix3(self) -> Array:
        """Returns a copy of the symmetric matrix, shape [3, 3]."""
        return self._I.copy()

    def Trace(self) -> Any:
        """Returns Ixx + Iyy + Izz, which is the same in every frame."""
        return self._I[0, 0] + self._I[1, 1] + self._I[2, 2]

    def CalcMaximumPossibleMomentOfInertia(self) -> Any:
        """Returns half the trace: no axis through the point has a larger moment."""
        return 0.5 * self.Trace()

    def IsNaN(self) -> bool:
        """Returns whether any element is NaN."""
        values = real_values(self._I)
        return values is not None and bool(np.isnan(values).any())

    def IsZero(self) -> bool:
        """Returns whether every element is zero."""
        values = real_values(self._I)
        return values is not None and not values.any()

    def SetToNaN(self) -> None:
        """Makes every element NaN."""
        self._I = np.full((3, 3), np.nan)

    def SetZero(self) -> None:
        """Makes every element zero."""
        self._I = np.zeros((3, 3))

    def IsNearlyEqualTo(self, other: RotationalInertia, precision: float) -> bool:
        """Returns whether the elements differ by at most precision times the smaller of the half traces.

        Args:
            other: inertia about the same point in the same frame.
            precision: relative difference allowed.
        """
        scale = min(
            abs(self.CalcMaximumPossibleMomentOfInertia()), abs(other.CalcMaximumPossibleMomentOfInertia())
        )
        return bool((abs(self._I - other._I) <= precision * scale).all())

    # -- principal moments -----------------------------------------------------------------------------------

    def CalcPrincipalMomentsOfInertia(self) -> Array:
        """Returns the eigenvalues of the matrix in ascending order [kg m^2], shape [3].

        Raises:
            RuntimeError: if an element is symbolic or not finite.
        """
        return np.linalg.eigvalsh(self._real_matrix("CalcPrincipalMomentsOfInertia"))

    def CalcPrincipalMomentsAndAxesOfInertia(self) -> tuple[Array, RotationMatrix]:
        """Returns the ascending principal moments [kg m^2] and R_EA, with the principal axes as columns.

        Raises:
            RuntimeError: if an element is symbolic or not finite.
        """
        moments, axes = np.linalg.eigh(self._real_matrix("CalcPrincipalMomentsAndAxesOfInertia"))
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])  # right-handed
        return moments, RotationMatrix(axes)

    def CouldBePhysicallyValid(self) -> bool:
        """Returns whether some body could have this inertia: finite, moments >= 0 and triangle inequality.

        Symbolic elements cannot be judged and pass.
        """
        matrix = real_values(self._I)
        if matrix is None:
            return True
        if not np.isfinite(matrix).all():
            return False
        return triangle_inequality_violation(np.linalg.eigvalsh(matrix), abs(matrix).max()) is None

    def _real_matrix(self, caller: str) -> Array:
        matrix = real_values(self._I)
        if matrix is None or not np.isfinite(matrix).all():
            raise RuntimeError(f"{caller}(): needs finite numbers, but the inertia is\n{self._I}")
        return matrix

    # -- another frame, another point ------------------------------------------------------------------------

    def ReExpress(self, R_AE: RotationMatrix) -> Self:
        """Returns I_SP_A = R_AE I_SP_E R_EA, the same inertia expressed in A."""
        R = R_AE.matrix()
        return type(self)._from_matrix(_symmetric(R @ self._I @ R.T))

    def ShiftFromCenterOfMass(self, mass: Any, p_BcmQ_E: npt.ArrayLike) -> RotationalInertia:
        """Returns I_BQ_E, if this is the inertia about the centre of mass Bcm (parallel axes).

        Args:
            mass: of the body [kg].
            p_BcmQ_E: position of Q from Bcm [m], shape [3].
        """
        return self + RotationalInertia(mass, p_BcmQ_E)

    def ShiftToCenterOfMass(self, mass: Any, p_QBcm_E: npt.ArrayLike) -> RotationalInertia:
        """Returns I_BBcm_E, if this is the inertia about Q (parallel axes).

        Args:
            mass: of the body [kg].
            p_QBcm_E: position of the centre of mass from Q [m], shape [3].
        """
        return self - RotationalInertia(mass, p_QBcm_E)

    def ShiftToThenAwayFromCenterOfMass(
        self, mass: Any, p_PBcm_E: npt.ArrayLike, p_QBcm_E: npt.ArrayLike
    ) -> RotationalInertia:
        """Returns I_BQ_E, if this is the inertia about P.

        Args:
            mass: of the body [kg].
            p_PBcm_E: position of the centre of mass from P [m], shape [3].
            p_QBcm_E: position of the centre of mass from Q [m], shape [3].
        """
        return self.ShiftToCenterOfMass(mass, p_PBcm_E).ShiftFromCenterOfMass(mass, p_QBcm_E)

    # -- operators: results are rotational inertias, also for unit inertias ----------------------------------

    def __add__(self, other: RotationalInertia) -> RotationalInertia:
        if not isinstance(other, RotationalInertia):
            return NotImplemented
        return RotationalInertia._from_matrix(self._I + other._I)

    def __sub__(self, other: RotationalInertia) -> RotationalInertia:
        if not isinstance(other, RotationalInertia):
            return NotImplemented
        return RotationalInertia._from_matrix(self._I - other._I)

    def __mul__(self, factor: Any) -> Any:
        """Scales by a number, or multiplies a vector of shape [3]: h = I w."""
        if isinstance(factor, (np.ndarray, list, tuple)):
            return self._I @ as_vector(factor, 3, f"{type(self).__name__} * vector")
        return RotationalInertia._from_matrix(self._I * factor)

    def __rmul__(self, factor: Any) -> RotationalInertia:
        return RotationalInertia._from_matrix(self._I * factor)

    def __truediv__(self, divisor: Any) -> RotationalInertia:
        return RotationalInertia._from_matrix(self._I / divisor)

    def __iadd__(self, other: RotationalInertia) -> Self:
        self._I = (self + other)._I
        return self

    def __isub__(self, other: RotationalInertia) -> Self:
        self._I = (self - other)._I
        return self

    def __imul__(self, factor: Any) -> Self:
        self._I = self._I * factor
        return self

    def __itruediv__(self, divisor: Any) -> Self:
        self._I = self._I / divisor
        return self

    __array_ufunc__ = None  # numpy scalars leave `number * inertia` to __rmul__

    def __copy__(self) -> Self:
        return type(self)._from_matrix(self._I.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __repr__(self) -> str:
        (Ixx, Iyy, Izz), (Ixy, Ixz, Iyz) = self.get_moments(), self.get_products()
        return f"{type(self).__name__}(Ixx={Ixx}, Iyy={Iyy}, Izz={Izz}, Ixy={Ixy}, Ixz={Ixz}, Iyz={Iyz})"


def _symmetric(matrix: Array) -> Array:
    return 0.5 * (matrix + matrix.T)
