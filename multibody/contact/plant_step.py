"""What a discrete step of a plant does before the solver and after it, in one call each.

start_step     masses, and all that is to be held, as a contact problem (plant_problem.py)
end_step       from velocities and impulses to the next state (plant_forces.py)
calc_forces    the forces that led there, for readers of the step
"""

from __future__ import annotations

from merganser.framework.native import kernel
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.contact.contact_pairs import ContactPairs
from merganser.multibody.contact.plant_forces import calc_contact_forces, calc_next_state
from merganser.multibody.contact.plant_layout import ConstraintSources, PlantTrees, ProblemArrays, ProblemTrees
from merganser.multibody.contact.plant_problem import calc_contact_problem, calc_tree_matrices
from merganser.multibody.kernels.actuators import ERROR, FEEDFORWARD, VELOCITY_TARGET
from merganser.multibody.kernels.constraints.records import ConstraintRecords
from merganser.multibody.kernels.layout import Parameters, Positions, Scratch, Topology


@kernel
def start_step(
    # Model:
    plant: PlantTrees,
    parameters: Parameters,
    time_step: float,  # h [s]
    beta: float,  # near-rigid threshold of contacts
    # In:
    sources: ConstraintSources,  # its drives get their targets here
    drive_values_in: FloatTable,  # see kernels/drives.py
    q_in: Floats,
    v_in: Floats,
    x_star_in: Floats,  # state after the step without constraints
    position_in: Positions,
    # Work:
    scratch_work: Scratch,
    # Out: see calc_tree_matrices() and calc_contact_problem()
    trees_out: ProblemTrees,  # all but v_star
    problem_out: ProblemArrays,
) -> None:
    """Makes the trees, computes A, and writes the constraints."""
    size = 0
    for t in range(plant.trees.shape[0]):
        trees_out.trees[t] = plant.trees[t]
        size += plant.trees[t]["num_v"] * plant.trees[t]["num_v"]
    for k in range(v_in.shape[0]):
        trees_out.v[k] = v_in[k]
    counts = trees_out.counts[0]
    counts["trees"], counts["velocities"], counts["matrix"] = plant.trees.shape[0], v_in.shape[0], size
    for n in range(sources.drives.shape[0]):
        drive, values = sources.drives[n], drive_values_in[n]
        drive["error"], drive["v_desired"] = -values[ERROR], values[VELOCITY_TARGET]
        drive["feedforward"] = values[FEEDFORWARD]
    calc_tree_matrices(
        plant.topology, parameters, plant.trees, plant.of_mobod, time_step, position_in, scratch_work,
        trees_out.matrix[:size], trees_out.is_locked,
    )  # fmt: skip
    v_star = x_star_in[q_in.shape[0] :]
    calc_contact_problem(plant, time_step, beta, parameters, sources, q_in, v_in, v_star, position_in, problem_out)


@kernel
def end_step(
    # Model:
    topology: Topology,
    time_step: float,
    # In:
    q_in: Floats,
    v_next_in: Floats,
    impulses_in: Floats,  # those of PD controllers come last
    controlled: Integers,  # the actuator of each controller
    # Out:
    x_next_out: Floats,  # [q+; v+]
    u_io: Floats,  # efforts of all actuators
) -> None:
    """Computes the next state, and the efforts of controllers."""
    calc_next_state(topology, time_step, q_in, v_next_in, x_next_out)
    first = impulses_in.shape[0] - controlled.shape[0]
    for n in range(controlled.shape[0]):
        u_io[controlled[n]] = impulses_in[first + n] / time_step


@kernel
def calc_forces(
    # Model:
    plant: PlantTrees,
    rows: ConstraintRecords,  # of the constraints between bodies and coordinates
    time_step: float,
    # In: as start_step() and the solver have left it
    F_applied_in: FloatTable,  # forces on the bodies from elsewhere, shape [num_mobods, 6]
    position_in: Positions,
    v_next_in: Floats,
    contact_pairs_in: ContactPairs,
    problem_in: ProblemArrays,
    impulses_in: Floats,
    # Out:
    F_Bo_W_out: FloatTable,  # all forces on the bodies, shape [num_mobods, 6]
    tau_contact_out: Floats,  # generalized forces of contacts, shape [num_v]
    tau_joints_out: Floats,  # generalized forces of joint limits and constraints of coordinates, shape [num_v]
    forces_out: FloatTable,  # of each contact pair, see plant_layout.py
    row_forces_out: FloatTable,  # of each of the rows, shape [num_own_rows, 6]
) -> None:
    """Computes what a step reports."""
    for i in range(F_Bo_W_out.shape[0]):
        for k in range(6):
            F_Bo_W_out[i, k] = F_applied_in[i, k]
    calc_contact_forces(
        plant, rows, time_step, position_in, v_next_in, contact_pairs_in, problem_in, impulses_in,
        F_Bo_W_out, tau_contact_out, tau_joints_out, forces_out, row_forces_out,
    )  # fmt: skip
