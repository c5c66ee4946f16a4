"""Polynomials in some variables, whose coefficients are expressions of others.

The variables that a polynomial is in are its *indeterminates*; those in its coefficients are its *decision variables*.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.symbolic import nodes as n
from merganser.framework.symbolic.expression import Expression, Term
from merganser.framework.symbolic.formula import Formula, logical_and, logical_not, refuse_nan, values_of
from merganser.framework.symbolic.monomial import Monomial, in_order
from merganser.framework.symbolic.printing import printable, text
from merganser.framework.symbolic.trees import differentiated, evaluated, expanded, substituted
from merganser.framework.symbolic.variable import Variable
from merganser.framework.symbolic.variables import Variables


class Polynomial:
    """A sum of monomials, each with a coefficient; 0 by default.

    Args:
        e: an expression, which is multiplied out; or a Monomial; or {Monomial: coefficient}.
        indeterminates: the variables that it is a polynomial in; by default all in the expression, or in the monomials.

    Raises:
        RuntimeError: the expression is not a polynomial in these variables.
    """

    __slots__ = ("_indeterminates", "_numbers", "_terms")
    _terms: dict[n.Node, n.Node]  # coefficients by products of symbols, none of them 0
    _numbers: list[tuple[Any, Any]] | None  # coefficients and variables, as long as the terms are these
    _indeterminates: set[n.Symbol]

    @also_named(m="e", map="e")
    def __init__(self, e: Any = 0.0, indeterminates: Any = None) -> None:
        if isinstance(e, Monomial):
            self._set({e._product: n.ONE}, ())
        elif isinstance(e, Mapping):
            self._set({monomial._product: Expression(c)._node for monomial, c in e.items()}, ())
        else:
            root = Expression(e)._node
            chosen = n.symbols_of(root) if indeterminates is None else _symbols(indeterminates)
            self._set(_coefficients(root, set(chosen)), chosen)

    def _set(self, terms: Mapping[n.Node, n.Node], indeterminates: Iterable[n.Symbol]) -> None:
        self._terms = {monomial: c for monomial, c in terms.items() if not n.is_zero(c)}
        self._numbers = None
        self._indeterminates = set(indeterminates).union(*map(n.factors_of, self._terms))

    @classmethod
    def _of(cls, terms: Mapping[n.Node, n.Node], indeterminates: Iterable[n.Symbol] = ()) -> Polynomial:
        self = cls.__new__(cls)
        self._set(terms, indeterminates)
        return self

    def indeterminates(self) -> Variables:
        """The variables that it is a polynomial in."""
        return Variables(symbol.variable for symbol in self._indeterminates)

    def decision_variables(self) -> Variables:
        """The variables in its coefficients."""
        return Variables(symbol.variable for symbol in n.symbols_of(*self._terms.values()))

    def SetIndeterminates(self, new_indeterminates: Variables) -> None:
        """Makes it a polynomial in other variables.

        Raises:
            RuntimeError: it is not a polynomial in these.
        """
        chosen = set(_symbols(new_indeterminates))
        used = set().union(*map(n.factors_of, self._terms))
        if used <= chosen and chosen.isdisjoint(n.symbols_of(*self._terms.values())):
            self._indeterminates = chosen
        else:
            self._set(_coefficients(self._tree(), chosen), chosen)

    def monomial_to_coefficient_map(self) -> dict[Monomial, Expression]:
        """The coefficients by monomial, in the lexicographic order of exponents; those of older variables decide."""
        return {Monomial._of(m): Expression._of(self._terms[m]) for m in in_order(self._terms)}

    def Degree(self, v: Variable) -> int:
        """The highest power of an indeterminate."""
        return max((n.factors_of(monomial).get(v._node, 0) for monomial in self._terms), default=0)

    def TotalDegree(self) -> int:
        """The highest degree of its monomials."""
        return max((sum(n.factors_of(monomial).values()) for monomial in self._terms), default=0)

    def _tree(self) -> n.Node:
        parts = [
            (monomial, c.value) if type(c) is n.Number else (n.multiplied(c, monomial), 1)
            for monomial, c in self._terms.items()
        ]
        return n.summed(parts)

    def ToExpression(self) -> Expression:
        """The polynomial as an expression."""
        return Expression._of(self._tree())

    # ------------------------------------------------------------------ calculus

    def Differentiate(self, x: Variable) -> Polynomial:
        """Partial derivative by an indeterminate, or by a decision variable."""
        symbol = x._node
        if symbol not in self._indeterminates:
            memo: dict[Any, Any] = {}
            return self._with_coefficients(lambda c: differentiated(c, symbol, memo))
        terms = {}
        for monomial, c in self._terms.items():
            powers = dict(n.factors_of(monomial))
            power = powers.pop(symbol, 0)
            if power:
                lower = {symbol: power - 1} if power > 1 else {}
                terms[n.product_of(powers | lower)] = expanded(n.scaled(c, power))
        return Polynomial._of(terms, self._indeterminates)

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
            whole = n.multiplied(monomial, x._node)
            terms[whole] = expanded(n.scaled(c, n.inverse(n.factors_of(whole)[x._node])))
        integral = Polynomial._of(terms, {*self._indeterminates, x._node})
        return integral if a is None or b is None else integral.EvaluatePartial(x, b) - integral.EvaluatePartial(x, a)

    # ------------------------------------------------------------------ values

    def Evaluate(self, env: Mapping[Variable, float]) -> float:
        """Its value for the values in `env`, {variable: number}.

        Raises:
            RuntimeError: a variable has no value, or one is NaN.
        """
        refuse_nan(env)
        if self._numbers is None:
            numbers = (float(c.value) if type(c) is n.Number else c for c in self._terms.values())
            powers = (n.factors_of(monomial).items() for monomial in self._terms)
            self._numbers = list(zip(numbers, ([s.variable for s, e in each for _ in range(e)] for each in powers)))
        total = 0.0
        try:
            for c, variables in self._numbers:
                if type(c) is not float:
                    c = evaluated(c, {v._node: float(env[v]) for v in Expression._of(c).GetVariables() if v in env}, {})
                for variable in variables:
                    c *= env[variable]
                total += c
        except KeyError as error:
            (missing,) = error.args
            raise RuntimeError(f"Polynomial.Evaluate: the environment has no value for {missing} of {self}.") from None
        return float(total)

    @also_named(var="env")
    def EvaluatePartial(self, env: Any, c: float | None = None) -> Polynomial:
        """The polynomial with numbers for some variables: `EvaluatePartial(env)`, or `EvaluatePartial(var, c)`."""
        values: Any = {env: c} if isinstance(env, Variable) else env
        numbers: dict[Any, Any] = {symbol: n.number(value) for symbol, value in values_of(values).items()}
        memo: dict[Any, Any] = {}
        result = Polynomial()
        for monomial, coefficient in self._terms.items():
            powers = n.factors_of(monomial)
            known = n.power_product((numbers[symbol], power) for symbol, power in powers.items() if symbol in numbers)
            rest = n.product_of({symbol: power for symbol, power in powers.items() if symbol not in numbers})
            result._add(n.multiplied(known, substituted(coefficient, numbers, memo)), rest)
        return result

    def EvaluateIndeterminates(self, indeterminates: npt.ArrayLike, indeterminates_values: npt.ArrayLike) -> Any:
        """Its values for each column of an array of values of the indeterminates.

        Args:
            indeterminates: variables, shape [m].
            indeterminates_values: shape [m, n].

        Returns:
            Shape [n].

        Raises:
            RuntimeError: a coefficient is not a number, or an indeterminate has no values.
        """
        values = np.asarray(indeterminates_values, dtype=np.float64)
        total = np.zeros(values.shape[-1])
        for monomial, c in self._terms.items():
            if type(c) is not n.Number:
                raise RuntimeError(f"Polynomial.EvaluateIndeterminates: the coefficient {text(c)} is not a constant.")
            total += float(c.value) * Monomial._of(monomial).Evaluate(indeterminates, values)
        return total

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
            slopes, constants = DecomposeAffineExpressions(np.array([Expression._of(c)]), variables)
            values = Monomial._of(monomial).Evaluate(indeterminates, indeterminates_values)
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
        missing = [str(v) for v in self.indeterminates() if v not in indeterminate_substitution]
        if missing:
            raise RuntimeError(f"Polynomial.SubstituteAndExpand: the substitution has nothing for {missing}.")
        known = {} if substitutions_cached_data is None else substitutions_cached_data._data
        result = Polynomial()
        for product, c in self._terms.items():
            monomial = Monomial._of(product)
            if monomial not in known:
                powers = (as_polynomial(indeterminate_substitution[v]) ** p for v, p in monomial.get_powers().items())
                known[monomial] = math.prod(powers, start=Polynomial(1.0))
            for other, d in known[monomial]._terms.items():
                result._add(n.multiplied(c, d), other)
        return result

    def Roots(self) -> npt.NDArray[np.complex128]:
        """All complex roots of a polynomial in one variable, shape [degree].

        Raises:
            RuntimeError: there is another number of variables, or a coefficient is not a number.
        """
        if len(self._indeterminates) != 1:
            raise RuntimeError(f"Polynomial.Roots: {self} is in {self.indeterminates()}, not in one variable.")
        coefficients = np.zeros(self.TotalDegree() + 1)
        for monomial, c in self._terms.items():
            if type(c) is not n.Number:
                raise RuntimeError(f"Polynomial.Roots: the coefficient {text(c)} of {text(monomial)} is not a number.")
            coefficients[-1 - sum(n.factors_of(monomial).values())] = float(c.value)
        return np.roots(coefficients).astype(np.complex128)

    # ------------------------------------------------------------------ questions and changes

    def IsEven(self) -> bool:
        """Whether all its monomials have an even degree."""
        return all(sum(n.factors_of(monomial).values()) % 2 == 0 for monomial in self._terms)

    def IsOdd(self) -> bool:
        """Whether all its monomials have an odd degree."""
        return all(sum(n.factors_of(monomial).values()) % 2 == 1 for monomial in self._terms)

    def AddProduct(self, coeff: Any, m: Monomial) -> Polynomial:
        """Adds a term to this polynomial, and returns it."""
        return self._add(Expression(coeff)._node, m._product)

    def _add(self, c: n.Node, monomial: n.Node) -> Polynomial:
        self._numbers = None
        total = expanded(n.added(self._terms[monomial], c) if monomial in self._terms else c)
        if n.is_zero(total):
            self._terms.pop(monomial, None)
        else:
            self._terms[monomial] = total
            self._indeterminates.update(n.factors_of(monomial))
        return self

    def Expand(self) -> Polynomial:
        """The polynomial with its coefficients multiplied out; those that vanish are left out."""
        memo: dict[Any, Any] = {}
        return self._with_coefficients(lambda c: expanded(c, memo))

    def RemoveTermsWithSmallCoefficients(self, coefficient_tol: float) -> Polynomial:
        """The polynomial without the terms whose coefficients are numbers, and at most so large."""
        terms = {m: c for m, c in self._terms.items() if not (type(c) is n.Number and abs(c.value) <= coefficient_tol)}
        return Polynomial._of(terms, self._indeterminates)

    def CoefficientsAlmostEqual(self, p: Polynomial, tolerance: float) -> bool:
        """Whether no coefficient differs from that of p by more than the tolerance; those that are missing are 0."""
        difference = (self - p).Expand()
        return all(type(c) is n.Number and abs(c.value) <= tolerance for c in difference._terms.values())

    def EqualTo(self, other: Polynomial) -> bool:
        """Whether both have the same terms."""
        if not isinstance(other, Polynomial):
            raise TypeError(f"Polynomial.EqualTo: expected a Polynomial, got {type(other).__name__}.")
        return self._terms == other._terms

    def _with_coefficients(self, function: Callable[[n.Node], n.Node]) -> Polynomial:
        return Polynomial._of({monomial: function(c) for monomial, c in self._terms.items()}, self._indeterminates)

    # ------------------------------------------------------------------ operators

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def _plus(self, other: Any, factor: int) -> Any:
        if isinstance(other, Expression):
            return self.ToExpression() + factor * other
        polynomial = self._operand(other)
        if polynomial is None:
            return NotImplemented
        terms = dict(self._terms)
        for monomial, c in polynomial._terms.items():
            terms[monomial] = expanded(n.added(terms.get(monomial, n.ZERO), c, factor))
        return Polynomial._of(terms, self._indeterminates | polynomial._indeterminates)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __neg__(self) -> Polynomial:
        return self._with_coefficients(lambda c: n.scaled(c, -1))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Expression):
            return self.ToExpression() * other
        polynomial = self._operand(other)
        if polynomial is None:
            return NotImplemented
        chosen = self._indeterminates | polynomial._indeterminates
        return Polynomial._of(_coefficients(n.multiplied(self._tree(), polynomial._tree()), chosen), chosen)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if n.is_number(other):
            return self._with_coefficients(lambda c: (Expression._of(c) / other)._node)
        return self.ToExpression() / other if isinstance(other, Term) else NotImplemented

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.ToExpression() if isinstance(other, Term) or n.is_number(other) else NotImplemented

    def __pow__(self, exponent: int) -> Polynomial:
        if not isinstance(exponent, (int, np.integer)) or exponent < 0:
            raise RuntimeError(f"Polynomial: ({self}) to the power of {exponent}: the exponent must be 0, 1, 2, ...")
        power = n.integer_power(self._tree(), int(exponent))
        return Polynomial._of(_coefficients(power, self._indeterminates), self._indeterminates)

    def _operand(self, other: Any) -> Polynomial | None:
        """The other operand as a Polynomial; variables are of the same kind as in this polynomial."""
        if isinstance(other, Polynomial):
            return other
        if isinstance(other, Variable):
            return Polynomial._of({other._node: n.ONE} if other._node in self._indeterminates else {n.ONE: other._node})
        return Polynomial(other) if isinstance(other, Monomial) or n.is_number(other) else None

    def __eq__(self, other: object) -> Formula:  # type: ignore[override]
        if not isinstance(other, Polynomial):
            return NotImplemented
        conditions = [Expression._of(c) == 0.0 for c in (other - self)._terms.values()]
        return logical_and(*conditions) if conditions else Formula.True_()

    def __ne__(self, other: object) -> Formula:  # type: ignore[override]
        return logical_not(self == other) if isinstance(other, Polynomial) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._terms.items()))

    def __copy__(self, memo: Any = None) -> Polynomial:
        return Polynomial._of(self._terms, self._indeterminates)

    __deepcopy__ = __copy__

    def __reduce__(self) -> tuple[Any, ...]:
        return Polynomial._of, (self._terms, self._indeterminates)

    def __str__(self) -> str:
        return " + ".join(f"{c}*{monomial}" for monomial, c in self.monomial_to_coefficient_map().items()) or "0"

    def __repr__(self) -> str:
        return f'<Polynomial "{self}">'


class SubstituteAndExpandCacheData:
    """Cached products of `Polynomial.SubstituteAndExpand` for one substitution."""

    def __init__(self) -> None:
        self._data: dict[Monomial, Polynomial] = {}

    def get_data(self) -> dict[Monomial, Polynomial]:
        """The monomials that have been substituted in, and what came of them."""
        return self._data


def CalcPolynomialWLowerTriangularPart(monomial_basis: npt.ArrayLike, gram_lower: npt.ArrayLike) -> Polynomial:
    """The polynomial m'Q m of monomials m and a symmetric matrix Q.

    Args:
        monomial_basis: m, shape [n].
        gram_lower: the lower triangle of Q, column by column, as numbers, variables or expressions,
            shape [n (n + 1) / 2].

    Raises:
        ValueError: there are not as many entries.
    """
    basis, entries = np.ravel(np.asarray(monomial_basis)).tolist(), np.ravel(np.asarray(gram_lower)).tolist()
    size = len(basis)
    if len(entries) != size * (size + 1) // 2:
        raise ValueError(
            f"CalcPolynomialWLowerTriangularPart: the lower triangle of a {size} x {size} matrix has "
            f"{size * (size + 1) // 2} entries, given {len(entries)}."
        )
    found: dict[n.Node, list[tuple[Any, n.Real]]] = {}
    places = ((i, j) for j in range(size) for i in range(j, size))
    for (i, j), entry in zip(places, entries):
        product = n.multiplied(basis[i]._product, basis[j]._product)
        found.setdefault(product, []).append((Expression(entry)._node, 1 if i == j else 2))
    return Polynomial._of({product: expanded(n.summed(parts)) for product, parts in found.items()})


def as_polynomial(value: Any) -> Polynomial:
    """A Polynomial itself, or one of an expression, a monomial or a number."""
    return value if isinstance(value, Polynomial) else Polynomial(value)


def _symbols(given: Any) -> list[n.Symbol]:
    return [v._node for v in (given if isinstance(given, Variables) else Variables(np.ravel(given).tolist()))]


def _coefficients(root: n.Node, indeterminates: set[n.Symbol]) -> dict[n.Node, n.Node]:
    """The coefficients of a tree that is a polynomial in some symbols, by products of these.

    Raises:
        RuntimeError: it is not a polynomial.
    """
    constant, terms = n.terms_of(expanded(root))
    if indeterminates.issuperset(itertools.chain.from_iterable(map(n.factors_of, terms))):
        numbers: dict[n.Node, n.Node] = {term: n.Number(factor) for term, factor in terms.items()}
        return numbers | {n.ONE: n.Number(constant)} if constant else numbers
    found: dict[n.Node, list[tuple[n.Node, n.Real]]] = {n.ONE: [(n.ONE, constant)]} if constant else {}
    for term, factor in terms.items():
        powers: dict[n.Node, int] = {}
        rest: dict[n.Node, int] = {}
        for base, exponent in n.factors_of(term).items():
            (powers if base in indeterminates else rest)[base] = exponent
        for atom in rest:
            if type(atom) is not n.Symbol and indeterminates.intersection(n.symbols_of(atom)):
                _refuse(atom, indeterminates)
        monomial = term if not rest else n.product_of(powers)
        found.setdefault(monomial, []).append((n.product_of(rest), factor))
    return {monomial: n.summed(parts) if len(parts) > 1 else n.scaled(*parts[0]) for monomial, parts in found.items()}


def _refuse(atom: n.Node, indeterminates: set[n.Symbol]) -> None:
    if type(atom) is n.Power:
        raise RuntimeError(
            f"{printable(atom)} is not a polynomial: its exponent, {printable(atom.parts[1])}, must be a positive "
            "integer."
        )
    names = ", ".join(symbol.name for symbol in n.symbols_of(*indeterminates))
    raise RuntimeError(f"The term {printable(atom)} is not a polynomial in {{{names}}}: of these it must be free.")
