"""The solution of a contact problem, from arrays to velocities and impulses.

    lock velocities -> estimate masses and set laws -> find islands -> for each island: order, minimize

Notation and arrays: see layout.py. Locked velocities keep the value that they have in v*; what belongs to them is taken
out of A and J, as the reduced problem of the others does not know them.
"""

from __future__ import annotations

from collections.abc import Callable

from merganser.framework.native import device, kernel
from merganser.framework.native.memory.hinted_types import Floats, Integers
from merganser.framework.native.memory.simd import Mask, any_of
from merganser.multibody.contact.layout import (
    CONVERGED,
    FELL_BACK,
    LAGGED,
    NO_CAPACITY,
    NOT_A_NUMBER,
    SINGULAR_MATRIX,
    Rows,
    Solution,
    SolverWork,
    Statistics,
    StepProblem,
)
from merganser.multibody.contact.newton import minimize_island, start_island
from merganser.multibody.contact.regularization import calc_compliance, calc_laws, has_masses
from merganser.multibody.contact.tamsi import solve_by_tamsi
from merganser.multibody.contact.work_arrays import (
    SCRATCH,
    Reduction,
    Workspace,
    carve_reduction,
    carve_workspace,
    workspace_size,
)
from merganser.multibody.linear.ordering import (
    Islands,
    Pattern,
    carve_islands,
    carve_pattern,
    find_islands,
    integer_workspace_size,
    order_trees,
)
from merganser.multibody.linear.products import block_of, copy_columns, multiply_jacobian, num_ends
from merganser.multibody.linear.records import Problem


@kernel
def contact_velocities(given: StepProblem, room: SolverWork, solution: Solution) -> int:
    """Computes the velocities after the step, and the impulses of the constraints.

    Returns:
        A status of layout.py. Of a negative one but NOT_CONVERGED, the results are not to be used.
    """
    status: int = _solve(given, room, solution, _minimize, 1)
    return status


@kernel
def tamsi_contact_velocities(given: StepProblem, room: SolverWork, solution: Solution) -> int:
    """Does the same by TAMSI; FELL_BACK if some island was solved by the Lagged approximation."""
    status: int = _solve(given, room, solution, solve_by_tamsi, 2)
    return status


@device
def _solve(
    given: StepProblem,
    room: SolverWork,
    solution: Solution,
    search: Callable[..., int],  # of an island; compiled code has no other one
    num_copies: int,  # how many sets of panels it takes
) -> int:
    """All that does not depend on the search."""
    nv, nr, nc, nt = given.v.shape[0], given.rows.shape[0], given.constraints.shape[0], given.trees.shape[0]
    size, jacobian_size = given.matrix.shape[0], given.jacobian.shape[0]
    has_room = room.numbers.shape[0] >= workspace_size(nv, nr, size, jacobian_size, 0) and room.laws.shape[0] >= nr
    if not has_room or room.integers.shape[0] < integer_workspace_size(nv, nt, nc, 0):
        return NO_CAPACITY
    views = carve_workspace(nv, nr, size, jacobian_size, room)
    reduction = carve_reduction(nv, nr, size, jacobian_size, room.numbers)
    islands = carve_islands(nt, nc, room.integers)
    pattern = carve_pattern(nv, nt, nc, room.integers)
    problem = Problem(given.settings, given.trees, given.matrix, given.constraints, given.jacobian)
    if has_locked(given.is_locked):
        problem = Problem(given.settings, given.trees, reduction.matrix, given.constraints, reduction.jacobian)
    v, _, result = solution
    status = _prepare_step(given, problem, islands, reduction, views, v, result)
    for i in range(result["num_islands"]):
        island_trees = islands.tree_order[islands.tree_start[i] : islands.tree_start[i + 1]]
        chosen = islands.constraint_order[islands.constraint_start[i] : islands.constraint_start[i + 1]]
        energy, has_changed = start_island(problem, island_trees, v, given.v_star, given.is_again, views.velocities)
        if not any_of(has_changed):
            continue
        capacity, outcome = views.factor.shape[0], CONVERGED
        if result["num_islands"] > 1 or not given.is_again:  # the pattern of the last island is still there
            outcome = _lay_out_island(problem, islands, island_trees, chosen, num_copies, capacity, pattern, result)
        # Once one island lacks room, others are only laid out, to learn how much they need.
        if outcome == CONVERGED and status > NO_CAPACITY:
            outcome = search(
                given, problem, island_trees, chosen, pattern, energy, has_changed, reduction.velocity_guess, views,
                solution,
            )  # fmt: skip
        status = min(status, outcome)
    return FELL_BACK if status == CONVERGED and result["num_fallbacks"] > 0 else status


@device
def _minimize(
    given: StepProblem, problem: Problem, trees: Integers, constraints: Integers, pattern: Pattern, energy: float,
    is_wanted: Mask, _velocity_guess: Floats, work: Workspace, solution: Solution,
) -> int:  # fmt: skip
    """The search of convex laws, see newton.py."""
    v, impulses, result = solution
    status: int = minimize_island(
        problem, trees, constraints, pattern, energy, is_wanted, given.is_again, given.v_star, work, v, impulses, result
    )
    return status


@device
def _prepare_step(
    step: StepProblem,  # with all velocities
    problem: Problem,  # without what belongs to locked ones; the same if all are free
    islands: Islands,
    reduction: Reduction,
    work: Workspace,
    v_out: Floats,
    result: Statistics,
) -> int:
    """All that comes before the search: the reduced problem, islands, laws, and v_c where the search starts."""
    given = Problem(step.settings, step.trees, step.matrix, step.constraints, step.jacobian)
    if not step.is_again:
        _clear(result)
        result["num_islands"] = find_islands(given.constraints, given.trees.shape[0], islands)
        if has_locked(step.is_locked):
            copy_free_part(given, step.is_locked, reduction)
        if not has_masses(problem):
            return SINGULAR_MATRIX
        # The laws take the velocities before the step.
        multiply_jacobian(given, islands.constraint_order, step.v, work.velocity)
        add_bias(step.rows, work.velocity)
        calc_compliance(problem, work.velocities[SCRATCH], work.compliance)
        for i in range(result["num_islands"]):
            chosen = islands.constraint_order[islands.constraint_start[i] : islands.constraint_start[i + 1]]
            calc_laws(problem, step.time_step, chosen, step.rows, work.compliance, work.velocity, work.laws)
        if given.settings["approximation"] > LAGGED:  # a program's own law may have no numbers
            for i in range(given.constraints.shape[0]):
                gain = work.laws[given.constraints[i]["row_start"]]["gain"]
                if gain != gain:
                    return NOT_A_NUMBER
    _start(given, step.is_locked, step.guess, step.v_star, islands.island_of, v_out)
    if not step.is_again:  # where the last search has ended
        multiply_jacobian(given, islands.constraint_order, v_out, work.velocity)
        add_bias(step.rows, work.velocity)
    return CONVERGED


@device
def _lay_out_island(
    problem: Problem,
    islands: Islands,
    island_trees: Integers,
    island_constraints: Integers,
    num_copies: int,  # how many sets of panels are wanted
    capacity: int,
    pattern: Pattern,
    result: Statistics,
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
def _clear(result: Statistics) -> None:
    result["num_islands"] = 0
    result["iterations"] = 0
    result["total_iterations"] = 0
    result["line_search_iterations"] = 0
    result["num_fallbacks"] = 0
    result["residual"] = 0.0
    result["factor_needed"] = 0
    result["blocks_needed"] = 0


@device
def _start(
    problem: Problem, is_locked: Integers, guess_in: Floats, v_star: Floats, island_of: Integers, v_out: Floats
) -> None:
    """The guess for velocities that constraints may change, v* for the others."""
    for t in range(problem.trees.shape[0]):
        tree = problem.trees[t]
        for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
            is_free = island_of[t] < 0 or is_locked[k] != 0
            v_out[k] = v_star[k] if is_free else guess_in[k]


@device
def add_bias(rows: Rows, velocity: Floats) -> None:
    for r in range(rows.shape[0]):
        velocity[r] += rows[r]["bias"]


@device
def has_locked(is_locked: Integers) -> bool:
    """Whether any velocity is locked."""
    count = 0
    for k in range(is_locked.shape[0]):
        if is_locked[k] != 0:
            count += 1
    return count > 0


@device
def copy_free_part(given: Problem, is_locked: Integers, reduction: Reduction) -> None:
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
        for end in range(num_ends(c)):
            block = block_of(given.trees, given.jacobian, c, end)
            copy_columns(block, is_locked, block_of(given.trees, reduction.jacobian, c, end))
