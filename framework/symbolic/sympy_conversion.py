"""Expressions and formulas from here to sympy, and back."""

from __future__ import annotations

import functools
import operator
from typing import Any

from merganser.framework.symbolic import nodes
from merganser.framework.symbolic.expression import Expression, Term
from merganser.framework.symbolic.formula import Formula
from merganser.framework.symbolic.nodes import number, postorder
from merganser.framework.symbolic.trees import powered, rebuilt

#: Names in sympy of what has the same parts there.
_NAMES: dict[Any, str] = {
    nodes.Maximum: "Max", nodes.Minimum: "Min", nodes.Ceil: "ceiling", nodes.Power: "Pow", nodes.Sign: "sign",
    nodes.Eq: "Eq", nodes.Ne: "Ne", nodes.Lt: "Lt", nodes.Le: "Le", nodes.Gt: "Gt", nodes.Ge: "Ge", nodes.And: "And",
    nodes.Or: "Or", nodes.Not: "Not", nodes.Abs: "Abs", nodes.Floor: "floor", nodes.Atan2: "atan2",
    **{kind: name for name, kind in nodes.KIND_OF.items()},
}  # fmt: skip


@functools.cache
def _sympy() -> Any:
    try:
        import sympy
    except ImportError as error:
        raise ImportError(
            "to_sympy and from_sympy need sympy, which is not installed. Install the extra: "
            "pip install 'merganser[symbolic]'."
        ) from error
    return sympy


def to_sympy(x: Any, *, memo: dict[Any, Any] | None = None) -> Any:
    """Converts an expression, a variable, a formula, a number or a truth value to sympy.

    Args:
        x: the object.
        memo: {variable.get_id(): sympy's symbol}, and the other way round; grows by new symbols.

    Raises:
        NotImplementedError: sympy has no such thing.
    """
    if isinstance(x, bool) or nodes.is_number(x):
        return x
    if not isinstance(x, (Term, Formula)):
        raise NotImplementedError(f"to_sympy: {type(x).__name__} has no counterpart in sympy.")
    symbols = {} if memo is None else memo
    done: dict[Any, Any] = {}
    for node in postorder(x._node, done, lazy=False):
        done[node] = _in_sympy(node, [done[part] for part in node.parts], symbols)
    return done[x._node]


def _in_sympy(node: Any, parts: list[Any], symbols: dict[Any, Any]) -> Any:
    kind, sympy = type(node), _sympy()
    if kind in (nodes.Symbol, nodes.Bound):
        return _symbol_for(node if kind is nodes.Symbol else node.data, symbols)
    if kind is nodes.Number:
        return sympy.nan if node is nodes.NAN else sympy.sympify(node.value)
    if kind is nodes.Sum:
        terms = (sympy.sympify(factor) * part for factor, part in zip(node.terms.values(), parts))
        return sympy.Add(sympy.sympify(node.constant), *terms)
    if kind is nodes.Product:
        return sympy.Mul(*map(operator.pow, parts, node.factors.values()))
    if kind is nodes.Reciprocal:
        return 1 / parts[0]
    if kind is nodes.IfThenElse:
        return sympy.Piecewise((parts[1], parts[0]), (parts[2], True))
    if kind is nodes.Truth:
        return sympy.S(node.value)
    if kind is nodes.Uninterpreted:
        return sympy.Function(node.data, real=True)(*parts)
    if kind not in _NAMES:
        raise NotImplementedError(f"to_sympy: {kind.__name__} has no counterpart in sympy.")
    return getattr(sympy, _NAMES[kind])(*parts)


def _symbol_for(node: nodes.Symbol, symbols: dict[Any, Any]) -> Any:
    number_of_variable = node.variable.get_id()
    if number_of_variable not in symbols:
        kind = node.variable.get_type().name
        known = {} if kind == "BOOLEAN" else {"integer": True} if kind in ("INTEGER", "BINARY") else {"real": True}
        symbol = _sympy().Dummy(node.name, **known)
        symbols[number_of_variable], symbols[symbol] = symbol, node.variable
    return symbols[number_of_variable]


def from_sympy(x: Any, *, memo: dict[Any, Any] | None = None) -> Any:
    """Converts an object of sympy: to a number, a truth value, a Variable, an Expression or a Formula.

    Args:
        x: the object.
        memo: {sympy's symbol: variable}, as `to_sympy` makes it.

    Raises:
        NotImplementedError: there is no such thing here, or a symbol has no variable.
    """
    symbols, sympy = {} if memo is None else memo, _sympy()
    x = sympy.sympify(x)
    if x in symbols:
        return symbols[x]
    if x in (sympy.true, sympy.false):
        return bool(x)
    if not x.args and x.is_number:
        return float(x)
    done: dict[Any, Any] = {}
    kinds = {getattr(sympy, name): kind for kind, name in _NAMES.items() if kind is not nodes.Sqrt}
    pending = [x]
    while pending:  # sympy's own traversal follows every path to a shared subtree
        missing = [part for part in pending[-1].args if part not in done]
        pending += missing
        if not missing:
            each = pending.pop()
            done[each] = _converted(each, [done[part] for part in each.args], symbols, kinds)
    return (Formula if isinstance(done[x], nodes.Condition) else Expression)._of(done[x])


def _converted(node: Any, parts: list[Any], symbols: dict[Any, Any], kinds: dict[Any, Any]) -> Any:
    kind, sympy = node.func, _sympy()
    if node in symbols:
        return symbols[node]._node
    if not parts:
        if node in (sympy.true, sympy.false):
            return nodes.truth(node)
        if node.is_number:
            return nodes.constant(nodes.Fraction(node.p, node.q)) if node.is_Rational else number(node)
        raise NotImplementedError(f"from_sympy: memo has no variable for the symbol {node}.")
    if kind is sympy.Add:
        return nodes.summed((part, 1) for part in parts)
    if kind in (sympy.Mul, sympy.Max, sympy.Min):
        join = nodes.multiplied if kind is sympy.Mul else lambda a, b: rebuilt(kinds[kind], [a, b])
        return functools.reduce(join, parts)
    if kind is sympy.Pow:
        return rebuilt(nodes.Sqrt, parts[:1]) if node.exp == 0.5 else powered(*parts)
    if kind in kinds:
        return rebuilt(kinds[kind], parts)
    if kind is sympy.functions.elementary.piecewise.ExprCondPair:
        return parts
    if kind is sympy.Piecewise and node.args[-1][1] == sympy.true:
        result = parts[-1][0]
        for then, condition in reversed(parts[:-1]):
            result = rebuilt(nodes.IfThenElse, [condition, then, result])
        return result
    raise NotImplementedError(f"from_sympy: {kind.__name__} has no counterpart here.")
