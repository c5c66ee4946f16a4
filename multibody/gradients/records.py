"""The arrays of the derivatives of a step: see step.py."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import inlined
from merganser.framework.native.memory.by_value import of_scalar
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers
from merganser.multibody.contact.layout import law_dtype
from merganser.multibody.contact.plant_layout import PlantTrees, ProblemArrays
from merganser.multibody.contact.plant_problem import tangents_of
from merganser.multibody.kernels.constraints import ConstraintRecords, constraint_value_dtype
from merganser.multibody.kernels.inverse_dynamics_derivatives import sensitivity_dtype
from merganser.multibody.kernels.layout import position_dtype, scratch_dtype, velocity_dtype
from merganser.multibody.kernels.spatial import Vector3, add, scaled, vector
from merganser.multibody.linear.ordering import integer_workspace_size
from merganser.multibody.linear.records import HESSIAN_SIZE

Array = NDArray[Any]

# Arguments of laws, a lane each.
GAP, STIFFNESS, ELASTIC_FORCE, COMPLIANCE, BEFORE, FEEDFORWARD = 0, 1, 2, 3, 4, 7
NUM_ARGUMENTS = 8
NUM_MOTIONS = 6
LANE_OF_ROWS = 2 * NUM_MOTIONS + 1  # the last one, in which constraints.py evaluates kinematics
STEP = 1e-170  # of the complex step
SINGULAR = 2  # of H
ZERO = (0.0, 0.0, 0.0)


class Step(NamedTuple):
    """A step that has been taken.

    Attributes:
        plant: its trees.
        parameters, gravity: of the bodies.
        settings: one record of settings_dtype.
        time_step: h [s].
        x: state [q; v] before the step.
        tau: generalized forces but those of constraints and controllers in it, shape [num_v].
        F_applied: forces on the bodies from elsewhere, shape [num_mobods, 6].
        position, velocity: kinematics before the step.
        passes: v_n as the solver has found them, shape [num_passes + 1, num_v]; better ones afterwards.
        matrix: blocks of A.
        problem: its constraints.
        pairs: its contact pairs.
        motions: the same in lanes in which A turns about, or moves along, an axis of W with the origin p_WG of its
            geometry; shape [NUM_MOTIONS, num_pairs].
        p_WG: those, shape [num_pairs, 3].
        surfaces: velocities in W of the surfaces of A, where A does not move, shape [num_pairs, 3].
        driven: how tau follows the inputs, shape [num_v, num_u].
        controlled: the actuator of each controller; theirs are the last constraints.
        rows: of constraints between bodies and coordinates; theirs are the ones before.
        force_slopes: how forces that are functions of the state follow it, J^T F included; derivatives along the
            velocities and by v, shape [num_v, 2 num_v], or without rows if no force is such.
    """

    plant: PlantTrees
    parameters: Array
    gravity: Floats
    settings: Array
    time_step: float
    x: Floats
    tau: Floats
    F_applied: FloatTable
    position: Array
    velocity: Array
    passes: FloatTable
    matrix: Floats
    problem: ProblemArrays
    pairs: Array
    motions: Array
    p_WG: FloatTable
    surfaces: FloatTable
    driven: FloatTable
    controlled: Integers
    rows: ConstraintRecords
    force_slopes: FloatTable


class Lanes(NamedTuple):
    """Complex numbers of the step, and work arrays.

    Attributes:
        parameters, gravity: of the bodies.
        constraints, rows, jacobian, values, matrix: of the problem, its constraints between bodies, and of A.
        laws: shape [NUM_ARGUMENTS, num_rows].
        compliance, before, velocity, impulses: shape [num_rows].
        hessian: shape [HESSIAN_SIZE num_rows].
        position, moving, mean, scratch: of free bodies that turn; kinematics of v, and of u_n; first two in lanes.
        x, v_next, u, vdot, tau: for these.
        F: forces, shape [num_mobods, 6].
        q_next: shape [num_q].
    """

    parameters: Array
    gravity: Array
    constraints: Array
    rows: Array
    jacobian: Array
    values: Array
    matrix: Array
    laws: Array
    compliance: Array
    before: Array
    velocity: Array
    impulses: Array
    hessian: Array
    position: Array
    moving: Array
    mean: Array
    scratch: Array
    x: Array
    v_next: Array
    u: Array
    vdot: Array
    tau: Array
    F: Array
    q_next: Array


class GradientWork(NamedTuple):
    """Work arrays of floats.

    Attributes:
        bodies, before, after: sensitivities of ID, and of the motions before and after the step.
        mean_velocity, scratch: records of the bodies.
        F: all forces on the bodies, shape [num_mobods, 6].
        mean, vdot, balance, solution, pivots, row: shape [num_v].
        dID_dq, dID_dv, M, dA: shape [num_v, num_v]; dA[m, k] is that of A_mm along k.
        H: shape [num_v num_v].
        rest, responses: dr and dv_n, shape [num_v, 2 num_v + num_u].
        dw: shape [num_constraints, num_v].
        laws: of the rows.
        compliance, velocity, speed_before, impulses: shape [num_rows].
        slopes: of gamma by the arguments of laws, shape [num_rows, NUM_ARGUMENTS].
        hessian: G.
        chain: whether velocity k moves A, and B, and its mobod, shape [3, num_v].
        is_tamsi: of each constraint.
        integers: for islands.
    """

    bodies: Array
    before: Array
    after: Array
    mean_velocity: Array
    scratch: Array
    F: FloatTable
    mean: Floats
    vdot: Floats
    balance: Floats
    solution: Floats
    pivots: Floats
    row: Floats
    dID_dq: FloatTable
    dID_dv: FloatTable
    M: FloatTable
    dA: FloatTable
    H: Floats
    rest: FloatTable
    responses: FloatTable
    dw: FloatTable
    laws: Array
    compliance: Floats
    velocity: Floats
    speed_before: Floats
    impulses: Floats
    slopes: FloatTable
    hessian: Floats
    chain: NDArray[np.int64]
    is_tamsi: NDArray[np.int64]
    integers: NDArray[np.int64]


class StepSlopes(NamedTuple):
    """What is computed.

    Attributes:
        x_next: state after the step.
        x_by_x, x_by_u: its derivatives.
        forces: of contacts, on A in W [N], shape [num_pairs, 3].
        forces_by_state: their derivatives along the velocities, by v and u, shape [num_pairs, 3, 2 num_v + num_u].
        forces_by_x_and_u: the same by q, v and u.
    """

    x_next: Floats
    x_by_x: FloatTable
    x_by_u: FloatTable
    forces: FloatTable
    forces_by_state: Array
    forces_by_x_and_u: Array


def as_complex(records: Array) -> Array:
    """A copy of records of floats as records of complex numbers."""
    return records.astype(of_scalar(records.dtype, np.complex128))


def make_lanes(step: Step) -> Lanes:
    """Work arrays for the complex numbers of a step, which `fill_lanes` writes first."""
    num_rows, num_v = len(step.problem.rows), len(step.tau)
    num_q, topology = len(step.x) - num_v, step.plant.topology
    n, jacobian_size = len(topology), len(step.problem.jacobian) if len(step.rows) else 0

    def zeros(*shape: int) -> Array:
        return np.zeros(shape, np.complex128)

    return Lanes(
        as_complex(step.parameters), step.gravity.astype(np.complex128), as_complex(step.problem.constraints),
        as_complex(step.problem.rows), zeros(jacobian_size),
        np.zeros(len(step.rows), constraint_value_dtype(np.complex128)), zeros(len(step.matrix)),
        np.zeros((NUM_ARGUMENTS, num_rows), of_scalar(law_dtype, np.complex128)),
        zeros(num_rows), zeros(num_rows), zeros(num_rows), zeros(num_rows), zeros(HESSIAN_SIZE * num_rows),
        np.zeros((LANE_OF_ROWS + 1, n), position_dtype(np.complex128)),
        np.zeros((LANE_OF_ROWS + 1, n), velocity_dtype(np.complex128)),
        np.zeros(n, velocity_dtype(np.complex128)), np.zeros(n, scratch_dtype(np.complex128)),
        zeros(num_q + num_v), zeros(num_v), zeros(num_v), zeros(num_v), zeros(num_v), zeros(n, 6), zeros(num_q),
    )  # fmt: skip


def fill_lanes(step: Step, lanes: Lanes) -> None:
    """Takes over the numbers of another step of the same sizes."""
    lanes.parameters[...], lanes.gravity[:] = step.parameters, step.gravity
    lanes.constraints[...], lanes.rows[...] = step.problem.constraints, step.problem.rows


def make_gradient_work(step: Step) -> GradientWork:
    """Work arrays for the derivatives of a step."""
    num_v, num_u, num_rows = len(step.tau), step.driven.shape[1], len(step.problem.rows)
    n, num_constraints = len(step.plant.topology), len(step.problem.constraints)

    def zeros(*shape: int) -> Array:
        return np.zeros(shape)

    records = sensitivity_dtype()
    return GradientWork._make([
        np.zeros(n, records), np.zeros(n, records), np.zeros(n, records), np.zeros(n, velocity_dtype()),
        np.zeros(n, scratch_dtype()), zeros(n, 6), *zeros(6, num_v), *zeros(4, num_v, num_v), zeros(num_v * num_v),
        *zeros(2, num_v, 2 * num_v + num_u), zeros(num_constraints, num_v), np.zeros(num_rows, law_dtype),
        *zeros(4, num_rows), zeros(num_rows, NUM_ARGUMENTS), zeros(HESSIAN_SIZE * num_rows),
        np.zeros((3, num_v), np.int64), np.zeros(num_constraints, np.int64),
        np.zeros(integer_workspace_size(num_v, len(step.plant.trees), num_constraints, 0), np.int64),
    ])  # fmt: skip


def make_slopes(step: Step) -> StepSlopes:
    """Work arrays for the results."""
    num_v, num_u, num_x, num_pairs = len(step.tau), step.driven.shape[1], len(step.x), len(step.pairs)
    by_state = 2 * num_v + num_u
    return StepSlopes(
        np.zeros(num_x), np.zeros((num_x, num_x)), np.zeros((num_x, num_u)), np.zeros((num_pairs, 3)),
        np.zeros((num_pairs, 3, by_state)), np.zeros((num_pairs, 3, num_x + num_u)),
    )  # fmt: skip


@inlined
def parts(x: Floats, num_v: int) -> tuple[Floats, Floats]:
    """q and v."""
    return x[: x.shape[0] - num_v], x[x.shape[0] - num_v :]


@inlined
def mass_of(step: Step, m: int) -> float:
    """A_mm."""
    tree = step.plant.trees[step.plant.of_velocity[m]]
    mass: float = step.matrix[tree["matrix_start"] + (m - tree["v_start"]) * (tree["num_v"] + 1)]
    return mass


@inlined
def impulse_of(step: Step, c: int, work: GradientWork) -> Vector3:
    """The impulse of a contact on A, in W."""
    row, n = step.problem.constraints[c]["row_start"], vector(step.pairs[c]["nhat_BA_W"])
    t_1, t_2 = tangents_of(n)
    gamma = work.impulses
    return add(add(scaled(gamma[row], t_1), scaled(gamma[row + 1], t_2)), scaled(gamma[row + 2], n))
