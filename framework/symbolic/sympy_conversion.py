"""Expressions and formulas from here to sympy, and back."""

from __future__ import annotations

__all__ = ["from_sympy", "to_sympy"]

from typing import Any

from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.expression import Expression, Term
from merganser.framework.symbolic.formula import Formula
from merganser.framework.symbolic.nodes import (
    ForAll,
    IfThenElse,
    IsNan,
    Maximum,
    Minimum,
    PositiveSemidefinite,
    Symbol,
    is_number,
    number,
)
from merganser.framework.symbolic.trees import FUNCTIONS, RELATIONS, decided, postorder
from merganser.framework.symbolic.variable import Variable

_OURS_TO_SYMPY = {Maximum: sympy.Max, Minimum: sympy.Min}
_WITHOUT_COUNTERPART = (ForAll, IsNan, PositiveSemidefinite)
_PLAIN = {sympy.Add, sympy.Mul, sympy.Pow, sympy.atan2, sympy.And, sympy.Or, sympy.Not, *FUNCTIONS}


def to_sympy(x: Any, *, memo: dict[Any, Any] | None = None) -> Any:
    """What sympy has for an expression, a variable, a formula, a number or a truth value.

    Args:
        x: the object.
        memo: {variable.get_id(): sympy's symbol}, and the other way round; grows by new symbols.

    Raises:
        NotImplementedError: sympy has no such thing.
    """
    if isinstance(x, bool) or is_number(x):
        return x
    if not isinstance(x, (Term, Formula)):
        raise NotImplementedError(f"to_sympy: {type(x).__name__} has no counterpart in sympy.")
    symbols = {} if memo is None else memo
    done: dict[Any, Any] = {}
    for node in postorder(x._node, done, lazy=False):
        arguments = [done[argument] for argument in node.args]
        if isinstance(node, Symbol):
            done[node] = _symbol_for(node, symbols)
        elif isinstance(node, _WITHOUT_COUNTERPART):
            raise NotImplementedError(f"to_sympy: {node.func.__name__} has no counterpart in sympy.")
        elif isinstance(node, IfThenElse):
            done[node] = sympy.Piecewise((arguments[1], arguments[0]), (arguments[2], True))
        else:
            done[node] = _OURS_TO_SYMPY.get(node.func, node.func)(*arguments) if arguments else node
    return done[x._node]


def _symbol_for(node: Symbol, symbols: dict[Any, Any]) -> Any:
    number_of_variable = node.variable.get_id()
    if number_of_variable not in symbols:
        symbol = sympy.Dummy(node.name, **_assumptions(node.variable))
        symbols[number_of_variable], symbols[symbol] = symbol, node.variable
    return symbols[number_of_variable]


def _assumptions(variable: Variable) -> dict[str, bool]:
    kind = variable.get_type().name
    return {} if kind == "BOOLEAN" else {"integer": True} if kind in ("INTEGER", "BINARY") else {"real": True}


def from_sympy(x: Any, *, memo: dict[Any, Any] | None = None) -> Any:
    """What stands here for an object of sympy: a number, a truth value, a Variable, an Expression or a Formula.

    Args:
        x: the object.
        memo: {sympy's symbol: variable}, as `to_sympy` makes it.

    Raises:
        NotImplementedError: there is no such thing here, or a symbol has no variable.
    """
    symbols = {} if memo is None else memo
    x = sympy.sympify(x)
    if x in symbols:
        return symbols[x]
    if x in (sympy.true, sympy.false):
        return bool(x)
    if not x.args and x.is_number:
        return float(x)
    done: dict[Any, Any] = {}
    for node in postorder(x, done, lazy=False):
        done[node] = _converted(node, [done[argument] for argument in node.args], symbols)
    root = done[x]
    if isinstance(root, sympy.logic.boolalg.Boolean) and not isinstance(root, Symbol):
        return Formula._of(root)
    return Expression._of(root)


def _converted(node: Any, arguments: list[Any], symbols: dict[Any, Any]) -> Any:
    kind = node.func
    if node in symbols:
        return symbols[node]._node
    if not arguments:
        if node in (sympy.true, sympy.false):
            return node
        if node.is_number:
            return number(float(node))
        raise NotImplementedError(f"from_sympy: the symbol {node} stands for no variable in memo.")
    if kind in _PLAIN:
        return kind(*arguments)
    if kind in RELATIONS:
        return decided(kind, *arguments)
    if kind in (sympy.Max, sympy.Min):
        ours = Maximum if kind is sympy.Max else Minimum
        result = arguments[0]
        for argument in arguments[1:]:
            result = ours(result, argument)
        return result
    if kind is sympy.functions.elementary.piecewise.ExprCondPair:
        return sympy.Tuple(*arguments)
    if kind is sympy.Piecewise and arguments[-1][1] == sympy.true:
        result = arguments[-1][0]
        for then, condition in reversed(arguments[:-1]):
            result = IfThenElse(condition, then, result)
        return result
    raise NotImplementedError(f"from_sympy: {kind.__name__} has no counterpart here.")
