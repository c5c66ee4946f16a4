"""Texts of expressions, plain and for LaTeX."""

from __future__ import annotations

__all__ = ["latex", "text"]

from typing import Any

from merganser.framework.symbolic._sympy import LatexPrinter, StrPrinter


class _TextPrinter(StrPrinter):
    """sympy's text, with plain names of variables and our kinds of nodes."""

    def _print_Symbol(self, node: Any) -> str:
        return node.name

    _print_Dummy = _print_Symbol

    def _print_Maximum(self, node: Any) -> str:
        return f"max({self._print(node.args[0])}, {self._print(node.args[1])})"

    def _print_Minimum(self, node: Any) -> str:
        return f"min({self._print(node.args[0])}, {self._print(node.args[1])})"

    def _print_IfThenElse(self, node: Any) -> str:
        condition, then, otherwise = (self._print(argument) for argument in node.args)
        return f"(if {condition} then {then} else {otherwise})"

    def _print_Float(self, node: Any) -> str:
        return repr(float(node))

    def _print_Abs(self, node: Any) -> str:
        return f"abs({self._print(node.args[0])})"

    def _print_ceiling(self, node: Any) -> str:
        return f"ceil({self._print(node.args[0])})"

    def _print_IsNan(self, node: Any) -> str:
        return f"isnan({self._print(node.args[0])})"

    def _print_NaN(self, node: Any) -> str:
        return "NaN"

    def _print_And(self, node: Any) -> str:
        return "(" + " and ".join(self._print(argument) for argument in node.args) + ")"

    def _print_Or(self, node: Any) -> str:
        return "(" + " or ".join(self._print(argument) for argument in node.args) + ")"

    def _print_Not(self, node: Any) -> str:
        return f"!({self._print(node.args[0])})"

    def _print_Relational(self, node: Any) -> str:
        return f"({self._print(node.args[0])} {node.rel_op} {self._print(node.args[1])})"


class _LatexPrinter(LatexPrinter):
    """sympy's LaTeX, with a number of digits and our kinds of nodes."""

    digits = 3

    def _print_Float(self, node: Any) -> str:
        return f"{float(node):.{self.digits}f}".rstrip("0").rstrip(".")

    def _function(self, name: str, node: Any) -> str:
        return rf"{name}\left({', '.join(self._print(argument) for argument in node.args)}\right)"

    def _print_Maximum(self, node: Any) -> str:
        return self._function(r"\max", node)

    def _print_Minimum(self, node: Any) -> str:
        return self._function(r"\min", node)

    def _print_IfThenElse(self, node: Any) -> str:
        condition, then, otherwise = (self._print(argument) for argument in node.args)
        lines = rf"{then} & \text{{if }} {condition} \\ {otherwise} & \text{{otherwise}}"
        return rf"\begin{{cases}} {lines} \end{{cases}}"


def text(node: Any) -> str:
    """A tree as text."""
    return _TextPrinter().doprint(node)


def latex(node: Any, precision: int) -> str:
    """A tree as LaTeX, floats with at most `precision` digits after the point."""
    printer = _LatexPrinter()
    printer.digits = precision
    return printer.doprint(node)
