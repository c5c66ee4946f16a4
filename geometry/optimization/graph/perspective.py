"""Costs and constraints of a convex program that a flow turns on and off: their perspectives.

For a flow s >= 0 and y = s x, a constraint and a cost become

    A x + b in K        A y + b s in K                                                            (1)
    g(x) <= l           s g(y / s) <= l                                                           (2)

which say the same of x where s = 1, leave y = 0, l >= 0 where s = 0, and stay convex in between: the closure of the
perspective (Rockafellar, Convex Analysis, 1970, section 8). All that is left are homogeneous blocks, A w in a cone K.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from merganser.framework.optimization.evaluators.cone_constraints import (
    ExponentialConeConstraint,
    LinearMatrixInequalityConstraint,
    LorentzConeConstraint,
    PositiveSemidefiniteConstraint,
    RotatedLorentzConeConstraint,
)
from merganser.framework.optimization.evaluators.costs import (
    L1NormCost,
    L2NormCost,
    LinearCost,
    LInfNormCost,
    PerspectiveQuadraticCost,
    QuadraticCost,
)
from merganser.framework.optimization.evaluators.linear_constraints import LinearConstraint, LinearEqualityConstraint
from merganser.framework.optimization.programs.program_constraints import root_of_form
from merganser.geometry.optimization.sets.arguments import Array
from merganser.geometry.optimization.sets.convex_set import ConvexSet
from merganser.geometry.optimization.sets.placement import Placement, Recorder


class Block(NamedTuple):
    """A w in a cone.

    Attributes:
        cone: "zero", "at most zero", "lorentz", "rotated", "matrix" or "exponential".
        A: shape [rows, size of w]; of a matrix, its entries column by column.
    """

    cone: str
    A: Array


def blocks_of_set(set: ConvexSet) -> tuple[list[Block], int]:
    """y in s S as blocks of w = (y, s, new variables), and how many new variables there are."""
    n, recorder = set.ambient_dimension(), Recorder()
    prog: Any = recorder
    variables = prog.NewContinuousVariables(n + 1)
    set._add(prog, Placement(np.eye(n, n + 1), np.zeros(n), np.eye(n + 1)[n], 0.0, variables))
    found = [(columns, block) for A, low, high, columns in recorder.rows for block in _blocks_of_rows(A, low, high)]
    found += [(columns, block) for cone, columns in recorder.cones for block in blocks_of_constraint(cone)]
    blocks = []
    for columns, block in found:
        A = np.zeros((block.A.shape[0], recorder.num_vars))
        for place, column in zip(columns, block.A[:, :-1].T):  # there are no constants: all is in y and s
            A[:, place] += column
        blocks.append(Block(block.cone, A))
    return blocks, recorder.num_vars - n - 1


def _blocks_of_rows(A: Array, low: Array, high: Array) -> list[Block]:
    equal = low == high
    upper, lower = np.isfinite(high) & ~equal, np.isfinite(low) & ~equal
    parts = [("zero", A, high, equal), ("at most zero", A, high, upper), ("at most zero", -A, -low, lower)]
    return [Block(cone, np.column_stack((rows[kept], -b[kept]))) for cone, rows, b, kept in parts if kept.any()]


def blocks_of_constraint(constraint: Any) -> list[Block]:
    """(1) as blocks of w = (y, s).

    Raises:
        RuntimeError: the constraint has no perspective here.
    """
    if isinstance(constraint, LinearConstraint):
        return _blocks_of_rows(constraint.GetDenseA(), constraint.lower_bound(), constraint.upper_bound())
    if isinstance(constraint, LinearMatrixInequalityConstraint):
        constant, *slopes = (F.ravel("F") for F in constraint.F())
        return [Block("matrix", np.column_stack((*slopes, constant)))]
    if isinstance(constraint, PositiveSemidefiniteConstraint):
        n = constraint.num_vars()
        return [Block("matrix", np.eye(n, n + 1))]
    for kind, cone in _CONES.items():
        if isinstance(constraint, kind):
            return [Block(cone, np.column_stack((constraint.A().toarray(), constraint.b())))]
    raise RuntimeError(
        f"GraphOfConvexSets: a {type(constraint).__name__} can only be used in the restriction: use_in_transcription="
        "{GraphOfConvexSets.Transcription.kRestriction}. It is no linear constraint and no cone."
    )


_CONES: dict[Any, str] = {
    LorentzConeConstraint: "lorentz",
    RotatedLorentzConeConstraint: "rotated",
    ExponentialConeConstraint: "exponential",
}


def blocks_of_cost(cost: Any) -> tuple[list[Block], int]:
    """(2) as blocks of w = (y, s, l, new variables), and how many new variables there are.

    Raises:
        RuntimeError: the cost has no perspective here, or is not convex.
    """
    n = cost.num_vars()
    l = np.eye(n + 2)[n + 1]
    if isinstance(cost, LinearCost):
        return [Block("at most zero", np.concatenate((cost.a(), [cost.b(), -1.0]))[np.newaxis])], 0
    if isinstance(cost, QuadraticCost):
        return [_of_quadratic(cost)], 0
    if isinstance(cost, L1NormCost):  # -t <= A y + b s <= t, sum(t) <= l
        z = np.column_stack((cost.A(), cost.b(), np.zeros(cost.b().size)))
        m = z.shape[0]
        total = np.concatenate((-l, np.ones(m)))
        return [Block("at most zero", np.vstack((np.hstack((z, -np.eye(m))), np.hstack((-z, -np.eye(m))), total)))], m
    if isinstance(cost, LInfNormCost):
        z = np.column_stack((cost.A(), cost.b(), np.zeros(cost.b().size)))
        return [Block("at most zero", np.vstack((z - l, -z - l)))], 0
    if isinstance(cost, L2NormCost):
        b = cost.b()
        return [Block("lorentz", np.vstack((l, np.column_stack((cost.GetDenseA(), b, np.zeros(b.size))))))], 0
    if isinstance(cost, PerspectiveQuadraticCost):  # l z0 >= |z1|^2
        z = np.column_stack((cost.A(), cost.b(), np.zeros(cost.b().size)))
        return [Block("rotated", np.vstack((l, z)))], 0
    raise RuntimeError(
        f"GraphOfConvexSets: a {type(cost).__name__} can only be used in the restriction: use_in_transcription="
        "{GraphOfConvexSets.Transcription.kRestriction}. It is not linear, quadratic or a norm."
    )


def _of_quadratic(cost: QuadraticCost) -> Block:
    # s (l - b'y - c s) >= 0.5 |R y|^2 with Q = R'R
    if not cost.is_convex():
        raise RuntimeError(f"GraphOfConvexSets: expected a convex cost; of {cost.get_description() or 'a cost'} Q has "
                           "a negative eigenvalue.")  # fmt: skip
    Q = cost.Q()
    R = root_of_form(Q, "GraphOfConvexSets")
    n, m = cost.num_vars(), R.shape[0]
    flow = np.eye(n + 2)[n]
    rest = np.concatenate((-cost.b(), [-cost.c(), 1.0]))
    return Block("rotated", np.vstack((flow, rest, np.column_stack((R / np.sqrt(2.0), np.zeros((m, 2)))))))


def evaluator_of(block: Block, constants: Array) -> Any:
    """A w + constants in a cone, as a constraint."""
    cone, A = block
    if cone == "zero":
        return LinearEqualityConstraint(A, -constants)
    if cone == "at most zero":
        return LinearConstraint(A, np.full(constants.size, -np.inf), -constants)
    for kind, name in _CONES.items():
        if name == cone:
            return kind(A, constants)
    rows = round(np.sqrt(constants.size))
    F = [each.reshape(rows, rows) for each in (constants, *A.T)]
    return LinearMatrixInequalityConstraint([0.5 * (each + each.T) for each in F])
