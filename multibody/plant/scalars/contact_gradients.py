"""Contact, joint limits, constraints and PD controllers of plants of AutoDiffXd: kernels of a step with derivatives.

The step is that of floats (dynamics/step.py). What it finds, and the solution of its problem, follow from values, which
its kernels are called with (step_kernels.py); forces and motion have derivatives. Those of the solution follow from the
implicit function theorem (contact/derivatives.py), in one linear system:

    values of q, v, v*, poses --solve--> v+                                        on floats
    v+ and lanes of the same --differentiate_step--> v+ with derivatives           over lanes

Poses come with their derivatives through the wired ports, contact points with theirs from
geometry/proximity/manifold_derivatives.py. Forces of continuous plants are functions, and run over lanes as all else
does (workspaces.py). Properties of materials live in the SceneGraph and are floats there: there are no derivatives by
them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from merganser.framework.autodiff.blocks import refuse_counts
from merganser.geometry.hydroelastic.derivatives import differentiate_surfaces
from merganser.geometry.proximity.manifold_derivatives import contact_lanes_dtype, differentiate_manifolds
from merganser.multibody.contact.adhesion import adhesion_forces
from merganser.multibody.contact.contact_kinds import make_pairs_of_kinds
from merganser.multibody.contact.contact_pairs import (
    OF_FACE,
    OF_KIND,
    largest_speed,
    make_contact_pairs,
    margin_of_step,
)
from merganser.multibody.contact.derivatives import (
    LACKS_SIZE,
    SINGULAR,
    LaneInputs,
    LaneWork,
    StepModel,
    contact_pair_lanes_dtype,
    drive_lanes_dtype,
)
from merganser.multibody.contact.hydroelastic_pairs import make_hydroelastic_pairs
from merganser.multibody.contact.layout import Solution, SolverWork, StepProblem
from merganser.multibody.contact.penalty import penalty_forces
from merganser.multibody.contact.plant_forces import end_step
from merganser.multibody.dynamics.records import StepResults
from merganser.multibody.dynamics.step_kernels import solver_of
from merganser.multibody.kernels.actuators import ERROR, FEEDFORWARD, VELOCITY_TARGET
from merganser.multibody.kernels.frames import geometry_poses
from merganser.multibody.plant.scalars.contact_left_out import refuse_complex
from merganser.multibody.plant.scalars.lanes import STEP, LaneRecords, LaneStep, LaneSteps, merge_lanes, split_lanes
from merganser.multibody.plant.scalars.workspaces import AutoDiffWorkspace
from merganser.multibody.plant.step.failures import time_of
from merganser.multibody.plant.step.sample import ContactSample, found_in, sample_of_contacts
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics

Array = NDArray[Any]
_Faces = tuple[Array, Array] | None  # corners and numbers in lanes


class ContactGradients:
    """What constrains a plant of AutoDiffXd in one Context, with derivatives.

    Args:
        dynamics: of a plant of AutoDiffXd.
        context: of it.
        w: workspace of the Context.
        buffers: arrays of its steps, or of derivatives in continuous time.

    Attributes:
        kernels: those of the step, by their names there, that derivatives take part in.
        found: what touches in continuous time, with derivatives of faces, as it was found last.
    """

    def __init__(self, dynamics: PlantDynamics, context: Context, w: AutoDiffWorkspace, buffers: StepBuffers) -> None:
        self._dynamics, self._context, self._w, self._buffers = dynamics, context, w, buffers
        self._arrays, self._steps = dynamics.model.contact, LaneSteps(w, dynamics.model.contact)
        self._every_tree = np.arange(len(self._arrays.trees))
        self._v_next = np.zeros(len(w.v))  # its values
        self._step: LaneStep
        self._work: LaneWork
        self.found: StepResults
        self.kernels = {
            "solve": self._solve, "end_step": self._end_step, "penalty_forces": self._penalty_forces,
            "adhesion_forces": self._adhesion_forces,
        }  # fmt: skip

    # ------------------------------------------------------------------ the discrete step

    def _solve(self, problem: StepProblem, room: SolverWork, solution: Solution) -> int:
        """Solves the problem on values, and then for how v+ follows all else; returns the status of the solver.

        Raises:
            RuntimeError: something that touches has no derivatives.
        """
        v_next, is_again, out = self._v_next, problem.is_again, self._buffers.out
        v_star, v_out = cast(LaneRecords, problem.v_star), cast(LaneRecords, solution.v)
        values = problem._replace(guess=v_next) if is_again else problem
        status: int = self._w.call_on_values(solver_of(problem.settings), values, room, solution._replace(v=v_next))
        if status < 0:
            return status
        if not is_again:
            self._start(problem, v_star, out)
        sizes = out.problem.counts.copy()
        failure = self._step.solve(sizes, v_next, v_star.lanes, bool(is_again), self._work)
        assert failure != LACKS_SIZE, "Constraints are decided by values, which are the same."
        if failure == SINGULAR:
            refuse_singular(self._dynamics, self._context)
        v_out.resize(self._step.num_derivatives)[:] = self._step.v_next
        return status

    def _start(self, problem: StepProblem, v_star: LaneRecords, out: StepResults) -> None:
        """Poses in lanes what has been solved on values."""
        w, arrays, buffers, rows = self._w, self._arrays, self._buffers, self._buffers.model.contact.constraint_rows
        found, pairs, faces = self._find_in_lanes(out)
        self.found, drives = self._with_faces(found, faces, pairs), self._drives_in_lanes()
        pairs = _NO_PAIRS if pairs is None else pairs
        along = buffers.work.lengths, buffers.work.arms
        given = [w.lanes_of(argument) for argument in (*along, w.x, w.position, buffers.F_applied, w.parameters)]
        num_derivatives = _common_count([pairs, drives, v_star, *given])
        lengths, arms, x, position, F_applied, parameters = (lanes.lanes for lanes in given)
        lanes = parameters, pairs.lanes, drives.lanes, lengths, arms, x, v_star.lanes, position, F_applied
        inputs = LaneInputs(*map(np.ascontiguousarray, lanes))
        model = StepModel(
            arrays.plant_trees, self._every_tree, np.array([problem.settings]), problem.time_step,
            buffers.model.contact.near_rigid_threshold, arrays.limits, arrays.frictions, rows,
            buffers.model.transmissions, int(out.statistics["num_fallbacks"]),
        )  # fmt: skip
        self._step, self._work = self._steps.start(
            model, inputs, num_derivatives, len(found.contact_pairs), drives.lanes.shape[1]
        )

    def _drives_in_lanes(self) -> LaneRecords:
        """The PD controllers with what they are to do, as records in lanes."""
        controllers = self._buffers.controllers
        if not len(controllers.inputs):
            return _NO_DRIVES
        split = split_lanes(self._buffers.work.drive_values)
        records = np.zeros(split.lanes.shape[:2], drive_lanes_dtype)
        records["v"] = controllers.velocities
        records["p"], records["d"], records["limit"] = controllers.p, controllers.d, controllers.limits
        records["error"], records["v_desired"] = -split.lanes[..., ERROR], split.lanes[..., VELOCITY_TARGET]
        records["feedforward"] = split.lanes[..., FEEDFORWARD]
        return LaneRecords(records, split.num_derivatives)

    def _end_step(
        self, topology: Array, time_step: float, q: Array, v_next: LaneRecords, impulses: Array, controlled: Array,
        x_next: LaneRecords, u: Array,
    ) -> None:  # fmt: skip
        """The kernel of that name, where efforts of controllers have derivatives."""
        self._w.call(end_step, topology, time_step, q, v_next, impulses[:0], controlled[:0], x_next, u[:0])
        if len(controlled):
            (of_rows,) = self._step.records("impulses")
            u[controlled] = of_rows[len(impulses) - len(controlled) : len(impulses)].merged() / time_step

    def sample(self) -> tuple[ContactSample, LaneRecords]:
        """The contacts of the last step, and all forces on the bodies, shape [num_mobods, 6]; both with derivatives."""
        forces, tau, tau_joints, row_forces, F_Bo_W = self._step.records(
            "forces", "tau_contact", "tau_joints", "row_forces", "F_Bo_W"
        )
        statistics = self._buffers.out.statistics.item()
        return sample_of_contacts(self._buffers, self.found, forces, tau, tau_joints, row_forces, statistics), F_Bo_W

    def _adhesion_forces(
        self, transmissions: Array, nodes: Array, position: LaneRecords, _pairs: Array, *forces: Any
    ) -> int:
        """The kernel of that name, with contact pairs that have derivatives."""
        _, pairs, _ = self._find_in_lanes(self._buffers.out)
        pairs = _NO_PAIRS if pairs is None else pairs
        status: int = self._w.call(adhesion_forces, transmissions, nodes, position, pairs, *forces)
        return status

    # ------------------------------------------------------------------ continuous time

    def _penalty_forces(
        self, stiction_velocity: float, position: LaneRecords, velocity: LaneRecords, _pairs: Array, F_contact: Array,
        forces: Array,
    ) -> None:  # fmt: skip
        """The kernel of that name, with contact pairs that have derivatives."""
        found, pairs, faces = self._find_in_lanes(self._buffers.out)
        self.found = self._with_faces(found, faces, pairs)
        self._w.call(penalty_forces, stiction_velocity, position, velocity, pairs, F_contact, forces)

    # ------------------------------------------------------------------ geometry

    def _geometry_poses(self) -> LaneRecords:
        """X_WG in lanes, of geometries that are fixed to bodies of the plant without the ports, which take longer."""
        geometry = self._buffers.model.contact.geometry
        if geometry.is_moved_by_plant:
            X_WG = LaneRecords(np.zeros((1, len(geometry.mobods), 4, 4), np.complex128), 0)
            self._w.call(geometry_poses, geometry.mobods, geometry.X_BG, self._w.position, X_WG)
            return X_WG
        query = self._dynamics.contact_geometry.query_object(self._context)
        values, derivatives = query.proximity_queries().poses(query.world_poses())
        if derivatives is None or not derivatives.shape[-1]:
            return LaneRecords(values[np.newaxis].astype(np.complex128), 0)
        return LaneRecords(values + 1j * STEP * np.moveaxis(derivatives, -1, 0), derivatives.shape[-1])

    def _find_in_lanes(self, out: StepResults) -> tuple[StepResults, LaneRecords | None, _Faces]:
        """What a step has found to touch, its contact pairs in lanes, and the faces of surfaces; None for nothing."""
        found, faces = found_in(out), None
        origins = found.contact_pairs["origin"]
        if not len(origins):
            return found, None, None
        num_points, num_of_geometries = np.searchsorted(origins, [OF_FACE, OF_KIND]).tolist()
        made: list[LaneRecords] = []
        contact, sources, w = self._buffers.model.contact, found.contact_pairs["source"], self._w
        materials = self._buffers.geometry.materials, self._arrays.tree_of_mobod
        if num_of_geometries:  # pairs of points
            poses = self._geometry_poses()
            contacts = self._follow_contacts(poses, found.candidates, found.contacts)
            pairs = LaneRecords(np.zeros((1, len(found.contacts)), contact_pair_lanes_dtype), 0)
            w.call(make_contact_pairs, *materials, poses, found.candidates, contacts, pairs)
            made.append(LaneRecords(chosen_pairs(pairs.lanes, sources[:num_points]), pairs.num_derivatives))
        if num_points < num_of_geometries:  # and of faces
            faces = self._follow_faces(poses, found)
            corners, numbers = (LaneRecords(lanes, poses.num_derivatives) for lanes in faces)
            pairs = LaneRecords(np.zeros((1, num_of_geometries - num_points), contact_pair_lanes_dtype), 0)
            of_faces = found.surface_pairs, corners, numbers, found.owners
            w.call(make_hydroelastic_pairs, *materials, contact.geometry.points, poses, *of_faces, 0, pairs)
            made.append(pairs)
        if num_of_geometries < len(origins):  # and of a program's own kinds
            pairs = LaneRecords(np.zeros((1, self._arrays.most_pairs_of_kinds), contact_pair_lanes_dtype), 0)
            w.call(make_pairs_of_kinds, contact.sources, np.inf, 0, contact.source_numbers, w.position, pairs)
            made.append(LaneRecords(chosen_pairs(pairs.lanes, sources[num_of_geometries:]), pairs.num_derivatives))
        if len(made) == 1:
            return found, made[0], faces
        num_derivatives = max(pairs.num_derivatives for pairs in made)
        lanes = [np.broadcast_to(pairs.lanes, (max(num_derivatives, 1), len(pairs))) for pairs in made]
        return found, LaneRecords(np.concatenate(lanes, axis=1), num_derivatives), faces

    def _follow_faces(self, poses: LaneRecords, found: StepResults) -> tuple[Array, Array]:
        """Corners and numbers of the faces of contact surfaces in lanes."""
        faces = found.corners, found.faces, found.owners
        if not poses.num_derivatives:
            return faces[0][np.newaxis].astype(np.complex128), faces[1][np.newaxis].astype(np.complex128)
        arrays = self._buffers.geometry.hydroelastic
        assert arrays is not None
        X_WG, dX_WG = poses.lanes[0].real.copy(), np.moveaxis(poses.lanes.imag, 0, -1) / STEP
        return differentiate_surfaces(arrays, X_WG, dX_WG, found.surface_pairs, faces, STEP)

    def _with_faces(self, found: StepResults, faces: _Faces, pairs: LaneRecords | None) -> StepResults:
        """The same with derivatives of faces, for the sample."""
        if faces is None or pairs is None:
            return found
        corners, numbers = (merge_lanes(lanes, pairs.num_derivatives) for lanes in faces)
        return found._replace(corners=corners, faces=numbers)

    def _follow_contacts(self, poses: LaneRecords, candidates: Array, contacts: Array) -> LaneRecords:
        """Contacts in lanes, as records of contact_lanes_dtype."""
        if not poses.num_derivatives:
            lanes = np.zeros((1, len(contacts)), contact_lanes_dtype)
            for name in contacts.dtype.names or ():
                lanes[name] = contacts[name]
            return LaneRecords(lanes, 0)
        given = self._dynamics, self._context, poses.lanes, candidates, contacts
        return LaneRecords(follow_contacts(*given, margin_of(self._buffers, self._w.velocity)), poses.num_derivatives)


def margin_of(buffers: StepBuffers, velocity: Any) -> float:
    """Up to which distance points of geometries may touch within a step [m]; velocity: of the bodies before it."""
    h, looks_ahead = buffers.time_step, bool(buffers.model.contact.looks_ahead)
    return margin_of_step(buffers.model.gravity, h) + (h * largest_speed(velocity) if looks_ahead else 0.0)


def follow_contacts(
    dynamics: PlantDynamics, context: Context, X_lanes: Array, candidates: Array, contacts: Array, margin: float,
    moves_first: bool = False,
) -> Array:  # fmt: skip
    """Contacts in lanes, records of contact_lanes_dtype; arguments as differentiate_manifolds() has.

    Raises:
        RuntimeError: a contact has no derivatives.
    """
    query = dynamics.contact_geometry.query_object(context)
    queries = query.proximity_queries()
    try:
        given = X_lanes[0].real, X_lanes, candidates, contacts, margin, moves_first
        return differentiate_manifolds(queries.engine, *given)
    except LookupError as error:
        ids = queries.layout.geometry_ids
        rows = candidates[error.args[0]].tolist()
        first, second = (query.inspector().GetName(ids[row]) for row in rows)
        reason = f"the contact normal of geometries '{first}' and '{second}' jumps there. Move them a little, or"
        raise RuntimeError(
            f"Plant '{dynamics.model.path()}' has no derivatives at time {time_of(context)} s: "
            f"{reason} take finite differences of a plant of floats."
        ) from None


def refuse_singular(dynamics: PlantDynamics, context: Context) -> NoReturn:
    """Raises where the balance of momentum has no unique solution."""
    raise RuntimeError(
        f"Plant '{dynamics.model.path()}' has no derivatives at time {time_of(context)} s: forces of contacts and "
        "masses do not determine how velocities follow. Move the bodies a little."
    )


def kernels_of_constraints(
    dynamics: PlantDynamics, context: Context, w: Workspace, buffers: StepBuffers
) -> dict[str, Callable[..., Any]]:
    """The kernels of dynamics/step.py, by their names, by which other scalars than floats take part in constraints."""
    if not isinstance(w, AutoDiffWorkspace):
        return {"start_step": functools.partial(refuse_complex, dynamics, context, w)}
    if buffers.gradients is None:
        buffers.gradients = ContactGradients(dynamics, context, w, buffers)
    kernels: dict[str, Callable[..., Any]] = buffers.gradients.kernels
    return kernels


def chosen_pairs(lanes: Array, sources: Array) -> Array:
    """Of contact pairs in lanes, those of the given sources, in ascending order."""
    given = lanes[0]["source"]
    if len(given) == len(sources) and (given == sources).all():
        return lanes
    made, places = np.unique(given, return_index=True)
    return lanes[:, places[np.searchsorted(made, sources)]]


def _common_count(arguments: Iterable[Any]) -> int:
    """How many derivatives there are; refuses different numbers of them."""
    count = 0
    for lanes in arguments:
        if lanes.num_derivatives and lanes.num_derivatives != count:
            if count:
                refuse_counts(count, lanes.num_derivatives)
            count = lanes.num_derivatives
    return count


_NO_PAIRS = LaneRecords(np.zeros((1, 0), contact_pair_lanes_dtype), 0)
_NO_DRIVES = LaneRecords(np.zeros((1, 0), drive_lanes_dtype), 0)
