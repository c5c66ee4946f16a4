"""Weights of which one, or two neighbours, are not 0: by a binary variable each, or by as many as the logarithm.

Source: Vielma and Nemhauser, Modeling disjunctive constraints with a logarithmic number of binary variables and
constraints, 2011.
"""

from __future__ import annotations

__all__ = ["AddLogarithmicSos1Constraint", "AddLogarithmicSos2Constraint", "AddSos2Constraint"]

from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Objects, objects
from merganser.framework.optimization.program import MathematicalProgram


def AddSos2Constraint(prog: MathematicalProgram, lambdas: Any, y: Any) -> None:
    """Adds that weights sum to 1, are at least 0, and only two neighbours are above 0: those of the y that is 1.

    Args:
        prog: the program.
        lambdas: weights, variables or affine expressions, shape [n].
        y: binary variables of the intervals between neighbours, shape [n - 1].

    Raises:
        ValueError: sizes do not fit.
    """
    weights, chosen = objects(lambdas), objects(y)
    if weights.size != chosen.size + 1:
        raise ValueError(
            f"AddSos2Constraint: expected one weight more than there are y, got {weights.size} and {chosen.size}."
        )
    prog.AddLinearConstraint(weights + np.zeros(weights.size), np.zeros(weights.size), np.full(weights.size, np.inf))
    for i, weight in enumerate(weights):
        beside = [chosen[k] for k in (i - 1, i) if 0 <= k < chosen.size]
        prog.AddLinearConstraint(weight - sum(beside), -np.inf, 0.0)
    prog.AddLinearEqualityConstraint(sum(weights), 1.0)
    prog.AddLinearEqualityConstraint(sum(chosen), 1.0)


def _gray_codes(count: int) -> Any:
    """Reflected binary codes of 0 ... count - 1, the highest digit first: neighbours differ in one digit."""
    digits = max(int(np.ceil(np.log2(count))), 0) if count > 1 else 0
    return np.array([[(i ^ (i >> 1)) >> (digits - 1 - k) & 1 for k in range(digits)] for i in range(count)], dtype=int)


def _add_codes(prog: MathematicalProgram, weights: Objects, ones: Any, zeros: Any, digits: Objects) -> None:
    """Weights are 0 where their code has a digit that the binary variables have not."""
    for k, digit in enumerate(digits):
        prog.AddLinearConstraint(sum(weights[ones[:, k]]) - digit, -np.inf, 0.0)
        prog.AddLinearConstraint(sum(weights[zeros[:, k]]) + digit, -np.inf, 1.0)
    prog.AddLinearEqualityConstraint(sum(weights) + 0.0, 1.0)
    prog.AddLinearConstraint(weights + np.zeros(weights.size), np.zeros(weights.size), np.full(weights.size, np.inf))


def AddLogarithmicSos1Constraint(prog: MathematicalProgram, num_lambda: int) -> tuple[Objects, Objects]:
    """Adds new weights that sum to 1, of which exactly one is not 0.

    Returns:
        The weights, shape [num_lambda], and binary variables, whose values are the Gray code of the place of the one.
    """
    weights = prog.NewContinuousVariables(num_lambda)
    codes = _gray_codes(num_lambda)
    digits = prog.NewBinaryVariables(codes.shape[1] if codes.ndim == 2 else 0)
    _add_codes(prog, weights, codes == 1, codes == 0, digits)
    return weights, digits


def AddLogarithmicSos2Constraint(prog: MathematicalProgram, lambdas: Any, binary_variable_name: str = "y") -> Objects:
    """Adds that weights sum to 1, are at least 0, and only two neighbours are above 0.

    Returns:
        New binary variables, whose values are the Gray code of the interval between the two.

    Raises:
        ValueError: there are fewer than two weights.
    """
    weights = objects(lambdas)
    if weights.size < 2:
        raise ValueError(f"AddLogarithmicSos2Constraint: expected at least two weights, got {weights.size}.")
    codes = _gray_codes(weights.size - 1)  # of intervals; a weight has the digits that those beside it share
    before, after = np.vstack((codes[:1], codes)), np.vstack((codes, codes[-1:]))
    digits = prog.NewBinaryVariables(codes.shape[1], binary_variable_name)
    _add_codes(prog, weights, (before == 1) & (after == 1), (before == 0) & (after == 0), digits)
    return digits
