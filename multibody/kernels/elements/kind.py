"""A kind of force element: one record of functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

FINE = 0
NO_FORCE = 1  # a spring without length, or a bushing whose pitch is a quarter turn


@dataclass(frozen=True, eq=False)
class ForceElementKind:
    """One kind of force element: the forces that follow from positions and velocities, and their energy.

    The functions are kernels' helpers: loops over arrays and records of layout.py, of floats, complex numbers and
    expressions alike. They take the records `element`, which says on which mobods L0 and L1 or on which position and
    velocity it acts, and `constant`; whole vectors q and v; and the position and velocity records of all mobods. They
    return FINE, or NO_FORCE if this state has no force, before anything is added.

    Attributes:
        name: such as "door hinge".
        add_forces: (element, constant, q_in, v_in, position_in, velocity_in, tau_out, F_out) adds to the generalized
            forces, shape [num_v], and to the spatial forces on bodies, about their origins in W, shape [num_mobods, 6].
        add_energy: (element, constant, q_in, v_in, position_in, velocity_in, energy_out) adds the potential energy V
            [J], the conservative power P_c = -dV/dt [W] and the other power P_n [W], shape [3]; None if it has no
            potential energy.
        number: in element records, of those in the table; others get one when they are first used.
    """

    name: str
    add_forces: Callable[..., int]
    add_energy: Callable[..., int] | None = None
    number: int | None = None
