"""Observer: what all observers of a system have in common.

In the native plan observers are operations that run the tapes of the observed system (analysis/plan/model_tape.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.controllers.linear_quadratic_regulator import numbers_of, require_definite
from merganser.analysis.estimators.observed_model import ObservedModel
from merganser.analysis.system_dynamics import detached_context
from merganser.framework import Context, InputPort, LeafSystem, PortDataType, System, SystemScalarConverter, Value
from merganser.framework.core.context.native_code import (
    CONTINUOUS_STATE,
    CURRENT_TIME,
    OUTPUT,
    DiscreteStateOf,
    InputOf,
    NativeCode,
    NextDiscreteStateOf,
)
from merganser.framework.core.inside import use_native_derivatives


class KeptAlive:
    """Keeps objects alive that an operation refers to by address.

    Args:
        things: tapes of the model, and anything else.
    """

    def __init__(self, *things: Any) -> None:
        self._things = things

    def __call__(self) -> None:
        """Called when Python takes over, see NativeCode.on_stop."""
        for thing in self._things:
            settle = getattr(thing, "settle", None)
            if settle is not None:
                settle()


class ObserverCode:
    """The dynamics of an observer as an operation, unless its model runs Python.

    Derived classes say which one, in `code`.

    Args:
        observer: the block.
    """

    def __init__(self, observer: Observer) -> None:
        self.observer = observer

    def resolve(self, context: Any) -> NativeCode | None:
        """The operation in a Context; None if it must run in Python now."""
        observer = self.observer
        if context.store.flat.dtype != np.float64:
            return None
        model = observer._model(context)
        if model.can_be_lowered(context) and model.native_code is None:
            if observer._period:
                offsets: tuple[Any, Any] = NextDiscreteStateOf(0), DiscreteStateOf(0)
            else:
                offsets = OUTPUT, CONTINUOUS_STATE
            model.native_code = self.code(context, model, *offsets)
        code: NativeCode | None = model.native_code
        return code

    def code(self, context: Any, model: Any, result: Any, state: Any) -> NativeCode | None:
        """The operation; None if it must run in Python.

        Args:
            context: of the observer.
            model: the ObservedModel there, which has tapes.
            result: placeholder for the offset of the result.
            state: placeholder for the offset of the observer's state.
        """
        raise NotImplementedError


Array = NDArray[Any]


class Observer(LeafSystem):
    """Base of systems that estimate the state of another system from its output and input.

    Input port 0, 'observed_system_output', and, if the observed system has an input, input port 1,
    'observed_system_input'. Each Context has one of the observed system to compute in.

    Args:
        observed_system: the model, which is not copied; with at most one input port and exactly one output port, both
            vectors, and with continuous state only, or one group of discrete state that is updated with one period from
            time 0.
        observed_system_context: its parameters, copied.
        converter: of an observer that does not compute with every scalar that the observed system does.

    Raises:
        ValueError: the system has other ports or state, or the context belongs to another system.
    """

    def __init__(
        self,
        observed_system: System,
        observed_system_context: Context,
        converter: SystemScalarConverter | None = None,
    ) -> None:
        super().__init__(converter=converter)
        name = type(self).__name__
        if not isinstance(observed_system, System):
            raise TypeError(f"{name}: expected a System, got {type(observed_system).__name__}.")
        path = observed_system.GetSystemPathname()
        inputs, outputs = observed_system.num_input_ports(), observed_system.num_output_ports()
        if inputs > 1 or outputs != 1:
            raise ValueError(
                f"{name}: system '{path}' must have at most one input port and exactly one output port; it has "
                f"{inputs} and {outputs}."
            )
        ports = [observed_system.get_output_port(0), *(observed_system.get_input_port(i) for i in range(inputs))]
        for port in ports:
            if port.get_data_type() is PortDataType.kAbstractValued:
                raise ValueError(f"{name}: {port.GetFullDescription()} is abstract; it must be a vector port.")
        self._parameters = detached_context(observed_system, observed_system_context)
        is_discrete, self._period = observed_system.IsDifferenceEquationSystem()
        if not is_discrete and not self._parameters.has_only_continuous_state():
            raise ValueError(
                f"{name}: system '{path}' must have continuous state only, or one group of discrete state updated "
                "with one period and offset 0."
            )
        self._system = observed_system
        self._y = self.DeclareVectorInputPort("observed_system_output", ports[0].size())
        self._u = self.DeclareVectorInputPort("observed_system_input", ports[1].size()) if inputs else None
        self._model_entry = self._sys_declare_storage("observed system's context", self._new_model)

    def _new_model(self) -> Value:
        return Value(ObservedModel(self._system, self._parameters, self._period))

    def _num_states(self) -> int:
        state = self._parameters.get_discrete_state_vector() if self._period else None
        return state.size() if state is not None else self._parameters.num_continuous_states()

    def get_observed_system_output_input_port(self) -> InputPort:
        """Returns the input port of the measured output."""
        return self._y

    def get_observed_system_input_input_port(self) -> InputPort:
        """Returns the input port of the observed system's input.

        Raises:
            RuntimeError: the observed system has none.
        """
        if self._u is None:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' has no input port 'observed_system_input', because the observed "
                "system has no input."
            )
        return self._u

    # ------------------------------------------------------------------ the model

    def _model(self, context: Any) -> ObservedModel:
        """The evaluator of the observed system for a context of this observer."""
        model: ObservedModel = context.slots[self._model_entry.cache_index()].value.get_mutable_value()
        return model

    def _input(self, context: Context) -> Array | None:
        """The input of the observed system; None if it has none."""
        return self._u.Eval(context) if self._u is not None else None

    def _use_native(self, code: ObserverCode, of: type[LeafSystem]) -> None:
        """Registers an operation for the dynamics of a class; called when these are declared."""
        if self._period:
            self._sys_amend_last_event(native=code)
            return
        inputs = [InputOf(i) for i in range(self.num_input_ports())]
        what_they_depend_on = NativeCode("", (CURRENT_TIME, CONTINUOUS_STATE, *inputs))
        use_native_derivatives(self, what_they_depend_on, of)
        use_native_derivatives(self, code, of)

    def _measured(self, context: Context) -> Array:
        """The measured output."""
        y: Array = self._y.Eval(context)
        return y


def checked_covariance(value: ArrayLike, size: int, kind: str, what: str) -> Array:
    """A covariance matrix of shape [size, size].

    Args:
        value: the matrix, or a number for one of size 1.
        size: number of rows.
        kind: "positive definite" or "positive semidefinite".
        what: the matrix in words, for messages.

    Raises:
        TypeError: there is something else than numbers.
        ValueError: wrong shape, or an element is not finite.
        RuntimeError: it is not of that kind.
    """
    matrix = np.atleast_2d(numbers_of(value, what)).copy()
    if matrix.shape != (size, size):
        raise ValueError(f"{what} must have shape ({size}, {size}), got {matrix.shape}.")
    require_finite(what, matrix)
    try:
        require_definite(what, matrix, kind)
    except RuntimeError as error:
        raise RuntimeError(str(error).removeprefix("LQR: ")) from None
    return matrix


def require_finite(what: str, matrix: Array) -> None:
    """Raises a ValueError that names the first element that is not finite, if there is one."""
    wrong = np.argwhere(~np.isfinite(matrix))
    if len(wrong):
        place = ", ".join(map(str, wrong[0]))
        raise ValueError(f"{what} must be finite; element [{place}] is {matrix[tuple(wrong[0])]}.")
