"""Contact, joint limits, constraints and PD controllers of plants of AutoDiffXd.

A step is solved with the values of all numbers, as in a plant of floats; derivatives follow from the implicit function
theorem (contact/derivatives.py). Poses come with their derivatives through the wired ports, contact points with theirs
from geometry/proximity/manifold_derivatives.py. Forces of continuous plants are functions, and run over lanes as all
else does (workspaces.py).

    values of q, v, v*, poses --dynamics/step.py: hold--> v+                       on floats
    v+ and lanes of the same --differentiate_step--> next state                    over lanes

Properties of materials live in the SceneGraph and are floats there: there are no derivatives by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.autodiff.blocks import refuse_counts
from merganser.geometry.hydroelastic.derivatives import differentiate_surfaces
from merganser.geometry.proximity.manifold_derivatives import contact_lanes_dtype, differentiate_manifolds
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
from merganser.multibody.contact.penalty import penalty_forces
from merganser.multibody.contact.plant_layout import NUM_FORCE_VALUES
from merganser.multibody.dynamics.records import NOT_SOLVED, NUM_PAIRS, SOLVED, StepResults
from merganser.multibody.dynamics.step import (
    count_limits,
    drop_distant,
    find_contact_pairs,
    finish_step,
    pose_problem,
    solve,
)
from merganser.multibody.kernels import generalized_forces, layout
from merganser.multibody.kernels.actuators import ERROR, FEEDFORWARD, VELOCITY_TARGET
from merganser.multibody.kernels.frames import geometry_poses
from merganser.multibody.kernels.velocity_products import num_passes
from merganser.multibody.plant.scalars.chain_rules import FloatModel
from merganser.multibody.plant.scalars.lanes import STEP, LaneRecords, LaneStep, LaneSteps, merge_lanes, split_lanes
from merganser.multibody.plant.step.failures import time_of
from merganser.multibody.plant.step.sample import ContactSample, found_in, sample_of_contacts
from merganser.multibody.plant.step.step_buffers import StepBuffers

if TYPE_CHECKING:
    from merganser.framework import Context

Array = NDArray[Any]
_Faces = tuple[Array, Array] | None  # corners and numbers in lanes


class _Values:
    """The values of an AutoDiffWorkspace, in the place of a workspace of floats (workspace.py)."""

    def __init__(self, w: Any) -> None:
        topology, num_v = w.topology, len(w.v)
        self.model = FloatModel(topology, w.lanes_of(w.parameters).lanes[0])
        self.topology, self.parameters = topology, self.model.parameters
        self.x, self.gravity, self.constants = np.zeros(len(w.x)), np.zeros(3), np.zeros(0, layout.constant_dtype())
        self.q, self.v, self.activations = self.x[: len(w.q)], self.x[len(w.q) :], np.zeros(len(w.activations))
        self.position, self.velocity, self.scratch = (
            np.zeros(len(topology), dtype())
            for dtype in (layout.position_dtype, layout.velocity_dtype, layout.scratch_dtype)
        )
        self._position = self.position.view(np.float64)  # records of floats alone
        self.tau, self.zeros_v, self.nothing = np.zeros(num_v), np.zeros(num_v), np.zeros(0)
        self.F_applied, self.zeros_F = np.zeros((len(topology), 6)), np.zeros((len(topology), 6))
        self.dtype, self.scalar, self.is_float, self.is_numeric = np.dtype(np.float64), float, True, True
        self.codes: dict[Any, Any] = {}
        self._parameters: Any = None  # those of the Context, of which these are the values

    def update(self, w: Any) -> None:
        """Takes over the values of the state, the parameters and the poses as they are now."""
        self.x[:] = w.lanes_of(w.x).lanes[0].real
        position = w.lanes_of(w.position).lanes[0]
        self._position[:] = position.view(np.complex128).real
        parameters = w.lanes_of(w.parameters)
        if parameters is not self._parameters:
            self._parameters = parameters
            self.gravity[:] = w.lanes_of(w.gravity).lanes[0].real
            for name in self.parameters.dtype.names or ():
                self.parameters[name] = parameters.lanes[0][name].real

    def take_velocity(self, w: Any) -> Array:
        """The same for how the bodies move, which the step has computed; returns it."""
        velocity = w.lanes_of(w.velocity).lanes[0]
        self.velocity.view(np.float64)[:] = velocity.view(np.complex128).real
        return self.velocity

    def make_records(self, size: int, dtype_of: Any) -> Array:
        """New records, all zero."""
        return np.zeros(size, dtype_of())

    def make_numbers(self, size: int) -> Array:
        """Numbers, all zero."""
        return np.zeros(size)

    def call(self, kernel: Any, *arguments: Any) -> Any:
        """Calls a kernel as Workspace.call() does."""
        return self.model.call(kernel, *arguments)


class ContactGradients:
    """What holds a plant of AutoDiffXd together, in one Context.

    Args:
        dynamics: of a plant of AutoDiffXd.
        context: of it.
        w: workspace of the Context.
        step: arrays of the plant's steps, or derivatives, with AutoDiffXd.

    Attributes:
        buffers: arrays of the same on floats.
    """

    def __init__(self, dynamics: Any, context: Context, w: Any, step: StepBuffers) -> None:
        self._dynamics, self._w, self._arrays, self._step = dynamics, w, dynamics.model.contact, step
        self._values = _Values(w)
        self._steps = LaneSteps(w, self._arrays)
        self._every_tree = np.arange(len(self._arrays.trees))
        # _Values has of a Workspace what arrays of a step ask for, and no more.
        self.buffers = StepBuffers(dynamics, context, self._values, time_step=step.time_step)  # type: ignore[arg-type]

    # ------------------------------------------------------------------ the discrete step

    def constrain(
        self, context: Context, x_free: LaneRecords, next_pass: Callable[[Array], None], result: Array
    ) -> bool:
        """Makes of the next state without contact, limits and constraints the one with them.

        Args:
            context: of the plant.
            x_free: the former, numbers in lanes.
            next_pass: writes the free motion of the next pass to x_free, from the velocities of the last one.
            result: receives the latter.

        Returns:
            Whether there was any constraint; if not, nothing has changed. Where an integrator has said how to solve,
            and no solution was found, the result is NaN.

        Raises:
            RuntimeError: no solution was found, or something that touches has no derivatives.
        """
        num_q = len(self._w.q)
        self.buffers.solve_as(self._step)
        self._values.update(self._w)
        drives, buffers = self._drives_in_lanes(), self.buffers
        for n in range(num_passes(self._w.topology) + 1):
            if n > 0:
                next_pass(result[num_q:])
            x_star = np.concatenate([self._values.q, x_free[num_q:].lanes[0].real])
            status: int | None = None
            while self._dynamics.must_run(context, buffers, self._step.controllers, status):
                status = self._solve(context, x_star, drives, n > 0)
            (out,) = buffers.results
            if status == NOT_SOLVED:
                result[:] = np.nan
                return True
            if status:
                self._dynamics.raise_failure(context, self._values, status, buffers)
            if not out.found[SOLVED]:
                return False
            if n == 0:
                found, pairs, faces = self._find_in_lanes(context, out)
                found = self._with_faces(found, faces, pairs)
                of_step, work = self._start(out, found, pairs, drives, x_free[num_q:])
            status = of_step.solve(out.problem.counts.copy(), out.v_next, x_free[num_q:].lanes, n > 0, work)
            assert status != LACKS_SIZE, "Constraints are decided by values, which are the same."
            if status == SINGULAR:
                raise RuntimeError(
                    f"Plant '{self._dynamics.model.path()}' has no derivatives at time {time_of(context)} s: forces of "
                    "contacts and masses do not determine how velocities follow. Move the bodies a little."
                )
            result[:] = merge_lanes(of_step.x_next, of_step.num_derivatives)
        self._take_sample(out, found, of_step, drives.lanes.shape[1])
        return True

    def _solve(self, context: Context, x_star: Array, drives: LaneRecords, is_posed: bool) -> int:
        """A pass of the step on floats; a later one has the problem of the first. Returns a status of step.py."""
        buffers, (out,) = self.buffers, self.buffers.results
        given = buffers.model, buffers.state, self._step.time_step
        out.found[SOLVED], num_pairs, is_held = 0, int(out.found[NUM_PAIRS]), True
        if not is_posed:
            if len(buffers.work.lengths):
                lengths, arms = self._transmissions_in_lanes()
                buffers.work.lengths[:], buffers.work.arms[:] = lengths.lanes[0].real, arms.lanes[0].real
            if drives.lanes.shape[1]:
                buffers.work.drive_values[:] = split_lanes(self._step.work.drive_values).lanes[0].real
            num_pairs = self._find_pairs(context, out)
            if num_pairs < 0:
                return num_pairs
        out.x_next[:] = x_star
        if not is_posed:
            num_pairs = drop_distant(*given, out, num_pairs)
            contact = buffers.model.contact
            has_rows = len(contact.constraint_rows) + len(self._arrays.frictions) + contact.holds_transmissions > 0
            is_held = num_pairs > 0 or has_rows or count_limits(*given, out) > 0
            if is_held:
                pose_problem(*given, buffers.work, out, num_pairs)
        if not is_held:
            return 0
        status: int = solve(*given, buffers.state.v, 0, out)
        if status == 0:
            finish_step(*given, out.impulses[: out.problem.counts[0]["rows"]], buffers.work, out)
        return status

    def _drives_in_lanes(self) -> LaneRecords:
        """The PD controllers with what they are to do, as records in lanes."""
        buffers = self._step
        controllers = buffers.controllers
        if not len(controllers.inputs):
            return _NO_DRIVES
        split = split_lanes(buffers.work.drive_values)
        records = np.zeros(split.lanes.shape[:2], drive_lanes_dtype)
        records["v"] = controllers.velocities
        records["p"], records["d"], records["limit"] = controllers.p, controllers.d, controllers.limits
        records["error"], records["v_desired"] = -split.lanes[..., ERROR], split.lanes[..., VELOCITY_TARGET]
        records["feedforward"] = split.lanes[..., FEEDFORWARD]
        return LaneRecords(records, split.num_derivatives)

    def _transmissions_in_lanes(self) -> tuple[LaneRecords, LaneRecords]:
        """Lengths, behind positions, and moment arms of transmissions, as the step has found them."""
        work = self._step.work
        lengths, arms = split_lanes(work.lengths), split_lanes(work.arms)
        return LaneRecords(lengths.lanes, lengths.num_derivatives), LaneRecords(arms.lanes, arms.num_derivatives)

    def _start(
        self, out: StepResults, found: StepResults, pairs: LaneRecords | None, drives: LaneRecords, v_star: LaneRecords
    ) -> tuple[LaneStep, LaneWork]:  # fmt: skip
        """The step in lanes, of what has been solved on floats."""
        w, arrays, rows = self._w, self._arrays, self.buffers.model.contact.constraint_rows
        pairs = _NO_PAIRS if pairs is None else pairs
        given = [w.lanes_of(argument) for argument in (w.x, w.position, self._step.F_applied, w.parameters)]
        transmissions = self._transmissions_in_lanes()
        num_derivatives = _common_count([pairs, drives, v_star, *transmissions, *given])
        x, position, F_applied, parameters = (lanes.lanes for lanes in given)
        along = [t.lanes for t in transmissions]
        lanes = parameters, pairs.lanes, drives.lanes, *along, x, v_star.lanes, position, F_applied
        inputs = LaneInputs(*map(np.ascontiguousarray, lanes))
        model = StepModel(
            arrays.plant_trees, self._every_tree, np.array([self.buffers.model.contact.settings]), self._step.time_step,
            self._dynamics.settings.choices.near_rigid_threshold, arrays.limits, arrays.frictions, rows,
            self._step.model.transmissions, int(out.statistics["num_fallbacks"]),
        )  # fmt: skip
        return self._steps.start(model, inputs, num_derivatives, len(found.contact_pairs), drives.lanes.shape[1])

    def _take_sample(self, out: StepResults, found: StepResults, of_step: LaneStep, num_drives: int) -> None:
        """Writes the sample of the step, with derivatives."""
        step, num_rows = self._step, int(out.problem.counts[0]["rows"])
        forces, tau, tau_joints, row_forces, F_Bo_W, impulses = of_step.records(
            "forces", "tau_contact", "tau_joints", "row_forces", "F_Bo_W", "impulses"
        )
        sample = sample_of_contacts(
            self.buffers, found, forces, tau, tau_joints, row_forces, out.statistics.item()
        )
        step.sample, step.F_Bo_W = sample, F_Bo_W
        if num_drives:
            of_drives = impulses[num_rows - num_drives : num_rows].merged()
            step.actuation()[step.controllers.inputs] = of_drives / step.time_step

    # ------------------------------------------------------------------ geometry

    def _margin(self) -> float:
        """Up to which distance points of geometries may touch within a step [m]."""
        margin = float(margin_of_step(self._values.gravity, self._step.time_step))
        if self.buffers.model.contact.looks_ahead:
            margin += self._step.time_step * largest_speed(self._values.take_velocity(self._w))
        return margin

    def _find_pairs(self, context: Context, out: StepResults) -> int:
        """Finds what touches, on floats: how many contact pairs there are, negative if there is no answer."""
        if not self._dynamics.may_touch:
            return 0
        contact_geometry, geometry = self._dynamics.contact_geometry, self.buffers.model.contact.geometry
        if contact_geometry.may_touch and not geometry.is_moved_by_plant:
            query = contact_geometry.query_object(context)
            geometry.X_WG[:] = query.proximity_queries().poses(query.world_poses())[0]
        out.position[:] = self._values.position
        count: int = find_contact_pairs(self.buffers.model, self._margin(), out)
        return count

    def _geometry_poses(self, context: Context) -> LaneRecords:
        """X_WG in lanes, of geometries that are fixed to bodies of the plant without the ports, which take longer."""
        geometry = self.buffers.model.contact.geometry
        if geometry.is_moved_by_plant:
            X_WG = LaneRecords(np.zeros((1, len(geometry.mobods), 4, 4), np.complex128), 0)
            self._w.call(geometry_poses, geometry.mobods, geometry.X_BG, self._w.position, X_WG)
            return X_WG
        query = self._dynamics.contact_geometry.query_object(context)
        values, derivatives = query.proximity_queries().poses(query.world_poses())
        if derivatives is None or not derivatives.shape[-1]:
            return LaneRecords(values[np.newaxis].astype(np.complex128), 0)
        return LaneRecords(values + 1j * STEP * np.moveaxis(derivatives, -1, 0), derivatives.shape[-1])

    def _find_in_lanes(self, context: Context, out: StepResults) -> tuple[StepResults, LaneRecords | None, _Faces]:
        """What a step has found to touch, its contact pairs in lanes, and the faces of surfaces; None for nothing."""
        found, faces = found_in(out), None
        origins = found.contact_pairs["origin"]
        if not len(origins):
            return found, None, None
        num_points, num_of_geometries = np.searchsorted(origins, [OF_FACE, OF_KIND]).tolist()
        made: list[LaneRecords] = []
        contact, sources, w = self.buffers.model.contact, found.contact_pairs["source"], self._w
        materials = self.buffers.geometry.materials, self._arrays.tree_of_mobod
        if num_of_geometries:  # pairs of points
            poses = self._geometry_poses(context)
            contacts = self._follow_contacts(context, poses, found.candidates, found.contacts)
            pairs = LaneRecords(np.zeros((1, len(found.contacts)), contact_pair_lanes_dtype), 0)
            w.call(make_contact_pairs, *materials, poses, found.candidates, contacts, pairs)
            made.append(_chosen(pairs, sources[:num_points]))
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
            made.append(_chosen(pairs, sources[num_of_geometries:]))
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
        arrays = self.buffers.geometry.hydroelastic
        assert arrays is not None
        X_WG, dX_WG = poses.lanes[0].real.copy(), np.moveaxis(poses.lanes.imag, 0, -1) / STEP
        return differentiate_surfaces(arrays, X_WG, dX_WG, found.surface_pairs, faces, STEP)

    def _with_faces(self, found: StepResults, faces: _Faces, pairs: LaneRecords | None) -> StepResults:
        """The same with derivatives of faces, for the sample."""
        if faces is None or pairs is None:
            return found
        corners, numbers = (merge_lanes(lanes, pairs.num_derivatives) for lanes in faces)
        return found._replace(corners=corners, faces=numbers)

    def _follow_contacts(
        self, context: Context, poses: LaneRecords, candidates: Array, contacts: Array
    ) -> LaneRecords:
        """Contacts in lanes, as records of contact_lanes_dtype."""
        if not poses.num_derivatives:
            lanes = np.zeros((1, len(contacts)), contact_lanes_dtype)
            for name in contacts.dtype.names or ():
                lanes[name] = contacts[name]
            return LaneRecords(lanes, 0)
        query = self._dynamics.contact_geometry.query_object(context)
        queries = query.proximity_queries()
        try:
            given = poses.lanes[0].real, poses.lanes, candidates, contacts, self._margin()
            lanes = differentiate_manifolds(queries.engine, *given)
            return LaneRecords(lanes, poses.num_derivatives)
        except LookupError as error:
            ids = queries.layout.geometry_ids
            first, second = (query.inspector().GetName(ids[row]) for row in candidates[error.args[0]].tolist())
            raise RuntimeError(
                f"Plant '{self._dynamics.model.path()}' has no derivatives at time "
                f"{time_of(context)} s: the contact normal of geometries '{first}' and '{second}' "
                "jumps there. Move them a little, or take finite differences of a plant of floats."
            ) from None

    # ------------------------------------------------------------------ continuous time

    def find_penalty_forces(self, context: Context) -> tuple[ContactSample | None, Array]:
        """What touches in continuous time, and the forces on the bodies, shape [num_mobods, 6]."""
        dynamics, w, buffers = self._dynamics, self._w, self.buffers
        dynamics.kinematics.eval_velocity(context)
        self._values.update(w)

        status: int | None = None
        while dynamics.must_run(context, buffers, self._step.controllers, status):
            status = min(self._find_pairs(context, buffers.results[0]), 0)
        if status:
            dynamics.raise_failure(context, self._values, status, buffers)
        (out,) = buffers.results
        found, pairs, faces = self._find_in_lanes(context, out)
        F_Bo_W: Array = w.zeros_F.copy()
        if pairs is None:
            return None, F_Bo_W
        forces, tau = np.empty((len(found.contact_pairs), NUM_FORCE_VALUES), object), w.zeros_v.copy()
        tolerance = dynamics.settings.choices.stiction_tolerance
        w.call(penalty_forces, tolerance, w.position, w.velocity, pairs, F_Bo_W, forces)
        w.call(generalized_forces, w.topology, w.position, F_Bo_W, np.empty_like(w.zeros_F), tau)
        found = self._with_faces(found, faces, pairs)
        return sample_of_contacts(buffers, found, forces, tau, w.zeros_v.copy()), F_Bo_W


def _chosen(pairs: LaneRecords, sources: Array) -> LaneRecords:
    """Of contact pairs in lanes, those of the given sources, in ascending order."""
    given = pairs.lanes[0]["source"]
    if len(given) == len(sources) and (given == sources).all():
        return pairs
    made, places = np.unique(given, return_index=True)
    return LaneRecords(pairs.lanes[:, places[np.searchsorted(made, sources)]], pairs.num_derivatives)


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
