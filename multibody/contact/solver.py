"""The solution of a contact problem, from arrays to velocities and impulses.

    lock velocities -> estimate masses and set laws -> find islands -> for each island: order, minimize

Notation and arrays: see layout.py. Locked velocities keep the value that they have in v*; what belongs to them is taken
out of A and J, as the reduced problem of the others does not know them.
"""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.contact.islands import find_islands
from merganser.multibody.contact.layout import CONVERGED, NO_CAPACITY, SINGULAR_MATRIX, Array, Problem
from merganser.multibody.contact.newton import minimize_island
from merganser.multibody.contact.ordering import Pattern, order_trees
from merganser.multibody.contact.products import multiply_jacobian
from merganser.multibody.contact.regularization import calc_compliance, calc_laws, factor_trees
from merganser.multibody.contact.work_arrays import (
    SCRATCH,
    Islands,
    Reduction,
    Workspace,
    carve_islands,
    carve_pattern,
    carve_reduction,
    carve_workspace,
    integer_workspace_size,
    workspace_size,
)

__all__ = [
    "add_bias",
    "calc_contact_velocities",
    "contact_velocities",
    "copy_free_part",
    "has_locked",
    "lay_out_island",
    "prepare_step",
]


@device
def calc_contact_velocities(
    # Model:
    settings: Array,  # record of settings_dtype; approximation SAP, SIMILAR or LAGGED
    trees: Array,  # shape [num_trees], of tree_dtype
    # In:
    matrix_in: Array,  # blocks of A, shape [sum of num_v^2]
    is_locked_in: Array,  # integers, shape [num_v]
    v_in: Array,  # before the step, where the search starts, shape [num_v]
    v_star_in: Array,  # without constraints, shape [num_v]
    constraints_in: Array,  # shape [num_constraints], of constraint_dtype
    rows_in: Array,  # shape [num_rows], of row_dtype
    jacobian_in: Array,  # blocks of J, flat
    # Work:
    block_capacity: int,
    work: Array,  # see workspace.py
    integer_work: Array,
    # Out:
    v_out: Array,  # after the step, shape [num_v]
    impulse_out: Array,  # gamma, shape [num_rows]
    result_out: Array,  # record of result_dtype
) -> int:
    """Computes the velocities after the step, and the impulses of the constraints.

    Returns:
        A status of layout.py. Of a negative one but NOT_CONVERGED, the results are not to be used.
    """
    nv, nr, nc, nt = v_in.shape[0], rows_in.shape[0], constraints_in.shape[0], trees.shape[0]
    least = workspace_size(nv, nr, matrix_in.shape[0], jacobian_in.shape[0], 0)
    if work.shape[0] < least or integer_work.shape[0] < integer_workspace_size(nt, nc, block_capacity):
        return NO_CAPACITY
    views = carve_workspace(nv, nr, matrix_in.shape[0], jacobian_in.shape[0], work)
    reduction = carve_reduction(nv, nr, matrix_in.shape[0], jacobian_in.shape[0], work)
    islands = carve_islands(nt, nc, integer_work)
    pattern = carve_pattern(nt, nc, block_capacity, integer_work)
    given = Problem(settings, trees, matrix_in, constraints_in, jacobian_in)
    problem = given
    if has_locked(is_locked_in):
        problem = Problem(settings, trees, reduction.matrix, constraints_in, reduction.jacobian)
    status = prepare_step(
        given, problem, is_locked_in, rows_in, v_in, v_star_in, islands, reduction, views, v_out, result_out
    )
    for i in range(result_out["num_islands"]):
        island_trees = islands.tree_order[islands.tree_start[i] : islands.tree_start[i + 1]]
        chosen = islands.constraint_order[islands.constraint_start[i] : islands.constraint_start[i + 1]]
        capacity = views.factor.shape[0]
        outcome = lay_out_island(problem, islands, island_trees, chosen, 1, capacity, pattern, result_out)
        # Once one island lacks room, others are only laid out, to learn how much they need.
        if outcome == CONVERGED and status > NO_CAPACITY:
            outcome = minimize_island(
                problem, settings["approximation"], island_trees, chosen, pattern, v_star_in, views,
                v_out, impulse_out, result_out,
            )  # fmt: skip
        status = min(status, outcome)
    return status


contact_velocities = kernel(calc_contact_velocities)


@device
def prepare_step(
    given: Problem,  # with all velocities
    problem: Problem,  # without what belongs to locked ones; the same if there are none
    is_locked: Array,
    rows: Array,
    v_in: Array,
    v_star: Array,
    islands: Islands,
    reduction: Reduction,
    work: Workspace,
    v_out: Array,
    result: Array,
) -> int:
    """All that comes before the search: the reduced problem, islands, laws, and v_c where the search starts."""
    _clear(result)
    num_islands = find_islands(given.constraints, given.trees.shape[0], islands)
    _start(given, is_locked, v_in, v_star, islands.island_of, v_out)
    # The laws take the velocities before the step; the search starts there too, but for locked velocities.
    multiply_jacobian(given, islands.constraint_order, v_in, work.velocity)
    add_bias(rows, work.velocity)
    if has_locked(is_locked):
        copy_free_part(given, is_locked, reduction)
    if not factor_trees(problem, reduction.tree_factors):
        return SINGULAR_MATRIX
    calc_compliance(problem, work.velocities[SCRATCH], work.compliance)
    for i in range(num_islands):
        chosen = islands.constraint_order[islands.constraint_start[i] : islands.constraint_start[i + 1]]
        calc_laws(problem, chosen, rows, work.compliance, work.velocity, work.law)
    if has_locked(is_locked):
        multiply_jacobian(given, islands.constraint_order, v_out, work.velocity)
        add_bias(rows, work.velocity)
    result["num_islands"] = num_islands
    return CONVERGED


@device
def lay_out_island(
    problem: Problem,
    islands: Islands,
    island_trees: Array,
    island_constraints: Array,
    num_copies: int,  # how many sets of panels are wanted
    capacity: int,
    pattern: Pattern,
    result: Array,
) -> int:
    """Finds the pattern of an island; returns CONVERGED, or NO_CAPACITY if there is no room for it."""
    blocks = order_trees(
        problem.trees, problem.constraints, island_trees, island_constraints, islands.weight, islands.bits, pattern
    )
    result["blocks_needed"] = max(result["blocks_needed"], blocks)
    if blocks > pattern.block_position.shape[0]:
        return NO_CAPACITY
    needed = num_copies * pattern.panel_start[island_trees.shape[0]]
    result["factor_needed"] = max(result["factor_needed"], needed)
    return CONVERGED if needed <= capacity else NO_CAPACITY


@device
def _clear(result: Array) -> None:
    result["num_islands"] = 0
    result["iterations"] = 0
    result["total_iterations"] = 0
    result["line_search_iterations"] = 0
    result["num_fallbacks"] = 0
    result["residual"] = 0.0
    result["factor_needed"] = 0
    result["blocks_needed"] = 0


@device
def _start(problem: Problem, is_locked: Array, v_in: Array, v_star: Array, island_of: Array, v_out: Array) -> None:
    """v before the step for velocities that constraints may change, v* for the others."""
    for t in range(problem.trees.shape[0]):
        tree = problem.trees[t]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            is_free = island_of[t] < 0 or is_locked[k] != 0
            v_out[k] = v_star[k] if is_free else v_in[k]


@device
def add_bias(rows: Array, velocity: Array) -> None:
    for r in range(rows.shape[0]):
        velocity[r] += rows[r]["bias"]


@device
def has_locked(is_locked: Array) -> bool:
    """Whether any velocity is locked."""
    count = 0
    for k in range(is_locked.shape[0]):
        if is_locked[k] != 0:
            count += 1
    return count > 0


@device
def copy_free_part(given: Problem, is_locked: Array, reduction: Reduction) -> None:
    """Copies A and J, with zeros where velocities are locked except on the diagonal of A."""
    for t in range(given.trees.shape[0]):
        tree = given.trees[t]
        for i in range(tree["num_v"]):
            for j in range(tree["num_v"]):
                at = tree["matrix_start"] + i * tree["num_v"] + j
                is_kept = i == j or (is_locked[tree["v_start"] + i] == 0 and is_locked[tree["v_start"] + j] == 0)
                reduction.matrix[at] = given.matrix[at] if is_kept else 0.0
    for i in range(given.constraints.shape[0]):
        c = given.constraints[i]
        _copy_free_columns(given, c["num_rows"], c["tree_0"], c["jacobian_0"], is_locked, reduction.jacobian)
        if c["tree_1"] >= 0:
            _copy_free_columns(given, c["num_rows"], c["tree_1"], c["jacobian_1"], is_locked, reduction.jacobian)


@device
def _copy_free_columns(given: Problem, num_rows: int, t: int, start: int, is_locked: Array, out: Array) -> None:
    tree = given.trees[t]
    for r in range(num_rows):
        for k in range(tree["num_v"]):
            at = start + r * tree["num_v"] + k
            out[at] = given.jacobian[at] if is_locked[tree["v_start"] + k] == 0 else 0.0
