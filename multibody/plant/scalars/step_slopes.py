"""Derivatives of a discrete step by state and inputs, in one call on floats (../../gradients/step.py).

The step is taken once, as it is; what it leaves in its arrays is all that the derivatives need, beside how contact
points follow the poses of their geometries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.inside import scalar_of
from merganser.framework.native import specialize
from merganser.framework.native.compiler.when_to_compile import may_use_compiled
from merganser.multibody import kernels
from merganser.multibody.contact.contact_pairs import OF_POINT, make_contact_pairs
from merganser.multibody.contact.derivatives import contact_pair_lanes_dtype
from merganser.multibody.contact.layout import LAGGED, row_dtype
from merganser.multibody.contact.plant_layout import (
    ConstraintSources,
    ProblemArrays,
    problem_counts_dtype,
)
from merganser.multibody.contact.plant_problem import start_step
from merganser.multibody.dynamics.records import Inputs, StepResults
from merganser.multibody.dynamics.step import take_step
from merganser.multibody.gradients.records import (
    NUM_MOTIONS,
    STEP,
    GradientWork,
    Lanes,
    Step,
    StepSlopes,
    as_complex,
    fill_lanes,
    make_gradient_work,
    make_lanes,
    make_slopes,
)
from merganser.multibody.gradients.step import step_slopes
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.lanes import over_lanes
from merganser.multibody.kernels.velocity_products import num_passes
from merganser.multibody.linear.records import constraint_dtype
from merganser.multibody.plant.scalars.contact_gradients import (
    chosen_pairs,
    follow_contacts,
    margin_of,
    refuse_singular,
)
from merganser.multibody.plant.step.step_buffers import StepBuffers

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics
    from merganser.multibody.plant.workspace import Workspace

Array = NDArray[Any]
_TURNS = np.cross(np.eye(3)[:, np.newaxis], np.eye(3)).transpose(0, 2, 1).copy()  # [e]x of the axes e of W
_EFFORT = 40  # of a velocity, to that of a body: see when_to_compile.py


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


def differentiate_step(dynamics: PlantDynamics, context: Context) -> StepDerivatives:
    """Computes the next step of a discrete plant, and how it follows state and inputs.

    Args:
        dynamics: of a plant of floats.
        context: of it, which stays as it is.

    Raises:
        RuntimeError: the plant is continuous or of another scalar, the step fails, or something acts on it of which
            this function knows no derivatives; the error names it.
    """
    if not dynamics.model.is_discrete or scalar_of(dynamics.model.system) is not float:
        raise RuntimeError(
            f"DifferentiateStep(): plant '{dynamics.model.path()}' must be a discrete plant of floats. Give it a time "
            "step, or use plant.ToAutoDiffXd()."
        )
    w = dynamics.views.workspace(context)
    inputs, buffers, controllers = dynamics.arrays(context, w)
    _refuse(dynamics, w, _what_acts(dynamics, buffers, w))
    passes = _take(dynamics, context, w, inputs, buffers, controllers)
    out: StepResults = buffers.out
    _refuse(dynamics, w, _what_has_touched(buffers, out))
    step = _step_of(dynamics, context, w, inputs, buffers, passes)
    given = step, *_arrays_of(buffers, step), make_slopes(step)
    status = _call(buffers, step_slopes, _EFFORT * len(w.v), *given)
    if status != 0:
        refuse_singular(dynamics, context)
    return _results(buffers, step, given[-1])


def _call(buffers: StepBuffers, kernel: Any, effort: int, *arguments: Any) -> Any:
    """Calls a kernel, compiled as soon as it can be."""
    code = buffers.slopes.get(kernel)
    if code is None:
        if not may_use_compiled(kernel, effort, *arguments):
            return kernel.interpreted(*arguments)
        code = buffers.slopes[kernel] = specialize(kernel, *arguments)
    return code(*arguments)


def _arrays_of(buffers: StepBuffers, step: Step) -> tuple[Lanes, GradientWork]:
    """Work arrays, which are kept for the next step with problems of this size."""
    problem = step.problem
    sizes = *map(len, (step.pairs, problem.constraints, problem.rows, problem.jacobian, step.rows)), step.driven.shape
    known = buffers.slopes.get("arrays")
    if known is None or known[0] != sizes:
        known = buffers.slopes["arrays"] = sizes, make_lanes(step), make_gradient_work(step)
    fill_lanes(step, known[1])
    return known[1], known[2]


# ---------------------------------------------------------------------- what has no derivatives here


def _what_acts(dynamics: PlantDynamics, buffers: StepBuffers, w: Workspace) -> str:
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


def _refuse(dynamics: PlantDynamics, w: Workspace, what: str) -> None:
    if what:
        raise RuntimeError(
            f"DifferentiateStep(): plant '{dynamics.model.path()}' has {what}, of which DifferentiateStep() has no "
            "derivatives. Convert its diagram by ToAutoDiffXd(), or take finite differences."
        )


# ---------------------------------------------------------------------- the step


def _take(
    dynamics: PlantDynamics, context: Context, w: Workspace, inputs: Inputs, buffers: StepBuffers, controllers: Any
) -> Array:
    """Takes a step, and leaves its problem in the buffers; returns the velocities of its passes."""
    found: list[Array] = []
    status: int | None = None
    while dynamics.must_run(context, buffers, controllers, status):
        buffers.note_forces(inputs)
        code, found = buffers.model.code, []

        def solve(problem: Any, room: Any, solution: Any, code: Any = code, found: list[Array] = found) -> int:
            outcome: int = code.solve(problem, room, solution)
            found.append(solution.v[: len(w.v)].copy())
            return outcome

        model = buffers.model._replace(code=code._replace(solve=solve))
        status = take_step(model, buffers.state, buffers.time_step, inputs, buffers.work, buffers.out)
    assert status is not None
    dynamics.finish_step(context, w, status)
    v_next = buffers.out.x_next[len(w.q) :].copy()
    return np.array(found or [v_next] * (num_passes(w.topology) + 1))


def _problem_of(buffers: StepBuffers, w: Workspace, out: StepResults) -> ProblemArrays:
    """The constraints of a step; where it had none to solve, its PD controllers."""
    problem = out.problem
    if not out.found["is_constrained"]:
        problem = _problem_of_controllers(buffers, w, out)
    counts = problem.counts[0]
    return ProblemArrays(
        problem.constraints[: counts["constraints"]], problem.rows[: counts["rows"]],
        problem.jacobian[: counts["jacobian"]], problem.counts,
        problem.values,
    )  # fmt: skip


def _problem_of_controllers(buffers: StepBuffers, w: Workspace, out: StepResults) -> ProblemArrays:
    model, controllers = buffers.model, buffers.controllers
    size, drives = len(controllers.inputs), controllers.records()
    problem = ProblemArrays(
        np.zeros(size, constraint_dtype), np.zeros(size, row_dtype), np.zeros(size * (len(w.v) + 1)),
        np.zeros(1, problem_counts_dtype), out.problem.values[:0],
    )  # fmt: skip
    contact = model.contact
    sources = ConstraintSources(
        out.contact_pairs[:0], model.limits[:0], model.frictions[:0], contact.constraint_rows[:0], drives,
        model.transmissions, buffers.work.lengths, buffers.work.arms,
    )  # fmt: skip
    w.call(
        start_step, contact.trees, model.parameters, buffers.time_step, contact.near_rigid_threshold, sources,
        buffers.work.drive_values, w.q, w.v, out.x_next, out.position, buffers.work.scratch, out.trees, problem,
    )  # fmt: skip
    return problem


def _step_of(
    dynamics: PlantDynamics, context: Context, w: Workspace, inputs: Inputs, buffers: StepBuffers, passes: Array
) -> Step:
    """The step with its contacts, and how they follow the poses of the bodies."""
    out, model = buffers.out, buffers.model
    num_pairs = int(out.found["contact_pairs"]) if out.found["is_constrained"] else 0
    pairs = out.contact_pairs[:num_pairs]
    motions, p_WG, surfaces = np.zeros((NUM_MOTIONS, 0), contact_pair_lanes_dtype), np.zeros((0, 3)), np.zeros((0, 3))
    if num_pairs:
        motions, p_WG, surfaces = _motions_of(dynamics, context, w, buffers, pairs)
    problem = _problem_of(buffers, w, out)
    return Step(
        model.contact.trees, model.parameters, model.gravity, np.array([model.contact.settings]), buffers.time_step,
        w.x.copy(), buffers.work.tau, np.ascontiguousarray(buffers.F_applied), w.position, w.velocity, passes,
        out.trees.matrix[: dynamics.model.contact.matrix_size], problem, pairs, motions, p_WG, surfaces,
        _driven(inputs, buffers), buffers.controllers.inputs, model.contact.constraint_rows,
        _force_slopes(w, buffers),
    )  # fmt: skip


def _driven(inputs: Inputs, buffers: StepBuffers) -> Array:
    """How generalized forces follow u: those of actuators that are within their limits, and not controlled."""
    actuators, work = buffers.model.actuators, buffers.work
    num_u = len(work.u)
    u = inputs.u if not inputs.parts and len(inputs.u) == num_u else work.feedforward
    limits, middles = actuators.limits[:num_u], actuators.limits[num_u:]
    is_free = np.abs(u - middles) <= limits
    is_free[actuators.controlled] = False
    driven = np.zeros((len(work.tau), num_u))
    driven[actuators.driven[is_free], np.flatnonzero(is_free)] = 1.0
    return driven


def _force_slopes(w: Workspace, buffers: StepBuffers) -> Array:
    """How the forces of force elements follow the state: Step.force_slopes."""
    model, num_q, num_v, n = buffers.model, len(w.q), len(w.v), len(w.topology)
    if not len(model.elements):
        return np.zeros((0, 2 * num_v))
    count, qdot, I = 2 * num_v, np.zeros((num_v, num_q)), np.eye(num_v)

    def call(kernel: Any, *arguments: Any) -> None:
        _call(buffers, over_lanes(kernel), n * count, *arguments)

    def room(*shape: int) -> Array:
        return np.zeros((count, *shape), np.complex128)

    call(kernels.velocity_to_qdot, num_v, w.topology, w.q[np.newaxis], I, qdot)
    q, v = np.tile(w.q.astype(np.complex128), (count, 1)), np.tile(w.v.astype(np.complex128), (count, 1))
    q[:num_v] += 1j * STEP * qdot
    v[num_v:] += 1j * STEP * I
    parameters = as_complex(model.parameters)[np.newaxis]
    position = np.zeros((count, n), layout.position_dtype(np.complex128))
    velocity = np.zeros((count, n), layout.velocity_dtype(np.complex128))
    call(kernels.kinematics, count, w.topology, parameters, q, v, position, velocity)
    tau, F = room(num_v), room(n, 6)
    motion, constants = (q, v, position, velocity), as_complex(model.constants)[np.newaxis]
    given = model.elements, constants, 0, len(model.elements), *motion, np.zeros_like(tau), np.zeros_like(F)
    call(kernels.force_elements, count, *given, tau, F)
    moved = np.empty((count, num_v))
    call(
        kernels.generalized_forces,
        count,
        w.topology,
        w.position[np.newaxis],
        F.imag / STEP,
        room(n, 6).real.copy(),
        moved,
    )
    return np.ascontiguousarray((tau.imag / STEP + moved).T)


def _motions_of(
    dynamics: PlantDynamics, context: Context, w: Workspace, buffers: StepBuffers, pairs: Array
) -> tuple[Array, Array, Array]:
    """What Step has about contacts that follow the poses of geometries."""
    geometry, out = buffers.model.contact.geometry, buffers.out
    X_WG, contacts = geometry.X_WG, out.contacts[: out.found["contacts"]]
    X_lanes = np.zeros((NUM_MOTIONS, *X_WG.shape), np.complex128)
    X_lanes.real[:] = X_WG
    X_lanes.imag[:3, :, :3, :3] = STEP * (_TURNS[:, np.newaxis] @ X_WG[:, :3, :3])
    X_lanes.imag[3:, :, :3, 3] = STEP * np.eye(3)[:, np.newaxis]
    lanes = follow_contacts(
        dynamics, context, X_lanes, out.candidates, contacts, margin_of(buffers, w.velocity), moves_first=True
    )
    made = np.zeros((NUM_MOTIONS, len(contacts)), contact_pair_lanes_dtype)
    given = geometry.materials, dynamics.model.contact.tree_of_mobod, X_lanes[:1].real.astype(np.complex128)
    _call(buffers, over_lanes(make_contact_pairs), NUM_MOTIONS * len(contacts), NUM_MOTIONS, *given,
          out.candidates[np.newaxis], lanes, made)  # fmt: skip
    first = out.candidates[contacts["pair"][pairs["source"]], 0]
    surfaces = np.einsum("nij,nj->ni", X_WG[first, :3, :3], geometry.materials["v_GS_G"][first])
    motions = np.ascontiguousarray(chosen_pairs(made, pairs["source"]))
    return motions, np.ascontiguousarray(X_WG[first, :3, 3]), surfaces


def _results(buffers: StepBuffers, step: Step, slopes: StepSlopes) -> StepDerivatives:
    out = buffers.out
    rows = out.candidates[out.contacts["pair"][step.pairs["source"]]]
    bodies = buffers.geometry.bodies[rows] if len(rows) else np.zeros((0, 2), np.int64)
    return StepDerivatives(slopes.x_next, slopes.x_by_x, slopes.x_by_u, slopes.forces, bodies, slopes.forces_by_x_and_u)
