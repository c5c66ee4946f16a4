"""What an expression or a formula is at its top, and what it is put together from."""

from __future__ import annotations

__all__ = ["ExpressionKind", "FormulaKind", "divided", "expression_kind", "formula_kind", "taken_apart"]

import functools
import operator
from typing import Any

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.nodes import (
    ForAll,
    IfThenElse,
    IsNan,
    Maximum,
    Minimum,
    PositiveSemidefinite,
    Symbol,
    is_uninterpreted,
)


class ExpressionKind(Enumeration):
    """What an expression is at its top."""

    Constant = 0
    Var = 1
    Add = 2
    Mul = 3
    Div = 4
    Log = 5
    Abs = 6
    Exp = 7
    Sqrt = 8
    Pow = 9
    Sin = 10
    Cos = 11
    Tan = 12
    Asin = 13
    Acos = 14
    Atan = 15
    Atan2 = 16
    Sinh = 17
    Cosh = 18
    Tanh = 19
    Min = 20
    Max = 21
    Ceil = 22
    Floor = 23
    IfThenElse = 24
    NaN = 25
    UninterpretedFunction = 26


class FormulaKind(Enumeration):
    """What a formula is at its top."""

    False_ = 0
    True_ = 1
    Var = 2
    Eq = 3
    Neq = 4
    Gt = 5
    Geq = 6
    Lt = 7
    Leq = 8
    And = 9
    Or = 10
    Not = 11
    Forall = 12
    Isnan = 13
    PositiveSemidefinite = 14


_FUNCTIONS = {
    sympy.log: ExpressionKind.Log, sympy.Abs: ExpressionKind.Abs, sympy.exp: ExpressionKind.Exp,
    sympy.sin: ExpressionKind.Sin, sympy.cos: ExpressionKind.Cos, sympy.tan: ExpressionKind.Tan,
    sympy.asin: ExpressionKind.Asin, sympy.acos: ExpressionKind.Acos, sympy.atan: ExpressionKind.Atan,
    sympy.atan2: ExpressionKind.Atan2, sympy.sinh: ExpressionKind.Sinh, sympy.cosh: ExpressionKind.Cosh,
    sympy.tanh: ExpressionKind.Tanh, Minimum: ExpressionKind.Min, Maximum: ExpressionKind.Max,
    sympy.ceiling: ExpressionKind.Ceil, sympy.floor: ExpressionKind.Floor, IfThenElse: ExpressionKind.IfThenElse,
}  # fmt: skip
_CONDITIONS = {
    sympy.Eq: FormulaKind.Eq, sympy.Ne: FormulaKind.Neq, sympy.Gt: FormulaKind.Gt, sympy.Ge: FormulaKind.Geq,
    sympy.Lt: FormulaKind.Lt, sympy.Le: FormulaKind.Leq, sympy.And: FormulaKind.And, sympy.Or: FormulaKind.Or,
    sympy.Not: FormulaKind.Not, ForAll: FormulaKind.Forall, IsNan: FormulaKind.Isnan,
    PositiveSemidefinite: FormulaKind.PositiveSemidefinite,
}  # fmt: skip
_METHODS = {
    ExpressionKind.Abs: abs, ExpressionKind.Asin: "arcsin", ExpressionKind.Acos: "arccos",
    ExpressionKind.Atan: "arctan", ExpressionKind.Atan2: "arctan2",
}  # fmt: skip
_RELATIONS = {
    FormulaKind.Eq: operator.eq, FormulaKind.Neq: operator.ne, FormulaKind.Gt: operator.gt,
    FormulaKind.Geq: operator.ge, FormulaKind.Lt: operator.lt, FormulaKind.Leq: operator.le,
}  # fmt: skip


def expression_kind(node: Any) -> ExpressionKind:
    """What a tree is at its top."""
    if isinstance(node, Symbol):
        return ExpressionKind.Var
    if node is sympy.nan:
        return ExpressionKind.NaN
    if node.is_Number or node.is_NumberSymbol or node.is_infinite:
        return ExpressionKind.Constant
    if node.func is sympy.Add:
        return ExpressionKind.Add
    if node.func in (sympy.Mul, sympy.Pow):
        return _kind_of_product(node)
    return ExpressionKind.UninterpretedFunction if is_uninterpreted(node) else _FUNCTIONS[node.func]


def _kind_of_product(node: Any) -> ExpressionKind:
    if node.func is sympy.Mul:
        return ExpressionKind.Mul if divided(node)[1] == 1 else ExpressionKind.Div
    if node.exp == sympy.S.Half:
        return ExpressionKind.Sqrt
    return ExpressionKind.Div if divided(node)[1] != 1 else ExpressionKind.Pow


def formula_kind(node: Any) -> FormulaKind:
    """What a condition is at its top."""
    if node in (sympy.true, sympy.false):
        return FormulaKind.True_ if node == sympy.true else FormulaKind.False_
    return FormulaKind.Var if isinstance(node, Symbol) else _CONDITIONS[node.func]


def divided(node: Any) -> tuple[Any, Any]:
    """Numerator and denominator of a product or power as it stands; nothing is brought to a common denominator."""
    above, below = [], []
    for factor in sympy.Mul.make_args(node):
        if factor.is_Rational and factor.q != 1:
            above.append(sympy.Integer(factor.p))
            below.append(sympy.Integer(factor.q))
        elif factor.is_Pow and factor.exp.is_Number and factor.exp < 0:
            below.append(factor.base**-factor.exp)
        else:
            above.append(factor)
    return sympy.Mul(*above), sympy.Mul(*below)


def taken_apart(whole: Any) -> tuple[Any, list[Any]]:
    """A function and arguments that give an Expression or a Formula again."""
    from merganser.framework.symbolic.expression import Expression

    node = whole._node
    if not isinstance(whole, Expression):
        return _formula_apart(node)
    kind = expression_kind(node)
    if kind in (ExpressionKind.Constant, ExpressionKind.NaN):
        return Expression, [float(node)]
    if kind is ExpressionKind.Var:
        return Expression, [node.variable]
    parts = [Expression._of(argument) for argument in node.args]
    if kind is ExpressionKind.Add:
        constant, rest = node.as_coeff_Add()
        return _summed, [float(constant), *map(Expression._of, sympy.Add.make_args(rest))]
    if kind is ExpressionKind.Mul:
        constant, rest = node.as_coeff_Mul()
        return _multiplied, [float(constant), *map(Expression._of, sympy.Mul.make_args(rest))]
    if kind is ExpressionKind.Div:
        return operator.truediv, [Expression._of(part) for part in divided(node)]
    if kind is ExpressionKind.Pow:
        return operator.pow, parts
    if kind is ExpressionKind.Sqrt:
        return Expression.sqrt, parts[:1]
    return _function_apart(kind, node, parts)


def _function_apart(kind: ExpressionKind, node: Any, parts: list[Any]) -> tuple[Any, list[Any]]:
    from merganser.framework.symbolic import functions
    from merganser.framework.symbolic.expression import Expression
    from merganser.framework.symbolic.formula import Formula

    if kind is ExpressionKind.IfThenElse:
        return functions.if_then_else, [Formula._of(node.args[0]), *parts[1:]]
    if kind is ExpressionKind.UninterpretedFunction:
        return functions.uninterpreted_function, [node.func.__name__, parts]
    method = _METHODS.get(kind, kind.name.lower())
    return (getattr(Expression, method) if isinstance(method, str) else method), parts


def _formula_apart(node: Any) -> tuple[Any, list[Any]]:
    from merganser.framework.symbolic import formula
    from merganser.framework.symbolic.expression import Expression
    from merganser.framework.symbolic.functions import forall, isnan, positive_semidefinite
    from merganser.framework.symbolic.variables import Variables

    kind = formula_kind(node)
    if kind in (FormulaKind.True_, FormulaKind.False_):
        return getattr(formula.Formula, kind.name), []
    if kind is FormulaKind.Var:
        return formula.Formula, [node.variable]
    if kind is FormulaKind.Forall:
        symbols = {bound: bound.variable._node for bound in node.args[1:]}
        variables = Variables(symbol.variable for symbol in symbols.values())
        return forall, [variables, formula.Formula._of(node.args[0].xreplace(symbols))]
    if kind is FormulaKind.PositiveSemidefinite:
        return positive_semidefinite, [node.matrix(Expression._of)]
    if kind in _RELATIONS or kind is FormulaKind.Isnan:
        return _RELATIONS.get(kind, isnan), [Expression._of(argument) for argument in node.args]
    function = {FormulaKind.And: formula.logical_and, FormulaKind.Or: formula.logical_or}.get(kind, formula.logical_not)
    return function, [formula.Formula._of(argument) for argument in node.args]


def _summed(*terms: Any) -> Any:
    return functools.reduce(operator.add, terms)


def _multiplied(*factors: Any) -> Any:
    return functools.reduce(operator.mul, factors)
