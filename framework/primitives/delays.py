"""Delays in continuous time: exact ones, which remember their input, and rational approximations.

Exact delays keep samples of their input and of its rate of change from both ends of each step of a simulation, and
interpolate between two of them by the cubic polynomial with these values and slopes (Hermite), so to the order of an
integrator of third order. Where the input jumps or has a corner there are two samples at one time. Steps are no longer
than the delay, so that all samples that a step needs are there when it begins, and end where such a pair comes out
again: so jumps and corners are handed on from one delay to the next without being smeared.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import PartOf
from merganser.framework.core.declarations.witness import WitnessFunction, WitnessFunctionDirection
from merganser.framework.core.inside import declare_vector_entry
from merganser.framework.core.values.values import BasicVector
from merganser.framework.primitives._arguments import checked_positive_period, checked_size, checked_vector
from merganser.framework.primitives.arithmetic import saturated
from merganser.framework.primitives.linear_system import LinearSystem
from merganser.framework.primitives.piecewise import StepBlock

Array = NDArray[Any]
_SAME_TIME = 1024.0 * 2.0**-52  # times that differ by this share of their size are one
_SAME_SLOPE = 1e-5  # slopes that differ by this share of the larger one are those of a smooth signal


@native
def past_value(
    samples: Array,
    count: Array,
    first: Array,
    initial: Array,
    delay: Array,
    longest: float,
    size: int,
    t: float,
    y: Array,
) -> None:
    """The input of a moment ago, between two samples; before the first one, `initial`.

    first[0] is the number of the sample, counted from 1, after which a step begins, 0 before all; -1 outside of steps.
    """
    stride, wanted, n = 1 + 2 * size, t - delay[0], int(count[0].real)
    tolerance = _SAME_TIME * (abs(t.real) + longest)
    at, last = 0, n - 1
    if first[0].real > 0.5:  # the interval that the step begins in, or another one
        at = int(first[0].real) - 1
        while at > 0 and samples[at * stride].real > wanted.real + tolerance:  # the delay grows faster than the time
            at -= 1
        while at < last - 1 and samples[(at + 1) * stride].real < wanted.real - tolerance:
            at += 1
    elif first[0].real < -0.5:
        while at < last and samples[(at + 1) * stride].real <= wanted.real + tolerance:
            at += 1
    before = n == 0 or abs(first[0].real) < 0.5 or (at == 0 and wanted.real < samples[0].real - tolerance)
    begin, end = at * stride, min(at + 1, max(last, 0)) * stride
    for i in range(size):
        if before:
            y[i] = initial[i] + 0.0 * t
        else:
            h, s = samples[end] - samples[begin], wanted - samples[begin]
            u0, slope0 = samples[begin + 1 + i], samples[begin + 1 + size + i]
            if h.real > 0.0:
                u1, slope1, x = samples[end + 1 + i], samples[end + 1 + size + i], s / h
                a, b = u1 - u0 - h * slope0, h * slope1 - (u1 - u0)
                y[i] = u0 + s * slope0 + x * x * (a + (x - 1.0) * (b - a))
            else:
                y[i] = u0 + s * slope0


class ExactDelay(StepBlock):
    """Base of exact delays: the samples, and what is done with them at both ends of each step.

    A derived class calls `_declare_delayed`, and has `CalcDelay` and `end_of_step`.

    Args:
        initial, size, capacity: see TransportDelay.
        longest: delay that there may be [s].
    """

    def __init__(self, initial: ArrayLike, size: int | None, capacity: int, longest: float) -> None:
        super().__init__()
        name = type(self).__name__
        start = checked_vector(initial, f"{name}: initial")
        n = start.size if size is None else checked_size(size, f"{name}: size", 1)
        if start.size not in (1, n):
            raise ValueError(f"{name}: initial has {start.size} elements, expected {n} or one.")
        self._capacity, self._stride = checked_size(capacity, f"{name}: capacity", 4), 1 + 2 * n
        self._longest, self._initial = longest, np.broadcast_to(start, n).copy()
        self._u = self.DeclareVectorInputPort(kUseDefaultName, n)
        self._memory = self.DeclareDiscreteState(1 + self._stride * self._capacity)
        self._held_index = self.DeclareNumericParameter(BasicVector(np.full(1, -1.0)))

    def _declare_delayed(self, delay: Any) -> None:
        """Declares the output port for a delay [s], shape [1], or the wire of it."""
        n = self._u.size()
        calc = past_value.given(
            samples=PartOf(self._memory, 1, self._stride * self._capacity),
            count=PartOf(self._memory, 0, 1),
            first=self._held_index,
            initial=self._initial,
            delay=delay,
            longest=self._longest,
            size=n,
        )
        self.DeclareVectorOutputPort(kUseDefaultName, n, calc)

    def CalcDelay(self, context: Context) -> float:
        """The present delay [s]."""
        raise NotImplementedError

    def DoGetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        return []

    def measure(self, context: Context, rate_of: Callable[[Any, Any], Array]) -> tuple[Array, Array]:
        return np.array(self._u.Eval(context)), rate_of(self._u.Eval, context)

    def record(self, context: Context, measured: tuple[Array, Array]) -> None:
        (u, rate), time = measured, context.get_time()
        count, samples = self._samples(context)
        if count:
            last = samples[count - 1]
            known, slope = last[1 : 1 + len(u)], last[1 + len(u) :]
            near = _SAME_SLOPE * np.maximum(np.abs(rate), np.abs(slope))
            if last[0] == time and np.array_equal(known, u) and (np.abs(rate - slope) <= near).all():
                return
        if count == self._capacity:
            first = self._num_until(samples, count, time - self._longest) - 2
            if first <= 0:
                raise RuntimeError(
                    f"System '{self.GetSystemPathname()}': more than {self._capacity} ends of steps fall into the "
                    f"delay of {self._longest} s before time {time} s. Make it with a larger `capacity`, or let steps "
                    "be longer."
                )
            samples[: count - first] = samples[first:count].copy()
            count -= first
        samples[count] = np.concatenate([[time], u, rate])
        memory = context.get_mutable_discrete_state(self._memory).get_mutable_value()
        memory[0] = count + 1.0

    def regions(self, context: Context) -> Array:
        """The number of the sample, counted from 1, after which the delayed time lies."""
        count, samples = self._samples(context)
        return np.array([float(self._num_until(samples, count, self._delayed_time(context)))])

    def hold(self, context: Context, regions: Array | None) -> None:
        held = np.full(1, -1.0) if regions is None else regions
        context.get_mutable_numeric_parameter(self._held_index).SetFromVector(held)

    def _delayed_time(self, context: Context) -> float:
        """The time whose input is the present output [s]."""
        return float(context.get_time().real) - self.CalcDelay(context)

    def _doubled(self, context: Context) -> Array:
        """The times of which there are two samples, as the input jumps or has a corner there; and of the first one."""
        times = self._times(*self._samples(context))
        return np.concatenate([times[:1], times[1:][np.diff(times) == 0.0]])

    def _samples(self, context: Context) -> tuple[int, Array]:
        """How many samples there are, and all of them: time, values, slopes; shape [capacity, 1 + 2 n]."""
        memory = context.get_discrete_state(self._memory).value()
        return int(memory[0].real), memory[1:].reshape(self._capacity, self._stride)

    def _num_until(self, samples: Array, count: int, time: Any) -> int:
        """How many samples there are at a time [s] or before it."""
        limit = float(time.real) + self._tolerance(float(time.real))
        return int(np.searchsorted(self._times(count, samples), limit, side="right"))

    def _times(self, count: int, samples: Array) -> Array:
        """Times of the samples [s], as floats."""
        times = samples[:count, 0]
        return times if times.dtype == np.float64 else np.array([time.real for time in times], dtype=np.float64)

    def _tolerance(self, time: float) -> float:
        return _SAME_TIME * (abs(time) + 2.0 * self._longest)


class TransportDelay(ExactDelay):
    """y(t) = u(t - delay), and `initial` until that is in the simulation.

    The samples of the input are discrete state, as many as the steps within a delay. There is no direct feedthrough.

    Args:
        delay: [s], positive.
        initial: y in the beginning, one number or shape [n].
        size: n, where `initial` is one number.
        capacity: how many samples there may be at a time.

    Raises:
        RuntimeError: during a simulation, more steps fall into the delay than there may be samples.
    """

    def __init__(self, delay: float, initial: ArrayLike = 0.0, size: int | None = None, capacity: int = 2000) -> None:
        super().__init__(initial, size, capacity, checked_positive_period(delay, "TransportDelay: delay"))
        self._declare_delayed(np.array([self._longest]))

    def get_delay(self) -> float:
        """The delay [s]."""
        return self._longest

    def CalcDelay(self, context: Context) -> float:
        return self._longest

    def end_of_step(self, context: Context) -> float:
        time, again = float(context.get_time().real), self._doubled(context) + self._longest
        later = again[again > time + self._tolerance(time)]
        return float(min(time + self._longest, later.min(initial=math.inf)))


class VariableTransportDelay(ExactDelay):
    """y(t) = u(t - delay(t)), and `initial` until that is in the simulation; the delay is the second input.

    Outside of the limits the nearest one is the delay. Steps of a simulation are no longer than the shortest delay, so
    that the output does not depend on u at the same time; on the delay it does. Where a jump or corner of the input
    comes out again depends on the delay, and is found as the thresholds of other blocks are.

    Args:
        shortest, longest: limits of the delay [s], positive.
        initial: y in the beginning, one number or shape [n].
        size: n, where `initial` is one number.
        capacity: how many samples there may be at a time.

    Raises:
        ValueError: the limits are not in order.
        RuntimeError: during a simulation, more steps fall into the longest delay than there may be samples.
    """

    def __init__(
        self,
        shortest: float,
        longest: float,
        initial: ArrayLike = 0.0,
        size: int | None = None,
        capacity: int = 2000,
    ) -> None:
        low = checked_positive_period(shortest, "VariableTransportDelay: shortest")
        high = checked_positive_period(longest, "VariableTransportDelay: longest")
        if low > high:
            raise ValueError(f"VariableTransportDelay: shortest, {low} s, must not be above longest, {high} s.")
        super().__init__(initial, size, capacity, high)
        self._shortest = low
        u = self.DeclareVectorInputPort("delay", 1)
        limited, model = saturated.given(u=u, low=np.array([low]), high=np.array([high])), BasicVector(1)
        self._limited = declare_vector_entry(self, "delay", model, limited, {self.all_sources_ticket()})
        self._declare_delayed(self._limited)
        direction = WitnessFunctionDirection.kPositiveThenNonPositive
        self._witnesses = [
            self.MakeWitnessFunction(f"corner {place}", direction, functools.partial(self._distance, sign))
            for place, sign in (("ahead", 1.0), ("behind", -1.0))
        ]

    def CalcDelay(self, context: Context) -> float:
        return float(self._limited.Eval(context).GetAtIndex(0).real)

    def DoGetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        return self._witnesses

    def _distance(self, sign: float, context: Context) -> float:
        """How far the delayed time is from the jump or corner of the input after (1) or before (-1) it [s].

        After or before where the step begins, that is: so it passes zero.
        """
        number = int(context.get_numeric_parameter(self._held_index).GetAtIndex(0).real)
        count, samples = self._samples(context)
        start = self._times(count, samples)[number - 1] if number > 0 else -math.inf
        doubled, tolerance = self._doubled(context), self._tolerance(float(context.get_time().real))
        on_this_side = doubled[(doubled > start + tolerance) if sign > 0.0 else (doubled <= start + tolerance)]
        if not len(on_this_side):
            return 1.0
        nearest = on_this_side.min() if sign > 0.0 else on_this_side.max()
        return float(sign * (nearest - self._delayed_time(context)))

    def end_of_step(self, context: Context) -> float:
        return float(context.get_time().real) + self._shortest


class PadeDelay(LinearSystem):
    """A rational approximation of a delay, for linear analysis: exp(-s delay) but for (s delay)^(2 order + 1).

    Args:
        delay: [s], positive.
        order: of numerator and denominator, at least 1 (Golub and Van Loan 2013, "Matrix Computations", section 9.3).
    """

    def __init__(self, delay: float, order: int = 3) -> None:
        T, q = checked_positive_period(delay, "PadeDelay: delay"), checked_size(order, "PadeDelay: order", 1)
        c = [1.0]
        for k in range(1, q + 1):
            c.append(c[-1] * (q - k + 1.0) / (k * (2.0 * q - k + 1.0)))
        # In the time s T: numerator sum of c_k (-s)^k, denominator sum of c_k s^k.
        from merganser.framework.primitives.transfer_functions import TransferFunction

        powers = np.array(c) * T ** np.arange(q + 1.0)
        signs = (-1.0) ** np.arange(q + 1)
        found = TransferFunction((signs * powers)[::-1], powers[::-1])
        super().__init__(found.A(), found.B(), found.C(), found.D())
