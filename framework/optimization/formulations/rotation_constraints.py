"""Rotation matrices in mixed-integer linear programs.

R = [r1 r2 r3] is a rotation if r_i'r_i = 1, r_i'r_j = 0 and r1 x r2 = r3, and its transpose is one, too. The range of
each entry is cut at phi, equally spaced by D; binary variables select the interval, with weights lambda of its ends.
Then

    entry = phi . lambda,    1 <= sum_k (phi^2 . lambda_ik) <= 1 + 3/4 D^2    of a column or row                  (1)

since phi^2 . lambda exceeds the square of the entry by at most D^2 / 4; and products of two entries are in the
tetrahedra over their rectangles (bilinear_products.py). Or a column is in one of the caps of the unit sphere that cover
the boxes of these intervals (sphere_caps.py).

Source: Dai, Izatt and Tedrake, Global inverse kinematics via mixed-integer convex optimization, 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.optimization.arrays import Array, Objects
from merganser.framework.optimization.formulations.bilinear_products import AddBilinearProductMcCormickEnvelopeSos2
from merganser.framework.optimization.formulations.special_ordered_sets import (
    IntervalBinning,
    Weights,
    add_sos2,
    codes_of_intervals,
)
from merganser.framework.optimization.formulations.sphere_caps import Cap, caps_of_boxes
from merganser.framework.optimization.programs.program import MathematicalProgram

_PAIRS = list(combinations(range(3), 2))


@dataclass(eq=False)
class _ReturnType:
    """Variables that AddToProgram adds for each entry of R: binary variables of its interval, and weights of the ends.

    Attributes:
        B_: B_[i][j], an array of binary variables.
        lambda_: lambda_[i][j], shape [2 num_intervals_per_half_axis + 1], with R[i, j] = phi . lambda_[i][j].
    """

    B_: list[list[Objects]]
    lambda_: list[list[Objects]]


class MixedIntegerRotationConstraintGenerator:
    """Adds constraints that a matrix is a rotation, up to what the width of the intervals of its entries leaves.

    Every rotation satisfies them, and matrices that do are the closer to a rotation, the more intervals there are.
    """

    class Approach(Enumeration):
        """The relaxation: boxes on the unit sphere, products of entries, or both, which is tightest."""

        kBoxSphereIntersection = 0
        kBilinearMcCormick = 1
        kBoth = 2

    ReturnType = _ReturnType

    def __init__(self, approach: Approach, num_intervals_per_half_axis: int, interval_binning: IntervalBinning) -> None:
        """Prepares the constraints.

        Args:
            approach: what is relaxed.
            num_intervals_per_half_axis: intervals of [0, 1], and as many of [-1, 0].
            interval_binning: how binary variables select the interval of an entry.

        Raises:
            ValueError: there is no interval.
        """
        if num_intervals_per_half_axis < 1:
            raise ValueError(
                "MixedIntegerRotationConstraintGenerator: expected num_intervals_per_half_axis >= 1, got "
                f"{num_intervals_per_half_axis}."
            )
        self._approach = self.Approach(approach)
        self._count = int(num_intervals_per_half_axis)
        self._binning = IntervalBinning(interval_binning)
        self._phi = np.linspace(-1.0, 1.0, 2 * self._count + 1)
        self._phi[self._count] = 0.0
        self._codes = codes_of_intervals(2 * self._count)
        self._caps = [] if self._approach is self.Approach.kBilinearMcCormick else caps_of_boxes(self._phi)

    def phi(self) -> Array:
        """Ends of the intervals, from -1 to 1, shape [2 num_intervals_per_half_axis + 1]."""
        return self._phi.copy()

    def phi_nonnegative(self) -> Array:
        """Ends of the intervals from 0 to 1."""
        return self._phi[self._count :].copy()

    def num_intervals_per_half_axis(self) -> int:
        """How many intervals [0, 1] has."""
        return self._count

    def interval_binning(self) -> IntervalBinning:
        """How binary variables select the interval of an entry."""
        return self._binning

    def AddToProgram(self, R: Any, prog: MathematicalProgram) -> _ReturnType:
        """Adds that R is a rotation, relaxed.

        Args:
            R: variables of the program, shape [3, 3].
            prog: the program.

        Raises:
            ValueError: R has another shape, or variables of another program.
        """
        entries = np.asarray(R, dtype=object)
        if entries.shape != (3, 3):
            raise ValueError(f"AddToProgram: expected R of shape (3, 3), got {entries.shape}.")
        prog.FindDecisionVariableIndices(entries)
        added = self._add_intervals(entries, prog)
        kinds = self.Approach
        if self._approach is not kinds.kBoxSphereIntersection:
            self._add_products(entries, added, prog)
        if self._approach is not kinds.kBilinearMcCormick:
            for v, u, w, B in _triples(entries, added.B_):
                for cap in self._caps:
                    self._add_cap(prog, cap, v, u, w, B)
        return added

    def _add_intervals(self, R: Objects, prog: MathematicalProgram) -> _ReturnType:
        """Adds binary variables and weights of each entry, and (1)."""
        prog.AddBoundingBoxConstraint(-1.0, 1.0, R)
        size = self._phi.size
        linear = self._binning is IntervalBinning.kLinear
        B: list[list[Objects]] = [[], [], []]
        weights: list[list[Objects]] = [[], [], []]
        for i, j in np.ndindex(3, 3):
            ends = prog.NewContinuousVariables(size, f"lambda[{i}][{j}]")
            chosen = prog.NewBinaryVariables(size - 1 if linear else self._codes.shape[1], f"B[{i}][{j}]")
            add_sos2(prog, Weights(np.eye(size), np.zeros(size), ends), chosen, self._binning)
            row = np.append(self._phi, -1.0)[np.newaxis]
            prog.AddLinearEqualityConstraint(row, [0.0], np.append(ends, R[i, j]))
            B[i].append(chosen)
            weights[i].append(ends)
        squares = np.tile(self._phi**2, 3)[np.newaxis]
        most = 1.0 + 0.75 / self._count**2
        for k in range(3):
            for line in (weights[k], [weights[i][k] for i in range(3)]):
                prog.AddLinearConstraint(squares, [1.0], [most], np.concatenate(line))
        for part in (B, [list(column) for column in zip(*B)]):
            self._add_orthants(part, prog)
        return _ReturnType(B, weights)

    def _signs(self) -> Array | None:
        """Slopes by the binary variables of an entry of a number that is 1 if it is positive, 0 if negative."""
        if self._binning is IntervalBinning.kLinear:
            return np.repeat([0.0, 1.0], self._count)
        half = self._codes[self._count :, 0]
        return np.eye(self._codes.shape[1])[0] if half.all() else None

    def _add_orthants(self, B: list[list[Objects]], prog: MathematicalProgram) -> None:
        """Adds that no two lines are in the same orthant, or in opposite ones: no product would be negative, or all."""
        slopes = self._signs()
        if slopes is None:  # no digit is the sign
            return
        for first, second in _PAIRS:
            rows, most = [], []
            for orthant in product((1.0, -1.0), repeat=3):
                for sign in (1.0, -1.0):  # agreeing entries: those that are to be positive, and the others
                    wanted = np.concatenate((orthant, sign * np.array(orthant)))
                    rows.append(np.kron(wanted, slopes))
                    most.append(5.0 - (wanted < 0.0).sum())
            variables = np.concatenate(B[first] + B[second])
            prog.AddLinearConstraint(np.array(rows), np.full(len(most), -np.inf), most, variables)

    def _add_products(self, R: Objects, added: _ReturnType, prog: MathematicalProgram) -> None:
        """Adds R'R = I off the diagonal, R R' = I off the diagonal, and that columns are products of the others."""
        products: dict[tuple[int, int, int, int], Any] = {}

        def product_of(i: int, j: int, k: int, m: int) -> Any:
            key = (i, j, k, m) if (i, j) < (k, m) else (k, m, i, j)
            if key not in products:
                products[key] = prog.NewContinuousVariables(1, f"R({i},{j})*R({k},{m})")[0]
                phi, B = self._phi, added.B_
                AddBilinearProductMcCormickEnvelopeSos2(
                    prog, R[i, j], R[k, m], products[key], phi, phi, B[i][j], B[k][m], self._binning
                )
            return products[key]

        for a, b in _PAIRS:
            for terms in ([product_of(k, a, k, b) for k in range(3)], [product_of(a, k, b, k) for k in range(3)]):
                prog.AddLinearEqualityConstraint(np.ones((1, 3)), [0.0], terms)
        for i, j in np.ndindex(3, 3):  # an entry is its cofactor; indices go round
            r, s, c, d = (i + 1) % 3, (i + 2) % 3, (j + 1) % 3, (j + 2) % 3
            terms = [product_of(r, c, s, d), product_of(r, d, s, c), R[i, j]]
            prog.AddLinearEqualityConstraint(np.array([[1.0, -1.0, -1.0]]), [0.0], terms)

    def _misses(self, index: tuple[int, int, int]) -> tuple[float, Array]:
        """Constant and slopes by the binary variables of how many digits or intervals v has outside of a box."""
        if self._binning is IntervalBinning.kLinear:
            slopes = np.zeros((3, 2 * self._count))
            slopes[np.arange(3), index] = -1.0
            return 3.0, slopes.ravel()
        codes = self._codes[list(index)].ravel()
        return float(codes.sum()), np.where(codes == 1, -1.0, 1.0)

    def _add_cap(
        self, prog: MathematicalProgram, cap: Cap, v: Objects, u: Objects, w: Objects, B: list[Objects]
    ) -> None:
        """Adds what follows of v in the box of a cap, where v, u, w is a right-handed triple.

        With n the axis, d = cos(theta) the least n'v, and m the digits or intervals in which v is not in the box:

            n'v >= d,    |n'u|, |n'w| <= sin(theta),    |n x u - w|, |w x n - u| <= |n - v| <= sqrt(2 - 2 d),

        each given up where m >= 1. A box that does not meet the sphere has m >= 1.
        """
        constant, slopes = self._misses(cap.index)
        chosen = np.concatenate(B)
        if cap.axis is None:
            prog.AddLinearConstraint(slopes[np.newaxis], [1.0 - constant], [np.inf], chosen)
            return
        n, d = cap.axis, cap.least
        sine, gap = np.sqrt(max(1.0 - d * d, 0.0)), np.sqrt(max(2.0 - 2.0 * d, 0.0))
        zero, eye = np.zeros(3), np.eye(3)
        cross = np.array([[0.0, -n[2], n[1]], [n[2], 0.0, -n[0]], [-n[1], n[0], 0.0]])
        # rows of v, u and w that are at most `most`, and where they are given up, `worst`
        both = np.vstack((
            [np.concatenate((zero, n, zero)), np.concatenate((zero, zero, n))],
            np.hstack((np.zeros((3, 3)), cross, -eye)),
            np.hstack((np.zeros((3, 3)), -eye, -cross)),
        ))  # fmt: skip
        rows = np.vstack((-np.concatenate((n, zero, zero)), both, -both))
        most = np.concatenate(([-d], np.tile(np.concatenate((np.full(2, sine), np.full(6, gap))), 2)))
        worst = np.concatenate(([1.0], np.tile(np.concatenate((np.ones(2), np.full(6, 2.0))), 2)))
        given_up = worst - most
        A = np.hstack((rows, -np.outer(given_up, slopes)))
        variables = np.concatenate((v, u, w, chosen))
        prog.AddLinearConstraint(A, np.full(most.size, -np.inf), most + given_up * constant, variables)


def _triples(R: Objects, B: list[list[Objects]]) -> list[tuple[Objects, Objects, Objects, list[Objects]]]:
    """Each column and row with the two after it, going round, and the binary variables of its entries."""
    triples: list[Any] = []
    for k in range(3):
        following = [k, (k + 1) % 3, (k + 2) % 3]
        triples.append((*(R[:, i] for i in following), [B[i][k] for i in range(3)]))
        triples.append((*(R[i] for i in following), list(B[k])))
    return triples
