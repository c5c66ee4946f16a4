"""Common code of fluid forces: all but how the force follows from the motion of a frame G against the fluid.

They read the same constants: `X_L0A` = X_BG; the last column of `X_L1C` is the velocity of the fluid in the world, the
others are vectors of their own; and `constants` begin with the density and the viscosity of the fluid.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from merganser.framework.native import device
from merganser.multibody.kernels.elements.kind import FINE, ForceElementKind
from merganser.multibody.kernels.frames import Axes, arm_of, axes_of, combine, express, push, velocity_of
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    column,
    dot,
    rotational,
    subtract,
)


def make_fluid_kind(name: str, forces_in_fluid: Callable[..., Any]) -> ForceElementKind:
    """A kind of force of a fluid; it is not in the table, as few models have it.

    Args:
        name: of the kind.
        forces_in_fluid: a device function (constant, w, v) that returns the torque t and the force f at Go, from the
            velocities w_WG and v_WGo less that of the fluid, all expressed in G.
    """

    def add_forces(
        element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array,
        tau_out: Array, F_out: Array,
    ) -> int:  # fmt: skip
        G, p, w, v = _motion_in_fluid(element, constant, position_in, velocity_in)
        t_G, f_G = forces_in_fluid(constant, w, v)
        push(F_out[element["mobod_0"]], p, combine(G, t_G), combine(G, f_G))
        return FINE

    def add_energy(
        element: Array, constant: Array, q_in: Array, v_in: Array, position_in: Array, velocity_in: Array,
        energy_out: Array,
    ) -> int:  # fmt: skip
        # There is no potential energy. The velocity of the body is v and that of the fluid.
        G, _, w, v = _motion_in_fluid(element, constant, position_in, velocity_in)
        t, f = forces_in_fluid(constant, w, v)
        energy_out[2] += dot(t, w) + dot(f, add(v, express(G, column(constant["X_L1C"], 3))))
        return FINE

    return ForceElementKind(name, add_forces, add_energy)


@device
def _motion_in_fluid(
    element: Array, constant: Array, position_in: Array, velocity_in: Array
) -> tuple[Axes, Vector3, Vector3, Vector3]:
    """The axes of G in W, p_BoGo_W, and w_WG_G and v_WGo_G less the velocity of the fluid."""
    body, V = position_in[element["mobod_0"]], velocity_in[element["mobod_0"]]["V_WB_W"]
    G, p = axes_of(body, constant["X_L0A"]), arm_of(body, constant["X_L0A"])
    v = subtract(velocity_of(V, p), column(constant["X_L1C"], 3))
    return G, p, express(G, rotational(V)), express(G, v)
