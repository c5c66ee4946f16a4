"""Products x y in mixed-integer linear programs, by the convex hull of the surface over rectangles.

The ranges of x and y are cut at phi_x and phi_y. Over each rectangle the convex hull of z = x y is a tetrahedron
(McCormick 1976), whose corners have the weights lambda:

    x = phi_x . rows,   y = phi_y . columns,   w = sum_ij phi_x[i] phi_y[j] lambda[i, j],                          (1)

where rows and columns are the sums of lambda, of which two neighbours are not 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.optimization.arrays import Array, Objects, objects, vector
from merganser.framework.optimization.formulations.special_ordered_sets import (
    IntervalBinning,
    Weights,
    add_sos2,
    codes_of_intervals,
)
from merganser.framework.optimization.programs.program import MathematicalProgram


def AddBilinearProductMcCormickEnvelopeSos2(
    prog: MathematicalProgram,
    x: Any,
    y: Any,
    w: Any,
    phi_x: Any,
    phi_y: Any,
    Bx: Any,
    By: Any,
    binning: IntervalBinning,
) -> Objects:
    """Adds that (x, y, w) is in one of the tetrahedra that contain the surface w = x y: (1).

    Args:
        prog: the program.
        x, y: variables.
        w: a variable or an affine expression.
        phi_x, phi_y: ends of the intervals, ascending, shapes [m] and [n].
        Bx, By: binary variables that select the intervals of x and of y: m - 1 of them by kLinear, as many as digits by
            kLogarithmic. That they are 0 or 1 is not added.
        binning: how they select them.

    Returns:
        The weights of the corners, new variables of shape [m, n].

    Raises:
        ValueError: ends do not ascend, or there is another number of binary variables.
    """
    where = "AddBilinearProductMcCormickEnvelopeSos2"
    ends = [_ends(phi, f"phi_{name}", where) for phi, name in ((phi_x, "x"), (phi_y, "y"))]
    chosen = [objects(B) for B in (Bx, By)]
    for phi, B, name in zip(ends, chosen, "xy"):
        count = phi.size - 1
        wanted = count if binning is IntervalBinning.kLinear else codes_of_intervals(count).shape[1]
        if B.size != wanted:
            raise ValueError(
                f"{where}: expected {wanted} binary variables in B{name} for {count} intervals, {binning.name}; got "
                f"{B.size}."
            )
    m, n = (phi.size for phi in ends)
    corners = prog.NewContinuousVariables(m, n, "lambda")
    flat = corners.ravel()
    prog.AddBoundingBoxConstraint(0.0, 1.0, flat)
    sums: list[Array] = [np.repeat(np.eye(m), n, axis=1), np.tile(np.eye(n), m)]
    for S, B in zip(sums, chosen):
        add_sos2(prog, Weights(S, np.zeros(S.shape[0]), flat), B, binning)
    product = Weights.of([w], where)
    of_w = np.zeros((3, product.v.size))
    of_w[2] = product.S[0]
    of_xy = np.eye(3, 2)
    of_corners = -np.vstack((ends[0] @ sums[0], ends[1] @ sums[1], np.kron(ends[0], ends[1])))
    prog.AddLinearEqualityConstraint(
        np.hstack((of_xy, of_w, of_corners)),
        [0.0, 0.0, -product.s[0]],
        np.concatenate((objects([x, y]), product.v, flat)),
    )
    return corners


def _ends(phi: Any, name: str, where: str) -> Array:
    ends = vector(phi, where, name)
    if ends.size < 2 or not (np.diff(ends) > 0.0).all() or not np.isfinite(ends).all():
        raise ValueError(f"{where}: expected at least two finite numbers in {name} that ascend, got {ends}.")
    return ends
