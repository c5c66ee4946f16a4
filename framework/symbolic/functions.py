"""Functions of expressions, variables and numbers; the result is an expression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.symbolic.expression import Expression, node_of
from merganser.framework.symbolic.formula import Formula, condition_of
from merganser.framework.symbolic.nodes import Bound, ForAll, PositiveSemidefinite, Uninterpreted
from merganser.framework.symbolic.trees import chosen, substituted
from merganser.framework.symbolic.variables import Variables


def _function(name: str) -> Callable[..., Expression]:
    method = getattr(Expression, name)

    def function(x: Any, *others: Any) -> Expression:
        return method(Expression(x), *others)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The expression {name} of expressions, variables or numbers."
    return function


sin, cos, tan, sinh, cosh, tanh = map(_function, ("sin", "cos", "tan", "sinh", "cosh", "tanh"))
asin, acos, atan = arcsin, arccos, arctan = [_function(name) for name in ("arcsin", "arccos", "arctan")]
exp, log, sqrt, abs, floor, ceil = map(_function, ("exp", "log", "sqrt", "abs", "floor", "ceil"))
atan2 = arctan2 = _function("arctan2")
max, min, pow = map(_function, ("max", "min", "pow"))


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
    bound = {variable._node: Bound.of(data=variable._node) for variable in Variables(vars)}
    return Formula._of(ForAll(substituted(f._node, bound, {}), *bound.values()))


def positive_semidefinite(m: npt.ArrayLike) -> Formula:
    """The formula that a symmetric matrix of expressions, shape [n, n], has no negative eigenvalue; [1] is a matrix.

    Raises:
        RuntimeError: the matrix is not symmetric.
    """
    matrix = np.array(m, dtype=object)
    matrix = matrix.reshape(1, 1) if matrix.shape == (1,) else matrix
    nodes = [node_of(entry) for entry in matrix.ravel()]
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or None in nodes:
        raise TypeError(f"positive_semidefinite: expected a square matrix of expressions, got shape {matrix.shape}.")
    entries = np.array(nodes, dtype=object).reshape(matrix.shape)
    if any(entries[i, j] != entries[j, i] for i, j in np.ndindex(*matrix.shape)):
        raise RuntimeError(f"positive_semidefinite: the matrix is not symmetric: {matrix}.")
    return Formula._of(PositiveSemidefinite(*nodes))


def uninterpreted_function(name: str, arguments: Sequence[Any]) -> Expression:
    """An expression of which only is known on what it depends; it can be neither evaluated nor differentiated.

    Raises:
        TypeError: an argument is not an expression.
    """
    nodes = [node_of(argument) for argument in arguments]
    if None in nodes:
        raise TypeError(f"uninterpreted_function: expected a name and expressions, got {arguments!r}.")
    return Expression._of(Uninterpreted.of(*nodes, data=name))


def if_then_else(f_cond: Formula, e_then: Any, e_else: Any) -> Expression:
    """The expression e_then where the formula f_cond, or a variable of type BOOLEAN, holds, and e_else elsewhere.

    Raises:
        TypeError: f_cond is no formula, or another argument no expression.
    """
    condition, then, otherwise = condition_of(f_cond, "if_then_else"), node_of(e_then), node_of(e_else)
    if then is None or otherwise is None:
        raise TypeError(
            f"if_then_else: expected a formula and two expressions, got {type(f_cond).__name__}, "
            f"{type(e_then).__name__} and {type(e_else).__name__}."
        )
    return Expression._of(chosen(condition, then, otherwise))
