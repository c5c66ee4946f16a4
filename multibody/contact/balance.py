"""The balance of momentum beyond the last bits of impulses.

Where a light body is squeezed, impulses cancel in J^T gamma, and their last bits may be more than the momentum that is
allowed to be missing. No velocity makes up for that by the laws of the constraints, as these give impulses of the same
bits. The search then ends there, and the velocities take up what is left: with the impulses as they are,

    v+ = v* + A^-1 J^T gamma                                                              (1)

in which gamma, and so the law of each constraint, is off by bits of its own, and momentum by those of the velocities.
Sums are taken as if with twice the digits.

Source: Dekker (1971), sections 4 and 5; Ogita, Rump and Oishi (2005), algorithm 5.3 (dot products).
"""

from __future__ import annotations

import math

from merganser.framework.native import device, inlined
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.contact.work_arrays import IMPULSE, MOMENTUM, SCALE, SCRATCH, STEP
from merganser.multibody.linear.products import block_of, multiply_matrix, num_ends
from merganser.multibody.linear.records import Problem

_LAST_BITS = 2.0 * 2.0**-52
_SPLITTER = 2.0**27 + 1.0


@device
def measure_rounding(
    problem: Problem, trees: Integers, constraints: Integers, gamma: Floats, velocities: FloatTable
) -> float:
    """What the last bits of the impulses make of the residual: |D |J|^T |gamma||, times twice the rounding of 1."""
    total = velocities[SCRATCH]
    _clear(problem, trees, total)
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        for end in range(num_ends(c)):
            J, n, first, _ = block_of(problem.trees, problem.jacobian, c, end)
            for r in range(c["num_rows"]):
                size = abs(gamma[c["row_start"] + r])
                for k in range(n):
                    total[first + k] += abs(J[r * n + k]) * size
    square = 0.0
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            square += (velocities[SCALE, k] * total[k]) ** 2
    return _LAST_BITS * math.sqrt(square)


@device
def bound_rounding(problem: Problem, constraints: Integers, gamma: Floats, compliance: Floats) -> float:
    """More than `measure_rounding` gives, in a tenth of the time.

    The Frobenius norm of J_c D is the root of the trace of W_c = J_c D^2 J_c^T, which is at most |W_c|_F sqrt(n) for n
    rows, and w = |W_c|_F / n. The sum over constraints is bounded by Cauchy's inequality.
    """
    total = 0.0
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        n, row = c["num_rows"], c["row_start"]
        square = 0.0
        for r in range(row, row + n):
            square += gamma[r] * gamma[r]
        total += n * math.sqrt(n) * compliance[row] * square
    return _LAST_BITS * math.sqrt(constraints.shape[0] * total)


@device
def calc_momentum_left(
    problem: Problem, trees: Integers, constraints: Integers, gamma: Floats, v: Floats, v_star: Floats,
    velocities: FloatTable,
) -> None:  # fmt: skip
    """Computes A v, J^T gamma, and J^T gamma - A (v - v*) where dv will be, the last with twice the digits."""
    multiply_matrix(problem, trees, v, velocities[MOMENTUM])
    impulse, step, low = velocities[IMPULSE], velocities[STEP], velocities[SCRATCH]
    _clear(problem, trees, impulse)
    _clear(problem, trees, low)
    for i in range(constraints.shape[0]):
        c = problem.constraints[constraints[i]]
        for end in range(num_ends(c)):
            J, n, first, _ = block_of(problem.trees, problem.jacobian, c, end)
            for r in range(c["num_rows"]):
                for k in range(n):
                    _add_product(J[r * n + k], gamma[c["row_start"] + r], first + k, impulse, low)
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        n, first = tree["num_v"], tree["v_start"]
        for r in range(first, first + n):
            step[r] = impulse[r]
            for k in range(n):
                mass = problem.matrix[tree["matrix_start"] + (r - first) * n + k]
                change, rest = _sum(v_star[first + k], -v[first + k])
                _add_product(mass, change, r, step, low)
                low[r] += mass * rest
            step[r] += low[r]


@device
def _clear(problem: Problem, trees: Integers, out: Floats) -> None:
    for i in range(trees.shape[0]):
        tree = problem.trees[trees[i]]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            out[k] = 0.0


@inlined
def _add_product(x: float, y: float, k: int, high: Floats, low: Floats) -> None:
    """Adds x y to high[k], and what rounding takes from it to low[k]."""
    product, rest = _product(x, y)
    high[k], rounding = _sum(high[k], product)
    low[k] += rest + rounding


@inlined
def _sum(x: float, y: float) -> tuple[float, float]:
    """x + y, and what rounding takes from it."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


@inlined
def _product(x: float, y: float) -> tuple[float, float]:
    """x y, and what rounding takes from it."""
    product = x * y
    x_high, x_low = _halves(x)
    y_high, y_low = _halves(y)
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


@inlined
def _halves(x: float) -> tuple[float, float]:
    """Two numbers of 26 bits, whose sum is x."""
    scaled = _SPLITTER * x
    high = scaled - (scaled - x)
    return high, x - high
