"""Polynomials with coefficients in numbers, and sums of squares of which programs choose the Gram matrices.

A monomial of variables x_0, x_1, ... is the integer sum_i power_i 8^i, so that products of monomials are sums of codes;
powers are below 8. A polynomial is codes with coefficients; a code may come several times.

A certificate that p(x) is nonnegative where g_1(x) >= 0, g_2(x) >= 0, ... is

    p = l_0 + l_1 g_1 + l_2 g_2 + ...,   l_i sums of squares                                            (1)

l_i = m'Q_i m with monomials m and Q_i positive semidefinite; equal coefficients are linear equations of the Q_i.

Programs of symbolic polynomials (`NewSosPolynomial`) say the same; to write eight products of four variables by them
takes some 300 times as long.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.optimization import MathematicalProgram

Array = NDArray[np.float64]
Codes = NDArray[np.int64]
Objects = NDArray[np.object_]

_BITS = 3
MAX_VARIABLES = 63 // _BITS


def code_of(powers: Any) -> int:
    """The code of a monomial of (place of the variable, power)."""
    return sum(power << (_BITS * i) for i, power in powers)


def monomials_up_to_one(places: list[int]) -> Codes:
    """All products of variables at these places, each at most once; 1 is the first."""
    codes = np.zeros(1, dtype=np.int64)
    for i in places:
        codes = np.concatenate((codes, codes + code_of([(i, 1)])))
    return codes


class Numbers(NamedTuple):
    """A polynomial with numbers for coefficients.

    Attributes:
        codes: of the monomials, shape [k].
        coefficients: shape [k].
    """

    codes: Codes
    coefficients: Array


class Squares(NamedTuple):
    """A sum of m'Q m, with several m and Q.

    Attributes:
        codes: of the products of monomials, for the lower triangles of all Q, shape [k].
        factors: 1 on the diagonals, else 2, shape [k].
        variables: entries of the Q, shape [k].
    """

    codes: Codes
    factors: Array
    variables: Objects

    def at(self, result: Any) -> Numbers:
        """The polynomial with the values of a result."""
        return Numbers(self.codes, self.factors * result.GetSolution(self.variables))


def new_squares(prog: MathematicalProgram, bases: list[Codes]) -> Squares:
    """A sum of squares of a program, with a new Q for each m of `bases`."""
    codes, factors, variables = [], [], []
    for basis in bases:
        Q = prog.NewSymmetricContinuousVariables(len(basis), "Gram")
        if len(basis) == 1:
            prog.AddBoundingBoxConstraint(0.0, np.inf, Q[0])
        else:
            prog.AddPositiveSemidefiniteConstraint(Q)
        rows, columns = np.tril_indices(len(basis))
        codes.append(basis[rows] + basis[columns])
        factors.append(np.where(rows == columns, 1.0, 2.0))
        variables.append(Q[rows, columns])
    return Squares(np.concatenate(codes), np.concatenate(factors), np.concatenate(variables))


class Equations:
    """A polynomial that is to be 0, with coefficients affine in variables of a program: each gives an equation."""

    def __init__(self) -> None:
        self._codes: list[Codes] = []
        self._values: list[Array] = []
        self._variables: list[Any] = []  # None for numbers

    def add(self, codes: Codes, values: Array, variables: Objects | None) -> None:
        """Adds sum_k values_k variables_k x^codes_k; without variables, numbers."""
        self._codes.append(codes)
        self._values.append(values)
        self._variables.append(variables)

    def add_product(self, squares: Squares, factor: Numbers, sign: float) -> None:
        """Adds the product of a sum of squares and a polynomial."""
        for code, c in zip(factor.codes.tolist(), factor.coefficients.tolist()):
            if c:
                self.add(squares.codes + code, sign * c * squares.factors, squares.variables)

    def close(self, prog: MathematicalProgram) -> None:
        """Adds the equations to a program."""
        codes, rows = np.unique(np.concatenate(self._codes), return_inverse=True)
        columns: dict[int, int] = {}
        known: list[Any] = []
        ends = np.cumsum([len(each) for each in self._codes])
        row_parts = np.split(rows, ends[:-1])
        right = np.zeros(len(codes))
        entries: list[tuple[Any, Any, Array]] = []
        for part, values, variables in zip(row_parts, self._values, self._variables):
            if variables is None:
                np.subtract.at(right, part, values)
                continue
            places = []
            for variable in variables.tolist():
                place = columns.setdefault(variable.get_id(), len(known))
                if place == len(known):
                    known.append(variable)
                places.append(place)
            entries.append((part, np.array(places, dtype=np.int64), values))
        A = np.zeros((len(codes), len(known)))
        for part, where, values in entries:
            np.add.at(A, (part, where), values)
        prog.AddLinearEqualityConstraint(A, right, np.array(known, dtype=object))


@functools.cache
def _powers(code: int) -> tuple[tuple[int, int], ...]:
    """(place, power) of the variables of a monomial."""
    mask = (1 << _BITS) - 1
    places = ((i, (code >> (_BITS * i)) & mask) for i in range(MAX_VARIABLES))
    return tuple(each for each in places if each[1])


def to_polynomial(given: Numbers | Squares | None, variables: list[Any]) -> Any:
    """A symbolic polynomial in variables; None is 0."""
    from merganser.framework.symbolic import Expression, Monomial, Polynomial

    terms: dict[int, Any] = {}
    if given is not None:
        coefficients = given.coefficients if isinstance(given, Numbers) else given.factors * given.variables
        for code, c in zip(given.codes.tolist(), coefficients.tolist()):
            terms[code] = terms[code] + c if code in terms else Expression(c)
    return Polynomial({Monomial({variables[i]: p for i, p in _powers(code)}): c for code, c in terms.items()})
