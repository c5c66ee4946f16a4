"""Expressions and formulas as LaTeX: what printing.py does as text.

Sums are put in parentheses, fractional numbers have a fixed number of decimals, multiples of pi are recognized.
"""

from __future__ import annotations

import math
import re
from typing import Any

from merganser.framework.symbolic import nodes as n
from merganser.framework.symbolic.kinds import ExpressionKind, FormulaKind, arguments_of, expression_kind, formula_kind
from merganser.framework.symbolic.printing import Texts, operands

_INDEXED = re.compile(r"([^()]*)\(([^()]*)\)")
_KINDS = ExpressionKind
_IN_PARENTHESES = (_KINDS.Mul, _KINDS.Div, _KINDS.Pow, _KINDS.Constant, _KINDS.Exp)
_FRAMES = {
    _KINDS.Abs: ("|", "|"), _KINDS.Ceil: (r"\lceil ", r" \rceil"), _KINDS.Floor: (r"\lfloor ", r" \rfloor"),
    _KINDS.Sqrt: (r"\sqrt{", "}"), _KINDS.Exp: ("e^{", "}"), _KINDS.Min: (r"\min\{", r"\}"),
    _KINDS.Max: (r"\max\{", r"\}"), _KINDS.Atan2: (r"\operatorname{atan2}(", ")"),
}  # fmt: skip


class Latex(Texts):
    """LaTeX of trees, floats with some digits after the point."""

    signs = {
        FormulaKind.Eq: "=", FormulaKind.Neq: r"\neq", FormulaKind.Gt: ">", FormulaKind.Geq: r"\ge",
        FormulaKind.Lt: "<", FormulaKind.Leq: r"\le",
    }  # fmt: skip
    words = {FormulaKind.And: r" \land ", FormulaKind.Or: r" \lor "}
    times = ""
    relation, forall, negation, isnan = "{} {} {}", r"\forall {}: ({})", r"\neg ({})", r"\text{{isnan}}({})"

    def __init__(self, precision: int) -> None:
        self._precision = precision

    def name(self, name: str) -> str:
        match = _INDEXED.fullmatch(name)  # x(0, 1) has indices
        return f"{match[1]}_{{{match[2]}}}" if match else name

    def word(self, word: str) -> str:
        return rf"\text{{{word if word == 'NaN' else word.lower()}}}"

    def number(self, value: float) -> str:
        if math.isinf(value):
            return r"\infty" if value > 0.0 else r"-\infty"
        turns = value / math.pi
        if turns and abs(turns - round(turns)) < 1e-14 * abs(turns):
            return {1: "", -1: "-"}.get(round(turns), str(round(turns))) + r"\pi"
        return str(int(value)) if value == int(value) else f"{value:.{self._precision}f}"

    def quotient(self, above: str, below: str) -> str:
        return rf"\frac{{{above}}}{{{below}}}"

    def product(self, factor: Any, factors: list[str]) -> str:
        if factor == -1:
            return "-" + " ".join(factors)
        return " ".join(factors if factor == 1 else [self.number(float(factor)), *factors])

    def function(self, node: Any, kind: ExpressionKind, arguments: list[str]) -> str:
        if kind is _KINDS.Pow:
            is_whole = expression_kind(arguments_of(node)[0]) not in _IN_PARENTHESES
            return f"{arguments[0] if is_whole else f'({arguments[0]})'}^{{{arguments[1]}}}"
        if kind is _KINDS.IfThenElse:
            lines = r"{1} & \text{{if }} {0}, \\ {2} & \text{{otherwise}}.".format(*arguments)
            return rf"\begin{{cases}} {lines}\end{{cases}}"
        if kind is _KINDS.UninterpretedFunction:
            return rf"\text{{{node.data}}}({', '.join(arguments)})"
        before, behind = _FRAMES.get(kind, (rf"\{kind.name.lower()}{{", "}"))
        return before + ", ".join(arguments) + behind

    def condition(self, node: Any, kind: FormulaKind) -> str:
        def inner(part: Any) -> str:
            return f"({self.of(part)})" if formula_kind(part) in (*self.words, FormulaKind.Forall) else self.of(part)

        if kind in self.words:
            return self.words[kind].join(map(inner, operands(node)))
        if kind is FormulaKind.PositiveSemidefinite:
            rows = (" & ".join(row) for row in node.matrix(self.of))
            return r"\begin{bmatrix} " + r" \\ ".join(rows) + r" \end{bmatrix} \succeq 0"
        if kind is FormulaKind.Not and formula_kind(node.parts[0]) in (*self.signs, *self.words):
            return self.of(n.opposite(node.parts[0]))
        return super().condition(node, kind)
