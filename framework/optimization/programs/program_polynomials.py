"""Polynomials whose coefficients are decision variables, sums of squares, and costs of matrices that cones express."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.optimization.arrays import Objects, matrix, objects, vector
from merganser.framework.optimization.evaluators.linear_constraints import LinearEqualityConstraint
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.optimization.programs.parsing import slopes_of
from merganser.framework.optimization.programs.program_matrices import ProgramMatrices
from merganser.framework.symbolic.decompositions import affine_form
from merganser.framework.symbolic.expression import node_of


class NonnegativePolynomial(Enumeration):
    """Which Gram matrix makes a polynomial nonnegative: the wider the cone, the dearer."""

    kSos = 1  # positive semidefinite
    kSdsos = 2  # scaled diagonally dominant
    kDsos = 3  # diagonally dominant


class ProgramPolynomials(ProgramMatrices):
    """The part of MathematicalProgram that knows polynomials."""

    # -- polynomials of new coefficients ----------------------------------------------------------------------------

    def _free(self, indeterminates: Any, degree: int, coeff_name: str, basis: str) -> Any:
        from merganser.framework import symbolic

        self.AddIndeterminates(indeterminates)
        monomials = getattr(symbolic, basis)(indeterminates, degree)
        coefficients = self.NewContinuousVariables(len(monomials), coeff_name)
        terms = {m: symbolic.Expression(c) for m, c in zip(monomials, coefficients)}
        return symbolic.Polynomial(terms)

    def NewFreePolynomial(self, indeterminates: Any, deg: int, coeff_name: str = "a") -> Any:
        """A polynomial of a degree whose coefficients are new variables."""
        return self._free(indeterminates, deg, coeff_name, "MonomialBasis")

    def NewEvenDegreeFreePolynomial(self, indeterminates: Any, degree: int, coeff_name: str = "a") -> Any:
        """A polynomial of monomials of even degree whose coefficients are new variables."""
        return self._free(indeterminates, degree, coeff_name, "EvenDegreeMonomialBasis")

    def NewOddDegreeFreePolynomial(self, indeterminates: Any, degree: int, coeff_name: str = "a") -> Any:
        """A polynomial of monomials of odd degree whose coefficients are new variables."""
        return self._free(indeterminates, degree, coeff_name, "OddDegreeMonomialBasis")

    def NewSosPolynomial(self, *args: Any, **kwargs: Any) -> Any:
        """A polynomial m'Qm of monomials m that is a sum of squares.

        Takes (monomial_basis), or (indeterminates, degree), and makes Q of new variables; or (gramian, monomial_basis),
        which constrains the given Q. Further: type=kSos and gram_name="S".

        Returns:
            The polynomial and Q, shape [n, n]; for a given Q only the polynomial.

        Raises:
            ValueError: the degree is odd.
        """
        kind = kwargs.pop("type", NonnegativePolynomial.kSos)
        name = kwargs.pop("gram_name", "S")
        given = list(args)
        while given and isinstance(given[-1], (str, NonnegativePolynomial)):
            last = given.pop()
            kind, name = (kind, last) if isinstance(last, str) else (last, name)
        given += [
            kwargs.pop(each) for each in ("indeterminates", "degree", "gramian", "monomial_basis") if each in kwargs
        ]
        if len(given) == 2 and np.ndim(given[0]) == 2:
            self._require_nonnegative(np.asarray(given[0], dtype=object), kind)
            return self._gram_polynomial(given[1], given[0])
        if len(given) == 2:
            indeterminates, degree = given
            if degree % 2 or degree < 0:
                raise ValueError(f"NewSosPolynomial: expected an even degree, got {degree}.")
            from merganser.framework.symbolic import MonomialBasis

            given = [MonomialBasis(indeterminates, degree // 2)]
        basis = objects(given[0])
        gram = self.NewSymmetricContinuousVariables(len(basis), name)
        self._require_nonnegative(gram, kind)
        return self._gram_polynomial(basis, gram), gram

    def NewEvenDegreeNonnegativePolynomial(
        self, indeterminates: Any, degree: int, type: NonnegativePolynomial
    ) -> tuple[Any, Objects, Objects]:
        """A nonnegative polynomial of even degrees: m_o'Q_o m_o + m_e'Q_e m_e of odd and even m up to degree / 2.

        Returns:
            The polynomial, Q_o and Q_e.
        """
        from merganser.framework.symbolic import EvenDegreeMonomialBasis, OddDegreeMonomialBasis

        if degree % 2 or degree < 0:
            raise ValueError(f"NewEvenDegreeNonnegativePolynomial: expected an even degree, got {degree}.")
        odd, Q_o = self.NewSosPolynomial(OddDegreeMonomialBasis(indeterminates, degree // 2), type)
        even, Q_e = self.NewSosPolynomial(EvenDegreeMonomialBasis(indeterminates, degree // 2), type)
        return odd + even, Q_o, Q_e

    def NewEvenDegreeSosPolynomial(self, indeterminates: Any, degree: int) -> tuple[Any, Objects, Objects]:
        """The same, a sum of squares."""
        return self.NewEvenDegreeNonnegativePolynomial(indeterminates, degree, NonnegativePolynomial.kSos)

    def NewEvenDegreeSdsosPolynomial(self, indeterminates: Any, degree: int) -> tuple[Any, Objects, Objects]:
        """The same, by scaled diagonally dominant matrices."""
        return self.NewEvenDegreeNonnegativePolynomial(indeterminates, degree, NonnegativePolynomial.kSdsos)

    def NewEvenDegreeDsosPolynomial(self, indeterminates: Any, degree: int) -> tuple[Any, Objects, Objects]:
        """The same, by diagonally dominant matrices."""
        return self.NewEvenDegreeNonnegativePolynomial(indeterminates, degree, NonnegativePolynomial.kDsos)

    def _gram_polynomial(self, basis: Any, gram: Any) -> Any:
        from merganser.framework.symbolic import CalcPolynomialWLowerTriangularPart

        self.AddIndeterminates(dict.fromkeys(v for monomial in basis for v in monomial.get_powers()))
        size = len(basis)
        lower = [gram[i, j] for j in range(size) for i in range(j, size)]
        return CalcPolynomialWLowerTriangularPart(basis, lower)

    def _require_nonnegative(self, gram: Objects, kind: NonnegativePolynomial) -> None:
        if kind is NonnegativePolynomial.kDsos:
            self.AddPositiveDiagonallyDominantMatrixConstraint(gram)
        elif kind is NonnegativePolynomial.kSdsos:
            self.AddScaledDiagonallyDominantMatrixConstraint(gram)
        else:
            self.AddPositiveSemidefiniteConstraint(gram)

    # -- constraints on polynomials ---------------------------------------------------------------------------------

    def MakePolynomial(self, e: Any) -> Any:
        """An expression as a polynomial of the indeterminates of this program."""
        from merganser.framework.symbolic import Polynomial, Variables

        return Polynomial(e, Variables(self.indeterminates()))

    def Reparse(self, p: Any) -> None:
        """Makes a polynomial one of the indeterminates of this program."""
        from merganser.framework.symbolic import Variables

        p.SetIndeterminates(Variables(self.indeterminates()))

    def AddEqualityConstraintBetweenPolynomials(self, p1: Any, p2: Any) -> list[Binding]:
        """Adds that all coefficients of two polynomials are equal.

        Coefficients that differ by a number, which no variable can change, are a constraint 0 = number, described by
        their monomial: the program is infeasible.

        Raises:
            RuntimeError: a coefficient is not linear in the decision variables.
        """
        difference = p1 - p2
        self.Reparse(difference)
        result = []
        for monomial, coefficient in difference.monomial_to_coefficient_map().items():
            form = affine_form(node_of(coefficient))
            if form is None:
                raise RuntimeError(f"AddEqualityConstraintBetweenPolynomials: not linear: {coefficient}.")
            if form[1] or abs(form[0]) > 1e-12:
                A, variables = slopes_of([form]) if form[1] else (np.zeros((1, 0)), [])
                result.append(self._add(Binding(LinearEqualityConstraint(A, -float(form[0])), variables)))
                if not form[1]:
                    result[-1].evaluator().set_description(f"coefficients of {monomial}, which no variable changes")
        return result

    def AddSosConstraint(self, p: Any = None, *args: Any, e: Any = None, **kwargs: Any) -> Any:
        """Adds that a polynomial, or an expression of the indeterminates, is a sum of squares m'Qm.

        Takes (p) or (p, monomial_basis); further type=kSos and gram_name="S". Without a basis, monomials that no sum of
        squares of this polynomial can have are left out.

        Returns:
            Q, shape [n, n]; and the monomials m, shape [n], if none were given.
        """
        given = p if e is None else e
        polynomial = given if hasattr(given, "monomial_to_coefficient_map") else self.MakePolynomial(given)
        self.Reparse(polynomial)
        rest = list(args)
        has_basis = bool(rest) and np.ndim(rest[0]) > 0
        basis = kwargs.pop("monomial_basis", None) if not has_basis else rest.pop(0)
        monomials = sum_of_squares_basis(polynomial) if basis is None else objects(basis)
        square, gram = self.NewSosPolynomial(monomials, *rest, **kwargs)
        self.AddEqualityConstraintBetweenPolynomials(polynomial, square)
        return gram if basis is not None else (gram, monomials)

    # -- determinants and means -------------------------------------------------------------------------------------

    def _log_determinant(self, X: Any) -> tuple[Objects, Objects]:
        """Variables t whose sum is at most log det X, and a triangular Z with t_i <= log Z_ii, of a positive X."""
        entries = np.asarray(X, dtype=object)
        size = entries.shape[0]
        Z = np.zeros((size, size), dtype=object)
        for j in range(size):
            Z[j:, j] = self.NewContinuousVariables(size - j, f"Z{j}")
        t = self.NewContinuousVariables(size, "t")
        # [X Z; Z' diag(Z)] is positive semidefinite (Boyd and Vandenberghe, Convex Optimization, 2004, section 3.1.5)
        diagonal = np.zeros((size, size), dtype=object)
        np.fill_diagonal(diagonal, Z.diagonal())
        whole = np.block([[entries, Z], [Z.T, diagonal]])
        self.AddLinearMatrixInequalityConstraint(whole)
        for i in range(size):
            self.AddExponentialConeConstraint([Z[i, i], 1.0, t[i]])
        return t, Z

    def AddMaximizeLogDeterminantCost(self, X: Any, weight: float = 1.0) -> tuple[Binding, Objects, Objects]:
        """Adds the cost -weight log det X of a symmetric matrix of affine expressions, which is to be positive.

        Returns:
            The cost -weight sum(t), t and the triangular Z with t_i <= log Z_ii.

        Raises:
            ValueError: the weight is negative or not finite.
        """
        if not 0.0 <= weight < np.inf:
            raise ValueError(
                f"AddMaximizeLogDeterminantCost: weight must be finite and not negative, got {weight}: a cost "
                "+log det X is not convex."
            )
        t, Z = self._log_determinant(X)
        return self.AddLinearCost(np.full(t.size, -float(weight)), t), t, Z

    def AddLogDeterminantLowerBoundConstraint(self, X: Any, lower: float) -> tuple[Binding, Objects, Objects]:
        """Adds log det X >= lower; returns sum(t) >= lower, t and the triangular Z with t_i <= log Z_ii."""
        t, Z = self._log_determinant(X)
        row = np.ones((1, t.size))
        return self.AddLinearConstraint(row, [lower], [np.inf], t), t, Z

    def AddMaximizeGeometricMeanCost(self, A: Any = None, b: Any = None, x: Any = None, c: float = 1.0) -> Binding:
        """Adds minus the geometric mean of z = A x + b, (A, b, x); or minus c times that of variables, (x, c).

        z is at least 0. A tree of rotated Lorentz cones w^2 <= u v has the entries as leaves.

        Raises:
            ValueError: z has no entry, or sizes do not fit.
        """
        if A is None or x is None:
            x, c = (A, c if b is None else float(b)) if x is None else (x, c)
            A, b = np.eye(len(objects(x))), np.zeros(len(objects(x)))
        where = "AddMaximizeGeometricMeanCost"
        rows = matrix(A, where, "A")
        if np.ndim(A) == 1 and len(objects(x)) == 1:  # a column
            rows = rows.reshape(-1, 1)
        level = list(rows @ objects(x) + vector(b, where, "b", rows.shape[0]))
        if not level:
            raise ValueError(f"{where}: expected at least one entry of A x + b, got A of shape {rows.shape}.")
        mean = self.NewContinuousVariables(1, "mean")[0]
        level += [mean] * (2 ** int(np.ceil(np.log2(len(level)))) - len(level))
        while len(level) > 2:
            upper = list(self.NewContinuousVariables(len(level) // 2, "w"))
            for k, w in enumerate(upper):
                self.AddRotatedLorentzConeConstraint([level[2 * k], level[2 * k + 1], w])
            level = upper
        self.AddRotatedLorentzConeConstraint([level[0], level[-1], mean])
        return self.AddLinearCost([-c], [mean])


def sum_of_squares_basis(p: Any) -> Objects:
    """Monomials that squares which add up to a polynomial may have.

    From all of half its degree, those are left out whose square is neither a monomial of the polynomial nor a product
    of two others, until none is left (Loefberg, Pre- and post-processing sum-of-squares programs in practice, 2009).
    """
    from merganser.framework.symbolic import MonomialBasis

    terms = p.monomial_to_coefficient_map()
    powers = [monomial.get_powers() for monomial in terms]
    variables = list(p.indeterminates())
    degree = max((sum(each.values()) for each in powers), default=0)
    least = min((sum(each.values()) for each in powers), default=0)
    # Coefficients of an odd highest degree have to be 0; equal coefficients say so, if they can.
    highest_terms = [c for m, c in terms.items() if m.total_degree() == degree]
    if degree % 2 and not all(c.GetVariables() for c in highest_terms):
        raise ValueError(f"AddSosConstraint: a polynomial of the odd degree {degree} is not a sum of squares: {p}.")
    highest = {v: max((each.get(v, 0) for each in powers), default=0) for v in variables}
    support = {_key(each, variables) for each in powers}
    basis = [
        m
        for m in MonomialBasis(variables, degree // 2)
        if 2 * m.total_degree() >= least and all(2 * m.degree(v) <= highest[v] for v in variables)
    ]
    while True:
        keys = [_key(m.get_powers(), variables) for m in basis]
        products = {tuple(map(operator.add, a, b)) for a, b in itertools.combinations(keys, 2)}
        reachable = support | products
        kept = [m for m, key in zip(basis, keys) if tuple(2 * power for power in key) in reachable]
        if len(kept) == len(basis):
            return objects(sorted(basis, key=lambda m: _key(m.get_powers(), variables)[::-1], reverse=True))
        basis = kept


def _key(powers: Any, variables: list[Any]) -> tuple[int, ...]:
    return tuple(powers.get(v, 0) for v in variables)
