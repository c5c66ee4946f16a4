"""Programs as text: formulas of costs and constraints, as pydrake prints them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from merganser.framework.optimization.arrays import Objects

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
