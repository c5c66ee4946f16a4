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
    "forall",
    "if_then_else",
    "isnan",
    "log",
    "max",
    "min",
    "positive_semidefinite",
    "pow",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "uninterpreted_function",
]

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.expression import Expression, node_of
from merganser.framework.symbolic.formula import Formula
from merganser.framework.symbolic.nodes import Bound, ForAll, IfThenElse, PositiveSemidefinite
from merganser.framework.symbolic.trees import substituted
from merganser.framework.symbolic.variables import Variables


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


def forall(vars: Variables, f: Formula) -> Formula:
    """The formula that f holds whatever the values of some variables; it has no value that could be computed.

    Raises:
        TypeError: f is no Formula.
    """
    if not isinstance(f, Formula):
        raise TypeError(f"forall: expected a Formula, got {type(f).__name__}.")
    bound = {variable._node: Bound.of(variable._node) for variable in Variables(vars)}
    return Formula._of(ForAll(substituted(f._node, bound, {}), *bound.values()))


def positive_semidefinite(m: npt.ArrayLike) -> Formula:
    """The formula that a symmetric matrix of expressions, shape [n, n], has no negative eigenvalue.

    Raises:
        RuntimeError: the matrix is not symmetric.
    """
    matrix = np.array(m, dtype=object)
    nodes = [node_of(entry) for entry in matrix.ravel()]
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or None in nodes:
        raise TypeError(f"positive_semidefinite: expected a square matrix of expressions, got shape {matrix.shape}.")
    entries = np.array(nodes, dtype=object).reshape(matrix.shape)
    if any(entries[i, j] != entries[j, i] for i, j in np.ndindex(*matrix.shape)):
        raise RuntimeError(f"positive_semidefinite: the matrix is not symmetric: {matrix}.")
    return Formula._of(PositiveSemidefinite(sympy.Integer(len(matrix)), *nodes))


def uninterpreted_function(name: str, arguments: Sequence[Any]) -> Expression:
    """An expression of which only is known on what it depends; it can be neither evaluated nor differentiated.

    Raises:
        TypeError: an argument is no expression.
    """
    nodes = [node_of(argument) for argument in arguments]
    if None in nodes:
        raise TypeError(f"uninterpreted_function: expected a name and expressions, got {arguments!r}.")
    return Expression._of(sympy.Function(name, real=True)(*nodes))


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
