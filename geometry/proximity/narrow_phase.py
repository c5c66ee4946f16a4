"""Signed distance, normal and closest points of pairs of geometries."""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.geometry.proximity.closed_forms import solve_in_closed_form
from merganser.geometry.proximity.expanding_polytope import deepest
from merganser.geometry.proximity.layout import INEXACT, SOLVED, Hulls
from merganser.geometry.proximity.refine import refine
from merganser.geometry.proximity.vectors import Array, add, rotated, subtract, unit

__all__ = ["set_relative_pose", "signed_distances", "solve_pair"]


@device
def set_relative_pose(X_WG: Array, i: int, j: int, X_AB: Array) -> None:
    """X_AB = X_WA^-1 X_WB of geometries A (i) and B (j); the difference comes first, so that offsets do not matter."""
    for r in range(3):
        for c in range(3):
            X_AB[3 * r + c] = (
                X_WG[i, 0, r] * X_WG[j, 0, c] + X_WG[i, 1, r] * X_WG[j, 1, c] + X_WG[i, 2, r] * X_WG[j, 2, c]
            )
        X_AB[9 + r] = (
            X_WG[i, 0, r] * (X_WG[j, 0, 3] - X_WG[i, 0, 3])
            + X_WG[i, 1, r] * (X_WG[j, 1, 3] - X_WG[i, 1, 3])
            + X_WG[i, 2, r] * (X_WG[j, 2, 3] - X_WG[i, 2, 3])
        )


@device
def solve_pair(a: Array, b: Array, hulls: Hulls, work: Array) -> int:
    """Writes the solution for the cores of A and B, posed by X_AB, into `work`; returns a status."""
    status = solve_in_closed_form(a, b, hulls, work)
    if status >= 0:
        return status
    X_AB = work.X_AB
    center_A = (a.center_0, a.center_1, a.center_2)
    center_B = add(rotated(X_AB, (b.center_0, b.center_1, b.center_2)), (X_AB[9], X_AB[10], X_AB[11]))
    solved = refine(a, b, hulls, work, unit(subtract(center_B, center_A)))
    if work.value < 0.0:
        return SOLVED if solved else INEXACT
    return deepest(a, b, hulls, work)


@device
def write_result(a: Array, b: Array, X_WG: Array, i: int, work: Array, out: Array) -> None:
    """Adds the rounding radii to the solution, and turns it to the world."""
    out.distance = -work.value - a.radius - b.radius
    for r in range(3):
        n_W = X_WG[i, r, 0] * work.normal[0] + X_WG[i, r, 1] * work.normal[1] + X_WG[i, r, 2] * work.normal[2]
        p_A = X_WG[i, r, 0] * work.p_ACa[0] + X_WG[i, r, 1] * work.p_ACa[1] + X_WG[i, r, 2] * work.p_ACa[2]
        p_B = X_WG[i, r, 0] * work.p_ACb[0] + X_WG[i, r, 1] * work.p_ACb[1] + X_WG[i, r, 2] * work.p_ACb[2]
        out.nhat_BA_W[r] = -n_W
        out.p_WCa[r] = X_WG[i, r, 3] + p_A + a.radius * n_W
        out.p_WCb[r] = X_WG[i, r, 3] + p_B - b.radius * n_W


@kernel
def signed_distances(
    # Model:
    geometries: Array,  # geometry_dtype, shape [num_geometries]
    hulls: Hulls,
    # In:
    X_WG: Array,  # shape [num_geometries, 4, 4]
    pairs: Array,  # rows of geometries, shape [>= num_pairs, 2]
    num_pairs: int,
    # Work:
    work: Array,  # work_dtype, shape [1]
    # Out:
    results_out: Array,  # distance_dtype, shape [>= num_pairs]
) -> None:
    """Signed distance, normal and closest points of each pair."""
    w = work[0]
    for k in range(num_pairs):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = geometries[i], geometries[j]
        set_relative_pose(X_WG, i, j, w.X_AB)
        status = solve_pair(a, b, hulls, w)
        results_out[k].status = status
        write_result(a, b, X_WG, i, w, results_out[k])
