"""Steps of a plant with deformable bodies: free motion of these, and one contact problem for all bodies.

    free motion   v* of the rigid bodies (step.py), and of each deformable one (fem/newton.py)
    contacts      of rigid bodies, and of deformable ones                             deformable_geometry.py
    problem       that of the rigid bodies, with one tree more for each deformable body that touches
                  anything, and the constraints of its contacts behind the others     contact/deformable_problem.py
    solver        one for all
    next state    of the rigid bodies, and of all vertices: those that take part as the solver says, the others as
                  they follow them                                                    fem/schur.py

Where no deformable body touches anything, the rigid bodies take their step as if there were none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import RigidTransform
from merganser.framework.native.memory.tape import call_asking_kernel, call_kernel, call_quiet_kernel
from merganser.multibody.contact import integer_workspace_size, make_trees, workspace_size
from merganser.multibody.contact.contact_pairs import contact_pair_dtype
from merganser.multibody.contact.deformable_pairs import end_dtype
from merganser.multibody.contact.deformable_problem import (
    add_deformable_contacts,
    add_fixed_vertices,
    calc_deformable_forces,
    fixed_dtype,
    push_by_fixed_vertices,
)
from merganser.multibody.contact.layout import (
    NO_CAPACITY,
    Solution,
    SolverWork,
    StepProblem,
    constraint_dtype,
    row_dtype,
)
from merganser.multibody.contact.plant_layout import NUM_FORCE_VALUES
from merganser.multibody.contact.step import (
    BAD_POSE,
    NOT_FINITE,
    NOT_SOLVED,
    drop_distant,
    find_forces,
    find_pairs_of_step,
    finish_step,
    move,
    pose_problem,
    take_step,
)
from merganser.multibody.contact.step_records import OUTCOME, SOLVED, Inputs, Model, StepResults
from merganser.multibody.fem.body import FemBody
from merganser.multibody.fem.layout import StepWork
from merganser.multibody.plant.deformable_model import DeformableModel
from merganser.multibody.plant.step.contact_arrays import DeformableSample
from merganser.multibody.plant.step.deformable_geometry import DeformableGeometry, FoundContacts
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import RigidBody
from merganser.multibody.tree.deformable_body import DeformableBody

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics

__all__ = ["DeformableSteps"]

Array = NDArray[Any]
_NOTHING = np.zeros(0)
_NO_PAIRS, _NO_ENDS = np.zeros(0, contact_pair_dtype), np.zeros((0, 2), end_dtype)


class _Motion(NamedTuple):
    """Free motion of a body in a step; None where it has none.

    Attributes:
        q, v: before it, shape [3 num_vertices].
        q_free, v_free: after it.
    """

    q: Array
    v: Array
    q_free: Array
    v_free: Array


class DeformableBuffers:
    """What the steps of a plant with deformable bodies work on, in one Context.

    Attributes:
        works: of each body, see fem/layout.py.
        motions: free motions of the last step; None for bodies that are switched off.
        v_next: velocities after the step, of each body.
        contacts: what touched in the last step; None if nothing did.
        fixed: vertices that are held to rigid bodies, where they were before the step, records of fixed_dtype.
        problem: of the last step; None if there was none of deformable bodies.
        room: for the solver.
        blocks, factor: capacities that it has needed.
        geometry: where bodies touch; None if none of them has contacts.
    """

    def __init__(self, bodies: list[FemBody]) -> None:
        self.works: list[StepWork] = [body.make_work() for body in bodies]
        self.motions: list[_Motion | None] = [None] * len(bodies)
        self.v_next: list[Array] = [_NOTHING] * len(bodies)
        self.contacts: FoundContacts | None = None
        self.fixed = np.zeros(0, fixed_dtype)
        self.problem: _CoupledProblem | None = None
        self.room = SolverWork(0, np.zeros(0), np.zeros(0, np.int64))
        self.blocks = self.factor = 0
        self.geometry: DeformableGeometry | None = None


class _CoupledProblem(NamedTuple):
    """The contact problem of a step, and its solution; arrays are those of contact/layout.py."""

    trees: Array
    matrix: Array
    is_locked: Array
    v: Array
    v_star: Array
    constraints: Array
    rows: Array
    jacobian: Array
    v_next: Array
    impulses: Array
    first: int  # the first constraint of deformable bodies


class _Participants(NamedTuple):
    """Vertices that take part in contacts.

    Attributes:
        bodies: numbers of the deformable bodies that have any.
        vertices: which ones, of each of these.
        tree_of_body: of all deformable bodies, -1 for none.
        columns: of all vertices of all bodies, the first velocity in its tree; -1 for none.
    """

    bodies: list[int]
    vertices: list[Array]
    tree_of_body: Array
    columns: Array


class DeformableSteps:
    """Steps of a plant with deformable bodies.

    Args:
        deformables: the bodies.
        dynamics: of the plant.

    Attributes:
        may_touch: whether any deformable body has contacts.
        may_constrain: whether there may be constraints on deformable bodies.
    """

    def __init__(self, deformables: DeformableModel, dynamics: PlantDynamics) -> None:
        self._deformables, self._dynamics = deformables, dynamics
        self._bodies: list[DeformableBody] = deformables.bodies()
        self._touching = deformables.bodies_with_contact()
        self.may_touch = bool(self._touching)
        self.may_constrain = self.may_touch or any(body.vertices_fixed_to_moving() for body in self._bodies)
        tree = dynamics.model.tree
        self._fixed = [
            (i, int(tree.mobod_of_body[fixed.body.index()]), fixed)
            for i, body in enumerate(self._bodies)
            for fixed in body.vertices_fixed_to_moving()
        ]
        sizes = [body.num_dofs() // 3 for body in self._bodies]
        self._first_vertices = np.cumsum([0, *sizes])[:-1].astype(np.int64)
        self._num_vertices = sum(sizes)

    # ------------------------------------------------------------------ free motion

    def _buffers_in(self, w: Workspace) -> DeformableBuffers:
        buffers: DeformableBuffers | None = w.deformables
        if buffers is None:
            buffers = w.deformables = DeformableBuffers([body.fem_body() for body in self._bodies])
            if self.may_touch:
                geometry = self._dynamics.contact_geometry
                buffers.geometry = DeformableGeometry(geometry, self._touching, self._dynamics.warn_once)
        return buffers

    def begin_step(self, context: Context, w: Workspace) -> DeformableBuffers:
        """Computes the free motion of all bodies."""
        soft, h = self._buffers_in(w), self._dynamics.model.time_step

        def X_WB(body: RigidBody) -> RigidTransform:
            return self._dynamics.kinematics.eval_body_pose_in_world(context, body)

        soft.contacts = soft.problem = None
        soft.fixed = self._place_fixed(context)
        for i, body in enumerate(self._bodies):
            soft.motions[i] = None
            if body.is_enabled(context):
                soft.motions[i] = motion = _Motion(*body.move_freely(context, h, X_WB, soft.works[i]))
                soft.v_next[i] = motion.v_free
        return soft

    def _place_fixed(self, context: Context) -> Array:
        """The vertices that are held to rigid bodies which can move, and where; of bodies that are switched on."""
        if not self._fixed:
            return np.zeros(0, fixed_dtype)
        parts = []
        for number, (i, mobod, fixed) in enumerate(self._fixed):
            if self._bodies[i].is_enabled(context):
                part = np.zeros(len(fixed.vertices), fixed_dtype)
                part["number"], part["body"], part["vertex"], part["mobod"] = number, i, fixed.vertices, mobod
                X_WB = self._dynamics.kinematics.eval_body_pose_in_world(context, fixed.body)
                part["p_WP"] = self._bodies[i].GetPositions(context).T[fixed.vertices]
                part["p_WQ"] = fixed.p_BP @ X_WB.rotation().matrix().T + X_WB.translation()
                parts.append(part)
        return np.concatenate([np.zeros(0, fixed_dtype), *parts])

    def write(self, context: Context, w: Workspace, next_state: Any) -> None:
        """Writes the states of all bodies after the step that has been computed last.

        Args:
            context: before the step.
            w: workspace of it.
            next_state: called with the number of a group of discrete state, returns the vector to be written.
        """
        soft: DeformableBuffers = w.deformables
        for body, motion, v_next in zip(self._bodies, soft.motions, soft.v_next):
            out = next_state(int(body.discrete_state_index())).get_mutable_value()
            q_next = None
            if motion is not None:  # q+ = q + h/2 (v + v+), but where vertices are held
                q_next = motion.q_free + 0.5 * self._dynamics.model.time_step * (v_next - motion.v_free)
            body.write_step(context, self._dynamics.model.time_step, q_next, v_next, out)

    # ------------------------------------------------------------------ the step

    def step_of(
        self, context: Context, w: Workspace, inputs: Inputs, h: float
    ) -> Callable[[StepBuffers, StepResults], int]:
        """Returns what takes the step of all bodies, with arrays of the rigid ones; it returns a status of step.py."""
        soft = self.begin_step(context, w)

        def compute(buffers: StepBuffers, out: StepResults) -> int:
            status = self._find_contacts(context, buffers, out, soft)
            if status != 0:
                return status
            if soft.contacts is None and not len(soft.fixed):
                return int(take_step(buffers.model, buffers.state, h, inputs, buffers.work, out))
            return self._take_coupled_step(buffers, inputs, out, soft, h)

        return compute

    def _find_contacts(
        self, context: Context, buffers: StepBuffers, out: StepResults, soft: DeformableBuffers
    ) -> int:
        """Leaves the contacts of deformable bodies in `soft`; returns a status."""
        model, state, geometry = buffers.model, buffers.state, buffers.model.contact.geometry
        soft.contacts = None
        if soft.geometry is None:
            return 0
        if len(geometry.mobods) and geometry.is_moved_by_plant:
            motion = state.q, state.v, out.position, buffers.work.velocity
            call_quiet_kernel(model.code.kinematics, (model.topology, model.parameters, *motion))
            poses = geometry.mobods, geometry.X_BG, out.position, geometry.X_WG
            if not call_asking_kernel(model.code.geometry_poses, poses):
                return BAD_POSE
        motions = [soft.motions[int(body.index())] for body in self._touching]
        positions = [_NOTHING if motion is None else motion.q for motion in motions]
        contacts = soft.geometry.find(context, buffers, geometry.X_WG, positions)
        soft.contacts = contacts if len(contacts.pairs) else None
        return 0

    def _take_coupled_step(
        self, buffers: StepBuffers, inputs: Inputs, out: StepResults, soft: DeformableBuffers, h: float
    ) -> int:
        model, state, work = buffers.model, buffers.state, buffers.work
        out.found[SOLVED] = 0
        status = find_forces(model, state, h, inputs, work, out.position)
        if status != 0:
            return int(status)
        num_pairs = find_pairs_of_step(model, state, h, work, out)
        if num_pairs < 0:
            return int(num_pairs)
        status = move(model, state, h, inputs, work, out, False)  # v*
        if status != 0:
            return int(status)
        num_pairs = drop_distant(model, state, h, out, num_pairs)
        pose_problem(model, state, h, work, out, num_pairs)
        taking_part = self._find_participants(soft)
        problem = soft.problem = self._couple(buffers, out, soft, taking_part, h)
        outcome = self._solve(model, problem, soft, out, h)
        out.found[OUTCOME] = outcome
        if outcome < 0:
            return NOT_SOLVED
        num_v, num_rows = len(state.v), int(out.problem.counts[1])
        out.v_next[:] = problem.v_next[:num_v]
        out.impulses[:num_rows] = problem.impulses[:num_rows]
        finish_step(model, state, h, out.impulses[:num_rows], work, out)
        self._follow(soft, taking_part, problem, h)
        return 0 if call_asking_kernel(model.code.is_finite, (out.x_next,)) else NOT_FINITE

    # ------------------------------------------------------------------ the contact problem

    def _find_participants(self, soft: DeformableBuffers) -> _Participants:
        """Which vertices contacts and constraints act on, and where their velocities stand."""
        ends = np.zeros(0, end_dtype) if soft.contacts is None else soft.contacts.ends.reshape(-1)
        columns = np.full(self._num_vertices, -1, np.int64)
        tree_of_body = np.full(len(self._bodies), -1, np.int64)
        bodies: list[int] = []
        vertices: list[Array] = []
        num_trees = len(self._dynamics.model.contact.trees)
        fixed = soft.fixed
        for i in np.unique(np.concatenate([ends["body"][ends["body"] >= 0], fixed["body"]])).tolist():
            fem = self._bodies[i].fem_body()
            of_contacts = ends["nodes"][ends["body"] == i].ravel()
            nodes = np.unique(np.concatenate([of_contacts, fixed["vertex"][fixed["body"] == i]]))
            nodes = nodes[(nodes >= 0) & (fem.arrays.unknown[nodes] >= 0)]
            if not len(nodes):  # all are held
                continue
            columns[self._first_vertices[i] + nodes] = 3 * np.arange(len(nodes))
            tree_of_body[i] = num_trees + len(bodies)
            bodies.append(i)
            vertices.append(nodes)
        return _Participants(bodies, vertices, tree_of_body, columns)

    def _couple(
        self, buffers: StepBuffers, out: StepResults, soft: DeformableBuffers, taking_part: _Participants, h: float
    ) -> _CoupledProblem:
        """The contact problem of the rigid bodies, with deformable ones."""
        model, arrays = buffers.model, self._dynamics.model.contact
        contact, num_v, counts = model.contact, len(buffers.state.v), out.problem.counts.copy()
        blocks, v, v_star = [contact.matrix], [buffers.state.v], [out.x_next[len(buffers.state.q) :]]
        for i, vertices in zip(taking_part.bodies, taking_part.vertices):
            motion, fem = soft.motions[i], self._bodies[i].fem_body()
            assert motion is not None
            blocks.append(h * fem.schur_complement(h, motion.q_free, vertices, soft.works[i]).ravel())
            v.append(motion.v.reshape(-1, 3)[vertices].ravel())
            v_star.append(motion.v_free.reshape(-1, 3)[vertices].ravel())
        sizes = [3 * len(vertices) for vertices in taking_part.vertices]
        trees = np.concatenate([arrays.trees, make_trees(sizes)])
        more = trees[len(arrays.trees) :]
        more["v_start"], more["matrix_start"] = more["v_start"] + num_v, more["matrix_start"] + len(contact.matrix)
        pairs, ends, fixed = _NO_PAIRS, _NO_ENDS, soft.fixed
        if soft.contacts is not None:
            pairs, ends = self._moving_pairs(soft.contacts, taking_part)
            soft.contacts = soft.contacts._replace(pairs=pairs, ends=ends)
        first, num_rows, used = counts[:3].tolist()
        constraints = np.zeros(first + len(pairs) + len(np.unique(fixed["number"])), constraint_dtype)
        rows = np.zeros(num_rows + 3 * (len(pairs) + len(fixed)), row_dtype)
        widest = int(trees["num_v"].max())
        jacobian = np.zeros(used + 6 * widest * (len(pairs) + len(fixed)))
        constraints[:first], rows[:num_rows] = out.problem.constraints[:first], out.problem.rows[:num_rows]
        jacobian[:used] = out.problem.jacobian[:used]
        of_trees = contact.trees, trees, taking_part.tree_of_body, taking_part.columns, self._first_vertices
        written = out.position, counts, constraints, rows, jacobian
        add_deformable_contacts(*of_trees, contact.near_rigid_threshold, pairs, ends, *written)
        add_fixed_vertices(*of_trees, h, fixed, *written)
        of_bodies = np.zeros(sum(sizes), np.int64)
        return _CoupledProblem(
            trees, np.concatenate(blocks), np.concatenate([contact.is_locked, of_bodies]), np.concatenate(v),
            np.concatenate(v_star), constraints, rows, jacobian[: counts[2]], np.zeros(num_v + sum(sizes)),
            np.zeros(len(rows)), first,
        )  # fmt: skip

    def _moving_pairs(self, contacts: FoundContacts, taking_part: _Participants) -> tuple[Array, Array]:
        """Pairs of which a side can move."""
        pairs, ends = contacts.pairs, contacts.ends
        tree_of_mobod = self._dynamics.model.contact.tree_of_mobod
        moves = np.zeros(len(pairs), np.bool_)
        for side, name in enumerate(("mobod_A", "mobod_B")):
            body = ends[:, side]["body"]
            moves |= np.where(body < 0, tree_of_mobod[pairs[name]], taking_part.tree_of_body[body]) >= 0
        return (pairs, ends) if moves.all() else (pairs[moves], ends[moves])

    def _solve(
        self, model: Model, problem: _CoupledProblem, soft: DeformableBuffers, out: StepResults, h: float
    ) -> int:
        """Solves it, with more room where that is needed; returns a status of contact/layout.py."""
        trees, rows, constraints = problem.trees, problem.rows, problem.constraints
        given = StepProblem(
            h, model.contact.settings, trees, problem.matrix, problem.is_locked, problem.v, problem.v_star,
            constraints, rows, problem.jacobian,
        )  # fmt: skip
        solution, num_v = Solution(problem.v_next, problem.impulses, out.statistics), len(problem.v)
        soft.blocks = max(soft.blocks, len(trees) * (len(trees) - 1) // 2 + 1 if len(trees) < 32 else 4 * len(trees))
        soft.factor = max(soft.factor, 2 * len(problem.matrix))
        while True:
            size = workspace_size(num_v, len(rows), len(problem.matrix), len(problem.jacobian), soft.factor)
            integers = integer_workspace_size(num_v, len(trees), len(constraints), soft.blocks)
            if size > len(soft.room.numbers) or integers > len(soft.room.integers):
                soft.room = SolverWork(soft.blocks, np.zeros(2 * size), np.zeros(2 * integers, np.int64))
            outcome = call_kernel(model.code.solve, (given, soft.room, solution))
            if outcome != NO_CAPACITY:
                return int(outcome)
            soft.blocks = max(2 * soft.blocks, int(out.statistics["blocks_needed"]))
            soft.factor = max(2 * soft.factor, int(out.statistics["factor_needed"]))
            soft.room = SolverWork(0, _NOTHING, np.zeros(0, np.int64))

    def _follow(
        self, soft: DeformableBuffers, taking_part: _Participants, problem: _CoupledProblem, h: float
    ) -> None:
        """Leaves in `soft.v_next` the velocities of all vertices of bodies that take part."""
        for k, (i, vertices) in enumerate(zip(taking_part.bodies, taking_part.vertices)):
            tree, motion = problem.trees[len(self._dynamics.model.contact.trees) + k], soft.motions[i]
            assert motion is not None
            own = slice(int(tree["v_start"]), int(tree["v_start"] + tree["num_v"]))
            n, start = int(tree["num_v"]), int(tree["matrix_start"])
            S = problem.matrix[start : start + n * n].reshape(n, n)
            forces = S @ (problem.v_next[own] - problem.v_star[own]) / h
            fem = self._bodies[i].fem_body()
            v_next = motion.v_free + fem.follow(vertices, forces, soft.works[i])
            v_next.reshape(-1, 3)[vertices] = problem.v_next[own].reshape(-1, 3)
            soft.v_next[i] = v_next

    # ------------------------------------------------------------------ what there is to tell

    def add_to_sample(self, w: Workspace, buffers: StepBuffers, out: StepResults, h: float) -> None:
        """Adds the contacts of deformable bodies to the sample of a step, and their forces to those on rigid bodies."""
        soft: DeformableBuffers = w.deformables
        contacts, problem = soft.contacts, soft.problem
        if problem is None or buffers.sample is None:
            return
        if len(soft.fixed):
            impulses = problem.impulses[len(problem.rows) - 3 * len(soft.fixed) :]
            push_by_fixed_vertices(h, soft.fixed, impulses, out.position, buffers.F_Bo_W)
        if contacts is None:
            return
        forces = np.zeros((len(contacts.pairs), NUM_FORCE_VALUES))
        tau = buffers.sample.tau.copy()
        calc_deformable_forces(
            problem.trees, len(w.v), h, problem.first, contacts.pairs, contacts.ends, out.position, problem.v_next,
            problem.constraints, problem.jacobian, problem.impulses, buffers.F_Bo_W, tau, forces,
        )  # fmt: skip
        assert soft.geometry is not None
        forces[contacts.ends["body"][:, 0] < 0, :3] *= -1.0  # A of the pair is rigid; A of the sample is deformable
        rows, is_rigid = contacts.candidates.copy(), contacts.candidates[:, 0] < soft.geometry.num_rigid
        rows[is_rigid] = rows[is_rigid, ::-1]
        deformables = DeformableSample(
            soft.geometry.geometry_ids, rows, contacts.corners.copy(), contacts.faces.copy(), contacts.owners.copy(),
            contacts.pairs["source"].copy(), forces,
        )  # fmt: skip
        buffers.sample = buffers.sample._replace(tau=tau, deformables=deformables)
