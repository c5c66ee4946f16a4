"""Blocks without inputs: constants.

Sine: a sine wave with its first and second derivatives.

TrajectorySource: gives the value of a trajectory, and its derivatives, at the current time.

SharedPointerSystem: keeps an object alive for as long as the Diagram it is in.

Signals of time: clock, step, ramp, pulses, sawtooth, chirp, signal generator. Where a signal jumps or has a corner at
known times, integrators stop there (`_sys_breaks`). Signals that repeat themselves without end know when their present
period began, or its number: a discrete state, which an event changes at that time. Where a simulation begins, at time 0
or later, it follows from the time.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import NativeCode, UpdatableCode
from merganser.framework.core.declarations.events import EventStatus
from merganser.framework.core.declarations.native_function import copy, native
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.scalars.copying import Shared
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.core.values.values import AbstractValue, BasicVector
from merganser.framework.math.element_functions import cos, floor, sin
from merganser.framework.primitives._arguments import (
    checked_positive_period,
    checked_size,
    checked_vector,
    vectors_of_one_size,
)
from merganser.framework.primitives.native_parts import if_at_most
from merganser.framework.trajectories import Trajectory
from merganser.framework.trajectories._breaks import break_times
from merganser.framework.trajectories._scalars import plain


class ConstantVectorSource(LeafSystem):
    """Gives a constant vector, y0 = source_value.

    The value is a numeric parameter, so that each Context may have its own.

    Args:
        source_value: the default value, a vector or a BasicVector (of which the output then has the type).
    """

    _keeps_derivatives = True

    def __init__(self, source_value: ArrayLike | BasicVector) -> None:
        super().__init__()
        if isinstance(source_value, BasicVector):
            model = source_value.Clone()
        else:
            model = BasicVector(checked_vector(source_value, "ConstantVectorSource: source_value"))
        self._value_index = self.DeclareNumericParameter(model)
        self.DeclareVectorOutputPort(kUseDefaultName, model, copy.given(source=self._value_index))

    def get_source_value(self, context: Context) -> BasicVector:
        """Returns the value that the block has in this context."""
        self.ValidateContext(context)
        return context.get_numeric_parameter(self._value_index)

    def get_mutable_source_value(self, context: Context) -> BasicVector:
        """Returns the value that the block has in this context, for changing it."""
        self.ValidateContext(context)
        return context.get_mutable_numeric_parameter(self._value_index)


class ConstantValueSource(LeafSystem):
    """Gives a constant abstract value at y0.

    Args:
        value: the box with the value; copied.
    """

    def __init__(self, value: AbstractValue) -> None:
        super().__init__()
        if not isinstance(value, AbstractValue):
            raise TypeError(f"ConstantValueSource: expected a Value, got {type(value).__name__}; write Value(...).")
        self._value = value.Clone()
        self.DeclareAbstractOutputPort(kUseDefaultName, self._value.Clone, self._calc_output, {self.nothing_ticket()})

    def _calc_output(self, context: Context, output: AbstractValue) -> None:
        output.SetFrom(self._value)


Array = NDArray[Any]


@native
def wave_in_time(a: Array, f: Array, p: Array, is_cosine: int, t: float, y: Array) -> None:
    """y = a sin(f t + p), or a cos(f t + p)."""
    for i in elements(y):
        angle = f[i] * t + p[i]
        y[i] = a[i] * (cos(angle) if is_cosine else sin(angle))


@native
def wave_of_input(a: Array, f: Array, p: Array, is_cosine: int, u: Array, y: Array) -> None:
    """y = a sin(f u + p), or a cos(f u + p)."""
    for i in elements(y):
        angle = f[i] * u[i] + p[i]
        y[i] = a[i] * (cos(angle) if is_cosine else sin(angle))


_ONE_FOR_ALL = ("amplitude", "frequency", "phase", "size", "is_time_based")
_ONE_FOR_EACH = ("amplitudes", "frequencies", "phases", "is_time_based")


class Sine(LeafSystem):
    """Gives a sine wave and its first two derivatives by t,

        y0 = a sin(f t + p),    y1 = a f cos(f t + p),    y2 = -a f^2 sin(f t + p).

    t is the time, or, with `is_time_based=False`, the input u0, which has as many elements as the outputs.

    Args:
        amplitude: a, for all elements; or `amplitudes`, shape [n].
        frequency: f [rad/s], for all elements; or `frequencies`, shape [n].
        phase: p [rad], for all elements; or `phases`, shape [n].
        size: number of elements, if a, f and p are single numbers.
        is_time_based: whether t is the time.

    Raises:
        ValueError: vectors have different sizes, or an element is not a number.
    """

    @overload
    def __init__(
        self, amplitude: float, frequency: float, phase: float, size: int, is_time_based: bool = True
    ) -> None: ...
    @overload
    def __init__(
        self, amplitudes: ArrayLike, frequencies: ArrayLike, phases: ArrayLike, is_time_based: bool = True
    ) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        a, f, p, is_time_based = _parameters(*args, **kwargs)
        wave = wave_in_time
        if not is_time_based:
            wave = wave_of_input.given(u=self.DeclareVectorInputPort(kUseDefaultName, a.size))
        for factors, is_cosine in ((a, False), (a * f, True), (-(a * f * f), False)):
            calc = wave.given(a=factors, f=f, p=p, is_cosine=is_cosine)
            self.DeclareVectorOutputPort(kUseDefaultName, a.size, calc)


def _parameters(*args: Any, **kwargs: Any) -> tuple[Array, Array, Array, bool]:
    """Amplitudes, frequencies and phases, shapes [n], and whether t is the time."""
    is_single = "amplitude" in kwargs or (len(args) > 0 and np.ndim(args[0]) == 0)
    names = _ONE_FOR_ALL if is_single else _ONE_FOR_EACH
    given = bind_overload("Sine", names, {"is_time_based": True}, args, kwargs)
    a, f, p = (checked_vector(given[name], f"Sine: {name}") for name in names[:3])
    if is_single:
        for name, vector in zip(names, (a, f, p)):
            if vector.size != 1:
                raise ValueError(f"Sine: `size` goes with a single {name}; got {vector.size} numbers.")
        size = checked_size(given["size"], "Sine: size")
        a, f, p = np.repeat(a, size), np.repeat(f, size), np.repeat(p, size)
    elif not a.size == f.size == p.size:
        raise ValueError(
            f"Sine: there must be equally many amplitudes, frequencies and phases; got {a.size}, {f.size} and {p.size}."
        )
    return a, f, p, bool(given["is_time_based"])


class TrajectorySource(LeafSystem):
    """Gives [r(t); r'(t); r''(t); ...] at y0, for a trajectory r of column vectors at the time t.

    Where the trajectory is not known yet, make the block with another one of the same size, and call
    UpdateTrajectory() later.

    Integrators end a step where the value of the trajectory jumps, or its rate or acceleration, so that nothing that
    happens between two breaks is stepped over (pydrake's step over short pulses).

    Args:
        trajectory: r, which is copied.
        output_derivative_order: the highest derivative to give.
        zero_derivatives_beyond_limits: whether all derivatives are zero before the start and beyond the end of the
            trajectory; not at a time that is an expression of variables.

    Raises:
        TypeError: r is no Trajectory.
        ValueError: it has several columns, or the order is negative.
        RuntimeError: it has no derivatives, but some are asked for.
    """

    def __init__(
        self, trajectory: Trajectory, output_derivative_order: int = 0, zero_derivatives_beyond_limits: bool = True
    ) -> None:
        super().__init__()
        self._order = checked_size(output_derivative_order, "TrajectorySource: output_derivative_order")
        self._clamps = bool(zero_derivatives_beyond_limits)
        self._trajectory = self._checked_trajectory(trajectory)
        self._breaks: tuple[float, ...] | None = None
        self._sys_breaks = self._break_times
        self._rows = self._trajectory.rows()
        size = self._rows * (self._order + 1)
        port = self.DeclareVectorOutputPort(kUseDefaultName, size, self._calc_output, {self.time_ticket()})
        self._code = UpdatableCode(self._native_code)
        port.cache_entry().use_native(self._code)

    def UpdateTrajectory(self, trajectory: Trajectory) -> None:
        """Replaces the trajectory by another one with as many rows.

        A context that has computed the output before keeps that value until its time changes.

        Raises:
            TypeError: it is no Trajectory.
            ValueError: it has several columns, or another number of rows.
            RuntimeError: it has no derivatives, but some are asked for.
        """
        checked = self._checked_trajectory(trajectory)
        if checked.rows() != self._rows:
            raise ValueError(
                f"System '{self.GetSystemPathname()}': the trajectory must keep its {self._rows} rows, got one of "
                f"{checked.rows()}."
            )
        self._trajectory, self._breaks = checked, None
        self._code.renew()

    def _break_times(self) -> tuple[float, ...]:
        """When one of the outputs is not smooth."""
        if self._breaks is None:
            self._breaks = break_times(self._trajectory, self._order)
        return self._breaks

    def _checked_trajectory(self, trajectory: Trajectory) -> Trajectory:
        where = f"{type(self).__name__} '{self.get_name()}'"
        if not isinstance(trajectory, Trajectory):
            raise TypeError(f"{where} takes a Trajectory, got {type(trajectory).__name__}.")
        if trajectory.cols() != 1:
            raise ValueError(f"{where} takes a trajectory of one column, got one of {trajectory.cols()}.")
        if self._order > 0 and not trajectory.has_derivative():
            raise RuntimeError(
                f"{where} is to give {self._order} derivatives, but a {type(trajectory).__name__} has none."
            )
        return trajectory.Clone()

    def _calc_output(self, context: Context, output: BasicVector) -> None:
        t, r = context.get_time(), self._trajectory
        y = output.get_mutable_value()
        y[: self._rows] = r.value(t)[:, 0]
        if self._order == 0:
            return
        if self._clamps and self._is_beyond(t):
            y[self._rows :] = np.zeros(self._rows * self._order)
            return
        for order in range(1, self._order + 1):
            y[order * self._rows : (order + 1) * self._rows] = r.EvalDerivative(t, order)[:, 0]

    def _native_code(self) -> NativeCode | None:
        """The output as an operation, for trajectories that are made of numbers."""
        from merganser.framework.trajectories._native_program import code_of_values  # loads numba

        r = self._trajectory
        limits = (r.start_time(), r.end_time()) if self._order > 0 and self._clamps else None
        return code_of_values([(r, order) for order in range(self._order + 1)], limits)

    def _is_beyond(self, t: Any) -> bool:
        try:
            time = plain(t)
        except RuntimeError:  # an expression of variables
            return False
        return time < plain(self._trajectory.start_time()) or time > plain(self._trajectory.end_time())


class SharedPointerSystem(LeafSystem):
    """A system without ports or state that holds an object which other systems use.

    Args:
        value_to_hold: any object; shared, not copied, also by copies of the system and for other scalars.
    """

    def __init__(self, value_to_hold: Any) -> None:
        super().__init__()
        self._held = Shared(value_to_hold)

    @staticmethod
    def AddToBuilder(builder: DiagramBuilder, value_to_hold: Any) -> Any:
        """Adds a system that holds the object to the builder, and returns the object."""
        builder.AddSystem(SharedPointerSystem(value_to_hold))
        return value_to_hold

    def get(self) -> Any:
        """Returns the object."""
        return self._held.value


@native
def present(t: float, y: Array) -> None:
    """The time, in each element."""
    for i in elements(y):
        y[i] = t


@native
def line(initial: Array, slope: Array, start: Array, t: float, y: Array) -> None:
    """A constant before the start, then a line."""
    for i in elements(y):
        y[i] = initial[i] + if_at_most(start[i], t, slope[i] * (t - start[i]), 0.0 * t)


@native
def jump(initial: Array, final: Array, start: Array, t: float, y: Array) -> None:
    """One value before the start, another from then on."""
    for i in elements(y):
        y[i] = if_at_most(start[i], t, final[i], initial[i])


@native
def swept_sine(amplitude: Array, omega: Array, rate: Array, phase: Array, t: float, y: Array) -> None:
    """A sine wave whose frequency grows with time, omega + rate t."""
    for i in elements(y):
        y[i] = amplitude[i] * sin(phase[i] + (omega[i] + 0.5 * rate[i] * t) * t)


class Clock(LeafSystem):
    """y = the time [s]."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorOutputPort(kUseDefaultName, 1, present)


class Step(LeafSystem):
    """y = initial before a time, final from then on.

    Args:
        time: of the step [s], one number or shape [n].
        initial, final: values before and after it.
    """

    def __init__(self, time: ArrayLike = 1.0, initial: ArrayLike = 0.0, final: ArrayLike = 1.0) -> None:
        super().__init__()
        start, before, after = vectors_of_one_size("Step", time=time, initial=initial, final=final)
        calc = jump.given(initial=before, final=after, start=start)
        self.DeclareVectorOutputPort(kUseDefaultName, start.size, calc)
        self._sys_breaks = functools.partial(list, np.unique(start))


class Ramp(LeafSystem):
    """y = initial before a time, then initial + slope (t - time).

    Args:
        slope: [1/s], one number or shape [n].
        time: of the beginning [s].
        initial: value before it.
    """

    def __init__(self, slope: ArrayLike = 1.0, time: ArrayLike = 0.0, initial: ArrayLike = 0.0) -> None:
        super().__init__()
        rise, start, before = vectors_of_one_size("Ramp", slope=slope, time=time, initial=initial)
        calc = line.given(initial=before, slope=rise, start=start)
        self.DeclareVectorOutputPort(kUseDefaultName, start.size, calc)
        self._sys_breaks = functools.partial(list, np.unique(start))


class Chirp(LeafSystem):
    """A sine wave whose frequency goes from one value at time 0 to another at `duration`, and on at that rate.

    Args:
        initial_frequency, final_frequency: [rad/s], one number or shape [n].
        duration: [s], positive.
        amplitude: of the wave.
        phase: at time 0 [rad].
    """

    def __init__(
        self,
        initial_frequency: ArrayLike,
        final_frequency: ArrayLike,
        duration: float,
        amplitude: ArrayLike = 1.0,
        phase: ArrayLike = 0.0,
    ) -> None:
        super().__init__()
        given = {"initial_frequency": initial_frequency, "final_frequency": final_frequency}
        first, last, size, angle = vectors_of_one_size("Chirp", **given, amplitude=amplitude, phase=phase)
        T = checked_positive_period(duration, "Chirp: duration")
        calc = swept_sine.given(amplitude=size, omega=first, rate=(last - first) / T, phase=angle)
        self.DeclareVectorOutputPort(kUseDefaultName, first.size, calc)


@native
def scaled_state(low: Array, high: Array, is_on: Array, y: Array) -> None:
    """One of two values."""
    for i in elements(y):
        y[i] = if_at_most(is_on[0], 0.5, low[i], high[i])


def _begin(state_at: Callable[[float], Array], difference: float, context: Any, values: Any) -> EventStatus:
    """Sets the state to that of the time where a simulation begins, if it differs by more than rounding."""
    state = state_at(plain(context.get_time()))
    if (abs(context.get_discrete_state(0).value() - state) < difference).all():
        return EventStatus.DidNothing()
    values.get_mutable_vector(0).SetFromVector(state)
    return EventStatus.Succeeded()


def _whole(number: Any) -> Any:
    """The whole part; of what is a whole number but for rounding, that number."""
    return np.floor(number + 1e-12 * np.maximum(1.0, abs(number)))


@native
def switched(value: float, new: Array) -> None:
    """A constant, as the new state."""
    for i in elements(new):
        new[i] = value


class Pulse(LeafSystem):
    """Rectangular pulses: y = `high` for a share of each period, `low` for the rest of it.

    Args:
        period: [s].
        duty: share of the period that a pulse takes, between 0 and 1.
        high, low: values in and between pulses, one number or shape [n].
        delay: when the first pulse begins [s].
    """

    def __init__(
        self, period: float, duty: float = 0.5, high: ArrayLike = 1.0, low: ArrayLike = 0.0, delay: float = 0.0
    ) -> None:
        super().__init__()
        top, bottom = vectors_of_one_size("Pulse", high=high, low=low)
        T = checked_positive_period(period, "Pulse: period")
        if not 0.0 < duty < 1.0:
            raise ValueError(f"Pulse: duty must be between 0 and 1, got {duty}.")
        if not 0.0 <= delay < math.inf:
            raise ValueError(f"Pulse: delay must not be negative, got {delay} s.")
        is_on = self.DeclareDiscreteState([1.0 if delay == 0.0 else 0.0])
        self.DeclarePeriodicDiscreteUpdateEvent(T, delay, switched.given(value=1.0))
        self.DeclarePeriodicDiscreteUpdateEvent(T, delay + duty * T, switched.given(value=0.0))
        pulse_at = functools.partial(_pulse_at, T, duty, delay)
        self.DeclareInitializationDiscreteUpdateEvent(functools.partial(_begin, pulse_at, 0.5))
        calc = scaled_state.given(low=bottom, high=top, is_on=is_on)
        self.DeclareVectorOutputPort(kUseDefaultName, top.size, calc)


def _pulse_at(period: float, duty: float, delay: float, t: float) -> Array:
    phase = (t - delay) / period
    return np.array([1.0 * (_whole(phase) >= 0.0 and _whole(phase + 1.0 - duty) == _whole(phase))])


@native
def tooth(amplitude: Array, period: float, begin: Array, t: float, y: Array) -> None:
    """A line from -amplitude at the begin to amplitude one period later."""
    for i in elements(y):
        y[i] = amplitude[i] * (2.0 * (t - begin[0]) / period - 1.0)


class Sawtooth(LeafSystem):
    """y rises from -amplitude to amplitude in each period, and falls back at once.

    Args:
        period: [s].
        amplitude: one number or shape [n].
    """

    def __init__(self, period: float, amplitude: ArrayLike = 1.0) -> None:
        super().__init__()
        size, T = checked_vector(amplitude, "Sawtooth: amplitude"), checked_positive_period(period, "Sawtooth: period")
        begin = self.DeclareDiscreteState(1)
        self.DeclarePeriodicDiscreteUpdateEvent(T, 0.0, present)
        tooth_at = functools.partial(_tooth_at, T)
        self.DeclareInitializationDiscreteUpdateEvent(functools.partial(_begin, tooth_at, 0.5 * T))
        calc = tooth.given(amplitude=size, period=T, begin=begin)
        self.DeclareVectorOutputPort(kUseDefaultName, size.size, calc)


def _tooth_at(period: float, t: float) -> Array:
    return np.array([period * _whole(t / period)])


@native
def wave_with_offset(amplitude: Array, offset: Array, omega: Array, phase: Array, t: float, y: Array) -> None:
    """y = offset + amplitude sin(omega t + phase)."""
    for i in elements(y):
        y[i] = offset[i] + amplitude[i] * sin(omega[i] * t + phase[i])


@native
def wave_of_lines(
    amplitude: Array,
    offset: Array,
    slope: float,
    turns: float,
    rate: Array,
    start: Array,
    piece: Array,
    t: float,
    y: Array,
) -> None:
    """Lines of one slope, one a piece; with `turns` = 2 every other one is turned over.

    Args:
        amplitude, offset: of the wave, shape [n].
        slope: 0 for a constant 1, 2 for a line from -1 to 1.
        rate, start: the number of pieces up to now is rate t + start, of which `piece` is the whole part.
    """
    for i in elements(y):
        odd = piece[i] - 2.0 * floor(0.5 * piece[i])
        value = (1.0 - slope) + slope * (rate[i] * t + start[i] - piece[i])
        y[i] = offset[i] + amplitude[i] * (1.0 - turns * odd) * value


@native
def next_piece(is_due: Array, rate: Array, start: Array, t: float, new: Array) -> None:
    """The number of the piece that begins now, for the elements of which one begins."""
    for i in elements(new):
        new[i] = if_at_most(is_due[i], 0.5, new[i], floor(rate[i] * t + start[i] + 0.5))


def _piece_at(rate: Array, start: Array, t: float) -> Array:
    return _whole(rate * t + start)


_LINES = {  # angle of a piece, slope, and 2 where every other piece is turned over
    "square": (math.pi, 0.0, 2.0),
    "sawtooth": (2.0 * math.pi, 2.0, 0.0),
    "triangle": (math.pi, 2.0, 2.0),
}


class SignalGenerator(LeafSystem):
    """A wave of a chosen form, y = offset + amplitude w(frequency t + phase), of period 2 pi and between -1 and 1:

        w(angle)          0        pi/2     pi       3 pi/2    2 pi
        "sine"            0        1        0        -1        0
        "square"          1        1        -1       -1        1
        "sawtooth"        -1       -1/2     0        1/2       1, then -1
        "triangle"        -1       0        1        0         -1

    Jumps and corners are events, which end a step.

    Args:
        waveform: "sine", "square", "sawtooth" or "triangle".
        amplitude: one number or shape [n], as are all that follow.
        frequency: [rad/s], positive.
        phase: at time 0 [rad].
        offset: what is added.

    Raises:
        ValueError: there is no such waveform, a frequency is not positive, a phase not finite, or sizes differ.
    """

    def __init__(
        self,
        waveform: str = "sine",
        amplitude: ArrayLike = 1.0,
        frequency: ArrayLike = 1.0,
        phase: ArrayLike = 0.0,
        offset: ArrayLike = 0.0,
    ) -> None:
        super().__init__()
        if waveform not in ("sine", *_LINES):
            raise ValueError(f"SignalGenerator: waveform must be one of {['sine', *_LINES]}, got {waveform!r}.")
        given = {"amplitude": amplitude, "frequency": frequency, "phase": phase, "offset": offset}
        size, omega, angle, mean = vectors_of_one_size("SignalGenerator", **given)
        if not ((omega > 0.0) & (omega < math.inf)).all():
            raise ValueError(f"SignalGenerator: frequency must be positive and finite, got {omega.tolist()} rad/s.")
        if not (abs(angle) < math.inf).all():
            raise ValueError(f"SignalGenerator: phase must be finite, got {angle.tolist()} rad.")
        if waveform == "sine":
            calc = wave_with_offset.given(amplitude=size, offset=mean, omega=omega, phase=angle)
        else:
            length, slope, turns = _LINES[waveform]
            rate, start = omega / length, angle / length
            piece = self.DeclareDiscreteState(np.floor(start))
            for k in np.unique(np.stack([rate, start]), axis=1).T:  # those that begin together are one event
                is_due = 1.0 * ((rate == k[0]) & (start == k[1]))
                begin = (math.floor(k[1]) + 1.0 - k[1]) / k[0]
                update = next_piece.given(is_due=is_due, rate=rate, start=start)
                self.DeclarePeriodicDiscreteUpdateEvent(1.0 / k[0], begin, update)
            piece_at = functools.partial(_piece_at, rate, start)
            self.DeclareInitializationDiscreteUpdateEvent(functools.partial(_begin, piece_at, 0.5))
            lines = {"slope": slope, "turns": turns, "rate": rate, "start": start, "piece": piece}
            calc = wave_of_lines.given(amplitude=size, offset=mean, **lines)
        self.DeclareVectorOutputPort(kUseDefaultName, size.size, calc)
