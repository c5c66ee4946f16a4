"""Linear models between any two ports of a diagram, with feedback loops opened where one asks for it.

About an operating point, with the connections of some input ports cut, a diagram is

    [xdot; x_d after the updates of each rate; y; s] = J [x; v]                          (1)

where x consists of the continuous variables x_c and the discrete ones x_d, v are the values at the cut ports, and s
those of the output ports that were connected to them. A port that is not opened gets v = s + u, a disturbance u added
to its connection; with s = S_x x + S_v v from (1), and E for the columns of those ports,

    (I - E S_v) v = E S_x x + u                                                          (2)

A diagram with both kinds of state, or with several rates, repeats itself after the least common multiple T of its
periods. Its samples at k T, before the updates at that time, with inputs that are held in between, are those of the
discrete system whose matrices are a product: of I + (J_d - I) for the updates at one time, which all see the values
from before, and of exp([[A_c, A_cd, B], [0, 0, 0]] dt) for the time between two of them (the lifted system; Chen and
Francis 1995, "Optimal Sampled-Data Control Systems", chapter 8).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.simulation.exact_periods import exact_seconds
from merganser.framework import Context, InputPort, OutputPort, PortDataType, System
from merganser.framework.core.inside import diagram_around
from merganser.framework.primitives import LinearSystem, TransportDelay
from merganser.framework.primitives.linearization import Approximation, approximate

Array = NDArray[Any]
_MOST_INTERVALS = 10_000  # between updates, in one repetition of a system of several rates


def LinearizeBetween(
    system: System,
    context: Context,
    input_port: InputPort | None = None,
    output_port: OutputPort | None = None,
    open_loop_at: Iterable[InputPort] = (),
) -> LinearSystem:
    """Approximates what one port of a diagram does to another, about an operating point.

    The input u is a small signal that is added to what `input_port` is connected to; loops stay closed but for those
    through the ports of `open_loop_at`, which keep their values of the operating point.

    A system with continuous state gives xdot = A x + B u, one with discrete state of one period x[n+1] = A x[n] + B
    u[n]. A system with both, or with several periods, gives the discrete system of its samples (see above), with the
    least common multiple of the periods; u is held from one sample to the next.

    Args:
        system: a diagram or any system, without abstract state.
        context: the operating point, a context of `system`.
        input_port: a vector port of `system` or of a system inside it; by default the first of `system`.
        output_port: a vector port of `system` or of a system inside it; by default the first of `system`.
        open_loop_at: connected vector input ports.

    Returns:
        The linear system, in deviations from the operating point.

    Raises:
        ValueError: a port is not inside the system, is abstract, or has no connection to open.
        RuntimeError: the system cannot be linearized, or an algebraic loop has a gain of one.
    """
    for leaf in context.layout.leaves():
        if isinstance(leaf.system, TransportDelay):
            raise RuntimeError(
                f"System '{leaf.system.GetSystemPathname()}' is a delay, which no linear system with a finite state "
                f"has. Put PadeDelay({leaf.system.get_delay():g}) in its place for linear analysis."
            )
    u = _checked(system.get_input_port(0) if input_port is None else input_port)
    y = _checked(system.get_output_port(0) if output_port is None else output_port)
    opened = [_checked(port) for port in open_loop_at]
    sources = {port: _source_of(system, port) for port in [u, *opened]}
    for port in opened:
        if sources[port] is None:
            raise ValueError(f"{port.GetFullDescription()} is not connected; there is no loop to open at it.")
    cut = [u, *(port for port in opened if port is not u)]
    back = sources[u] if u not in opened else None
    found = approximate(system, context, cut, [y] if back is None else [y, back])
    n, m = len(found.x), u.size()
    J = found.jacobian[:, : n + m]
    if back is not None:
        S = J[-m:]
        J = J[:-m]
        try:
            v = np.linalg.solve(np.eye(m) - S[:, n:], np.hstack([S[:, :n], np.eye(m)]))  # (2)
        except np.linalg.LinAlgError as error:
            raise RuntimeError(
                f"The loop through {u.GetFullDescription()} has a direct gain of one; it has no solution."
            ) from error
        J = np.hstack([J[:, :n], np.zeros((len(J), m))]) + J[:, n:] @ v
    return _linear_system(found, J, n)


def OpenLoopAt(system: System, context: Context, port: InputPort) -> LinearSystem:
    """The loop gain L at an input port: the response that comes back around the loop, with its sign turned.

    The connection of the port is cut, a signal u is put in its place, and -L u arrives where the cut is. So the closed
    loop has its poles where 1 + L = 0, the usual form of negative feedback: margins and Nyquist plots are those of L.

    Args:
        system: a diagram.
        context: the operating point.
        port: a connected vector input port of a system inside the diagram.

    Raises:
        ValueError: the port is not connected.
        RuntimeError: the diagram cannot be linearized.
    """
    source = _source_of(system, _checked(port))
    if source is None:
        raise ValueError(f"{port.GetFullDescription()} is not connected; there is no loop to open at it.")
    loop = LinearizeBetween(system, context, port, source, open_loop_at=[port])
    return LinearSystem(loop.A(), loop.B(), -loop.C(), -loop.D(), loop.time_period())


def _checked(port: Any) -> Any:
    if not isinstance(port, InputPort | OutputPort):
        raise TypeError(f"Expected a port, got {type(port).__name__}; write system.get_input_port(i).")
    if port.get_data_type() is PortDataType.kAbstractValued:
        raise ValueError(f"{port.GetFullDescription()} is abstract; only vector ports can be linearized.")
    return port


def _source_of(system: System, port: InputPort) -> OutputPort | None:
    """The output port that an input port inside `system` is connected to; None for one that gets its value outside."""
    inner, index = port.get_system(), int(port.get_index())
    while inner is not system:
        diagram = diagram_around(inner)
        if diagram is None:
            raise ValueError(f"{port.GetFullDescription()} is not inside of system '{system.GetSystemPathname()}'.")
        wire = diagram.connection_map().get((inner, index))
        if wire is not None:
            source: OutputPort = wire[0].get_output_port(wire[1])
            return source
        exported = [i for i in range(diagram.num_input_ports()) if (inner, index) in diagram.GetInputPortLocators(i)]
        if not exported:
            return None
        inner, index = diagram, exported[0]
    return None


def _linear_system(found: Approximation, J: Array, n: int) -> LinearSystem:
    """The linear system with the derivatives J of derivatives, updates and outputs by [x; u].

    Discrete variables that no update changes, such as the memory of a relay, are constants.
    """
    first, m = found.num_continuous, J.shape[1] - n
    num_discrete = n - first
    updates = J[first : first + len(found.rates) * num_discrete].reshape(len(found.rates), num_discrete, n + m)
    is_updated = (updates != np.eye(n + m)[first:n]).any(axis=(0, 2))
    if not is_updated.all():
        kept = np.concatenate([np.arange(first), first + np.flatnonzero(is_updated), np.arange(n, n + m)])
        outputs = J[first + len(found.rates) * num_discrete :]
        rows = np.concatenate([J[:first], *(update[is_updated] for update in updates), outputs])
        return _linear_system(found, rows[:, kept], len(kept) - m)
    C, D = np.split(J[first + len(found.rates) * num_discrete :], [n], axis=1)
    if not found.rates:
        return LinearSystem(J[:n, :n], J[:n, n:], C, D, 0.0)
    if len(found.rates) == 1 and first == 0:
        return LinearSystem(J[:n, :n], J[:n, n:], C, D, found.rates[0][0])
    A, period = _lifted(found, J, n)
    return LinearSystem(A[:, :n], A[:, n:], C, D, period)


def _lifted(found: Approximation, J: Array, n: int) -> tuple[Array, float]:
    """The next sample of x as a function of [x; u], and the period [s]."""
    from scipy.linalg import expm

    num_continuous, size = found.num_continuous, J.shape[1]
    num_discrete = n - num_continuous
    rates = [(exact_seconds(period), exact_seconds(offset) % exact_seconds(period)) for period, offset in found.rates]
    total = Fraction(
        math.lcm(*(period.numerator for period, _ in rates)), math.gcd(*(period.denominator for period, _ in rates))
    )
    updates: dict[Fraction, Array] = {}
    for number, (period, offset) in enumerate(rates):
        if total / period > _MOST_INTERVALS:
            raise RuntimeError(
                f"The periods of the updates, {[float(period) for period, _ in rates]} s, have the least common "
                f"multiple {float(total)} s; that is too long. Choose periods that are multiples of each other."
            )
        start = num_continuous + number * num_discrete
        change = np.zeros((size, size))
        change[num_continuous:n] = J[start : start + num_discrete] - np.eye(size)[num_continuous:n]
        for k in range(int(total / period)):
            time = offset + k * period
            updates[time] = updates.get(time, np.eye(size)) + change
    rate = np.zeros((size, size))
    rate[:num_continuous] = J[:num_continuous]
    flows: dict[Fraction, Array] = {}
    result, now = np.eye(size), Fraction(0)
    for time in [*sorted(updates), total]:
        dt = time - now
        if dt:
            result = flows.setdefault(dt, expm(rate * float(dt))) @ result
        if time in updates:
            result = updates[time] @ result
        now = time
    return result[:n], float(total)
