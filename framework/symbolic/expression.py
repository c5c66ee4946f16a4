"""Symbolic expressions of real variables."""

from __future__ import annotations

__all__ = ["Expression", "Term", "node_of"]

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.core.system.random_values import RandomGenerator
from merganser.framework.symbolic import printing
from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.derivatives import differentiated
from merganser.framework.symbolic.formula import Formula, replacements_of, values_of
from merganser.framework.symbolic.kinds import ExpressionKind, expression_kind, taken_apart
from merganser.framework.symbolic.nodes import IsNan, Maximum, Minimum, Symbol, is_number, is_zero, number
from merganser.framework.symbolic.trees import (
    decided,
    evaluated,
    function_value,
    number_normalized,
    substituted,
    symbols_of,
)
from merganser.framework.symbolic.variables import Variables


def node_of(value: Any) -> Any:
    """The tree of an expression, a variable or a number; None of anything else."""
    if isinstance(value, Term):
        return value._node
    return number(value) if is_number(value) else None


def _applied(function: Any, node: Any) -> Expression:
    """A function of a tree; of a constant, its value as a float."""
    if node.is_Number and node is not sympy.nan:
        return Expression(function_value(function, float(node)))
    return Expression._of(function(node))


class Term:
    """What variables and expressions have in common: operators and functions, which make expressions.

    Operands are variables, expressions and numbers. Arrays of objects work by numpy's operators and functions.
    """

    __slots__ = ("_node",)
    _node: Any

    @staticmethod
    def lift(constant: float) -> Expression:
        """A number as a scalar of this kind."""
        return Expression(constant)

    def __add__(self, other: Any) -> Expression:
        node = node_of(other)
        return NotImplemented if node is None else Expression._of(sympy.Add(self._node, node))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Expression:
        node = node_of(other)
        return NotImplemented if node is None else Expression._of(sympy.Add(self._node, -node))

    def __rsub__(self, other: Any) -> Expression:
        node = node_of(other)
        return NotImplemented if node is None else Expression._of(sympy.Add(node, -self._node))

    def __mul__(self, other: Any) -> Expression:
        node = node_of(other)
        return NotImplemented if node is None else Expression._of(sympy.Mul(self._node, node))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Expression:
        node = node_of(other)
        return NotImplemented if node is None else _quotient(self._node, node)

    def __rtruediv__(self, other: Any) -> Expression:
        node = node_of(other)
        return NotImplemented if node is None else _quotient(node, self._node)

    def __pow__(self, other: Any) -> Expression:
        node = node_of(other)
        return NotImplemented if node is None else _power(self._node, node)

    def __rpow__(self, other: Any) -> Expression:
        node = node_of(other)
        return NotImplemented if node is None else _power(node, self._node)

    def __neg__(self) -> Expression:
        return Expression._of(-self._node)

    def __pos__(self) -> Expression:
        return Expression._of(self._node)

    def _relation(self, kind: Any, other: Any) -> Formula:
        node = node_of(other)
        return NotImplemented if node is None else Formula._of(decided(kind, self._node, node))

    def __lt__(self, other: Any) -> Formula:
        return self._relation(sympy.Lt, other)

    def __le__(self, other: Any) -> Formula:
        return self._relation(sympy.Le, other)

    def __gt__(self, other: Any) -> Formula:
        return self._relation(sympy.Gt, other)

    def __ge__(self, other: Any) -> Formula:
        return self._relation(sympy.Ge, other)

    def __eq__(self, other: object) -> Formula:  # type: ignore[override]
        return self._relation(sympy.Eq, other)

    def __ne__(self, other: object) -> Formula:  # type: ignore[override]
        return self._relation(sympy.Ne, other)

    # Functions, under the names that numpy looks for in arrays of objects.

    def sin(self) -> Expression:
        return _applied(sympy.sin, self._node)

    def cos(self) -> Expression:
        return _applied(sympy.cos, self._node)

    def tan(self) -> Expression:
        return _applied(sympy.tan, self._node)

    def arcsin(self) -> Expression:
        return _applied(sympy.asin, self._node)

    def arccos(self) -> Expression:
        return _applied(sympy.acos, self._node)

    def arctan(self) -> Expression:
        return _applied(sympy.atan, self._node)

    def sinh(self) -> Expression:
        return _applied(sympy.sinh, self._node)

    def cosh(self) -> Expression:
        return _applied(sympy.cosh, self._node)

    def tanh(self) -> Expression:
        return _applied(sympy.tanh, self._node)

    def exp(self) -> Expression:
        return _applied(sympy.exp, self._node)

    def log(self) -> Expression:
        return _applied(sympy.log, self._node)

    def floor(self) -> Expression:
        return _applied(sympy.floor, self._node)

    def ceil(self) -> Expression:
        return _applied(sympy.ceiling, self._node)

    def __abs__(self) -> Expression:
        return _applied(sympy.Abs, self._node)

    def sqrt(self) -> Expression:
        return _power(self._node, sympy.S.Half)

    def pow(self, exponent: Any) -> Expression:
        """This to the power of `exponent`."""
        return _power(self._node, _required(exponent, "pow"))

    def arctan2(self, x: Any) -> Expression:
        """Angle of the point (x, y), y being this, in (-pi, pi] [rad]."""
        return Expression._of(sympy.atan2(self._node, _required(x, "atan2")))

    def max(self, other: Any) -> Expression:
        """The greater of the two."""
        return Expression._of(Maximum(self._node, _required(other, "max")))

    def min(self, other: Any) -> Expression:
        """The lesser of the two."""
        return Expression._of(Minimum(self._node, _required(other, "min")))

    def isnan(self) -> Formula:
        """The formula that this is NaN."""
        return Formula._of(IsNan(self._node))

    abs = __abs__
    __floor__ = floor
    __ceil__ = ceil
    asin = arcsin
    acos = arccos
    atan = arctan
    atan2 = arctan2

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def _required(value: Any, where: str) -> Any:
    node = node_of(value)
    if node is None:
        raise TypeError(f"{where}: expected an Expression, a Variable or a number, got {type(value).__name__}.")
    return node


def _quotient(numerator: Any, denominator: Any) -> Expression:
    if is_zero(denominator):
        raise RuntimeError(f"Expression: division by zero: {printing.text(numerator)} / 0.")
    return Expression._of(sympy.Mul(numerator, sympy.Pow(denominator, -1)))


def _power(base: Any, exponent: Any) -> Expression:
    if exponent.is_Float and float(2 * exponent).is_integer():
        exponent = sympy.Rational(int(2 * exponent), 2)  # sqrt(x), not x**0.5
    if is_zero(base) and exponent.is_Number and exponent < 0:
        raise RuntimeError(f"Expression: division by zero: 0 to the power of {printing.text(exponent)}.")
    if base.is_Number and exponent.is_Number and not (base.is_Integer and exponent.is_Integer):
        return Expression(evaluated(sympy.Pow(base, exponent, evaluate=False), {}, {}))
    return Expression._of(sympy.Pow(base, exponent))


class Expression(Term):
    """An expression of variables, in a canonical form: sums and products are sorted, equal terms combined.

    Comparisons make formulas; `EqualTo` compares structure. Expressions do not change.
    """

    __slots__ = ()

    def __init__(self, constant: Any = 0.0, *, var: Any = None) -> None:
        """Makes a constant, or the expression that consists of one variable.

        Raises:
            TypeError: neither a number nor a variable or an expression.
        """
        self._node = _required(constant if var is None else var, "Expression")

    @classmethod
    def _of(cls, node: Any) -> Expression:
        """Wraps a tree."""
        self = cls.__new__(cls)
        self._node = node
        return self

    def Evaluate(self, env: Mapping[Any, float] | None = None, generator: RandomGenerator | None = None) -> float:
        """Value for the values in `env`, {Variable: number}; a generator draws those of random variables not there.

        Raises:
            RuntimeError: a variable without a value, a NaN, or a division by zero.
            ValueError: an argument outside of the domain of a function.
        """
        return float(evaluated(self._node, values_of(env, generator, (self._node,)), {}))

    def EvaluatePartial(self, env: Mapping[Any, float]) -> Expression:
        """The expression with the numbers of `env`, {Variable: number}, for these variables."""
        numbers = {symbol: number(value) for symbol, value in values_of(env).items()}
        return Expression._of(substituted(self._node, numbers, {}))

    @also_named(s="var")
    def Substitute(self, var: Any, e: Any = None) -> Expression:
        """The expression with e for the variable `var`; or with all of a dict {Variable: e}, at once.

        Raises:
            TypeError: `var` is no variable, or `e` no expression.
            RuntimeError: the result divides by zero.
        """
        return Expression._of(substituted(self._node, replacements_of(var, e), {}))

    def Differentiate(self, x: Any) -> Expression:
        """Partial derivative by the variable x.

        Raises:
            TypeError: x is no variable.
        """
        return Expression._of(differentiated(self._node, symbol_of(x, "Differentiate"), {}))

    def Jacobian(self, vars: Iterable[Any]) -> npt.NDArray[Any]:
        """Partial derivatives by all of `vars`; objects, shape [len(vars)]."""
        return np.array([self.Differentiate(variable) for variable in vars], dtype=object)

    def Expand(self) -> Expression:
        """The expression with products and integer powers of sums multiplied out."""
        return Expression._of(
            self._node.expand(power_base=False, power_exp=False, log=False, mul=True, multinomial=True, basic=False)
        )

    def GetVariables(self) -> Variables:
        """The variables in the expression."""
        return Variables(symbol.variable for symbol in symbols_of(self._node))

    GetFreeVariables = GetVariables

    def EqualTo(self, other: Any) -> bool:
        """Whether both have the same canonical form; equal functions of different form do not."""
        return number_normalized(self._node) == number_normalized(_required(other, "EqualTo"))

    def is_polynomial(self) -> bool:
        """Whether this is a polynomial of its variables."""
        symbols = symbols_of(self._node)
        return not symbols or bool(self._node.is_polynomial(*symbols))

    def get_kind(self) -> ExpressionKind:
        """What this is at its top: a sum, a product, a sine, ..."""
        return expression_kind(self._node)

    def Unapply(self) -> tuple[Any, list[Any]]:
        """A function and the list of arguments that give this expression: of a sum, its constant and its terms."""
        return taken_apart(self)

    def to_string(self) -> str:
        """The expression as text."""
        return printing.text(self._node)

    __str__ = to_string

    def __repr__(self) -> str:
        return f'<Expression "{self}">'

    def __reduce__(self) -> tuple[Any, ...]:
        return Expression._of, (self._node,)


def symbol_of(variable: Any, where: str) -> Symbol:
    """The symbol of a variable, or of an expression that is just a variable."""
    node = getattr(variable, "_node", None)
    if not isinstance(node, Symbol):
        raise TypeError(f"{where}: expected a Variable, got {type(variable).__name__} {variable}.")
    return node
