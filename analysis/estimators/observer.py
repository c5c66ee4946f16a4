"""Observer: what all observers of a system have in common; and LuenbergerObserver, the plainest of them.

In the native plan observers are operations that run the tapes of the observed system (analysis/plan/model_tape.py).

A LuenbergerObserver is a model of a system, corrected by a gain times the error of its output. SteadyStateKalmanFilter
makes one, with the dual of the gain of a linear quadratic regulator (Kalman and Bucy 1961).
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.controllers.linear_quadratic_regulator import (
    DiscreteTimeLinearQuadraticRegulator,
    LinearQuadraticRegulator,
    is_unstable,
    is_unstable_in_discrete_time,
    numbers_of,
    require_definite,
    unreached_modes,
)
from merganser.analysis.estimators.observed_model import ObservedModel
from merganser.analysis.system_dynamics import detached_context
from merganser.framework import (
    Context,
    InputPort,
    LeafOutputPort,
    LeafSystem,
    PortDataType,
    System,
    SystemScalarConverter,
    Value,
)
from merganser.framework.core.context.native_code import (
    CONTINUOUS_STATE,
    CURRENT_TIME,
    FAILURE,
    OUTPUT,
    DiscreteStateOf,
    InputOf,
    NativeCode,
    NextDiscreteStateOf,
)
from merganser.framework.core.inside import use_native_derivatives
from merganser.framework.core.scalars.element_functions import left_to_right_product
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.native.memory.records_of_arrays import Placed, integers_of
from merganser.framework.primitives import Linearize, LinearSystem


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


# ---------------------------------------------------------------------- the Luenberger observer


class LuenbergerObserver(Observer):
    """Estimates the state of a system (D. Luenberger 1971).

        d xhat/dt = f(xhat, u) + L (y - g(xhat, u)),        in continuous time,         (1)
        xhat[n+1] = f(xhat[n], u[n]) + L (y[n] - g(xhat[n], u[n])),  in discrete time.  (2)

    Output port 'estimated_state' gives xhat, which is zero by default.

    Args:
        observed_system: the model f, g; it is not changed. See `Observer`.
        observed_system_context: its parameters, copied.
        observer_gain: L, shape [number of state variables, size of the output].

    Raises:
        ValueError: the gain has another shape, or the system other ports or state.
    """

    def __init__(self, observed_system: System, observed_system_context: Context, observer_gain: ArrayLike) -> None:
        super().__init__(observed_system, observed_system_context)
        n, p = self._num_states(), self._y.size()
        self._L = numbers_of(observer_gain, "LuenbergerObserver: observer_gain").copy()
        if self._L.shape != (n, p):
            raise ValueError(
                f"LuenbergerObserver: observer_gain must be a matrix of shape ({n}, {p}) for system "
                f"'{observed_system.GetSystemPathname()}', got shape {self._L.shape}."
            )
        require_finite("LuenbergerObserver: observer_gain", self._L)
        index: Any
        if self._period:
            index = self.DeclareDiscreteState(n)
            self.DeclarePeriodicDiscreteUpdateEvent(self._period, 0.0, self._update)
        else:
            parts = self._parameters.get_continuous_state()
            index = self.DeclareContinuousState(parts.num_q(), parts.num_v(), parts.num_z())
        self._use_native(_LuenbergerCode(self), of=LuenbergerObserver)
        self._estimate = self.DeclareStateOutputPort("estimated_state", index)

    def get_estimated_state_output_port(self) -> LeafOutputPort:
        """Returns the output port of the estimated state."""
        return self._estimate

    def observer_gain(self) -> Array:
        """Returns the gain, shape [number of state variables, size of the output]."""
        return self._L.copy()

    def L(self) -> Array:
        """Returns the gain, as `observer_gain` does."""
        return self.observer_gain()

    def _corrected(self, context: Context, x: Array) -> Array:
        """The right sides of (1) and (2)."""
        here = self._model(context).at(context.get_time(), x, self._input(context))
        return here.dynamics() + left_to_right_product(self._L, self._measured(context) - here.output())

    def DoCalcTimeDerivatives(self, context: Context, derivatives: Any) -> None:
        x = context.get_continuous_state_vector().CopyToVector()
        derivatives.SetFromVector(self._corrected(context, x))

    def _update(self, context: Context, discrete_state: Any) -> None:
        discrete_state.set_value(0, self._corrected(context, context.get_discrete_state_vector().CopyToVector()))


class _LuenbergerCode(ObserverCode):
    """The observer as an operation."""

    def code(self, context: Context, model: Any, result: Any, state: Any) -> NativeCode:
        from merganser.analysis.estimators import observer_operations as o  # loads numba

        observer: Any = self.observer
        dynamics, output = model.tapes()
        (n, p), u, error = observer._L.shape, observer._u, np.zeros(observer._y.size())
        gain = np.ascontiguousarray(observer._L)
        record = o.Observer(
            dynamics.address, output.address,
            xhat=Placed(state, (n,)),
            y=Placed(InputOf(0), (p,)),
            u=Placed(0, (0,)) if u is None else Placed(InputOf(1), (u.size(),)),
            result=Placed(result, (n,)),
            gain=gain,
            error=error,
        )  # fmt: skip
        return NativeCode(o.LUENBERGER, (FAILURE, *integers_of(record)), KeptAlive(dynamics, output, gain, error))


@overload
def SteadyStateKalmanFilter(A: ArrayLike, C: ArrayLike, W: ArrayLike, V: ArrayLike) -> Array: ...
@overload
def SteadyStateKalmanFilter(system: LinearSystem, W: ArrayLike, V: ArrayLike) -> LuenbergerObserver: ...
@overload
def SteadyStateKalmanFilter(system: System, context: Context, W: ArrayLike, V: ArrayLike) -> LuenbergerObserver: ...
def SteadyStateKalmanFilter(*args: Any, **kwargs: Any) -> Any:
    """Computes the observer gain L that makes the variance of the estimate smallest.

    For dx/dt = A x + B u + w, y = C x + D u + v with white noise of covariances W of w and V of v,

        0 = A P + P A' - P C' V^-1 C P + W,     L = P C' V^-1.                                     (1)

    Three forms:

        SteadyStateKalmanFilter(A, C, W, V)             -> L, shape [n, p]
        SteadyStateKalmanFilter(system, W, V)           -> LuenbergerObserver, for a LinearSystem
        SteadyStateKalmanFilter(system, context, W, V)  -> LuenbergerObserver, linearized at `context`

    Systems in discrete time get the gain of `DiscreteTimeSteadyStateKalmanFilter`.

    Args:
        W: covariance of the process noise, positive semidefinite, shape [n, n].
        V: covariance of the measurement noise, positive definite, shape [p, p].

    Raises:
        ValueError: sizes do not match.
        RuntimeError: W or V is not a covariance, `context` holds no equilibrium, or an unstable mode is not observable.
    """
    name = "SteadyStateKalmanFilter"
    first = args[0] if args else kwargs.get("system")
    if not isinstance(first, System):
        return _gain(False, name, **bind_overload(name, ("A", "C", "W", "V"), {}, args, kwargs))
    second = args[1] if len(args) > 1 else kwargs.get("context")
    if isinstance(second, Context):
        return _of_system(**bind_overload(name, ("system", "context", "W", "V"), {}, args, kwargs))
    if not isinstance(first, LinearSystem):
        raise TypeError(
            "SteadyStateKalmanFilter(system, W, V) takes a LinearSystem; for system "
            f"'{first.GetSystemPathname()}' ({type(first).__name__}) give the equilibrium too: "
            "SteadyStateKalmanFilter(system, context, W, V)."
        )
    return _of_linear_system(**bind_overload(name, ("system", "W", "V"), {}, args, kwargs))


def DiscreteTimeSteadyStateKalmanFilter(A: ArrayLike, C: ArrayLike, W: ArrayLike, V: ArrayLike) -> Array:
    """Computes the observer gain for x[n+1] = A x[n] + B u[n] + w, y[n] = C x[n] + D u[n] + v.

        P = A P A' - A P C' (C P C' + V)^-1 C P A' + W,     L = A P C' (C P C' + V)^-1

    with P the covariance of the error of xhat[n], which knows the measurements before time n.

    Args:
        A: shape [n, n].
        C: shape [p, n].
        W: covariance of the process noise, positive semidefinite, shape [n, n].
        V: covariance of the measurement noise, positive definite, shape [p, p].

    Returns:
        L, shape [n, p].

    Raises:
        ValueError: sizes do not match.
        RuntimeError: W or V is not a covariance, or outputs do not show an unstable mode.
    """
    return _gain(True, "DiscreteTimeSteadyStateKalmanFilter", A, C, W, V)


def _gain(is_discrete: bool, name: str, A: ArrayLike, C: ArrayLike, W: ArrayLike, V: ArrayLike) -> Array:
    a, c = np.atleast_2d(numbers_of(A, f"{name}: A")), np.atleast_2d(numbers_of(C, f"{name}: C"))
    if a.shape[0] != a.shape[1] or c.shape[1] != len(a):
        raise ValueError(f"{name}: A has shape {a.shape} and C {c.shape}; expected (n, n) and (p, n).")
    if not (np.isfinite(a).all() and np.isfinite(c).all()):
        raise ValueError(f"{name}: A or C has elements that are not finite.")
    w = checked_covariance(W, len(a), "positive semidefinite", f"{name}: W")
    v = checked_covariance(V, len(c), "positive definite", f"{name}: V")
    unstable = is_unstable_in_discrete_time if is_discrete else is_unstable
    hidden = unreached_modes(a.T, c.T, unstable)
    if hidden:
        raise RuntimeError(
            f"{name}: no stable observer exists. Unstable eigenvalues of A that no output shows: "
            f"{', '.join(f'{mode:.6g}' for mode in hidden)}."
        )
    regulate = DiscreteTimeLinearQuadraticRegulator if is_discrete else LinearQuadraticRegulator
    try:
        return regulate(a.T, c.T, w, v)[0].T
    except RuntimeError as error:
        raise RuntimeError(
            f"{name}: no stable observer was found; check that the process noise W reaches every mode of A that does "
            "not decay by itself."
        ) from error


def _of_linear_system(system: LinearSystem, W: ArrayLike, V: ArrayLike) -> LuenbergerObserver:
    gain = _gain(system.time_period() > 0.0, "SteadyStateKalmanFilter", system.A(), system.C(), W, V)
    return LuenbergerObserver(system, system.CreateDefaultContext(), gain)


def _of_system(system: System, context: Context, W: ArrayLike, V: ArrayLike) -> LuenbergerObserver:
    linear = Linearize(system, context)
    gain = _gain(linear.time_period() > 0.0, "SteadyStateKalmanFilter", linear.A(), linear.C(), W, V)
    return LuenbergerObserver(system, context, gain)
