"""How the solution of a step follows state, inputs and parameters, by the implicit function theorem.

At the solution v+ of a step the momentum balance holds for all theta on which it depends,

    r(v+; theta) = A (v+ - v*) - J^T gamma(J v+ + b; theta) = 0                              (1)

with A, J, v*, and all numbers of the laws functions of theta: gaps, points, normals and shares of stiffness follow the
poses, and the compliance w of a constraint (regularization.py) follows A and J. So

    dv+ = -H^-1 dr,   H = A + J^T G J,   G = -dgamma/dv_c                                    (2)

with dr the differential of r at constant v+. The kernels below are those of a step, written once, run with complex
numbers that carry derivatives in their imaginary parts (kernels/lanes.py tells what is in a lane):

    problem_lanes      A, the constraints and the numbers of their laws
    impulse_lanes     gamma, G and r, at velocities that carry derivatives or do not
    result_lanes      the next state, and the forces that led there

impulse_lanes is called twice: with v+ as numbers for (2), then with dv+ for the derivatives of gamma.

H is symmetric, but for TAMSI, and where velocities are locked. Where a contact just begins or ends, just begins to
slide, or an impulse is just at a bound, r has a kink: derivatives are then those of one side.

Sources: the implicit function theorem, as A. Castro, F. Permenter, X. Han (2022) propose for gradients of SAP.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, kernel
from merganser.framework.native.by_value import of_scalar
from merganser.multibody.contact.contact_pairs import contact_pair_dtype
from merganser.multibody.contact.islands import find_islands
from merganser.multibody.contact.layout import CONTACT, Array, Problem, constraint_dtype, row_dtype
from merganser.multibody.contact.plant_forces import calc_contact_forces, calc_next_state
from merganser.multibody.contact.plant_layout import ConstraintSources, PlantTrees, ProblemArrays, drive_dtype
from merganser.multibody.contact.plant_problem import calc_contact_problem, calc_tree_matrices
from merganser.multibody.contact.potential import calc_impulses
from merganser.multibody.contact.products import add_row, block_of, multiply_matrix, multiply_rows, num_ends
from merganser.multibody.contact.regularization import calc_compliance, calc_laws
from merganser.multibody.contact.solver import add_bias, copy_free_part, has_locked
from merganser.multibody.contact.tamsi import calc_tamsi_impulses
from merganser.multibody.contact.work_arrays import HESSIAN_SIZE, Reduction, carve_islands

__all__ = [
    "constraint_lanes_dtype",
    "contact_pair_lanes_dtype",
    "dense_hessian",
    "dense_jacobian",
    "drive_lanes_dtype",
    "impulse_lanes",
    "problem_lanes",
    "result_lanes",
    "row_lanes_dtype",
]

Matrix = NDArray[Any]

constraint_lanes_dtype = of_scalar(constraint_dtype, np.complex128)
row_lanes_dtype = of_scalar(row_dtype, np.complex128)
contact_pair_lanes_dtype = of_scalar(contact_pair_dtype, np.complex128)
drive_lanes_dtype = of_scalar(drive_dtype, np.complex128)


# ---------------------------------------------------------------------- one lane of a step


@device
def calc_problem_lanes(
    # Model:
    plant: PlantTrees,
    settings: Array,  # record of settings_dtype
    time_step: float,
    beta: float,  # near-rigid threshold of contacts
    limits: Array,  # records of limit_dtype
    frictions: Array,  # records of friction_dtype
    rows: Array,  # of the constraints between bodies and coordinates
    sizes: Array,  # how many constraints and rows there are, integers
    parameters: Array,
    # In:
    contact_pairs_in: Array,  # of contact_pair_lanes_dtype
    drives_in: Array,  # of drive_lanes_dtype
    q_in: Array,
    v_in: Array,
    v_star_in: Array,
    position_in: Array,
    # Work:
    scratch_work: Array,
    integer_work: Array,  # integers, shape [integer_workspace_size(num_v, num_trees, num_constraints, 0)]
    compliance_work: Array,  # shape [>= num_rows]
    velocity_work: Array,  # shape [>= num_rows]
    vector_work: Array,  # shape [num_v]
    # Out:
    is_locked_out: Array,  # integers, shape [num_v]
    counts_out: Array,  # integers, see plant_layout.py
    matrix_out: Array,  # A
    free_matrix_out: Array,  # A without what belongs to locked velocities
    constraints_out: Array,  # of constraint_lanes_dtype; these, rows and blocks of J with room for as many as may be
    rows_out: Array,  # of row_lanes_dtype
    jacobian_out: Array,
    free_jacobian_out: Array,  # J without the columns of locked velocities
    law_out: Array,  # shape [>= LAW_SIZE num_rows]
    values_out: Array,  # of each of the rows
) -> int:
    """Writes the problem of a step; returns 0, or 1 if it has not as many constraints and rows as are told."""
    calc_tree_matrices(
        plant.topology, parameters, plant.trees, plant.of_mobod, time_step, position_in, scratch_work, matrix_out,
        is_locked_out,
    )  # fmt: skip
    sources = ConstraintSources(contact_pairs_in, limits, frictions, rows, drives_in)
    problem_out = ProblemArrays(constraints_out, rows_out, jacobian_out, counts_out, values_out)
    calc_contact_problem(plant, time_step, beta, parameters, sources, q_in, v_in, v_star_in, position_in, problem_out)
    num_constraints, num_rows = sizes[0], sizes[1]
    if counts_out[0] != num_constraints or counts_out[1] != num_rows:
        return 1
    constraints, problem_rows = constraints_out[:num_constraints], rows_out[:num_rows]
    jacobian = jacobian_out[: counts_out[2]]
    given = Problem(settings, plant.trees, matrix_out, constraints, jacobian)
    for k in range(matrix_out.shape[0]):
        free_matrix_out[k] = matrix_out[k]
    for k in range(counts_out[2]):
        free_jacobian_out[k] = jacobian[k]
    if has_locked(is_locked_out):
        copy_free_part(given, is_locked_out, Reduction(compliance_work, free_matrix_out, free_jacobian_out))
    problem = Problem(settings, plant.trees, free_matrix_out, constraints, free_jacobian_out[: counts_out[2]])
    calc_compliance(problem, vector_work, compliance_work)
    islands = carve_islands(plant.trees.shape[0], num_constraints, integer_work)
    num_islands = find_islands(constraints, plant.trees.shape[0], islands)
    _calc_row_velocities(given, v_in, velocity_work)
    add_bias(problem_rows, velocity_work)
    for i in range(num_islands):
        chosen = islands.constraint_order[islands.constraint_start[i] : islands.constraint_start[i + 1]]
        calc_laws(problem, time_step, chosen, problem_rows, compliance_work, velocity_work, law_out)
    return 0


problem_lanes = kernel(calc_problem_lanes)


@device
def calc_impulse_lanes(
    # Model:
    settings: Array,  # record of settings_dtype
    trees: Array,
    every_tree: Array,  # their numbers
    num_constraints: int,
    num_rows: int,
    convex: Array,  # which constraints follow the law of settings, or of LAGGED where that is TAMSI; integers
    approximation: int,  # that law
    tamsi: Array,  # which follow that of TAMSI
    # In: as problem_lanes() has left them
    v_in: Array,  # shape [num_v]
    v_star_in: Array,
    matrix_in: Array,
    constraints_in: Array,
    rows_in: Array,
    jacobian_in: Array,
    free_matrix_in: Array,
    free_jacobian_in: Array,
    law_in: Array,
    # Work:
    change_work: Array,  # v - v*, shape [num_v]
    velocity_work: Array,  # v_c, shape [>= num_rows]
    # Out:
    impulses_out: Array,  # gamma, shape [>= num_rows]
    hessian_out: Array,  # G, shape [>= HESSIAN_SIZE num_rows]
    residual_out: Array,  # r, shape [num_v]
) -> None:
    """Computes impulses, their slopes and the residual (1) at velocities v."""
    constraints, rows = constraints_in[:num_constraints], rows_in[:num_rows]
    given = Problem(settings, trees, matrix_in, constraints, jacobian_in)
    problem = Problem(settings, trees, free_matrix_in, constraints, free_jacobian_in)
    _calc_row_velocities(given, v_in, velocity_work)
    add_bias(rows, velocity_work)
    calc_impulses(problem, approximation, convex, law_in, velocity_work, impulses_out, hessian_out)
    calc_tamsi_impulses(problem, tamsi, law_in, velocity_work, impulses_out, hessian_out)
    for k in range(v_in.shape[0]):
        change_work[k] = v_in[k] - v_star_in[k]
    multiply_matrix(problem, every_tree, change_work, residual_out)
    for c in range(num_constraints):
        constraint = constraints[c]
        for r in range(constraint["num_rows"]):
            gamma = impulses_out[constraint["row_start"] + r]
            for end in range(num_ends(constraint)):
                add_row(block_of(trees, free_jacobian_in, constraint, end), r, -gamma, residual_out)


impulse_lanes = kernel(calc_impulse_lanes)


@device
def _calc_row_velocities(problem: Problem, v: Array, velocity_out: Array) -> None:
    """J v, shape [num_rows]."""
    for i in range(problem.constraints.shape[0]):
        multiply_rows(problem, problem.constraints[i], v, velocity_out)


@device
def calc_result_lanes(
    # Model:
    plant: PlantTrees,
    rows: Array,  # of the constraints between bodies and coordinates
    time_step: float,
    # In: as problem_lanes() and impulse_lanes() have left them
    q_in: Array,
    v_next_in: Array,
    F_applied_in: Array,  # forces on the bodies from elsewhere, shape [num_mobods, 6]
    position_in: Array,
    contact_pairs_in: Array,
    constraints_in: Array,
    rows_in: Array,
    jacobian_in: Array,
    counts_in: Array,
    values_in: Array,
    impulses_in: Array,
    # Out: see plant_step.py
    x_next_out: Array,
    F_Bo_W_out: Array,
    tau_contact_out: Array,
    tau_joints_out: Array,
    forces_out: Array,
    row_forces_out: Array,
) -> None:
    """Computes the next state, and what there is to tell about the step."""
    calc_next_state(plant.topology, time_step, q_in, v_next_in, x_next_out)
    for i in range(F_Bo_W_out.shape[0]):
        for k in range(6):
            F_Bo_W_out[i, k] = F_applied_in[i, k]
    problem = ProblemArrays(constraints_in, rows_in, jacobian_in, counts_in, values_in)
    calc_contact_forces(
        plant, rows, time_step, position_in, v_next_in, contact_pairs_in, problem, impulses_in,
        F_Bo_W_out, tau_contact_out, tau_joints_out, forces_out, row_forces_out,
    )  # fmt: skip


result_lanes = kernel(calc_result_lanes)


# ---------------------------------------------------------------------- the system (2)


def dense_jacobian(trees: Array, constraints: Array, jacobian: Matrix, num_rows: int, num_v: int) -> Matrix:
    """J, shape [num_rows, num_v], of its blocks."""
    J = np.zeros((num_rows, num_v))
    for c in constraints:
        rows, row = int(c["num_rows"]), int(c["row_start"])
        for end in range(num_ends(c)):
            block = block_of(trees, jacobian, c, end)
            J[row : row + rows, block.first : block.first + block.num_v] = block.J.reshape(rows, -1)
    return J


def dense_hessian(
    trees: Array, constraints: Array, matrix: Matrix, J: Matrix, free_J: Matrix, G: Matrix, is_tamsi: Matrix
) -> Matrix:
    """H of equation (2), shape [num_v, num_v].

    Args:
        trees: of the problem.
        constraints: of the problem.
        matrix: A without what belongs to locked velocities, as blocks.
        J: shape [num_rows, num_v].
        free_J: the same without the columns of locked velocities.
        G: slopes of the impulses, shape [HESSIAN_SIZE num_rows].
        is_tamsi: of each constraint, whether it is a contact with a normal impulse that ignores slip.
    """
    H = np.zeros((J.shape[1], J.shape[1]))
    for tree in trees:
        n, at, start = int(tree["num_v"]), int(tree["v_start"]), int(tree["matrix_start"])
        H[at : at + n, at : at + n] = matrix[start : start + n * n].reshape(n, n)
    GJ = np.zeros_like(J)
    first = constraints["row_start"]
    is_contact = constraints["kind"] == CONTACT
    for row, rows in zip(first[~is_contact].tolist(), constraints["num_rows"][~is_contact].tolist()):
        GJ[row : row + rows] = (
            G[HESSIAN_SIZE * row : HESSIAN_SIZE * (row + rows) : HESSIAN_SIZE, None] * J[row : row + rows]
        )
    rows_of = first[is_contact][:, None] + np.arange(3)
    g = G[HESSIAN_SIZE * first[is_contact][:, None] + np.arange(6)]
    back = np.where(is_tamsi[is_contact], 0.0, 1.0)
    blocks = np.empty((len(g), 3, 3))
    blocks[:, 0, 0], blocks[:, 0, 1], blocks[:, 1, 1] = g[:, 0], g[:, 1], g[:, 2]
    blocks[:, 1, 0] = g[:, 1]
    blocks[:, 0, 2], blocks[:, 1, 2], blocks[:, 2, 2] = g[:, 3], g[:, 4], g[:, 5]
    blocks[:, 2, 0], blocks[:, 2, 1] = back * g[:, 3], back * g[:, 4]
    GJ[rows_of] = blocks @ J[rows_of]
    H += free_J.T @ GJ
    return H
