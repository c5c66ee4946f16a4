"""The arrays of deformable bodies in steps of one plant in one Context: records of contact/deformable_records.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context.native_code import DiscreteStateOf, NextDiscreteStateOf
from merganser.framework.native.memory.records_of_arrays import Placed
from merganser.geometry.hydroelastic.face_columns import FACE_NUMBERS
from merganser.geometry.hydroelastic.polygons import MOST_CORNERS
from merganser.multibody.contact import integer_workspace_size, workspace_size
from merganser.multibody.contact.contact_pairs import contact_pair_dtype
from merganser.multibody.contact.deformable_operation import StepOfAllRecord
from merganser.multibody.contact.deformable_pairs import end_dtype
from merganser.multibody.contact.deformable_problem import calc_deformable_forces, push_by_fixed_vertices
from merganser.multibody.contact.deformable_records import (
    FACES,
    IS_COUPLED,
    JACOBIAN,
    MATRIX,
    NODES,
    NUM_FOUND,
    PAIRS,
    CoupledProblem,
    DeformableBodies,
    DeformableResults,
    Motion,
    NextState,
    Participants,
    SoftBody,
    fixed_dtype,
)
from merganser.multibody.contact.layout import SolverWork, constraint_dtype, row_dtype, tree_dtype
from merganser.multibody.contact.plant_layout import NUM_FORCE_VALUES
from merganser.multibody.contact.step_operation import StepRecord
from merganser.multibody.contact.step_records import StepResults
from merganser.multibody.fem.config import MaterialModel
from merganser.multibody.fem.layout import StepWork
from merganser.multibody.plant.step.contact_arrays import ContactSample, DeformableSample
from merganser.multibody.plant.step.deformable_code import (
    deformable_code_of_addresses,
    deformable_code_of_functions,
)
from merganser.multibody.plant.step.deformable_geometry import DeformableGeometry
from merganser.multibody.tree.deformable_body import DeformableBody

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.deformable_steps import DeformableSteps
    from merganser.multibody.plant.step.step_buffers import StepBuffers
    from merganser.multibody.plant.workspace import Workspace

__all__ = ["DeformableBuffers"]

Array = NDArray[Any]
_LINEAR = MaterialModel.kLinear, MaterialModel.kLinearCorotated


def _works_of(steps: DeformableSteps, w: Workspace) -> list[StepWork]:
    """Room for the motion of each body, which the steps of Python and of the native plan in a Context share."""
    others = [w.step_buffers, None if w.sample_buffers is None else w.sample_buffers.step]
    for step in others:
        if step is not None and step.soft is not None:
            works: list[StepWork] = step.soft.works
            return works
    return [body.fem_body().make_work() for body in steps.bodies]


class DeformableBuffers:
    """What deformable bodies need in steps; made again in parts when model or Context have changed.

    Args:
        steps: of the plant.
        context: of it.
        w: its workspace.
        step: the arrays of the rigid bodies; there are as many sets of results.

    Attributes:
        model: record of all bodies.
        results: the last argument of steps, one for each set.
        geometry: what bodies may touch.
        works: of each body room for its motion.
    """

    def __init__(self, steps: DeformableSteps, context: Context, w: Workspace, step: StepBuffers) -> None:
        self._steps, self._context, self._w, self._step = steps, context, w, step
        self._number = -1
        self._is_enabled: tuple[bool, ...] = ()
        self.geometry = DeformableGeometry(steps.contact_geometry, steps.touching, steps.warn_once)
        sizes = [body.num_dofs() // 3 for body in steps.bodies]
        self._first_vertices = np.cumsum([0, *sizes]).astype(np.int64)
        n = self._num_vertices = sum(sizes)
        self.motion = Motion(*(np.zeros(3 * n) for _ in Motion._fields))
        self.works = _works_of(steps, w)
        arrays = [body.fem_body().arrays for body in steps.bodies]
        self._participants = Participants(
            self._first_vertices, np.concatenate([np.zeros(0, np.int64), *map(steps.order_of, steps.bodies)]),
            np.concatenate([np.zeros(0, np.int64), *[(a.unknown >= 0).astype(np.int64) for a in arrays]]),
            np.full(len(sizes), -1, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64),
            np.zeros(len(sizes) + 1, np.int64),
        )  # fmt: skip
        self._held = [body.held_points(steps.mobod_of) for body in steps.bodies]
        self._fixed = steps.fixed
        self._capacities = dict.fromkeys((FACES, MATRIX, NODES, JACOBIAN), 0)
        self._blocks = self._factor = 0
        self.results: list[DeformableResults] = []
        self.model: DeformableBodies
        self._next_states = [
            tuple(NextState(np.zeros(9 * size)) for size in sizes) for _ in range(len(step.results))
        ]
        self._found = [np.zeros(NUM_FOUND, np.int64) for _ in range(len(step.results))]

    # ------------------------------------------------------------------ what the records were made for

    def is_current(self) -> bool:
        """Whether model and Context are as they were."""
        return self._number == self._step.num_preparations and self._is_enabled == self._enabled()

    def _enabled(self) -> tuple[bool, ...]:
        parameters = self._context.peek_parameters()
        return tuple(
            bool(parameters.get_abstract_parameter(body.is_enabled_parameter_index()).get_value())
            for body in self._steps.bodies
        )

    def prepare(self) -> None:
        """Takes over model and Context as they are."""
        self._number = -1  # an error or an interrupt on the way leaves nothing that looks current
        is_enabled = self._enabled()
        geometry = self.geometry.record(self._context, self._step, self._first_vertices, is_enabled)
        self._make_results(is_enabled)
        steps, participants, sizes = self._steps, self._participants, self._capacities
        fixed = self.results[0].fixed
        self._put_constant_forces()
        holders = [holders for holders, _ in self._held]
        most_unknowns = max((body.fem_body().num_unknowns() for body in steps.bodies), default=0)
        self.model = DeformableBodies(
            code=deformable_code_of_functions(self._w),
            bodies=tuple(self._body(i, body, is_enabled[i]) for i, body in enumerate(steps.bodies)),
            motion=self.motion,
            needs_poses=int(len(fixed) > 0 or len(geometry.candidates) > 0 or any((of > 0).any() for of in holders)),
            geometry=geometry,
            participants=participants,
            columns=np.zeros(most_unknowns + 3 * self._num_vertices, np.int64),
            W=np.zeros(sizes[NODES]),
            S=np.zeros(sizes[NODES]),
            room=self._room(),
        )
        self._is_enabled, self._number = is_enabled, self._step.num_preparations

    def _body(self, i: int, body: DeformableBody, is_enabled: bool) -> SoftBody:
        fem, (holders, p_held) = body.fem_body(), self._held[i]
        state = self._context.peek_state().get_discrete_state(body.discrete_state_index()).value()
        return SoftBody(
            int(is_enabled), int(body.config().material_model() in _LINEAR), int(self._first_vertices[i]),
            fem.num_nodes, fem.num_unknowns(), fem.arrays, self.works[i], holders, p_held, state,
        )  # fmt: skip

    def vertices_of(self, i: int) -> slice:
        """Where the coordinates of body i stand in the arrays of `motion`."""
        return slice(3 * int(self._first_vertices[i]), 3 * int(self._first_vertices[i + 1]))

    def _put_constant_forces(self) -> None:
        for i, force in enumerate(self._steps.constant_forces):
            if force is not None:
                self.motion.force[self.vertices_of(i)] = force

    # ------------------------------------------------------------------ sizes

    def lacks_capacity(self) -> bool:
        """Whether a step has found more than there is room for, or the solver too little."""
        for out, found in zip(self._step.results, self._found):
            if any(found.item(what) > size for what, size in self._capacities.items()):
                return True
            needed = out.statistics["blocks_needed"] > self._blocks or out.statistics["factor_needed"] > self._factor
            if found.item(IS_COUPLED) and needed:
                return True
        return self.geometry.lacks_memory()

    def grow(self) -> None:
        """Makes larger what the last step has found too small."""
        self._number = -1
        self.geometry.grow()
        for out, found in zip(self._step.results, self._found):
            for what, size in self._capacities.items():
                if found.item(what) > size:
                    self._capacities[what] = 3 * found.item(what) // 2
            if found.item(IS_COUPLED):
                self._blocks = max(self._blocks, int(out.statistics["blocks_needed"]))
                if out.statistics["factor_needed"] > self._factor:
                    self._factor = 3 * int(out.statistics["factor_needed"]) // 2

    def _make_results(self, is_enabled: tuple[bool, ...]) -> None:
        sizes, rigid, fixed = self._capacities, self._step.results[0].problem, self._fixed
        fixed = fixed[np.asarray(is_enabled, np.bool_)[fixed["body"]]] if len(fixed) else np.zeros(0, fixed_dtype)
        num_faces = sizes[FACES]
        num_constraints = len(rigid.constraints) + num_faces + len(fixed)
        num_rows = len(rigid.rows) + 3 * (num_faces + len(fixed))
        num_v, num_trees = len(self._w.v), len(self._steps.trees) + len(self._steps.bodies)
        sizes[JACOBIAN] = max(sizes[JACOBIAN], len(rigid.jacobian))
        sizes[MATRIX] = max(sizes[MATRIX], len(self._step.model.contact.matrix))
        num_all = num_v + 3 * self._num_vertices
        self.results = [
            DeformableResults(
                found, next_states, np.zeros((num_faces, MOST_CORNERS, 4)), np.zeros((num_faces, FACE_NUMBERS)),
                np.zeros((num_faces, 4), np.int64), np.zeros(num_faces, contact_pair_dtype),
                np.zeros((num_faces, 2), end_dtype), fixed.copy(),
                CoupledProblem(
                    np.zeros(num_trees, tree_dtype), np.zeros(sizes[MATRIX]), np.zeros(num_all, np.int64),
                    np.zeros(num_all), np.zeros(num_all), np.zeros(num_constraints, constraint_dtype),
                    np.zeros(num_rows, row_dtype), np.zeros(sizes[JACOBIAN]), np.zeros(6, np.int64),
                    np.zeros(num_all), np.zeros(num_rows),
                ),
            )
            for found, next_states in zip(self._found, self._next_states)
        ]  # fmt: skip

    def _room(self) -> SolverWork:
        """Room for the solver."""
        problem = self.results[0].problem
        num_trees, num_v = len(problem.trees), len(problem.v)
        self._blocks = max(self._blocks, num_trees * (num_trees - 1) // 2 + 1 if num_trees < 32 else 4 * num_trees)
        self._factor = max(self._factor, 2 * len(problem.matrix))
        numbers = workspace_size(
            num_v, len(problem.rows), len(problem.matrix), len(problem.jacobian), self._factor
        )
        integers = integer_workspace_size(num_v, num_trees, len(problem.constraints), self._blocks)
        return SolverWork(self._blocks, np.zeros(numbers), np.zeros(integers, np.int64))

    # ------------------------------------------------------------------ in the native plan

    def operation_record(self, step: StepRecord, may_constrain: bool) -> StepOfAllRecord:
        """What the operation of steps is told.

        Args:
            step: of the rigid bodies.
            may_constrain: whether the kernels are compiled that hold something, or it pays to compile them.
        """
        indices = [int(body.discrete_state_index()) for body in self._steps.bodies]
        code = deformable_code_of_addresses(may_constrain and self._steps.may_constrain)
        bodies = [
            body._replace(state=Placed(DiscreteStateOf(i), body.state.shape))
            for i, body in zip(indices, self.model.bodies)
        ]
        next_states = [NextState(Placed(NextDiscreteStateOf(i), body.state.shape)) for i, body in zip(indices, bodies)]
        results = tuple(result._replace(next_states=tuple(next_states)) for result in self.results)
        return StepOfAllRecord(step, self.model._replace(code=code, bodies=tuple(bodies)), results)

    # ------------------------------------------------------------------ what there is to tell

    def add_contacts(self, sample: ContactSample, w: Workspace, out: StepResults) -> ContactSample:
        """Returns the sample of a step with the contacts of deformable bodies; F_Bo_W gets their forces, too.

        Args:
            sample: of the rigid bodies.
            w: workspace of the Context.
            out: what the step has left of these.
        """
        (which,) = (i for i, result in enumerate(self._step.results) if result is out)
        soft_out, step = self.results[which], self._step
        problem, fixed, h = soft_out.problem, soft_out.fixed, step.time_step
        if not soft_out.found[IS_COUPLED]:
            return sample
        num_rows, num_faces, num_pairs = int(problem.counts[1]), soft_out.found[FACES], soft_out.found[PAIRS]
        if len(fixed):
            impulses = problem.impulses[num_rows - 3 * len(fixed) : num_rows]
            push_by_fixed_vertices(h, fixed, impulses, out.position, step.F_Bo_W)
        if not num_pairs:
            return sample
        forces, tau = np.zeros((num_pairs, NUM_FORCE_VALUES)), sample.tau.copy()
        pairs, ends = soft_out.pairs[:num_pairs], soft_out.ends[:num_pairs]
        w.call(
            calc_deformable_forces,
            problem.trees, len(w.v), h, int(out.problem.counts[0]), pairs, ends, out.position, problem.v_next,
            problem.constraints, problem.jacobian, problem.impulses, step.F_Bo_W, tau, forces,
        )  # fmt: skip
        forces[ends["body"][:, 0] < 0, :3] *= -1.0  # A of the pair is rigid; A of the sample is deformable
        rows = self.model.geometry.candidates.copy()
        is_rigid = rows[:, 0] < self.geometry.num_rigid
        rows[is_rigid] = rows[is_rigid, ::-1]
        deformables = DeformableSample(
            self.geometry.geometry_ids, rows, soft_out.corners[:num_faces].copy(), soft_out.faces[:num_faces].copy(),
            soft_out.owners[:num_faces].copy(), pairs["source"].copy(), forces,
        )  # fmt: skip
        return sample._replace(tau=tau, deformables=deformables)
