"""Expressions and formulas as costs and constraints of the tightest class."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array, Objects, objects, vector
from merganser.framework.optimization.evaluators.cone_constraints import LorentzConeConstraint
from merganser.framework.optimization.evaluators.costs import L2NormCost, LinearCost, QuadraticCost
from merganser.framework.optimization.evaluators.function_evaluators import ExpressionConstraint, ExpressionCost
from merganser.framework.optimization.evaluators.linear_constraints import (
    BoundingBoxConstraint,
    LinearConstraint,
    LinearEqualityConstraint,
)
from merganser.framework.optimization.evaluators.quadratic_constraints import QuadraticConstraint
from merganser.framework.optimization.programs.binding import Binding
from merganser.framework.symbolic.decompositions import (
    DecomposeL2NormExpression,
    affine_form,
    is_affine,
    quadratic_form,
)
from merganser.framework.symbolic.expression import Expression, node_of
from merganser.framework.symbolic.formula import Formula, condition_of
from merganser.framework.symbolic.nodes import (
    FALSE,
    TRUE,
    And,
    Eq,
    Ge,
    Le,
    Number,
    Power,
    Relation,
    Sqrt,
    added,
    scaled,
    symbols_of,
    terms_of,
)
from merganser.framework.symbolic.printing import operands, text

_INDEX = operator.attrgetter("index")
_SIGNS = {Eq: "==", Le: "<=", Ge: ">="}


Rows = list[tuple[Any, Any]]  # of affine expressions: the constant, and slopes by symbols


def affine(expressions: Any, where: str) -> tuple[Array, Array, Objects]:
    """A, b and the variables of expressions A vars + b.

    The variables of an expression are in the order of their numbers, and those of the first come first.

    Raises:
        RuntimeError: they are not affine.
    """
    rows = _affine_rows(map(_tree, objects(expressions)))
    if rows is None:
        raise not_of_kind(expressions, "linear", where)
    A, variables = slopes_of(rows)
    return A, np.array([float(constant) for constant, _ in rows]), objects(variables)


def not_of_kind(expressions: Any, kind: str, where: str) -> RuntimeError:
    """The error that expressions are not linear, or not quadratic."""
    return RuntimeError(f"{where}: not {kind}: {', '.join(map(str, objects(expressions)))}.")


def _tree(e: Any) -> Any:
    node = node_of(e)
    if node is None:
        raise TypeError(f"MathematicalProgram: expected an expression, got {type(e).__name__}.")
    return node


def _affine_rows(nodes: Iterable[Any]) -> Rows | None:
    rows = []
    for node in nodes:
        form = affine_form(node)
        if form is None:
            return None
        rows.append(form)
    return rows


def slopes_of(rows: Rows) -> tuple[Array, list[Any]]:
    """The slopes, shape [m, n], and their variables."""
    places: dict[Any, int] = {}
    for _, slopes in rows:
        for symbol in sorted(slopes, key=_INDEX):
            places.setdefault(symbol, len(places))
    A = np.zeros((len(rows), len(places)))
    for i, (_, slopes) in enumerate(rows):
        for symbol, slope in slopes.items():
            A[i, places[symbol]] = slope
    return A, _variables(places)


def _variables(symbols: Iterable[Any]) -> list[Any]:
    return [symbol.variable for symbol in symbols]


def quadratic(e: Any, where: str) -> tuple[Array, Array, float, Objects]:
    """Q, b, c and the variables of an expression 0.5 vars'Q vars + b'vars + c.

    Raises:
        RuntimeError: it is not quadratic.
    """
    form = _quadratic(_tree(e))
    if form is None:
        raise not_of_kind(e, "quadratic", where)
    return form


def _quadratic(node: Any) -> tuple[Array, Array, float, Objects] | None:
    symbols = symbols_of(node)
    form = quadratic_form(node, dict(zip(symbols, range(len(symbols)))), len(symbols))
    return None if form is None else (*form, objects(_variables(symbols)))


def parsed_cost(e: Any) -> Binding:
    """A cost that is linear, quadratic, a length or general, as an expression is."""
    node = _tree(e)
    form = None if is_affine(node) else _quadratic(node)
    if form is not None and form[0].any():
        Q, slope, constant, variables = form
        return Binding(QuadraticCost(Q, slope, constant), variables)
    if affine_form(node) is not None:
        A, b, variables = affine([e], "MathematicalProgram")
        return Binding(LinearCost(A[0], b[0]), variables)
    is_norm, A, b, variables = DecomposeL2NormExpression(e)
    if is_norm:
        return Binding(L2NormCost(A, b), variables)
    cost = ExpressionCost(e)
    return Binding(cost, cost.vars())


def linear_constraint(expressions: Any, lower: Any, upper: Any) -> Binding | None:
    """Bounds on affine expressions: of single variables, as a box; None if they are not affine.

    Raises:
        RuntimeError: a constant is outside of its bounds.
    """
    nodes = [_tree(each) for each in objects(expressions)]
    low = vector(lower, "MathematicalProgram", "the lower bound", len(nodes)).tolist()
    high = vector(upper, "MathematicalProgram", "the upper bound", len(nodes)).tolist()
    return _linear_constraint(nodes, low, high)


def _linear_constraint(nodes: Sequence[Any], lower: list[float], upper: list[float]) -> Binding | None:
    rows, low, high, is_box = [], [], [], True
    for node, least, most in zip(nodes, lower, upper):
        form = affine_form(node)
        if form is None:
            return None
        constant, slopes = form
        if slopes:
            rows.append(form)
            low.append(least - constant)
            high.append(most - constant)
            is_box = is_box and len(slopes) == 1
        elif not least <= constant <= most:
            raise RuntimeError(
                f"MathematicalProgram: the constraint {least} <= {text(node)} <= {most} has no variables and never "
                "holds."
            )
    if not is_box:
        A, variables = slopes_of(rows)
        return Binding(LinearConstraint(A, low, high), variables)
    symbols = [next(iter(slopes)) for _, slopes in rows]
    factors = [float(slopes[symbol]) for symbol, (_, slopes) in zip(symbols, rows)]
    # A negative slope turns the bounds round.
    ends = [(a / c, b / c) if c > 0.0 else (b / c, a / c) for a, b, c in zip(low, high, factors)]
    return Binding(BoundingBoxConstraint([end for end, _ in ends], [end for _, end in ends]), _variables(symbols))


def parsed_constraint(expressions: Any, lower: Any, upper: Any) -> Binding:
    """Bounds on expressions: a linear constraint, a quadratic one or a general one."""
    linear = linear_constraint(expressions, lower, upper)
    return linear if linear is not None else _nonlinear(objects(expressions), lower, upper)


def _nonlinear(rows: Objects, lower: Any, upper: Any) -> Binding:
    form = _quadratic(_tree(rows[0])) if rows.size == 1 else None
    if form is not None:
        Q, b, c, variables = form
        low, high = np.ravel(lower)[0] - c, np.ravel(upper)[0] - c
        return Binding(QuadraticConstraint(Q, b, low, high), variables)
    constraint = ExpressionConstraint(rows, lower, upper)
    return Binding(constraint, constraint.vars())


def parsed_formulas(formulas: Any, **tolerances: float) -> Binding:
    """A constraint that a formula, a conjunction of relations or an array of relations gives.

    Args:
        formulas: one, or an array of them.
        tolerances: psd_tol and coefficient_tol, of lengths (DecomposeL2NormExpression).

    Raises:
        RuntimeError: a formula is always false, or no relation ==, <=, >=.
        TypeError: something is not a formula.
    """
    relations: list[Any] = []
    for formula in [formulas] if isinstance(formulas, Formula) else objects(formulas):
        if not isinstance(formula, Formula):
            raise TypeError(
                f"MathematicalProgram: expected a formula, got {type(formula).__name__}. Comparing arrays takes "
                "pydrake.math.ge, le and eq, or numpy.less_equal(a, b, dtype=object)."
            )
        node = condition_of(formula, "MathematicalProgram")
        for part in operands(node) if type(node) is And else [node]:
            if part is FALSE:
                raise RuntimeError("MathematicalProgram: a constraint is a formula that is always false.")
            if type(part) in _SIGNS:
                relations.append(part)
            elif part is not TRUE:
                raise RuntimeError(
                    f"MathematicalProgram: the formula {text(part)} is neither a relation ==, <= or >= nor a "
                    "conjunction (logical_and) of such relations."
                )
    if not relations:
        return Binding(BoundingBoxConstraint([], []), [])
    cone = _cone(relations[0], tolerances) if len(relations) == 1 else None
    return cone if cone is not None else _rows(relations)


def _rows(relations: Sequence[Relation]) -> Binding:
    rows: list[Any] = [relation.difference for relation in relations]
    if all(type(relation) is Eq for relation in relations):
        forms = _affine_rows(rows)
        if forms is not None:
            A, variables = slopes_of(forms)
            return Binding(LinearEqualityConstraint(A, [0.0 - float(b) for b, _ in forms]), variables)
    low = [-np.inf if type(relation) is Le else 0.0 for relation in relations]
    high = [np.inf if type(relation) is Ge else 0.0 for relation in relations]
    if len(rows) == 1 and type(relations[0]) is Ge:  # as pydrake has it: -f <= -bound
        rows, low, high = [scaled(rows[0], -1)], [-np.inf], [0.0]
    binding = _linear_constraint(rows, low, high)
    if binding is not None:
        return binding
    if len(rows) == 1 and type(relations[0]) is not Eq:
        constant = terms_of(rows[0])[0]
        rows, low, high = [added(rows[0], Number(constant), -1)], [low[0] - constant], [high[0] - constant]
    return _nonlinear(objects(list(map(Expression._of, rows))), low, high)


def _cone(relation: Relation, tolerances: dict[str, float]) -> Binding | None:
    """A length that is at most an affine expression."""
    small, great = relation.parts if type(relation) is Le else relation.parts[::-1]
    if type(relation) is Eq or type(small) not in (Sqrt, Power):
        return None
    is_norm, A, b, variables = DecomposeL2NormExpression(Expression._of(small), **tolerances)
    rows = _affine_rows([great]) if is_norm else None
    if rows is None:
        return None
    # As pydrake has it: variables of both sides have two columns.
    slope, others = slopes_of(rows)
    rows_of = np.block([[slope, np.zeros((1, variables.size))], [np.zeros((len(b), len(others))), A]])
    return Binding(LorentzConeConstraint(rows_of, [float(rows[0][0]), *b]), [*others, *variables])


def lorentz(bound: tuple[Array, Array, Objects], A: Array, b: Array, variables: Objects) -> Binding:
    """|A variables + b| <= bound, as a cone."""
    slope, constant, others = bound
    everything = list(dict.fromkeys([*others, *variables]))
    places = {variable: i for i, variable in enumerate(everything)}
    rows = np.zeros((1 + len(b), len(everything)))
    rows[0, [places[v] for v in others]] = slope[0]
    rows[1:, [places[v] for v in variables]] = A
    return Binding(LorentzConeConstraint(rows, np.concatenate((constant, b))), everything)
