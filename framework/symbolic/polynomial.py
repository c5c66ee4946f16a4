"""Polynomials in some variables, whose coefficients are expressions of others.

The variables that a polynomial is in are its *indeterminates*; those in its coefficients are its *decision variables*.
"""

from __future__ import annotations

__all__ = ["Polynomial", "SubstituteAndExpandCacheData", "as_polynomial"]

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.expression import Expression, Term
from merganser.framework.symbolic.formula import Formula, logical_and, logical_not
from merganser.framework.symbolic.monomial import Monomial, in_order
from merganser.framework.symbolic.nodes import is_number, is_zero
from merganser.framework.symbolic.polynomial_terms import Ring, terms_of
from merganser.framework.symbolic.variable import Variable
from merganser.framework.symbolic.variables import Variables

_ONE = Monomial()


class Polynomial:
    """A sum of monomials, each with a coefficient; 0 by default.

    Args:
        e: an expression, which is multiplied out; or a Monomial; or {Monomial: coefficient}.
        indeterminates: the variables that it is a polynomial in; by default all in the expression, or in the monomials.

    Raises:
        RuntimeError: the expression is no polynomial in these variables.
    """

    __slots__ = ("_indeterminates", "_terms")
    _terms: dict[Monomial, Expression]  # none of them 0
    _indeterminates: Variables

    @also_named(m="e", map="e")
    def __init__(self, e: Any = 0.0, indeterminates: Any = None) -> None:
        if isinstance(e, Monomial):
            self._set({e: Expression(1.0)}, ())
        elif isinstance(e, Mapping):
            self._set({monomial: Expression(c) for monomial, c in e.items()}, ())
        else:
            expression = Expression(e)
            chosen = expression.GetVariables() if indeterminates is None else _variables(indeterminates)
            terms = terms_of(expression._node, {variable._node for variable in chosen})
            self._set({monomial: Expression._of(c) for monomial, c in terms.items()}, chosen)

    def _set(self, terms: Mapping[Monomial, Expression], indeterminates: Iterable[Variable]) -> None:
        self._terms = {monomial: c for monomial, c in terms.items() if not is_zero(c._node)}
        self._indeterminates = Variables(indeterminates)
        for monomial in self._terms:
            self._indeterminates.insert(monomial.GetVariables())

    @classmethod
    def _of(cls, terms: Mapping[Monomial, Expression], indeterminates: Iterable[Variable] = ()) -> Polynomial:
        self = cls.__new__(cls)
        self._set(terms, indeterminates)
        return self

    def indeterminates(self) -> Variables:
        """The variables that it is a polynomial in."""
        return Variables(self._indeterminates)

    def decision_variables(self) -> Variables:
        """The variables in its coefficients."""
        found = Variables()
        for c in self._terms.values():
            found.insert(c.GetVariables())
        return found

    def SetIndeterminates(self, new_indeterminates: Variables) -> None:
        """Makes it a polynomial in other variables.

        Raises:
            RuntimeError: it is none in these.
        """
        other = Polynomial(self.ToExpression(), _variables(new_indeterminates))
        self._set(other._terms, other._indeterminates)

    def monomial_to_coefficient_map(self) -> dict[Monomial, Expression]:
        """The coefficients by monomial, those of low degree first."""
        return {monomial: self._terms[monomial] for monomial in self._ordered()}

    def _ordered(self) -> list[Monomial]:
        return sorted(in_order(self._terms), key=Monomial.total_degree)

    def Degree(self, v: Variable) -> int:
        """The highest power of an indeterminate."""
        return max((monomial.degree(v) for monomial in self._terms), default=0)

    def TotalDegree(self) -> int:
        """The highest degree of its monomials."""
        return max((monomial.total_degree() for monomial in self._terms), default=0)

    def ToExpression(self) -> Expression:
        """The polynomial as an expression."""
        terms = (sympy.Mul(c._node, monomial.ToExpression()._node) for monomial, c in self._terms.items())
        return Expression._of(sympy.Add(*terms))

    # ------------------------------------------------------------------ calculus

    def Differentiate(self, x: Variable) -> Polynomial:
        """Partial derivative by an indeterminate, or by a decision variable."""
        if self._indeterminates.include(x):
            terms = {}
            for monomial, c in self._terms.items():
                power = monomial.degree(x)
                if power:
                    terms[Monomial._of({**monomial._powers, x: power - 1})] = _coefficient(c * power)
            return Polynomial._of(terms, self._indeterminates)
        return self._with_coefficients(lambda c: c.Differentiate(x))

    def Jacobian(self, vars: Iterable[Variable]) -> npt.NDArray[Any]:
        """Partial derivatives by variables; objects, shape [len(vars)]."""
        return np.array([self.Differentiate(variable) for variable in np.ravel(list(vars)).tolist()], dtype=object)

    def Integrate(self, x: Variable, a: float | None = None, b: float | None = None) -> Polynomial:
        """The integral over a variable, from a to b, or the antiderivative that is 0 at x = 0.

        Raises:
            RuntimeError: x is a decision variable.
        """
        if self.decision_variables().include(x):
            raise RuntimeError(f"Polynomial.Integrate: {x} is a decision variable of {self}, not an indeterminate.")
        terms = {}
        for monomial, c in self._terms.items():
            power = monomial.degree(x) + 1
            terms[Monomial._of({**monomial._powers, x: power})] = _coefficient(c / power)
        integral = Polynomial._of(terms, [*self._indeterminates, x])
        return integral if a is None or b is None else integral.EvaluatePartial(x, b) - integral.EvaluatePartial(x, a)

    # ------------------------------------------------------------------ values

    def Evaluate(self, env: Mapping[Variable, float]) -> float:
        """Its value for the values in `env`, {variable: number}.

        Raises:
            RuntimeError: a variable has no value.
        """
        values = (c.Evaluate({v: env[v] for v in c.GetVariables() if v in env}) for c in self._terms.values())
        return float(sum(value * monomial.Evaluate(env) for value, monomial in zip(values, self._terms)))

    @also_named(var="env")
    def EvaluatePartial(self, env: Any, c: float | None = None) -> Polynomial:
        """The polynomial with numbers for some variables: `EvaluatePartial(env)`, or `EvaluatePartial(var, c)`."""
        values: Mapping[Variable, float] = {env: c} if isinstance(env, Variable) else env  # type: ignore[dict-item]
        result = Polynomial()
        for monomial, coefficient in self._terms.items():
            factor, rest = monomial.EvaluatePartial(values)
            known = {v: x for v, x in values.items() if coefficient.GetVariables().include(v)}
            result.AddProduct(factor * coefficient.EvaluatePartial(known), rest)
        return result

    def EvaluateIndeterminates(self, indeterminates: npt.ArrayLike, indeterminates_values: npt.ArrayLike) -> Any:
        """Its values for each column of an array of values of the indeterminates.

        Args:
            indeterminates: variables, shape [m].
            indeterminates_values: shape [m, n].

        Returns:
            Shape [n].

        Raises:
            RuntimeError: a coefficient is no number, or an indeterminate has no values.
        """
        for c in self._terms.values():
            if not c._node.is_Number:
                raise RuntimeError(f"Polynomial.EvaluateIndeterminates: the coefficient {c} is no constant.")
        values = np.asarray(indeterminates_values, dtype=np.float64)
        terms = (float(c._node) * m.Evaluate(indeterminates, values) for m, c in self._terms.items())
        return sum(terms, start=np.zeros(values.shape[-1]))

    def EvaluateWithAffineCoefficients(
        self, indeterminates: npt.ArrayLike, indeterminates_values: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[Any], npt.NDArray[np.float64]]:
        """A, y and b so that A y + b are its values, where the coefficients are affine in decision variables y.

        Args:
            indeterminates: variables, shape [m].
            indeterminates_values: shape [m, n].

        Returns:
            A, shape [n, k]; the decision variables, shape [k]; and b, shape [n].

        Raises:
            RuntimeError: a coefficient is not affine, or an indeterminate has no values.
        """
        from merganser.framework.symbolic.decompositions import DecomposeAffineExpressions

        variables = np.array(list(self.decision_variables()), dtype=object)
        columns = np.asarray(indeterminates_values).shape[-1]
        A, b = np.zeros((columns, len(variables))), np.zeros(columns)
        for monomial, c in self._terms.items():
            slopes, constants = DecomposeAffineExpressions(np.array([c], dtype=object), variables)
            values = monomial.Evaluate(indeterminates, indeterminates_values)
            A += np.outer(values, slopes[0])
            b += values * constants[0]
        return A, variables, b

    def SubstituteAndExpand(
        self,
        indeterminate_substitution: Mapping[Variable, Any],
        substitutions_cached_data: SubstituteAndExpandCacheData | None = None,
    ) -> Polynomial:
        """The polynomial with polynomials in place of all its indeterminates.

        Args:
            indeterminate_substitution: {indeterminate: Polynomial, or what makes one}.
            substitutions_cached_data: keeps what is computed, for calls with the same substitution.

        Raises:
            RuntimeError: an indeterminate is missing in the substitution.
        """
        missing = [str(v) for v in self._indeterminates if v not in indeterminate_substitution]
        if missing:
            raise RuntimeError(f"Polynomial.SubstituteAndExpand: the substitution has nothing for {missing}.")
        known = {} if substitutions_cached_data is None else substitutions_cached_data._data
        result = Polynomial()
        for monomial, c in self._terms.items():
            if monomial not in known:
                powers = (as_polynomial(indeterminate_substitution[v]) ** p for v, p in monomial._powers.items())
                known[monomial] = math.prod(powers, start=Polynomial(1.0))
            for other, d in known[monomial]._terms.items():
                result.AddProduct(c * d, other)
        return result

    def Roots(self) -> npt.NDArray[np.complex128]:
        """All complex roots of a polynomial in one variable, shape [degree].

        Raises:
            RuntimeError: there is another number of variables, or a coefficient is no number.
        """
        if len(self._indeterminates) != 1:
            raise RuntimeError(f"Polynomial.Roots: {self} is in {self._indeterminates}, not in one variable.")
        coefficients = np.zeros(self.TotalDegree() + 1)
        for monomial, c in self._terms.items():
            if not c._node.is_Number:
                raise RuntimeError(f"Polynomial.Roots: the coefficient {c} of {monomial} is no number.")
            coefficients[-1 - monomial.total_degree()] = float(c._node)
        return np.roots(coefficients).astype(np.complex128)

    # ------------------------------------------------------------------ questions and changes

    def IsEven(self) -> bool:
        """Whether all its monomials have an even degree."""
        return all(monomial.total_degree() % 2 == 0 for monomial in self._terms)

    def IsOdd(self) -> bool:
        """Whether all its monomials have an odd degree."""
        return all(monomial.total_degree() % 2 == 1 for monomial in self._terms)

    def AddProduct(self, coeff: Any, m: Monomial) -> Polynomial:
        """Adds a term to this polynomial, and returns it."""
        total = _coefficient(self._terms.get(m, Expression()) + Expression(coeff))
        if is_zero(total._node):
            self._terms.pop(m, None)
        else:
            self._terms[m] = total
            self._indeterminates.insert(m.GetVariables())
        return self

    def Expand(self) -> Polynomial:
        """The polynomial with its coefficients multiplied out; those that vanish are left out."""
        return self._with_coefficients(lambda c: c.Expand())

    def RemoveTermsWithSmallCoefficients(self, coefficient_tol: float) -> Polynomial:
        """The polynomial without the terms whose coefficients are numbers, and at most so large."""
        terms = {m: c for m, c in self._terms.items() if not (c._node.is_Number and abs(c._node) <= coefficient_tol)}
        return Polynomial._of(terms, self._indeterminates)

    def CoefficientsAlmostEqual(self, p: Polynomial, tolerance: float) -> bool:
        """Whether no coefficient differs from that of p by more than the tolerance; those that are missing are 0."""
        difference = (self - p).Expand()
        return all(c._node.is_Number and abs(c._node) <= tolerance for c in difference._terms.values())

    def EqualTo(self, other: Polynomial) -> bool:
        """Whether both have the same terms."""
        if not isinstance(other, Polynomial):
            raise TypeError(f"Polynomial.EqualTo: expected a Polynomial, got {type(other).__name__}.")
        return self._terms.keys() == other._terms.keys() and all(
            c.EqualTo(other._terms[monomial]) for monomial, c in self._terms.items()
        )

    def _with_coefficients(self, function: Callable[[Expression], Expression]) -> Polynomial:
        return Polynomial._of({monomial: function(c) for monomial, c in self._terms.items()}, self._indeterminates)

    # ------------------------------------------------------------------ operators

    def __add__(self, other: Any) -> Any:
        if isinstance(other, Expression):
            return self.ToExpression() + other
        polynomial = self._operand(other)
        if polynomial is None:
            return NotImplemented
        terms = dict(self._terms)
        for monomial, c in polynomial._terms.items():
            terms[monomial] = _coefficient(terms[monomial] + c) if monomial in terms else c
        return Polynomial._of(terms, [*self._indeterminates, *polynomial._indeterminates])

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if isinstance(other, Expression):
            return self.ToExpression() - other
        polynomial = self._operand(other)
        return NotImplemented if polynomial is None else self + -polynomial

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> Polynomial:
        return self._with_coefficients(lambda c: -c)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Expression):
            return self.ToExpression() * other
        polynomial = self._operand(other)
        if polynomial is None:
            return NotImplemented
        indeterminates = [*self._indeterminates, *polynomial._indeterminates]
        coefficients = (c._node for p in (self, polynomial) for c in p._terms.values())
        ring = Ring([*coefficients, *(v._node for v in indeterminates)], {v._node for v in indeterminates})
        product = ring.product(ring.read_terms(self._terms), ring.read_terms(polynomial._terms))
        terms = {monomial: Expression._of(c) for monomial, c in ring.terms(product).items()}
        return Polynomial._of(terms, indeterminates)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if is_number(other):
            return self._with_coefficients(lambda c: c / other)
        return self.ToExpression() / other if isinstance(other, Term) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.ToExpression() if isinstance(other, Term) or is_number(other) else NotImplemented

    def __pow__(self, n: int) -> Polynomial:
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise RuntimeError(f"Polynomial: ({self}) to the power of {n}: the exponent must be 0, 1, 2, ...")
        expression = self.ToExpression() ** int(n)
        return Polynomial(expression, self._indeterminates)

    def _operand(self, other: Any) -> Polynomial | None:
        """What is added to this, or multiplied with it; a variable is one of the kind that it is in this polynomial."""
        if isinstance(other, Polynomial):
            return other
        if isinstance(other, Variable):
            if self._indeterminates.include(other):
                return Polynomial(Monomial(other))
            return Polynomial._of({_ONE: Expression(other)})
        return Polynomial(other) if isinstance(other, Monomial) or is_number(other) else None

    def __eq__(self, other: object) -> Formula:  # type: ignore[override]
        if not isinstance(other, Polynomial):
            return NotImplemented
        conditions = [c == 0.0 for c in (self - other)._terms.values()]
        return logical_and(*conditions) if conditions else Formula.True_()

    def __ne__(self, other: object) -> Formula:  # type: ignore[override]
        return logical_not(self == other) if isinstance(other, Polynomial) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset((monomial, c._node) for monomial, c in self._terms.items()))

    def __copy__(self) -> Polynomial:
        return Polynomial._of(self._terms, self._indeterminates)

    def __deepcopy__(self, memo: Any) -> Polynomial:
        return Polynomial._of(self._terms, self._indeterminates)

    def __reduce__(self) -> tuple[Any, ...]:
        return Polynomial._of, (self._terms, list(self._indeterminates))

    def __str__(self) -> str:
        return " + ".join(f"{self._terms[monomial]}*{monomial}" for monomial in self._ordered()) or "0"

    def __repr__(self) -> str:
        return f'<Polynomial "{self}">'


class SubstituteAndExpandCacheData:
    """What `Polynomial.SubstituteAndExpand` has computed for one substitution."""

    def __init__(self) -> None:
        self._data: dict[Monomial, Polynomial] = {}

    def get_data(self) -> dict[Monomial, Polynomial]:
        """The monomials that have been substituted in, and what came of them."""
        return self._data


def as_polynomial(value: Any) -> Polynomial:
    """A Polynomial itself, or one of an expression, a monomial or a number."""
    return value if isinstance(value, Polynomial) else Polynomial(value)


def _variables(given: Any) -> Variables:
    return given if isinstance(given, Variables) else Variables(np.ravel(given).tolist())


def _coefficient(c: Expression) -> Expression:
    """A coefficient, multiplied out."""
    return c if c._node.is_Number or c._node.is_Symbol else c.Expand()
