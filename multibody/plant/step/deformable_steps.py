"""Steps of a plant with deformable bodies: ../../contact/deformable_step.py is the text.

Here it gets its arrays (deformable_buffers.py), forces that programs define, and more room where it lacks that. What
it says of deformable bodies becomes an error or next states.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.contact.deformable_records import BODY, REASON, fixed_dtype
from merganser.multibody.contact.deformable_step import take_step_of_all
from merganser.multibody.contact.layout import NO_CAPACITY
from merganser.multibody.contact.step import LACKS_CAPACITY, NO_FREE_MOTION, NOT_SOLVED
from merganser.multibody.contact.step_records import OUTCOME, Inputs, StepResults
from merganser.multibody.plant.deformable_model import DeformableModel
from merganser.multibody.plant.step.deformable_buffers import DeformableBuffers
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import RigidBody
from merganser.multibody.tree.deformable_body import DeformableBody

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics

__all__ = ["DeformableSteps"]

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
        trees: of the contact problem of rigid bodies, records of tree_dtype.
        fixed: vertices that are fixed to rigid bodies which can move, records of fixed_dtype.
    """

    def __init__(self, deformables: DeformableModel, dynamics: PlantDynamics) -> None:
        self._dynamics = dynamics
        self.bodies: list[DeformableBody] = deformables.bodies()
        self.touching = deformables.bodies_with_contact()
        self.may_touch = bool(self.touching)
        self.may_constrain = self.may_touch or any(body.vertices_fixed_to_moving() for body in self.bodies)
        self.contact_geometry, self.warn_once = dynamics.contact_geometry, dynamics.warn_once
        self.trees = dynamics.model.contact.trees
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
            from scipy.sparse import coo_array
            from scipy.sparse.csgraph import reverse_cuthill_mckee

            nodes, n = body.fem_body().arrays.elements["nodes"], body.num_dofs() // 3
            ends = nodes[:, np.array([(a, b) for a in range(4) for b in range(4)])].reshape(-1, 2)
            graph = coo_array((np.ones(len(ends)), ends.T), shape=(n, n)).tocsr()
            self._orders[number] = reverse_cuthill_mckee(graph, symmetric_mode=True).astype(np.int64)
        return self._orders[number]

    def has_operation(self) -> bool:
        """Whether steps can do without Python: all forces are constant."""
        return all(force is not None for force in self.constant_forces)

    def buffers_of(self, context: Context, w: Workspace, step: StepBuffers) -> DeformableBuffers:
        """The arrays of deformable bodies beside those of rigid ones, as model and Context are now."""
        soft: DeformableBuffers | None = step.soft
        if soft is None:
            soft = step.soft = DeformableBuffers(self, context, w, step)
        if soft.lacks_capacity():
            soft.grow()
        if not soft.is_current():
            soft.prepare()
        return soft

    # ------------------------------------------------------------------ the step

    def step_of(
        self, context: Context, w: Workspace, inputs: Inputs, h: float
    ) -> Callable[[StepBuffers, StepResults], int]:
        """Returns what takes the step of all bodies, with arrays of the rigid ones; it returns a status of step.py."""

        def compute(step: StepBuffers, out: StepResults) -> int:
            while True:
                soft = self.buffers_of(context, w, step)
                self._put_changing_forces(context, w, soft, h)
                (soft_out,) = soft.results
                given = step.model, soft.model, step.state, h, inputs, step.work, out, soft_out
                status = int(take_step_of_all(*given))
                if status == NO_FREE_MOTION:
                    number, reason = int(soft_out.found[BODY]), int(soft_out.found[REASON])
                    fem = self.bodies[number].fem_body()
                    fem.raise_failure(reason, context.get_time(), h, soft.model.bodies[number].work)
                lacks_room = status == LACKS_CAPACITY or (
                    status == NOT_SOLVED and out.found[OUTCOME] == NO_CAPACITY
                )
                if not (lacks_room and soft.lacks_capacity()):
                    return status

        return compute

    def _put_changing_forces(self, context: Context, w: Workspace, soft: DeformableBuffers, h: float) -> None:
        """Asks force densities that programs have defined, where the vertices would be after the step at their v."""
        if self.has_operation():
            return
        self._dynamics.kinematics.eval_position(context)
        for i, body in enumerate(soft.model.bodies):
            if body.is_enabled and self.constant_forces[i] is None:
                own, motion = soft.vertices_of(i), soft.motion
                q, q_held, v = motion.q[own], motion.q_held[own], motion.v[own]
                held = body.holders, body.p_held
                soft.model.code.start_motion(body.is_enabled, *held, w.position, body.state, q, q_held, v)
                force = self.bodies[i].calc_force(context, (q_held + h * v).reshape(-1, 3))
                motion.force[own] = force.ravel()

    def write(self, w: Workspace, next_state: Any) -> None:
        """Writes the states of all bodies after the step that Python has computed last.

        Args:
            w: workspace of the Context before it.
            next_state: called with the number of a group of discrete state, returns the vector to be written.
        """
        soft: DeformableBuffers = w.step_buffers.soft
        for body, computed in zip(self.bodies, soft.results[0].next_states):
            next_state(int(body.discrete_state_index())).get_mutable_value()[:] = computed.x
