"""Products of powers of variables, and all those up to a degree."""

from __future__ import annotations

import itertools
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.symbolic.expression import Expression, Term
from merganser.framework.symbolic.formula import refuse_nan
from merganser.framework.symbolic.nodes import (
    Node,
    factors_of,
    integer_power,
    is_number,
    multiplied,
    product_of,
    symbols_of,
)
from merganser.framework.symbolic.variable import Variable
from merganser.framework.symbolic.variables import Variables


def _operator(function: Callable[[Any, Any], Any]) -> Any:
    """A function of a monomial and of an expression, a variable or a number, as a method; it makes an expression."""

    def method(self: Monomial, other: Any) -> Any:
        return function(self.ToExpression(), other) if isinstance(other, Term) or is_number(other) else NotImplemented

    return method


class Monomial:
    """A product of powers of variables: x^2 y; 1 by default.

    Args:
        var: a variable; or a dictionary {variable: exponent}; or an array of variables.
        exponent: of the variable, 1 by default; of an array of variables, their exponents.

    Raises:
        ValueError: an exponent is negative, or no integer.
    """

    __slots__ = ("_product",)
    _product: Node  # of symbols

    @also_named(powers="var", vars="var", exponents="exponent")
    def __init__(self, var: Any = None, exponent: Any = None) -> None:
        if var is None:
            powers: dict[Any, Any] = {}
        elif isinstance(var, Variable):
            powers = {var: 1 if exponent is None else exponent}
        elif isinstance(var, Mapping):
            powers = dict(var)
        else:
            variables, exponents = np.ravel(var).tolist(), np.ravel(exponent).tolist()
            if len(variables) != len(exponents):
                raise ValueError(f"Monomial: {len(variables)} variables have {len(exponents)} exponents.")
            powers = dict(zip(variables, exponents))
        for variable, power in powers.items():
            if not isinstance(variable, Variable):
                raise TypeError(f"Monomial: expected variables, got {type(variable).__name__} {variable}.")
            if power != int(power) or power < 0:
                raise ValueError(f"Monomial: the exponent of {variable} is {power}; it must be 0, 1, 2, ...")
        self._product = product_of({variable._node: int(power) for variable, power in powers.items() if power})

    @classmethod
    def _of(cls, product: Node) -> Monomial:
        """That of a product of symbols."""
        self = cls.__new__(cls)
        self._product = product
        return self

    def degree(self, v: Variable) -> int:
        """The exponent of a variable."""
        return factors_of(self._product).get(v._node, 0)

    def total_degree(self) -> int:
        """The sum of all exponents."""
        return sum(factors_of(self._product).values())

    def GetVariables(self) -> Variables:
        """The variables in the monomial."""
        return Variables(self.get_powers())

    def get_powers(self) -> dict[Variable, int]:
        """The exponents by variable."""
        powers: Mapping[Any, int] = factors_of(self._product)
        return {symbol.variable: powers[symbol] for symbol in symbols_of(*powers)}

    def Evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """Its value for the values in `env`, {variable: number}.

        Or `Evaluate(vars, vars_values)`: its values for each column of an array, shape [len(vars), n]; shape [n].

        Raises:
            RuntimeError: a variable has no value, or one is NaN in `env`.
        """
        if len(args) + len(kwargs) == 1:
            (env,) = (*args, *kwargs.values())
            refuse_nan(env)
            self._require(env, "the environment")
            return math.prod(float(env[variable]) ** power for variable, power in self.get_powers().items())
        variables, values = (*args, *(kwargs[name] for name in ("vars", "vars_values") if name in kwargs))
        rows = dict(zip(np.ravel(variables).tolist(), np.atleast_2d(np.asarray(values, dtype=np.float64))))
        self._require(rows, "`vars`")
        columns = np.asarray(values).shape[-1]
        return math.prod((rows[v] ** power for v, power in self.get_powers().items()), start=np.ones(columns))

    def _require(self, known: Any, what: str) -> None:
        missing = [str(variable) for variable in self.get_powers() if variable not in known]
        if missing:
            raise RuntimeError(f"Monomial.Evaluate: {what} has no value for {', '.join(missing)} of {self}.")

    def EvaluatePartial(self, env: Mapping[Variable, float]) -> tuple[float, Monomial]:
        """A coefficient and what is left of the monomial, for values of some variables."""
        refuse_nan(env)
        powers = self.get_powers()
        coefficient = math.prod(float(env[v]) ** power for v, power in powers.items() if v in env)
        return float(coefficient), Monomial({v: power for v, power in powers.items() if v not in env})

    def ToExpression(self) -> Expression:
        """The monomial as an expression."""
        return Expression._of(self._product)

    def EqualTo(self, other: Monomial) -> bool:
        """Whether both are the same product."""
        return self == other

    def pow_in_place(self, p: int) -> Monomial:
        """Raises this to a power, and returns it.

        Raises:
            RuntimeError: the exponent is negative.
        """
        self._product = (self**p)._product
        return self

    def __pow__(self, p: int) -> Monomial:
        if p < 0:
            raise RuntimeError(f"Monomial: {self} to the power of {p} is not a monomial, as the exponent is negative.")
        return Monomial._of(integer_power(self._product, p))

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Monomial):
            return Monomial._of(multiplied(self._product, other._product))
        if is_number(other):
            from merganser.framework.symbolic.polynomial import Polynomial

            return Polynomial(self) * other
        return self.ToExpression() * other if isinstance(other, Term) else NotImplemented

    __rmul__ = __mul__

    __add__ = __radd__ = _operator(operator.add)
    __sub__, __rsub__ = _operator(operator.sub), _operator(lambda x, y: y - x)
    __truediv__, __rtruediv__ = _operator(operator.truediv), _operator(lambda x, y: y / x)

    def __eq__(self, other: object) -> bool:
        return self._product == other._product if isinstance(other, Monomial) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._product)

    def __copy__(self, memo: Any = None) -> Monomial:
        return Monomial._of(self._product)

    __deepcopy__ = __copy__

    def __reduce__(self) -> tuple[Any, ...]:
        return Monomial._of, (self._product,)

    def __str__(self) -> str:
        factors = (str(v) if power == 1 else f"{v}^{power}" for v, power in self.get_powers().items())
        return " * ".join(factors) or "1"

    def __repr__(self) -> str:
        return f'<Monomial "{self}">'


def in_order(products: Iterable[Node]) -> list[Any]:
    """Products of symbols in the lexicographic order of exponents; those of older variables decide."""
    listed = list(products)
    symbols = symbols_of(*listed)

    def place(product: Node) -> Any:
        powers = factors_of(product)
        return [powers.get(symbol, 0) for symbol in symbols]

    return sorted(listed, key=place)


def MonomialBasis(*args: Any, **kwargs: Any) -> npt.NDArray[Any]:
    """All monomials up to a degree, in the graded reverse lexicographic order; objects, shape [n].

    Two forms:

        MonomialBasis(vars, degree)          # Variables, or an array of them
        MonomialBasis(vars_degree)           # {Variables: degree in them}

    Raises:
        ValueError: there are no variables, or a degree is negative.
    """
    given = (*args, *(kwargs[name] for name in ("vars", "degree", "vars_degree") if name in kwargs))
    if len(given) == 1:
        parts = [_up_to(_checked(variables), degree) for variables, degree in given[0].items()]
        found = {math.prod(factors, start=Monomial()) for factors in itertools.product(*parts)}
        return _array(found)
    variables, degree = given
    return _array(_up_to(_checked(variables), degree))


def EvenDegreeMonomialBasis(vars: Any, degree: int) -> npt.NDArray[Any]:
    """Those of `MonomialBasis(vars, degree)` that have an even degree."""
    return _array(each for each in _up_to(_checked(vars), degree) if each.total_degree() % 2 == 0)


def OddDegreeMonomialBasis(vars: Any, degree: int) -> npt.NDArray[Any]:
    """Those of `MonomialBasis(vars, degree)` that have an odd degree."""
    return _array(each for each in _up_to(_checked(vars), degree) if each.total_degree() % 2 == 1)


def CalcMonomialBasisOrderUpToOne(x: Variables, sort_monomial: bool = False) -> npt.NDArray[Any]:
    """All monomials in which no variable has a power beyond 1; objects, shape [2^len(x)].

    They are in the graded reverse lexicographic order, or counted up like binary numbers: 1, y, x, x y.
    """
    variables = _checked(x)
    chosen = itertools.product((0, 1), repeat=len(variables))
    monomials = [Monomial(dict(zip(variables, powers))) for powers in chosen]
    return _array(monomials) if sort_monomial else np.array(monomials, dtype=object)


def _checked(variables: Any) -> list[Variable]:
    listed = list(Variables(variables if isinstance(variables, Variables) else np.ravel(variables).tolist()))
    if not listed:
        raise ValueError("A basis of monomials needs at least one variable.")
    return listed


def _up_to(variables: list[Variable], degree: int) -> Iterator[Monomial]:
    if degree < 0:
        raise ValueError(f"A basis of monomials has a degree of at least 0, got {degree}.")
    symbols: list[Node] = [variable._node for variable in variables]
    for total in range(degree + 1):
        for chosen in itertools.combinations_with_replacement(symbols, total):
            yield Monomial._of(product_of(dict(Counter(chosen))))


def _array(monomials: Iterable[Monomial]) -> npt.NDArray[Any]:
    """Sorted by degree, highest first, and those of one degree in the reverse lexicographic order."""
    ordered = map(Monomial._of, in_order(monomial._product for monomial in monomials))
    return np.array(sorted(ordered, key=Monomial.total_degree, reverse=True), dtype=object)
