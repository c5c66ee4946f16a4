"""Symbolic expressions of real variables."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.core.system.random_values import RandomGenerator
from merganser.framework.symbolic import nodes as n
from merganser.framework.symbolic import printing, trees
from merganser.framework.symbolic.formula import Formula, Tree, values_of
from merganser.framework.symbolic.kinds import ExpressionKind, expression_kind
from merganser.framework.symbolic.nodes import Symbol, is_number, number
from merganser.framework.symbolic.trees import differentiated


def node_of(value: Any) -> Any:
    """The tree of an expression, a variable or a number; None of anything else."""
    if isinstance(value, Term):
        return value._node
    return number(value) if is_number(value) else None


_new = object.__new__


def _expression(node: Any) -> Expression:
    self = _new(Expression)
    self._node = node
    return self


def _difference(a: Any, b: Any) -> Any:
    return n.added(a, b, -1)


def _quotient(numerator: Any, denominator: Any) -> Any:
    if n.is_zero(denominator):
        raise RuntimeError(f"Expression: division by zero: {printing.text(numerator)} / 0.")
    return n.ONE if numerator == denominator else _product(numerator, n.reciprocal(denominator))


def _product(a: Any, b: Any) -> Any:
    for factor, other in ((a, b), (b, a)):
        if type(factor) is n.Reciprocal and factor.parts[0] == other:  # as pydrake has it, whatever the value
            return n.ONE
    return n.multiplied(a, b)


def _operator(function: Any, is_reflected: bool = False, made: Any = _expression) -> Any:
    def method(self: Term, other: Any) -> Any:
        node = node_of(other)
        if node is None:
            return NotImplemented
        return made(function(node, self._node) if is_reflected else function(self._node, node))

    return method


def _relation(kind: Any) -> Any:
    return _operator(functools.partial(n.decided, kind), made=Formula._of)


def _function(kind: Any) -> Any:
    def method(self: Term) -> Expression:
        return _expression(trees.applied(kind, self._node))

    return method


class Term:
    """Base of variables and expressions: operators and functions, which make expressions.

    Operands are variables, expressions and numbers. Arrays of objects work by numpy's operators and functions.
    """

    __slots__ = ("_node",)
    _node: Any

    @staticmethod
    def lift(constant: float) -> Expression:
        """A number as a scalar of this kind."""
        return Expression(constant)

    __add__ = __radd__ = _operator(n.added)
    __sub__, __rsub__ = _operator(_difference), _operator(_difference, is_reflected=True)

    def __mul__(self, other: Any) -> Expression:
        if type(other) is float or type(other) is int:
            return _expression(n.scaled(self._node, n.exact(other)))
        node = node_of(other)
        return NotImplemented if node is None else _expression(_product(self._node, node))

    __rmul__ = __mul__
    __truediv__, __rtruediv__ = _operator(_quotient), _operator(_quotient, is_reflected=True)
    __pow__, __rpow__ = _operator(trees.powered), _operator(trees.powered, is_reflected=True)

    def __neg__(self) -> Expression:
        return _expression(n.scaled(self._node, -1))

    def __pos__(self) -> Expression:
        return _expression(self._node)

    __lt__, __le__, __gt__, __ge__ = map(_relation, (n.Lt, n.Le, n.Gt, n.Ge))
    __eq__, __ne__ = map(_relation, (n.Eq, n.Ne))

    # Functions, under the names that numpy looks for in arrays of objects.

    sin, cos, tan, sinh, cosh, tanh = map(_function, (n.Sin, n.Cos, n.Tan, n.Sinh, n.Cosh, n.Tanh))
    arcsin, arccos, arctan, exp, log = map(_function, (n.Asin, n.Acos, n.Atan, n.Exp, n.Log))
    floor, ceil, __abs__ = map(_function, (n.Floor, n.Ceil, n.Abs))

    def sqrt(self) -> Expression:
        node = self._node
        if type(node) is n.Product and list(node.factors.values()) == [2]:
            return _expression(trees.applied(n.Abs, *node.parts))
        return _expression(trees.applied(n.Sqrt, node))

    def pow(self, exponent: Any) -> Expression:
        """This to the power of `exponent`."""
        return _expression(trees.powered(self._node, _required(exponent, "pow")))

    def arctan2(self, x: Any) -> Expression:
        """Angle of the point (x, y), y being this, in (-pi, pi] [rad]."""
        return _expression(trees.angle(self._node, _required(x, "atan2")))

    def max(self, other: Any) -> Expression:
        """The greater of the two."""
        return _expression(trees.extreme(n.Maximum, self._node, _required(other, "max")))

    def min(self, other: Any) -> Expression:
        """The lesser of the two."""
        return _expression(trees.extreme(n.Minimum, self._node, _required(other, "min")))

    def isnan(self) -> Formula:
        """The formula that this is NaN."""
        return Formula._of(trees.is_nan(self._node))

    abs = __abs__
    __floor__ = floor
    __ceil__ = ceil
    asin = arcsin
    acos = arccos
    atan = arctan
    atan2 = arctan2

    def __copy__(self, memo: Any = None) -> Any:
        return self

    __deepcopy__ = __copy__


def _required(value: Any, where: str) -> Any:
    node = node_of(value)
    if node is None:
        raise TypeError(f"{where}: expected an Expression, a Variable or a number, got {type(value).__name__}.")
    return node


class Expression(Term, Tree):
    """An expression of variables, in a canonical form: sums and products are sorted, equal terms combined.

    What is simplified is equal wherever it is defined, and defined where it was: pow(sqrt(x), 2) is not x. As in
    pydrake, x / x is 1 and 0 log(x) is 0, whatever x; so is 0 / x.

    Comparisons make formulas; `EqualTo` compares structure. Expressions do not change.
    """

    __slots__ = ()

    def __init__(self, constant: Any = 0.0, *, var: Any = None) -> None:
        """Makes a constant, or the expression that consists of one variable.

        Raises:
            TypeError: neither a number nor a variable or an expression.
        """
        self._node = _required(constant if var is None else var, "Expression")

    def Evaluate(
        self, env: Mapping[Any, float] | RandomGenerator | None = None, generator: RandomGenerator | None = None
    ) -> float:
        """Value for the values in `env`, {Variable: number}; a generator draws those of random variables not there.

        Raises:
            RuntimeError: a variable without a value, a NaN, or a division by zero.
            ValueError: an argument outside of the domain of a function.
        """
        return float(trees.evaluated(self._node, values_of(env, generator, (self._node,)), {}))

    def EvaluatePartial(self, env: Mapping[Any, float]) -> Expression:
        """The expression with the numbers of `env`, {Variable: number}, for these variables."""
        numbers = {symbol: number(value) for symbol, value in values_of(env).items()}
        return _expression(trees.substituted(self._node, numbers, {}))

    def Differentiate(self, x: Any) -> Expression:
        """Partial derivative by the variable x.

        Raises:
            TypeError: x is not a variable.
        """
        return _expression(differentiated(self._node, symbol_of(x, "Differentiate"), {}))

    def Jacobian(self, vars: Iterable[Any]) -> npt.NDArray[Any]:
        """Partial derivatives by all of `vars`; objects, shape [len(vars)]."""
        return np.array([self.Differentiate(variable) for variable in vars], dtype=object)

    def Expand(self) -> Expression:
        """The expression with products and integer powers of sums multiplied out."""
        return _expression(trees.expanded(self._node))

    GetVariables = Tree.GetFreeVariables

    def EqualTo(self, other: Any) -> bool:
        """Whether both have the same canonical form; equal functions of different form do not."""
        return bool(self._node == _required(other, "EqualTo"))

    def is_polynomial(self) -> bool:
        """Whether this is a polynomial of its variables."""
        return trees.is_polynomial(self._node)

    def get_kind(self) -> ExpressionKind:
        """The kind of the top node: a sum, a product, a sine, ..."""
        return expression_kind(self._node)


def symbol_of(variable: Any, where: str) -> Symbol:
    """The symbol of a variable, or of an expression that is just a variable."""
    node = getattr(variable, "_node", None)
    if not isinstance(node, Symbol):
        raise TypeError(f"{where}: expected a Variable, got {type(variable).__name__} {variable}.")
    return node
