"""LDL^T factorization of sparse symmetric matrices of which some rows are constraints.

The matrix has the sign pattern of optimality conditions: n rows of variables and m of constraints,

    K = [ H  J^T ]     P K P^T = L D L^T,  D diagonal                                      (1)
        [ J  -R  ]

By Sylvester's law the signs of D are the inertia of K. If H > 0 and R > 0, K is quasi-definite and D exists for every
order P, which is therefore chosen once, for few entries in L. Otherwise a pivot may vanish: one that is not more than
rounding leaves of its terms is replaced by PIVOT_FLOOR, with the sign of its row, and the solution is refined (kkt.py).

A row of the upper triangle is one of L's in the making: the entries of row k of L are found along the elimination
tree, from each entry of column k of K up to k (up-looking).

Sources: R. Vanderbei, Symmetric Quasi-Definite Matrices, SIAM J. Optimization 5 (1995); A. George, J. Liu, The
Evolution of the Minimum Degree Ordering Algorithm, SIAM Review 31 (1989); T. Davis, Algorithm 849, ACM TOMS 31 (2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device, kernel

Array = np.ndarray[Any, Any]

PIVOT_FLOOR = 1e-8
"""Replaces a vanishing pivot: the square root of the rounding error of 1, as large as its own error then."""

_ROUNDING = 1e-13  # of the terms that a pivot is the sum of

_WORD = 32  # bits of a word in use
_ROWS_AT_A_TIME = 500  # while the order is found; interrupts are noticed in between


class SparseLdl:
    """The factors of matrices of one pattern.

    Args:
        num_variables: n; these rows come first.
        num_constraints: m.
        rows, columns: of the entries, shape [num_entries]: one of (i, j) and (j, i) for each pair. What is given more
            than once is added up. The diagonal is always part of the pattern.
    """

    def __init__(self, num_variables: int, num_constraints: int, rows: Array, columns: Array) -> None:
        size = num_variables + num_constraints
        self.order = _order(num_variables, size, rows, columns)
        position = np.empty(size, np.int64)
        position[self.order] = np.arange(size)
        i, j = position[rows], position[columns]
        diagonal = np.arange(size)
        keys = np.concatenate([np.maximum(i, j) * size + np.minimum(i, j), diagonal * size + diagonal])
        places, inverse = np.unique(keys, return_inverse=True)
        self._place = inverse[: len(rows)].astype(np.int64)
        self._rows = (places % size if size else places).astype(np.int64)
        self._starts = np.searchsorted(places, np.arange(size + 1) * size).astype(np.int64)
        self._sign = np.where(self.order < num_variables, 1.0, -1.0)
        self._parent, counts = np.empty(size, np.int64), np.empty(size, np.int64)
        self._integers = np.empty((3, size), np.int64)
        find_tree(self._starts, self._rows, self._integers[0], self._parent, counts)
        self._factor_starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._factor_rows = np.zeros(self._factor_starts[-1], np.int64)
        self._factor = np.zeros(self._factor_starts[-1])
        self._pivots, self._work, self._values = np.ones(size), np.empty(size), np.zeros(len(places))

    @property
    def num_factor_entries(self) -> int:
        """Entries of L below its diagonal."""
        return len(self._factor_rows)

    def factor(self, values: Array, shift: Array) -> int:
        """Factors the matrix with these entries, shape [num_entries], plus a diagonal, shape [size].

        Returns:
            The number of negative pivots; -1 if one is not finite.
        """
        add_entries(self._place, values, self._values)
        return int(
            factor(
                self._starts, self._rows, self._values, shift[self.order], self._sign, self._parent,
                self._factor_starts, self._integers, self._work, self._factor_rows, self._factor, self._pivots,
            )
        )  # fmt: skip

    def solve(self, right: Array) -> Array:
        """The solution for the matrix that was factored last, shape [size]; of right sides [size, n] as many."""
        ordered = np.ascontiguousarray(right[self.order].T)  # a right side is a row
        solve(self._factor_starts, self._factor_rows, self._factor, self._pivots, np.atleast_2d(ordered))
        solution = np.empty_like(right)
        solution[self.order] = ordered.T
        return solution

    def multiply(self, x: Array) -> Array:
        """The matrix that was factored last, without its shift, times x, shape [size]."""
        ordered = x[self.order]
        product, result = np.empty_like(ordered), np.empty_like(ordered)
        multiply(self._starts, self._rows, self._values, ordered, product)
        result[self.order] = product
        return result


def _order(num_variables: int, size: int, rows: Array, columns: Array) -> Array:
    bits = np.zeros((size, (size + _WORD - 1) // _WORD), np.int64)
    i, j = rows[rows != columns], columns[rows != columns]
    np.bitwise_or.at(bits, (i, j // _WORD), 1 << (j % _WORD))
    np.bitwise_or.at(bits, (j, i // _WORD), 1 << (i % _WORD))
    order, degree = np.empty(size, np.int64), np.empty(size, np.int64)
    for i in range(0, size, _ROWS_AT_A_TIME):
        find_order(num_variables, i, min(i + _ROWS_AT_A_TIME, size), bits, degree, order)
    return order


@device
def _count_bits(word: int) -> int:
    """How many of 32 bits are set."""
    word = word - ((word >> 1) & 0x55555555)
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    return ((word * 0x01010101) & 0xFFFFFFFF) >> 24


@device
def _degree(bits: Array, i: int) -> int:
    total = 0
    for w in range(bits.shape[1]):
        total += _count_bits(bits[i, w])
    return total


@kernel
def find_order(
    num_variables: int,
    first: int,  # positions to fill in this call
    last: int,
    # In and work:
    bits_work: Array,  # neighbours of each row, shape [size, words]
    degree_work: Array,  # shape [size]
    # Out:
    order_out: Array,  # the row at each position, shape [size]
) -> None:
    """Minimum degree. A constraint waits for the first of its variables, so that its pivot is not zero."""
    size = bits_work.shape[0]
    if first == 0:
        for i in range(size):
            degree_work[i] = _degree(bits_work, i)
            if i >= num_variables and degree_work[i] > 0:
                degree_work[i] += 2 * size
    for p in range(first, last):
        best = -1
        for i in range(size):
            if degree_work[i] >= 0 and (best < 0 or degree_work[i] < degree_work[best]):
                best = i
        order_out[p] = best
        degree_work[best] = -1
        for w in range(bits_work.shape[1]):
            for b in range(_WORD):
                i = w * _WORD + b
                if (bits_work[best, w] >> b) & 1:
                    for u in range(bits_work.shape[1]):
                        bits_work[i, u] |= bits_work[best, u]
                    bits_work[i, best // _WORD] &= ~(1 << (best % _WORD))
                    bits_work[i, w] &= ~(1 << b)
                    degree_work[i] = _degree(bits_work, i)


@kernel
def find_tree(
    # In: the upper triangle by columns
    starts_in: Array,
    rows_in: Array,
    # Work:
    mark_work: Array,
    # Out:
    parent_out: Array,  # elimination tree, -1 at roots
    counts_out: Array,  # entries of the columns of L below the diagonal
) -> None:
    """The elimination tree, and how many entries the columns of L have."""
    for k in range(parent_out.shape[0]):
        parent_out[k] = -1
        counts_out[k] = 0
        mark_work[k] = k
        for entry in range(starts_in[k], starts_in[k + 1]):
            i = rows_in[entry]
            while mark_work[i] != k:
                if parent_out[i] < 0:
                    parent_out[i] = k
                counts_out[i] += 1
                mark_work[i] = k
                i = parent_out[i]


@kernel
def add_entries(place_in: Array, values_in: Array, values_out: Array) -> None:
    """Adds up the entries of each place."""
    for i in range(values_out.shape[0]):
        values_out[i] = 0.0
    for i in range(place_in.shape[0]):
        values_out[place_in[i]] += values_in[i]


@kernel
def factor(
    # In:
    starts_in: Array,
    rows_in: Array,
    values_in: Array,
    shift_in: Array,  # added to the diagonal, shape [size]
    sign_in: Array,  # of the rows, shape [size]
    parent_in: Array,
    factor_starts_in: Array,  # where the columns of L start, shape [size + 1]
    # Work:
    integers_work: Array,  # shape [3, size]
    row_work: Array,  # shape [size]
    # Out:
    factor_rows_out: Array,
    factor_out: Array,
    pivots_out: Array,
) -> int:
    """Factors (1); returns the number of negative pivots, or -1 if one is not finite."""
    size = parent_in.shape[0]
    mark, filled, path = integers_work[0], integers_work[1], integers_work[2]
    num_negative = 0
    for k in range(size):
        row_work[k] = 0.0
        mark[k] = k
        filled[k] = factor_starts_in[k]
        top = size
        for entry in range(starts_in[k], starts_in[k + 1]):
            i = rows_in[entry]
            row_work[i] += values_in[entry]
            length = 0
            while mark[i] != k:
                path[length] = i
                length += 1
                mark[i] = k
                i = parent_in[i]
            while length > 0:
                top -= 1
                length -= 1
                path[top] = path[length]
        pivot = row_work[k] + shift_in[k]
        size_of_terms = abs(pivot.real)
        row_work[k] = 0.0
        for step in range(top, size):
            i = path[step]
            value = row_work[i]
            row_work[i] = 0.0
            for entry in range(factor_starts_in[i], filled[i]):
                row_work[factor_rows_out[entry]] -= factor_out[entry] * value
            ratio = value / pivots_out[i]
            pivot -= ratio * value
            size_of_terms += abs((ratio * value).real)
            factor_rows_out[filled[i]] = k
            factor_out[filled[i]] = ratio
            filled[i] += 1
        if not abs(pivot.real) < 1e300:
            return -1
        if abs(pivot.real) <= _ROUNDING * size_of_terms:
            pivot = pivot - pivot.real + sign_in[k] * PIVOT_FLOOR
        if pivot.real < 0.0:
            num_negative += 1
        pivots_out[k] = pivot
    return num_negative


@kernel
def solve(factor_starts_in: Array, factor_rows_in: Array, factor_in: Array, pivots_in: Array, x_out: Array) -> None:
    """Solves with the factors of (1) for each row of x, in place."""
    size = pivots_in.shape[0]
    for i in range(x_out.shape[0]):
        x = x_out[i]
        for k in range(size):
            for entry in range(factor_starts_in[k], factor_starts_in[k + 1]):
                x[factor_rows_in[entry]] -= factor_in[entry] * x[k]
        for k in range(size):
            x[k] /= pivots_in[k]
        for k in range(size - 1, -1, -1):
            for entry in range(factor_starts_in[k], factor_starts_in[k + 1]):
                x[k] -= factor_in[entry] * x[factor_rows_in[entry]]


@kernel
def multiply(starts_in: Array, rows_in: Array, values_in: Array, x_in: Array, y_out: Array) -> None:
    """y = K x of the upper triangle by columns."""
    for k in range(x_in.shape[0]):
        y_out[k] = 0.0
    for k in range(x_in.shape[0]):
        for entry in range(starts_in[k], starts_in[k + 1]):
            i = rows_in[entry]
            y_out[i] += values_in[entry] * x_in[k]
            if i != k:
                y_out[k] += values_in[entry] * x_in[i]
