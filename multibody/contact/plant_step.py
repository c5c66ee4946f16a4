"""What a discrete step of a plant does before and after the solver, in one call each.

start_step    masses, and all that is to be held, as a contact problem (plant_problem.py)
end_step      from velocities and impulses to the next state, and the forces that led there (plant_forces.py)
next_state    the former alone
"""

from __future__ import annotations

from merganser.framework.native import kernel
from merganser.multibody.contact.layout import Array
from merganser.multibody.contact.plant_forces import calc_contact_forces, calc_next_state
from merganser.multibody.contact.plant_layout import ConstraintSources, PlantTrees, ProblemArrays
from merganser.multibody.contact.plant_problem import calc_contact_problem, calc_tree_matrices

__all__ = ["end_step", "next_state", "start_step"]

next_state = kernel(calc_next_state)


@kernel
def start_step(
    # Model:
    plant: PlantTrees,
    parameters: Array,
    settings: Array,  # record of settings_dtype
    beta: float,  # near-rigid threshold of contacts
    # In:
    sources: ConstraintSources,
    q_in: Array,
    v_in: Array,
    x_star_in: Array,  # state after the step without constraints
    position_in: Array,
    # Work:
    scratch_work: Array,
    # Out: see calc_tree_matrices() and calc_contact_problem()
    matrix_out: Array,
    is_locked_out: Array,
    problem_out: ProblemArrays,
) -> None:
    """Computes A, and writes the constraints."""
    calc_tree_matrices(
        plant.topology, parameters, plant.trees, plant.of_mobod, settings["time_step"], position_in, scratch_work,
        matrix_out, is_locked_out,
    )  # fmt: skip
    v_star = x_star_in[q_in.shape[0] :]
    calc_contact_problem(plant, settings, beta, sources, q_in, v_in, v_star, position_in, problem_out)


@kernel
def end_step(
    # Model:
    plant: PlantTrees,
    links: Array,
    time_step: float,
    # In: as start_step() and the solver have left it
    q_in: Array,
    v_next_in: Array,
    F_applied_in: Array,  # forces on the bodies from elsewhere, shape [num_mobods, 6]
    position_in: Array,
    contact_pairs_in: Array,
    problem_in: ProblemArrays,
    impulses_in: Array,
    # Out:
    x_next_out: Array,  # [q+; v+]
    F_Bo_W_out: Array,  # all forces on the bodies, shape [num_mobods, 6]
    tau_contact_out: Array,  # generalized forces of contacts, shape [num_v]
    tau_links_out: Array,  # generalized forces of joint limits and couplers, shape [num_v]
    forces_out: Array,  # of each contact pair, see plant_layout.py
) -> None:
    """Computes the next state, and what there is to tell about the step."""
    calc_next_state(plant.topology, time_step, q_in, v_next_in, x_next_out)
    for i in range(F_Bo_W_out.shape[0]):
        for k in range(6):
            F_Bo_W_out[i, k] = F_applied_in[i, k]
    calc_contact_forces(
        plant, links, time_step, position_in, v_next_in, contact_pairs_in, problem_in, impulses_in,
        F_Bo_W_out, tau_contact_out, tau_links_out, forces_out,
    )  # fmt: skip
