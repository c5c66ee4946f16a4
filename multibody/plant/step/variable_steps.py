"""Steps of any length of a continuous plant, for integrators that ask for them.

Such a plant declares two operations (framework/core/inside.py). "step" gives the slope of a step of length h,

    (S_h(x) - x) / h                                                                       (1)

with S_h the step of a discrete plant (dynamics/step.py), so that x plus h times that is the state after it; NaN where
such a step has no solution. Its arguments are h, and how inputs follow the state: K of dynamics/linearized_inputs.py,
and inputs that were sampled elsewhere. "inputs" samples what comes through the input ports. An input that does not
follow the state acts as it is at the start of the step, and costs nothing. Time derivatives are what they always are.

Output ports that follow from forces show the last step, as those of discrete plants do, while the plant is where the
integrator has brought it; anywhere else what acts at the moment.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context.native_code import OUTPUT, EntryOf
from merganser.framework.core.inside import operation_slot
from merganser.framework.native.memory.hinted_types import hinted_address
from merganser.framework.native.memory.records_of_arrays import Placed
from merganser.multibody import kernels
from merganser.multibody.dynamics.linearized_inputs import (
    InputSample,
    Linearization,
    linearize,
    linearize_inputs,
    sample,
    sample_inputs,
)
from merganser.multibody.dynamics.operation import (
    InputsRecord,
    SlopesRecord,
    StepRecord,
    count_iterations,
)
from merganser.multibody.dynamics.records import NOT_SOLVED, Inputs, Model, Part, State
from merganser.multibody.plant.input_ports import Controllers, controllers_of
from merganser.multibody.plant.step.sample import DynamicsSample
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework.core.context.leaf_context import LeafContext
    from merganser.multibody.plant.step.dynamics import PlantDynamics
    from merganser.multibody.tree import MultibodyTree

Array = NDArray[Any]

_SOME_LENGTH = 1.0  # with which buffers of steps are made [s]
_SAME_STATE = 1e-12  # by which a state may differ from where it was brought, as quaternions are given length 1


def input_shapes(tree: MultibodyTree) -> InputSample:
    """The shapes of the parts of a sample of inputs, which are in one vector, in this order."""
    num_q, num_v, num_u = tree.num_positions(), tree.num_velocities(), tree.num_actuated_dofs()
    return InputSample((num_q,), (num_v,), (num_u,), (num_v,), (2, num_u), (len(tree.topology), 6))


class VariableSteps:
    """Steps of one plant in one Context.

    Args:
        dynamics: of a continuous plant.
        context: of it, one of floats or of AutoDiffXd; inputs of the latter must not follow its state.
        w: its workspace.

    Raises:
        ValueError: the plant has time derivatives of its own, and declares no steps.

    Attributes:
        step_slot, inputs_slot: where the Context keeps (1), and what is sampled.
        arguments: of a step, a view of the numbers in the Context: h, K of velocities and of actuators, an InputSample.
        last_length: of the last step [s], shape [1].
        counts: iterations of the solver and of its line searches, shape [2].
        buffers: arrays of steps, which keep the last one.
        end: where the integrator has brought the plant, begins with q and v, or with NaN if nowhere.
        acted_on: whether inputs that follow the state may act on each velocity, shape [num_v].
        columns: the velocity on which each input acts, of velocities and then of actuators, shape [num_v + num_u].
    """

    def __init__(self, dynamics: PlantDynamics, context: LeafContext, w: Workspace) -> None:
        self._dynamics, self._context, self._w, self._tree = dynamics, context, w, dynamics.model.tree
        step = operation_slot(context, "step")
        if step is None:
            raise ValueError(
                f"Plant '{dynamics.model.path()}' overrides DoCalcTimeDerivatives, of which steps of contact know "
                "nothing. Apply its forces by force elements or through input ports, or take another integrator."
            )
        self.step_slot: Any = step
        self.inputs_slot: Any = operation_slot(context, "inputs")
        self._entry_of_arguments: int = step.entry.arguments.cache_index()
        arguments: Any = context.slots[self._entry_of_arguments].value
        self.arguments: Array = arguments.value()
        self.last_length, self.counts = np.zeros(1), np.zeros(2, np.int64)
        driven, num_v = dynamics.inputs.driven_velocities, len(w.v)
        self.end: Array = np.full_like(w.x, np.nan)
        self.buffers = StepBuffers(dynamics, context, w, _SOME_LENGTH)
        # Inputs that follow the state, and what stands for them in steps:
        self.acted_on = np.zeros(num_v, np.int64)
        self.columns = np.array([*range(num_v), *driven.tolist()], np.int64)
        self._num_u, self._first_of_sample = len(driven), 1 + num_v + len(driven)
        self._is_driven = False  # whether what comes for actuators follows the state
        self._parameters = w.parameters.copy() if w.is_float else w.parameters  # with more damping
        self._tau, self._desired = np.zeros(num_v), np.zeros((2, self._num_u))
        self._gains = np.zeros(0)  # of the PD controllers, without what stands for inputs
        self._all_actuators = np.arange(self._num_u)
        self._mobods = controllers_of(self._tree, np.ones(self._num_u, bool)).mobods
        self._present: Controllers | None = None  # at work
        self._moving: dict[bytes, Controllers] = {}

    # ------------------------------------------------------------------ which inputs follow the state

    def follow(self) -> bool:
        """Whether any input follows the plant's state."""
        return self._is_driven or bool(self.acted_on.any())

    def look_at_inputs(self) -> None:
        """Looks which inputs follow the plant's state, as far as is known of the blocks before them.

        Raises:
            RuntimeError: one does, and the plant is one of AutoDiffXd.
        """
        inputs, before = self._dynamics.inputs, self.follow()
        ports = [inputs.actuation, *(port for _, port in inputs.driven_instances)]
        self._is_driven = self._num_u > 0 and any(map(self._follows, ports))
        self.acted_on[:] = any(map(self._follows, (inputs.generalized_force, inputs.spatial_force)))
        if self._is_driven:
            driven = inputs.driven_velocities
            self.acted_on[driven[driven < len(self.acted_on)]] = 1
        if self.follow() and not self._w.is_float:
            raise RuntimeError(
                f"Plant '{self._dynamics.model.path()}' of AutoDiffXd cannot be moved by steps of contact: forces that "
                "come through its input ports follow its state, and act in such steps by a linearization that has no "
                "derivatives. Let actuators have PD controllers of the plant (set_controller_gains), or choose another "
                "integrator."
            )
        if self.follow() != before:
            self.buffers.take_parameters(self._parameters if self.follow() else self._w.parameters)

    def _follows(self, port: Any) -> bool:
        index, own = port.get_index(), self._context
        if not own.has_input(index):
            return False
        own.read_input(index)  # blocks of Python learn what they read when they are first asked
        return bool(getattr(own.sources[index], "bit", 0) & own.layout.down["xc"])

    def controllers(self, present: Controllers) -> Controllers:
        """The PD controllers of a step: those at work, and what comes for all other actuators that may move.

        Args:
            present: those at work.
        """
        if self._present is not present:
            self._present, self._gains, self._moving = present, present.d.copy(), {}
        if not self._is_driven:
            return present
        is_locked = self._w.parameters["is_locked"][self._mobods] > 0.5
        key = is_locked.tobytes()
        if key not in self._moving:
            moving = controllers_of(self._tree, ~is_locked)
            at = np.searchsorted(moving.inputs, present.inputs)
            moving.p[:], moving.d[:] = 0.0, 0.0
            moving.p[at], moving.d[at] = present.p, present.d
            self._moving = {key: moving}
            self._gains = moving.d.copy()
        return self._moving[key]

    def _sample_of(self, part: Callable[[int, tuple[int, ...]], Any], first: int = 0) -> InputSample:
        """An InputSample of parts of a vector, part(start, shape), where the sample begins with element `first`."""
        shapes = input_shapes(self._tree)
        return InputSample(*map(part, itertools.accumulate(map(math.prod, shapes), initial=first), shapes))

    def _linearization(self, kernel: Any, gain: Any, inputs: InputSample, parameters: Any) -> Linearization:
        step = self._gains, self._tau, self._desired
        return Linearization(int(self.follow()), kernel, gain, inputs, parameters, *step)

    def _inputs_of_step(self, u: Any, tau: Any, desired: Any, F_Bo_W: Array) -> Inputs:
        return Inputs(u, (), (Part(self._all_actuators, desired),), tau, F_Bo_W)

    # ------------------------------------------------------------------ in Python

    def _read(self) -> tuple[Controllers, Inputs]:
        """The PD controllers of a step, and what comes through the ports."""
        inputs, context, w = self._dynamics.inputs, self._context, self._w
        return self.controllers(inputs.active_controllers(context, w)), inputs.read(context, w)

    def write_inputs(self, result: Array) -> None:
        """Samples what comes through the input ports; the result is an InputSample."""
        buffers, w, (controllers, inputs) = self.buffers, self._w, self._read()
        buffers.prepare(controllers)
        out = self._sample_of(_views_of(result))
        sample(buffers.model, buffers.state, inputs, buffers.work, functools.partial(w.call, sample_inputs), out)
        out.F_Bo_W[:] = inputs.F_Bo_W
        if inputs.F_Bo_W is not w.zeros_F:
            self._dynamics.kinematics.eval_position(self._context)
            tau = np.zeros_like(w.zeros_v)
            w.call(kernels.generalized_forces, w.topology, w.position, out.F_Bo_W, np.zeros_like(w.zeros_F), tau)
            out.forces[:] += tau

    def write_slopes(self, result: Array) -> None:
        """Computes (1) with the present arguments.

        Raises:
            RuntimeError: there are no dynamics, see PlantDynamics.raise_failure.
        """
        dynamics, w, buffers, h = self._dynamics, self._w, self.buffers, self.arguments.item(0).real
        dynamics.native.note_call(w)
        controllers, inputs = self._read()
        result, activations = result[: len(w.x)], result[len(w.x) :]
        status = self._step(controllers, inputs, h, result)
        if status == 0:
            self.last_length[0] = h
            if buffers.out.found["is_constrained"]:
                count_iterations(buffers.out.statistics, self.counts)
            buffers.keep(result)
            np.divide(result - w.x, h, result)
            np.divide(buffers.work.activations - w.activations, h, activations)
        elif status == NOT_SOLVED:
            result[:], activations[:] = np.nan, np.nan
        else:
            dynamics.raise_failure(self._context, w, status, buffers)
        w.store.invalid &= w.kinematics_clearing

    def _step(self, controllers: Controllers, inputs: Inputs, h: float, result: Array) -> int:
        """The state after a step; returns 0, or why it failed (see dynamics/step.py)."""
        buffers, w, begin = self.buffers, self._w, None
        if self.follow():
            given = self._sample_of(_views_of(self.arguments), self._first_of_sample)
            inputs = self._inputs_of_step(given.u, self._tau, self._desired.reshape(-1), given.F_Bo_W)
            kernel, gain = functools.partial(w.call, linearize_inputs), self.arguments[1 : self._first_of_sample]
            linearization = self._linearization(kernel, gain, given, w.parameters)

            def begin() -> None:
                linearize(buffers.model, buffers.state, linearization)

        buffers.time_step = h
        return self._dynamics.run_step(self._context, inputs, buffers, controllers, result, begin)

    # ------------------------------------------------------------------ for compiled code

    def slopes_record(self, model: Model, state: State, inputs: Inputs) -> SlopesRecord:
        """What the operation "step" works on, with these arrays and places."""
        arguments, (work, (out, _)) = EntryOf(self._entry_of_arguments), self.buffers.of_operation()
        given = self._sample_of(lambda start, shape: Placed(arguments, shape, start), self._first_of_sample)
        kernel = hinted_address(linearize_inputs) if self.follow() else 0
        gain = Placed(arguments, (len(self.columns),), 1)
        linearization = self._linearization(kernel, gain, given, model.parameters)
        if self.follow():
            model = model._replace(parameters=self._parameters)
            inputs = self._inputs_of_step(given.u, self._tau, self._desired.reshape(-1), self._w.zeros_F)
        num_a = len(self._w.activations)
        activations = Placed(OUTPUT, (num_a,), state.x.shape[0]) if num_a else Placed(0, (0,))
        places: dict[str, Any] = {"x_next": Placed(OUTPUT, state.x.shape), "activations": activations}
        steps = StepRecord(model, state, 0.0, inputs, work, (out._replace(**places),), self.buffers.numbers)
        return SlopesRecord(Placed(arguments, (1,)), self.last_length, self.counts, steps, linearization)

    def inputs_record(self, model: Model, state: State, inputs: Inputs) -> InputsRecord:
        """What the operation "inputs" works on."""
        out, (work, _) = self._sample_of(lambda start, shape: Placed(OUTPUT, shape, start)), self.buffers.of_operation()
        return InputsRecord(model, state, inputs, work, hinted_address(sample_inputs), out)

    # ------------------------------------------------------------------ the last step

    def is_at_end(self) -> bool:
        """Whether the plant is where an integrator has brought it by the last step."""
        end = self.end[: len(self._w.x)]
        return bool((np.abs(self._w.x - end) <= _SAME_STATE * np.maximum(1.0, np.abs(end))).all())

    def take_sample(self, parameters: Array, gravity: Array) -> DynamicsSample:
        """The sample of the last step, made with these parameters."""
        self.buffers.time_step = self.last_length.item()
        return self.buffers.take_sample(parameters, gravity)


def _views_of(vector: Array) -> Callable[[int, tuple[int, ...]], Array]:
    return lambda start, shape: vector[start : start + math.prod(shape)].reshape(shape)
