"""Steps of a plant of AutoDiffXd on floats, by the derivatives of a step in one compiled call (step_slopes.py).

    values of x, u, q_d, v_d --../../gradients--> x+, A, B
    dx+ = A dx + B (du + s (Kp dq_d + Kd dv_d))                                                     (1)

u is what comes for the actuators, and s the share of its gains that the solver leaves to a PD controller, see
../../contact/regularization.py (4). x+ has the bits of a step of floats. Samples of such steps are made when they are
read, by the kernels over lanes (contact_gradients.py).
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.contact.layout import NO_CAPACITY
from merganser.multibody.dynamics.records import LACKS_CAPACITY, NOT_SOLVED, Inputs, Part
from merganser.multibody.gradients.records import Gradient
from merganser.multibody.kernels.actuators import NUM_DESIRED_ROWS, put_desired_state
from merganser.multibody.kernels.forward_dynamics_derivatives import product
from merganser.multibody.plant.input_ports import ActuatorTable
from merganser.multibody.plant.scalars.chain_rules import summed
from merganser.multibody.plant.scalars.lanes import Lanes, merge_numbers, split_numbers
from merganser.multibody.plant.scalars.step_slopes import compiled_gradient_call, what_acts
from merganser.multibody.plant.scalars.workspaces import AutoDiffWorkspace
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics
    from merganser.multibody.plant.step.native_code import CompiledCall

Array = NDArray[Any]
_MOST_TRIES = 10  # with larger arrays


class StepOnValues(NamedTuple):
    """A step that was taken.

    Attributes:
        context: another one of the plant, which has its parameters; only who makes samples changes it.
        x: the state before the step.
        inputs: what came through the ports.
    """

    context: Any
    x: Array
    inputs: Inputs


class StepsOnValues:
    """The steps of a plant of AutoDiffXd in one Context.

    Args:
        dynamics: of the plant.
        w: workspace of the Context.

    Attributes:
        reason: why the last step was not one on values; empty if it was.
    """

    reason = ""

    def __init__(self, dynamics: PlantDynamics, w: AutoDiffWorkspace) -> None:
        self._dynamics, self._w = dynamics, w
        self._parameters: Lanes | None = None  # as they were looked at last
        self._numbers: list[Array] | None = None  # their values; None if they have derivatives
        self._floats: Workspace | None = None  # with these
        self._table: ActuatorTable | None = None  # for which these inputs are made
        self._given: Inputs
        self._again: tuple[int, Any] = -1, None  # for which buffers it was copied, and the Context of samples

    def _why_not(self, context: Context, inputs: Inputs) -> str:
        """Why a step cannot be one on values; empty if it can, as far as one sees before it."""
        parameters = self._w.parameters_in_lanes()
        if parameters is not self._parameters:
            self._parameters = parameters
            self._take_parameters(context)
        if self._floats is None:
            return "its parameters have derivatives"
        if self._dynamics.inputs.has_objects(context):
            return "spatial forces or speeds of surfaces come through its input ports"
        if split_numbers(inputs.tau)[1] is not None:
            return "applied generalized forces have derivatives"
        return what_acts(self._dynamics, self._floats)

    def _take_parameters(self, context: Context) -> None:
        """Takes over the values of parameters."""
        views = self._dynamics.views
        values, before = views.values_of_parameters(context), self._numbers
        if values is None or before is None:
            self._numbers, self._table, self._again = values, None, (-1, None)
            self._floats = None if values is None else views.workspace_on_values(context, values)
        elif not all(map(np.array_equal, before, values)):
            for numbers, given in zip(before, values):
                numbers[:] = given
            self._again = -1, None

    def take(self, context: Context, result: Array, is_sampled: bool) -> StepOnValues | None:
        """Writes the next state with its derivatives; returns None, and writes nothing, if it cannot.

        Raises:
            ValueError: state and inputs have different numbers of derivatives.
        """
        dynamics, w = self._dynamics, self._w
        table = dynamics.inputs.actuators_in(context)
        inputs = dynamics.inputs.read(context, w)
        self.reason = self._why_not(context, inputs)
        if self.reason:
            return None
        floats = self._floats
        assert floats is not None
        dynamics.native.buffers_of(context, floats)
        floats.x[:], D_x = w.split_part("x")
        D_u = self._read(inputs, table, floats)
        call = self._run(context, floats)
        if call is None:
            return None
        found: Gradient = call.record
        D_u = self._add_desired(inputs, found, D_u)
        parts = (found.slopes.x_by_x, D_x), (found.slopes.x_by_u, D_u)
        D_next = functools.reduce(summed, [self._along(slopes, D) for slopes, D in parts if D is not None], None)
        np.copyto(result, merge_numbers(found.out.x_next.copy(), D_next))
        return self._keep(context, inputs, floats.step_buffers) if is_sampled else StepOnValues(None, w.x, inputs)

    def _run(self, context: Context, floats: Workspace) -> CompiledCall | None:
        """The call after it has computed; None if it cannot, for a reason."""
        for _ in range(_MOST_TRIES):
            call = compiled_gradient_call(self._dynamics, context, floats, self._given)
            if call is None:
                self.reason = "the derivatives of a step are not compiled yet, or other systems move geometries"
                return None
            if call.run():
                return call
            lacks_capacity = call.status == NOT_SOLVED and call.record.out.found["outcome"] == NO_CAPACITY
            if not (lacks_capacity or call.status == LACKS_CAPACITY):
                break
            floats.step_buffers.grow()
        self.reason = "the compiled call has failed"
        return None

    def _along(self, slopes: Array, D: Array) -> Array:
        """slopes D, without a library whose threads wait for each other."""
        result = np.zeros((len(slopes), D.shape[1]))
        self._w.call_on_values(product, slopes, np.ascontiguousarray(D), result)
        return result

    def _read(self, inputs: Inputs, table: ActuatorTable, floats: Workspace) -> Array | None:
        """Takes over the values that come through the ports; returns the derivatives of u, shape [num_u, n]."""
        num_u, num_v = len(self._dynamics.inputs.driven_velocities), len(self._w.v)
        if table is not self._table:
            desired = tuple(Part(part.actuators, np.zeros(len(part.values))) for part in inputs.desired)
            self._table = table
            self._given = Inputs(np.zeros(num_u), (), desired, np.zeros(num_v), floats.zeros_F)
        given, D_u = self._given, None
        given.u[:] = 0.0
        for places, numbers in ((slice(len(inputs.u)), inputs.u), *inputs.parts):
            values, derivatives = split_numbers(numbers)
            given.u[places] += values
            D_u = _plus(D_u, num_u, places, derivatives)
        for part, numbers in zip(given.desired, inputs.desired):
            part.values[:] = split_numbers(numbers.values)[0]
        given.tau[:] = split_numbers(inputs.tau)[0] if len(inputs.tau) else 0.0
        return D_u

    def _add_desired(self, inputs: Inputs, found: Gradient, D_u: Array | None) -> Array | None:
        """Adds to the derivatives of u those of desired states, equation (1)."""
        if all(split_numbers(part.values)[1] is None for part in inputs.desired):
            return D_u
        num_u, actuators = len(found.work.u), found.model.actuators
        desired = np.zeros((NUM_DESIRED_ROWS, num_u), object)
        desired[2:] = found.work.desired[2:]
        for part in inputs.desired:
            put_desired_state.interpreted(part.actuators, part.values, desired)
        problem = found.out.problem if found.out.found["is_constrained"] else found.problem
        num_constraints, controlled, h = problem.counts[0]["constraints"], actuators.controlled, found.time_step
        rows = problem.constraints["row_start"][num_constraints - len(controlled) : num_constraints]
        gains, full = found.gradient_work.laws["gain"][rows], h * (h * actuators.p + actuators.d)
        share = np.divide(gains, full, out=np.ones_like(full), where=full > 0.0)
        for row, gain in ((0, actuators.p), (1, actuators.d)):
            derivatives = split_numbers((share * gain) * desired[row, controlled])[1]
            D_u = _plus(D_u, num_u, controlled, derivatives)
        return D_u

    def _keep(self, context: Context, inputs: Inputs, buffers: StepBuffers) -> StepOnValues:
        """What a sample of the step can be made of."""
        number, again = self._again
        if number != buffers.num_preparations:
            root: Any = context
            while root.parent is not None:
                root = root.parent
            again = self._dynamics.model.system.GetMyMutableContextFromRoot(root.Clone())
            for n in range(again.num_abstract_states()):  # it would keep what this came from, and so on
                again.get_mutable_abstract_state(n).set_value(None)
            self._again = buffers.num_preparations, again
        parts, desired = (tuple(Part(a, v.copy()) for a, v in ports) for ports in (inputs.parts, inputs.desired))
        copied = Inputs(inputs.u.copy(), parts, desired, inputs.tau.copy(), inputs.F_Bo_W)
        return StepOnValues(again, self._w.x.copy(), copied)


def _plus(D: Array | None, size: int, places: Any, derivatives: Array | None) -> Array | None:
    """Derivatives of a vector of this size, with those of some of its elements added; None means none."""
    if derivatives is None:
        return D
    rows = np.zeros((size, derivatives.shape[1]))
    rows[places] = derivatives
    return summed(D, rows)
