"""Polynomial: a polynomial in one variable, and ToleranceType, how polynomials are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.core.scalars.scalars import cast_array, scalar_of_array
from merganser.framework.trajectories._scalars import Array, derivative_order_of, plain


class ToleranceType(Enumeration):
    """What a tolerance is relative to."""

    kAbsolute = 0
    kRelative = 1


class Polynomial:
    """c_0 + c_1 x + c_2 x^2 + ..., with coefficients of any scalar type.

    Called without arguments, the polynomial is zero; with a number, it is constant.

    Args:
        coefficients: c_0, c_1, ..., shape [n]; or a number.

    Raises:
        TypeError: these are no numbers.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, coefficients: Any = ()) -> None:
        array = np.array(coefficients)
        if array.dtype.kind in "biuf" or array.size == 0:
            array = array.astype(np.float64)
        elif array.dtype.kind not in "cO" or isinstance(coefficients, Polynomial):
            raise TypeError(f"Polynomial: expected a number or coefficients, got {coefficients!r}.")
        self._coefficients: Array = array.reshape(-1) if array.size else np.zeros(1)
        self._num_coefficients = array.size

    @classmethod
    def _of(cls, coefficients: Array) -> Polynomial:
        """The polynomial with these coefficients, which are not copied."""
        polynomial = cls.__new__(cls)
        polynomial._coefficients, polynomial._num_coefficients = coefficients, len(coefficients)
        return polynomial

    def GetNumberOfCoefficients(self) -> int:
        """Returns the number of coefficients, zeros that were given included."""
        return self._num_coefficients

    def GetDegree(self) -> int:
        """Returns the highest power that has a coefficient, be it zero."""
        return len(self._coefficients) - 1

    def GetCoefficients(self) -> Array:
        """Returns a copy of c_0, c_1, ..., shape [degree + 1]."""
        return self._coefficients.copy()

    def IsAffine(self) -> bool:
        """Returns whether the degree is at most one."""
        return self.GetDegree() <= 1

    def EvaluateUnivariate(self, x: Any, derivative_order: int = 0) -> Any:
        """Returns the value at x, or that of a derivative.

        Raises:
            ValueError: the order is negative.
        """
        return horner(self.Derivative(derivative_order)._coefficients, x)

    def Derivative(self, derivative_order: int = 1) -> Polynomial:
        """Returns the derivative of some order, at least 0.

        Raises:
            ValueError: the order is negative.
        """
        order = derivative_order_of(derivative_order, "Polynomial.Derivative()")
        coefficients = self._coefficients
        for _ in range(order):
            coefficients = coefficients[1:] * np.arange(1.0, len(coefficients))
        return Polynomial._of(coefficients.copy()) if len(coefficients) else Polynomial()

    def Integral(self, integration_constant: float = 0.0) -> Polynomial:
        """Returns the integral that has a given value at 0."""
        raised = self._coefficients / np.arange(1.0, len(self._coefficients) + 1)
        return Polynomial(np.array([integration_constant, *raised]))

    def CoefficientsAlmostEqual(
        self, other: Polynomial, tol: float = 0.0, tol_type: ToleranceType = ToleranceType.kAbsolute
    ) -> bool:
        """Returns whether no coefficient differs from that of another polynomial by more than `tol`.

        Args:
            other: the other polynomial.
            tol: the tolerance; relative to the smaller of both magnitudes if so wanted.
            tol_type: what the tolerance is relative to. Coefficients that only one of the two has count as zeros of
                the other for absolute tolerances, and as different for relative ones.
        """
        a, b = ([plain(c) for c in p._coefficients.tolist()] for p in (self, other))
        relative = getattr(tol_type, "name", tol_type) == ToleranceType.kRelative.name
        if relative and len(a) != len(b):
            return False
        size = max(len(a), len(b))
        pairs = zip(a + [0.0] * (size - len(a)), b + [0.0] * (size - len(b)))
        return all(abs(x - y) <= (tol * min(abs(x), abs(y)) if relative else tol) for x, y in pairs)

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> Polynomial:
        terms = _coefficients_of(other)
        if terms is None:
            return NotImplemented
        size = max(len(terms), len(self._coefficients))
        total = _padded(self._coefficients, size) + _padded(terms, size)
        while len(total) > 1 and _is_zero(total[-1]):
            total = total[:-1]
        return Polynomial._of(total)

    __radd__ = __add__

    def __neg__(self) -> Polynomial:
        return Polynomial._of(-self._coefficients)

    def __sub__(self, other: Any) -> Polynomial:
        terms = _coefficients_of(other)
        return NotImplemented if terms is None else self + Polynomial._of(-terms)

    def __rsub__(self, other: Any) -> Polynomial:
        return -self + other

    def __mul__(self, other: Any) -> Polynomial:
        factors = _coefficients_of(other)
        if factors is None:
            return NotImplemented
        product = 0.0 * np.resize(self._coefficients[:1] * factors[:1], len(self._coefficients) + len(factors) - 1)
        for i, factor in enumerate(factors):
            product[i : i + len(self._coefficients)] += factor * self._coefficients
        return Polynomial._of(product)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Polynomial:
        if isinstance(divisor, Polynomial):
            return NotImplemented
        return Polynomial._of(self._coefficients / divisor)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Polynomial):
            return NotImplemented
        a, b = self._coefficients.tolist(), other._coefficients.tolist()
        return len(a) == len(b) and all(x is y or _is_zero(x - y) for x, y in zip(a, b))

    def __repr__(self) -> str:
        return f"Polynomial({self._coefficients.tolist()})"

    def _scalar_type(self) -> Any:
        return scalar_of_array(self._coefficients)

    def _cast(self, T: Any) -> Polynomial:
        return Polynomial._of(np.array(cast_array(self._coefficients, T)))


def horner(coefficients: Array, x: Any) -> Any:
    """((c_n x + c_(n-1)) x + ...) x + c_0; coefficients of shape [n + 1, ...], at least one."""
    result = coefficients[-1]
    for k in range(len(coefficients) - 2, -1, -1):
        result = result * x + coefficients[k]
    return result


def _coefficients_of(other: Any) -> Array | None:
    if isinstance(other, Polynomial):
        return other._coefficients
    if isinstance(other, (float, int, np.floating, np.integer)):
        return np.array([float(other)])
    return np.array([other], dtype=object) if hasattr(other, "lift") else None


def _padded(coefficients: Array, size: int) -> Array:
    return np.concatenate([coefficients, np.zeros(size - len(coefficients))])


def _is_zero(x: Any) -> bool:
    try:
        return plain(x) == 0.0 and not np.any(getattr(x, "derivatives", lambda: 0.0)())
    except RuntimeError:  # an expression of variables
        return False
