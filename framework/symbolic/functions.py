"""Functions of expressions, variables and numbers; the result is an expression."""

from __future__ import annotations

__all__ = [
    "abs",
    "acos",
    "arccos",
    "arcsin",
    "arctan",
    "arctan2",
    "asin",
    "atan",
    "atan2",
    "ceil",
    "cos",
    "cosh",
    "exp",
    "floor",
    "if_then_else",
    "isnan",
    "log",
    "max",
    "min",
    "pow",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]

from collections.abc import Callable
from typing import Any

from merganser.framework.core.keywords import also_named
from merganser.framework.symbolic.expression import Expression, node_of
from merganser.framework.symbolic.formula import Formula
from merganser.framework.symbolic.nodes import IfThenElse


def _unary(name: str) -> Callable[[Any], Expression]:
    method = getattr(Expression, name)

    def function(x: Any) -> Expression:
        return method(Expression(x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The expression {name}(x) of an expression, a variable or a number."
    return function


def _binary(name: str) -> Callable[[Any, Any], Expression]:
    method = getattr(Expression, name)

    def function(x: Any, y: Any) -> Expression:
        return method(Expression(x), y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The expression {name}(x, y) of expressions, variables or numbers."
    return function


sin, cos, tan = _unary("sin"), _unary("cos"), _unary("tan")
asin = arcsin = _unary("arcsin")
acos = arccos = _unary("arccos")
atan = arctan = _unary("arctan")
sinh, cosh, tanh = _unary("sinh"), _unary("cosh"), _unary("tanh")
exp, log, sqrt = _unary("exp"), _unary("log"), _unary("sqrt")
abs, floor, ceil = _unary("abs"), _unary("floor"), _unary("ceil")
atan2 = arctan2 = _binary("arctan2")
max, min, pow = _binary("max"), _binary("min"), _binary("pow")


@also_named(e="x")
def isnan(x: Any) -> Formula:
    """The formula that x is NaN."""
    return Expression(x).isnan()


def if_then_else(f_cond: Formula, e_then: Any, e_else: Any) -> Expression:
    """The expression e_then where the formula f_cond holds, and e_else elsewhere.

    Raises:
        TypeError: f_cond is no Formula, or another argument no expression.
    """
    then, otherwise = node_of(e_then), node_of(e_else)
    if not isinstance(f_cond, Formula) or then is None or otherwise is None:
        raise TypeError(
            "if_then_else: expected a Formula and two expressions, got "
            f"{type(f_cond).__name__}, {type(e_then).__name__} and {type(e_else).__name__}."
        )
    return Expression._of(IfThenElse(f_cond._node, then, otherwise))
