"""Curvilinear: M moves along a planar path of lines and arcs.

With q the distance along the path [m], s_i where segment i starts, X_FM_i the pose of M there, rho_i its turning rate
[1/m], d = q - s_i and theta = rho_i d, M has turned about Mz by theta:

    R_MiM    = Rz(theta)                                                            (1)
    p_MiM_Mi = [sin(theta) / rho_i, 2 sin^2(theta / 2) / rho_i, 0]                  (2)   ([d, 0, 0] on a line)
    w_FM     = rho_i M_2 v,   v_FMo = M_0 v                                         (3)

Mx is the tangent of the path, Mz its normal. Beyond its ends the path goes on with the curvature of the last or first
segment; if it closes on itself, q counts modulo its length. As the tangent turns with M, the bias at Mo is

    Hdot v = [0; w_FM x v_FMo]                                                      (4)

The segments are records of `parameters` behind those of the mobods, see layout.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.layout import CURVILINEAR
from merganser.multibody.kernels.mobilizers.kind import MobilizerKind
from merganser.multibody.kernels.mobilizers.motion import ORIGIN, add_bias_at_Mo, axis_of_M, set_row
from merganser.multibody.kernels.scalars import floor_of, real_part
from merganser.multibody.kernels.spatial import Array, column, cross, rotational, scaled, set_vector


@device
def set_pose(node: Array, fixed: Array, parameters: Array, q_in: Array, R_FM: Array, p_FoMo_F: Array) -> None:
    """Equations (1) and (2)."""
    s = _within_period(fixed, q_in[node["q_start"]])
    segment = parameters[_find_segment(node, parameters, real_part(s))]
    d = s - segment["arc_start"]
    rho = segment["turning_rate"]
    sin_theta, cos_theta = np.sin(rho * d), np.cos(rho * d)
    # R_MiM and p_MiM_Mi  (1), (2)
    along, across = d, 0.5 * rho * d * d  # to first order in rho
    if real_part(rho) != 0.0:
        half = np.sin(0.5 * rho * d)
        along, across = sin_theta / rho, 2.0 * half * half / rho
    x, y, z = column(segment["R_PF"], 0), column(segment["R_PF"], 1), column(segment["R_PF"], 2)
    p = segment["p_PoFo_P"]
    for r in range(3):
        set_vector(R_FM[r], (x[r] * cos_theta + y[r] * sin_theta, y[r] * cos_theta - x[r] * sin_theta, z[r]))
        p_FoMo_F[r] = p[r] + x[r] * along + y[r] * across


@device
def set_axes(node: Array, fixed: Array, parameters: Array, q_in: Array, body: Array) -> None:
    """Equation (3)."""
    s = _within_period(fixed, q_in[node["q_start"]])
    rho = parameters[_find_segment(node, parameters, real_part(s))]["turning_rate"]
    set_row(body, 0, scaled(rho, axis_of_M(2, fixed, body)), axis_of_M(0, fixed, body))


@device
def add_bias(
    node: Array, fixed: Array, parameters: Array, q_in: Array, v_in: Array, body: Array, Ab_WB_W: Array
) -> None:
    """Equation (4)."""
    v = v_in[node["v_start"]]
    w_FM, v_FMo = scaled(v, rotational(body["H_PB_W"][0])), scaled(v, axis_of_M(0, fixed, body))
    add_bias_at_Mo(body, ORIGIN, cross(w_FM, v_FMo), Ab_WB_W)


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


KIND = MobilizerKind("curvilinear", ("q",), ("v",), set_pose, set_axes, add_bias, number=CURVILINEAR)
