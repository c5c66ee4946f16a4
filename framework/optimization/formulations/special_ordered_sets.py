"""Weights of which one, or two neighbours, are not 0: by a binary variable each, or by as many as the logarithm.

Source: Vielma and Nemhauser, Modeling disjunctive constraints with a logarithmic number of binary variables and
constraints, 2011.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.optimization.arrays import Array, Objects, objects
from merganser.framework.optimization.programs.parsing import affine
from merganser.framework.optimization.programs.program import MathematicalProgram

Digits = npt.NDArray[np.int_]


class IntervalBinning(Enumeration):
    """How binary variables select the interval: by the digits of its Gray code, or by one variable each."""

    kLogarithmic = 0
    kLinear = 1


@dataclass
class Weights:
    """Weights S v + s, with the variables v."""

    S: Array
    s: Array
    v: Objects

    @staticmethod
    def of(lambdas: Any, where: str) -> Weights:
        """Weights that are variables, or affine expressions of them; others are a RuntimeError."""
        return Weights(*affine(lambdas, where))

    def __len__(self) -> int:
        return int(self.s.size)


def AddSos2Constraint(prog: MathematicalProgram, lambdas: Any, y: Any) -> None:
    """Adds that weights sum to 1, are at least 0, and only two neighbours are above 0: those of the y that is 1.

    Args:
        prog: the program.
        lambdas: weights, variables or affine expressions, shape [n].
        y: of the intervals between neighbours, binary variables or affine expressions of them, shape [n - 1].

    Raises:
        ValueError: sizes do not fit.
    """
    weights, chosen = Weights.of(lambdas, "AddSos2Constraint"), objects(y)
    if len(weights) != chosen.size + 1:
        raise ValueError(
            f"AddSos2Constraint: expected one weight more than there are y, got {len(weights)} and {chosen.size}."
        )
    add_sos2(prog, weights, chosen, IntervalBinning.kLinear)


def AddLogarithmicSos1Constraint(prog: MathematicalProgram, num_lambda: int) -> tuple[Objects, Objects]:
    """Adds new weights that sum to 1, of which exactly one is not 0.

    Returns:
        The weights, shape [num_lambda], and binary variables, whose values are the Gray code of the place of the one.
    """
    weights = prog.NewContinuousVariables(num_lambda)
    codes = codes_of_intervals(num_lambda)
    digits = prog.NewBinaryVariables(codes.shape[1])
    _add_codes(prog, Weights(np.eye(num_lambda), np.zeros(num_lambda), weights), codes == 1, codes == 0, digits)
    return weights, digits


def AddLogarithmicSos2Constraint(prog: MathematicalProgram, lambdas: Any, binary_variable_name: str = "y") -> Objects:
    """Adds that weights sum to 1, are at least 0, and only two neighbours are above 0.

    Returns:
        New binary variables, whose values are the Gray code of the interval between the two.

    Raises:
        ValueError: there are fewer than two weights.
    """
    weights = Weights.of(lambdas, "AddLogarithmicSos2Constraint")
    if len(weights) < 2:
        raise ValueError(f"AddLogarithmicSos2Constraint: expected at least two weights, got {len(weights)}.")
    digits = prog.NewBinaryVariables(codes_of_intervals(len(weights) - 1).shape[1], binary_variable_name)
    add_sos2(prog, weights, digits, IntervalBinning.kLogarithmic)
    return digits


def codes_of_intervals(count: int) -> Digits:
    """Reflected binary codes of 0 ... count - 1, the highest digit first: neighbours differ in one digit."""
    digits = int(np.ceil(np.log2(count))) if count > 1 else 0
    codes = [[(i ^ (i >> 1)) >> (digits - 1 - k) & 1 for k in range(digits)] for i in range(count)]
    return np.array(codes, dtype=int).reshape(count, digits)


def add_sos2(prog: MathematicalProgram, weights: Weights, chosen: Objects, binning: IntervalBinning) -> None:
    """Adds that weights sum to 1, are at least 0, and only those at the ends of one interval are above 0.

    Args:
        prog: the program.
        weights: shape [n].
        chosen: binary variables that select the interval; with one for each, affine expressions of them as well.
        binning: how they select it.
    """
    intervals = len(weights) - 1
    if binning is IntervalBinning.kLogarithmic:  # a weight has the digits that the intervals beside it share
        codes = codes_of_intervals(intervals)
        before, after = np.vstack((codes[:1], codes)), np.vstack((codes, codes[-1:]))
        _add_codes(prog, weights, (before == 1) & (after == 1), (before == 0) & (after == 0), chosen)
        return
    beside, y = np.eye(intervals + 1, intervals) + np.eye(intervals + 1, intervals, -1), Weights.of(chosen, "SOS2")
    A, variables = np.hstack((weights.S, -beside @ y.S)), np.concatenate((weights.v, y.v))
    prog.AddLinearConstraint(A, np.full(intervals + 1, -np.inf), beside @ y.s - weights.s, variables)
    prog.AddLinearEqualityConstraint(y.S.sum(axis=0)[np.newaxis], [1.0 - y.s.sum()], y.v)
    _add_convex(prog, weights)


def _add_convex(prog: MathematicalProgram, weights: Weights) -> None:
    """Adds that weights are at least 0, and sum to 1."""
    high = np.full(len(weights), np.inf)
    if np.array_equal(weights.S, np.eye(len(weights))):
        prog.AddBoundingBoxConstraint(-weights.s, high, weights.v)
    else:
        prog.AddLinearConstraint(weights.S, -weights.s, high, weights.v)
    prog.AddLinearEqualityConstraint(weights.S.sum(axis=0)[np.newaxis], [1.0 - weights.s.sum()], weights.v)


def _add_codes(prog: MathematicalProgram, weights: Weights, ones: Any, zeros: Any, digits: Objects) -> None:
    """Weights are 0 where their code has a digit that the binary variables have not.

    The sum of those with a digit 1 is at most the variable of the digit; of those with 0, at most 1 minus that.
    """
    if digits.size:
        of_ones, of_zeros, eye = ones.T.astype(float), zeros.T.astype(float), np.eye(digits.size)
        A = np.block([[of_ones @ weights.S, -eye], [of_zeros @ weights.S, eye]])
        most = np.concatenate((-of_ones @ weights.s, 1.0 - of_zeros @ weights.s))
        prog.AddLinearConstraint(A, np.full(most.size, -np.inf), most, np.concatenate((weights.v, digits)))
    _add_convex(prog, weights)
