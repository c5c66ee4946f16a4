"""Expressions and formulas as costs and constraints of the tightest class."""

from __future__ import annotations

__all__ = ["affine", "linear_constraint", "parsed_constraint", "parsed_cost", "parsed_formulas", "quadratic"]

from collections.abc import Sequence
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


def affine(expressions: Any) -> tuple[Array, Array, Objects] | None:
    """A, b and the variables of expressions A vars + b; None if they are not affine.

    The variables stand in the order in which they are met.
    """
    places: dict[Any, int] = {}
    rows: list[dict[int, float]] = []
    constants = []
    for each in objects(expressions):
        terms = _linear_terms(each)
        if terms is None:
            return None
        constants.append(terms.pop(None, 0.0))
        rows.append({places.setdefault(variable, len(places)): slope for variable, slope in terms.items()})
    A = np.zeros((len(rows), len(places)))
    for i, row in enumerate(rows):
        A[i, list(row)] = list(row.values())
    return A, np.array(constants), objects(list(places))


def _linear_terms(e: Any) -> dict[Any, float] | None:
    """Slopes by variables, and the constant under None."""
    from merganser.framework.symbolic.expression import node_of

    node = node_of(e)
    if node is None:
        raise TypeError(f"MathematicalProgram: expected an expression, got {type(e).__name__}.")
    terms = _terms_of(node)
    return _terms_of(node.expand()) if terms is None else terms


def _terms_of(node: Any) -> dict[Any, float] | None:
    from merganser.framework.symbolic.nodes import Symbol

    result: dict[Any, float] = {}
    for term in node.args if node.is_Add else (node,):
        factor, rest = term.as_coeff_Mul()
        if isinstance(rest, Symbol):
            key = rest.variable
        elif rest.free_symbols or not term.is_number:
            return None
        else:
            key, factor = None, term
        result[key] = result.get(key, 0.0) + float(factor)
    return result


def quadratic(e: Any) -> tuple[Array, Array, float, Objects] | None:
    """Q, b, c and the variables of 0.5 vars'Q vars + b'vars + c; None if the expression is not quadratic."""
    from merganser.framework.symbolic import DecomposeQuadraticPolynomial, Expression, Polynomial

    expression = Expression(e)
    if not expression.is_polynomial():
        return None
    polynomial = Polynomial(expression)
    if polynomial.TotalDegree() > 2:
        return None
    variables = objects(list(expression.GetVariables()))
    Q, b, c = DecomposeQuadraticPolynomial(polynomial, {v.get_id(): i for i, v in enumerate(variables)})
    return Q, b, c, variables


def parsed_cost(e: Any) -> Binding:
    """A cost that is linear, quadratic, a length or general, as an expression is."""
    from merganser.framework.symbolic import DecomposeL2NormExpression

    linear = affine([e])
    if linear is not None:
        A, b, variables = linear
        return Binding(LinearCost(A[0], b[0]), variables)
    form = quadratic(e)
    if form is not None:
        Q, slope, constant, variables = form
        return Binding(QuadraticCost(Q, slope, constant), variables)
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
    parts = affine(expressions)
    if parts is None:
        return None
    A, b, variables = parts
    low = vector(lower, "MathematicalProgram", "the lower bound", len(b)) - b
    high = vector(upper, "MathematicalProgram", "the upper bound", len(b)) - b
    has_variable = A.any(axis=1)
    for i in np.flatnonzero(~has_variable):
        if not low[i] <= 0.0 <= high[i]:
            raise RuntimeError(
                f"MathematicalProgram: the constraint {low[i] + b[i]} <= {objects(expressions)[i]} <= {high[i] + b[i]} "
                "has no variables and never holds."
            )
    A, low, high = A[has_variable], low[has_variable], high[has_variable]
    if (np.count_nonzero(A, axis=1) != 1).any():
        return Binding(LinearConstraint(A, low, high), variables)
    columns = np.argmax(A != 0.0, axis=1)
    slopes = A[np.arange(len(columns)), columns]
    ends = np.sort(np.array([low, high]) / slopes, axis=0)  # a negative slope turns the bounds round
    return Binding(BoundingBoxConstraint(ends[0], ends[1]), variables[columns])


def parsed_constraint(expressions: Any, lower: Any, upper: Any) -> Binding:
    """Bounds on expressions: a linear constraint, a quadratic one or a general one."""
    linear = linear_constraint(expressions, lower, upper)
    if linear is not None:
        return linear
    rows = objects(expressions)
    form = quadratic(rows[0]) if rows.size == 1 else None
    if form is not None:
        Q, b, c, variables = form
        low, high = np.ravel(lower)[0] - c, np.ravel(upper)[0] - c
        return Binding(QuadraticConstraint(Q, b, low, high), variables)
    constraint = ExpressionConstraint(rows, lower, upper)
    return Binding(constraint, constraint.vars())


def _sides(formula: Any) -> tuple[str, Any, Any]:
    """The relation ("==", "<=" or ">=") and both sides."""
    from merganser.framework.symbolic import FormulaKind

    relations = {FormulaKind.Eq: "==", FormulaKind.Leq: "<=", FormulaKind.Geq: ">="}
    kind = formula.get_kind()
    if kind not in relations:
        raise RuntimeError(
            f"MathematicalProgram: the formula {formula} is neither a relation ==, <= or >= nor a conjunction "
            "(logical_and) of such relations."
        )
    _, (left, right) = formula.Unapply()
    return relations[kind], left, right


def parsed_formulas(formulas: Any, **tolerances: float) -> Binding:
    """A constraint that a formula, a conjunction of relations or an array of relations gives.

    Args:
        formulas: one, or an array of them.
        tolerances: psd_tol and coefficient_tol, of lengths (DecomposeL2NormExpression).

    Raises:
        RuntimeError: a formula is always false, or no relation ==, <=, >=.
        TypeError: something is no formula.
    """
    from merganser.framework.symbolic import Formula, FormulaKind

    given = [formulas] if isinstance(formulas, Formula) else list(objects(formulas))
    flat: list[Any] = []
    while given:
        formula = given.pop(0)
        if not isinstance(formula, Formula):
            raise TypeError(
                f"MathematicalProgram: expected a formula, got {type(formula).__name__}. Comparing arrays takes "
                "pydrake.math.ge, le and eq, or numpy.less_equal(a, b, dtype=object)."
            )
        kind = formula.get_kind()
        if kind is FormulaKind.False_:
            raise RuntimeError("MathematicalProgram: a constraint is a formula that is always false.")
        if kind is FormulaKind.And:
            given[:0] = formula.Unapply()[1]
        elif kind is not FormulaKind.True_:
            flat.append(formula)
    if not flat:
        return Binding(BoundingBoxConstraint([], []), [])
    relations = [_sides(formula) for formula in flat]
    cone = _cone(*relations[0], tolerances) if len(relations) == 1 else None
    return cone if cone is not None else _rows(relations)


def _rows(relations: Sequence[tuple[str, Any, Any]]) -> Binding:
    from merganser.framework.symbolic import Expression

    rows, low, high = [], [], []
    for relation, left, right in relations:
        rows.append(Expression(left) - right)
        low.append(-np.inf if relation == "<=" else 0.0)
        high.append(np.inf if relation == ">=" else 0.0)
    if all(relation == "==" for relation, _, _ in relations):
        parts = affine(rows)
        if parts is not None:
            A, b, variables = parts
            return Binding(LinearEqualityConstraint(A, -b), variables)
    binding = linear_constraint(rows, low, high)
    if binding is not None:
        return binding
    if len(rows) == 1 and relations[0][0] == ">=":  # as pydrake has it: -f <= -bound
        rows, low, high = [-rows[0]], [-high[0]], [-low[0]]
    if len(rows) == 1:
        constant = _constant_of(rows[0])
        rows, low, high = [rows[0] - constant], [low[0] - constant], [high[0] - constant]
    return parsed_constraint(rows, low, high)


def _constant_of(e: Any) -> float:
    """The number that is added in a sum."""
    from merganser.framework.symbolic import ExpressionKind

    first = e.Unapply()[1][0] if e.get_kind() is ExpressionKind.Add else None
    return first if isinstance(first, float) else 0.0


def _cone(relation: str, left: Any, right: Any, tolerances: dict[str, float]) -> Binding | None:
    """A length that is at most an affine expression."""
    from merganser.framework.symbolic import DecomposeL2NormExpression

    if relation == "==":
        return None
    small, great = (left, right) if relation == "<=" else (right, left)
    is_norm, A, b, variables = DecomposeL2NormExpression(small, **tolerances)
    bound = affine([great]) if is_norm else None
    return None if bound is None else lorentz(bound, A, b, variables)


def lorentz(bound: tuple[Array, Array, Objects], A: Array, b: Array, variables: Objects) -> Binding:
    """|A variables + b| <= bound, as a cone."""
    slope, constant, others = bound
    everything = list(dict.fromkeys([*others, *variables]))
    places = {variable: i for i, variable in enumerate(everything)}
    rows = np.zeros((1 + len(b), len(everything)))
    rows[0, [places[v] for v in others]] = slope[0]
    rows[1:, [places[v] for v in variables]] = A
    return Binding(LorentzConeConstraint(rows, np.concatenate((constant, b))), everything)
