"""A spring and damper on one joint whose force is a polynomial of x = q - q0, and of the speed:

    tau = -(k1 x + k2 x^2 + k3 x^3) - (d1 v + d2 v |v| + d3 v^3)                                (1)
    V = k1 x^2 / 2 + k2 x^3 / 3 + k3 x^4 / 4

The even term of the spring pulls to the same side everywhere, that of the damper brakes.
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native import device
from merganser.framework.native.memory.by_value import select
from merganser.multibody.kernels.elements.kind import FINE, ForceElementKind
from merganser.multibody.kernels.scalars import equals, real_part
from merganser.multibody.kernels.spatial import Array


@device
def _force_of_spring(constant: Array, x: Any) -> Any:
    k = constant["stiffness"]
    return -x * (k[0] + x * (k[1] + x * k[2]))


@device
def _force_of_damper(constant: Array, v: Any) -> Any:
    d = constant["damping"]
    size = v if equals(d[1], 0.0) else select(real_part(v) > 0.0, v, -v)
    return -v * (d[0] + size * (d[1] + size * d[2]))


@device
def _add_forces(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, tau_out: Array,
    F_out: Array,
) -> int:  # fmt: skip
    """Equation (1)."""
    tau_out[element["v"]] += _force_of_spring(constant, q_in[element["q"]] - constant["nominal"])
    tau_out[element["v"]] += _force_of_damper(constant, v_in[element["v"]])
    return FINE


@device
def _add_energy(
    element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array, energy_out: Array
) -> int:
    """Equation (1)."""
    k, x, v = constant["stiffness"], q_in[element["q"]] - constant["nominal"], v_in[element["v"]]
    energy_out[0] += x * x * (k[0] / 2.0 + x * (k[1] / 3.0 + x * k[2] / 4.0))
    energy_out[1] += _force_of_spring(constant, x) * v
    energy_out[2] += _force_of_damper(constant, v) * v
    return FINE


POLYNOMIAL_SPRING = ForceElementKind("polynomial spring", _add_forces, _add_energy)
