"""A spring on the position of a joint, of stiffness k and nominal position q0:

    tau = -k (q - q0),   V = k (q - q0)^2 / 2                                               (1)
"""

from __future__ import annotations

from merganser.framework.native import device
from merganser.multibody.kernels.elements.kind import FINE, ForceElementKind
from merganser.multibody.kernels.layout import JOINT_SPRING
from merganser.multibody.kernels.spatial import Array


@device
def add_forces(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, tau_out: Array,
    F_out: Array,
) -> int:  # fmt: skip
    """Equation (1)."""
    tau_out[element["v"]] -= constant["stiffness"][0] * (q_in[element["q"]] - constant["nominal"])
    return FINE


@device
def add_energy(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, energy_out: Array
) -> int:
    """Equation (1)."""
    k, stretch = constant["stiffness"][0], q_in[element["q"]] - constant["nominal"]
    energy_out[0] += 0.5 * k * stretch * stretch
    energy_out[1] -= k * stretch * v_in[element["v"]]
    return FINE


KIND = ForceElementKind("joint spring", add_forces, add_energy, JOINT_SPRING)
