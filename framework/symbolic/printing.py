"""Texts of expressions, plain and for LaTeX.

Plain texts have all parentheses, sums and products their constant first:

    (-4 + 3 * x + 2 * (x * y))      pow(x, 2)      (if (x > y) then x else y)

For LaTeX, sums are put in parentheses, fractional numbers have a fixed number of decimals, and multiples of pi are
recognized.
"""

from __future__ import annotations

import math
import re
from typing import Any

from merganser.framework.symbolic import nodes as n
from merganser.framework.symbolic.kinds import (
    ExpressionKind,
    FormulaKind,
    arguments_of,
    divided,
    expression_kind,
    formula_kind,
)


class Texts:
    """What trees are written with: names, words (NaN, True), numbers, sums, quotients; for LaTeX, see Latex below."""

    signs = {
        FormulaKind.Eq: "==", FormulaKind.Neq: "!=", FormulaKind.Gt: ">", FormulaKind.Geq: ">=", FormulaKind.Lt: "<",
        FormulaKind.Leq: "<=",
    }  # fmt: skip
    times = " * "
    relation, forall, negation, isnan = "({} {} {})", "forall({{{}}}. {})", "!({})", "isnan({})"

    def of(self, node: Any) -> str:
        """The text of a tree."""
        if isinstance(node, (n.Symbol, n.Bound)):
            return self.name((node.data if isinstance(node, n.Bound) else node).name)
        if isinstance(node, n.Condition):
            return self.condition(node, formula_kind(node))
        kind = expression_kind(node)
        if kind is ExpressionKind.Constant:
            return self.number(float(node.value))
        if kind is ExpressionKind.NaN:
            return self.word("NaN")
        if kind is ExpressionKind.Add:
            return self.sum(node)
        if kind in (ExpressionKind.Mul, ExpressionKind.Div):
            above, below = divided(node)
            if below is not n.ONE:
                return self.quotient(self.of(above), self.of(below))
            factor, rest = n.split(node)
            return self.product(factor, [self.of(each) for each in sorted_factors(rest)])
        return self.function(node, kind, [self.of(each) for each in arguments_of(node)])

    def sum(self, node: Any) -> str:
        shown = "" if node.constant == 0 else self.number(float(node.constant))
        for term, factor in sorted_terms(node):
            sign = " - " if factor < 0 else " + " if shown else ""
            size = "" if abs(factor) == 1 else self.number(abs(float(factor))) + self.times
            shown += sign + size + self.of(term)
        return f"({shown})"

    def name(self, name: str) -> str:
        return name

    def word(self, word: str) -> str:
        return word

    def number(self, value: float) -> str:
        return repr(value).removesuffix(".0")

    def quotient(self, above: str, below: str) -> str:
        return f"({above} / {below})"

    def product(self, factor: Any, factors: list[str]) -> str:
        factors = factors if factor == 1 else [self.number(float(factor)), *factors]
        return factors[0] if len(factors) == 1 else "(" + self.times.join(factors) + ")"

    def function(self, node: Any, kind: ExpressionKind, arguments: list[str]) -> str:
        if kind is ExpressionKind.IfThenElse:
            return "(if {} then {} else {})".format(*arguments)
        name = node.data if kind is ExpressionKind.UninterpretedFunction else kind.name.lower()
        return f"{name}({', '.join(arguments)})"

    def condition(self, node: Any, kind: FormulaKind) -> str:
        if kind in (FormulaKind.True_, FormulaKind.False_):
            return self.word(str(node.value))
        if kind in (FormulaKind.And, FormulaKind.Or):
            return "(" + f" {kind.name.lower()} ".join(map(self.of, operands(node))) + ")"
        if kind is FormulaKind.PositiveSemidefinite:
            return "positive_semidefinite(" + "\n".join(" ".join(row) for row in node.matrix(self.of)) + ")"
        first, *others = map(self.of, node.parts)
        if kind in self.signs:
            return self.relation.format(first, self.signs[kind], *others)
        if kind is FormulaKind.Forall:
            return self.forall.format(", ".join(others), first)
        return (self.negation if kind is FormulaKind.Not else self.isnan).format(first)


text = Texts().of


def printable(node: Any, limit: int = 60) -> str:
    """A short text of a tree, for error messages."""
    if len(n.symbols_of(node)) > 8:
        return "a large expression"
    shown = text(node)
    return shown if len(shown) <= limit else shown[:limit] + "..."


def sorted_terms(node: Any) -> list[tuple[Any, Any]]:
    """The terms of a sum with their factors: by kind, then by the factors of each, then by what multiplies it."""
    return sorted(n.terms_of(node)[1].items(), key=_place_of_term)


def sorted_factors(node: Any) -> list[Any]:
    """The powers in a product."""
    powers = [n.integer_power(base, exponent) for base, exponent in n.factors_of(node).items()]
    return sorted(powers, key=place_of_factor)


def _place_of_term(item: tuple[Any, Any]) -> Any:
    term, factor = item
    return expression_kind(term).value, sorted(map(place_of_factor, sorted_factors(term))), float(factor)


def place(node: Any) -> Any:
    """Where a term is among others."""
    return _place_of_term(n.split(node)[::-1])


def place_of_factor(node: Any) -> Any:
    """Where a factor is among others: by the kind of its base, then by the variables in it."""
    base, exponent = arguments_of(node) if expression_kind(node) is ExpressionKind.Pow else (node, n.ONE)
    numbers = [symbol.index for symbol in n.symbols_of(base)]
    return expression_kind(base).value, numbers, getattr(exponent, "value", math.inf), text(node)


def operands(node: Any) -> list[Any]:
    """The operands of a conjunction or a disjunction: equations first, inequalities by operands, then the rest."""

    def place_of(condition: Any) -> Any:
        kind = formula_kind(condition)
        return kind.value, list(map(_place_of_side, condition.parts)) if kind in Texts.signs else [], text(condition)

    return sorted(node.parts, key=place_of)


def _place_of_side(node: Any) -> Any:
    constant, terms = n.terms_of(node)
    return expression_kind(node).value, float(constant), sorted(map(_place_of_term, terms.items()))


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
