"""Derivatives of expression trees.

The rules are the textbook's. Where a function has a kink (abs, min, max, floor, ceil, a choice), the derivative
there is NaN, and evaluating it raises an error, as in Drake.
"""

from __future__ import annotations

__all__ = ["differentiated"]

from collections.abc import Callable
from typing import Any

from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.nodes import IfThenElse, Maximum, Minimum, Symbol, is_uninterpreted, is_zero
from merganser.framework.symbolic.trees import RELATIONS, decided, postorder

_ZERO, _ONE = sympy.S.Zero, sympy.S.One


def _over(denominator: Any) -> Any:
    return sympy.Pow(denominator, -1)


def _step_slope(u: Any) -> Any:
    """Slope of floor and ceil: 0 between integers."""
    return IfThenElse(decided(sympy.Eq, sympy.floor(u), sympy.ceiling(u)), sympy.nan, _ZERO)


#: f'(u) of each function f.
_SLOPES: dict[Any, Callable[[Any], Any]] = {
    sympy.sin: sympy.cos,
    sympy.cos: lambda u: -sympy.sin(u),
    sympy.tan: lambda u: 1 + sympy.tan(u) ** 2,
    sympy.asin: lambda u: _over(sympy.sqrt(1 - u**2)),
    sympy.acos: lambda u: -_over(sympy.sqrt(1 - u**2)),
    sympy.atan: lambda u: _over(1 + u**2),
    sympy.sinh: sympy.cosh,
    sympy.cosh: sympy.sinh,
    sympy.tanh: lambda u: 1 - sympy.tanh(u) ** 2,
    sympy.exp: sympy.exp,
    sympy.log: _over,
    sympy.Abs: lambda u: _by_order(u, _ZERO, _ONE, -_ONE),
    sympy.sign: lambda u: _by_order(u, _ZERO, _ZERO, _ZERO),
    sympy.floor: _step_slope,
    sympy.ceiling: _step_slope,
}


def _by_order(a: Any, b: Any, if_greater: Any, if_less: Any) -> Any:
    """One of two expressions, by which of a and b is greater; NaN if they are equal."""
    if if_greater == if_less:
        return if_greater
    tie = IfThenElse(decided(sympy.Eq, a, b), sympy.nan, if_less)
    return IfThenElse(decided(sympy.Gt, a, b), if_greater, tie)


def differentiated(root: Any, symbol: Symbol, memo: dict[Any, Any]) -> Any:
    """Partial derivative of a tree by a symbol.

    Args:
        root: the tree.
        symbol: the variable.
        memo: derivatives of subtrees by the same symbol known so far; grows.
    """
    for node in postorder(root, memo, lazy=False):
        if node.args and not isinstance(node, sympy.logic.boolalg.Boolean):
            memo[node] = _derivative(node, memo.__getitem__)
        else:
            memo[node] = _ONE if node == symbol else _ZERO
    return memo[root]


def _derivative(node: Any, d: Callable[[Any], Any]) -> Any:
    """The rule for a node, given the derivative of its arguments."""
    kind = node.func
    if kind is sympy.Add:
        return sympy.Add(*(d(term) for term in node.args))
    if kind is sympy.Mul:
        return _product_rule(node.args, d)
    if kind is sympy.Pow:
        return _power_rule(node, d)
    if kind in _SLOPES:
        (u,) = node.args
        du = d(u)
        return _ZERO if is_zero(du) else sympy.Mul(_SLOPES[kind](u), du)
    if kind is sympy.atan2:
        y, x = node.args
        return (x * d(y) - y * d(x)) * _over(x**2 + y**2)
    if kind in (Maximum, Minimum):
        a, b = node.args
        return _by_order(a, b, d(a), d(b)) if kind is Maximum else _by_order(a, b, d(b), d(a))
    if kind is IfThenElse:
        return _choice_rule(node, d)
    if is_uninterpreted(node):
        if all(is_zero(d(argument)) for argument in node.args):
            return _ZERO
        raise RuntimeError(f"Differentiate: nothing is known of the function {kind.__name__} but its name.")
    raise TypeError(f"Differentiate: no rule for {kind.__name__}.")


def _product_rule(factors: tuple[Any, ...], d: Callable[[Any], Any]) -> Any:
    terms = []
    for i, factor in enumerate(factors):
        slope = d(factor)
        if not is_zero(slope):
            terms.append(sympy.Mul(slope, *factors[:i], *factors[i + 1 :]))
    return sympy.Add(*terms)


def _power_rule(node: Any, d: Callable[[Any], Any]) -> Any:
    base, exponent = node.args
    d_base, d_exponent = d(base), d(exponent)
    by_base = exponent * sympy.Pow(base, exponent - 1) * d_base if not is_zero(d_base) else _ZERO
    by_exponent = node * sympy.log(base) * d_exponent if not is_zero(d_exponent) else _ZERO
    return by_base + by_exponent


def _choice_rule(node: Any, d: Callable[[Any], Any]) -> Any:
    condition, then, otherwise = node.args
    slope = IfThenElse(condition, d(then), d(otherwise))
    if condition.func in RELATIONS and slope.args:
        return IfThenElse(decided(sympy.Eq, *condition.args), sympy.nan, slope)
    return slope
