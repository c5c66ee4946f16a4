"""Blocks without inputs whose output is a function of time: clock, step, ramp, pulses, chirp, periodic signals.

Where a signal jumps or has a corner at known times, integrators stop there (`declare_breaks`). Signals that repeat
themselves without end know when their present period began: a discrete state, which an event changes at that time.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.inside import declare_breaks
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.math.element_functions import sin
from merganser.framework.primitives._arguments import checked_positive_period, checked_vector
from merganser.framework.primitives.native_parts import if_at_most
from merganser.framework.primitives.nonlinear import vectors_of_one_size

Array = NDArray[Any]


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
        declare_breaks(self, functools.partial(list, np.unique(start)))


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
        declare_breaks(self, functools.partial(list, np.unique(start)))


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


@native
def switched(value: float, new: Array) -> None:
    """A constant, as the new state."""
    for i in elements(new):
        new[i] = value


class Pulse(LeafSystem):
    """Rectangular pulses: y = `high` for a share of each period, `low` for the rest of it.

    The pulse is a discrete state, which two events a period change; so it is that of a simulation from time 0 on.

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
        calc = scaled_state.given(low=bottom, high=top, is_on=is_on)
        self.DeclareVectorOutputPort(kUseDefaultName, top.size, calc)


@native
def tooth(amplitude: Array, period: float, begin: Array, t: float, y: Array) -> None:
    """A line from -amplitude at the begin to amplitude one period later."""
    for i in elements(y):
        y[i] = amplitude[i] * (2.0 * (t - begin[0]) / period - 1.0)


class Sawtooth(LeafSystem):
    """y rises from -amplitude to amplitude in each period, and falls back at once.

    When the present period began is a discrete state; so it is that of a simulation from time 0 on.

    Args:
        period: [s].
        amplitude: one number or shape [n].
    """

    def __init__(self, period: float, amplitude: ArrayLike = 1.0) -> None:
        super().__init__()
        size, T = checked_vector(amplitude, "Sawtooth: amplitude"), checked_positive_period(period, "Sawtooth: period")
        begin = self.DeclareDiscreteState(1)
        self.DeclarePeriodicDiscreteUpdateEvent(T, 0.0, present)
        calc = tooth.given(amplitude=size, period=T, begin=begin)
        self.DeclareVectorOutputPort(kUseDefaultName, size.size, calc)
