"""Walks over expression trees: evaluation, substitution, the symbols in them.

Equal subtrees are shared, and a tree may have exponentially many paths to them (the kinematics of a chain does).
So every walk keeps a memo, and visits a subtree once.
"""

from __future__ import annotations

__all__ = [
    "RELATIONS",
    "decided",
    "evaluated",
    "function_value",
    "negated",
    "number_normalized",
    "postorder",
    "substituted",
    "symbols_of",
]

import functools
import math
import operator
from collections.abc import Callable, Container, Mapping
from typing import Any

import numpy as np

from merganser.framework.math._ieee import ELEMENTARY, power
from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.nodes import (
    Bound,
    ForAll,
    IfThenElse,
    IsNan,
    Maximum,
    Minimum,
    PositiveSemidefinite,
    Symbol,
    is_uninterpreted,
    is_zero,
    number,
)

_ROUND_OFF = 1e-12  # of eigenvalues, for entries of size 1

#: Functions of one argument: how sympy calls them, and their values.
FUNCTIONS: dict[Any, Callable[[float], float]] = {
    getattr(sympy, name): function for name, function in ELEMENTARY.items() if name != "sqrt"
} | {
    sympy.Abs: abs,
    sympy.floor: lambda x: float(math.floor(x)) if math.isfinite(x) else x,
    sympy.ceiling: lambda x: float(math.ceil(x)) if math.isfinite(x) else x,
    sympy.sign: lambda x: float((x > 0) - (x < 0)),
}
RELATIONS: dict[Any, Callable[[float, float], bool]] = {
    sympy.Eq: lambda a, b: a == b,
    sympy.Ne: lambda a, b: a != b,
    sympy.Lt: lambda a, b: a < b,
    sympy.Le: lambda a, b: a <= b,
    sympy.Gt: lambda a, b: a > b,
    sympy.Ge: lambda a, b: a >= b,
}
_OPPOSITE = {
    sympy.Eq: sympy.Ne,
    sympy.Ne: sympy.Eq,
    sympy.Lt: sympy.Ge,
    sympy.Ge: sympy.Lt,
    sympy.Gt: sympy.Le,
    sympy.Le: sympy.Gt,
}


def symbols_of(*nodes: sympy.Basic) -> list[Symbol]:
    """All symbols in the trees, in the order in which they were made."""
    seen: set[sympy.Basic] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node not in seen:
            seen.add(node)
            pending.extend(node.args)
    return sorted((node for node in seen if isinstance(node, Symbol)), key=lambda s: s.dummy_index)


def postorder(
    root: sympy.Basic, known: Container[Any], lazy: bool = True, into: Callable[[Any], bool] = lambda node: True
) -> list[sympy.Basic]:
    """Subtrees that are not in `known`, each once and after its arguments, without recursion.

    With `lazy`, of a choice the condition is visited and the arms are not, as one of them may be undefined. Of nodes
    for which `into` does not hold, no arguments are visited.
    """
    order: list[sympy.Basic] = []
    seen: set[sympy.Basic] = set()
    pending = [(root, False)]
    while pending:
        node, arguments_are_visited = pending.pop()
        if arguments_are_visited:
            order.append(node)
        elif node not in seen and node not in known:
            seen.add(node)
            pending.append((node, True))
            arguments = node.args if into(node) else ()
            arguments = arguments[:1] if lazy and isinstance(node, IfThenElse) else arguments
            pending.extend((argument, False) for argument in arguments)
    return order


def evaluated(root: sympy.Basic, values: Mapping[Symbol, float], memo: dict[Any, Any]) -> Any:
    """Value of a tree: a float, or a bool for a condition.

    Args:
        root: the tree.
        values: values of its symbols.
        memo: values of subtrees known so far; grows.

    Raises:
        RuntimeError: a symbol without a value, a division by zero, a NaN in the tree.
        ValueError: an argument outside of the domain of a function.
    """
    for node in postorder(root, memo):
        if isinstance(node, Symbol):
            memo[node] = _symbol_value(node, values)
        elif isinstance(node, IfThenElse):
            condition, then, otherwise = node.args
            memo[node] = evaluated(then if memo[condition] else otherwise, values, memo)
        elif not node.args:
            memo[node] = _constant_value(node)
        else:
            memo[node] = _operation_value(node, [memo[argument] for argument in node.args])
    return memo[root]


def _symbol_value(symbol: Symbol, values: Mapping[Symbol, float]) -> float:
    if symbol not in values:
        raise RuntimeError(
            f"Evaluate: the environment has no value for variable {symbol.name} (id {symbol.dummy_index}). "
            f"Add it to the environment, which has {sorted(s.name for s in values)}."
        )
    return values[symbol]


def _constant_value(node: sympy.Basic) -> Any:
    if isinstance(node, Bound):
        return math.nan  # what binds it has no value, either
    if node in (sympy.true, sympy.false):
        return bool(node)
    value = float(node) if node.is_comparable or node.is_infinite else math.nan
    if math.isnan(value):
        raise RuntimeError(
            "Evaluate: met NaN. It stands in the expression, or the expression is the derivative of abs, min, max, "
            "floor, ceil or if_then_else at the point where there is none."
        )
    return value


def _operation_value(node: sympy.Basic, arguments: list[Any]) -> Any:
    kind = node.func
    if kind is sympy.Add:
        return functools.reduce(operator.add, arguments)  # from left to right; `sum` does otherwise from Python 3.12
    if kind is sympy.Mul:
        return math.prod(arguments)
    if kind is sympy.Pow:
        return _power_value(node, *arguments)
    if kind in FUNCTIONS:
        return function_value(kind, arguments[0])
    if kind in RELATIONS:
        return RELATIONS[kind](*arguments)
    if kind is sympy.atan2:
        return math.atan2(*arguments)
    if kind in (Maximum, Minimum):
        return max(arguments) if kind is Maximum else min(arguments)
    if kind is IsNan:
        return False  # an evaluation that meets NaN does not get here
    if kind is PositiveSemidefinite:
        matrix = np.array(arguments[1:]).reshape(int(arguments[0]), -1)
        return bool(np.linalg.eigvalsh(matrix).min(initial=0.0) >= -_ROUND_OFF * np.abs(matrix).max(initial=0.0))
    if kind is ForAll or is_uninterpreted(node):
        raise RuntimeError(f"Evaluate: {printable(node)} has no value that could be computed.")
    if kind is sympy.Not:
        return not arguments[0]
    return all(arguments) if kind is sympy.And else any(arguments)


def function_value(kind: Any, argument: float) -> float:
    """Value of a function of one argument.

    Raises:
        ValueError: the argument is outside of its domain.
    """
    value = FUNCTIONS[kind](argument)
    if math.isnan(value):
        raise ValueError(f"Expression: {kind.__name__}({argument!r}) is not defined.")
    return value


def _power_value(node: sympy.Pow, base: float, exponent: float) -> float:
    if base == 0.0 and exponent < 0.0:
        raise RuntimeError(f"Expression: division by zero, as {printable(node.base)} is 0.")
    value = math.sqrt(base) if exponent == 0.5 and base >= 0.0 else power(base, exponent)
    if math.isnan(value):
        raise ValueError(
            f"Expression: {base!r} to the power of {exponent!r} is not defined. Its base is {printable(node.base)}."
        )
    return value


def printable(node: sympy.Basic, limit: int = 60) -> str:
    """A short text of a tree, for error messages."""
    if len(symbols_of(node)) > 8:
        return "a large expression"
    text = str(node).replace("_", "")
    return text if len(text) <= limit else text[:limit] + "..."


def substituted(root: sympy.Basic, replacements: Mapping[Any, sympy.Basic], memo: dict[Any, Any]) -> Any:
    """The tree with all replacements made at once, in canonical form.

    Args:
        root: the tree.
        replacements: what comes for which leaves.
        memo: results for subtrees known so far; grows.

    Raises:
        RuntimeError: the result divides by zero.
        ValueError: a constant outside of the domain of a function.
    """
    for node in postorder(root, memo):
        if not node.args:
            memo[node] = replacements.get(node, node)
        elif isinstance(node, IfThenElse):
            memo[node] = _substituted_choice(node, replacements, memo)
        else:
            arguments = [memo[argument] for argument in node.args]
            unchanged = all(new is old for new, old in zip(arguments, node.args))
            memo[node] = node if unchanged else rebuilt(node.func, arguments)
    return memo[root]


def _substituted_choice(node: IfThenElse, replacements: Mapping[Any, sympy.Basic], memo: dict[Any, Any]) -> Any:
    """A choice with replacements made; if that decides it, in one arm only."""
    condition = memo[node.args[0]]
    if condition in (sympy.true, sympy.false):
        return substituted(node.args[1 if condition else 2], replacements, memo)
    return IfThenElse(condition, *(substituted(arm, replacements, memo) for arm in node.args[1:]))


def rebuilt(kind: Any, arguments: list[Any]) -> Any:
    """A node of other arguments.

    Raises:
        RuntimeError: it divides by zero.
    """
    if kind in RELATIONS:
        return decided(kind, *arguments)
    if kind is sympy.Pow:
        base, exponent = arguments
        if is_zero(base) and exponent.is_Number and exponent < 0:
            raise RuntimeError("Substitute: the substitution makes a division by zero.")
    if kind in FUNCTIONS and arguments[0].is_Number:
        return number(function_value(kind, float(arguments[0])))
    return kind(*arguments)


def decided(relation: Any, a: sympy.Expr, b: sympy.Expr) -> Any:
    """True or false where the two differ by a number, else the relation as it stands."""
    if a is b or a == b:
        return sympy.S(relation in (sympy.Eq, sympy.Le, sympy.Ge))
    difference = sympy.Add(a, sympy.Mul(-1, b))
    if difference.is_Number and difference is not sympy.nan:
        return sympy.S(RELATIONS[relation](float(difference), 0.0))
    return relation(a, b, evaluate=False)


def negated(condition: Any) -> Any:
    """The opposite of a condition; of a relation, the opposite relation as it stands."""
    if condition.func in _OPPOSITE:
        return _OPPOSITE[condition.func](*condition.args, evaluate=False)
    return sympy.Not(condition)


def number_normalized(node: sympy.Basic) -> Any:
    """The tree with integers for integral floats, so that equal expressions have equal trees."""
    floats = node.atoms(sympy.Float) if node.has(sympy.Float) else []
    exact = {leaf: number(float(leaf)) for leaf in floats if float(leaf).is_integer()}
    return substituted(node, exact, {}) if exact else node
