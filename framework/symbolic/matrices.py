"""Functions of arrays of expressions."""

from __future__ import annotations

__all__ = [
    "DecomposeAffineExpressions",
    "DecomposeLinearExpressions",
    "Evaluate",
    "GetVariableVector",
    "IsAffine",
    "Jacobian",
    "Substitute",
    "TaylorExpand",
    "ToLatex",
]

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.core.keywords import also_named
from merganser.framework.core.random_values import RandomGenerator
from merganser.framework.symbolic import printing
from merganser.framework.symbolic.derivatives import differentiated
from merganser.framework.symbolic.expression import Expression, Term, node_of, symbol_of
from merganser.framework.symbolic.formula import Formula, replacements_of, values_of
from merganser.framework.symbolic.nodes import number
from merganser.framework.symbolic.trees import evaluated, substituted, symbols_of
from merganser.framework.symbolic.variables import Variables


def _nodes(matrix: npt.ArrayLike, where: str) -> npt.NDArray[Any]:
    """The trees of the entries, shape [m, n]; a vector is a column."""
    entries = np.asarray(matrix, dtype=object)
    if entries.ndim not in (1, 2):
        raise TypeError(f"{where}: expected a vector or a matrix, got an array of shape {entries.shape}.")
    nodes = np.empty(entries.shape, dtype=object)
    for index, entry in np.ndenumerate(entries):
        nodes[index] = node_of(entry)
        if nodes[index] is None:
            raise TypeError(f"{where}: entry {index} is no expression but {type(entry).__name__}.")
    return nodes.reshape(-1, 1) if nodes.ndim == 1 else nodes


def _expressions(nodes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    result = np.empty(nodes.shape, dtype=object)
    for index, node in np.ndenumerate(nodes):
        result[index] = Expression._of(node)
    return result


def Evaluate(
    m: npt.ArrayLike, env: Mapping[Any, float] | None = None, generator: RandomGenerator | None = None
) -> npt.NDArray[np.float64]:
    """Values of a matrix of expressions; subexpressions that entries share are computed once.

    Args:
        m: expressions, shape [m, n] or [m].
        env: values of their variables, {Variable: number}.
        generator: draws values of random variables that have none there.

    Returns:
        Shape [m, n]; [m, 1] for a vector.

    Raises:
        RuntimeError: a variable without a value, a NaN, or a division by zero.
        ValueError: an argument outside of the domain of a function.
    """
    nodes, memo = _nodes(m, "Evaluate"), {}  # type: ignore[var-annotated]
    values = values_of(env, generator, nodes.flat)
    result = np.empty(nodes.shape)
    for index, node in np.ndenumerate(nodes):
        result[index] = evaluated(node, values, memo)
    return result


@also_named(var="subst", subs="subst")
def Substitute(m: Any, subst: Any, e: Any = None) -> Any:
    """A matrix of expressions with others for variables.

    Args:
        m: expressions, shape [m, n] or [m]; or one expression.
        subst: {Variable: expression}, or one variable and then e.
        e: the expression for that one variable.

    Returns:
        Objects, shape [m, n] ([m, 1] for a vector); or one expression.
    """
    replacements, memo = replacements_of(subst, e), {}  # type: ignore[var-annotated]
    if isinstance(m, Term):
        return Expression._of(substituted(m._node, replacements, memo))
    nodes = _nodes(m, "Substitute")
    for index, node in np.ndenumerate(nodes):
        nodes[index] = substituted(node, replacements, memo)
    return _expressions(nodes)


def Jacobian(f: npt.ArrayLike, vars: npt.ArrayLike) -> npt.NDArray[Any]:
    """Partial derivatives of a vector of expressions, shape [len(f), len(vars)]."""
    rows = _nodes(f, "Jacobian").ravel()
    result = np.empty((rows.size, np.size(vars)), dtype=object)
    for j, variable in enumerate(np.ravel(np.asarray(vars, dtype=object))):
        symbol, memo = symbol_of(variable, "Jacobian"), {}  # type: ignore[var-annotated]
        for i, node in enumerate(rows):
            result[i, j] = Expression._of(differentiated(node, symbol, memo))
    return result


def GetVariableVector(expressions: npt.ArrayLike) -> npt.NDArray[Any]:
    """All variables of the expressions, in the order in which they were made; objects, shape [n]."""
    symbols = symbols_of(*_nodes(expressions, "GetVariableVector").ravel())
    return np.array([symbol.variable for symbol in symbols], dtype=object)


def IsAffine(m: npt.ArrayLike, vars: Iterable[Any] | None = None) -> bool:
    """Whether all entries are affine in `vars`; by default, in all variables that occur."""
    nodes = _nodes(m, "IsAffine").ravel()
    symbols = set(symbols_of(*nodes)) if vars is None else {v._node for v in Variables(vars)}
    for symbol in symbols:
        for node in nodes:
            slope = differentiated(node, symbol, {}).expand()
            if symbols & set(symbols_of(slope)):
                return False
    return True


@also_named(v="expressions")
def DecomposeAffineExpressions(
    expressions: npt.ArrayLike, vars: npt.ArrayLike | None = None
) -> Any:
    """A and b of expressions A vars + b.

    Args:
        expressions: shape [m]; by the name `v`, where vars are left out.
        vars: variables, shape [n]; by default all that occur.

    Returns:
        A, shape [m, n], and b, shape [m]; and the variables, if they were left out.

    Raises:
        RuntimeError: the expressions are not affine in vars, or have other variables.
    """
    variables = GetVariableVector(expressions) if vars is None else np.ravel(np.asarray(vars, dtype=object))
    nodes = _nodes(expressions, "DecomposeAffineExpressions").ravel()
    others = set(symbols_of(*nodes)) - {symbol_of(v, "DecomposeAffineExpressions") for v in variables}
    if others or not IsAffine(expressions):
        raise RuntimeError(
            f"DecomposeAffineExpressions: the expressions are not affine in {[str(v) for v in variables]} alone. "
            f"Other variables: {sorted(symbol.name for symbol in others)}."
        )
    origin = dict.fromkeys(variables, 0.0)
    A = Evaluate(Jacobian(expressions, variables), origin) if len(variables) else np.zeros((len(nodes), 0))
    b = Evaluate(expressions, origin).ravel()
    return (A, b, variables) if vars is None else (A, b)


def DecomposeLinearExpressions(expressions: npt.ArrayLike, vars: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """The matrix M of expressions M vars, shape [len(expressions), len(vars)].

    Raises:
        RuntimeError: the expressions are not linear in vars.
    """
    M, constants = DecomposeAffineExpressions(expressions, vars)
    if np.any(constants):
        raise RuntimeError(
            f"DecomposeLinearExpressions: expected linear expressions, but there are constant terms "
            f"{constants.tolist()}. Use DecomposeAffineExpressions."
        )
    return M


def TaylorExpand(f: Expression, a: Mapping[Any, float], order: int) -> Expression:
    """Taylor polynomial of f at the point a, {Variable: number}, up to `order`, by the variables in a.

    Raises:
        ValueError: a negative order.
    """
    if order < 0:
        raise ValueError(f"TaylorExpand: expected an order >= 0, got {order}.")
    point = {symbol: number(value) for symbol, value in values_of(a).items()}
    total = Expression()
    # Terms of one order, {how often each variable was differentiated by: derivative}.
    derivatives: dict[tuple[int, ...], Any] = {(0,) * len(point): f._node}
    for degree in range(order + 1):
        for powers, derivative in derivatives.items():
            term = Expression._of(substituted(derivative, point, {}))
            for (symbol, origin), power in zip(point.items(), powers):
                for k in range(power):
                    term = term * Expression._of(symbol - origin) / (k + 1)
            total = total + term
        if degree < order:
            derivatives = _next_derivatives(derivatives, list(point))
    return total


def _next_derivatives(derivatives: dict[tuple[int, ...], Any], symbols: list[Any]) -> dict[Any, Any]:
    """All partial derivatives of one order more."""
    result = {}
    for powers, node in derivatives.items():
        for i, symbol in enumerate(symbols):
            raised = (*powers[:i], powers[i] + 1, *powers[i + 1 :])
            if raised not in result:
                result[raised] = differentiated(node, symbol, {})
    return result


@also_named(f="e", M="e")
def ToLatex(e: Any, precision: int = 3) -> str:
    """An expression, a formula or a matrix of expressions as LaTeX; floats with at most `precision` decimals."""
    if isinstance(e, (Term, Formula)):
        return printing.latex(e._node, precision)
    rows = _nodes(e, "ToLatex")
    lines = (" & ".join(printing.latex(node, precision) for node in row) for row in rows)
    return r"\begin{bmatrix} " + r" \\ ".join(lines) + r" \end{bmatrix}"
