"""The kind of the top node of an expression or formula, and its arguments."""

from __future__ import annotations

import functools
import operator
from fractions import Fraction
from typing import Any

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.symbolic import nodes


class ExpressionKind(Enumeration):
    """The kind of an expression's top node."""

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
    """The kind of a formula's top node."""

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
    nodes.Maximum: ExpressionKind.Max, nodes.Minimum: ExpressionKind.Min, nodes.Power: ExpressionKind.Pow,
    nodes.Reciprocal: ExpressionKind.Div, nodes.Uninterpreted: ExpressionKind.UninterpretedFunction,
    nodes.Symbol: ExpressionKind.Var,
} | {getattr(nodes, name, None): kind for name, kind in ExpressionKind.__members__.items()}  # fmt: skip
_CONDITIONS = {
    nodes.Ne: FormulaKind.Neq, nodes.Ge: FormulaKind.Geq, nodes.Le: FormulaKind.Leq, nodes.ForAll: FormulaKind.Forall,
    nodes.IsNan: FormulaKind.Isnan, nodes.Symbol: FormulaKind.Var,
} | {getattr(nodes, name, None): kind for name, kind in FormulaKind.__members__.items()}  # fmt: skip
_RELATIONS = {
    FormulaKind.Eq: operator.eq, FormulaKind.Neq: operator.ne, FormulaKind.Gt: operator.gt,
    FormulaKind.Geq: operator.ge, FormulaKind.Lt: operator.lt, FormulaKind.Leq: operator.le,
}  # fmt: skip


def expression_kind(node: Any) -> ExpressionKind:
    """The kind of a tree's top node."""
    kind = type(node)
    if kind is nodes.Number:
        return ExpressionKind.NaN if node is nodes.NAN else ExpressionKind.Constant
    if kind is nodes.Sum and nodes.split(node)[1] is node:
        return ExpressionKind.Add
    if kind not in (nodes.Sum, nodes.Product):
        return _FUNCTIONS[kind]
    if divided(node)[1] is not nodes.ONE:
        return ExpressionKind.Div
    return ExpressionKind.Pow if kind is nodes.Product and len(node.factors) == 1 else ExpressionKind.Mul


def formula_kind(node: Any) -> FormulaKind:
    """The kind of a condition's top node."""
    if type(node) is nodes.Truth:
        return FormulaKind.True_ if node.value else FormulaKind.False_
    return _CONDITIONS[type(node)]


def arguments_of(node: Any) -> Any:
    """The arguments of a function; of a power, its base and its exponent."""
    if type(node) is not nodes.Product:
        return node.parts
    ((base, exponent),) = node.factors.items()
    return base, nodes.Number(exponent)


def divided(node: Any) -> tuple[Any, Any]:
    """Numerator and denominator of a product or power as written; no common denominator is formed."""
    factor, rest = nodes.split(node)
    above, below, divisor = {}, {}, 1
    if isinstance(factor, Fraction):
        factor, divisor = factor.numerator, factor.denominator
    for base, exponent in nodes.factors_of(rest).items():
        if type(base) is nodes.Reciprocal:
            below[base.parts[0]] = exponent
        else:
            above[base] = exponent
    if not below and divisor == 1:
        return node, nodes.ONE
    denominator = nodes.power_product(below.items())  # what is under a quotient may be a product again
    return nodes.scaled(nodes.product_of(above), factor), nodes.scaled(denominator, divisor)


def taken_apart(whole: Any) -> tuple[Any, list[Any]]:
    """A function and arguments that give an Expression or a Formula again."""
    from merganser.framework.symbolic import formula, functions
    from merganser.framework.symbolic.expression import Expression
    from merganser.framework.symbolic.printing import sorted_factors, sorted_terms

    node = whole._node
    if not isinstance(whole, Expression):
        return _formula_apart(node)
    kind = expression_kind(node)
    if kind in (ExpressionKind.Constant, ExpressionKind.NaN):
        return Expression, [float(node.value)]
    if kind is ExpressionKind.Var:
        return Expression, [node.variable]
    if kind is ExpressionKind.Add:
        terms = [Expression._of(nodes.scaled(*each)) for each in sorted_terms(node)]
        return functools.partial(_joined, operator.add), [float(node.constant), *terms]
    if kind is ExpressionKind.Mul:
        factor, rest = nodes.split(node)
        return functools.partial(_joined, operator.mul), [float(factor), *map(Expression._of, sorted_factors(rest))]
    if kind is ExpressionKind.Div:
        return operator.truediv, [Expression._of(part) for part in divided(node)]
    parts = [Expression._of(part) for part in arguments_of(node)]
    if kind is ExpressionKind.Pow:
        return operator.pow, parts
    if kind is ExpressionKind.IfThenElse:
        return functions.if_then_else, [formula.Formula._of(node.parts[0]), *parts[1:]]
    if kind is ExpressionKind.UninterpretedFunction:
        return functions.uninterpreted_function, [node.data, parts]
    return getattr(functions, kind.name.lower()), parts


def _formula_apart(node: Any) -> tuple[Any, list[Any]]:
    from merganser.framework.symbolic import formula
    from merganser.framework.symbolic.expression import Expression
    from merganser.framework.symbolic.functions import forall, isnan, positive_semidefinite
    from merganser.framework.symbolic.printing import operands
    from merganser.framework.symbolic.trees import substituted
    from merganser.framework.symbolic.variables import Variables

    kind = formula_kind(node)
    if kind in (FormulaKind.True_, FormulaKind.False_):
        return getattr(formula.Formula, kind.name), []
    if kind is FormulaKind.Var:
        return formula.Formula, [node.variable]
    if kind is FormulaKind.Forall:
        symbols = {bound: bound.data for bound in node.parts[1:]}
        variables = Variables(symbol.variable for symbol in symbols.values())
        return forall, [variables, formula.Formula._of(substituted(node.parts[0], symbols, {}))]
    if kind is FormulaKind.PositiveSemidefinite:
        return positive_semidefinite, [node.matrix(Expression._of)]
    if kind in _RELATIONS or kind is FormulaKind.Isnan:
        return _RELATIONS.get(kind, isnan), [Expression._of(argument) for argument in node.parts]
    function = {FormulaKind.And: formula.logical_and, FormulaKind.Or: formula.logical_or}.get(kind, formula.logical_not)
    arguments = node.parts if kind is FormulaKind.Not else operands(node)
    return function, [formula.Formula._of(argument) for argument in arguments]


def _joined(function: Any, *parts: Any) -> Any:
    return functools.reduce(function, parts)
