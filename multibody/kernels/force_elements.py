"""Force elements of a plant: springs and dampers between bodies and on joints, one record each.

Notation: see layout.py. The element acts between body L0 (with a point or frame A) and body L1 (with a point or frame
C), or on one joint with the position q and the velocity v. Forces are added to those on the bodies, about Bo in W, and
to the generalized forces. V is the potential energy, P_c and P_n the conservative and the other power. The equations of
each kind are in its file of elements/.

Derivatives of the forces of force elements by positions and velocities.

The generalized forces of the elements are tau_e = tau_J + sum_B J_B^T F_B, with F_B on body B at Bo in W and tau_J on
joints. The derivatives of J_B^T F_B with the components of F_B kept are part of those of inverse dynamics, where F_B is
one of the applied forces (inverse_dynamics_derivatives.py). The rest is computed here:

    dtau_e/dl = dtau_J/dl + sum_B J_B^T dF_B/dl                                             (1)

An element depends on the pose and the velocity of its bodies. With the notation of inverse_dynamics_derivatives.py, of
all bodies outboard of velocity l, and about O,

    dR_WB/dl = [w_l]x R_WB,    dp_WoBo/dl = v_l + w_l x p_OBo                               (2)
    dV/dl = S_l x V + a_l,     dV/dv_l = S_l                                                (3)

so that dF_B/dl follows from the forces of the elements, in one evaluation, by the complex step (lanes.py): no digit is
lost, and nothing but the elements is evaluated with complex numbers. So, unlike the kernels in __init__.py, this one
serves floats only.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable
from merganser.multibody.kernels.elements.bushing import add_bushing
from merganser.multibody.kernels.elements.kind import FINE
from merganser.multibody.kernels.elements.table import add_energy, add_forces
from merganser.multibody.kernels.inverse_dynamics import calc_generalized_forces
from merganser.multibody.kernels.layout import Constants, Elements, Positions, Topology, Velocities
from merganser.multibody.kernels.spatial import (
    Array,
    Vector3,
    add,
    cross,
    rotational,
    translational,
    vector,
)


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
    elements: Elements,  # shape [num_elements], see layout.py
    constants_in: Constants,  # shape [num_elements]
    first: int,  # number of the first element to count
    end: int,  # number after that of the last one
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    v_in: Floats,  # generalized velocities, shape [num_v]
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    # Out:
    energy_out: Floats,  # V [J], P_c = -dV/dt [W] and P_n [W] of all elements together, shape [3]
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
    elements: Elements,  # shape [num_elements], see layout.py
    constants_in: Constants,  # shape [num_elements]
    number: int,  # of the bushing
    # In:
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    # Out:
    F_out: FloatTable,  # spatial forces on L0 and L1 about their origins, in W [N m, N], shape [2, 6]
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


_STEP = 1e-100


@device
def calc_force_element_derivatives(
    # Model:
    topology: Topology,  # shape [num_mobods], see layout.py
    elements: Elements,  # shape [num_elements], see layout.py
    constants_in: Array,  # of complex numbers, as all that the elements are given here; shape [num_elements]
    # In:
    q_in: Floats,  # generalized positions, shape [num_q]
    v_in: Floats,  # generalized velocities, shape [num_v]
    position_in: Positions,  # position records, shape [num_mobods]
    velocity_in: Velocities,  # velocity records, shape [num_mobods]
    sensitivity_in: Array,  # as calc_inverse_dynamics_derivatives() leaves them, shape [num_mobods]
    # Work, of complex numbers:
    complex_position_work: Array,  # position records, shape [num_mobods]
    complex_velocity_work: Array,  # velocity records, shape [num_mobods]
    complex_numbers_work: Array,  # shape [2, num_q], for q and v
    complex_tau_work: Array,  # shape [2, num_v]
    complex_F_work: Array,  # shape [2, num_mobods, 6]
    # Work:
    F_work: Array,  # shape [2, num_mobods, 6]
    tau_work: Floats,  # shape [num_v]
    # Out:
    dtau_dq_out: FloatTable,  # derivatives of tau_e along the velocities, equation (1), shape [num_v, num_v]
    dtau_dv_out: FloatTable,  # derivatives of tau_e by v, shape [num_v, num_v]
) -> int:
    """Computes the derivatives of tau_e with J kept, equation (1).

    Returns:
        0, or the number of an element without forces, see calc_force_elements().
    """
    q, v = complex_numbers_work[0], complex_numbers_work[1]
    for k in range(q_in.shape[0]):
        q[k] = q_in[k]
    for k in range(v_in.shape[0]):
        v[k] = v_in[k]
    for i in range(topology.shape[0]):
        for r in range(3):
            complex_position_work[i]["p_WoBo_W"][r] = position_in[i]["p_WoBo_W"][r]
            for c in range(3):
                complex_position_work[i]["R_WB"][r, c] = position_in[i]["R_WB"][r, c]
        for j in range(6):
            complex_velocity_work[i]["V_WB_W"][j] = velocity_in[i]["V_WB_W"][j]
            complex_F_work[0, i, j] = 0.0
    for k in range(v_in.shape[0]):
        complex_tau_work[0, k] = 0.0
    for i in range(1, topology.shape[0]):
        node = topology[i]
        for k in range(node["num_v"]):
            l = node["v_start"] + k
            for by_velocity in range(2):
                # A spring on a joint acts on a single position, the rate of which is the velocity.
                if by_velocity == 1:
                    v[l] = complex(v_in[l], _STEP)
                elif node["num_v"] == 1:
                    q[node["q_start"]] = complex(q_in[node["q_start"]], _STEP)
                for body in range(i, node["subtree_end"]):
                    _move_body(
                        by_velocity, k, sensitivity_in[i], position_in[body], sensitivity_in[body],
                        complex_position_work[body], complex_velocity_work[body],
                    )  # fmt: skip
                status = calc_force_elements(
                    elements, constants_in, 0, elements.shape[0], q, v, complex_position_work, complex_velocity_work,
                    complex_tau_work[0], complex_F_work[0], complex_tau_work[1], complex_F_work[1],
                )  # fmt: skip
                if status != 0:
                    return status
                for body in range(topology.shape[0]):
                    for j in range(6):
                        F_work[0, body, j] = complex_F_work[1, body, j].imag / _STEP
                calc_generalized_forces(topology, position_in, F_work[0], F_work[1], tau_work)
                for r in range(v_in.shape[0]):
                    derivative = tau_work[r] + complex_tau_work[1, r].imag / _STEP
                    if by_velocity == 1:
                        dtau_dv_out[r, l] = derivative
                    else:
                        dtau_dq_out[r, l] = derivative
                if by_velocity == 1:
                    v[l] = v_in[l]
                elif node["num_v"] == 1:
                    q[node["q_start"]] = q_in[node["q_start"]]
            _stop_bodies(i, node["subtree_end"], position_in, velocity_in, complex_position_work, complex_velocity_work)
    return 0


@device
def _move_body(
    by_velocity: int, k: int, mover: Array, body: Array, motion: Array, moved_body: Array, moved_velocity: Array
) -> None:
    """Puts the derivatives (2) and (3) by velocity k of one mobod into the imaginary parts of a body outboard of it."""
    w, v = rotational(mover["S"][k]), translational(mover["S"][k])
    p = vector(motion["p_OBo_W"])
    if by_velocity == 1:
        dp, dw, dv = (0.0, 0.0, 0.0), w, v
        turn = (0.0, 0.0, 0.0)
    else:
        # dV/dl = S_l x V + a_l  (3)
        w_B, v_O = rotational(motion["V"]), translational(motion["V"])
        dw = add(cross(w, w_B), rotational(mover["a"][k]))
        dv = add(add(cross(w, v_O), cross(v, w_B)), translational(mover["a"][k]))
        dp, turn = add(v, cross(w, p)), w
    # Of v_Bo = v_O + w_B x p
    dv_Bo = add(add(dv, cross(dw, p)), cross(rotational(motion["V"]), dp))
    _set_imaginary(moved_body["p_WoBo_W"], 0, dp)
    _set_imaginary(moved_velocity["V_WB_W"], 0, dw)
    _set_imaginary(moved_velocity["V_WB_W"], 3, dv_Bo)
    for c in range(3):
        column = cross(turn, (body["R_WB"][0, c], body["R_WB"][1, c], body["R_WB"][2, c]))
        for r in range(3):
            moved_body["R_WB"][r, c] = complex(body["R_WB"][r, c], _STEP * column[r])


@device
def _set_imaginary(out: Array, start: int, a: Vector3) -> None:
    out[start] = complex(out[start].real, _STEP * a[0])
    out[start + 1] = complex(out[start + 1].real, _STEP * a[1])
    out[start + 2] = complex(out[start + 2].real, _STEP * a[2])


@device
def _stop_bodies(
    first: int, end: int, position_in: Array, velocity_in: Array, moved_position: Array, moved_velocity: Array
) -> None:
    """Takes the derivatives out of the bodies from `first` to `end`."""
    for i in range(first, end):
        for r in range(3):
            moved_position[i]["p_WoBo_W"][r] = position_in[i]["p_WoBo_W"][r]
            for c in range(3):
                moved_position[i]["R_WB"][r, c] = position_in[i]["R_WB"][r, c]
        for j in range(6):
            moved_velocity[i]["V_WB_W"][j] = velocity_in[i]["V_WB_W"][j]


force_element_derivatives = kernel(calc_force_element_derivatives)
