"""Functions of arrays of expressions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.core.system.random_values import RandomGenerator
from merganser.framework.symbolic.expression import Expression, Term, node_of, symbol_of
from merganser.framework.symbolic.formula import Formula, replacements_of, values_of
from merganser.framework.symbolic.nodes import added, factors_of, is_number, number, symbols_of, terms_of
from merganser.framework.symbolic.polynomial import Polynomial, as_polynomial
from merganser.framework.symbolic.printing import Latex
from merganser.framework.symbolic.sin_cos import SinCos, substitute_sin_cos
from merganser.framework.symbolic.trees import differentiated, evaluated, expanded, substituted
from merganser.framework.symbolic.variables import Variables


def nodes_of(matrix: npt.ArrayLike, where: str) -> npt.NDArray[Any]:
    """The trees of the entries, shape [m, n]; a vector is a column."""
    entries = np.asarray(matrix, dtype=object)
    if entries.ndim not in (1, 2):
        raise TypeError(f"{where}: expected a vector or a matrix, got an array of shape {entries.shape}.")
    nodes = np.empty(entries.shape, dtype=object)
    for index, entry in np.ndenumerate(entries):
        nodes[index] = node_of(entry)
        if nodes[index] is None:
            raise TypeError(f"{where}: entry {index} is not an expression but {type(entry).__name__}.")
    return nodes.reshape(-1, 1) if nodes.ndim == 1 else nodes


def _of_polynomials(matrix: Any, function: Callable[[Polynomial], Any]) -> Any:
    """The matrix with a function applied to its entries that are Polynomials."""
    entries = np.asarray(matrix, dtype=object)
    if not any(isinstance(entry, Polynomial) for entry in entries.flat):
        return matrix
    return np.vectorize(lambda x: function(x) if isinstance(x, Polynomial) else x, otypes=[object])(entries)


def Evaluate(
    m: npt.ArrayLike, env: Mapping[Any, float] | None = None, generator: RandomGenerator | None = None
) -> npt.NDArray[np.float64]:
    """Values of a matrix of expressions; subexpressions that entries share are computed once.

    Args:
        m: expressions, or Polynomials, shape [m, n] or [m].
        env: values of their variables, {Variable: number}.
        generator: draws values of random variables that have none there.

    Returns:
        Shape [m, n]; [m, 1] for a vector.

    Raises:
        RuntimeError: a variable without a value, a NaN, or a division by zero.
        ValueError: an argument outside of the domain of a function.
    """
    nodes = nodes_of(_of_polynomials(m, Polynomial.ToExpression), "Evaluate")
    memo: dict[Any, Any] = {}
    values = values_of(env, generator, nodes.flat)
    result = np.empty(nodes.shape)
    for index, node in np.ndenumerate(nodes):
        result[index] = evaluated(node, values, memo)
    return result


def Substitute(m: Any = None, subst: Any = None, e: Any = None, *, var: Any = None, subs: Any = None) -> Any:
    """A matrix of expressions with others for variables.

    Args:
        m: expressions, shape [m, n] or [m]; or one expression.
        subst: {Variable: expression}, or one variable and then e; or {Variable: SinCos}, for sines and cosines.
        e: the expression for that one variable; without m, the one expression in which is substituted.
        var, subs: other names of subst.

    Returns:
        Objects, shape [m, n] ([m, 1] for a vector); or one expression.
    """
    m, e = (e, None) if m is None else (m, e)
    subst = next((each for each in (subst, var, subs) if each is not None), {})
    memo: dict[Any, Any] = {}
    replaced: Callable[..., Any] = substituted
    if isinstance(subst, Mapping) and any(isinstance(value, SinCos) for value in subst.values()):
        replaced = substitute_sin_cos
        replacements: Any = {symbol_of(variable, "Substitute"): pair for variable, pair in subst.items()}
    else:
        replacements = replacements_of(subst, e)
    if isinstance(m, Term):
        return Expression._of(replaced(m._node, replacements, memo))
    nodes = nodes_of(m, "Substitute")
    for index, node in np.ndenumerate(nodes):
        nodes[index] = Expression._of(replaced(node, replacements, memo))
    return nodes


def Jacobian(f: npt.ArrayLike, vars: npt.ArrayLike) -> npt.NDArray[Any]:
    """Partial derivatives of a vector of expressions, or of Polynomials, shape [len(f), len(vars)]."""
    if any(isinstance(entry, Polynomial) for entry in np.ravel(np.asarray(f, dtype=object))):
        return np.array([as_polynomial(entry).Jacobian(np.ravel(vars)) for entry in np.ravel(f)], dtype=object)
    rows = nodes_of(f, "Jacobian").ravel()
    result = np.empty((rows.size, np.size(vars)), dtype=object)
    for j, variable in enumerate(np.ravel(np.asarray(vars, dtype=object))):
        symbol, memo = symbol_of(variable, "Jacobian"), {}  # type: ignore[var-annotated]
        for i, node in enumerate(rows):
            result[i, j] = Expression._of(differentiated(node, symbol, memo))
    return result


def GetVariableVector(expressions: npt.ArrayLike) -> npt.NDArray[Any]:
    """All variables of the expressions, in the order in which they were made; objects, shape [n]."""
    symbols = symbols_of(*nodes_of(expressions, "GetVariableVector").ravel())
    return np.array([symbol.variable for symbol in symbols], dtype=object)


def IsAffine(m: npt.ArrayLike, vars: Iterable[Any] | None = None) -> bool:
    """Whether all entries are affine in `vars`; by default, in all variables that occur."""
    nodes = nodes_of(m, "IsAffine").ravel()
    symbols = set(symbols_of(*nodes)) if vars is None else {v._node for v in Variables(vars)}
    memo: dict[Any, Any] = {}
    for node in nodes:
        for term in terms_of(expanded(node, memo))[1]:
            inside = [(base, power) for base, power in factors_of(term).items() if symbols & set(symbols_of(base))]
            if inside and (len(inside) > 1 or inside[0][0] not in symbols or inside[0][1] > 1):
                return False
    return True


def TaylorExpand(f: Expression, a: Mapping[Any, float], order: int) -> Expression:
    """Taylor polynomial of f at the point a, {Variable: number}, up to `order`, by the variables in a.

    Raises:
        ValueError: a negative order.
    """
    if order < 0:
        raise ValueError(f"TaylorExpand: expected an order >= 0, got {order}.")
    point = {symbol: number(value) for symbol, value in values_of(a).items()}
    total = Expression()
    derivatives: dict[tuple[Any, ...], Any] = {(): f._node}  # by the symbols that f was differentiated by
    for degree in range(order + 1):
        for chosen in itertools.combinations_with_replacement(point, degree):
            if chosen:
                derivatives[chosen] = differentiated(derivatives[chosen[:-1]], chosen[-1], {})
            term = Expression._of(substituted(derivatives[chosen], point, {}))
            for k, symbol in enumerate(chosen):
                term = term * Expression._of(added(symbol, point[symbol], -1)) / chosen[: k + 1].count(symbol)
            total = total + term
    return total


@also_named(f="e", M="e")
def ToLatex(e: Any, precision: int = 3) -> str:
    """An expression, a formula, a number or a matrix as LaTeX; numbers that are not whole with `precision` decimals."""
    text = Latex(precision).of
    if isinstance(e, (Term, Formula)):
        return text(e._node)
    if is_number(e):
        return text(number(e))
    lines = (" & ".join(map(text, row)) for row in nodes_of(e, "ToLatex"))
    return r"\begin{bmatrix} " + r" \\ ".join(lines) + r" \end{bmatrix}"
