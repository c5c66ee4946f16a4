"""The deformable bodies of a plant in its steps (../../contact/deformable_step.py): what is the same in all
Contexts, forces that a program defines, errors and next states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.compiler.extending import import_whole
from merganser.multibody.contact.deformable_records import fixed_dtype
from merganser.multibody.contact.step_records import FAILED_BODY, REASON
from merganser.multibody.plant.deformable_model import DeformableModel
from merganser.multibody.plant.step.deformable_buffers import DeformableBuffers
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import RigidBody
from merganser.multibody.tree.deformable_body import DeformableBody

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics

Array = NDArray[Any]


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
        self.fixed = self._list_fixed()
        self._constant_forces: list[Array | None] | None = None
        self._orders: dict[int, Array] = {}

    def _list_fixed(self) -> Array:
        parts = [np.zeros(0, fixed_dtype)]
        for i, body in enumerate(self.bodies):
            for fixed in body.vertices_fixed_to_moving():
                part = np.zeros(len(fixed.vertices), fixed_dtype)
                part["number"], part["body"], part["mobod"] = len(parts), i, self.mobod_of(fixed.body)
                part["vertex"], part["p_BQ"] = fixed.vertices, fixed.p_BP
                parts.append(part)
        return np.concatenate(parts)

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

    def make_buffers(self, context: Context, w: Workspace, num_sets: int) -> DeformableBuffers:
        """The arrays of deformable bodies beside those of rigid ones, with so many sets of results."""
        if w.deformable_works is None:
            w.deformable_works = [body.fem_body().make_work() for body in self.bodies]
        return DeformableBuffers(self, context, w, num_sets)

    # ------------------------------------------------------------------ the step

    def raise_failure(self, context: Context, buffers: StepBuffers) -> None:
        """Raises an error that says why a deformable body has no free motion."""
        found, (deformables,) = buffers.results[0].found, buffers.deformable.records
        number = int(found[FAILED_BODY])
        work = deformables.bodies[number].work
        self.bodies[number].fem_body().raise_failure(int(found[REASON]), context.get_time(), buffers.time_step, work)

    def put_forces(self, context: Context, w: Workspace, step: StepBuffers) -> None:
        """Asks force densities that programs have defined, where the vertices would be after the step at their v."""
        if self.has_operation():
            return
        self._dynamics.kinematics.eval_position(context)
        (deformables,), h = step.deformable.records, step.time_step
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
        (deformables,) = w.step_buffers.deformable.records
        for body, computed in zip(self.bodies, deformables.bodies):
            next_state(int(body.discrete_state_index())).get_mutable_value()[:] = computed.next_state
