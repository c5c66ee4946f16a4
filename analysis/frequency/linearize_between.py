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

import dataclasses
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.simulation.exact_periods import exact_seconds
from merganser.framework import Context, InputPort, OutputPort, PortDataType, System
from merganser.framework.core.inside import system_behind
from merganser.framework.primitives import LinearSystem
from merganser.framework.primitives.delays import ExactDelay
from merganser.framework.primitives.linearization import Approximation, approximate, take_units

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
    for block, delay in _delays(context):
        raise RuntimeError(
            f"System '{block.GetSystemPathname()}' is a delay, which no linear system with a finite state has. "
            f"FrequencyResponse and OpenLoopAt take it; for a LinearSystem, put PadeDelay({delay:g}) in its place."
        )
    found = linearize_exactly(system, context, input_port, output_port, open_loop_at)
    assert isinstance(found, LinearSystem)
    return found


@dataclasses.dataclass(frozen=True, eq=False)
class LinearSystemWithDelays:
    """A linear system in continuous time, some of whose outputs come back as inputs after a delay.

    [y; z](s) = G(s) [u; w](s), w_i(t) = z_i(t - delays_i)

    Attributes:
        model: G, with the inputs [u; w] and the outputs [y; z].
        delays: [s], shape [q], q = size of w and of z.
    """

    model: LinearSystem
    delays: Array

    def num_inputs(self) -> int:
        """Size of u."""
        return self.model.num_inputs() - len(self.delays)

    def num_outputs(self) -> int:
        """Size of y."""
        return self.model.num_outputs() - len(self.delays)

    def time_period(self) -> float:
        """0, as it is in continuous time."""
        return 0.0


AnyLinearSystem = LinearSystem | LinearSystemWithDelays


def _delays(context: Context) -> list[tuple[ExactDelay, float]]:
    """The exact delays in a context, each with its present length [s]."""
    blocks = (leaf.system for leaf in context.layout.leaves() if isinstance(leaf.system, ExactDelay))
    return [(block, block.CalcDelay(context.part_of(block))) for block in blocks]


def linearize_exactly(
    system: System,
    context: Context,
    input_port: InputPort | None,
    output_port: InputPort | OutputPort | None,
    open_loop_at: Iterable[InputPort],
) -> AnyLinearSystem:
    """As LinearizeBetween, for systems with exact delays, too. The connections of their outputs are cut."""
    u = _checked(system.get_input_port(0) if input_port is None else input_port)
    y = _checked(system.get_output_port(0) if output_port is None else output_port)
    opened = [_checked(port) for port in open_loop_at]
    sources = {port: _source_of(system, port) for port in [u, *opened]}
    for port in opened:
        if sources[port] is None:
            raise ValueError(f"{port.GetFullDescription()} is not connected; there is no loop to open at it.")
    cut = [u, *(port for port in opened if port is not u)]
    back = sources[u] if u not in opened else None
    delays = _delays(context)
    fed = [[port for port in _fed_by(system, context, block) if port not in cut] for block, _ in delays]
    outputs = [y, *([] if back is None else [back]), *(block.get_input_port(0) for block, _ in delays)]
    found = approximate(system, context, [*cut, *(port for ports in fed for port in ports)], outputs)
    if delays and found.rates:
        raise RuntimeError(
            f"System '{delays[0][0].GetSystemPathname()}' is a delay in continuous time, and others update at samples; "
            "together they have no linear system of samples. Put PadeDelay or DiscreteTimeDelay in its place."
        )
    n, m, sizes = len(found.x), u.size(), [block.get_input_port(0).size() for block, _ in delays]
    J = np.hstack([found.jacobian[:, : n + m], *_columns_of_delays(found.jacobian, n, cut, fed, sizes)])
    # An output port of a delay gives what comes out of it.
    row = len(J) - sum(port.size() for port in outputs)
    for port in outputs[: 1 if back is None else 2]:
        for k, (block, _) in enumerate(delays):
            if isinstance(port, OutputPort) and system_behind(port) is block:
                J[row : row + sizes[k]] = np.eye(sizes[k], J.shape[1], n + m + sum(sizes[:k]))
        row += port.size()
    if back is not None:
        s = slice(len(J) - sum(sizes) - m, len(J) - sum(sizes))
        S, J = J[s], np.delete(J, s, axis=0)
        others = np.hstack([S[:, :n], np.eye(m), S[:, n + m :]])
        try:
            v = np.linalg.solve(np.eye(m) - S[:, n : n + m], others)  # (2)
        except np.linalg.LinAlgError as error:
            raise RuntimeError(
                f"The loop through {u.GetFullDescription()} has a direct gain of one; it has no solution."
            ) from error
        J_v = J[:, n : n + m].copy()
        J[:, n : n + m] = 0.0
        J = J + J_v @ v
    model = _linear_system(found, J, n)
    take_units(model, u, y)
    return LinearSystemWithDelays(model, np.repeat([delay for _, delay in delays], sizes)) if delays else model


def _fed_by(system: System, context: Context, block: System) -> list[InputPort]:
    """The vector input ports of leaf systems that get the output of a block."""
    ports = [port for leaf in context.layout.leaves() for port in leaf.system._sys_input_ports]
    sources = {port: _source_of(system, port) for port in ports}
    return [port for port, source in sources.items() if source and system_behind(source) is block]


def _columns_of_delays(
    jacobian: Array, n: int, cut: list[InputPort], fed: list[list[InputPort]], sizes: list[int]
) -> Iterator[Array]:
    """For each delay, the derivatives with respect to its output: the sum of those by the ports that it feeds."""
    start = n + sum(port.size() for port in cut)
    for ports, size in zip(fed, sizes):
        columns = np.split(jacobian[:, start : start + size * len(ports)], max(len(ports), 1), axis=1)
        yield np.sum(columns, axis=0) if ports else np.zeros((len(jacobian), size))
        start += size * len(ports)


def OpenLoopAt(system: System, context: Context, port: InputPort) -> AnyLinearSystem:
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
    loop = linearize_exactly(system, context, port, source, open_loop_at=[port])
    model = loop.model if isinstance(loop, LinearSystemWithDelays) else loop
    signs = np.ones((model.num_outputs(), 1))
    signs[: loop.num_outputs()] = -1.0
    turned = LinearSystem(model.A(), model.B(), signs * model.C(), signs * model.D(), model.time_period())
    return LinearSystemWithDelays(turned, loop.delays) if isinstance(loop, LinearSystemWithDelays) else turned


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
        diagram = inner._sys_parent
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
