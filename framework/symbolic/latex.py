"""Expressions and formulas as LaTeX: what printing.py does as text.

Sums stand in parentheses, numbers that are not whole have a fixed number of decimals, multiples of pi are told.
"""

from __future__ import annotations

__all__ = ["latex"]

import math
import re
from typing import Any

from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.kinds import ExpressionKind, FormulaKind, divided, expression_kind, formula_kind
from merganser.framework.symbolic.nodes import Bound, Symbol
from merganser.framework.symbolic.printing import place

_SIGNS = {
    FormulaKind.Eq: "=", FormulaKind.Neq: r"\neq", FormulaKind.Gt: ">", FormulaKind.Geq: r"\ge", FormulaKind.Lt: "<",
    FormulaKind.Leq: r"\le",
}  # fmt: skip
_WORDS = {FormulaKind.And: r" \land ", FormulaKind.Or: r" \lor "}
_INDEXED = re.compile(r"([^()]*)\(([^()]*)\)")
_KINDS = ExpressionKind
_FRAMES = {
    _KINDS.Abs: ("|", "|"), _KINDS.Ceil: (r"\lceil ", r" \rceil"), _KINDS.Floor: (r"\lfloor ", r" \rfloor"),
    _KINDS.Sqrt: (r"\sqrt{", "}"), _KINDS.Exp: ("e^{", "}"), _KINDS.Min: (r"\min\{", r"\}"),
    _KINDS.Max: (r"\max\{", r"\}"), _KINDS.Asin: (r"\arcsin{", "}"), _KINDS.Acos: (r"\arccos{", "}"),
    _KINDS.Atan: (r"\arctan{", "}"), _KINDS.Atan2: (r"\operatorname{atan2}(", ")"),
}  # fmt: skip


def latex(node: Any, precision: int) -> str:
    """A tree as LaTeX, floats with `precision` digits after the point."""
    if isinstance(node, (Symbol, Bound)):
        return _name(str(node.name))
    if isinstance(node, sympy.logic.boolalg.Boolean):
        return _condition(node, precision)
    kind = expression_kind(node)
    if kind is ExpressionKind.Constant:
        return _constant(float(node), precision)
    if kind is ExpressionKind.NaN:
        return r"\text{NaN}"
    if kind is ExpressionKind.Add:
        return _sum(node, precision)
    if kind in (ExpressionKind.Mul, ExpressionKind.Div):
        return _product(node, precision)
    if kind is ExpressionKind.Pow:
        return _power(node, precision)
    if kind is ExpressionKind.IfThenElse:
        condition, then, otherwise = (latex(each, precision) for each in node.args)
        lines = rf"{then} & \text{{if }} {condition}, \\ {otherwise} & \text{{otherwise}}."
        return rf"\begin{{cases}} {lines}\end{{cases}}"
    arguments = ", ".join(latex(each, precision) for each in (node.args[:1] if kind is _KINDS.Sqrt else node.args))
    if kind is ExpressionKind.UninterpretedFunction:
        return rf"\text{{{node.func.__name__}}}({arguments})"
    before, behind = _FRAMES.get(kind, (rf"\{kind.name.lower()}{{", "}"))
    return before + arguments + behind


def _name(name: str) -> str:
    """x(0, 1) has indices."""
    match = _INDEXED.fullmatch(name)
    return f"{match[1]}_{{{match[2]}}}" if match else name


def _constant(value: float, precision: int) -> str:
    if math.isinf(value):
        return r"\infty" if value > 0.0 else r"-\infty"
    turns = value / math.pi
    if turns and abs(turns - round(turns)) < 1e-14 * abs(turns):
        return {1: "", -1: "-"}.get(round(turns), str(round(turns))) + r"\pi"
    return str(int(value)) if value == int(value) else f"{value:.{precision}f}"


def _sum(node: Any, precision: int) -> str:
    constant, rest = node.as_coeff_Add()
    shown = "" if constant == 0 else _constant(float(constant), precision)
    for term in sorted(sympy.Add.make_args(rest), key=place):
        factor, other = term.as_coeff_Mul()
        sign = " - " if factor < 0 else " + " if shown else ""
        size = "" if abs(float(factor)) == 1.0 else _constant(abs(float(factor)), precision)  # to sympy 1.0 is not 1
        shown += sign + size + latex(other, precision)
    return f"({shown})"


def _product(node: Any, precision: int) -> str:
    above, below = divided(node)
    if below != 1:
        return rf"\frac{{{latex(above, precision)}}}{{{latex(below, precision)}}}"
    constant, rest = node.as_coeff_Mul()
    factors = [latex(each, precision) for each in sorted(sympy.Mul.make_args(rest), key=place)]
    if float(constant) == -1.0:
        return "-" + " ".join(factors)
    return " ".join(factors if float(constant) == 1.0 else [_constant(float(constant), precision), *factors])


def _power(node: Any, precision: int) -> str:
    base, exponent = node.as_base_exp()
    shown = latex(base, precision)
    is_whole = expression_kind(base) not in (_KINDS.Mul, _KINDS.Div, _KINDS.Pow, _KINDS.Constant, _KINDS.Exp)
    return f"{shown if is_whole else f'({shown})'}^{{{latex(exponent, precision)}}}"


def _condition(node: Any, precision: int) -> str:
    kind = formula_kind(node)

    def inner(part: Any) -> str:
        shown = latex(part, precision)
        return f"({shown})" if formula_kind(part) in (*_WORDS, FormulaKind.Forall) else shown

    if kind in (FormulaKind.True_, FormulaKind.False_):
        return rf"\text{{{str(bool(node)).lower()}}}"
    if kind in _SIGNS:
        return f"{latex(node.args[0], precision)} {_SIGNS[kind]} {latex(node.args[1], precision)}"
    if kind in _WORDS:
        return _WORDS[kind].join(map(inner, node.args))
    if kind is FormulaKind.Not:
        return rf"\neg ({latex(node.args[0], precision)})"
    if kind is FormulaKind.Forall:
        variables = ", ".join(latex(each, precision) for each in node.args[1:])
        return rf"\forall {variables}: ({latex(node.args[0], precision)})"
    if kind is FormulaKind.PositiveSemidefinite:
        rows = (" & ".join(row) for row in node.matrix(lambda entry: latex(entry, precision)))
        return r"\begin{bmatrix} " + r" \\ ".join(rows) + r" \end{bmatrix} \succeq 0"
    return rf"\text{{isnan}}({latex(node.args[0], precision)})"
