"""The inputs of a continuous plant that moves by steps, where controllers or springs of a program make them.

How such inputs act in a step: ../../contact/responses.py. Here are the arrays of one plant in one Context, and which
inputs follow its state: one that does not acts as it is at the start of the step, and costs nothing.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.native.memory.hinted_types import hinted_address
from merganser.framework.native.memory.records_of_arrays import Placed, placed_beside
from merganser.multibody import kernels
from merganser.multibody.contact.responses import (
    ALL,
    ALONE,
    DRIVEN,
    GAIN,
    HEARD,
    NUM_ROWS,
    WHAT_FOLLOWS,
    Responses,
    hear_inputs,
    listen,
    respond,
    respond_to_inputs,
)
from merganser.multibody.contact.step_records import Inputs, Part
from merganser.multibody.plant.step.drives import Controllers, controllers_of
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics

__all__ = ["HeardInputs"]

Array = NDArray[Any]

class HeardInputs:
    """What comes through the inputs of a plant in the steps of an integrator.

    Args:
        dynamics: of the plant.
        context: of it, one of floats or of AutoDiffXd; inputs of the latter must not follow its state.
        w: its workspace.

    Attributes:
        table: see ../../contact/responses.py, shape [NUM_ROWS, num_u + num_v].
        places: see there, shape [NUM_PLACES + num_u + num_v].
        parameters: of the bodies in steps, with the damping that stands for inputs.
        gains: d of the controllers in steps, without what stands for inputs.
    """

    def __init__(self, dynamics: PlantDynamics, context: Context, w: Workspace) -> None:
        self._dynamics, self._context, self._w = dynamics, context, w
        driven, num_v = dynamics.inputs.driven_velocities, len(w.v)
        self._num_u = len(driven)
        self.table = np.zeros((NUM_ROWS, self._num_u + num_v))
        self.places = np.array([ALONE, 0, len(w.q), num_v, *driven.tolist(), *range(num_v)], np.int64)
        self.parameters = w.parameters.copy() if w.is_float else w.parameters
        self._tau, self._desired, self._F = np.zeros(num_v), np.zeros((2, self._num_u)), np.zeros_like(w.zeros_F)
        self._tau_of_step, self._desired_of_step = np.zeros(num_v), np.zeros((2, self._num_u))
        self._all_actuators = np.arange(self._num_u)
        self._is_driven = False  # whether what comes for actuators follows the state
        self._mobods = controllers_of(dynamics.model.tree, np.ones(self._num_u, bool)).mobods
        self._present: Controllers | None = None  # at work
        self._moving: dict[bytes, Controllers] = {}
        self.gains = np.zeros(0)

    # ------------------------------------------------------------------ which inputs follow the state

    def follow(self) -> bool:
        """Whether any input follows the plant's state."""
        return bool(self.places[WHAT_FOLLOWS] != ALONE)

    def look(self) -> None:
        """Looks which inputs follow the plant's state, as far as is known of the blocks before them.

        Raises:
            RuntimeError: one does, and the plant is one of AutoDiffXd.
        """
        inputs = self._dynamics.inputs
        ports = [inputs.actuation, *(port for _, port in inputs.driven_instances)]
        forces = inputs.generalized_force, inputs.spatial_force
        self._is_driven = self._num_u > 0 and any(map(self._follows, ports))
        of_actuators = DRIVEN if self._is_driven else ALONE
        self.places[WHAT_FOLLOWS] = ALL if any(map(self._follows, forces)) else of_actuators
        if self.follow() and not self._w.is_float:
            raise RuntimeError(
                f"Plant '{self._dynamics.model.path()}' of AutoDiffXd cannot be moved by steps of contact: forces that "
                "come through its input ports follow its state, and act in such steps by a linearization that has no "
                "derivatives. Let actuators have PD controllers of the plant (set_controller_gains), or choose another "
                "integrator."
            )

    def _follows(self, port: Any) -> bool:
        index, own = port.get_index(), self._context
        if not own.has_input(index):
            return False
        own.read_input(index)  # blocks of Python learn what they read when they are first asked
        return bool(getattr(own.sources[index], "bit", 0) & own.layout.down["xc"])

    # ------------------------------------------------------------------ controllers

    def controllers(self, present: Controllers) -> Controllers:
        """The PD controllers of a step: those at work, and what comes for all other actuators that may move.

        Args:
            present: those at work.
        """
        if self._present is not present:
            self._present, self.gains, self._moving = present, present.d.copy(), {}
        if not self._is_driven:
            return present
        tree, everyone = self._dynamics.model.tree, np.ones(self._num_u, bool)
        is_locked = self._w.parameters["is_locked"][self._mobods] > 0.5
        key = is_locked.tobytes()
        if key not in self._moving:
            moving = controllers_of(tree, everyone & ~is_locked)
            at = np.searchsorted(moving.inputs, present.inputs)
            moving.p[:], moving.d[:] = 0.0, 0.0
            moving.p[at], moving.d[at] = present.p, present.d
            self._moving = {key: moving}
            self.gains = moving.d.copy()
        return self._moving[key]

    # ------------------------------------------------------------------ in Python

    def hear(self, buffers: StepBuffers, inputs: Inputs, xdot: Array) -> None:
        """Notes what comes through the inputs now; xdot = [N v; 0]."""
        w = self._w
        listen(buffers.model, buffers.state, inputs, buffers.work, self._responses(), xdot)
        self._F[:] = inputs.F_Bo_W
        if inputs.F_Bo_W is not w.zeros_F:
            self._dynamics.kinematics.eval_position(self._context)
            tau = np.zeros_like(w.zeros_v)
            w.call(kernels.generalized_forces, w.topology, w.position, self._F, np.zeros_like(w.zeros_F), tau)
            self.table[HEARD, self._num_u :] += tau

    def respond(self, buffers: StepBuffers) -> None:
        """Lets the next step follow the state, see ../../contact/responses.py."""
        respond(buffers.model, buffers.state, self._responses())

    @functools.cached_property
    def inputs(self) -> Inputs:
        """What such steps take for inputs."""
        desired, heard = self._desired_of_step.reshape(-1), self.table[HEARD, : self._num_u]
        return Inputs(heard, (), (Part(self._all_actuators, desired),), self._tau_of_step, self._F)

    def _responses(self) -> Responses:
        w = self._w
        hear, answer = functools.partial(w.call, hear_inputs), functools.partial(w.call, respond_to_inputs)
        return self._record(hear, answer, self.inputs, w.parameters)

    def _record(self, hear: Any, answer: Any, inputs: Inputs, parameters: Any) -> Responses:
        return Responses(
            is_used=int(self.follow()),
            hear=hear,
            respond=answer,
            inputs=inputs,
            parameters=parameters,
            gains=self.gains,
            heard=self.table[HEARD],
            gain=self.table[GAIN],
            tau=self._tau,
            desired=self._desired,
            tau_of_step=self._tau_of_step,
            desired_of_step=self._desired_of_step,
        )

    # ------------------------------------------------------------------ for compiled code

    def native_responses(self, inputs: Inputs, parameters: Any) -> Responses:
        """How inputs follow the state, as a record for compiled code.

        Args:
            inputs: places of what the ports carry.
            parameters: place of those of the plant.
        """
        hear, answer = (hinted_address(kernel) if self.follow() else 0 for kernel in (hear_inputs, respond_to_inputs))
        return self._record(hear, answer, inputs, parameters)

    def native_inputs(self) -> Inputs:
        """Places of what steps take for inputs that follow the state."""
        inputs = self.inputs
        parts = tuple(Part(part.actuators, self._placed(part.values)) for part in inputs.desired)
        return Inputs(self._placed(inputs.u), (), parts, self._placed(inputs.tau), self._w.zeros_F)

    def native_parameters(self) -> Placed:
        """Place of the bodies' parameters in such steps."""
        return self._placed(self.parameters)

    def _placed(self, array: Array) -> Placed:
        return placed_beside(array, self._w.store.flat)
