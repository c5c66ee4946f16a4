"""Walks over expression trees: evaluation, substitution, what is multiplied out, derivatives.

Every walk keeps a memo, and visits a subtree once, as equal subtrees are shared. The rules of derivatives are the
textbook's. Where a function has a kink (abs, min, max, floor, ceil, a choice), the derivative there is NaN, and
evaluating it raises an error, as in Drake.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from merganser.framework.math.elementary import ELEMENTARY, power
from merganser.framework.symbolic import nodes as n
from merganser.framework.symbolic.nodes import NAN, Number, Product, Sum, Symbol, is_zero, number, postorder
from merganser.framework.symbolic.printing import printable

_ROUND_OFF = 1e-12  # of eigenvalues, for entries of size 1

#: Functions of one argument, and their values.
FUNCTIONS: dict[Any, Callable[[float], float]] = {kind: ELEMENTARY[name].value for name, kind in n.KIND_OF.items()} | {
    n.Abs: abs,
    n.Floor: lambda x: float(math.floor(x)) if math.isfinite(x) else x,
    n.Ceil: lambda x: float(math.ceil(x)) if math.isfinite(x) else x,
    n.Sign: lambda x: float((x > 0) - (x < 0)),
}
_ODD, _EVEN = (n.Sin, n.Tan, n.Sinh, n.Tanh, n.Sign), (n.Cos, n.Cosh)


def evaluated(root: Any, values: Mapping[Symbol, float], memo: dict[Any, Any]) -> Any:
    """Value of a tree: a float, or a bool for a condition.

    Args:
        root: the tree.
        values: values of its symbols.
        memo: values of subtrees known so far; grows.

    Raises:
        RuntimeError: a symbol without a value, a division by zero, a NaN in the tree.
        ValueError: an argument outside of the domain of a function.
    """

    def value(node: Any) -> Any:
        kind = type(node)
        if kind is Symbol:
            return _symbol_value(node, values)
        if kind in (n.Number, n.Truth, n.Bound):
            if node is NAN:
                raise RuntimeError(
                    "Evaluate: the value is NaN. The expression contains NaN, or is the derivative of abs, min, max, "
                    "floor, ceil or if_then_else at its kink."
                )
            if type(node) is n.Bound:
                return math.nan  # what binds it has no value, either
            return float(node.value) if type(node) is Number else node.value
        found = memo.get(node)
        if found is not None:
            return found
        if kind is Sum:
            found = node.constant or -0.0
            for term, factor in node.terms.items():
                found += factor * value(term)
        elif kind is Product:
            found = 1.0
            for base, exponent in node.factors.items():
                found *= value(base) if exponent == 1 else power(value(base), exponent)
        elif kind is n.IfThenElse:
            condition, then, otherwise = node.parts
            found = evaluated(then if value(condition) else otherwise, values, memo)
        else:
            found = _operation_value(node, [value(part) for part in node.parts])
        memo[node] = found
        return found

    return from_above(value, root, memo)


def from_above(function: Callable[[Any], Any], root: Any, memo: Mapping[Any, Any], lazy: bool = True) -> Any:
    """A function of a tree that calls itself for its parts and keeps a memo; of a deep tree, from below."""
    try:
        return function(root)
    except RecursionError:
        return [function(node) for node in postorder(root, memo, lazy)][-1]


def _symbol_value(symbol: Symbol, values: Mapping[Symbol, float]) -> float:
    if symbol not in values:
        raise RuntimeError(
            f"Evaluate: the environment has no value for variable {symbol.name} (id {symbol.index}). "
            f"Add it to the environment, which has {sorted(s.name for s in values)}."
        )
    return values[symbol]


#: Values of nodes of several parts.
_VALUES: dict[Any, Callable[..., Any]] = n.RELATIONS | {
    n.Atan2: math.atan2, n.Maximum: max, n.Minimum: min, n.Not: operator.not_,
    n.And: lambda *parts: all(parts), n.Or: lambda *parts: any(parts),
    n.IsNan: lambda part: False,  # an evaluation that meets NaN does not get here
}  # fmt: skip


def _operation_value(node: Any, arguments: list[Any]) -> Any:
    kind = type(node)
    if kind in FUNCTIONS:
        return function_value(kind, arguments[0])
    if kind in _VALUES:
        return _VALUES[kind](*arguments)
    if kind in (n.Power, n.Reciprocal):
        return _power_value(node, *arguments, *([] if kind is n.Power else [-1.0]))
    if kind is n.PositiveSemidefinite:
        size = math.isqrt(len(arguments))
        matrix = np.array(arguments).reshape(size, size)
        return bool(np.linalg.eigvalsh(matrix).min(initial=0.0) >= -_ROUND_OFF * np.abs(matrix).max(initial=0.0))
    raise RuntimeError(f"Evaluate: {printable(node)} has no value that could be computed.")


def function_value(kind: Any, argument: float) -> float:
    """Value of a function of one argument.

    Raises:
        ValueError: the argument is outside of its domain.
    """
    value = FUNCTIONS[kind](argument)
    if math.isnan(value):
        raise ValueError(f"Expression: {kind.__name__.lower()}({argument!r}) is not defined.")
    return value


def _power_value(node: Any, base: float, exponent: float) -> float:
    if base == 0.0 and exponent < 0.0:
        raise RuntimeError(f"Expression: division by zero, as {printable(node.parts[0])} is 0.")
    value = math.sqrt(base) if exponent == 0.5 and base >= 0.0 else power(base, exponent)
    if math.isnan(value):
        raise ValueError(
            f"Expression: {base!r} to the power of {exponent!r} is not defined. Its base is {printable(node.parts[0])}."
        )
    return value


def substituted(root: Any, replacements: Mapping[Any, Any], memo: dict[Any, Any]) -> Any:
    """The tree with all replacements made at once, in canonical form.

    Args:
        root: the tree.
        replacements: what comes for which leaves.
        memo: results for subtrees known so far; grows.

    Raises:
        RuntimeError: the result divides by zero.
        ValueError: a constant outside of the domain of a function.
    """

    def replaced(node: Any) -> Any:
        if not node.parts:
            return replacements.get(node, node)
        new = memo.get(node)
        if new is None:
            parts = node.parts
            if type(node) is n.IfThenElse:  # where the condition is decided, only one of the others
                condition = replaced(parts[0])
                arms = parts[1:] if type(condition) is not n.Truth else parts[1:2] if condition.value else parts[2:]
                first, *others = (substituted(arm, replacements, memo) for arm in arms)
                new = chosen(condition, first, *others) if others else first
            else:
                new = with_parts(node, [replaced(part) for part in parts])
            memo[node] = new
        return new

    return from_above(replaced, root, memo)


def with_parts(node: Any, parts: list[Any]) -> Any:
    """A node with other parts.

    Raises:
        RuntimeError: it divides by zero.
    """
    if all(new is old for new, old in zip(parts, node.parts)):
        return node
    kind = type(node)
    if kind is Sum:
        return n.summed(zip(parts, node.terms.values()), node.constant)
    if kind is Product:
        return n.power_product(zip(parts, node.factors.values()))
    return kind.of(*parts, data=node.data) if kind is n.Uninterpreted else rebuilt(kind, parts)


def rebuilt(kind: Any, parts: list[Any]) -> Any:
    """A function or a condition of some parts, in canonical form.

    Raises:
        RuntimeError: it divides by zero.
    """
    if kind in _BUILDERS:
        return _BUILDERS[kind](*parts)
    if kind in FUNCTIONS or kind in n.RELATIONS or kind in (n.Maximum, n.Minimum):
        return (applied if kind in FUNCTIONS else n.decided if kind in n.RELATIONS else extreme)(kind, *parts)
    if kind in (n.And, n.Or):
        return n.joined(kind, parts)
    return kind(*parts) if issubclass(kind, n.Condition) else kind.of(*parts)


def _inverse(u: Any) -> Any:
    if is_zero(u):
        raise RuntimeError("Substitute: the substitution makes a division by zero.")
    return n.reciprocal(u)


def angle(y: Any, x: Any) -> Any:
    """The angle of a point (x, y)."""
    if type(y) is Number and type(x) is Number:
        return number(math.atan2(float(y.value), float(x.value)))
    return n.Atan2.of(y, x)


def applied(kind: Any, u: Any) -> Any:
    """A function of one argument: of a number, its value; of a negative multiple, by its symmetry.

    Raises:
        ValueError: a number is outside of the domain of the function.
    """
    if type(u) is Number:
        return NAN if u is NAN else number(function_value(kind, float(u.value)))
    factor, rest = n.split(u)
    if kind is n.Abs:
        squares = all(exponent % 2 == 0 for exponent in n.factors_of(rest).values())
        return n.scaled(rest if squares or type(rest) is n.Abs else n.Abs.of(rest), abs(factor))
    if factor < 0 and kind in _ODD:
        return n.scaled(kind.of(n.scaled(u, -1)), -1)
    return kind.of(n.scaled(u, -1) if factor < 0 and kind in _EVEN else u)


def extreme(kind: Any, a: Any, b: Any) -> Any:
    """The maximum or the minimum of two."""
    if a == b:
        return a
    if type(a) is Number and type(b) is Number:
        return number((max if kind is n.Maximum else min)(float(a.value), float(b.value)))
    return kind.of(a, b)


def chosen(condition: Any, then: Any, otherwise: Any) -> Any:
    """One or the other, by a condition."""
    if type(condition) is n.Truth:
        return then if condition.value else otherwise
    return n.IfThenElse.of(condition, then, otherwise)


def is_nan(u: Any) -> Any:
    """The condition that a tree is NaN."""
    return n.truth(u is NAN) if type(u) is Number else n.IsNan(u)


def powered(base: Any, exponent: Any) -> Any:
    """A power; of an integer exponent, a product, which is defined everywhere, or one of reciprocals.

    Raises:
        RuntimeError: 0 has a negative exponent.
        ValueError: a negative number has an exponent that is not an integer.
    """
    if type(exponent) is not Number:
        return n.Power.of(base, exponent)
    value = n.exact(exponent.value)
    if is_zero(base) and value < 0:
        raise RuntimeError(f"Expression: division by zero: 0 to the power of {printable(exponent)}.")
    if isinstance(value, int):
        return n.integer_power(base, value) if value >= 0 else n.integer_power(n.reciprocal(base), -value)
    whole = n.Power.of(base, exponent)
    if type(base) is Number and NAN not in (base, exponent):
        return number(_power_value(whole, float(base.value), value))
    return whole


_BUILDERS: dict[Any, Callable[..., Any]] = {
    n.Not: n.negated, n.Reciprocal: _inverse, n.Power: powered, n.IfThenElse: chosen, n.IsNan: is_nan, n.Atan2: angle,
}  # fmt: skip


# -- what is multiplied out ---------------------------------------------------------------------------------------

_BITS = 32  # of an exponent, where those of a product are the digits of one integer


def expanded(root: Any, memo: dict[Any, Any] | None = None) -> Any:
    """The tree with products and powers of sums multiplied out, also inside of functions."""
    known = {} if memo is None else memo

    def visited(node: Any) -> Any:
        if is_flat(node):
            return node
        new = known.get(node)
        if new is None:
            new = with_parts(node, [visited(part) for part in node.parts])
            while any(type(b) is Sum for term in n.terms_of(new)[1] if type(term) is Product for b in term.factors):
                constant, terms = n.terms_of(new)
                new = n.summed(((_multiplied_out(n.factors_of(t)), factor) for t, factor in terms.items()), constant)
            known[node] = new
        return new

    return from_above(visited, root, known, lazy=False)


def is_polynomial(root: Any) -> bool:
    """Whether a tree is made of numbers, symbols, sums and products."""
    return all(type(node) in (Number, Symbol, Sum, Product) and node is not NAN for node in postorder(root, {}))


def is_flat(node: Any) -> bool:
    """Whether a tree is a sum of products of symbols."""
    return all(type(term) is Symbol or (type(term) is Product and term.degree) for term in n.terms_of(node)[1])


def _multiplied_out(factors: Mapping[Any, int]) -> Any:
    """A product of powers of sums that are multiplied out.

    The exponents of what is in the sums are the digits of one integer, so that products have the sum of these integers.
    """
    places: dict[Any, int] = {}

    def sparse(node: Any) -> dict[int, Any]:
        constant, terms = n.terms_of(node)
        result = {
            sum(e << places.setdefault(base, _BITS * len(places)) for base, e in n.factors_of(term).items()): factor
            for term, factor in terms.items()
        }
        return result | {0: constant} if constant else result

    total: dict[int, Any] = {0: 1}
    for base, exponent in factors.items():
        square = sparse(base)
        while exponent:
            total = _products(total, square) if exponent % 2 else total
            exponent //= 2
            square = _products(square, square) if exponent else square
    constant, bases, mask, terms = total.pop(0, 0), list(places), (1 << _BITS) - 1, []
    for key, factor in total.items():
        powers = {}
        while key:
            place = ((key & -key).bit_length() - 1) // _BITS
            powers[bases[place]] = key >> place * _BITS & mask
            key -= powers[bases[place]] << place * _BITS
        terms.append((n.product_of(powers), factor))
    # Roots may have become sums.
    return n.sum_of(dict(terms), constant) if all(type(base) is Symbol for base in bases) else n.summed(terms, constant)


def _products(left: dict[int, Any], right: dict[int, Any]) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for a, x in left.items():
        for b, y in right.items():
            found[a + b] = found.get(a + b, 0) + x * y
    return {key: factor for key, factor in found.items() if factor}


# ---------------------------------------------------------------------- derivatives


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
