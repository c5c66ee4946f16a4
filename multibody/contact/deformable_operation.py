"""The source of deformable_step.py as an operation of the native plan: see step_operation.py."""

from __future__ import annotations

from typing import Any, NamedTuple

from merganser.framework.native.memory.addresses import place_at
from merganser.framework.native.memory.records_of_arrays import record_at
from merganser.framework.native.memory.tape import integers_at
from merganser.framework.native.operations.operations import CompiledOperation
from merganser.multibody.contact.deformable_records import DeformableBodies, DeformableResults
from merganser.multibody.contact.deformable_step import take_step_of_all
from merganser.multibody.contact.step_operation import WHICH, StepRecord, end_operation

__all__ = ["STEP_OF_ALL", "StepOfAllRecord"]


class StepOfAllRecord(NamedTuple):
    """What the operation of steps with deformable bodies is told.

    Attributes:
        step: what is about rigid bodies.
        soft: the deformable ones.
        results: of these, two as of the rigid ones; they differ in all arrays but the next states.
    """

    step: StepRecord
    soft: DeformableBodies
    results: tuple[DeformableResults, ...]


_step_at = record_at(StepOfAllRecord)


def plant_step_of_all(values: Any, numbers: Any, integers: Any) -> None:
    """The next state of a plant with deformable bodies, and a sample.

    Integers: address of what it comes to, and a StepOfAllRecord.
    """
    given = _step_at(values, integers_at(place_at(integers, 1)))
    step = given.step
    which = 1 - step.sample.counts[WHICH]
    out, soft_out = step.results[which], given.results[which]
    rigid = step.model, given.soft, step.state, step.time_step, step.inputs, step.work
    end_operation(step, out, take_step_of_all(*rigid, out, soft_out), integers)


STEP_OF_ALL = CompiledOperation(plant_step_of_all)
