"""A spring against the rotation of a frame C of L1 from a frame A of L0, of stiffness k.

With the rotation from A to C by theta about the unit vector a, 0 <= theta <= pi,

    torque on C   t = -k theta a,   -t on A                                               (1)
    V = k theta^2 / 2,   P_c = t . w_AC                                                   (2)

as thetadot = a . w_AC. The kind is not in the table: few models have it.
"""

from __future__ import annotations

from merganser.multibody.kernels.elements.kind import FINE, ForceElementKind
from merganser.multibody.kernels.frames import axes_of, rotation_vector
from merganser.multibody.kernels.spatial import Array, add_spatial, dot, rotational, scaled, subtract


def add_forces(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, tau_out: Array,
    F_out: Array,
) -> int:  # fmt: skip
    """Equation (1)."""
    i, j = element["mobod_0"], element["mobod_1"]
    turn = rotation_vector(axes_of(position_in[i], constant["X_L0A"]), axes_of(position_in[j], constant["X_L1C"]))
    t, none = scaled(constant["stiffness"][0], turn), scaled(0.0, turn)
    add_spatial(F_out[i], t, none)
    add_spatial(F_out[j], scaled(-1.0, t), none)
    return FINE


def add_energy(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, energy_out: Array
) -> int:
    """Equations (2)."""
    i, j, k = element["mobod_0"], element["mobod_1"], constant["stiffness"][0]
    turn = rotation_vector(axes_of(position_in[i], constant["X_L0A"]), axes_of(position_in[j], constant["X_L1C"]))
    w_AC = subtract(rotational(velocity_in[j]["V_WB_W"]), rotational(velocity_in[i]["V_WB_W"]))
    energy_out[0] += 0.5 * k * dot(turn, turn)
    energy_out[1] -= k * dot(turn, w_AC)
    return FINE


BALL_SPRING = ForceElementKind("spring of a ball joint", add_forces, add_energy)
