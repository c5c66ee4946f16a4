"""Texts of expressions, plain and for LaTeX.

Plain texts have all parentheses, sums and products their constant first:

    (-4 + 3 * x + 2 * (x * y))      pow(x, 2)      (if (x > y) then x else y)
"""

from __future__ import annotations

__all__ = ["place", "text"]

from typing import Any

from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.kinds import ExpressionKind, FormulaKind, divided, expression_kind, formula_kind
from merganser.framework.symbolic.nodes import Bound, Symbol
from merganser.framework.symbolic.trees import symbols_of

_WORDS = {FormulaKind.And: "and", FormulaKind.Or: "or"}
_SIGNS = {
    FormulaKind.Eq: "==", FormulaKind.Neq: "!=", FormulaKind.Gt: ">", FormulaKind.Geq: ">=", FormulaKind.Lt: "<",
    FormulaKind.Leq: "<=",
}  # fmt: skip


def text(node: Any) -> str:
    """A tree as text."""
    if isinstance(node, (Symbol, Bound)):
        return str(node.name)
    if isinstance(node, sympy.logic.boolalg.Boolean):
        return _condition(node)
    kind = expression_kind(node)
    if kind is ExpressionKind.Constant:
        return _constant(float(node))
    if kind is ExpressionKind.NaN:
        return "NaN"
    if kind is ExpressionKind.Add:
        return _sum(node)
    if kind in (ExpressionKind.Mul, ExpressionKind.Div):
        return _product(node)
    if kind is ExpressionKind.IfThenElse:
        condition, then, otherwise = map(text, node.args)
        return f"(if {condition} then {then} else {otherwise})"
    arguments = node.args[:1] if kind is ExpressionKind.Sqrt else node.args
    name = node.func.__name__ if kind is ExpressionKind.UninterpretedFunction else kind.name.lower()
    return f"{name}({', '.join(map(text, arguments))})"


def _constant(value: float) -> str:
    return repr(value).removesuffix(".0")


def _sum(node: Any) -> str:
    constant, rest = node.as_coeff_Add()
    shown = "" if constant == 0 else _constant(float(constant))
    for term in sorted(sympy.Add.make_args(rest), key=place):
        factor, other = term.as_coeff_Mul()
        is_negative = bool(factor < 0)
        sign = " - " if is_negative else " + " if shown else ""
        size, part = abs(float(factor)), text(other)  # to sympy 1.0 is not 1
        shown += sign + (part if size == 1.0 else f"{_constant(size)} * {part}")
    return f"({shown})"


def _product(node: Any) -> str:
    above, below = divided(node)
    if below != 1:
        return f"({text(above)} / {text(below)})"
    constant, rest = node.as_coeff_Mul()
    factors = [text(factor) for factor in sorted(sympy.Mul.make_args(rest), key=_place_of_factor)]
    if float(constant) != 1.0:
        factors.insert(0, _constant(float(constant)))
    return factors[0] if len(factors) == 1 else "(" + " * ".join(factors) + ")"


def place(node: Any) -> Any:
    """Where a term or a factor stands among others: by what it is a multiple or a power of."""
    other = node.as_coeff_Mul()[1]
    base, exponent = other.as_base_exp() if other.is_Pow and other.exp.is_Number else (other, sympy.S.One)
    numbers = [symbol.dummy_index for symbol in symbols_of(base)]
    return expression_kind(other).value, numbers, expression_kind(base).value, float(exponent), str(base)


def _place_of_factor(node: Any) -> Any:
    base, exponent = node.as_base_exp() if node.is_Pow else (node, sympy.S.One)
    return (*place(base), str(exponent))


def _condition(node: Any) -> str:
    kind = formula_kind(node)
    if kind in (FormulaKind.True_, FormulaKind.False_):
        return str(bool(node))
    if kind in _SIGNS:
        return f"({text(node.args[0])} {_SIGNS[kind]} {text(node.args[1])})"
    if kind in _WORDS:
        return "(" + f" {_WORDS[kind]} ".join(map(text, node.args)) + ")"
    if kind is FormulaKind.Not:
        return f"!({text(node.args[0])})"
    if kind is FormulaKind.Forall:
        return f"forall({{{', '.join(map(text, node.args[1:]))}}}. {text(node.args[0])})"
    if kind is FormulaKind.PositiveSemidefinite:
        rows = "\n".join(" ".join(row) for row in node.matrix(text))
        return f"positive_semidefinite({rows})"
    return f"isnan({text(node.args[0])})"
