"""ObservedModel: the system that an observer has a model of, evaluated at states that the observer tries out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, System
from merganser.framework.core.context.native_code import NativeCode, UpdatableCode, may_compile
from merganser.framework.core.declarations.execution import compute_updates, periodic_discrete_updates, raise_if_failed
from merganser.framework.core.declarations.native_function import BoundNativeFunction
from merganser.framework.core.inside import declared_events, new_context, slot_of
from merganser.framework.native.memory.image import context_of_model
from merganser.framework.primitives.linearization import (
    by_complex_step,
    jacobian_of,
)

Array = NDArray[Any]


class ObservedModel:
    """f and g of an observed system, in contexts that are kept and only overwritten.

    To make a context, as `FirstOrderTaylorApproximation` does, takes longer than to evaluate a small model often.

    Args:
        system: with at most one input port and one output port, see `Observer`.
        parameters: a context of it; its parameters, copied.
        period: of its discrete updates [s], 0 for continuous time.

    Attributes:
        workspace: arrays of the observer.
        native_code: the observer as an operation, once it has been lowered in this Context.
    """

    def __init__(self, system: System, parameters: Context, period: float) -> None:
        self._system, self._parameters, self._period = system, parameters, period
        self._evaluators: dict[Any, _Evaluator] = {}
        self._tapes: tuple[Any, Any] | None = None
        self._complex_tapes: Any = None  # () if lowering failed
        self._routing = -1  # of the model's Context when it was lowered
        self.workspace: Any = None
        self.native_code: NativeCode | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> ObservedModel:
        # Values are put in before anything is computed: a copy needs none of them.
        system = memo.get(id(self._system), self._system)
        return ObservedModel(system, memo.get(id(self._parameters), self._parameters), self._period)

    def __reduce__(self) -> Any:
        return ObservedModel, (self._system, self._parameters, self._period)

    def _plain_state(self) -> list[Any]:
        return []

    def _set_plain_state(self, state: Any, loading: Any) -> None:
        """Restores nothing."""

    def at(self, time: Any, x: Array, u: Array | None) -> _Evaluator:
        """The model at a time [s], state x and input u (None if it has no input), of floats or other scalars."""
        evaluator = self._evaluator(self._parameters.store.flat.dtype)
        evaluator.move(time, x, u)
        return evaluator

    def can_be_lowered(self, observer_context: Any) -> bool:
        """Whether f and g consist of operations, so that they have tapes.

        Args:
            observer_context: what is lowered there is lowered again when the model gets other coefficients.
        """
        here = self._evaluator(np.dtype(np.float64))
        if not (may_compile() and here.is_native):
            return False
        if not self.is_lowered():
            from merganser.analysis.plan.model_tape import ModelTape  # loads numba

            self._tapes, self.native_code, self._routing = None, None, here.context.store.routing
            self._complex_tapes = self.workspace = None
            is_discrete, port = self._period > 0.0, self._system.get_output_port(0)
            try:
                dynamics = ModelTape(here.context, here.fixed_input, is_discrete)
                self._tapes = dynamics, ModelTape(here.context, here.fixed_input, is_discrete, port)
            except LookupError:
                return False
            computations = [slot.entry for slot in here.context.store.slots]
            for part in (*computations, *(event for _, event in declared_events(self._system, here.context))):
                if isinstance(part.native, (UpdatableCode, BoundNativeFunction)):
                    part.native.watch(observer_context)
        return True

    def is_lowered(self) -> bool:
        """Whether there are tapes of the current model."""
        is_current = self._tapes is not None and all(tape.is_current() for tape in self._tapes)
        return is_current and self._routing == self._evaluator(np.dtype(np.float64)).context.store.routing

    def complex_tapes(self) -> tuple[Any, Any] | None:
        """The ModelTapes of f and g for complex numbers; None if some operation takes none."""
        if self._complex_tapes is None:
            from merganser.analysis.plan.model_tape import ModelTape

            here, is_discrete = self._evaluator(np.dtype(np.complex128)), self._period > 0.0
            port = self._system.get_output_port(0)
            try:
                dynamics = ModelTape(here.context, here.fixed_input, is_discrete)
                self._complex_tapes = dynamics, ModelTape(here.context, here.fixed_input, is_discrete, port)
            except (LookupError, TypeError):  # a function of a user may not be compiled so
                self._complex_tapes = ()
        return self._complex_tapes or None

    def tapes(self) -> tuple[Any, Any]:
        """The ModelTapes of f and g."""
        assert self._tapes is not None
        return self._tapes

    def _evaluator(self, dtype: Any) -> _Evaluator:
        evaluator = self._evaluators.get(dtype)
        if evaluator is None:
            evaluator = self._evaluators[dtype] = _Evaluator(self._system, self._parameters, self._period, dtype)
        return evaluator

    # ------------------------------------------------------------------ by numbers: 0 is f, 1 is g

    def values(self, function: int, time: float, x: Array, u: Array) -> Array:
        """f or g at a time [s], state x and input u, shape [n] or [p]; floats."""
        here = self.at(time, x, u)
        return here.output() if function else here.dynamics()

    def complex_jacobian(self, function: int, time: float, x: Array, u: Array) -> Array:
        """df/dx or dg/dx by the complex step, shape [n, n] or [p, n].

        Raises:
            Exception: some callback takes no complex numbers.
        """
        f = self._function(function, time, u, np.complex128)
        return by_complex_step(f, x, len(x), self._system.get_output_port(0).size() if function else len(x))

    def careful_jacobian(self, function: int, time: float, x: Array, u: Array) -> Array:
        """df/dx or dg/dx as `Linearize` finds it, where callbacks may compare, or take no complex numbers."""
        function_of = functools.partial(self._function, function, time, u)
        return jacobian_of(function_of, x, len(x), self._system.get_output_port(0).size() if function else len(x))

    def _function(self, function: int, time: float, u: Array, dtype: Any) -> Callable[[Array, Any], Array]:
        """f or g as a function of the state, for numbers of a type."""
        evaluator = self._evaluator(np.dtype(dtype))

        def evaluate(x: Array, _: Any) -> Array:
            evaluator.move(time, x, u)
            return evaluator.output() if function else evaluator.dynamics()

        return evaluate


class _Evaluator:
    """The model in a context of one scalar type.

    Attributes:
        context: the context.
        fixed_input: value of its input port; None without one.
        is_native: whether f and g may be operations; if not, numba need not even be loaded.
    """

    def __init__(self, system: System, parameters: Any, period: float, dtype: Any) -> None:
        self._system, self._period = system, period
        context: Any = context_of_model(new_context(system, dtype))
        context.SetStateAndParametersFrom(parameters)
        self.context = context
        self._store = context.store
        self._store.accuracy = parameters.store.accuracy
        ports = system._sys_input_ports
        self.fixed_input = ports[0].FixValue(context, np.zeros(ports[0].size())) if ports else None
        self._u = None if self.fixed_input is None else self.fixed_input.get_vector_value().value()
        state = context.peek_state()
        group = state.get_discrete_state(0) if period else state.get_continuous_state().get_vector()
        self._state: Array = group.value()
        self._port: Any = system.get_output_port(0)
        self._events = periodic_discrete_updates(system, context)
        self._version, self._mask = -1, 0
        entries = [slot_of(self._port, context).entry, *(slot.entry for slot in context.derivative_slots)]
        self.is_native = all(part.native is not None for part in (*entries, *(event for _, event in self._events)))

    def move(self, time: Any, x: Array, u: Array | None) -> None:
        """Sets time, state and input."""
        store, layout = self._store, self.context.layout
        if self._version != store.layout.version:  # more has been learnt about what depends on them
            self._version = store.layout.version
            self._mask = layout.down["time"] | layout.down["xd" if self._period else "xc"]
            self._mask |= layout.down_inputs[0] if self._u is not None else 0
        store.invalid |= self._mask
        store.flat[0] = time
        self._state[:] = x
        if self._u is not None:
            self._u[:] = u

    def dynamics(self) -> Array:
        """f: time derivatives, or the next state."""
        if not self._period:
            return self._system.EvalTimeDerivatives(self.context).CopyToVector()
        status, updates = compute_updates(self._events)
        raise_if_failed(status, self.context)
        values = next(values for leaf, values in updates if leaf.num_discrete_state_groups())
        result: Array = values.get_vector(0).CopyToVector()
        return result

    def output(self) -> Array:
        """g: the output."""
        result: Array = self._port.Eval(self.context)
        return result
