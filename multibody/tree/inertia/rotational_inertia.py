"""Rotational inertia of a rigid body about a point."""

from __future__ import annotations

import operator
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from merganser.framework.core.scalars.scalars import cast_array, scalar_of_array
from merganser.framework.math import RotationMatrix
from merganser.framework.math._scalars import expect_instance
from merganser.multibody.math.spatial_vector import as_scalar, as_vector, is_scalar
from merganser.multibody.tree.inertia.validity import (
    check_not_negative,
    is_zero,
    real_values,
    triangle_inequality_violation,
)

Array = npt.NDArray[Any]


def point_inertia(p: Array) -> Array:
    """Inertia matrix of a unit mass at position p from the point: (p . p) 1 - p p^T [m^2], shape [3, 3]."""
    # By elements, on Python numbers: a fifth of the time of np.eye and np.outer.
    x, y, z = p.tolist()
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return np.array([[yy + zz, -xy, -xz], [-xy, xx + zz, -yz], [-xz, -yz, xx + yy]])


class RotationalInertia:
    """I_SP_E: inertia matrix of the body S about the point P, expressed in the frame E [kg m^2].

    Products of inertia carry the sign of the matrix elements: Ixy = -integral of x y dm.

    Args:
        args: nothing (all elements NaN), the three moments Ixx, Iyy, Izz, these and the three products Ixy,
            Ixz, Iyz, or the mass of a particle Q [kg] and its position p_PQ_E [m]. Keywords of these names
            work too.

    Raises:
        TypeError: if the arguments fit none of these forms.
        ValueError: if p_PQ_E has not three entries.
        RuntimeError: if the mass of a particle is negative or not finite.
    """

    _elements = ("Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")
    # The constructor's arguments, for error messages.
    _forms = "(Ixx, Iyy, Izz), (Ixx, Iyy, Izz, Ixy, Ixz, Iyz) or (mass, p_PQ_E)"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not args and not kwargs:
            self._I = np.full((3, 3), np.nan)
            return
        if len(args) + len(kwargs) == 2 and kwargs.keys() <= {"mass", "p_PQ_E"}:
            self._I = self._of_particle(*args, **kwargs)
            return
        values = list(args) + [kwargs.pop(name) for name in self._elements[len(args) :] if name in kwargs]
        if kwargs or len(values) not in (3, 6):
            raise TypeError(
                f"{type(self).__name__}() takes no argument, {self._forms}; got {len(args)} positional arguments "
                f"and unknown or incomplete keywords {sorted(kwargs)}."
            )
        Ixx, Iyy, Izz, Ixy, Ixz, Iyz = as_vector(
            values + [0.0, 0.0, 0.0][: 6 - len(values)], 6, "moments and products of inertia"
        )
        self._I = np.array([[Ixx, Ixy, Ixz], [Ixy, Iyy, Iyz], [Ixz, Iyz, Izz]])

    @staticmethod
    def _of_particle(mass: Any, p_PQ_E: npt.ArrayLike) -> Array:
        return _particle_inertia("RotationalInertia", mass, p_PQ_E, "p_PQ_E")

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
            RuntimeError: if I_triaxial is negative or not finite.
        """
        I_triaxial = as_scalar(I_triaxial, "TriaxiallySymmetric: I_triaxial")
        check_not_negative("TriaxiallySymmetric", "I_triaxial", I_triaxial)
        return cls._from_matrix(I_triaxial * np.eye(3))

    # -- elements --------------------------------------------------------------------------------------------

    def rows(self) -> int:
        """Returns 3."""
        return 3

    def cols(self) -> int:
        """Returns 3."""
        return 3

    def __getitem__(self, row_and_column: tuple[int, int]) -> Any:
        """Returns the element in row i and column j, counted from 0: `inertia[i, j]`.

        Raises:
            TypeError: if the index is not a tuple of whole numbers.
            IndexError: if it does not have two entries, or one is not 0, 1 or 2.
        """
        if not isinstance(row_and_column, tuple):
            raise TypeError(f"{type(self).__name__} takes an index [i, j], not {row_and_column!r}.")
        indices = [operator.index(index) for index in row_and_column]
        if len(indices) != 2 or not all(0 <= index < 3 for index in indices):
            raise IndexError(f"{type(self).__name__} takes an index [i, j] with i, j in 0, 1, 2; not {indices}.")
        element = self._I[indices[0], indices[1]]
        return element.item() if isinstance(element, np.generic) else element

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
        Ixx, Iyy, Izz = self._I.diagonal().tolist()
        return Ixx + Iyy + Izz

    def CalcMaximumPossibleMomentOfInertia(self) -> Any:
        """Returns half the trace: no axis through the point has a larger moment."""
        return 0.5 * self.Trace()

    def IsNaN(self) -> bool:
        """Returns whether any element is NaN; elements that depend on variables are none."""
        values = real_values(self._I)
        return values is not None and bool(np.isnan(values).any())

    def IsZero(self) -> Any:
        """Returns whether every element is zero; a Formula, if that depends on variables."""
        return is_zero(self._I)

    def SetToNaN(self) -> None:
        """Makes every element NaN."""
        self._I = np.full((3, 3), np.nan)

    def SetZero(self) -> None:
        """Makes every element zero."""
        self._I = np.zeros((3, 3))

    def IsNearlyEqualTo(self, other: RotationalInertia, precision: float) -> Any:
        """Returns whether the elements differ by at most precision times the smaller of the half traces.

        Args:
            other: inertia about the same point in the same frame.
            precision: relative difference allowed.

        Returns:
            a bool; a Formula, if the answer depends on variables.

        Raises:
            TypeError: if `other` is not a RotationalInertia.
        """
        expect_instance(other, RotationalInertia, "IsNearlyEqualTo: other")
        difference, half_traces = self._I - other._I, [0.5 * self.Trace(), 0.5 * other.Trace()]
        numbers = real_values(np.array([*difference.flat, *half_traces]))
        if numbers is not None:
            return bool(abs(numbers[:9]).max() <= precision * abs(numbers[9:]).min())
        from merganser.framework.symbolic import Expression, logical_and  # the elements are symbolic: it is there

        elements = difference[np.triu_indices(3)]
        bounds = [precision * abs(Expression(half_trace)) for half_trace in half_traces]
        return logical_and(*(abs(Expression(element)) <= bound for element in elements for bound in bounds))

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

        Raises:
            RuntimeError: if an element depends on variables.
        """
        matrix = real_values(self._I)
        if matrix is None:
            raise RuntimeError(
                f"CouldBePhysicallyValid(): needs numbers, but the inertia depends on variables:\n{self._I}"
            )
        if not np.isfinite(matrix).all():
            return False
        return triangle_inequality_violation(np.linalg.eigvalsh(matrix), abs(matrix).max()) is None

    def _real_matrix(self, caller: str) -> Array:
        matrix = real_values(self._I)
        if matrix is None or not np.isfinite(matrix).all():
            raise RuntimeError(f"{caller}(): needs finite numbers, but the inertia is\n{self._I}.")
        return matrix

    # -- another frame, another point ------------------------------------------------------------------------

    def ReExpress(self, R_AE: RotationMatrix) -> Self:
        """Returns I_SP_A = R_AE I_SP_E R_EA, the same inertia expressed in A.

        Raises:
            TypeError: if `R_AE` is not a RotationMatrix.
        """
        expect_instance(R_AE, RotationMatrix, f"{type(self).__name__}.ReExpress: R_AE")
        R = R_AE.matrix()
        rotated = R @ self._I @ R.T
        return type(self)._from_matrix(0.5 * (rotated + rotated.T))  # symmetric up to rounding before

    def ShiftFromCenterOfMass(self, mass: Any, p_BcmQ_E: npt.ArrayLike) -> RotationalInertia:
        """Returns I_BQ_E, if this is the inertia about the centre of mass Bcm (parallel axes).

        Args:
            mass: of the body [kg].
            p_BcmQ_E: position of Q from Bcm [m], shape [3].

        Raises:
            RuntimeError: if the mass is negative or not finite.
        """
        away = _particle_inertia("ShiftFromCenterOfMass", mass, p_BcmQ_E, "p_BcmQ_E")
        return RotationalInertia._from_matrix(self._I + away)

    def ShiftToCenterOfMass(self, mass: Any, p_QBcm_E: npt.ArrayLike) -> RotationalInertia:
        """Returns I_BBcm_E, if this is the inertia about Q (parallel axes).

        Args:
            mass: of the body [kg].
            p_QBcm_E: position of the centre of mass from Q [m], shape [3].

        Raises:
            RuntimeError: if the mass is negative or not finite.
        """
        back = _particle_inertia("ShiftToCenterOfMass", mass, p_QBcm_E, "p_QBcm_E")
        return RotationalInertia._from_matrix(self._I - back)

    def ShiftToThenAwayFromCenterOfMass(
        self, mass: Any, p_PBcm_E: npt.ArrayLike, p_QBcm_E: npt.ArrayLike
    ) -> RotationalInertia:
        """Returns I_BQ_E, if this is the inertia about P.

        Args:
            mass: of the body [kg].
            p_PBcm_E: position of the centre of mass from P [m], shape [3].
            p_QBcm_E: position of the centre of mass from Q [m], shape [3].

        Raises:
            RuntimeError: if the mass is negative or not finite.
        """
        where = "ShiftToThenAwayFromCenterOfMass"
        back = _particle_inertia(where, mass, p_PBcm_E, "p_PBcm_E")
        away = _particle_inertia(where, mass, p_QBcm_E, "p_QBcm_E")
        return RotationalInertia._from_matrix(self._I - back + away)

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
        if is_scalar(factor):
            return RotationalInertia._from_matrix(self._I * factor)
        if isinstance(factor, (np.ndarray, list, tuple)):
            return self._I @ as_vector(factor, 3, f"{type(self).__name__} * vector")
        return NotImplemented

    def __rmul__(self, factor: Any) -> RotationalInertia:
        return RotationalInertia._from_matrix(self._I * factor) if is_scalar(factor) else NotImplemented

    def __truediv__(self, divisor: Any) -> RotationalInertia:
        if not is_scalar(divisor):
            return NotImplemented
        with np.errstate(divide="ignore", invalid="ignore"):  # IEEE 754, as for the other scalars
            return RotationalInertia._from_matrix(self._I / divisor)

    def __iadd__(self, other: RotationalInertia) -> RotationalInertia:
        return self._replaced(self.__add__(other))

    def __isub__(self, other: RotationalInertia) -> RotationalInertia:
        return self._replaced(self.__sub__(other))

    def __imul__(self, factor: Any) -> RotationalInertia:
        return self._replaced(self.__rmul__(factor))

    def __itruediv__(self, divisor: Any) -> RotationalInertia:
        return self._replaced(self.__truediv__(divisor))

    def _replaced(self, result: RotationalInertia) -> RotationalInertia:
        """Takes the elements of the result of an operator, which may be NotImplemented."""
        if result is NotImplemented:
            return result
        self._I = result._I
        return self

    __array_ufunc__ = None  # numpy leaves `number * inertia` to __rmul__, which refuses arrays of numbers

    def _scalar_type(self) -> Any:
        return scalar_of_array(self._I)

    def _cast(self, T: Any) -> Self:
        return type(self)._from_matrix(cast_array(self._I, T))

    def __copy__(self) -> Self:
        return type(self)._from_matrix(self._I.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __repr__(self) -> str:
        (Ixx, Iyy, Izz), (Ixy, Ixz, Iyz) = self.get_moments(), self.get_products()
        return f"{type(self).__name__}(Ixx={Ixx}, Iyy={Iyy}, Izz={Izz}, Ixy={Ixy}, Ixz={Ixz}, Iyz={Iyz})"


def _particle_inertia(where: str, mass: Any, p: npt.ArrayLike, name: str) -> Array:
    """Inertia matrix of a particle at position p, the argument `name` of `where` [kg m^2], shape [3, 3]."""
    mass = as_scalar(mass, f"{where}: mass")
    check_not_negative(where, "mass", mass)
    return mass * point_inertia(as_vector(p, 3, f"{where}: {name}"))
