"""Symmetric matrices with the absolute values of their eigenvalues, by Jacobi's rotations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.native import kernel

Array = np.ndarray[Any, Any]
_ROUNDING, _MOST_SWEEPS = 1e-16, 30  # six or seven sweeps are enough


@kernel
def make_eigenvalues_positive(
    least: float,        # what they must be
    # In and out:
    W_io: Array,         # symmetric, shape [n, n]; out: with the absolute values of its eigenvalues, or `least`
    # Work:
    vectors_work: Array, # eigenvectors as rows, and a row of eigenvalues, shape [n + 1, n]
) -> None:  # fmt: skip
    """By Jacobi's rotations; of a matrix with NaN the diagonal is left.

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
