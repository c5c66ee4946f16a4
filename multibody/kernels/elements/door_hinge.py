"""A door hinge: spring, catch and friction on one revolute joint.

With s(x) = tanh(x) and the bump b(x) = 2 s (1 - s^2), half a catch c = catch_width / 2:

    tau = -k (q - q0) + catch_torque b((q - c) / c)
          - dynamic_friction s(v / threshold) - static_friction b(v / threshold) - d v      (1)
    V   = k ((q - q0)^2 - q0^2) / 2 - catch_torque c (s((q - c) / c)^2 - s(1)^2)            (2)

A catch of no width has no torque, a threshold of zero leaves only the viscous part of the friction. V(0) = 0.

Source: the description of the model in the documentation of Drake, DoorHinge.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.native import device
from merganser.multibody.kernels.elements.kind import FINE, ForceElementKind
from merganser.multibody.kernels.layout import DOOR_HINGE
from merganser.multibody.kernels.scalars import exceeds, hyperbolic_tangent
from merganser.multibody.kernels.spatial import Array


@device
def _bump(x: Any) -> Any:
    """b(x)."""
    s = hyperbolic_tangent(x)
    return 2.0 * s * (1.0 - s * s)


@device
def hinge_spring_torque(constant: Array, q: Any) -> Any:
    """The part of (1) that depends on q."""
    tau = -constant["stiffness"][0] * (q - constant["nominal"])
    if exceeds(constant["catch_width"], 0.0):
        c = 0.5 * constant["catch_width"]
        tau += constant["catch_torque"] * _bump((q - c) / c)
    return tau


@device
def hinge_friction_torque(constant: Array, v: Any) -> Any:
    """The part of (1) that depends on v."""
    tau = -constant["damping"][0] * v
    if exceeds(constant["motion_threshold"], 0.0):
        x = v / constant["motion_threshold"]
        tau -= constant["dynamic_friction"] * hyperbolic_tangent(x) + constant["static_friction"] * _bump(x)
    return tau


@device
def _hinge_energy(constant: Array, q: Any) -> Any:
    """Equation (2)."""
    energy = 0.5 * constant["stiffness"][0] * q * (q - 2.0 * constant["nominal"])
    if exceeds(constant["catch_width"], 0.0):
        c = 0.5 * constant["catch_width"]
        s, s_0 = hyperbolic_tangent((q - c) / c), np.tanh(1.0)
        energy -= constant["catch_torque"] * c * (s * s - s_0 * s_0)
    return energy


@device
def add_forces(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, tau_out: Array,
    F_out: Array,
) -> int:  # fmt: skip
    """Equation (1)."""
    tau_out[element["v"]] += hinge_spring_torque(constant, q_in[element["q"]])
    tau_out[element["v"]] += hinge_friction_torque(constant, v_in[element["v"]])
    return FINE


@device
def add_energy(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, energy_out: Array
) -> int:
    """Equation (2)."""
    q, v = q_in[element["q"]], v_in[element["v"]]
    energy_out[0] += _hinge_energy(constant, q)
    energy_out[1] += hinge_spring_torque(constant, q) * v
    energy_out[2] += hinge_friction_torque(constant, v) * v
    return FINE


KIND = ForceElementKind("door hinge", add_forces, add_energy, DOOR_HINGE)
