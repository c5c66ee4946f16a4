"""Sines and cosines as rational functions: sin(q) = 2 t / (1 + t²), cos(q) = (1 - t²) / (1 + t²), t = tan(q/2)."""

from __future__ import annotations

__all__ = ["SubstituteStereographicProjection"]

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.symbolic.monomial import Monomial
from merganser.framework.symbolic.polynomial import Polynomial
from merganser.framework.symbolic.rational_function import RationalFunction
from merganser.framework.symbolic.sin_cos import SinCos


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
