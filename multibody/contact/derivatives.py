"""How the solution of a step follows state, inputs and parameters, by the implicit function theorem.

At the solution v+ of a step the momentum balance holds for all theta on which it depends,

    r(v+; theta) = A (v+ - v*) - J^T gamma(J v+ + b; theta) = 0                              (1)

with A, J, v*, and all numbers of the laws functions of theta: gaps, points, normals and shares of stiffness follow the
poses, and the compliance w of a constraint (regularization.py) follows A and J. So

    dv+ = -H^-1 dr,   H = A + J^T G J,   G = -dgamma/dv_c                                    (2)

with dr the differential of r at constant v+. The source is that of a step, written once, run with complex numbers that
carry derivatives in their imaginary parts (kernels/lanes.py says what a lane is):

    1.  the problem of each lane: A, the constraints and the numbers of their laws
    2.  Newton's method on the values of (1), beyond the tolerance of the solver, which leaves H
    3.  r of each lane at v+, which is the same in all, and from it dv+
    4.  gamma at v+ with dv+, and the forces that led there, when they are read

H is symmetric, but for TAMSI, and where velocities are locked. Where a contact just begins or ends, just begins to
slide, or an impulse is just at a bound, r has a kink: derivatives are then those of one side.

Sources: the implicit function theorem, as A. Castro, F. Permenter, X. Han (2022) propose for gradients of SAP.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import device, inlined, kernel
from merganser.framework.native.memory.by_value import of_scalar
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.contact.contact_pairs import contact_pair_dtype
from merganser.multibody.contact.layout import TAMSI, Rows, law_dtype, row_dtype
from merganser.multibody.contact.plant_forces import calc_contact_forces
from merganser.multibody.contact.plant_layout import (
    ConstraintSources,
    Frictions,
    Limits,
    PlantTrees,
    ProblemArrays,
    ProblemCounts,
    drive_dtype,
    problem_counts_dtype,
)
from merganser.multibody.contact.plant_problem import calc_contact_problem, calc_tree_matrices
from merganser.multibody.contact.potential import calc_impulses
from merganser.multibody.contact.regularization import calc_compliance, calc_laws
from merganser.multibody.contact.solver import add_bias, copy_free_part, has_locked
from merganser.multibody.contact.tamsi import calc_tamsi_impulses
from merganser.multibody.contact.work_arrays import Reduction
from merganser.multibody.kernels.constraints import constraint_value_dtype
from merganser.multibody.kernels.constraints.records import ConstraintRecords
from merganser.multibody.kernels.layout import Scratch, scratch_dtype
from merganser.multibody.kernels.transmissions.records import Transmissions
from merganser.multibody.linear.ordering import Islands, carve_islands, find_islands, integer_workspace_size
from merganser.multibody.linear.products import add_row, block_of, multiply_matrix, multiply_rows, num_ends
from merganser.multibody.linear.records import CONTACT, HESSIAN_SIZE, Problem, constraint_dtype
from merganser.multibody.linear.unsymmetric import factor_block, solve_block

contact_pair_lanes_dtype = of_scalar(contact_pair_dtype, np.complex128)
drive_lanes_dtype = of_scalar(drive_dtype, np.complex128)
_constraint_lanes_dtype, _row_lanes_dtype, _law_lanes_dtype = (
    of_scalar(dtype, np.complex128) for dtype in (constraint_dtype, row_dtype, law_dtype)
)
_value_lanes_dtype = constraint_value_dtype(np.complex128)

Lanes = NDArray[Any]  # complex numbers, or records of such, with an axis of lanes in front

# Why there are no derivatives.
LACKS_SIZE = 1  # the problem has not as many constraints and rows as given
SINGULAR = 2  # of H

_BALANCED = 1e-6  # residual of a velocity with which it has been solved by a law [N s]
_MOST_STEPS = 4  # of Newton's method beyond the solver's tolerance
_EXACT = 1e-13  # change of the velocities, relative, that is rounding


class StepModel(NamedTuple):
    """The plant, and how its contact problems are solved.

    Attributes:
        plant: its trees.
        every_tree: their numbers.
        settings: one record of settings_dtype.
        time_step: h [s].
        near_rigid_threshold: beta of contacts.
        limits, frictions, rows: what holds joints, bodies and coordinates, see ConstraintSources.
        transmissions: see kernels/transmissions/records.py.
        has_fallbacks: whether islands may have been solved by LAGGED in place of TAMSI.
    """

    plant: PlantTrees
    every_tree: NDArray[np.int64]
    settings: NDArray[Any]
    time_step: float
    near_rigid_threshold: float
    limits: Limits
    frictions: Frictions
    rows: ConstraintRecords
    transmissions: Transmissions
    has_fallbacks: int


class LaneInputs(NamedTuple):
    """What a step follows: complex numbers with an axis of lanes in front, of length 1 if all lanes are the same."""

    parameters: Lanes
    contact_pairs: Lanes  # of contact_pair_lanes_dtype
    drives: Lanes  # of drive_lanes_dtype
    lengths: Lanes  # and moment arms of transmissions, see kernels/transmissions/motion.py
    arms: Lanes
    x: Lanes  # [q; v]
    v_star: Lanes
    position: Lanes
    F_applied: Lanes  # forces on the bodies from elsewhere, shape [.., num_mobods, 6]


class LaneProblems(NamedTuple):
    """The problem of each lane: arrays with an axis of lanes in front, but for the last three.

    Attributes:
        matrix, free_matrix: A, and without what belongs to locked velocities; the latter only if there are such.
        constraints, rows: see layout.py.
        jacobian, free_jacobian: J, and without the columns of locked velocities; as above.
        laws: of the rows, see layout.py.
        values: of the StepModel.rows.
        counts: see plant_layout.py.
        is_locked: of each velocity.
        is_tamsi: of each constraint, whether it follows the law of TAMSI.
    """

    matrix: Lanes
    free_matrix: Lanes
    constraints: Lanes
    rows: Lanes
    jacobian: Lanes
    free_jacobian: Lanes
    laws: Lanes
    values: Lanes
    counts: ProblemCounts
    is_locked: NDArray[np.int64]
    is_tamsi: NDArray[np.int64]


class LaneWork(NamedTuple):
    """Room for one lane after the other; complex numbers but for the last ones.

    Attributes:
        scratch: of the bodies.
        v: v+, shape [num_v].
        change, residual: v - v*, and r, shape [num_v].
        compliance, velocity, impulses: w, v_c and gamma, shape [num_rows].
        hessian: G, shape [HESSIAN_SIZE num_rows].
        H: shape [num_v num_v].
        solution, pivots: of systems with it, shape [num_v].
        chosen: constraints, shape [2, num_constraints].
        integers: for islands.
    """

    scratch: Scratch
    v: Floats
    change: Floats
    residual: Floats
    compliance: Floats
    velocity: Floats
    impulses: Floats
    hessian: Floats
    H: NDArray[np.float64]
    solution: NDArray[np.float64]
    pivots: NDArray[np.float64]
    chosen: NDArray[np.int64]
    integers: NDArray[np.int64]


class LaneForces(NamedTuple):
    """The forces of a step: arrays of complex numbers with an axis of lanes in front; see plant_forces.py."""

    impulses: Lanes
    F_Bo_W: Lanes
    tau_contact: Lanes
    tau_joints: Lanes
    forces: Lanes
    row_forces: Lanes


def make_problems(
    num_lanes: int, num_v: int, matrix_size: int, most: tuple[int, int, int], num_own_rows: int
) -> LaneProblems:
    """Room for problems with so many constraints, rows and numbers of the Jacobian at most."""
    constraints, rows, jacobian = most

    def room(size: int, dtype: Any = np.complex128) -> NDArray[Any]:
        return np.zeros((num_lanes, size), dtype)

    return LaneProblems(
        room(matrix_size), room(matrix_size), room(constraints, _constraint_lanes_dtype), room(rows, _row_lanes_dtype),
        room(jacobian), room(jacobian), room(rows, _law_lanes_dtype),
        room(num_own_rows, _value_lanes_dtype), np.zeros(1, problem_counts_dtype), np.zeros(num_v, np.int64),
        np.zeros(constraints, np.int64),
    )  # fmt: skip


def make_work(num_mobods: int, num_v: int, num_trees: int, most: tuple[int, int, int]) -> LaneWork:
    """Room for one lane of such problems."""
    constraints, rows, _ = most

    def room(size: int, dtype: Any = np.complex128) -> NDArray[Any]:
        return np.zeros(size, dtype)

    return LaneWork(
        room(num_mobods, scratch_dtype(np.complex128)), room(num_v), room(num_v), room(num_v),
        room(rows), room(rows), room(rows), room(HESSIAN_SIZE * rows),
        room(num_v * num_v, float), room(num_v, float), room(num_v, float), np.zeros((2, constraints), np.int64),
        room(integer_workspace_size(num_v, num_trees, constraints, 0), int),
    )  # fmt: skip


# ---------------------------------------------------------------------- the step


@kernel
def differentiate_step(
    model: StepModel,
    sizes: ProblemCounts,  # how many constraints and rows the step had
    v_next: NDArray[np.float64],  # v+ as the solver has found it
    is_again: int,  # whether the problem stands there but for v*
    inputs: LaneInputs,
    problems: LaneProblems,
    work: LaneWork,
    v_next_out: FloatTable,  # v+, complex, shape [num_lanes, num_v]
) -> int:
    """Computes the velocities after a step with derivatives, where the solution is known.

    Returns:
        0, LACKS_SIZE or SINGULAR.
    """
    num_lanes, num_islands = v_next_out.shape[0], 0
    for lane in range(num_lanes):
        if not is_again:
            _set_problem(lane, model, inputs, problems, work)
        counts = problems.counts[0]
        if counts["constraints"] != sizes[0]["constraints"] or counts["rows"] != sizes[0]["rows"]:
            return LACKS_SIZE
        if lane == 0:  # they are the same in all
            constraints = problems.constraints[0][: sizes[0]["constraints"]]
            num_islands = find_islands(constraints, model.plant.trees.shape[0], _islands(model, problems, work))
        if not is_again:
            _set_laws(lane, num_islands, model, inputs, problems, work)
        if lane == 0:
            _choose_laws(model, num_islands, v_next, inputs, problems, work)
    if not _refine(model, v_next, inputs, problems, work):
        return SINGULAR
    num_v = v_next.shape[0]
    for lane in range(num_lanes):
        _respond(lane, work.v, model, inputs, problems, work, work.impulses)
        for k in range(num_v):
            work.solution[k] = work.residual[k].imag
        solve_block(num_v, 0, num_v, work.H, work.pivots, work.solution)
        for k in range(num_v):
            v_next_out[lane, k] = complex(v_next[k], -work.solution[k])
    return 0


@kernel
def differentiate_forces(
    model: StepModel,
    # As differentiate_step() has left them:
    inputs: LaneInputs,
    problems: LaneProblems,
    v_next: FloatTable,
    # Work:
    work: LaneWork,
    # Out:
    out: LaneForces,
) -> None:
    """Computes the forces of a step with derivatives."""
    for lane in range(v_next.shape[0]):
        _respond(lane, v_next[lane], model, inputs, problems, work, out.impulses[lane])
        _write_forces(lane, v_next[lane], model, inputs, problems, out)


@inlined
def _parts(x: Floats, num_v: int) -> tuple[Floats, Floats]:
    """q and v."""
    return x[: x.shape[0] - num_v], x[x.shape[0] - num_v :]


@inlined
def _row(numbers: NDArray[Any], lane: int) -> int:
    """Where a lane is in an array with an axis of lanes."""
    return lane if numbers.shape[0] > 1 else 0


@device
def _set_problem(lane: int, model: StepModel, inputs: LaneInputs, problems: LaneProblems, work: LaneWork) -> None:
    """A and the constraints."""
    plant, parameters = model.plant, inputs.parameters[_row(inputs.parameters, lane)]
    position = inputs.position[_row(inputs.position, lane)]
    calc_tree_matrices(
        plant.topology, parameters, plant.trees, plant.of_mobod, model.time_step, position, work.scratch,
        problems.matrix[lane], problems.is_locked,
    )  # fmt: skip
    pairs, drives = inputs.contact_pairs[_row(inputs.contact_pairs, lane)], inputs.drives[_row(inputs.drives, lane)]
    lengths, arms = inputs.lengths[_row(inputs.lengths, lane)], inputs.arms[_row(inputs.arms, lane)]
    transmissions = model.transmissions, lengths, arms
    sources = ConstraintSources(pairs, model.limits, model.frictions, model.rows, drives, *transmissions)
    v_star = inputs.v_star[_row(inputs.v_star, lane)]
    q, v = _parts(inputs.x[_row(inputs.x, lane)], v_star.shape[0])
    calc_contact_problem(
        plant, model.time_step, model.near_rigid_threshold, parameters, sources, q, v, v_star, position,
        _arrays(lane, problems),
    )  # fmt: skip


@inlined
def _arrays(lane: int, problems: LaneProblems) -> ProblemArrays:
    return ProblemArrays(
        problems.constraints[lane], problems.rows[lane], problems.jacobian[lane], problems.counts, problems.values[lane]
    )


@inlined
def _given(lane: int, problems: LaneProblems) -> tuple[Floats, Floats]:
    """A and J of a lane."""
    return problems.matrix[lane], problems.jacobian[lane][: problems.counts[0]["jacobian"]]


@inlined
def _free(lane: int, problems: LaneProblems) -> tuple[Floats, Floats]:
    """The same without what belongs to locked velocities."""
    A, J = _given(lane, problems)
    if has_locked(problems.is_locked):
        A, J = problems.free_matrix[lane], problems.free_jacobian[lane][: problems.counts[0]["jacobian"]]
    return A, J


@device
def _set_laws(
    lane: int, num_islands: int, model: StepModel, inputs: LaneInputs, problems: LaneProblems, work: LaneWork
) -> None:
    """The numbers of the laws."""
    trees, settings = model.plant.trees, model.settings[0]
    constraints = problems.constraints[lane][: problems.counts[0]["constraints"]]
    (A, J), (A_free, J_free) = _given(lane, problems), _free(lane, problems)
    given, problem = Problem(settings, trees, A, constraints, J), Problem(settings, trees, A_free, constraints, J_free)
    if has_locked(problems.is_locked):
        copy_free_part(given, problems.is_locked, Reduction(work.compliance, problem.matrix, problem.jacobian))
    calc_compliance(problem, work.change, work.compliance)
    rows = problems.rows[lane][: problems.counts[0]["rows"]]
    _, v = _parts(inputs.x[_row(inputs.x, lane)], work.v.shape[0])
    _set_row_velocities(given, rows, v, work.velocity)
    islands = _islands(model, problems, work)
    for i in range(num_islands):
        chosen = islands.constraint_order[islands.constraint_start[i] : islands.constraint_start[i + 1]]
        calc_laws(problem, model.time_step, chosen, rows, work.compliance, work.velocity, problems.laws[lane])


@inlined
def _islands(model: StepModel, problems: LaneProblems, work: LaneWork) -> Islands:
    return carve_islands(model.plant.trees.shape[0], problems.counts[0]["constraints"], work.integers)


@device
def _set_row_velocities(problem: Problem, rows: Rows, v: Floats, velocity_out: Floats) -> None:
    """v_c = J v + b, shape [num_rows]."""
    for i in range(problem.constraints.shape[0]):
        multiply_rows(problem, problem.constraints[i], v, velocity_out)
    add_bias(rows, velocity_out)


# ---------------------------------------------------------------------- laws


@device
def _choose_laws(
    model: StepModel, num_islands: int, v_next: Floats, inputs: LaneInputs, problems: LaneProblems, work: LaneWork
) -> None:
    """Finds which constraints follow the law of TAMSI: not those of islands that were solved by LAGGED."""
    is_tamsi = int(model.settings[0]["approximation"] == TAMSI)
    _take_velocities(v_next, work.v)
    for c in range(problems.counts[0]["constraints"]):
        problems.is_tamsi[c] = is_tamsi
    if is_tamsi == 0 or model.has_fallbacks == 0:
        return
    for c in range(problems.counts[0]["constraints"]):
        problems.is_tamsi[c] = 0
    _respond(0, work.v, model, inputs, problems, work, work.impulses)
    for k in range(v_next.shape[0]):
        work.solution[k] = abs(work.residual[k].real)
    for c in range(problems.counts[0]["constraints"]):
        problems.is_tamsi[c] = 1
    _respond(0, work.v, model, inputs, problems, work, work.impulses)
    islands = _islands(model, problems, work)
    for i in range(num_islands):
        is_worse = False
        for n in range(islands.tree_start[i], islands.tree_start[i + 1]):
            tree = model.plant.trees[islands.tree_order[n]]
            for k in range(tree["v_start"], tree["v_start"] + tree["num_v"]):
                rest = abs(work.residual[k].real)
                is_worse |= rest > work.solution[k] and rest > _BALANCED
        if is_worse:  # islands fall back as one
            for n in range(islands.constraint_start[i], islands.constraint_start[i + 1]):
                problems.is_tamsi[islands.constraint_order[n]] = 0


@inlined
def _take_velocities(v: Floats, out: Floats) -> None:
    for k in range(v.shape[0]):
        out[k] = v[k]


@device
def _respond(
    lane: int, v: Floats, model: StepModel, inputs: LaneInputs, problems: LaneProblems, work: LaneWork,
    impulses_out: Floats,
) -> None:  # fmt: skip
    """gamma, G and r of (1) at velocities v."""
    trees, settings = model.plant.trees, model.settings[0]
    constraints = problems.constraints[lane][: problems.counts[0]["constraints"]]
    (A, J), (A_free, J_free) = _given(lane, problems), _free(lane, problems)
    given, problem = Problem(settings, trees, A, constraints, J), Problem(settings, trees, A_free, constraints, J_free)
    laws, v_star = problems.laws[lane], inputs.v_star[_row(inputs.v_star, lane)]
    _set_row_velocities(given, problems.rows[lane][: problems.counts[0]["rows"]], v, work.velocity)
    convex, tamsi = 0, 0
    for c in range(problems.counts[0]["constraints"]):
        if problems.is_tamsi[c] != 0:
            work.chosen[1, tamsi] = c
            tamsi += 1
        else:
            work.chosen[0, convex] = c
            convex += 1
    calc_impulses(problem, work.chosen[0, :convex], laws, work.velocity, impulses_out, work.hessian)
    calc_tamsi_impulses(problem, work.chosen[1, :tamsi], laws, work.velocity, impulses_out, work.hessian)
    for k in range(v.shape[0]):
        work.change[k] = v[k] - v_star[k]
    multiply_matrix(problem, model.every_tree, work.change, work.residual)
    for c in range(problems.counts[0]["constraints"]):
        constraint = problem.constraints[c]
        for r in range(constraint["num_rows"]):
            gamma = impulses_out[constraint["row_start"] + r]
            for end in range(num_ends(constraint)):
                add_row(block_of(trees, problem.jacobian, constraint, end), r, -gamma, work.residual)


# ---------------------------------------------------------------------- the system (2)


@device
def _refine(
    model: StepModel, v_next: Floats, inputs: LaneInputs, problems: LaneProblems, work: LaneWork
) -> bool:
    """Newton's method on values from v+, as the solver ends within a tolerance; leaves v+ and H, factored.

    Returns:
        Whether H is regular.
    """
    num_v = v_next.shape[0]
    _take_velocities(v_next, work.v)
    for n in range(_MOST_STEPS + 1):
        _respond(0, work.v, model, inputs, problems, work, work.impulses)
        _assemble(model, problems, work)
        if not factor_block(num_v, 0, num_v, work.H, work.pivots):
            return False
        largest, change = 0.0, 0.0
        for k in range(num_v):
            work.solution[k] = work.residual[k].real
        solve_block(num_v, 0, num_v, work.H, work.pivots, work.solution)
        for k in range(num_v):
            largest, change = max(largest, abs(work.v[k].real)), max(change, abs(work.solution[k]))
        if n == _MOST_STEPS or change <= _EXACT * largest:
            break
        for k in range(num_v):
            work.v[k] -= work.solution[k]
    return True


@device
def _assemble(model: StepModel, problems: LaneProblems, work: LaneWork) -> None:
    """H of the values."""
    (_, J_given), (A, J_free) = _given(0, problems), _free(0, problems)
    constraints = problems.constraints[0][: problems.counts[0]["constraints"]]
    problem = Problem(model.settings[0], model.plant.trees, A, constraints, J_free)
    assemble_dense(problem, J_given, problems.is_tamsi, work.hessian, work.H)


@device
def assemble_dense(
    problem: Problem,  # without what belongs to locked velocities
    J_given: Floats,  # with these
    is_tamsi: Integers,  # of each constraint, whether it follows the law of TAMSI
    hessian: Floats,  # G
    H_out: Floats,  # shape [num_v num_v]
) -> None:
    """H = A + J^T G J of (2), of the real parts."""
    trees, num_v = problem.trees, 0
    for k in range(H_out.shape[0]):
        H_out[k] = 0.0
    for t in range(trees.shape[0]):
        num_v += trees[t]["num_v"]
    for t in range(trees.shape[0]):
        tree = trees[t]
        n, start = tree["num_v"], tree["v_start"]
        for i in range(n):
            for j in range(n):
                H_out[(start + i) * num_v + start + j] = problem.matrix[tree["matrix_start"] + i * n + j].real
    for c in range(problem.constraints.shape[0]):
        constraint = problem.constraints[c]
        row, num_rows, is_contact = constraint["row_start"], constraint["num_rows"], constraint["kind"] == CONTACT
        ignores_slip = is_contact and is_tamsi[c] != 0
        for left in range(num_ends(constraint)):
            J = block_of(trees, problem.jacobian, constraint, left)
            for right in range(num_ends(constraint)):
                K = block_of(trees, J_given, constraint, right)
                for i in range(J.num_v):
                    start = (J.first + i) * num_v + K.first
                    for s in range(num_rows):  # (J^T G)_is K_s
                        scale = 0.0
                        if is_contact:
                            for r in range(num_rows):
                                slope = slope_of_contact(hessian, row, r, s, ignores_slip)
                                scale += J.J[r * J.num_v + i].real * slope
                        else:
                            scale = J.J[s * J.num_v + i].real * hessian[HESSIAN_SIZE * (row + s)].real
                        if scale != 0.0:
                            for j in range(K.num_v):
                                H_out[start + j] += scale * K.J[s * K.num_v + j].real


@inlined
def slope_of_contact(hessian: Floats, row: int, r: int, s: int, ignores_slip: bool) -> float:
    """G_rs of a contact, whose normal impulse follows slip or not."""
    if r == 2 and s < 2 and ignores_slip:
        return 0.0
    place = r + s if r < 2 and s < 2 else 5 if r == s else 3 + min(r, s)
    value: float = hessian[HESSIAN_SIZE * row + place].real
    return value


# ---------------------------------------------------------------------- results


@device
def _write_forces(
    lane: int, v_next: Floats, model: StepModel, inputs: LaneInputs, problems: LaneProblems, out: LaneForces
) -> None:
    """The forces of a lane."""
    position = inputs.position[_row(inputs.position, lane)]
    pairs = inputs.contact_pairs[_row(inputs.contact_pairs, lane)]
    F_applied = inputs.F_applied[_row(inputs.F_applied, lane)]
    for i in range(F_applied.shape[0]):
        for k in range(6):
            out.F_Bo_W[lane, i, k] = F_applied[i, k]
    calc_contact_forces(
        model.plant, model.rows, model.time_step, position, v_next, pairs, _arrays(lane, problems),
        out.impulses[lane], out.F_Bo_W[lane], out.tau_contact[lane], out.tau_joints[lane], out.forces[lane],
        out.row_forces[lane],
    )  # fmt: skip
