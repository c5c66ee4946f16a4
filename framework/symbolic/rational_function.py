"""Quotients of polynomials."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.symbolic.expression import Expression
from merganser.framework.symbolic.formula import Formula, logical_not
from merganser.framework.symbolic.monomial import Monomial
from merganser.framework.symbolic.nodes import is_number
from merganser.framework.symbolic.polynomial import Polynomial, as_polynomial
from merganser.framework.symbolic.sin_cos import SinCos
from merganser.framework.symbolic.variables import Variables


class RationalFunction:
    """A numerator and a denominator; 0 / 1 by default. Common factors stay.

    Args:
        numerator: a Polynomial, a Monomial or a number.
        denominator: a Polynomial in the same sense of indeterminates; 1 by default.

    Raises:
        RuntimeError: the denominator is 0, or a variable is an indeterminate of one and a decision variable of the
            other.
    """

    __slots__ = ("_denominator", "_numerator")
    _numerator: Polynomial
    _denominator: Polynomial

    @also_named(p="numerator", m="numerator", c="numerator")
    def __init__(self, numerator: Any = 0.0, denominator: Any = 1.0) -> None:
        self._numerator, self._denominator = (copy.copy(as_polynomial(each)) for each in (numerator, denominator))
        if not self._denominator.monomial_to_coefficient_map():
            raise RuntimeError("RationalFunction: the denominator is 0.")
        for first, second in ((numerator, denominator), (denominator, numerator)):
            if not (isinstance(first, Polynomial) and isinstance(second, Polynomial)):
                continue
            clash = [str(v) for v in first.indeterminates() if second.decision_variables().include(v)]
            if clash:
                raise RuntimeError(
                    f"RationalFunction: {', '.join(clash)} are indeterminates of {first} and decision variables of "
                    f"{second}."
                )

    def numerator(self) -> Polynomial:
        """The numerator."""
        return copy.copy(self._numerator)

    def denominator(self) -> Polynomial:
        """The denominator."""
        return copy.copy(self._denominator)

    def Evaluate(self, env: Mapping[Any, float]) -> float:
        """Its value for the values in `env`, {variable: number}; infinite, or not a number, where the denominator is 0.

        Raises:
            RuntimeError: a variable has no value.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.float64(self._numerator.Evaluate(env)) / np.float64(self._denominator.Evaluate(env)))

    def ToExpression(self) -> Expression:
        """The function as an expression."""
        return self._numerator.ToExpression() / self._denominator.ToExpression()

    def SetIndeterminates(self, new_indeterminates: Variables) -> None:
        """Makes numerator and denominator polynomials in other variables."""
        self._numerator.SetIndeterminates(new_indeterminates)
        self._denominator.SetIndeterminates(new_indeterminates)

    def EqualTo(self, f: RationalFunction) -> bool:
        """Whether both have the same numerator and the same denominator."""
        return self._numerator.EqualTo(f._numerator) and self._denominator.EqualTo(f._denominator)

    def __add__(self, other: Any) -> Any:
        f = _operand(other)
        if f is None:
            return NotImplemented
        if self._denominator.EqualTo(f._denominator):
            return RationalFunction(self._numerator + f._numerator, self._denominator)
        numerator = self._numerator * f._denominator + self._denominator * f._numerator
        return RationalFunction(numerator, self._denominator * f._denominator)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        f = _operand(other)
        return NotImplemented if f is None else self + -f

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> RationalFunction:
        return RationalFunction(-self._numerator, self._denominator)

    def __mul__(self, other: Any) -> Any:
        f = _operand(other)
        if f is None:
            return NotImplemented
        return RationalFunction(self._numerator * f._numerator, self._denominator * f._denominator)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        f = _operand(other)
        return NotImplemented if f is None else self * f._inverse()

    def __rtruediv__(self, other: Any) -> Any:
        return self._inverse() * other

    def _inverse(self) -> RationalFunction:
        if not self._numerator.monomial_to_coefficient_map():
            raise RuntimeError("RationalFunction: division by 0.")
        return RationalFunction(self._denominator, self._numerator)

    def __eq__(self, other: object) -> Formula:  # type: ignore[override]
        if not isinstance(other, RationalFunction):
            return NotImplemented
        return self._numerator * other._denominator == self._denominator * other._numerator

    def __ne__(self, other: object) -> Formula:  # type: ignore[override]
        return logical_not(self == other) if isinstance(other, RationalFunction) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"({self._numerator}) / ({self._denominator})"

    def __repr__(self) -> str:
        return f'<RationalFunction "{self}">'


def _operand(value: Any) -> RationalFunction | None:
    if isinstance(value, RationalFunction):
        return value
    return RationalFunction(value) if isinstance(value, (Polynomial, Monomial)) or is_number(value) else None


# -- sines and cosines: sin(q) = 2 t / (1 + t²), cos(q) = (1 - t²) / (1 + t²), t = tan(q/2) --------------------


def SubstituteStereographicProjection(e: Polynomial, sin_cos: Sequence[SinCos], t: npt.ArrayLike) -> RationalFunction:
    """A polynomial in sines and cosines as a rational function of the tangents of the half angles.

    Args:
        e: the polynomial.
        sin_cos: the variables for sine and cosine of each angle.
        t: variables for the tangents of the half angles.

    Raises:
        ValueError: there are not as many tangents as angles.
    """
    tangents = np.ravel(np.asarray(t, dtype=object)).tolist()
    if len(tangents) != len(sin_cos):
        raise ValueError(f"SubstituteStereographicProjection: {len(sin_cos)} angles have {len(tangents)} tangents.")
    e = Polynomial(e.ToExpression(), [*e.indeterminates(), *(v for pair in sin_cos for v in (pair.s, pair.c))])
    terms = e.monomial_to_coefficient_map()
    degrees = [max((m.degree(p.s) + m.degree(p.c) for m in terms), default=0) for p in sin_cos]
    replaced = {variable for pair in sin_cos for variable in (pair.s, pair.c)}
    numerator: Any = Polynomial()
    for monomial, coefficient in terms.items():
        rest = {variable: power for variable, power in monomial.get_powers().items() if variable not in replaced}
        factors = (
            _numerator(monomial, pair, tangent, degree) for pair, tangent, degree in zip(sin_cos, tangents, degrees)
        )
        numerator = numerator + math.prod(factors, start=Polynomial({Monomial(rest): coefficient}))
    denominators = (_square_plus(tangent, 1.0) ** degree for tangent, degree in zip(tangents, degrees))
    return RationalFunction(numerator, math.prod(denominators, start=Polynomial(1.0)))


def _numerator(monomial: Monomial, pair: SinCos, tangent: Any, degree: int) -> Polynomial:
    """(2 t)^i (1 - t²)^j (1 + t²)^(degree - i - j) for sin^i cos^j."""
    i, j = monomial.degree(pair.s), monomial.degree(pair.c)
    sine = Polynomial({Monomial(tangent): 2.0}) ** i
    return sine * _square_plus(tangent, -1.0) ** j * _square_plus(tangent, 1.0) ** (degree - i - j)


def _square_plus(tangent: Any, factor: float) -> Polynomial:
    return Polynomial({Monomial(): 1.0, Monomial(tangent, 2): factor})
