"""Products of powers of variables, and all those up to a degree."""

from __future__ import annotations

__all__ = [
    "CalcMonomialBasisOrderUpToOne",
    "EvenDegreeMonomialBasis",
    "Monomial",
    "MonomialBasis",
    "OddDegreeMonomialBasis",
    "in_order",
]

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.expression import Expression, Term
from merganser.framework.symbolic.nodes import is_number
from merganser.framework.symbolic.variable import Variable
from merganser.framework.symbolic.variables import Variables

if TYPE_CHECKING:
    from merganser.framework.symbolic.polynomial import Polynomial


class Monomial:
    """A product of powers of variables: x^2 y; 1 by default.

    Args:
        var: a variable; or a dictionary {variable: exponent}; or an array of variables.
        exponent: of the variable, 1 by default; of an array of variables, their exponents.

    Raises:
        ValueError: an exponent is negative, or no integer.
    """

    __slots__ = ("_key", "_powers")
    _powers: dict[Variable, int]  # by number of the variable, none of them 0
    _key: tuple[tuple[int, int], ...]  # numbers of variables and their exponents

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
        self._set({variable: int(power) for variable, power in powers.items()})

    @classmethod
    def _of(cls, powers: Mapping[Variable, int]) -> Monomial:
        """Unchecked."""
        self = cls.__new__(cls)
        self._set(powers)
        return self

    def _set(self, powers: Mapping[Variable, int]) -> None:
        present = sorted(((v.get_id(), v, power) for v, power in powers.items() if power), key=lambda item: item[0])
        self._powers = {variable: power for _, variable, power in present}
        self._key = tuple((number, power) for number, _, power in present)

    def degree(self, v: Variable) -> int:
        """The exponent of a variable."""
        return self._powers.get(v, 0)

    def total_degree(self) -> int:
        """The sum of all exponents."""
        return sum(self._powers.values())

    def GetVariables(self) -> Variables:
        """The variables in the monomial."""
        return Variables(self._powers)

    def get_powers(self) -> dict[Variable, int]:
        """The exponents by variable."""
        return dict(self._powers)

    def Evaluate(self, *args: Any, **kwargs: Any) -> Any:
        """Its value for the values in `env`, {variable: number}.

        Or `Evaluate(vars, vars_values)`: its values for each column of an array, shape [len(vars), n]; shape [n].

        Raises:
            RuntimeError: a variable has no value.
        """
        if len(args) + len(kwargs) == 1:
            (env,) = (*args, *kwargs.values())
            self._require(env, "the environment")
            return math.prod(float(env[variable]) ** power for variable, power in self._powers.items())
        variables, values = (*args, *(kwargs[name] for name in ("vars", "vars_values") if name in kwargs))
        rows = dict(zip(np.ravel(variables).tolist(), np.atleast_2d(np.asarray(values, dtype=np.float64))))
        self._require(rows, "`vars`")
        columns = np.asarray(values).shape[-1]
        return math.prod((rows[v] ** power for v, power in self._powers.items()), start=np.ones(columns))

    def _require(self, known: Any, what: str) -> None:
        missing = [str(variable) for variable in self._powers if variable not in known]
        if missing:
            raise RuntimeError(f"Monomial.Evaluate: {what} has no value for {', '.join(missing)} of {self}.")

    def EvaluatePartial(self, env: Mapping[Variable, float]) -> tuple[float, Monomial]:
        """A coefficient and what is left of the monomial, for values of some variables."""
        coefficient = math.prod(float(env[v]) ** power for v, power in self._powers.items() if v in env)
        rest = {variable: power for variable, power in self._powers.items() if variable not in env}
        return float(coefficient), Monomial._of(rest)

    def ToExpression(self) -> Expression:
        """The monomial as an expression."""
        return Expression._of(sympy.Mul(*(variable._node**power for variable, power in self._powers.items())))

    def EqualTo(self, other: Monomial) -> bool:
        """Whether both are the same product."""
        return self == other

    def pow_in_place(self, p: int) -> Monomial:
        """Raises this to a power, and returns it.

        Raises:
            RuntimeError: the exponent is negative.
        """
        self._set((self**p)._powers)
        return self

    def __pow__(self, p: int) -> Monomial:
        if p < 0:
            raise RuntimeError(f"Monomial: {self} to the power of {p} is not a monomial, as the exponent is negative.")
        return Monomial._of({variable: power * p for variable, power in self._powers.items()})

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, Monomial):
            powers = dict(self._powers)
            for variable, power in other._powers.items():
                powers[variable] = powers.get(variable, 0) + power
            return Monomial._of(powers)
        if is_number(other):
            return self._as_polynomial() * other
        return self.ToExpression() * other if isinstance(other, Term) else NotImplemented

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Any:
        return self.ToExpression() + other if isinstance(other, Term) or is_number(other) else NotImplemented

    __radd__ = __add__

    def __truediv__(self, other: Any) -> Any:
        return self.ToExpression() / other if isinstance(other, Term) or is_number(other) else NotImplemented

    def _as_polynomial(self) -> Polynomial:
        from merganser.framework.symbolic.polynomial import Polynomial

        return Polynomial(self)

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, Monomial) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    def __copy__(self) -> Monomial:
        return Monomial._of(self._powers)

    def __deepcopy__(self, memo: Any) -> Monomial:
        return Monomial._of(self._powers)

    def __reduce__(self) -> tuple[Any, ...]:
        return Monomial._of, (self._powers,)

    def __str__(self) -> str:
        factors = (str(v) if power == 1 else f"{v}^{power}" for v, power in self._powers.items())
        return " * ".join(factors) or "1"

    def __repr__(self) -> str:
        return f'<Monomial "{self}">'


def in_order(monomials: Iterable[Monomial]) -> list[Monomial]:
    """Sorted by degree, highest first, and those of one degree in the reverse lexicographic order.

    A variable that was made later is greater.
    """
    listed = list(monomials)
    numbers = sorted({number for monomial in listed for number, _ in monomial._key})

    def place(monomial: Monomial) -> Any:
        powers = dict(monomial._key)
        return -monomial.total_degree(), [powers.get(number, 0) for number in numbers]

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

    They are in the graded reverse lexicographic order, whether or not that is asked for.
    """
    variables = _checked(x)
    return _array(
        Monomial._of(dict.fromkeys(chosen, 1))
        for count in range(len(variables) + 1)
        for chosen in itertools.combinations(variables, count)
    )


def _checked(variables: Any) -> list[Variable]:
    listed = list(Variables(variables if isinstance(variables, Variables) else np.ravel(variables).tolist()))
    if not listed:
        raise ValueError("A basis of monomials needs at least one variable.")
    return listed


def _up_to(variables: list[Variable], degree: int) -> Iterator[Monomial]:
    if degree < 0:
        raise ValueError(f"A basis of monomials has a degree of at least 0, got {degree}.")
    for total in range(degree + 1):
        for chosen in itertools.combinations_with_replacement(variables, total):
            powers: dict[Variable, int] = {}
            for variable in chosen:
                powers[variable] = powers.get(variable, 0) + 1
            yield Monomial._of(powers)


def _array(monomials: Iterable[Monomial]) -> npt.NDArray[Any]:
    return np.array(in_order(monomials), dtype=object)
