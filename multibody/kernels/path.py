"""Planar paths of lines and arcs, along which curvilinear mobilizers move: see layout.py for their records.

With s the distance along the path, s_i where segment i starts, X_FM_i the pose of M there, rho_i its turning rate,
d = s - s_i and theta = rho_i d, M has turned about Mz by theta:

    R_MiM    = Rz(theta)                                                        (1)
    p_MiM_Mi = [sin(theta) / rho_i, 2 sin^2(theta / 2) / rho_i, 0]              (2)   ([d, 0, 0] on a line)

Mx is the tangent of the path, Mz its normal: dp/ds = Mx, and M turns by rho_i Mz for each metre. Beyond its ends the
path goes on with the curvature of the last or first segment; if it closes on itself, s counts modulo its length.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.scalars import floor_of, real_part
from merganser.multibody.kernels.spatial import Array, Vector3, column, set_vector

__all__ = ["place_on_path", "turning_rate"]


@device
def turning_rate(fixed: Array, node: Array, parameters: Array, s: Any) -> Any:
    """rho at the distance s along the path of a mobod [1/m]."""
    return parameters[_find_segment(node, parameters, real_part(_within_period(fixed, s)))]["turning_rate"]


@device
def place_on_path(fixed: Array, node: Array, parameters: Array, s: Any, R_FM: Array) -> Vector3:
    """Writes R_FM at the distance s along the path of a mobod, and returns p_FoMo_F: equations (1) and (2)."""
    s = _within_period(fixed, s)
    segment = parameters[_find_segment(node, parameters, real_part(s))]
    d = s - segment["arc_start"]
    rho = segment["turning_rate"]
    sin_theta, cos_theta = np.sin(rho * d), np.cos(rho * d)
    # R_MiM and p_MiM_Mi  (1), (2)
    along, across = d, 0.0 * d
    if real_part(rho) != 0.0:
        half = np.sin(0.5 * rho * d)
        along, across = sin_theta / rho, 2.0 * half * half / rho
    x, y, z = column(segment["R_PF"], 0), column(segment["R_PF"], 1), column(segment["R_PF"], 2)
    p = segment["p_PoFo_P"]
    for r in range(3):
        set_vector(R_FM[r], (x[r] * cos_theta + y[r] * sin_theta, y[r] * cos_theta - x[r] * sin_theta, z[r]))
    return (
        p[0] + x[0] * along + y[0] * across,
        p[1] + x[1] * along + y[1] * across,
        p[2] + x[2] * along + y[2] * across,
    )


@device
def _within_period(fixed: Array, s: Any) -> Any:
    """s modulo the length of a path that closes on itself, s of any other path."""
    period = real_part(fixed["pitch"])
    if period > 0.0:
        return s - period * floor_of(real_part(s) / period)
    return s - 0.0


@device
def _find_segment(node: Array, parameters: Array, s: float) -> int:
    """The number of the parameter record of the segment on which s lies, by bisection."""
    first, end = node["path_start"], node["path_end"]
    while end - first > 1:
        middle = (first + end) // 2
        if s >= real_part(parameters[middle]["arc_start"]):
            first = middle
        else:
            end = middle
    return first
