"""What armature and rotors add: an inertia r that mobilizers have beside those of bodies, on the diagonal of M.

    M_kk += r,   T += r / 2 sum_k v_k^2                                                   (1)

Mobilizers with one velocity have it, and balls, whose three velocities are w_FM_F: of these r exerts no forces of
velocity products, as w x r w = 0. With the motion V_PB_W across the mobilizer,

    sum_k v_k^2 = |V_PB_W|^2 / |H_PB_W[0]|^2 of one velocity, |w_PB_W|^2 of a ball.        (2)
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device
from merganser.multibody.kernels.spatial import Array, dot, rotational, translational

__all__ = ["power_of_rates", "square_of_rates"]


@device
def square_of_rates(node: Array, body: Array, V_PB_W: Array) -> Any:
    """Equation (2)."""
    w = rotational(V_PB_W)
    if node["num_v"] == 1:
        return _product(V_PB_W, V_PB_W) / _product(body["H_PB_W"][0], body["H_PB_W"][0])
    return dot(w, w)


@device
def power_of_rates(node: Array, body: Array, V_PB_W: Array, vdot_in: Array) -> Any:
    """sum_k v_k vdot_k."""
    H, start = body["H_PB_W"], node["v_start"]
    if node["num_v"] == 1:
        return _product(H[0], V_PB_W) / _product(H[0], H[0]) * vdot_in[start]
    power = 0.0 * V_PB_W[0]
    for k in range(node["num_v"]):
        power += dot(rotational(H[k]), rotational(V_PB_W)) * vdot_in[start + k]
    return power


@device
def _product(a: Array, b: Array) -> Any:
    return dot(rotational(a), rotational(b)) + dot(translational(a), translational(b))
