"""Vector output ports of a plant in the native plan: they copy the state, the derivatives or the last step's sample.

A sampled step leaves its numbers in the StepBuffers of the Context: one of the operation, or one of Python by way of
the SampleBox. So an output is a copy of these numbers, also where Python makes some of the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import CacheEntry
from merganser.framework.core.context.native_code import OUTPUT, Argument, NativeCode, ValueOf
from merganser.framework.core.declarations.native_function import copy
from merganser.framework.core.inside import derivatives_entry
from merganser.framework.native.compiler.when_to_compile import OptionalCode
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.records_of_arrays import Placed, integers_of
from merganser.framework.primitives.discrete import difference_quotient
from merganser.multibody.dynamics.operation import ContactForcesRecord

if TYPE_CHECKING:
    from merganser.framework import LeafContext
    from merganser.multibody.plant.multibody_plant import MultibodyPlant
    from merganser.multibody.plant.step.dynamics import PlantDynamics

Array = NDArray[Any]

_CONTACT_FORCES = OptionalCode("merganser.multibody.dynamics.operation", "CONTACT_FORCES", "contact_forces")


def _place_of(context: LeafContext, array: Array) -> int:
    """Where an array stands, counted from the flat array of a Context."""
    from merganser.framework.native.memory.image import offset_in

    return offset_in(context.store.flat, array)


class NativePart:
    """What a model instance has of a vector of the whole plant as an operation: y[i] = u[index[i]].

    Args:
        whole: the cache entry of the vector; or the state, as an argument of an operation.
        indices: of the instance's elements.
    """

    operation = ""

    def __init__(self, whole: CacheEntry | Argument, indices: Array) -> None:
        self._whole = whole
        self._indices = np.ascontiguousarray(indices, dtype=np.int64)

    def resolve(self, context: LeafContext) -> NativeCode | None:
        """The operation."""
        from merganser.multibody.kernels.operations import GATHER

        source: Any = self._whole
        options: dict[str, Any] = {}
        if isinstance(source, CacheEntry):
            slot = context.slots[source.cache_index()]
            source, options = ValueOf(slot), {"sources": (slot,)}
        return NativeCode(GATHER, (len(self._indices), address_of_array(self._indices), source, OUTPUT), **options)


class _NativeOutput:
    """Output ports that follow from forces: of the last step, or of a continuous plant.

    Args:
        plant: with the ports.
        dynamics: of it.
    """

    operation = ""

    def __init__(self, plant: MultibodyPlant, dynamics: PlantDynamics) -> None:
        self._plant, self._native = plant, dynamics.native
        self._dynamics = dynamics

    def _derivatives(self, context: LeafContext) -> Any:
        """The slot of the derivatives of a continuous plant; None if they are no operation of its, or do not exist.

        A class that is derived from it may compute others.
        """
        entry, dynamics = derivatives_entry(self._plant), self._native
        if dynamics.is_moved_by_steps(context):
            return None  # whose results output ports show
        if entry is None or entry.native is not dynamics or not dynamics.has_derivatives(context):
            return None
        return context.slots[entry.cache_index()]


class NativeAcceleration(_NativeOutput):
    """The generalized accelerations."""

    def resolve(self, context: LeafContext) -> NativeCode | None:
        """The operation; None if Python computes the acceleration of the moment."""
        plant = self._plant
        num_q, num_v = plant.num_positions(), plant.num_velocities()
        result = OUTPUT, 0, num_v
        if not plant.is_discrete():
            slot = self._derivatives(context)
            return slot and NativeCode(copy.operation("ww"), (ValueOf(slot), num_q, num_v, *result), sources=(slot,))
        buffers = self._native.sample_buffers_in(context)
        if buffers is None:
            return None
        v, v_next = (_place_of(context, x[num_q:]) for x in (buffers.numbers.x, buffers.numbers.x_next))
        code = v_next, 0, num_v, v, 0, num_v, np.array([plant.time_step()]), *result
        return _of_sample(difference_quotient.operation("wwfw"), code)


class NativeNetActuation(_NativeOutput):
    """What the actuators exert."""

    def resolve(self, context: LeafContext) -> NativeCode | None:
        """The operation; None if Python computes the actuation of the moment."""
        if self._dynamics.inputs.effort_middles().any():
            return None
        if self._plant.is_discrete():
            buffers = self._native.sample_buffers_in(context)
            return None if buffers is None else _of_sample("copy", _copied(context, buffers.numbers.u))
        # The operation of the derivatives leaves it there, and no other computation at another state or time.
        slot, u = self._derivatives(context), self._native.buffers_of(context).work.u
        return slot and NativeCode("copy", _copied(context, u), unasked=(slot,), sources=(slot,))


class NativeContactForces(_NativeOutput):
    """The generalized forces of all contacts."""

    def resolve(self, context: LeafContext) -> NativeCode | None:
        """The operation; None if Python has a part in finding the contacts."""
        plant = self._plant
        if not self._dynamics.may_touch:
            n = plant.num_velocities()
            return NativeCode(copy.operation("cw"), (np.zeros(n), n, OUTPUT, 0, n), sources=())
        buffers = self._native.constrained_buffers(context) if plant.has_sampled_output_ports() else None
        if buffers is None or not _CONTACT_FORCES.is_usable():
            return None
        nothing: dict[str, Any] = {"x_next": Placed(0, (0,)), "activations": Placed(0, (0,))}
        record = ContactForcesRecord(
            plant.time_step(), buffers.numbers.counts, buffers.model.contact.trees.trees,
            tuple(out._replace(**nothing) for out in buffers.results), buffers.contact_forces,
            Placed(OUTPUT, buffers.contact_forces.shape),
        )  # fmt: skip
        number = buffers.num_preparations

        def is_current(_kept: Any = record) -> bool:
            return buffers.num_preparations == number

        return _of_sample(_CONTACT_FORCES.load(), integers_of(record), is_current)


def _copied(context: LeafContext, array: Array) -> tuple[Argument, ...]:
    return len(array), _place_of(context, array), OUTPUT


def _of_sample(operation: Any, arguments: tuple[Argument, ...], is_current: Any = None) -> NativeCode:
    """An operation on what the last step has left."""
    return NativeCode(operation, arguments, is_current=is_current, sources=(), reads_abstract_state=True)
