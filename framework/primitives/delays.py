"""Delays in continuous time: exact ones, which remember their input, and rational approximations.

A TransportDelay keeps samples of its input and of its rate of change from both ends of each step of a simulation, and
interpolates between two of them by the cubic polynomial with these values and slopes (Hermite), so to the order of an
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
from merganser.framework.core.declarations.witness import WitnessFunction
from merganser.framework.core.inside import bind_in_place
from merganser.framework.native.compiler.kernels import device
from merganser.framework.primitives._arguments import checked_positive_period, checked_size, checked_vector
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
def sample_before(samples: Array, count: Array, delay: float, size: int, t: float, region: Array) -> None:
    """The number of the sample, counted from 1, after which the delayed time lies."""
    wanted = t.real - delay
    region[0] = float(num_until(samples, count, 1 + 2 * size, wanted + _SAME_TIME * (abs(wanted) + 2.0 * delay)))


@native
def past_value(
    samples: Array, count: Array, held: Array, initial: Array, delay: float, size: int, t: float, y: Array
) -> None:
    """The input of a moment ago, between two samples; before the first one, `initial`.

    Within steps, held[0] is 1 and held[1] the number of the sample, counted from 1, after which the step begins.
    """
    stride, wanted, n = 1 + 2 * size, t - delay, int(count[0].real)
    tolerance = _SAME_TIME * (abs(t.real) + delay)
    at, last, is_held, first = 0, n - 1, held[0].real > 0.5, int(held[1].real)
    if is_held:  # the interval that the step begins in, or a later one
        at = max(first - 1, 0)
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
def sample_added(now: Array, rate: Array, delay: float, size: int, t: float, memory: Array) -> bool:
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
        wanted = t.real - delay
        limit = wanted + _SAME_TIME * (abs(wanted) + 2.0 * delay)
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
def next_pair(samples: Array, count: Array, delay: float, size: int, t: float, end: Array) -> None:
    """When the first sample, or two samples of one time, come out again; the time after the delay if that is before."""
    stride, now, n = 1 + 2 * size, t.real, int(count[0].real)
    tolerance = _SAME_TIME * (abs(now) + 2.0 * delay)
    end[0] = now + delay
    for i in range(num_until(samples, count, stride, now - delay - tolerance), n):
        time = samples[i * stride].real
        if (i == 0 or samples[(i - 1) * stride].real == time) and time + delay > now + tolerance:
            end[0] = min(now + delay, time + delay)
            break


class TransportDelay(StepBlock):
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
        super().__init__()
        start, self._delay = checked_vector(initial, "TransportDelay: initial"), float(delay)
        checked_positive_period(delay, "TransportDelay: delay")
        n = start.size if size is None else checked_size(size, "TransportDelay: size", 1)
        if start.size not in (1, n):
            raise ValueError(f"TransportDelay: initial has {start.size} elements, expected {n} or one.")
        self._capacity, self._stride = checked_size(capacity, "TransportDelay: capacity", 4), 1 + 2 * n
        self._u = self.DeclareVectorInputPort(kUseDefaultName, n)
        memory = self.DeclareDiscreteState(1 + self._stride * self._capacity)
        samples, count = PartOf(memory, 1, self._stride * self._capacity), PartOf(memory, 0, 1)
        wires: dict[str, Any] = {"samples": samples, "count": count, "delay": self._delay, "size": n}
        self._declare_step(1, sample_before.given(**wires))
        self._sys_end_entry = self._entry("end of the step", 1, next_pair.given(**wires), {})
        moving, law = self._declare_rate(self._u), past_value.given(**wires, held=self._sys_held_index)
        added = sample_added.given(**moving, delay=self._delay, size=n).or_raise(self._refuse_sample)
        self._sys_row = self._stride
        self._sys_memory = [(memory, bind_in_place(self, "memory", added, memory))]
        self.DeclareVectorOutputPort(kUseDefaultName, n, law.given(initial=np.broadcast_to(start, n).copy()))

    def get_delay(self) -> float:
        """The delay [s]."""
        return self._delay

    def DoGetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        return []

    def _refuse_sample(self, context: Context) -> None:
        raise RuntimeError(
            f"System '{self.GetSystemPathname()}': more than {self._capacity} ends of steps fall into the delay of "
            f"{self._delay} s before time {context.get_time()} s. Make it with a larger `capacity`, or let steps be "
            "longer."
        )


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
