"""Derivatives of a discrete step by state and inputs, in one call on floats (../../gradients/gradient.py).

Where that call is compiled, Python only hands arrays to it and back. Otherwise, or where it fails, Python runs the same
text, and says what is wrong.
"""

from __future__ import annotations

import concurrent.futures
import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.batches.batch import num_workers
from merganser.framework.core.inside import scalar_of
from merganser.framework.native import kernel_address, specialize
from merganser.framework.native.compiler.when_to_compile import OptionalCode, may_use_compiled
from merganser.framework.native.memory.hinted_types import hinted_arguments
from merganser.geometry.proximity.layout import HEIGHT_FIELD
from merganser.geometry.proximity.manifold_derivatives import follow_manifolds
from merganser.geometry.proximity.narrow_phase import signed_distances
from merganser.multibody.contact.contact_pairs import OF_POINT
from merganser.multibody.contact.layout import LAGGED, row_dtype
from merganser.multibody.contact.plant_layout import ProblemArrays, problem_counts_dtype
from merganser.multibody.contact.plant_problem import start_step
from merganser.multibody.dynamics.records import Inputs, StepResults
from merganser.multibody.gradients.gradient import differentiate
from merganser.multibody.gradients.records import (
    UNKNOWN,
    Gradient,
    GradientCode,
    Step,
    make_gradient_work,
    make_lanes,
    make_moving_contacts,
    make_slopes,
    sizes_of,
)
from merganser.multibody.gradients.step import step_slopes
from merganser.multibody.kernels.force_elements import force_element_derivatives
from merganser.multibody.linear.records import constraint_dtype
from merganser.multibody.plant.scalars.contact_gradients import follow_contacts, refuse_singular
from merganser.multibody.plant.step.step_buffers import StepBuffers

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics
    from merganser.multibody.plant.step.native_code import CompiledCall
    from merganser.multibody.plant.workspace import Workspace

Array = NDArray[Any]
_WORTH_A_THREAD = 32  # columns: a Context takes a millisecond
_EFFORT = 40  # of a velocity, to that of a body: see when_to_compile.py
_GRADIENTS = OptionalCode("merganser.multibody.gradients.gradient", "GRADIENTS", "plant_gradients")


class StepDerivatives(NamedTuple):
    """A discrete step x+ = f(x, u) and its derivatives, with x = [q; v] and u what comes for all actuators.

    Attributes:
        x_next: x+, shape [num_x].
        A: df/dx, shape [num_x, num_x]. As with AutoDiffXd, quaternions in q are four independent numbers.
        B: df/du, shape [num_x, num_u].
        contact_forces: of each contact, on body A at the contact point in W [N], shape [num_contacts, 3]; in the order
            of `bodies`.
        bodies: indices of the bodies A and B of each contact, shape [num_contacts, 2].
        D_contact_forces: derivatives of contact_forces by [x; u], shape [num_contacts, 3, num_x + num_u].
    """

    x_next: Array
    A: Array
    B: Array
    contact_forces: Array
    bodies: Array
    D_contact_forces: Array


class BatchStepDerivatives(NamedTuple):
    """Discrete steps from N states, and their derivatives: see StepDerivatives.

    Attributes:
        x_next: x+, shape [num_x, N].
        A, B: shapes [N, num_x, num_x] and [N, num_x, num_u].
    """

    x_next: Array
    A: Array
    B: Array


def differentiate_step(dynamics: PlantDynamics, context: Context) -> StepDerivatives:
    """Computes the next step of a discrete plant, and how it follows state and inputs.

    Args:
        dynamics: of a plant of floats.
        context: of it, which stays as it is.

    Raises:
        RuntimeError: the plant is continuous or of another scalar, the step fails, or something acts on it of which
            this function knows no derivatives; the error names it.
    """
    given = _differentiate(dynamics, context, None)
    found, num_contacts = given.slopes, given.outcome.item(1)
    forces, bodies, slopes = found.forces[:num_contacts], found.bodies[:num_contacts], found.forces_by_x_and_u
    return StepDerivatives(
        found.x_next.copy(), found.x_by_x.copy(), found.x_by_u.copy(), forces.copy(), bodies.copy(),
        slopes[:num_contacts].copy(),
    )  # fmt: skip


def differentiate_steps(
    dynamics: PlantDynamics, context: Context, states: ArrayLike, inputs: ArrayLike | None, parallelize: bool | int
) -> BatchStepDerivatives:
    """The same at many states and inputs; arguments as MultibodyPlant.DifferentiateSteps() has them.

    Raises:
        ValueError: sizes do not match.
    """
    name, tree = "DifferentiateSteps", dynamics.model.tree
    num_x, num_u = tree.num_positions() + tree.num_velocities(), tree.num_actuated_dofs()
    x = np.asarray(states, dtype=float)
    u = None if inputs is None else np.asarray(inputs, dtype=float)
    if x.ndim != 2 or len(x) != num_x or (u is not None and u.shape != (num_u, x.shape[1])):
        got = x.shape if u is None else f"{x.shape} and {u.shape}"
        raise ValueError(
            f"{name}(): plant '{dynamics.model.path()}' takes states of shape ({num_x}, N) and inputs of shape "
            f"({num_u}, N); got {got}."
        )
    count = x.shape[1]
    results = BatchStepDerivatives(
        np.empty((num_x, count)), np.empty((count, num_x, num_x)), np.empty((count, num_x, num_u))
    )
    workers = max(1, min(num_workers(parallelize, name), count // _WORTH_A_THREAD))
    parts = [range(count * i // workers, count * (i + 1) // workers) for i in range(workers)]
    given = functools.partial(_differentiate_columns, dynamics, context, x, u, results)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        list(pool.map(given, parts))
    return results


def _differentiate_columns(
    dynamics: PlantDynamics, context: Any, x: Array, u: Array | None, results: BatchStepDerivatives, columns: range
) -> None:
    """Computes some columns, in a Context of its own."""
    root = context
    while root.parent is not None:
        root = root.parent
    mine = dynamics.model.system.GetMyMutableContextFromRoot(root.Clone())
    efforts = None if u is None else np.zeros(len(u))
    for n in columns:
        mine.SetDiscreteState(0, x[:, n])
        if efforts is not None and u is not None:
            efforts[:] = u[:, n]
        found = _differentiate(dynamics, mine, efforts).slopes
        results.x_next[:, n], results.A[n], results.B[n] = found.x_next, found.x_by_x, found.x_by_u


def _differentiate(dynamics: PlantDynamics, context: Context, efforts: Array | None) -> Gradient:
    """Takes a step with derivatives; what it returns has the arrays of the next one, too.

    Args:
        dynamics: of the plant.
        context: of it.
        efforts: what comes for all actuators, always the same array in a Context; None for what the ports carry.
    """
    if not dynamics.model.is_discrete or scalar_of(dynamics.model.system) is not float:
        raise RuntimeError(
            f"DifferentiateStep(): plant '{dynamics.model.path()}' must be a discrete plant of floats. Give it a time "
            "step, or use plant.ToAutoDiffXd()."
        )
    w = dynamics.views.workspace(context)
    call = compiled_gradient_call(dynamics, context, w, None, efforts)
    if call is not None and call.run():
        w.store.invalid &= w.kinematics_clearing
        made: Gradient = call.record
        return made
    inputs, buffers, controllers = dynamics.arrays(context, w)
    if efforts is not None:
        inputs = inputs._replace(u=efforts, parts=())
    _refuse(dynamics, what_acts(dynamics, w))

    def step(_out: StepResults) -> int:
        buffers.note_forces(inputs)
        return differentiate(_gradient_in_python(dynamics, context, w, buffers, inputs))

    dynamics.finish_step(context, w, dynamics.run(context, buffers, controllers, step))
    given = _gradient_in_python(dynamics, context, w, buffers, inputs)
    outcome = given.outcome.item(0)
    if outcome == UNKNOWN:
        _refuse(dynamics, _what_has_touched(buffers, buffers.out))
    if outcome != 0:
        refuse_singular(dynamics, context)
    return given


def compiled_gradient_call(
    dynamics: PlantDynamics, context: Context, w: Workspace, given: Inputs | None, efforts: Array | None = None
) -> CompiledCall | None:
    """The compiled call on the arrays of a workspace of floats, whose record is a Gradient; None if it is missing.

    Args:
        dynamics: of the plant.
        context: of it.
        w: its workspace, or one with the values of another scalar type.
        given: what comes through the ports; None to read them.
        efforts: see _differentiate().
    """
    make_record = functools.partial(_compiled_gradient, dynamics, w, efforts)
    return dynamics.native.call_of(context, w, _GRADIENTS, make_record, given)


# ---------------------------------------------------------------------- what has no derivatives here


def what_acts(dynamics: PlantDynamics, w: Workspace) -> str:
    """What acts on a plant beyond what is differentiated, in words."""
    tree, contact = dynamics.model.tree, dynamics.model.contact
    if dynamics.deformables is not None:
        return "deformable bodies, whose clipped faces have no derivatives,"
    if len(tree.transmissions) or len(tree.law_records):
        return "transmissions or laws of actuators"
    if len(contact.sources):
        return "contacts of kinds that a program brings"
    if (w.parameters["is_locked"] > 0.5).any():
        return "locked joints"
    if len(contact.limits) and contact.limits["num_v"].max() > 1:
        return "limits of ball joints"
    return ""


def _what_has_touched(buffers: StepBuffers, out: StepResults) -> str:
    """The same of what a step has found."""
    if buffers.model.contact.adheres:
        return "adhesion"
    if not out.found["is_constrained"]:
        return ""
    if buffers.model.contact.settings["approximation"] > LAGGED:
        return "a law of contact that a program brings"
    if out.statistics["num_fallbacks"]:
        return "a contact that TAMSI has not solved"
    num_pairs = out.found["contact_pairs"]
    if (out.contact_pairs["origin"][:num_pairs] != OF_POINT).any():
        return "contact surfaces"
    if num_pairs and not buffers.model.contact.geometry.is_moved_by_plant:
        return "geometries that other systems move"
    return ""


def _refuse(dynamics: PlantDynamics, what: str) -> None:
    if what:
        raise RuntimeError(
            f"DifferentiateStep(): plant '{dynamics.model.path()}' has {what}, of which DifferentiateStep() has no "
            "derivatives. Convert its diagram by ToAutoDiffXd(), or take finite differences."
        )


# ---------------------------------------------------------------------- the arrays


def _make_gradient(code: GradientCode, buffers: StepBuffers, inputs: Inputs) -> Gradient:
    """All arrays of a step with derivatives, where model and Context are as they are."""
    model, state, work, out = buffers.model, buffers.state, buffers.work, buffers.out
    drives = buffers.controllers.records()
    size, num_v = len(drives), len(state.v)
    problem = ProblemArrays(
        np.zeros(size, constraint_dtype), np.zeros(size, row_dtype), np.zeros(size * (num_v + 1)),
        np.zeros(1, problem_counts_dtype), out.problem.values[:0],
    )  # fmt: skip
    sizes = sizes_of(model, state, work, out, problem)
    slopes_of_elements = np.zeros((2 if len(model.elements) else 0, num_v, num_v))
    return Gradient(
        code, model, state, buffers.time_step, inputs, work, out, buffers.geometry.bodies,
        np.array([model.contact.settings]), drives, problem, np.zeros((num_v, len(work.u))), slopes_of_elements,
        make_moving_contacts(sizes), make_lanes(sizes), make_gradient_work(sizes), make_slopes(sizes),
        np.zeros(2, np.int64),
    )  # fmt: skip


def _gradient_in_python(
    dynamics: PlantDynamics, context: Context, w: Workspace, buffers: StepBuffers, inputs: Inputs
) -> Gradient:
    """The record for Python, which is made again when the buffers are."""
    known: Gradient | None = buffers.gradient
    if known is None or known.model is not buffers.model or known.out.found is not buffers.out.found:

        def called(kernel: Any, *arguments: Any) -> Any:
            if may_use_compiled(kernel, _EFFORT * len(w.v), *arguments):
                return specialize(kernel, *arguments)(*arguments)
            return kernel.interpreted(*arguments)

        def follow(_geometries: Any, _hulls: Any, _X_WG: Any, X_lanes: Array, pairs: Array, *more: Any) -> int:
            _, contacts, margin, *_, result = more
            lanes = follow_contacts(dynamics, context, X_lanes, pairs, contacts, margin, moves_first=True)
            result[:, : len(contacts)] = lanes
            return -1

        kernels = start_step, force_element_derivatives, step_slopes
        code = GradientCode(lambda *_: 0, follow, *(functools.partial(called, kernel) for kernel in kernels))
        known = buffers.gradient = _make_gradient(code, buffers, inputs)
    return known._replace(inputs=inputs)


def _compiled_gradient(
    dynamics: PlantDynamics, w: Workspace, efforts: Array | None, buffers: StepBuffers, inputs: Inputs
) -> Gradient | None:
    """The record for compiled code; None if Python has to take the step, as long as something is not compiled."""
    if efforts is not None:
        inputs = inputs._replace(u=efforts, parts=())
    geometry = buffers.model.contact.geometry
    if what_acts(dynamics, w) or (geometry.geometries["kind"] >= HEIGHT_FIELD).any():
        return None
    given = _make_gradient(GradientCode(0, 0, 0, 0, 0), buffers, inputs)
    jobs = _jobs(given)
    if not all(may_use_compiled(kernel, _EFFORT * len(w.v), *arguments) for kernel, arguments in jobs if arguments):
        return None
    addresses = (kernel_address(kernel, *arguments) if arguments else 0 for kernel, arguments in jobs)
    return given._replace(code=GradientCode(*addresses))


def _jobs(given: Gradient) -> list[tuple[Any, tuple[Any, ...]]]:
    """The kernels of a GradientCode with arguments of their types; without arguments what is not called."""
    model, state, work, out = given.model, given.state, given.work, given.out
    geometry, moving, lanes, room = model.contact.geometry, given.moving, given.lanes, given.gradient_work
    shapes = geometry.geometries, geometry.hulls, geometry.X_WG
    distances = *shapes, moving.touching, 0, math.inf, 0.0, geometry.work, moving.distances
    manifolds = moving.X_lanes, out.candidates, moving.distances, out.contacts, 0.0, 1
    follow = *shapes, *manifolds, moving.X_pair, moving.points, moving.contacts
    step = Step(
        model.contact.trees, model.parameters, model.gravity, given.settings, 0.0, state.x, work.tau, work.F_applied,
        out.position, work.velocity, out.passes, out.trees.matrix, out.problem, out.contact_pairs, moving,
        given.driven, model.actuators.controlled, model.contact.constraint_rows, given.force_slopes,
    )  # fmt: skip
    elements = (
        model.topology, model.elements, lanes.constants, state.q, state.v, out.position, work.velocity, room.before,
        lanes.position[0], lanes.moving[0], lanes.numbers, lanes.taus, lanes.forces, room.forces, room.balance,
        given.slopes.x_by_x, given.slopes.x_by_x,
    )  # fmt: skip
    has_geometry, has_elements = len(geometry.mobods) > 0, len(model.elements) > 0
    return [
        (signed_distances, distances if has_geometry else ()),
        (follow_manifolds, follow if has_geometry else ()),
        (start_step, hinted_arguments(start_step)),
        (force_element_derivatives, elements if has_elements else ()),
        (step_slopes, (step, lanes, room, given.slopes)),
    ]
