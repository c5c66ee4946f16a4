"""The arrays of the derivatives of a step: see step.py."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native import inlined
from merganser.framework.native.memory.by_value import of_scalar
from merganser.framework.native.memory.hinted_types import Floats, FloatTable, Integers, IntegerTable, Poses
from merganser.framework.native.memory.records_of_arrays import COMPLEX, ONE_VALUE, ArrayOf, Code
from merganser.geometry.proximity.layout import distance_dtype, points_work_dtype
from merganser.geometry.proximity.manifold_derivatives import contact_lanes_dtype
from merganser.multibody.contact.contact_pairs import ContactPairs
from merganser.multibody.contact.derivatives import contact_pair_lanes_dtype
from merganser.multibody.contact.layout import law_dtype, row_dtype, settings_dtype
from merganser.multibody.contact.plant_layout import Drives, PlantTrees, ProblemArrays
from merganser.multibody.contact.plant_problem import tangents_of
from merganser.multibody.dynamics.records import Inputs, Model, State, StepResults, Work
from merganser.multibody.kernels.constraints import ConstraintRecords, constraint_value_dtype
from merganser.multibody.kernels.inverse_dynamics_derivatives import sensitivity_dtype
from merganser.multibody.kernels.layout import (
    MAX_VELOCITIES,
    Parameters,
    Positions,
    Scratch,
    Velocities,
    constant_dtype,
    parameter_dtype,
    position_dtype,
    scratch_dtype,
    velocity_dtype,
)
from merganser.multibody.kernels.spatial import Vector3, add, scaled, vector
from merganser.multibody.linear.ordering import integer_workspace_size
from merganser.multibody.linear.records import HESSIAN_SIZE, constraint_dtype

Array = NDArray[Any]

# Arguments of laws, a lane each.
GAP, STIFFNESS, ELASTIC_FORCE, COMPLIANCE, BEFORE, FEEDFORWARD = 0, 1, 2, 3, 4, 7
NUM_ARGUMENTS = 8
MAX_POSITIONS = 7  # of one mobilizer
NUM_MOTIONS = 6
LANE_OF_ROWS = 2 * NUM_MOTIONS + 1  # the last one, in which constraints.py evaluates kinematics
STEP = 1e-170  # of the complex step
# Why there are no derivatives:
UNKNOWN = 1  # something has touched of which none are known
SINGULAR = 2  # H
JUMPS = 3  # the normal of a contact
ZERO = (0.0, 0.0, 0.0)

_Sensitivities = Annotated[Array, ArrayOf(sensitivity_dtype())]
_Complex = Annotated[Array, ArrayOf(COMPLEX)]
_ComplexTable = Annotated[Array, ArrayOf(COMPLEX, 2)]
_ComplexPoses = Annotated[Array, ArrayOf(COMPLEX, 3)]


class MovingContacts(NamedTuple):
    """How contacts follow the poses of their geometries, and room for that.

    Of each pair, A turns about, or moves along, an axis of W with the origin of its geometry, a lane for each axis.

    Attributes:
        pairs: contact pairs in these lanes, shape [NUM_MOTIONS, capacity].
        p_WG: origins of the geometries of A, shape [capacity, 3].
        surfaces: velocities in W of the surfaces of A, where A does not move, shape [capacity, 3].
        contacts: of the geometries, shape [NUM_MOTIONS, capacity].
        X_WG: poses of all geometries in W, as they are, and in lanes, shapes [n, 4, 4] and [NUM_MOTIONS, n, 4, 4].
        touching, distances: pairs of geometries that have contacts, and what proximity queries find of them.
        X_pair, points: work arrays of these.
    """

    pairs: Annotated[Array, ArrayOf(contact_pair_lanes_dtype, 2)]
    p_WG: FloatTable
    surfaces: FloatTable
    contacts: Annotated[Array, ArrayOf(contact_lanes_dtype, 2)]
    X_WG: _ComplexPoses
    X_lanes: Annotated[Array, ArrayOf(COMPLEX, 4)]
    touching: IntegerTable
    distances: Annotated[Array, ArrayOf(distance_dtype)]
    X_pair: _ComplexPoses
    points: Annotated[Array, ArrayOf(points_work_dtype(np.complex128))]


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
        moving: the same as their bodies move.
        driven: how tau follows the inputs, shape [num_v, num_u].
        controlled: the actuator of each controller; theirs are the last constraints.
        rows: of constraints between bodies and coordinates; theirs are the ones before.
        force_slopes: how the forces of force elements follow the state, J^T F included; derivatives along the
            velocities and by v, shape [2, num_v, num_v], or empty without such elements.
    """

    plant: PlantTrees
    parameters: Parameters
    gravity: Floats
    settings: Array
    time_step: float
    x: Floats
    tau: Floats
    F_applied: FloatTable
    position: Positions
    velocity: Velocities
    passes: FloatTable
    matrix: Floats
    problem: ProblemArrays
    pairs: ContactPairs
    moving: MovingContacts
    driven: FloatTable
    controlled: Integers
    rows: ConstraintRecords
    force_slopes: Poses


class Lanes(NamedTuple):
    """Complex numbers of the step, and work arrays.

    Attributes:
        parameters, gravity: of the bodies.
        constants: of force elements.
        constraints, rows, jacobian, values, matrix: of the problem, its constraints between bodies, and of A.
        laws: shape [NUM_ARGUMENTS, num_rows].
        compliance, before, velocity, impulses: shape [num_rows].
        hessian: shape [HESSIAN_SIZE num_rows].
        position, moving, mean, scratch: of free bodies that turn; kinematics of v, and of u_n; first two in lanes.
        x, v_next, u, vdot, tau: for these.
        F: forces, shape [num_mobods, 6].
        q_next: shape [num_q].
        numbers, taus, forces: of force elements, shapes [2, num_q], [2, num_v] and [2, num_mobods, 6].
    """

    parameters: Annotated[Array, ArrayOf(parameter_dtype(np.complex128))]
    gravity: _Complex
    constants: Annotated[Array, ArrayOf(constant_dtype(np.complex128))]
    constraints: Annotated[Array, ArrayOf(of_scalar(constraint_dtype, np.complex128))]
    rows: Annotated[Array, ArrayOf(of_scalar(row_dtype, np.complex128))]
    jacobian: _Complex
    values: Annotated[Array, ArrayOf(constraint_value_dtype(np.complex128))]
    matrix: _Complex
    laws: Annotated[Array, ArrayOf(of_scalar(law_dtype, np.complex128), 2)]
    compliance: _Complex
    before: _Complex
    velocity: _Complex
    impulses: _Complex
    hessian: _Complex
    position: Annotated[Array, ArrayOf(position_dtype(np.complex128), 2)]
    moving: Annotated[Array, ArrayOf(velocity_dtype(np.complex128), 2)]
    mean: Annotated[Array, ArrayOf(velocity_dtype(np.complex128))]
    scratch: Annotated[Array, ArrayOf(scratch_dtype(np.complex128))]
    x: _Complex
    v_next: _Complex
    u: _Complex
    vdot: _Complex
    tau: _Complex
    F: _ComplexTable
    q_next: _Complex
    numbers: _ComplexTable
    taus: _ComplexTable
    forces: _ComplexPoses


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
        q_responses: dq+, shape [num_q, 2 num_v + num_u], and in its first row what belongs to a contact before.
        q_by_q, q_by_v, v_by_q: how q+ and velocities follow elements of q and v+ of their joint, shapes
            [num_q, MAX_POSITIONS], [num_q, MAX_VELOCITIES] and [num_v, MAX_POSITIONS].
        dw: shape [num_constraints, num_v].
        laws: of the rows.
        compliance, velocity, speed_before, impulses: shape [num_rows].
        slopes: of gamma by the arguments of laws, shape [num_rows, NUM_ARGUMENTS].
        hessian: G.
        forces: of force elements, shape [2, num_mobods, 6].
        chain: whether velocity k moves A, and B, and its mobod, shape [3, num_v].
        is_tamsi: of each constraint.
        integers: for islands.
    """

    bodies: _Sensitivities
    before: _Sensitivities
    after: _Sensitivities
    mean_velocity: Velocities
    scratch: Scratch
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
    q_responses: FloatTable
    q_by_q: FloatTable
    q_by_v: FloatTable
    v_by_q: FloatTable
    dw: FloatTable
    laws: Annotated[Array, ArrayOf(law_dtype)]
    compliance: Floats
    velocity: Floats
    speed_before: Floats
    impulses: Floats
    slopes: FloatTable
    hessian: Floats
    forces: Poses
    chain: IntegerTable
    is_tamsi: Integers
    integers: Integers


class StepSlopes(NamedTuple):
    """What is computed.

    Attributes:
        x_next: state after the step.
        x_by_x, x_by_u: its derivatives.
        forces: of contacts, on A in W [N], shape [capacity, 3].
        forces_by_state: their derivatives along the velocities, by v and u, shape [capacity, 3, 2 num_v + num_u].
        forces_by_x_and_u: the same by q, v and u.
        bodies: indices of A and B, shape [capacity, 2].
    """

    x_next: Floats
    x_by_x: FloatTable
    x_by_u: FloatTable
    forces: FloatTable
    forces_by_state: Poses
    forces_by_x_and_u: Poses
    bodies: IntegerTable


class GradientCode(NamedTuple):
    """The kernels that a step with derivatives calls beside its own."""

    signed_distances: Code
    follow_manifolds: Code
    start_step: Code
    force_elements: Code
    step_slopes: Code


class Gradient(NamedTuple):
    """A step that is to be taken, with derivatives.

    Attributes:
        code: see above.
        model, state, time_step, inputs, work, out: of the step, see ../dynamics/records.py.
        bodies: the body of each geometry.
        settings: those of the model as an array of one record.
        drives, problem: of a step that nothing constrains but its PD controllers.
        driven: receives how tau follows the inputs, shape [num_v, num_u].
        force_slopes: receives those of Step.
        moving, lanes, gradient_work: work arrays.
        slopes: receives the results.
        outcome: 0, or why there are no derivatives; and how many contacts there are; shape [2].
    """

    code: GradientCode
    model: Model
    state: State
    time_step: float
    inputs: Inputs
    work: Work
    out: StepResults
    bodies: Integers
    settings: Annotated[Array, ArrayOf(settings_dtype)]
    drives: Drives
    problem: Annotated[ProblemArrays, ONE_VALUE]
    driven: FloatTable
    force_slopes: Poses
    moving: Annotated[MovingContacts, ONE_VALUE]
    lanes: Annotated[Lanes, ONE_VALUE]
    gradient_work: Annotated[GradientWork, ONE_VALUE]
    slopes: Annotated[StepSlopes, ONE_VALUE]
    outcome: Integers


class Sizes(NamedTuple):
    """How large work arrays are: of bodies, coordinates and inputs, and capacities."""

    topology: Array
    num_q: int
    num_v: int
    num_u: int
    num_trees: int
    num_parameters: int
    num_elements: int
    num_own_rows: int
    matrix: int
    geometries: int
    contacts: int
    pairs: int
    constraints: int
    rows: int
    jacobian: int


def sizes_of(model: Model, state: State, work: Work, out: StepResults, problem: ProblemArrays) -> Sizes:
    """The sizes for steps with these arrays; `problem` is that of PD controllers alone."""
    problems, own_rows = (out.problem, problem), out.problem.values
    return Sizes(
        model.topology, len(state.q), len(state.v), len(work.u), len(out.trees.trees), len(model.parameters),
        len(model.elements), len(own_rows), len(out.trees.matrix), len(model.contact.geometry.mobods),
        len(out.contacts), len(out.contact_pairs), max(len(each.constraints) for each in problems),
        max(len(each.rows) for each in problems), max(len(each.jacobian) for each in problems),
    )  # fmt: skip


def make_lanes(sizes: Sizes) -> Lanes:
    """Work arrays for the complex numbers of steps."""
    num_q, num_v, num_rows, n = sizes.num_q, sizes.num_v, sizes.rows, len(sizes.topology)
    jacobian_size, scalar = sizes.jacobian if sizes.num_own_rows else 0, np.complex128

    def zeros(*shape: int) -> Array:
        return np.zeros(shape, scalar)

    return Lanes(
        np.zeros(sizes.num_parameters, parameter_dtype(scalar)), zeros(3),
        np.zeros(sizes.num_elements, constant_dtype(scalar)),
        np.zeros(sizes.constraints, of_scalar(constraint_dtype, scalar)),
        np.zeros(num_rows, of_scalar(row_dtype, scalar)), zeros(jacobian_size),
        np.zeros(sizes.num_own_rows, constraint_value_dtype(scalar)), zeros(sizes.matrix),
        np.zeros((NUM_ARGUMENTS, num_rows), of_scalar(law_dtype, scalar)),
        zeros(num_rows), zeros(num_rows), zeros(num_rows), zeros(num_rows), zeros(HESSIAN_SIZE * num_rows),
        np.zeros((LANE_OF_ROWS + 1, n), position_dtype(scalar)),
        np.zeros((LANE_OF_ROWS + 1, n), velocity_dtype(scalar)),
        np.zeros(n, velocity_dtype(scalar)), np.zeros(n, scratch_dtype(scalar)),
        zeros(num_q + num_v), zeros(num_v), zeros(num_v), zeros(num_v), zeros(num_v), zeros(n, 6), zeros(num_q),
        zeros(2, num_q), zeros(2, num_v), zeros(2, n, 6),
    )  # fmt: skip


def make_gradient_work(sizes: Sizes) -> GradientWork:
    """Work arrays for the derivatives of steps."""
    num_q, num_v, num_u, num_rows = sizes.num_q, sizes.num_v, sizes.num_u, sizes.rows
    n = len(sizes.topology)

    def zeros(*shape: int) -> Array:
        return np.zeros(shape)

    records = sensitivity_dtype()
    return GradientWork._make([
        np.zeros(n, records), np.zeros(n, records), np.zeros(n, records), np.zeros(n, velocity_dtype()),
        np.zeros(n, scratch_dtype()), zeros(n, 6), *zeros(6, num_v), *zeros(4, num_v, num_v), zeros(num_v * num_v),
        *zeros(2, num_v, 2 * num_v + num_u), zeros(max(num_q, 1), 2 * num_v + num_u), zeros(num_q, MAX_POSITIONS),
        zeros(num_q, MAX_VELOCITIES), zeros(num_v, MAX_POSITIONS), zeros(sizes.constraints, num_v),
        np.zeros(num_rows, law_dtype), *zeros(4, num_rows), zeros(num_rows, NUM_ARGUMENTS),
        zeros(HESSIAN_SIZE * num_rows), zeros(2, n, 6),
        np.zeros((3, num_v), np.int64), np.zeros(sizes.constraints, np.int64),
        np.zeros(integer_workspace_size(num_v, sizes.num_trees, sizes.constraints, 0), np.int64),
    ])  # fmt: skip


def make_moving_contacts(sizes: Sizes) -> MovingContacts:
    """Work arrays for contacts that follow the poses of geometries."""
    n, contacts, pairs, scalar = sizes.geometries, sizes.contacts, sizes.pairs, np.complex128
    made = MovingContacts(
        np.zeros((NUM_MOTIONS, max(contacts, pairs)), contact_pair_lanes_dtype), np.zeros((pairs, 3)),
        np.zeros((pairs, 3)), np.zeros((NUM_MOTIONS, contacts), contact_lanes_dtype), np.zeros((n, 4, 4), scalar),
        np.zeros((NUM_MOTIONS, n, 4, 4), scalar), np.zeros((contacts, 2), np.int64),
        np.zeros(contacts, distance_dtype), np.zeros((2, 4, 4), scalar), np.zeros(1, points_work_dtype(scalar)),
    )  # fmt: skip
    made.X_WG[:, 3, 3], made.X_lanes[:, :, 3, 3] = 1.0, 1.0
    return made


def make_slopes(sizes: Sizes) -> StepSlopes:
    """Work arrays for the results."""
    num_v, num_u, num_x, pairs = sizes.num_v, sizes.num_u, sizes.num_q + sizes.num_v, sizes.pairs
    return StepSlopes(
        np.zeros(num_x), np.zeros((num_x, num_x)), np.zeros((num_x, num_u)), np.zeros((pairs, 3)),
        np.zeros((pairs, 3, 2 * num_v + num_u)), np.zeros((pairs, 3, num_x + num_u)), np.zeros((pairs, 2), np.int64),
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
