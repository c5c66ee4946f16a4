"""Expressions taken apart: affine, quadratic, norms, bilinear terms, parameters that come in lumps."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.symbolic import nodes as n
from merganser.framework.symbolic.expression import Expression, symbol_of
from merganser.framework.symbolic.matrices import nodes_of
from merganser.framework.symbolic.monomial import Monomial
from merganser.framework.symbolic.polynomial import Polynomial
from merganser.framework.symbolic.printing import place, printable
from merganser.framework.symbolic.trees import expanded
from merganser.framework.symbolic.variable import Variable

Array = npt.NDArray[np.float64]

_ROUNDING = 1e-10  # of numbers of size 1, after an elimination


@also_named(v="expressions")
def DecomposeAffineExpressions(expressions: npt.ArrayLike, vars: npt.ArrayLike | None = None) -> Any:
    """A and b of expressions A vars + b.

    Args:
        expressions: shape [m]; by the name `v`, where vars are left out.
        vars: variables, shape [n]; by default all that occur, those of the first expression first.

    Returns:
        A, shape [m, n], and b, shape [m]; and the variables, if they were left out.

    Raises:
        RuntimeError: the expressions are not affine in vars, or have other variables.
    """
    nodes = nodes_of(expressions, "DecomposeAffineExpressions").ravel()
    variables = _as_met(nodes) if vars is None else np.ravel(np.asarray(vars, dtype=object))
    places = {symbol_of(v, "DecomposeAffineExpressions"): j for j, v in enumerate(variables)}
    forms = [affine_form(node) for node in nodes]
    if None in forms or any(symbol not in places for _, slopes in filter(None, forms) for symbol in slopes):
        others = set(n.symbols_of(*nodes)) - places.keys()
        raise RuntimeError(
            f"DecomposeAffineExpressions: the expressions are not affine in {[str(v) for v in variables]} alone. "
            f"Other variables: {sorted(symbol.name for symbol in others)}."
        )
    A, b = np.zeros((len(nodes), len(variables))), np.zeros(len(nodes))
    for i, (constant, slopes) in enumerate(filter(None, forms)):
        b[i] = constant
        for symbol, slope in slopes.items():
            A[i, places[symbol]] = slope
    return (A, b, variables) if vars is None else (A, b)


def affine_form(node: Any) -> tuple[Any, Mapping[n.Symbol, Any]] | None:
    """The constant of an affine tree and its slopes by symbols; None of others."""
    if not is_affine(node):
        node = expanded(node)
        if not is_affine(node):
            return None
    return n.terms_of(node)


def is_affine(node: Any) -> bool:
    """Whether a tree is written as a sum of multiples of symbols."""
    return set(map(type, n.terms_of(node)[1])) <= {n.Symbol}


def quadratic_form(node: Any, places: Mapping[Any, int], size: int) -> tuple[Array, Array, float] | None:
    """Q, b and c of a tree 0.5 x'Q x + b'x + c, given the place of each symbol in x; None of others."""
    constant, terms = n.terms_of(node)
    Q, b, c = np.zeros((size, size)), np.zeros(size), float(constant)
    for term, factor in terms.items():
        if term in places:
            b[places[term]] += factor
        elif type(term) is n.Product and term.degree == 2 and term.factors.keys() <= places.keys():
            i, *others = map(places.__getitem__, term.factors)
            j = others[0] if others else i
            Q[i, j] += factor
            Q[j, i] += factor
        else:
            forms = [_vector(base, places, size) for base, power in n.factors_of(term).items() for _ in range(power)]
            if len(forms) != 2 or any(form is None for form in forms):
                whole = expanded(node)
                return None if whole is node else quadratic_form(whole, places, size)
            # (c_u + u'x) (c_v + v'x)
            (c_u, u), (c_v, v) = filter(None, forms)
            Q += float(factor) * (np.outer(u, v) + np.outer(v, u))
            b += float(factor) * (c_u * v + c_v * u)
            c += float(factor) * c_u * c_v
    return Q, b, c


def _vector(node: Any, places: Mapping[Any, int], size: int) -> tuple[float, Array] | None:
    """The constant and the slopes of a tree that is written as an affine one; None of others."""
    constant, terms = n.terms_of(node)
    if not terms.keys() <= places.keys():
        return None
    slopes = np.zeros(size)
    for symbol, slope in terms.items():
        slopes[places[symbol]] = slope
    return float(constant), slopes


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

    Those of one expression are in the order of their numbers, and those of the first expression come first.

    Returns:
        Variables, shape [n], and {variable.get_id(): index}.
    """
    variables = _as_met(nodes_of(e if np.ndim(e) else [e], "ExtractVariablesFromExpression").ravel("F"))
    return variables, {variable.get_id(): i for i, variable in enumerate(variables)}


def _as_met(nodes: Iterable[Any]) -> npt.NDArray[Any]:
    symbols = dict.fromkeys(symbol for node in nodes for symbol in n.symbols_of(node))
    return np.array([symbol.variable for symbol in symbols], dtype=object)


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
    form = affine_form(Expression(e)._node)
    if form is None:
        raise RuntimeError(f"DecomposeAffineExpression: {e} is not affine.")
    slopes = np.zeros(len(map_var_to_index))
    for symbol, slope in form[1].items():
        if symbol.variable.get_id() not in map_var_to_index:
            raise KeyError(f"DecomposeAffineExpression: map_var_to_index has no place for {symbol.name}.")
        slopes[map_var_to_index[symbol.variable.get_id()]] += slope
    return slopes, float(form[0])


def DecomposeQuadraticPolynomial(poly: Polynomial, map_var_to_index: Mapping[int, int]) -> tuple[Array, Array, float]:
    """Q, b and c of a polynomial 0.5 x'Q x + b'x + c.

    Args:
        poly: of a degree up to 2, with numbers as coefficients.
        map_var_to_index: the place of each variable in x, {variable.get_id(): index}.

    Returns:
        Q, shape [n, n], symmetric; b, shape [n]; c.

    Raises:
        RuntimeError: the degree is higher, or a coefficient is not a number.
    """
    places = {v._node: map_var_to_index[v.get_id()] for v in poly.indeterminates()}
    form = quadratic_form(poly.ToExpression()._node, places, len(map_var_to_index))
    if form is None:
        raise RuntimeError(
            f"DecomposeQuadraticPolynomial: {poly} has a coefficient that is not a number, or a monomial that is not a "
            "product of at most two variables."
        )
    return form


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
    if not (isinstance(node, n.Sqrt) or (isinstance(node, n.Power) and node.parts[1] == n.Number(0.5))):
        return nothing
    symbols = n.symbols_of(node.parts[0])
    form = quadratic_form(node.parts[0], {symbol: i for i, symbol in enumerate(symbols)}, len(symbols))
    if form is None:
        return nothing
    Q, slope, constant = form
    # |A x + b|^2 = x'A'A x + 2 b'A x + b'b
    eigenvalues, vectors = np.linalg.eigh(Q / 2.0)
    if eigenvalues.min(initial=0.0) < -psd_tol or not (eigenvalues > psd_tol).any():
        return nothing
    A = _rows(Q / 2.0, eigenvalues, vectors, psd_tol)
    b = np.linalg.lstsq(A.T, slope / 2.0, rcond=None)[0].astype(np.float64)
    deviations = (A.T @ A - Q / 2.0, 2.0 * A.T @ b - slope, b @ b - constant)
    if max(np.abs(deviation).max() for deviation in deviations) > coefficient_tol:
        return nothing
    return True, A, b, _as_met(node.parts[:1])


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

    No column of W is a sum of multiples of others: parameters that act only together, as in (m1 + m2) n, are one lump.

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
    lumps = sorted({lump for row in rows for lump in row} - {n.ONE}, key=place)
    pivots, multiples = _independent(rows, lumps)
    W = np.empty((len(rows), len(pivots)), dtype=object)
    for i, row in enumerate(rows):
        W[i, :] = [Expression._of(row.get(lumps[j], n.ZERO)) for j in pivots]
    parts = [[Expression._of(lump) * c for c, lump in zip(each, lumps) if c] for each in multiples]
    alpha = np.array([sum(terms[1:], start=terms[0]) for terms in parts], dtype=object)
    w0 = np.array([Expression._of(row.get(n.ONE, n.ZERO)) for row in rows], dtype=object)
    return W, alpha, w0


def _independent(rows: list[dict[Any, Any]], lumps: list[Any]) -> tuple[list[int], Array]:
    """Lumps whose coefficients are independent functions, and the multiples of all lumps that act with each of them.

    With T[k, j], the number of times that lump j has the coefficient function k, its reduced row echelon form R has
    T = T[:, pivots] R, so that f = W[:, pivots] (R lumps).
    """
    places: dict[tuple[int, Any], int] = {}
    entries = []
    for i, row in enumerate(rows):
        for j, lump in enumerate(lumps):
            constant, terms = n.terms_of(expanded(row.get(lump, n.ZERO)))
            for function, factor in [*terms.items(), *([(n.ONE, constant)] if constant else [])]:
                entries.append((places.setdefault((i, function), len(places)), j, float(factor)))
    T = np.zeros((len(places), len(lumps)))
    for k, j, factor in entries:
        T[k, j] += factor
    T /= np.maximum(np.abs(T).max(axis=1, initial=0.0, keepdims=True), np.finfo(float).tiny)
    pivots: list[int] = []
    for j in range(len(lumps)):
        rest = T[len(pivots) :]
        if np.abs(rest[:, j]).max(initial=0.0) <= _ROUNDING:
            continue
        k, top = len(pivots) + int(np.abs(rest[:, j]).argmax()), len(pivots)
        T[[top, k]] = T[[k, top]]
        T[top] /= T[top, j]
        others = np.arange(len(T)) != top
        T[others] -= np.outer(T[others, j], T[top])
        pivots.append(j)
    R = T[: len(pivots)]
    return pivots, np.where(np.abs(R) <= _ROUNDING, 0.0, R)


def _lumps(root: Any, parameters: set[Any], memo: dict[Any, Any]) -> dict[Any, Any]:
    """The factor of each product of parameters, or of 1."""
    for node in n.postorder(root, memo, lazy=False):
        inside = set(n.symbols_of(node))
        if not inside & parameters:
            memo[node] = {n.ONE: node}
        elif type(node) is n.Sum:
            terms = [{lump: n.scaled(data, c) for lump, data in memo[term].items()} for term, c in node.terms.items()]
            memo[node] = _added([*terms, {n.ONE: n.Number(node.constant)}])
        elif type(node) is n.Product:
            factors = [memo[base] for base, power in node.factors.items() for _ in range(power)]
            result: dict[Any, Any] = {n.ONE: n.ONE}
            for factor in factors:
                pairs = itertools.product(result.items(), factor.items())
                result = _added(
                    [{n.multiplied(lump, other): n.multiplied(data, more)} for (lump, data), (other, more) in pairs]
                )
            memo[node] = result
        elif inside <= parameters:
            memo[node] = {node: n.ONE}
        else:
            raise RuntimeError(
                f"DecomposeLumpedParameters: {printable(node)} depends on parameters and on other variables, and is "
                "neither a sum nor a product."
            )
    return memo[root]


def _added(parts: list[dict[Any, Any]]) -> dict[Any, Any]:
    total: dict[Any, Any] = {}
    for part in parts:
        for lump, data in part.items():
            total[lump] = n.added(total.get(lump, n.ZERO), data)
    return {lump: data for lump, data in total.items() if not n.is_zero(data)}


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
    raise RuntimeError(f"ReplaceBilinearTerms: {monomial} is not a product of a variable of x and one of y.")
