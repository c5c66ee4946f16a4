"""The deformable bodies of a plant in its steps (../dynamics/deformable_step.py), and their arrays in one Context.

`DeformableSteps` has what is the same in all Contexts, forces that a program defines, errors and next states;
`DeformableBuffers` the records of kernels/records.py; `DeformableGeometry` what the bodies may touch of the geometries
of a SceneGraph, as such records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context.native_code import Capacity, DiscreteStateOf, Growth, NextDiscreteStateOf
from merganser.framework.native.compiler.extending import import_whole
from merganser.framework.native.memory.records_of_arrays import Placed
from merganser.geometry import GeometryId, HalfSpace, MeshcatCone
from merganser.geometry.deformable.moving_meshes import MovingMeshes, make_moving_meshes, pressure_field_of
from merganser.geometry.hydroelastic.buffers import capacities_of, lacks_memory, make_buffers, with_memory
from merganser.geometry.hydroelastic.face_columns import FACE_NUMBERS
from merganser.geometry.hydroelastic.polygons import MOST_CORNERS
from merganser.multibody.contact.contact_pairs import contact_pair_dtype, material_dtype
from merganser.multibody.contact.plant_layout import NUM_FORCE_VALUES
from merganser.multibody.deformable.body import DeformableBody
from merganser.multibody.deformable.kernels.pairs import end_dtype, row_dtype
from merganser.multibody.deformable.kernels.problem import calc_deformable_forces, push_by_fixed_vertices
from merganser.multibody.deformable.kernels.records import (
    OF_FACES,
    Deformables,
    Middle,
    Motion,
    Participants,
    SoftBody,
    fixed_dtype,
)
from merganser.multibody.deformable.kernels.records import DeformableGeometry as GeometryRecord
from merganser.multibody.deformable.model import DeformableModel
from merganser.multibody.dynamics.records import StepResults
from merganser.multibody.fem.layout import StepWork
from merganser.multibody.fem.materials.table import kind_of
from merganser.multibody.kernels.layout import position_dtype, velocity_dtype
from merganser.multibody.tree import RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.contact_geometry import ContactGeometry
    from merganser.multibody.plant.step.dynamics import PlantDynamics
    from merganser.multibody.plant.step.failures import WarnOnce
    from merganser.multibody.plant.step.step_buffers import StepBuffers
    from merganser.multibody.plant.workspace import Workspace

Array = NDArray[Any]


class DeformableGeometry:
    """Surfaces of deformable bodies and what they may touch, for the steps of one Context.

    Args:
        contact_geometry: of the plant.
        bodies: the deformable bodies of which contact is wanted.
        warn_once: says what is left out.

    Attributes:
        geometry_ids: of all rows: of rigid geometries, of surfaces, and where there are several deformable bodies of
            their volumes.
        num_rigid: how many these are.
    """

    def __init__(
        self, contact_geometry: ContactGeometry, bodies: Sequence[DeformableBody], warn_once: WarnOnce
    ) -> None:
        self._contact_geometry, self._bodies, self._warn_once = contact_geometry, bodies, warn_once
        self._layout: Any = None
        self._clipping = make_buffers()
        self.geometry_ids: list[GeometryId] = []
        self.num_rigid = 0
        self._moving: MovingMeshes = make_moving_meshes([], [], False)
        self._materials, self._rows = np.zeros(0, material_dtype), np.zeros(0, row_dtype)
        self._candidates, self._X_WG = np.zeros((0, 2), np.int64), np.zeros((0, 4, 4))

    def capacities(self) -> list[Capacity]:
        """What grows with what there is to remember."""
        return capacities_of(self._clipping)

    def grow(self) -> None:
        """Makes room if the last step had more to remember of contact surfaces than there were places."""
        if lacks_memory(self._clipping):
            self._clipping = with_memory(self._clipping)

    def record(
        self, context: Context, buffers: StepBuffers, first_vertices: Array, is_enabled: Sequence[bool]
    ) -> GeometryRecord:
        """Returns what steps work on, with the geometries as they are now.

        Args:
            context: of the plant.
            buffers: of the step, with the materials of the rigid geometries.
            first_vertices: of all deformable bodies, in arrays for all their vertices.
            is_enabled: which of these move.
        """
        if self._bodies and buffers.geometry.layout is not self._layout:
            self._read(context, buffers)
        moving, n = self._moving, self.num_rigid
        takes_part = np.ones(len(self.geometry_ids), np.bool_)
        bodies = self._rows["body"][n:]
        takes_part[n:] = np.asarray(is_enabled, np.bool_)[bodies]
        return GeometryRecord(
            moving.parts, first_vertices[bodies], moving.extent, moving.opposite, moving.bodies, moving.meshes,
            self._materials, self._rows, self._X_WG,
            np.ascontiguousarray(self._candidates[takes_part[self._candidates].all(axis=1)]), self._clipping,
        )  # fmt: skip

    # ------------------------------------------------------------------ what may touch

    def _read(self, context: Context, buffers: StepBuffers) -> None:
        """Takes over the geometries as they are now; if it fails, nothing counts as read."""
        layout, of_bodies = buffers.geometry.layout, [body.geometry_id() for body in self._bodies]
        inspector = self._contact_geometry.query_object(context).inspector()
        self._warn_of_shapes_without_fields(layout)
        named = zip(layout.shapes, layout.properties, layout.geometry_ids, layout.names)
        fields = [pressure_field_of(shape, of, f"Geometry '{name}' ({id!r})") for shape, of, id, name in named]
        meshes = [body.reference_mesh() for body in self._bodies]
        has_volumes, n = len(meshes) > 1, len(fields)
        self._moving = make_moving_meshes(fields, meshes, has_volumes)
        num_copies = 2 if has_volumes else 1  # surfaces, and volumes
        self.geometry_ids, self.num_rigid = [*layout.geometry_ids, *of_bodies * num_copies], n
        self._materials = np.zeros(len(self.geometry_ids), material_dtype)
        self._materials[:n] = buffers.geometry.materials
        self._candidates = self._list_candidates(fields, inspector)
        for row in np.unique(self._candidates[self._candidates >= n]).tolist():  # of those that may touch anything
            id = self.geometry_ids[row]
            properties = inspector.GetProximityProperties(id)
            self._contact_geometry.set_deformable_material(self._materials[row], inspector.GetName(id), properties)
        self._rows = np.full(len(self.geometry_ids), -1, row_dtype)
        self._rows["body"][n:] = [int(body.index()) for body in self._bodies] * num_copies
        self._rows["first_vertex"][n:] = self._moving.parts["first_vertex"]
        self._X_WG = np.tile(np.eye(4), (len(self.geometry_ids), 1, 1))
        self._clipping.counts[:] = 0
        self._layout = layout

    def _list_candidates(self, fields: list[Any], inspector: Any) -> NDArray[np.int64]:
        """Pairs of rows that may meet: of a pressure field and a surface, and of two volumes."""
        n, num_bodies, ids = self.num_rigid, len(self._bodies), self.geometry_ids
        pairs = [(r, n + d) for d in range(num_bodies) for r in range(n) if fields[r] is not None]
        first = n + num_bodies
        pairs += [(first + a, first + b) for a in range(num_bodies) for b in range(a + 1, num_bodies)]
        kept = [(a, b) for a, b in pairs if not inspector.CollisionFiltered(ids[a], ids[b])]
        return np.array(kept, np.int64).reshape(-1, 2)

    def _warn_of_shapes_without_fields(self, layout: Any) -> None:
        for kind, plural, advice in (
            (HalfSpace, "Half spaces", "Take a large Box."),
            (MeshcatCone, "Cones of Meshcat", "Take a Convex or a Mesh of the same form."),
        ):
            names = [name for shape, name in zip(layout.shapes, layout.names) if isinstance(shape, kind)]
            if names:
                self._warn_once(
                    f"{plural} and deformable bodies",
                    f"{plural} {names} are not felt by deformable bodies, which fall through them, as in pydrake. "
                    f"{advice}",
                )


# ---------------------------------------------------------------------- steps


class DeformableSteps:
    """Steps of a plant with deformable bodies.

    Args:
        deformables: the bodies.
        dynamics: of the plant.

    Attributes:
        bodies, touching: all deformable bodies, and those that have contacts.
        may_touch: whether any deformable body has contacts.
        may_constrain: whether there may be constraints on deformable bodies.
        contact_geometry, warn_once: of the plant.
        fixed: vertices that are fixed to rigid bodies which can move, records of fixed_dtype.
    """

    def __init__(self, deformables: DeformableModel, dynamics: PlantDynamics) -> None:
        self._dynamics = dynamics
        self.bodies: list[DeformableBody] = deformables.bodies()
        self.touching = deformables.bodies_with_contact()
        self.may_touch = bool(self.touching)
        self.may_constrain = self.may_touch or any(body.vertices_fixed_to_moving() for body in self.bodies)
        self.contact_geometry, self.warn_once = dynamics.contact_geometry, dynamics.warn_once
        self._constant_forces: list[Array | None] | None = None
        self._orders: dict[int, Array] = {}
        parts = [np.zeros(0, fixed_dtype)]
        for i, body in enumerate(self.bodies):
            for fixed in body.vertices_fixed_to_moving():
                part = np.zeros(len(fixed.vertices), fixed_dtype)
                part["number"], part["body"], part["mobod"] = len(parts), i, self.mobod_of(fixed.body)
                part["vertex"], part["p_BQ"] = fixed.vertices, fixed.p_BP
                parts.append(part)
        self.fixed: Array = np.concatenate(parts)

    def mobod_of(self, body: RigidBody) -> int:
        """The number of the mobod of a rigid body."""
        return int(self._dynamics.model.tree.mobod_of_body[body.index()])

    @property
    def constant_forces(self) -> list[Array | None]:
        """External forces on the vertices of each body [N], None for those that may change."""
        if self._constant_forces is None:
            self._constant_forces = [body.constant_force() for body in self.bodies]
        return self._constant_forces

    def order_of(self, body: DeformableBody) -> Array:
        """All vertices of a body, in an order in which neighbours are near each other (reverse Cuthill-McKee)."""
        number = int(body.index())
        if number not in self._orders:
            sparse, csgraph = import_whole("scipy.sparse"), import_whole("scipy.sparse.csgraph")
            nodes, n = body.fem_body().arrays.elements["nodes"], body.num_dofs() // 3
            ends = nodes[:, np.array([(a, b) for a in range(4) for b in range(4)])].reshape(-1, 2)
            graph = sparse.coo_array((np.ones(len(ends)), ends.T), shape=(n, n)).tocsr()
            self._orders[number] = csgraph.reverse_cuthill_mckee(graph, symmetric_mode=True).astype(np.int64)
        return self._orders[number]

    def has_operation(self) -> bool:
        """Whether steps can do without Python: all forces are constant."""
        return all(force is not None for force in self.constant_forces)

    def make_buffers(self, context: Context, w: Workspace) -> DeformableBuffers:
        """The arrays of deformable bodies beside those of rigid ones."""
        if w.deformable_works is None:
            w.deformable_works = [body.fem_body().make_work() for body in self.bodies]
        return DeformableBuffers(self, context, w)

    # ------------------------------------------------------------------ the step

    def raise_failure(self, context: Context, buffers: StepBuffers) -> None:
        """Raises an error that says why a deformable body has no free motion."""
        found = buffers.out.found
        number = int(found["failed_body"])
        work = buffers.deformable.records[0].bodies[number].work
        self.bodies[number].fem_body().raise_failure(int(found["reason"]), context.get_time(), buffers.time_step, work)

    def put_forces(self, context: Context, w: Workspace, step: StepBuffers) -> None:
        """Asks force densities that programs have defined, where the vertices would be after the step at their v."""
        if self.has_operation():
            return
        self._dynamics.kinematics.eval_position(context)
        deformables, h = step.deformable.records[0], step.time_step
        for i, body in enumerate(deformables.bodies):
            if body.is_enabled and self.constant_forces[i] is None:
                own, motion = slice(3 * body.first, 3 * (body.first + body.num_vertices)), deformables.motion
                q, q_held, v = motion.q[own], motion.q_held[own], motion.v[own]
                held = body.holders, body.p_held
                step.model.code.start_motion(body.is_enabled, *held, w.position, body.state, q, q_held, v)
                force = self.bodies[i].calc_force(context, (q_held + h * v).reshape(-1, 3))
                motion.force[own] = force.ravel()

    def write(self, w: Workspace, next_state: Any) -> None:
        """Writes the states of all bodies after the step that Python has computed last.

        Args:
            w: workspace of the Context before it.
            next_state: called with the number of a group of discrete state, returns the vector to be written.
        """
        for body, computed in zip(self.bodies, w.step_buffers.deformable.records[0].bodies):
            next_state(int(body.discrete_state_index())).get_mutable_value()[:] = computed.next_state


class DeformableBuffers:
    """What deformable bodies need in steps; made again in parts when model or Context have changed.

    Args:
        steps: of the plant.
        context: of it.
        w: its workspace.

    Attributes:
        records: the last argument of steps, one for each set of results.
        geometry: what bodies may touch.
        works: of each body room for its motion.
        num_vertices: of all bodies.
    """

    def __init__(self, steps: DeformableSteps, context: Context, w: Workspace) -> None:
        self._steps, self._context, self._w = steps, context, w
        self._is_enabled: tuple[bool, ...] | None = None
        self.geometry = DeformableGeometry(steps.contact_geometry, steps.touching, steps.warn_once)
        sizes = [body.num_dofs() // 3 for body in steps.bodies]
        self._first_vertices = np.cumsum([0, *sizes]).astype(np.int64)
        self.num_vertices: int = sum(sizes)
        n = self.num_vertices
        self._motion = Motion(*(np.zeros(3 * n) for _ in Motion._fields))
        self.works: list[StepWork] = w.deformable_works
        arrays = [body.fem_body().arrays for body in steps.bodies]
        self._participants = Participants(
            self._first_vertices, np.concatenate([np.zeros(0, np.int64), *map(steps.order_of, steps.bodies)]),
            np.concatenate([np.zeros(0, np.int64), *[(a.unknown >= 0).astype(np.int64) for a in arrays]]),
            np.full(len(sizes), -1, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64),
            np.zeros(len(sizes) + 1, np.int64),
        )  # fmt: skip
        self._held = [body.held_points(steps.mobod_of) for body in steps.bodies]
        self._next_states = [np.zeros(9 * size) for size in sizes]
        self._sizes = dict.fromkeys(("deformable_faces", "matrix", "jacobian", "schur"), 0)
        self.records: list[Deformables] = []

    # ------------------------------------------------------------------ what the records were made for

    def is_current(self) -> bool:
        """Whether the same bodies are switched on."""
        return self._is_enabled == self._enabled()

    def _enabled(self) -> tuple[bool, ...]:
        parameters = self._context.peek_parameters()
        return tuple(
            bool(parameters.get_abstract_parameter(body.is_enabled_parameter_index()).get_value())
            for body in self._steps.bodies
        )

    def prepare(self, step: StepBuffers) -> None:
        """Takes over the Context as it is, and the geometry of the rigid bodies."""
        self._is_enabled = None  # an error or an interrupt on the way leaves nothing that looks current
        is_enabled, steps, w = self._enabled(), self._steps, self._w
        num_faces, room = self._sizes["deformable_faces"], self._sizes["schur"]
        most_unknowns = max((body.fem_body().num_unknowns() for body in steps.bodies), default=0)
        for i, force in enumerate(steps.constant_forces):
            if force is not None:
                self._motion.force[3 * self._first_vertices[i] : 3 * self._first_vertices[i + 1]] = force
        record = Deformables(
            bodies=tuple(self._body(i, body, is_enabled[i]) for i, body in enumerate(steps.bodies)),
            motion=self._motion,
            geometry=self.geometry.record(self._context, step, self._first_vertices, is_enabled),
            participants=self._participants,
            columns=np.zeros(most_unknowns + 3 * self.num_vertices, np.int64),
            W=np.zeros(room),
            S=np.zeros(room),
            middle=Middle(
                np.zeros(len(w.q)),
                w.make_records(len(w.topology), position_dtype),
                w.make_records(len(w.topology), velocity_dtype),
            ),
            corners=np.zeros((num_faces, MOST_CORNERS, 4)),
            faces=np.zeros((num_faces, FACE_NUMBERS)),
            owners=np.zeros((num_faces, 4), np.int64),
            pairs=np.zeros(num_faces, contact_pair_dtype),
            ends=np.zeros((num_faces, 2), end_dtype),
            fixed=steps.fixed[np.asarray(is_enabled, np.bool_)[steps.fixed["body"]]],
        )
        self.records = [
            record._replace(**{name: getattr(record, name).copy() for name in (*OF_FACES, "fixed")}) for _ in range(2)
        ]
        self._is_enabled = is_enabled

    def _body(self, i: int, body: DeformableBody, is_enabled: bool) -> SoftBody:
        fem, (holders, p_held) = body.fem_body(), self._held[i]
        state = self._context.peek_state().get_discrete_state(body.discrete_state_index()).value()
        is_linear = kind_of(fem.config).is_linear
        return SoftBody(
            int(is_enabled), int(is_linear), int(self._first_vertices[i]), fem.num_nodes, fem.num_unknowns(),
            fem.arrays, self.works[i], holders, p_held, state, self._next_states[i],
        )  # fmt: skip

    def records_in_context(self) -> tuple[Deformables, ...]:
        """The records for the native plan, which reads and writes the states in the Context."""
        bodies = self.records[0].bodies
        for i, body in enumerate(self._steps.bodies):
            index, shape = int(body.discrete_state_index()), bodies[i].state.shape
            places = Placed(DiscreteStateOf(index), shape), Placed(NextDiscreteStateOf(index), shape)
            placed = bodies[i]._replace(state=places[0], next_state=places[1])
            bodies = *bodies[:i], placed, *bodies[i + 1 :]
        return tuple(record._replace(bodies=bodies) for record in self.records)

    # ------------------------------------------------------------------ sizes

    def capacities(
        self, step: StepBuffers, matrix: Array, work: Array, of_constraints: Sequence[Growth]
    ) -> list[Capacity]:
        """What grows with what steps find.

        Args:
            step: the arrays of the rigid bodies.
            matrix: of all trees.
            work: numbers of the solver.
            of_constraints: how arrays grow with constraints of three rows.
        """

        def capacity(what: str, num_places: int, *arrays: Any) -> Capacity:
            return Capacity(step.addresses_found(what), num_places, [*map(Growth, arrays)])

        first, jacobians = self.records[0], [out.problem.jacobian for out in step.results]
        faces = [Growth(getattr(record, name)) for record in self.records for name in OF_FACES]
        return [
            *self.geometry.capacities(),
            capacity("deformable_faces", len(first.faces))._replace(growths=[*faces, *of_constraints]),
            capacity("matrix", len(matrix), matrix, work),
            capacity("jacobian", len(jacobians[0]), work, *jacobians),
            capacity("schur", len(first.W), first.W, first.S),
        ]

    def grow(self, results: list[StepResults]) -> None:
        """Makes larger what the last step has found too small."""
        self._is_enabled = None
        self.geometry.grow()
        for what, size in self._sizes.items():
            needed = max(int(out.found[what]) for out in results)
            if needed > size:
                self._sizes[what] = 3 * needed // 2

    def sizes(self) -> tuple[int, int, int]:
        """How many constraints of deformable bodies there may be, of three rows each, and numbers of A and of J."""
        num_constraints = self._sizes["deformable_faces"] + len(self._steps.fixed)
        return num_constraints, self._sizes["matrix"], self._sizes["jacobian"]

    # ------------------------------------------------------------------ reports

    def contacts_of(
        self, tau: Array, F_Bo_W: Array, step: StepBuffers, out: StepResults
    ) -> tuple[Array, tuple[Any, ...]] | None:
        """What a step has found of contacts of deformable bodies; None without any.

        Args:
            tau: generalized forces of the other contacts, shape [num_v].
            F_Bo_W: forces on the rigid bodies, to which theirs are added, shape [num_mobods, 6].
            step: the arrays of the rigid bodies.
            out: what the step has left.

        Returns:
            Generalized forces of all contacts, and their surfaces with the fields of plant/step/sample.py.
        """
        record = step.deformables_of(out)
        problem, fixed, h = out.problem, record.fixed, step.time_step
        num_rows = problem.counts[0]["rows"]
        num_faces, num_pairs = out.found["deformable_faces"], out.found["deformable_pairs"]
        if len(fixed):
            impulses = out.impulses[num_rows - 3 * len(fixed) : num_rows]
            push_by_fixed_vertices(h, fixed, impulses, out.position, F_Bo_W)
        if not num_pairs:
            return None
        first = problem.counts[0]["constraints"] - num_pairs - len(np.unique(fixed["number"]))
        forces, tau = np.zeros((num_pairs, NUM_FORCE_VALUES)), tau.copy()
        pairs, ends = record.pairs[:num_pairs], record.ends[:num_pairs]
        self._w.call(
            calc_deformable_forces,
            out.trees.trees, len(tau), h, int(first), pairs, ends, out.position, out.v_next, problem.constraints,
            problem.jacobian, out.impulses, F_Bo_W, tau, forces,
        )  # fmt: skip
        forces[ends["body"][:, 0] < 0, :3] *= -1.0  # A of the pair is rigid; A of the sample is deformable
        rows = record.geometry.candidates.copy()
        is_rigid = rows[:, 0] < self.geometry.num_rigid
        rows[is_rigid] = rows[is_rigid, ::-1]
        return tau, (
            self.geometry.geometry_ids, rows, record.corners[:num_faces].copy(), record.faces[:num_faces].copy(),
            record.owners[:num_faces].copy(), pairs["source"].copy(), forces, False, np.zeros(0, np.bool_),
        )  # fmt: skip
