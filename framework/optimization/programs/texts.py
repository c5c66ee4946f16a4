"""Programs and evaluators as text, as pydrake prints them, and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Objects, objects
from merganser.framework.optimization.evaluators.evaluators import Constraint, EvaluatorBase

# Kinds that are shown by their formulas. Others are functions of a user's or of a plant, or have matrices.
_COSTS = {"LinearCost", "QuadraticCost", "L1NormCost", "L2NormCost", "LInfNormCost", "ExpressionCost"}
_CONSTRAINTS = {
    "LinearConstraint", "LinearEqualityConstraint", "BoundingBoxConstraint", "QuadraticConstraint",
    "LorentzConeConstraint", "RotatedLorentzConeConstraint", "ExpressionConstraint",
}  # fmt: skip


def words(names: Iterable[Any]) -> str:
    """Variables in a row, all as wide as the widest."""
    texts = [str(name) for name in names]
    width = max(map(len, texts), default=0)
    return " ".join(text.rjust(width) for text in texts)


def text_of(evaluator: Any, variables: Objects) -> str:
    """An evaluator of variables: a cost in one line, a constraint in one for each row."""
    kind, description = type(evaluator).__name__, evaluator.get_description()
    described = f" described as '{description}'" if description else ""
    if kind in _COSTS:
        return f"{kind} {evaluator.Eval(variables)[0]}{described}"
    if kind not in _CONSTRAINTS:
        return f"{kind}{described} with {len(variables)} decision variables {' '.join(map(str, variables))}\n"
    rows = zip(evaluator.lower_bound(), evaluator.Eval(variables), evaluator.upper_bound())
    if kind == "LinearEqualityConstraint":
        lines = [f"{value} == {_number(high)}" for _, value, high in rows]
    else:
        lines = [f"{_number(low)} <= {value} <= {_number(high)}" for low, value, high in rows]
    return "".join(f"{line}\n" for line in (f"{kind}{described}", *lines))


def _number(bound: float) -> str:
    return repr(float(bound) + 0.0).removesuffix(".0")


def evaluator_latex(evaluator: EvaluatorBase, vars: Any, precision: int) -> str:
    """An evaluator applied to variables; evaluators that take no expressions are named f(x)."""
    from merganser.framework.optimization.evaluators.cone_constraints import PositiveSemidefiniteConstraint
    from merganser.framework.optimization.evaluators.linear_constraints import BoundingBoxConstraint
    from merganser.framework.symbolic import ToLatex

    variables = objects(vars)
    names = ", ".join(ToLatex(v, precision) for v in variables)
    if isinstance(evaluator, PositiveSemidefiniteConstraint):
        rows = evaluator.matrix_rows()
        return f"{ToLatex(variables.reshape(rows, rows, order='F'), precision)} \\succeq 0"
    try:
        y = [ToLatex(each, precision) for each in evaluator.Eval(variables)]
    except Exception:  # a function of a user's that takes numbers only
        y = [f"\\text{{{evaluator.get_description() or type(evaluator).__name__}}}_{{{i}}}({names})"
             for i in range(evaluator.num_outputs())]  # fmt: skip
    if not isinstance(evaluator, Constraint):
        return ", ".join(y)
    is_box = isinstance(evaluator, BoundingBoxConstraint)
    low, high = evaluator.lower_bound(), evaluator.upper_bound()
    rows_of = [_bounded(*row, precision) for row in zip(y, low, high) if not is_box or np.isfinite(row[1:]).any()]
    if len(rows_of) == 1:
        return rows_of[0]
    return "\\begin{cases} " + " \\\\ ".join(rows_of) + " \\end{cases}"


def _bounded(y: str, low: float, high: float, precision: int) -> str:
    from merganser.framework.symbolic import Expression, ToLatex

    if low == high:
        return f"{y} = {ToLatex(Expression(low), precision)}"
    left = f"{ToLatex(Expression(low), precision)} \\le " if np.isfinite(low) else ""
    right = f" \\le {ToLatex(Expression(high), precision)}" if np.isfinite(high) else ""
    return left + y + right


def program_latex(costs: list[Any], constraints: list[Any], variables: Any, precision: int) -> str:
    """A whole program, as an array of LaTeX."""
    from merganser.framework.symbolic import ToLatex

    names = ", ".join(ToLatex(v, precision) for v in variables)
    lines = [f"\\min_{{{names}}} & " + " + ".join(b.ToLatex(precision) for b in costs)]
    if not costs:
        lines = [f"\\text{{find}}_{{{names}}} & "]
    for i, binding in enumerate(constraints):
        name = binding.evaluator().get_description()
        tag = f" \\tag{{{name}}}" if name else ""
        lines.append(("\\text{subject to} & " if i == 0 else "& ") + binding.ToLatex(precision) + tag)
    return "\\begin{align*} " + " \\\\ ".join(lines) + " \\end{align*}"
