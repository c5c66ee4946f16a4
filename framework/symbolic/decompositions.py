"""Expressions taken apart: affine, quadratic, norms, bilinear terms, parameters that come in lumps."""

from __future__ import annotations

__all__ = [
    "DecomposeAffineExpression",
    "DecomposeAffineExpressions",
    "DecomposeL2NormExpression",
    "DecomposeLinearExpressions",
    "DecomposeLumpedParameters",
    "DecomposeQuadraticPolynomial",
    "ExtractVariablesFromExpression",
    "ReplaceBilinearTerms",
]

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.symbolic._sympy import sympy
from merganser.framework.symbolic.expression import Expression, symbol_of
from merganser.framework.symbolic.matrices import Evaluate, GetVariableVector, IsAffine, Jacobian, nodes_of
from merganser.framework.symbolic.monomial import Monomial
from merganser.framework.symbolic.nodes import is_zero
from merganser.framework.symbolic.polynomial import Polynomial
from merganser.framework.symbolic.printing import place
from merganser.framework.symbolic.trees import postorder, printable, symbols_of
from merganser.framework.symbolic.variable import Variable

Array = npt.NDArray[np.float64]


@also_named(v="expressions")
def DecomposeAffineExpressions(expressions: npt.ArrayLike, vars: npt.ArrayLike | None = None) -> Any:
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
    nodes = nodes_of(expressions, "DecomposeAffineExpressions").ravel()
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


@also_named(expressions="e")
def ExtractVariablesFromExpression(e: Any) -> tuple[npt.NDArray[Any], dict[int, int]]:
    """The variables of an expression, or of an array of them, and the place of each by its number.

    Returns:
        Variables, shape [n], and {variable.get_id(): index}.
    """
    variables = GetVariableVector(e if np.ndim(e) else [e])
    return variables, {variable.get_id(): i for i, variable in enumerate(variables)}


def DecomposeAffineExpression(e: Any, map_var_to_index: Mapping[int, int]) -> tuple[Array, float]:
    """The slopes and the constant of an affine expression.

    Args:
        e: the expression.
        map_var_to_index: the place of each variable, {variable.get_id(): index}.

    Returns:
        Slopes, shape [len(map_var_to_index)], and the constant.

    Raises:
        RuntimeError: it is not affine.
        KeyError: a variable has no place.
    """
    variables = GetVariableVector([e])
    A, b = DecomposeAffineExpressions([e], variables)
    slopes = np.zeros(len(map_var_to_index))
    for variable, slope in zip(variables, A[0]):
        if slope == 0.0:
            continue
        if variable.get_id() not in map_var_to_index:
            raise KeyError(f"DecomposeAffineExpression: map_var_to_index has no place for {variable}.")
        slopes[map_var_to_index[variable.get_id()]] += slope
    return slopes, float(b[0])


def DecomposeQuadraticPolynomial(poly: Polynomial, map_var_to_index: Mapping[int, int]) -> tuple[Array, Array, float]:
    """Q, b and c of a polynomial 0.5 x'Q x + b'x + c.

    Args:
        poly: of a degree up to 2, with numbers as coefficients.
        map_var_to_index: the place of each variable in x, {variable.get_id(): index}.

    Returns:
        Q, shape [n, n], symmetric; b, shape [n]; c.

    Raises:
        RuntimeError: the degree is higher, or a coefficient is no number.
    """
    n = len(map_var_to_index)
    Q, b, c = np.zeros((n, n)), np.zeros(n), 0.0
    for monomial, coefficient in poly.monomial_to_coefficient_map().items():
        if monomial.total_degree() > 2 or not coefficient._node.is_Number:
            raise RuntimeError(
                f"DecomposeQuadraticPolynomial: {coefficient}*{monomial} is no number times a product of at most two "
                "variables."
            )
        value = float(coefficient._node)
        places = [map_var_to_index[v.get_id()] for v, power in monomial.get_powers().items() for _ in range(power)]
        if len(places) == 2:
            i, j = places
            Q[i, j] += value
            Q[j, i] += value
        elif places:
            b[places[0]] += value
        else:
            c += value
    return Q, b, c


def DecomposeL2NormExpression(
    e: Any, psd_tol: float = 1e-8, coefficient_tol: float = 1e-8
) -> tuple[bool, Array, Array, npt.NDArray[Any]]:
    """A, b and x of an expression |A x + b|, the square root of a quadratic form.

    Args:
        e: the expression.
        psd_tol: eigenvalues up to this count as 0; less than its negative, there is no such form.
        coefficient_tol: by how much the coefficients of |A x + b|^2 may differ from those under the root.

    Returns:
        Whether there is such a form; A, shape [m, n]; b, shape [m]; the variables x, shape [n]. All empty if not.
    """
    nothing = (False, np.zeros((0, 0)), np.zeros(0), np.empty(0, dtype=object))
    node = Expression(e)._node
    if not (node.is_Pow and node.exp == sympy.S.Half):
        return nothing
    radicand = Expression._of(node.base)
    try:
        polynomial = Polynomial(radicand)
        variables, places = ExtractVariablesFromExpression(radicand)
        Q, slope, constant = DecomposeQuadraticPolynomial(polynomial, places)
    except RuntimeError:
        return nothing
    # |A x + b|^2 = x'A'A x + 2 b'A x + b'b
    eigenvalues, vectors = np.linalg.eigh(Q / 2.0)
    if eigenvalues.min(initial=0.0) < -psd_tol or not (eigenvalues > psd_tol).any():
        return nothing
    A = _rows(Q / 2.0, eigenvalues, vectors, psd_tol)
    b = np.linalg.lstsq(A.T, slope / 2.0, rcond=None)[0].astype(np.float64)
    deviations = (A.T @ A - Q / 2.0, 2.0 * A.T @ b - slope, b @ b - constant)
    if max(np.abs(deviation).max() for deviation in deviations) > coefficient_tol:
        return nothing
    return True, A, b, variables


def _rows(form: Array, eigenvalues: Array, vectors: Array, tolerance: float) -> Array:
    """A with A'A = form: triangular if the form is definite, else as many rows as it has rank."""
    if eigenvalues.min() > tolerance:
        return np.asarray(np.linalg.cholesky(form).T)
    kept = eigenvalues > tolerance
    return np.asarray((vectors[:, kept] * np.sqrt(eigenvalues[kept])).T)


def DecomposeLumpedParameters(
    f: npt.ArrayLike, parameters: npt.ArrayLike
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
    """W, alpha and w0 of expressions f = W(n) alpha(parameters) + w0(n), where n are all other variables.

    Args:
        f: expressions, shape [m].
        parameters: variables.

    Returns:
        W, shape [m, k]; alpha, shape [k]; w0, shape [m].

    Raises:
        RuntimeError: parameters and other variables are joined by other than sums and products.
    """
    symbols = {symbol_of(parameter, "DecomposeLumpedParameters") for parameter in np.ravel(np.asarray(parameters))}
    memo: dict[Any, Any] = {}
    rows = [_lumps(node, symbols, memo) for node in nodes_of(f, "DecomposeLumpedParameters").ravel()]
    lumps = sorted({lump for row in rows for lump in row} - {sympy.S.One}, key=place)
    W = np.empty((len(rows), len(lumps)), dtype=object)
    for i, row in enumerate(rows):
        W[i, :] = [Expression._of(row.get(lump, sympy.S.Zero)) for lump in lumps]
    alpha = np.array([Expression._of(lump) for lump in lumps], dtype=object)
    w0 = np.array([Expression._of(row.get(sympy.S.One, sympy.S.Zero)) for row in rows], dtype=object)
    return W, alpha, w0


def _lumps(root: Any, parameters: set[Any], memo: dict[Any, Any]) -> dict[Any, Any]:
    """What is multiplied with each product of parameters, or with 1."""
    for node in postorder(root, memo, lazy=False):
        inside = set(symbols_of(node))
        if not inside & parameters:
            memo[node] = {sympy.S.One: node}
        elif inside <= parameters:
            factor, lump = node.as_coeff_Mul()
            memo[node] = {lump: factor}
        elif node.func is sympy.Add:
            memo[node] = _added([memo[term] for term in node.args])
        elif node.func is sympy.Mul or (node.is_Pow and node.exp.is_Integer and node.exp > 0):
            factors = [memo[node.base]] * int(node.exp) if node.is_Pow else [memo[factor] for factor in node.args]
            memo[node] = _multiplied(factors)
        else:
            memo[node] = None
        if memo[node] is None:
            raise RuntimeError(
                f"DecomposeLumpedParameters: {printable(node)} depends on parameters and on other variables, and is "
                "neither a sum nor a product."
            )
    return memo[root]


def _added(parts: list[dict[Any, Any]]) -> dict[Any, Any]:
    total: dict[Any, Any] = {}
    for part in parts:
        for lump, data in part.items():
            total[lump] = sympy.Add(total.get(lump, sympy.S.Zero), data)
    return {lump: data for lump, data in total.items() if not is_zero(data)}


def _multiplied(factors: list[dict[Any, Any]]) -> dict[Any, Any]:
    result = {sympy.S.One: sympy.S.One}
    for factor in factors:
        pairs = itertools.product(result.items(), factor.items())
        result = _added([{sympy.Mul(lump, other): sympy.Mul(data, more)} for (lump, data), (other, more) in pairs])
    return result


def ReplaceBilinearTerms(e: Any, x: npt.ArrayLike, y: npt.ArrayLike, W: npt.ArrayLike) -> Expression:
    """The expression with W[i, j] for every product of x[i] and y[j].

    Args:
        e: the expression, a polynomial in x and y.
        x, y: variables, shapes [m] and [n].
        W: expressions without variables of x and y, shape [m, n].

    Raises:
        RuntimeError: a variable is in x, or in y, twice; an entry of W has one of them; a term is of a degree beyond 2
            in them, or a product of two that are not one of x and one of y.
    """
    columns = [np.ravel(np.asarray(each, dtype=object)).tolist() for each in (x, y)]
    entries = np.atleast_2d(np.asarray(W, dtype=object))
    _check_bilinear(columns, entries)
    both = {variable: None for column in columns for variable in column}
    polynomial = Polynomial(e, list(both))
    total = Expression()
    for monomial, coefficient in polynomial.monomial_to_coefficient_map().items():
        total = total + coefficient * _replaced(monomial, columns, entries)
    return total


def _check_bilinear(columns: list[list[Variable]], entries: npt.NDArray[Any]) -> None:
    if entries.shape != (len(columns[0]), len(columns[1])):
        sizes = " and ".join(str(len(column)) for column in columns)
        raise ValueError(f"ReplaceBilinearTerms: x and y have {sizes} variables, and W the shape {entries.shape}.")
    for column in columns:
        if len(set(column)) < len(column):
            raise RuntimeError(f"ReplaceBilinearTerms: a variable is twice among {list(map(str, column))}.")
    known = {variable for column in columns for variable in column}
    for index, entry in np.ndenumerate(entries):
        if any(variable in known for variable in Expression(entry).GetVariables()):
            raise RuntimeError(f"ReplaceBilinearTerms: W{list(index)} = {entry} has variables of x or y.")


def _replaced(monomial: Monomial, columns: list[list[Variable]], entries: npt.NDArray[Any]) -> Any:
    factors = [variable for variable, power in monomial.get_powers().items() for _ in range(power)]
    if len(factors) < 2:
        return math.prod(factors, start=Expression(1.0))
    if len(factors) == 2:
        rows, columns_of = ({variable: i for i, variable in enumerate(column)} for column in columns)
        for first, second in (factors, factors[::-1]):
            if first in rows and second in columns_of:
                return entries[rows[first], columns_of[second]]
    raise RuntimeError(f"ReplaceBilinearTerms: {monomial} is no product of a variable of x and one of y.")
