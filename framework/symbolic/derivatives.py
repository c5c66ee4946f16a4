"""Derivatives of expression trees.

The rules are the textbook's. Where a function has a kink (abs, min, max, floor, ceil, a choice), the derivative
there is NaN, and evaluating it raises an error, as in Drake.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from merganser.framework.math.elementary import ELEMENTARY
from merganser.framework.symbolic import nodes as n
from merganser.framework.symbolic.trees import applied, chosen, from_above, powered


def _step_slope(u: Any) -> Any:
    """Slope of floor and ceil: 0 between integers."""
    return chosen(n.decided(n.Eq, applied(n.Floor, u), applied(n.Ceil, u)), n.NAN, n.ZERO)


#: f'(u) of the functions f that are not in the table of elementary ones.
_SLOPES: dict[Any, Callable[[Any], Any]] = {
    n.Reciprocal: lambda u: n.scaled(n.integer_power(n.reciprocal(u), 2), -1),
    n.Abs: lambda u: _by_order(u, n.ZERO, n.ONE, n.scaled(n.ONE, -1)),
    n.Sign: lambda u: _by_order(u, n.ZERO, n.ZERO, n.ZERO),
    n.Floor: _step_slope,
    n.Ceil: _step_slope,
}
_ELEMENTARY = {kind: ELEMENTARY[name] for name, kind in n.KIND_OF.items()}


def _elementary_slope(node: Any) -> Any:
    """f'(u) of an elementary function f(u), as the table has it."""
    of_expressions, expression_of = _symbols()
    return _ELEMENTARY[type(node)].slope(of_expressions, expression_of(node.parts[0]), expression_of(node))._node


@functools.cache
def _symbols() -> tuple[Any, Callable[[Any], Any]]:
    """What slopes are made of: functions of expressions, and the expression of a node, which import this module."""
    from merganser.framework.symbolic.expression import Expression

    methods = {name: getattr(Expression, function.method) for name, function in ELEMENTARY.items()}
    return SimpleNamespace(reciprocal=lambda x: 1.0 / x, **methods), Expression._of


def _by_order(a: Any, b: Any, if_greater: Any, if_less: Any) -> Any:
    """One of two expressions, by which of a and b is greater; NaN if they are equal."""
    if if_greater == if_less:
        return if_greater
    tie = chosen(n.decided(n.Eq, a, b), n.NAN, if_less)
    return chosen(n.decided(n.Gt, a, b), if_greater, tie)


def differentiated(root: Any, symbol: n.Symbol, memo: dict[Any, Any]) -> Any:
    """Partial derivative of a tree by a symbol.

    Args:
        root: the tree.
        symbol: the variable.
        memo: derivatives of subtrees by the same symbol known so far; grows.
    """

    def slope(node: Any) -> Any:
        if type(node) is n.Symbol:
            return n.ONE if node is symbol else n.ZERO
        if type(node) is n.Number or isinstance(node, n.Condition):
            return n.ZERO
        found = memo.get(node)
        if found is None:
            found = memo[node] = _derivative(node, slope)
        return found

    return from_above(slope, root, memo, lazy=False)


def _derivative(node: Any, d: Callable[[Any], Any]) -> Any:
    """The rule for a node, given the derivative of its parts."""
    kind = type(node)
    if kind is n.Sum:
        return n.summed([(d(term), factor) for term, factor in node.terms.items()])
    if kind is n.Product:
        return _product_rule(node.factors, d)
    if kind is n.Power:
        base, exponent = node.parts
        d_base, d_exponent = d(base), d(exponent)
        by_base = by_exponent = n.ZERO
        if not n.is_zero(d_base):
            by_base = n.multiplied(n.multiplied(exponent, powered(base, n.added(exponent, n.ONE, -1))), d_base)
        if not n.is_zero(d_exponent):
            by_exponent = n.multiplied(n.multiplied(node, applied(n.Log, base)), d_exponent)
        return n.added(by_base, by_exponent)
    if kind in _ELEMENTARY or kind in _SLOPES:
        (u,) = node.parts
        du = d(u)
        if n.is_zero(du):
            return n.ZERO
        return n.multiplied(_elementary_slope(node) if kind in _ELEMENTARY else _SLOPES[kind](u), du)
    if kind is n.Atan2:
        y, x = node.parts
        above = n.added(n.multiplied(x, d(y)), n.multiplied(y, d(x)), -1)
        return n.multiplied(above, n.reciprocal(n.added(n.integer_power(x, 2), n.integer_power(y, 2))))
    if kind in (n.Maximum, n.Minimum):
        a, b = node.parts
        return _by_order(a, b, d(a), d(b)) if kind is n.Maximum else _by_order(a, b, d(b), d(a))
    if kind is n.IfThenElse:
        condition, then, otherwise = node.parts
        slopes = d(then), d(otherwise)
        if slopes[0] == slopes[1]:
            return slopes[0]
        slope = chosen(condition, *slopes)
        relation = condition.parts[0] if type(condition) is n.Not else condition
        if isinstance(relation, n.Relation):
            return chosen(n.decided(n.Eq, *relation.parts), n.NAN, slope)
        return slope
    if kind is n.Uninterpreted:
        if all(n.is_zero(d(part)) for part in node.parts):
            return n.ZERO
        raise RuntimeError(f"Differentiate: nothing is known of the function {node.data} but its name.")
    raise TypeError(f"Differentiate: no rule for {kind.__name__}.")


def _product_rule(factors: dict[Any, int], d: Callable[[Any], Any]) -> Any:
    terms = []
    for base, exponent in factors.items():
        slope = d(base)
        if not n.is_zero(slope):
            rest = dict(factors)
            if exponent > 1:
                rest[base] = exponent - 1
            else:
                del rest[base]
            product = n.product_of(rest)
            is_number = type(slope) is n.Number
            terms.append((product, exponent * slope.value) if is_number else (n.multiplied(product, slope), exponent))
    return n.summed(terms)
