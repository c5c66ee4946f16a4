"""What a discrete step of a plant does before and after the solver, in one call each.

start_step    masses, and all that is to be held, as a contact problem (plant_problem.py)
end_step      from velocities and impulses to the next state, and the forces that led there (plant_forces.py)
next_state    the former alone
"""

from __future__ import annotations

from merganser.framework.native import kernel
from merganser.multibody.contact.layout import Array
from merganser.multibody.contact.plant_forces import calc_contact_forces, calc_next_state
from merganser.multibody.contact.plant_problem import calc_contact_problem, calc_tree_matrices

__all__ = ["end_step", "next_state", "start_step"]

next_state = kernel(calc_next_state)


@kernel
def start_step(
    # Model:
    topology: Array,  # shape [num_mobods], see kernels/layout.py
    parameters: Array,
    trees: Array,  # shape [num_trees], of tree_dtype
    tree_of_mobod: Array,
    tree_of_velocity: Array,
    materials: Array,  # of the geometries, of material_dtype
    limits: Array,  # of limit_dtype
    links: Array,  # of link_dtype
    drives: Array,  # of drive_dtype
    settings: Array,  # record of settings_dtype
    beta: float,  # near-rigid threshold of contacts
    # In:
    q_in: Array,
    v_in: Array,
    x_star_in: Array,  # state after the step without constraints
    position_in: Array,
    pairs_in: Array,
    contacts_in: Array,
    # Work:
    scratch_work: Array,
    # Out: see calc_tree_matrices() and calc_contact_problem()
    matrix_out: Array,
    is_locked_out: Array,
    constraints_out: Array,
    rows_out: Array,
    jacobian_out: Array,
    frames_out: Array,
    source_out: Array,
    counts_out: Array,
) -> None:
    """Computes A, and writes the constraints."""
    calc_tree_matrices(
        topology, parameters, trees, tree_of_mobod, settings["time_step"], position_in, scratch_work, matrix_out,
        is_locked_out,
    )  # fmt: skip
    calc_contact_problem(
        topology, trees, tree_of_mobod, tree_of_velocity, materials, limits, links, drives, settings, beta,
        q_in, v_in, x_star_in[q_in.shape[0] :], position_in, pairs_in, contacts_in,
        constraints_out, rows_out, jacobian_out, frames_out, source_out, counts_out,
    )  # fmt: skip


@kernel
def end_step(
    # Model:
    topology: Array,
    trees: Array,
    tree_of_mobod: Array,
    materials: Array,
    links: Array,
    time_step: float,
    # In: as start_step() and the solver have left it
    q_in: Array,
    v_next_in: Array,
    F_applied_in: Array,  # forces on the bodies from elsewhere, shape [num_mobods, 6]
    position_in: Array,
    pairs_in: Array,
    contacts_in: Array,
    constraints_in: Array,
    jacobian_in: Array,
    frames_in: Array,
    source_in: Array,
    counts_in: Array,
    impulses_in: Array,
    # Out:
    x_next_out: Array,  # [q+; v+]
    F_Bo_W_out: Array,  # all forces on the bodies, shape [num_mobods, 6]
    tau_contact_out: Array,  # generalized forces of contacts, shape [num_v]
    tau_links_out: Array,  # generalized forces of joint limits and couplers, shape [num_v]
    forces_out: Array,  # of each contact that moves something, see plant_layout.py
    kept_out: Array,  # these contacts
    geometries_out: Array,  # and their geometries, shape [num_kept, 2]
) -> None:
    """Computes the next state, and what there is to tell about the step."""
    calc_next_state(topology, time_step, q_in, v_next_in, x_next_out)
    for i in range(F_Bo_W_out.shape[0]):
        for k in range(6):
            F_Bo_W_out[i, k] = F_applied_in[i, k]
    calc_contact_forces(
        trees, tree_of_mobod, materials, links, time_step, position_in, v_next_in, pairs_in, contacts_in,
        constraints_in, jacobian_in, frames_in, source_in, counts_in, impulses_in,
        F_Bo_W_out, tau_contact_out, tau_links_out, forces_out,
    )  # fmt: skip
    for c in range(kept_out.shape[0]):
        contact, kept = contacts_in[source_in[c]], kept_out[c]
        kept["pair"], kept["depth"] = contact["pair"], contact["depth"]
        for k in range(3):
            kept["p_WC"][k] = contact["p_WC"][k]
            kept["nhat_BA_W"][k] = contact["nhat_BA_W"][k]
        geometries_out[c, 0], geometries_out[c, 1] = pairs_in[contact["pair"], 0], pairs_in[contact["pair"], 1]
