"""The source of step.py as operations of the native plan (framework/native/operations/operations.py).

Arrays of which samples are made there are twice, and steps write to those that do not hold the last one that has
succeeded: so that outlasts any step that fails. What fails, Python does again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np

from merganser.framework.native import device
from merganser.framework.native.memory.addresses import place_at
from merganser.framework.native.memory.hinted_types import (
    Floats,
    FloatsInContext,
    FloatTable,
    Integers,
    hinted_address,
)
from merganser.framework.native.memory.records_of_arrays import COMPLEX, Code, RecordOf, record_at
from merganser.framework.native.memory.simd import forget_leave, has_left, lanes_dtype
from merganser.framework.native.memory.tape import FAILED, integers_at
from merganser.framework.native.operations.operations import CompiledOperation
from merganser.multibody.contact.layout import CONVERGED, NO_CAPACITY
from merganser.multibody.contact.plant_forces import calc_generalized_contact_forces
from merganser.multibody.deformable.kernels.records import Deformables
from merganser.multibody.dynamics.linearized_inputs import InputSample, Linearization, linearize, sample
from merganser.multibody.dynamics.records import (
    NOT_SOLVED,
    Inputs,
    Model,
    State,
    StepResults,
    Work,
)
from merganser.multibody.dynamics.step import calc_derivatives, take_step
from merganser.multibody.dynamics.step_kernels import (
    COMPLEX_KERNELS,
    CONTACT_KERNELS_IN_LANES,
    KERNELS_IN_LANES,
    PENALTY_KERNELS_IN_LANES,
)
from merganser.multibody.linear.records import Trees

sample_counts_dtype = np.dtype(
    [
        ("which", np.int64),  # results are those of the last step that has succeeded
        ("has_forces", np.int64),  # whether the generalized forces of its contacts have been computed
        ("steps", np.int64),  # how many there were
    ]
)
SampleCounts = Annotated[Any, RecordOf(sample_counts_dtype)]


class Sample(NamedTuple):
    """The numbers of the last step, for the outputs of a plant.

    Attributes:
        counts: record of sample_counts_dtype.
        x, x_next: the state before and after it.
        u: what the actuators exerted.
        mean: velocities of which the step took products, shape [num_v].
        F_applied: forces on the bodies but those of contacts, shape [num_mobods, 6].
    """

    counts: SampleCounts
    x: Floats
    x_next: Floats
    u: Floats
    mean: Floats
    F_applied: FloatTable


class StepRecord(NamedTuple):
    """What the operation of steps is given.

    Attributes:
        model, state, inputs, work: see records.py.
        time_step: h [s].
        results: two of these, which differ in all arrays but x_next.
        sample: of the step.
        deformables: the deformable bodies, once for each of the results; empty without them.
    """

    model: Model
    state: State
    time_step: float
    inputs: Inputs
    work: Work
    results: tuple[StepResults, ...]
    sample: Sample
    deformables: tuple[Deformables, ...] = ()


class StepsInLanes(NamedTuple):
    """What the operation of steps of several worlds side by side is given: see StepRecord."""

    model: Model
    state: State
    time_step: float
    inputs: Inputs
    work: Work
    out: StepResults


class DerivativesRecord(NamedTuple):
    """What the operation of derivatives is given: see records.py."""

    model: Model
    state: State
    inputs: Inputs
    work: Work
    out: StepResults


class SlopesRecord(NamedTuple):
    """The operation of steps of any length of a continuous plant.

    Attributes:
        h: its length, the first of the operation's arguments [s], shape [1].
        last_length: that of the last step [s], shape [1].
        counts: iterations of the solver and of its line searches, shape [2].
        steps: whose own length does not count; x_next of their one results are the slopes.
        linearization: how inputs follow the state.
    """

    h: FloatsInContext
    last_length: Floats
    counts: Integers
    steps: StepRecord
    linearization: Linearization


class InputsRecord(NamedTuple):
    """The operation that samples the inputs of a continuous plant: see records.py and linearized_inputs.py."""

    model: Model
    state: State
    inputs: Inputs
    work: Work
    sample_inputs: Code
    out: InputSample


class ContactForcesRecord(NamedTuple):
    """What the operation of contact forces is given.

    Attributes:
        time_step: h [s].
        counts: of the Sample.
        trees: records of tree_dtype.
        results: those of steps.
        tau: where the forces are kept, shape [num_v].
        tau_out: where they are asked for.
    """

    time_step: float
    counts: SampleCounts
    trees: Trees
    results: tuple[StepResults, ...]
    tau: Floats
    tau_out: FloatsInContext


_step_at, _derivatives_at = record_at(StepRecord), record_at(DerivativesRecord)
_steps_in_lanes_at = record_at(StepsInLanes, lanes_dtype)
_derivatives_in_lanes_at = record_at(DerivativesRecord, lanes_dtype)
_complex_derivatives_at = record_at(DerivativesRecord, lambda: COMPLEX)
_slopes_at, _inputs_at = record_at(SlopesRecord), record_at(InputsRecord)
_contact_forces_at = record_at(ContactForcesRecord)


def plant_step(values: Any, numbers: Any, integers: Any) -> None:
    """The next state of a discrete plant, and a sample; integers: address of what it comes to, and a StepRecord."""
    step = _step_at(values, integers_at(place_at(integers, 1)))
    out = step.results[1 - step.sample.counts["which"]]
    status = take_step(step.model, step.state, step.time_step, step.inputs, step.work, out)
    _end_operation(step, out, status, integers)


def plant_step_with_deformables(values: Any, numbers: Any, integers: Any) -> None:
    """The same with deformable bodies, of which others need no code: theirs takes twice as long to compile."""
    step = _step_at(values, integers_at(place_at(integers, 1)))
    which = 1 - step.sample.counts["which"]
    out, given = step.results[which], (step.model, step.state, step.time_step, step.inputs, step.work)
    _end_operation(step, out, take_step(*given, out, step.deformables[which]), integers)


@device
def _end_operation(step: Any, out: Any, status: int, integers: Any) -> None:
    """Keeps a step that has succeeded, with its sample; or says that it has failed."""
    counts = step.sample.counts
    if status == 0 and out.found["is_constrained"] and out.found["outcome"] != CONVERGED:
        status = -1  # of that Python warns
    if status != 0:
        _give_up(out.x_next, integers)
        return
    counts["which"], counts["has_forces"], counts["steps"] = 1 - counts["which"], 0, counts["steps"] + 1
    _take_sample(step, out.x_next)


@device
def _take_sample(step: Any, x_next: Any) -> None:
    sample, x, u, mean, F_applied = step.sample, step.state.x, step.work.u, step.work.mean, step.work.F_applied
    for k in range(sample.x.shape[0]):
        sample.x[k], sample.x_next[k] = x[k], x_next[k]
    for k in range(u.shape[0]):
        sample.u[k] = u[k]
    for k in range(mean.shape[0]):
        sample.mean[k] = mean[k]
    if step.model.elements.shape[0] > 0 or step.model.contact.adheres > 0:
        for i in range(F_applied.shape[0]):
            for k in range(6):
                sample.F_applied[i, k] = F_applied[i, k]


@device
def count_iterations(statistics: Any, counts: Any) -> None:
    """Adds the iterations of a solution to those of others."""
    counts[0] += statistics["total_iterations"]
    counts[1] += statistics["line_search_iterations"]


@device
def _give_up(result: Any, integers: Any) -> None:
    for k in range(result.shape[0]):
        result[k] = math.nan
    integers_at(integers[0])[0] = FAILED


def plant_steps_in_lanes(values: Any, numbers: Any, integers: Any) -> None:
    """Steps of several worlds side by side, whose states change in place.

    Integers: the number of steps, which becomes that of those taken, and a StepsInLanes. Steps end before one in which
    the worlds part, or which fails in any of them: each of these has to take it alone.
    """
    _take_steps_in_lanes(_steps_in_lanes_at(values, integers_at(place_at(integers, 1))), integers)


def plant_contact_steps_in_lanes(values: Any, numbers: Any, integers: Any) -> None:
    """The same where geometries may touch, whose kernels take a minute to compile."""
    _take_steps_in_lanes(_steps_in_lanes_at(values, integers_at(place_at(integers, 1))), integers)


@device
def _take_steps_in_lanes(step: Any, integers: Any) -> None:
    out, x = step.out, step.state.x
    forget_leave()
    for n in range(integers[0]):
        status = take_step(step.model, step.state, step.time_step, step.inputs, step.work, out)
        is_solved = out.found["is_constrained"] == 0 or out.found["outcome"] == CONVERGED
        if status != 0 or not is_solved or has_left():
            integers[0] = n
            return
        for k in range(x.shape[0]):
            x[k] = out.x_next[k]


def plant_derivatives(values: Any, numbers: Any, integers: Any) -> None:
    """xdot of a continuous plant; integers: address of what it comes to, and a DerivativesRecord."""
    given = _derivatives_at(values, integers_at(place_at(integers, 1)))
    if calc_derivatives(given.model, given.state, given.inputs, given.work, given.out) != 0:
        _give_up(given.out.x_next, integers)


def plant_derivatives_in_lanes(values: Any, numbers: Any, integers: Any) -> None:
    """The same for states side by side; integers: 1, which becomes 0 where each has to be alone, and a record."""
    _find_derivatives_in_lanes(_derivatives_in_lanes_at(values, integers_at(place_at(integers, 1))), integers)


def plant_contact_derivatives_in_lanes(values: Any, numbers: Any, integers: Any) -> None:
    """The same where geometries may touch."""
    _find_derivatives_in_lanes(_derivatives_in_lanes_at(values, integers_at(place_at(integers, 1))), integers)


@device
def _find_derivatives_in_lanes(given: Any, integers: Any) -> None:
    forget_leave()
    if calc_derivatives(given.model, given.state, given.inputs, given.work, given.out) != 0 or has_left():
        integers[0] = 0


def complex_plant_derivatives(values: Any, numbers: Any, integers: Any) -> None:
    """The same of a plant on complex numbers, whose imaginary parts are derivatives along one direction."""
    given = _complex_derivatives_at(values, integers_at(place_at(integers, 1)))
    if calc_derivatives(given.model, given.state, given.inputs, given.work, given.out) != 0:
        _give_up(given.out.x_next, integers)


def plant_slopes(values: Any, numbers: Any, integers: Any) -> None:
    """(S_h(x) - x) / h of a continuous plant, NaN without a solution (plant/step/variable_steps.py).

    Integers: address of what it comes to, and a SlopesRecord.
    """
    given = _slopes_at(values, integers_at(place_at(integers, 1)))
    steps, linearization = given.steps, given.linearization
    h, out, x = given.h[0], steps.results[0], steps.state.x
    result = out.x_next
    if linearization.is_used:
        linearize(steps.model, steps.state, linearization)
    status = take_step(steps.model, steps.state, h, steps.inputs, steps.work, out)
    if status == 0:
        given.last_length[0], steps.sample.counts["which"] = h, 0
        if out.found["is_constrained"]:
            count_iterations(out.statistics, given.counts)
        _take_sample(steps, result)
        for k in range(result.shape[0]):
            result[k] = (result[k] - x[k]) / h
        for k in range(out.activations.shape[0]):
            out.activations[k] = (out.activations[k] - steps.state.activations[k]) / h
    elif status == NOT_SOLVED and out.found["outcome"] != NO_CAPACITY:
        for k in range(result.shape[0]):
            result[k] = math.nan
        for k in range(out.activations.shape[0]):
            out.activations[k] = math.nan
    else:
        _give_up(result, integers)


def plant_inputs(values: Any, numbers: Any, integers: Any) -> None:
    """Samples what comes through the input ports of a continuous plant; integers: one, and an InputsRecord."""
    given = _inputs_at(values, integers_at(place_at(integers, 1)))
    sample(given.model, given.state, given.inputs, given.work, given.sample_inputs, given.out)


def contact_forces(values: Any, numbers: Any, integers: Any) -> None:
    """The generalized forces of all contacts in the last step; computed when they are first asked for, and kept."""
    given = _contact_forces_at(values, integers)
    counts, tau = given.counts, given.tau
    if counts["has_forces"] == 0:
        out = given.results[counts["which"]]
        for k in range(tau.shape[0]):
            tau[k] = 0.0
        if out.found["is_constrained"]:
            problem = out.problem
            calc_generalized_contact_forces(
                given.trees, given.time_step, problem.constraints, problem.jacobian, problem.counts[0]["contacts"],
                out.impulses, tau,
            )  # fmt: skip
        counts["has_forces"] = 1
    for k in range(tau.shape[0]):
        given.tau_out[k] = tau[k]


class _OfOtherNumbers(CompiledOperation):
    """An operation on lanes or complex numbers, which comes with all kernels that it may call.

    Args:
        function: the operation.
        kernels: that it may call.
        is_complex: whether its numbers are complex, or lanes.
    """

    def __init__(self, function: Callable[..., None], kernels: tuple[Any, ...], is_complex: bool = False) -> None:
        super().__init__(function, is_complex)
        self._kernels = kernels

    def address(self) -> int:
        for kernel in self._kernels:
            hinted_address(kernel, COMPLEX if self.has_complex_form else lanes_dtype())
        return super().address()


STEP = CompiledOperation(plant_step)
STEPS_IN_LANES = _OfOtherNumbers(plant_steps_in_lanes, KERNELS_IN_LANES)
CONTACT_STEPS_IN_LANES = _OfOtherNumbers(
    plant_contact_steps_in_lanes, (*KERNELS_IN_LANES, *CONTACT_KERNELS_IN_LANES)
)
STEP_WITH_DEFORMABLES = CompiledOperation(plant_step_with_deformables)
DERIVATIVES = CompiledOperation(plant_derivatives, has_complex_form=True)
DERIVATIVES_IN_LANES = _OfOtherNumbers(plant_derivatives_in_lanes, COMPLEX_KERNELS)
CONTACT_DERIVATIVES_IN_LANES = _OfOtherNumbers(
    plant_contact_derivatives_in_lanes, (*COMPLEX_KERNELS, *PENALTY_KERNELS_IN_LANES)
)
COMPLEX_DERIVATIVES = _OfOtherNumbers(complex_plant_derivatives, COMPLEX_KERNELS, is_complex=True)
SLOPES = CompiledOperation(plant_slopes)
INPUTS = CompiledOperation(plant_inputs)
CONTACT_FORCES = CompiledOperation(contact_forces)
