"""Force elements of a plant: springs and dampers between bodies and on joints, one record each.

Notation: see layout.py. The element acts between body L0 (with a point or frame A) and body L1 (with a point or frame
C), or on one joint with the position q and the velocity v. Forces are added to those on the bodies, about Bo in W, and
to the generalized forces. V is the potential energy, P_c and P_n the conservative and the other power. The equations of
each kind stand in its file of elements/.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.elements.bushing import add_bushing
from merganser.multibody.kernels.elements.kind import FINE
from merganser.multibody.kernels.elements.table import add_energy, add_forces
from merganser.multibody.kernels.layout import Constants, Elements, Positions, Velocities
from merganser.multibody.kernels.spatial import Array

__all__ = [
    "bushing_forces",
    "calc_bushing_forces",
    "calc_element_energies",
    "calc_force_elements",
    "element_energies",
    "force_elements",
]


@device
def calc_force_elements(
    # Model:
    elements: Elements,  # shape [num_elements], see layout.py
    constants_in: Constants,  # shape [num_elements]
    first: int,  # number of the first element to count
    end: int,  # number after that of the last one
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    v_in: Floats,  # generalized velocities, shape [num_v]
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    tau_in: Floats,  # other generalized forces, shape [num_v]
    F_applied_in: FloatTable,  # other spatial forces on B at Bo in W [N m, N], shape [num_mobods, 6]
    # Out:
    tau_out: Floats,  # tau_in and the forces of the elements, shape [num_v]; may be the same array
    F_out: FloatTable,  # F_applied_in and the forces of the elements, shape [num_mobods, 6]; may be the same array
) -> int:
    """Adds up the forces of a range of elements.

    Returns:
        0, or the number, counted from 1, of an element that has no forces. The forces of those before it have been
        added.
    """
    for k in range(tau_in.shape[0]):
        tau_out[k] = tau_in[k]
    for i in range(F_applied_in.shape[0]):
        for j in range(6):
            F_out[i, j] = F_applied_in[i, j]
    for i in range(first, end):
        status = add_forces(
            elements[i], constants_in[i], q_in, v_in, position_in, velocity_in, tau_out, F_out
        )
        if status != FINE:
            return i + 1
    return 0


@device
def calc_element_energies(
    # Model:
    elements: Array,  # shape [num_elements], see layout.py
    constants_in: Array,  # shape [num_elements]
    first: int,  # number of the first element to count
    end: int,  # number after that of the last one
    # In:
    q_in: Array,  # generalized positions, shape [num_q]
    v_in: Array,  # generalized velocities, shape [num_v]
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    # Out:
    energy_out: Array,  # V [J], P_c = -dV/dt [W] and P_n [W] of all elements together, shape [3]
) -> int:
    """Computes potential energy and powers; returns as calc_force_elements().

    All elements must have a potential energy, bushings equal force stiffnesses, which is not checked here.
    """
    for j in range(3):
        energy_out[j] = 0.0
    for i in range(first, end):
        if add_energy(elements[i], constants_in[i], q_in, v_in, position_in, velocity_in, energy_out) != FINE:
            return i + 1
    return 0


@device
def calc_bushing_forces(
    # Model:
    elements: Array,  # shape [num_elements], see layout.py
    constants_in: Array,  # shape [num_elements]
    number: int,  # of the bushing
    # In:
    position_in: Array,  # position records, shape [num_mobods]
    velocity_in: Array,  # velocity records, shape [num_mobods]
    # Out:
    F_out: Array,  # spatial forces on L0 and L1 about their origins, in W [N m, N], shape [2, 6]
) -> int:
    """Computes the forces of a bushing on its two bodies, see elements/bushing.py; returns as calc_force_elements()."""
    for i in range(2):
        for j in range(6):
            F_out[i, j] = 0.0
    status = add_bushing(elements[number], constants_in[number], position_in, velocity_in, F_out[0], F_out[1])
    return 0 if status == FINE else number + 1


force_elements = kernel(calc_force_elements)
element_energies = kernel(calc_element_energies)
bushing_forces = kernel(calc_bushing_forces)
