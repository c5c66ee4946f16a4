"""A force on a point P of a body that is the same wherever that is.

    f_P_W = f,   V = -f . p_WP                                                              (1)

The constants are: the last column of `X_L0A` = p_BoP_B, column 0 of `X_L1C` = f.
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.elements.kind import FINE, ForceElementKind
from merganser.multibody.kernels.frames import arm_of, point_of, push, velocity_of
from merganser.multibody.kernels.spatial import Array, column, dot, scaled


@device
def _add_forces(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, tau_out: Array,
    F_out: Array,
) -> int:  # fmt: skip
    """Equation (1)."""
    body, f = position_in[element["mobod_0"]], column(constant["X_L1C"], 0)
    push(F_out[element["mobod_0"]], arm_of(body, constant["X_L0A"]), scaled(0.0, f), f)
    return FINE


@device
def _add_energy(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, energy_out: Array
) -> int:
    """Equation (1)."""
    body, f = position_in[element["mobod_0"]], column(constant["X_L1C"], 0)
    V_WB_W = velocity_in[element["mobod_0"]]["V_WB_W"]
    energy_out[0] -= dot(f, point_of(body, constant["X_L0A"]))
    energy_out[1] += dot(f, velocity_of(V_WB_W, arm_of(body, constant["X_L0A"])))
    return FINE


CONSTANT_FORCE = ForceElementKind("constant force", _add_forces, _add_energy)
