"""Directional derivatives of an FMU: the operations of its derivatives and outputs once more, on complex numbers.

By the complex step (primitives/linearization.py) one run of them gives one direction, exact to rounding:

    J s = Im f(z + i h s) / h,  h = 1e-100                                                                     (1)

Both Contexts have their numbers in the same order, so that the FMU copies them all before each run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.core.inside import slot_of
from merganser.framework.math.difference_steps import COMPLEX_STEP
from merganser.framework.native.memory.tape import SUCCEEDED
from merganser.framework.native.operations.assembly import Assembly, order_of_computation
from merganser.framework.native.operations.operation_list import OperationList
from merganser.framework.native.operations.operations import has_complex_form
from merganser.framework.primitives.linearization import detached, jacobian_of, keeps_derivatives

if TYPE_CHECKING:
    from merganser.framework import OutputPort, System

Array = np.ndarray[Any, Any]


class Slopes:
    """Derivatives and outputs of a system on complex numbers, if all of it has such a form.

    Args:
        system: the system.
        context: of it, of floats.
        outputs: vector ports that count.

    Attributes:
        operations: on complex numbers; None where some of it has no such form.
        missing: what has no such form; empty if all has.
    """

    def __init__(self, system: System, context: Any, outputs: Sequence[OutputPort]) -> None:
        self._system, self._given, self._outputs = system, context, outputs
        self.operations: OperationList | None = None
        self.missing = self._without_complex_form()
        if not self.missing:
            self._context: Any = detached(system, context, np.complex128)
            self._slots = self._slots_in(self._context)
            self._assembly = Assembly(self._context.store)
            self._lower()

    def _slots_in(self, context: Any) -> list[Any]:
        slots = [*context.derivative_slots, *(slot_of(port, context) for port in self._outputs)]
        return [slot for slot in slots if slot.entry.vector_size]

    def _without_complex_form(self) -> str:
        """What is no operation, or one on floats only, as those of plants are; empty if there is nothing like that."""
        assembly = Assembly(self._given.store)
        order, _ = order_of_computation(assembly, self._slots_in(self._given))
        codes = [(slot, assembly.resolve(slot.entry.native, slot.context)) for slot in order]
        missing = [slot for slot, code in codes if code is None or not has_complex_form(code.operation)]
        return str(missing[0].entry.describe()) if missing else ""

    def _lower(self) -> None:
        order, _ = order_of_computation(self._assembly, self._slots)
        for slot in order:
            try:
                is_added = self._assembly.add_entry(slot)
            except TypeError:  # a function of a user's may not be compiled so
                is_added = False
            if not is_added:
                self.missing = str(slot.entry.describe())
                return
        if self._assembly.reads_abstract_state:
            self.missing = "what depends on abstract state"
            return
        operations = self._assembly.finish()
        if not (keeps_derivatives(self._given) or self._is_right(operations)):
            self.missing = "a function that drops imaginary parts, as abs() and comparisons do"
            return
        self.operations = operations

    def _is_right(self, operations: OperationList) -> bool:
        """Whether slopes by (1) at the values of the Context are those of differences."""
        system, given = self._system, self._given
        ports = [system.get_input_port(i) for i in range(system.num_input_ports())]
        inputs = [port for port in ports if port._size is not None]
        x = given.get_continuous_state_vector().CopyToVector()
        point = np.concatenate([x, *(port.Eval(given) for port in inputs)])
        plain = detached(system, given, np.float64)

        def f(x: Array, u: Array) -> Array:
            _move(plain, x, u, inputs)
            rates = system.EvalTimeDerivatives(plain).CopyToVector()
            return np.concatenate([rates, *(port.Eval(plain) for port in self._outputs)])

        columns = []
        for k in range(len(point)):
            z = point.astype(np.complex128)
            z[k] += 1j * COMPLEX_STEP
            _move(self._context, z[: len(x)], z[len(x) :], inputs)
            if operations.run() != SUCCEEDED:
                return False
            offsets = [(s.context.layout.entry_offsets[s.number], s.entry.vector_size) for s in self._slots]
            flat = self._context.store.flat
            columns.append(np.concatenate([flat[at : at + size].imag for at, size in offsets]) / COMPLEX_STEP)
        exact = np.array(columns).T
        return not columns or jacobian_of(lambda dtype: f, point, len(x), len(exact), exact) is exact


def _move(context: Any, x: Array, u: Array, inputs: Sequence[Any]) -> None:
    context.SetContinuousState(x)
    at = 0
    for port in inputs:
        context.fix_input(port.get_index(), u[at : at + port.size()])
        at += port.size()
