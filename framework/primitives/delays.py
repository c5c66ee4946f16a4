"""Delays in continuous time: exact ones, which remember their input, and rational approximations.

Exact delays keep samples of their input and of its rate of change from both ends of each step of a simulation, and
interpolate between two of them by the cubic polynomial with these values and slopes (Hermite), so to the order of an
integrator of third order. Where the input jumps or has a corner there are two samples at one time. Steps are no longer
than the delay, so that all samples that a step needs are there when it begins, and end where such a pair comes out
again: so jumps and corners are handed on from one delay to the next without being smeared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.native_wires import PartOf
from merganser.framework.core.declarations.witness import ElementOf, WitnessFunction, WitnessFunctionDirection
from merganser.framework.core.inside import bind_in_place
from merganser.framework.native.compiler.kernels import device
from merganser.framework.primitives._arguments import checked_positive_period, checked_size, checked_vector
from merganser.framework.primitives.arithmetic import saturated
from merganser.framework.primitives.linear_system import LinearSystem
from merganser.framework.primitives.piecewise import StepBlock

Array = NDArray[Any]
_SAME_TIME = 1024.0 * 2.0**-52  # times that differ by this share of their size are one
_SAME_SLOPE = 1e-5  # slopes that differ by this share of the larger one are those of a smooth signal


@device
def num_until(samples: Any, count: Any, stride: int, limit: float) -> int:
    """How many of the samples are at a time [s] or before it."""
    low, high = 0, int(count[0].real)
    while low < high:
        middle = (low + high) // 2
        if samples[middle * stride].real <= limit:
            low = middle + 1
        else:
            high = middle
    return low


@native
def sample_before(
    samples: Array, count: Array, delay: Array, longest: float, size: int, t: float, region: Array
) -> None:
    """The number of the sample, counted from 1, after which the delayed time lies."""
    wanted = t.real - delay[0].real
    region[0] = float(num_until(samples, count, 1 + 2 * size, wanted + _SAME_TIME * (abs(wanted) + 2.0 * longest)))


@native
def past_value(
    samples: Array,
    count: Array,
    held: Array,
    initial: Array,
    delay: Array,
    longest: float,
    size: int,
    t: float,
    y: Array,
) -> None:
    """The input of a moment ago, between two samples; before the first one, `initial`.

    Within steps, held[0] is 1 and held[1] the number of the sample, counted from 1, after which the step begins.
    """
    stride, wanted, n = 1 + 2 * size, t - delay[0], int(count[0].real)
    tolerance = _SAME_TIME * (abs(t.real) + longest)
    at, last, is_held, first = 0, n - 1, held[0].real > 0.5, int(held[1].real)
    if is_held:  # the interval that the step begins in, or another one
        at = max(first - 1, 0)
        while at > 0 and samples[at * stride].real > wanted.real + tolerance:  # the delay grows faster than the time
            at -= 1
        while first > 0 and at < last - 1 and samples[(at + 1) * stride].real < wanted.real - tolerance:
            at += 1
    else:
        while at < last and samples[(at + 1) * stride].real <= wanted.real + tolerance:
            at += 1
    before = n == 0 or (is_held and first == 0) or (at == 0 and wanted.real < samples[0].real - tolerance)
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


@native
def sample_added(now: Array, rate: Array, longest: float, size: int, t: float, memory: Array) -> bool:
    """Adds a sample, unless the last one is the same; returns whether there is no room for it.

    memory[0] is the number of samples, which follow: time, values, slopes.
    """
    stride, n = 1 + 2 * size, int(memory[0].real)
    capacity = (len(memory) - 1) // stride
    last = 1 + (n - 1) * stride
    is_known = n > 0 and memory[last].real == t.real
    for i in range(size):
        if is_known:
            slope = memory[last + 1 + size + i].real
            near = _SAME_SLOPE * max(abs(rate[i].real), abs(slope))
            is_known = memory[last + 1 + i] == now[i] and abs(rate[i].real - slope) <= near
    if is_known:
        return False
    if n == capacity:
        wanted = t.real - longest
        limit = wanted + _SAME_TIME * (abs(wanted) + 2.0 * longest)
        first = num_until(memory[1:], memory, stride, limit) - 2
        if first <= 0:
            return True
        for k in range(1, 1 + (n - first) * stride):
            memory[k] = memory[k + first * stride]
        n -= first
    new = 1 + n * stride
    memory[new] = t
    for i in range(size):
        memory[new + 1 + i], memory[new + 1 + size + i] = now[i], rate[i]
    memory[0] = n + 1.0
    return False


@native
def next_pair(samples: Array, count: Array, longest: float, size: int, t: float, end: Array) -> None:
    """When the first sample, or two samples of one time, come out again; the time after the delay if that is before."""
    stride, now, n = 1 + 2 * size, t.real, int(count[0].real)
    tolerance = _SAME_TIME * (abs(now) + 2.0 * longest)
    end[0] = now + longest
    for i in range(num_until(samples, count, stride, now - longest - tolerance), n):
        time = samples[i * stride].real
        if (i == 0 or samples[(i - 1) * stride].real == time) and time + longest > now + tolerance:
            end[0] = min(now + longest, time + longest)
            break


@native
def after_shortest(shortest: float, t: float, end: Array) -> None:
    """The time after the shortest delay."""
    end[0] = t.real + shortest


@native
def distances_to_pairs(
    samples: Array, count: Array, held: Array, delay: Array, longest: float, size: int, t: float, margin: Array
) -> None:
    """How far the delayed time is from the jumps or corners of the input after and before where the step begins [s].

    Such are the first sample, and two samples of one time.
    """
    stride, wanted, n = 1 + 2 * size, t - delay[0], int(count[0].real)
    tolerance, first = _SAME_TIME * (abs(t.real) + 2.0 * longest), int(held[1].real)
    margin[0] = margin[1] = 1.0 + 0.0 * t
    is_found = False
    for i in range(n):
        time = samples[i * stride]
        is_before = held[0].real > 0.5 and first > 0 and time.real <= samples[(first - 1) * stride].real + tolerance
        if i == 0 or samples[(i - 1) * stride].real == time.real:
            if is_before:
                margin[1] = wanted - time
            elif not is_found:
                margin[0], is_found = time - wanted, True


class ExactDelay(StepBlock):
    """Base of exact delays: the samples, and what is done with them at both ends of each step.

    A derived class calls `_declare_delayed`, and has `CalcDelay`.

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

    def _declare_delayed(self, delay: Any) -> dict[str, Any]:
        """Declares the output port for a delay [s], shape [1], or the wire of it; returns wires to the samples."""
        n = self._u.size()
        memory = self.DeclareDiscreteState(1 + self._stride * self._capacity)
        samples, count = PartOf(memory, 1, self._stride * self._capacity), PartOf(memory, 0, 1)
        wires: dict[str, Any] = {"samples": samples, "count": count, "longest": self._longest, "size": n}
        self._declare_step(1, sample_before.given(**wires, delay=delay))
        moving = self._declare_rate(self._u)
        added = sample_added.given(**moving, longest=self._longest, size=n).or_raise(self._refuse_sample)
        self._sys_row = self._stride
        self._sys_memory = [(memory, bind_in_place(self, "memory", added, memory))]
        law = past_value.given(**wires, delay=delay, held=self._sys_held_index, initial=self._initial)
        self.DeclareVectorOutputPort(kUseDefaultName, n, law)
        return wires

    def CalcDelay(self, context: Context) -> float:
        """The present delay [s]."""
        raise NotImplementedError

    def DoGetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        return []

    def _refuse_sample(self, context: Context) -> None:
        raise RuntimeError(
            f"System '{self.GetSystemPathname()}': more than {self._capacity} ends of steps fall into the delay of "
            f"{self._longest} s before time {context.get_time()} s. Make it with a larger `capacity`, or let steps be "
            "longer."
        )


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
        wires = self._declare_delayed(np.array([self._longest]))
        self._sys_end_entry = self._entry("end of the step", 1, next_pair.given(**wires), {})

    def get_delay(self) -> float:
        """The delay [s]."""
        return self._longest

    def CalcDelay(self, context: Context) -> float:
        return self._longest


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
        u = self.DeclareVectorInputPort("delay", 1)
        self._limited = self._entry("delay", 1, saturated.given(u=u, low=np.array([low]), high=np.array([high])), {})
        wires = self._declare_delayed(self._limited)
        self._sys_end_entry = self._entry("end of the step", 1, after_shortest.given(shortest=low), {})
        near = distances_to_pairs.given(**wires, delay=self._limited, held=self._sys_held_index)
        margins = self._entry("margins", 2, near, {})
        self._sys_margin_entries = [margins]
        direction = WitnessFunctionDirection.kPositiveThenNonPositive
        self._witnesses = [
            self.MakeWitnessFunction(f"corner {place}", direction, ElementOf(margins, i))
            for i, place in enumerate(("ahead", "behind"))
        ]

    def CalcDelay(self, context: Context) -> float:
        return float(self._limited.Eval(context).GetAtIndex(0).real)

    def DoGetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        return self._witnesses


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
