"""What searches of small dense programs compute in each step.

Gaps and damped steps of least squares, see feasible_points.py; data of quadratic programs, see sequential_quadratic.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import Given, bind, device, kernel
from merganser.framework.optimization.forms.dense_programs import EQUATION

Array = np.ndarray[Any, Any]
_codes: dict[Any, Any] = {}
PART_OF_BOX, PART_OF_SIZE = 0.2, 10.0  # the most that a variable changes in a step: of its box, and of its size or 1
_ROUNDING, _MOST_SWEEPS = 1e-16, 30  # of Jacobi's rotations; six or seven sweeps are enough


def call(kernel: Any, *arguments: Any) -> Any:
    """Calls a kernel of this file; arrays are contiguous, and of the same types whenever it is called."""
    code = _codes.get(kernel)
    if code is None:
        code = _codes[kernel] = bind(kernel, *map(Given, arguments))
    return code(*arguments)


@kernel
def set_gaps(
    # In:
    g_in: Array,        # values of rows, shape [m]
    entries_in: Array,  # of their derivatives, shape [num_entries]
    places_in: Array,   # of these in the Jacobian, row by row
    bounds_in: Array,   # of the rows: lower, upper, and between what they should be, shape [4, m]
    kinds_in: Array,    # 1 for a row that has a gap, 2 also where it is between its bounds, else 0; shape [m]
    sizes_in: Array,    # by what variables change, shape [n]
    near: float,        # violations below this are compared with what rows change by,
    vanishing: float,   # if they change by more than this
    # Out:
    r_out: Array,       # gaps, 0 of rows that have none, shape [m] or more
    J_out: Array,       # their derivatives, shape [m or more, n]
) -> float:  # fmt: skip
    """Returns the worst violation of a row; NaN if a value is."""
    n, worst, is_nan = J_out.shape[1], 0.0, False
    for i in range(g_in.shape[0]):
        for j in range(n):
            J_out[i, j] = 0.0
    for k in range(entries_in.shape[0]):
        J_out[places_in[k] // n, places_in[k] % n] += entries_in[k]
    for i in range(g_in.shape[0]):
        g = g_in[i]
        outside = max(bounds_in[0, i] - g, g - bounds_in[1, i])
        if 0.0 < outside < near and kinds_in[i] > 0:
            size = 0.0
            for j in range(n):
                size = max(size, abs(J_out[i, j]) * sizes_in[j])
            outside = outside / size if size > vanishing else outside
        worst = max(worst, outside)
        is_nan = is_nan or g != g
        r_out[i] = g - min(max(g, bounds_in[2, i]), bounds_in[3, i])
        if kinds_in[i] == 0 or (kinds_in[i] == 1 and r_out[i] == 0.0):
            r_out[i] = 0.0
            for j in range(n):
                J_out[i, j] = 0.0
    return math.nan if is_nan else worst


@kernel
def sum_of_violations(
    # In:
    g_in: Array,       # values of rows, shape [m]
    bounds_in: Array,  # lower and upper ones, shape [2, m]
) -> float:  # fmt: skip
    """By how much rows are outside of their bounds, all in all; NaN if a value is."""
    total = 0.0
    for i in range(g_in.shape[0]):
        if not bounds_in[0, i] <= g_in[i]:
            total += bounds_in[0, i] - g_in[i]
        elif g_in[i] > bounds_in[1, i]:
            total += g_in[i] - bounds_in[1, i]
    return total


@kernel
def damped_step(
    # In:
    J_in: Array,          # derivatives of the gaps, shape [k, n]
    r_in: Array,          # the gaps, shape [k]
    x_in: Array,          # the variables, shape [n]
    lower_in: Array,      # their bounds, shape [n]
    upper_in: Array,
    damping: float,       # mu > 0
    order_in: Array,      # in which variables are eliminated, shape [n]
    # Work:
    is_free_work: Array,  # integers, shape [n]
    slope_work: Array,    # J^T r, shape [n]
    normal_work: Array,   # shape [n, n]
    # Out:
    step_out: Array,      # shape [n]
) -> None:  # fmt: skip
    """(J^T J + mu I) d = -J^T r for the variables that are free, 0 for the others; scaled and cut to the box."""
    n = x_in.shape[0]
    for i in range(n):
        slope_work[i] = 0.0
        for k in range(r_in.shape[0]):
            slope_work[i] += J_in[k, i] * r_in[k]
        stays = (x_in[i] <= lower_in[i] and slope_work[i] >= 0.0) or (x_in[i] >= upper_in[i] and slope_work[i] <= 0.0)
        is_free_work[i] = 0 if stays else 1
    is_done = False
    while not is_done:
        _solve_normal_equations(J_in, slope_work, damping, order_in, is_free_work, normal_work, step_out)
        is_done = True
        for i in range(n):  # those that would leave through a bound that they are at stay as well
            leaves = (x_in[i] <= lower_in[i] and step_out[i] < 0.0) or (x_in[i] >= upper_in[i] and step_out[i] > 0.0)
            if is_free_work[i] == 1 and leaves:
                is_free_work[i] = 0
                is_done = False
    part = 1.0
    for i in range(n):
        longest = min(PART_OF_BOX * (upper_in[i] - lower_in[i]), PART_OF_SIZE * max(1.0, abs(x_in[i])))
        if part * abs(step_out[i]) > longest:
            part = longest / abs(step_out[i])
    for i in range(n):
        step_out[i] = min(max(x_in[i] + part * step_out[i], lower_in[i]), upper_in[i]) - x_in[i]


@kernel
def set_quadratic_program(
    # In:
    W_in: Array,          # shape [n, n]
    J_in: Array,          # derivatives of the rows, shape [m, n]
    g_in: Array,          # their values, shape [m]
    limits_in: Array,     # and lower and upper bounds, shape [2, m]
    x_in: Array,          # variables, shape [n]
    lower_in: Array,      # and their bounds, shape [n]
    upper_in: Array,
    # Out:
    H_out: Array,         # W with a largest entry of 1, shape [n, n]
    rows_out: Array,      # J with rows of length 1, or of 0, shape [m, n]
    bounds_out: Array,    # lower and upper ones of changes of the variables and of the rows, shape [2, n + m]
    sense_out: Array,     # which of these are equal, as DAQP takes it, integers of shape [n + m]
    scales_out: Array,    # the inverse of the lengths of rows, or 1, shape [m]
) -> float:  # fmt: skip
    """The rows that a change d of the variables has to keep, and the curvature of its cost; returns the size of W."""
    n, size = x_in.shape[0], 1e-300
    for i in range(n):
        bounds_out[0, i] = lower_in[i] - x_in[i]
        bounds_out[1, i] = upper_in[i] - x_in[i]
        for j in range(n):
            size = max(size, abs(W_in[i, j]))
    for i in range(n):
        for j in range(n):
            H_out[i, j] = W_in[i, j] / size
    for r in range(g_in.shape[0]):
        square = 0.0
        for i in range(n):
            square += J_in[r, i] ** 2
        scales_out[r] = 1.0 / math.sqrt(square) if square > 0.0 else 1.0
        for k in range(2):
            bounds_out[k, n + r] = scales_out[r] * (limits_in[k, r] - g_in[r])
        for i in range(n):
            rows_out[r, i] = scales_out[r] * J_in[r, i]
    for k in range(sense_out.shape[0]):
        sense_out[k] = EQUATION if bounds_out[0, k] == bounds_out[1, k] else 0
    return size


@kernel
def set_convex(
    # In:
    entries_in: Array,  # second derivatives; those of one place add up
    rows_in: Array,     # their places in the lower triangle
    columns_in: Array,
    J_in: Array,        # derivatives of the rows, shape [m, n]
    z_in: Array,        # prices, not 0 of active bounds and rows, shape [n + m]
    augmented: float,   # rho_i |J_i|^2, a part of the largest entry
    damping: float,     # delta
    least: float,       # curvature that there must be in all directions, a part of the largest entry
    # Out:
    W_out: Array,       # the second derivatives + delta I, and + sum rho_i J_i J_i' where needed, shape [n, n]
    # Work:
    factor_work: Array, # shape [n, n]
) -> bool:  # fmt: skip
    """Sets a symmetric matrix, adds what makes it positive definite, and returns whether it is."""
    n, size = W_out.shape[0], 1e-300
    for i in range(n):
        for j in range(n):
            W_out[i, j] = damping if i == j else 0.0
    for k in range(entries_in.shape[0]):
        W_out[rows_in[k], columns_in[k]] += entries_in[k]
        size = max(size, abs(entries_in[k]))
    is_positive = _is_positive(W_out, least * size, factor_work)
    for r in range(0 if is_positive else z_in.shape[0]):
        square = 1.0 if r < n else 0.0
        for i in range(n if r >= n else 0):
            square += J_in[r - n, i] ** 2
        if z_in[r] != 0.0 and square > 0.0:
            for i in range(n):
                for j in range(i + 1):
                    product = J_in[r - n, i] * J_in[r - n, j] if r >= n else 1.0 if i == r and j == r else 0.0
                    W_out[i, j] += augmented * size / square * product
    return is_positive or _is_positive(W_out, least * size, factor_work)


@device
def _is_positive(W_io: Array, least: float, factor_work: Array) -> bool:
    """Completes a symmetric matrix from its lower triangle; whether its eigenvalues are above the least."""
    for i in range(W_io.shape[0]):
        for j in range(i + 1):
            W_io[j, i] = W_io[i, j]
            factor_work[i, j] = W_io[i, j] - (least if i == j else 0.0)
    return _factor(factor_work)


@kernel
def make_eigenvalues_positive(
    least: float,        # what they must be
    # In and out:
    W_io: Array,         # symmetric, shape [n, n]; out: with the absolute values of its eigenvalues, or `least`
    # Work:
    vectors_work: Array, # eigenvectors as rows, and a row of eigenvalues, shape [n + 1, n]
) -> None:  # fmt: skip
    """Makes eigenvalues positive by Jacobi's rotations; of a matrix with NaN the diagonal is left.

    LAPACK waits for its threads where a machine has other work: for a spline of 71 variables, 110 ms or more for 30.
    """
    n, total = W_io.shape[0], 0.0
    for i in range(n):
        for j in range(n):
            vectors_work[i, j] = 1.0 if i == j else 0.0
            total += W_io[i, j] ** 2
    negligible = _ROUNDING * math.sqrt(total) / n
    for _ in range(_MOST_SWEEPS):
        is_diagonal = True
        for i in range(n):
            for j in range(i + 1, n):
                if not abs(W_io[i, j]) > negligible:
                    continue
                is_diagonal = False
                half = 0.5 * (W_io[j, j] - W_io[i, i]) / W_io[i, j]  # cotangent of twice the angle
                tangent = math.copysign(1.0, half) / (abs(half) + math.sqrt(half * half + 1.0))
                c = 1.0 / math.sqrt(tangent * tangent + 1.0)
                s = tangent * c
                for k in range(n):
                    at_i, at_j = W_io[k, i], W_io[k, j]
                    W_io[k, i], W_io[k, j] = c * at_i - s * at_j, s * at_i + c * at_j
                for M in (W_io, vectors_work):
                    for k in range(n):
                        at_i, at_j = M[i, k], M[j, k]
                        M[i, k], M[j, k] = c * at_i - s * at_j, s * at_i + c * at_j
        if is_diagonal:
            break
    for k in range(n):
        vectors_work[n, k] = max(abs(W_io[k, k]), least)
    for i in range(n):
        for j in range(n):
            W_io[i, j] = 0.0
    for k in range(n):
        for i in range(n):
            for j in range(n):
                W_io[i, j] += vectors_work[n, k] * vectors_work[k, i] * vectors_work[k, j]


@device
def _solve_normal_equations(
    J: Array, slope: Array, damping: float, order: Array, is_free: Array, normal_work: Array, d_out: Array
) -> None:
    """By Cholesky's factors of the rows and columns that are free; the others are those of the identity."""
    n, A = slope.shape[0], normal_work
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = 0.0
        A[i, i] = damping if is_free[order[i]] == 1 else 1.0
    for k in range(J.shape[0]):
        for i in range(n):
            slope_of_i = J[k, order[i]]
            if slope_of_i != 0.0 and is_free[order[i]] == 1:  # few are, of rows of a motion
                for j in range(i + 1):
                    A[i, j] += slope_of_i * J[k, order[j]] if is_free[order[j]] == 1 else 0.0
    _factor(A)
    for i in range(n):
        d = -slope[order[i]] if is_free[order[i]] == 1 else 0.0
        for j in range(i):
            d -= A[i, j] * d_out[order[j]]
        d_out[order[i]] = d / A[i, i]
    for i in range(n - 1, -1, -1):
        d = d_out[order[i]]
        for j in range(i + 1, n):
            d -= A[j, i] * d_out[order[j]]
        d_out[order[i]] = d / A[i, i]


@device
def _factor(A: Array) -> bool:
    """Cholesky's factor of a lower triangle, in its place; whether the matrix is positive definite.

    Zeros before the first entry of a row remain.
    """
    is_positive = True
    for i in range(A.shape[0]):
        first = 0
        while first < i and A[i, first] == 0.0:
            first += 1
        for j in range(first, i + 1):
            total = A[i, j]
            for k in range(first, j):
                total -= A[i, k] * A[j, k]
            if i == j:
                is_positive = is_positive and total > 0.0
                A[i, i] = math.sqrt(total) if total > 0.0 else 1.0
            else:
                A[i, j] = total / A[j, j]
    return is_positive
