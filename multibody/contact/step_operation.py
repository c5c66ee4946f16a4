"""The source of step.py as operations of the native plan (framework/native/operations/operations.py).

Arrays of which samples are made there are twice, and steps write to those that do not hold the last one that has
succeeded: so that outlasts any step that fails. What fails, Python does again.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from merganser.framework.native import device
from merganser.framework.native.memory.addresses import place_at
from merganser.framework.native.memory.hinted_types import Floats, FloatsInContext, FloatTable, Integers
from merganser.framework.native.memory.records_of_arrays import record_at
from merganser.framework.native.memory.tape import FAILED, integers_at
from merganser.framework.native.operations.operations import CompiledOperation
from merganser.multibody.contact.layout import CONVERGED, NO_CAPACITY, Trees
from merganser.multibody.contact.plant_forces import calc_generalized_contact_forces
from merganser.multibody.contact.responses import Responses, listen, respond
from merganser.multibody.contact.step import NOT_SOLVED, calc_derivatives, take_step
from merganser.multibody.contact.step_records import (
    OUTCOME,
    SOLVED,
    Inputs,
    Model,
    State,
    StepResults,
    Work,
)

__all__ = [
    "CONTACT_FORCES",
    "COUNT",
    "DERIVATIVES",
    "HAS_FORCES",
    "LISTENING",
    "MOTION",
    "STEP",
    "WHICH",
    "ContactForcesRecord",
    "DerivativesRecord",
    "MotionRecord",
    "Sample",
    "StepRecord",
    "count_iterations",
    "end_operation",
]

LISTENING = -1.0  # in place of a length: a plant notes what comes through its inputs, see responses.py

# What Sample.counts holds.
WHICH = 0  # which results are those of the last step that has succeeded
HAS_FORCES = 1  # whether the generalized forces of its contacts have been computed
COUNT = 2  # how many steps there were


class Sample(NamedTuple):
    """The numbers of the last step, for the outputs of a plant.

    Attributes:
        counts: see above.
        x, x_next: the state before and after it.
        u: what the actuators exerted.
        F_applied: forces on the bodies but those of contacts, shape [num_mobods, 6].
    """

    counts: Integers
    x: Floats
    x_next: Floats
    u: Floats
    F_applied: FloatTable


class StepRecord(NamedTuple):
    """What the operation of steps is told.

    Attributes:
        model, state, inputs, work: see step_records.py.
        time_step: h [s].
        results: two of these, which differ in all arrays but x_next.
        sample: of the step.
    """

    model: Model
    state: State
    time_step: float
    inputs: Inputs
    work: Work
    results: tuple[StepResults, ...]
    sample: Sample


class DerivativesRecord(NamedTuple):
    """What the operation of derivatives is told: see step_records.py."""

    model: Model
    state: State
    inputs: Inputs
    work: Work
    results: StepResults


class MotionRecord(NamedTuple):
    """What the operation of a continuous plant that moves by steps is told.

    Attributes:
        lengths: h, 0 for derivatives, LISTENING; and that of the last step [s], shape [2].
        counts: iterations of the solver and of its line searches, shape [2].
        derivatives: for these.
        steps: for these, whose own length does not count; x_next of their one results are the derivatives.
        responses: how its inputs follow its state.
    """

    lengths: Floats
    counts: Integers
    derivatives: DerivativesRecord
    steps: StepRecord
    responses: Responses


class ContactForcesRecord(NamedTuple):
    """What the operation of contact forces is told.

    Attributes:
        time_step: h [s].
        counts: of the Sample.
        trees: records of tree_dtype.
        results: those of steps.
        tau: where the forces are kept, shape [num_v].
        tau_out: where they are asked for.
    """

    time_step: float
    counts: Integers
    trees: Trees
    results: tuple[StepResults, ...]
    tau: Floats
    tau_out: FloatsInContext


_step_at, _derivatives_at = record_at(StepRecord), record_at(DerivativesRecord)
_motion_at, _contact_forces_at = record_at(MotionRecord), record_at(ContactForcesRecord)


def plant_step(values: Any, numbers: Any, integers: Any) -> None:
    """The next state of a discrete plant, and a sample; integers: address of what it comes to, and a StepRecord."""
    step = _step_at(values, integers_at(place_at(integers, 1)))
    out = step.results[1 - step.sample.counts[WHICH]]
    status = take_step(step.model, step.state, step.time_step, step.inputs, step.work, out)
    end_operation(step, out, status, integers)


@device
def end_operation(step: Any, out: Any, status: int, integers: Any) -> None:
    """Keeps a step that has succeeded, with its sample; or says that it has failed."""
    counts = step.sample.counts
    if status == 0 and out.found[SOLVED] and out.found[OUTCOME] != CONVERGED:
        status = -1  # of that Python warns
    if status != 0:
        _give_up(out.x_next, integers)
        return
    counts[WHICH], counts[HAS_FORCES], counts[COUNT] = 1 - counts[WHICH], 0, counts[COUNT] + 1
    _take_sample(step, out.x_next)


@device
def _take_sample(step: Any, x_next: Any) -> None:
    sample, x, u, F_applied = step.sample, step.state.x, step.work.u, step.work.F_applied
    for k in range(sample.x.shape[0]):
        sample.x[k], sample.x_next[k] = x[k], x_next[k]
    for k in range(u.shape[0]):
        sample.u[k] = u[k]
    if step.model.elements.shape[0] > 0:
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


def plant_derivatives(values: Any, numbers: Any, integers: Any) -> None:
    """xdot of a continuous plant; integers: address of what it comes to, and a DerivativesRecord."""
    given = _derivatives_at(values, integers_at(place_at(integers, 1)))
    if calc_derivatives(given.model, given.state, given.inputs, given.work, given.results) != 0:
        _give_up(given.results.x_next, integers)


def plant_motion(values: Any, numbers: Any, integers: Any) -> None:
    """xdot of a continuous plant, or while an integrator moves it by steps the slope of one (plant/step/motion.py).

    Integers: address of what it comes to, and a MotionRecord.
    """
    given = _motion_at(values, integers_at(place_at(integers, 1)))
    h, known, steps = given.lengths[0], given.derivatives, given.steps
    out = steps.results[0]
    result = out.x_next
    if h == 0.0:
        status = calc_derivatives(known.model, known.state, known.inputs, known.work, known.results)
    elif h == LISTENING:
        status = 0
        listen(steps.model, steps.state, given.responses.inputs, steps.work, given.responses, result)
    else:
        if given.responses.is_used:
            respond(steps.model, steps.state, given.responses)
        status = take_step(steps.model, steps.state, h, steps.inputs, steps.work, out)
        if status == 0:
            given.lengths[1], steps.sample.counts[WHICH] = h, 1
            if out.found[SOLVED]:
                count_iterations(out.statistics, given.counts)
            _take_sample(steps, result)
            x = steps.state.x
            for k in range(result.shape[0]):
                result[k] = (result[k] - x[k]) / h
        elif status == NOT_SOLVED and out.found[OUTCOME] != NO_CAPACITY:
            status = 0
            for k in range(result.shape[0]):
                result[k] = math.nan
    if status != 0:
        _give_up(result, integers)


def contact_forces(values: Any, numbers: Any, integers: Any) -> None:
    """The generalized forces of all contacts in the last step; computed when they are first asked for, and kept."""
    given = _contact_forces_at(values, integers)
    counts, tau = given.counts, given.tau
    if counts[HAS_FORCES] == 0:
        out = given.results[counts[WHICH]]
        for k in range(tau.shape[0]):
            tau[k] = 0.0
        if out.found[SOLVED]:
            constraints, _, jacobian, numbers_of, _ = out.problem
            calc_generalized_contact_forces(
                given.trees, given.time_step, constraints, jacobian, numbers_of, out.impulses, tau
            )
        counts[HAS_FORCES] = 1
    for k in range(tau.shape[0]):
        given.tau_out[k] = tau[k]


STEP = CompiledOperation(plant_step)
DERIVATIVES = CompiledOperation(plant_derivatives)
MOTION = CompiledOperation(plant_motion)
CONTACT_FORCES = CompiledOperation(contact_forces)
