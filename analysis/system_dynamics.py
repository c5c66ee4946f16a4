"""The dynamics of a system as a function of state and input, with derivatives.

A Context of one system alone, for analyses that try out times, states and inputs.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, InputPort, InputPortSelection, PortDataType, System
from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.core.context.native_code import may_compile
from merganser.framework.core.inside import new_context
from merganser.framework.optimization.evaluators.evaluators import curvature_by_differences

Array = NDArray[np.float64]


def detached_context(system: System, context: Context) -> Context:
    """A new root Context of `system` with time, state, parameters and input values of `context`, which is not changed.

    Args:
        system: any system, also one inside of a Diagram.
        context: its context. Input ports that have a value there are fixed to it.
    """
    system.ValidateContext(context)
    copy = system.CreateDefaultContext()
    copy.SetTimeStateAndParametersFrom(context)
    copy.SetAccuracy(context.get_accuracy())
    system.FixInputPortsFrom(system, context, copy)
    return copy


def selected_input_port(system: System, index: Any, function: str) -> InputPort | None:
    """The vector input port for an index or an InputPortSelection; None for `kNoInput`.

    Args:
        system: whose port.
        index: of the port, or an InputPortSelection.
        function: who asks, for messages.

    Raises:
        IndexError: there is no such port.
        ValueError: it is abstract.
    """
    if index == InputPortSelection.kNoInput:
        return None
    if index == InputPortSelection.kUseFirstInputIfItExists:
        if system.num_input_ports() == 0:
            return None
        index = 0
    port = system.get_input_port(int(index))
    if port.get_data_type() is PortDataType.kAbstractValued:
        raise ValueError(f"{function}: {port.GetFullDescription()} is abstract; choose a vector port.")
    return port


def state_values(context: Context) -> Array:
    """A copy of the continuous state, or of all groups of the discrete state, one after the other."""
    count = context.num_discrete_state_groups()
    if not count:
        return context.get_continuous_state_vector().CopyToVector()
    return np.concatenate([context.get_discrete_state(i).CopyToVector() for i in range(count)])


def set_state_values(context: Context, x: Array) -> None:
    """Sets what state_values() returns."""
    count = context.num_discrete_state_groups()
    if not count:
        context.SetContinuousState(x)
    start = 0
    for i in range(count):
        size = context.get_discrete_state(i).size()
        context.SetDiscreteState(i, x[start : start + size])
        start += size


Linearized = tuple[Array, Array, Array]

_MOST_KEPT = 2_000  # points at which the dynamics are remembered
_POINTS_TO_LOAD = 1_000  # from then on it pays to load compiled code
_NUM_RECENT = 4  # sets of points, for which answers are kept
_NUM_TRIALS = 3  # points at which compiled code is compared with Python
_SAME = 1e-8  # numbers that are found in two ways


class SystemDynamics:
    """f(x, u): xdot of a system in continuous time, or the next state in discrete time; with df/dx and df/du.

    Neighbours in a transcription ask at the same points: values are kept.

    Args:
        system: with state of one kind; it must support AutoDiffXd.
        context: parameters, and the values of all other inputs, are taken over from it; it is not changed.
        input_port_index: which port u is, or an InputPortSelection.
        caller: who asks, for messages.

    Attributes:
        system: as given.
        num_states, num_inputs: sizes of x and u.
        is_discrete: whether f is the next state.

    Raises:
        ValueError: the port is abstract, or the context of another system.
        IndexError: there is no such port.
    """

    def __init__(self, system: System, context: Context, input_port_index: Any, caller: str) -> None:
        mine: Any = detached_context(system, context)
        port = selected_input_port(system, input_port_index, caller)
        self.system, self.is_discrete = system, mine.num_continuous_states() == 0
        self.num_inputs = 0 if port is None else port.size()
        self.num_states = (
            mine.get_discrete_state(0).size() if self.is_discrete else mine.get_continuous_state_vector().size()
        )
        self._given, self._port = mine, port
        self._closed_form = None if self.is_discrete else system._sys_linearized_dynamics(mine, port)
        if self._closed_form is None:
            self._differentiable  # noqa: B018  which is refused now, rather than by a solver
        self._known: dict[tuple[float, bytes], tuple[Array, Array]] = {}
        self._time = float(mine.get_time())
        self._tape: Any = None  # False if not available
        self._recent: dict[Any, tuple[Array, Array]] = {}  # what was found, by time and points
        self._num_points = 0

    def at(self, points: Array, time: float | None = None) -> Linearized:
        """f, df/dx and df/du at many [x; u], shapes [N, n + m] to [N, n], [N, n, n] and [N, n, m].

        Args:
            points: states and inputs.
            time: [s]; by default that of the context.

        Raises:
            RuntimeError: they are not finite.
        """
        time = self._time if time is None else time
        key = time, points.tobytes()
        if key not in self._recent:
            found = self._in_closed_form(points) or self._compiled(points, time) or self._in_python(points, time)
            self._check(points, *found)
            if len(self._recent) >= _NUM_RECENT:
                self._recent.pop(next(iter(self._recent)))
            self._recent[key] = found
        n, (values, slopes) = self.num_states, self._recent[key]
        return values, slopes[..., :n], slopes[..., n:]

    def curvature(self, points: Array, weights: Array) -> Array:
        """Second derivatives of weights . f by [x; u], shapes [N, n + m] and [N, n] to [N, n + m, n + m]."""
        return curvature_by_differences(lambda each: np.concatenate(self.at(each)[1:], axis=2), points, weights)

    def _check(self, points: Array, values: Array, slopes: Array) -> None:
        if not (np.isfinite(values).all() and np.isfinite(slopes).all()):
            n, is_right = self.num_states, np.isfinite(values).all(axis=1) & np.isfinite(slopes).all(axis=(1, 2))
            point = points[int(is_right.argmin())].tolist()
            raise RuntimeError(
                f"The dynamics of system '{self.system.GetSystemPathname()}' are not finite at the state "
                f"{point[:n]} with the input {point[n:]}."
            )

    def are_fast(self) -> bool:
        """Whether compiled code computes them, which is loaded if available."""
        if self._closed_form is None and self._tape is None and may_compile():
            points = np.random.default_rng(0).uniform(0.1, 1.0, (_NUM_TRIALS, self.num_states + self.num_inputs))
            with contextlib.suppress(ArithmeticError, RuntimeError, ValueError):  # not defined there
                self._tape = self._load(points, self._time) or False
        return self._closed_form is not None or bool(self._tape)

    def _in_closed_form(self, points: Array) -> tuple[Array, Array] | None:
        """That of a plant, and AutoDiffXd for points where this does not hold; None without."""
        if self._closed_form is None:
            return None
        found: tuple[Array, Array] | None = self._closed_form.at(points)
        if found is not None:
            return found
        each = [self._closed_form.at(points[k : k + 1]) for k in range(len(points))]
        parts = [found or self._in_python(points[k : k + 1], self._time) for k, found in enumerate(each)]
        return np.concatenate([values for values, _ in parts]), np.concatenate([slopes for _, slopes in parts])

    def _compiled(self, points: Array, time: float) -> tuple[Array, Array] | None:
        """By compiled code, if available, for enough points that loading it pays."""
        if self._tape is None and self._closed_form is None:
            self._num_points += len(points)
            if self._num_points > _POINTS_TO_LOAD and may_compile():
                self._tape = self._load(points, time) or False
        points = np.ascontiguousarray(points)
        return self._tape.slopes(time, points, self.num_states) if self._tape else None

    def _load(self, points: Array, time: float) -> Any:
        """Compiled code, if available, and if its slopes at some points are those of AutoDiffXd; else None.

        So it is where a function of a user's drops imaginary parts, as that of a complex number's modulus does.
        """
        from merganser.analysis.plan.model_tape import ModelTape  # loads numba

        context: Any = new_context(self.system, np.complex128)
        context.SetTimeStateAndParametersFrom(self._given)
        self.system.FixInputPortsFrom(self.system, self._given, context)
        fixed = None if self._port is None else self._port.FixValue(context, np.zeros(self.num_inputs))
        with contextlib.suppress(LookupError, TypeError):  # a function of a user's may not be compiled so
            tape = ModelTape(context, fixed, self.is_discrete)
            found = tape.slopes(time, np.ascontiguousarray(points), self.num_states)
            pairs = zip(found or (), self._in_python(points, time))
            if found is not None and all(np.allclose(*pair, rtol=_SAME, atol=_SAME) for pair in pairs):
                return tape
        return None

    def _in_python(self, points: Array, time: float) -> tuple[Array, Array]:
        found = []
        self._differentiable[1].SetTime(time)
        for point in points:
            key = time, point.tobytes()
            if key not in self._known:
                if len(self._known) >= _MOST_KEPT:
                    self._known.clear()
                self._known[key] = self._by_autodiff(point)
            found.append(self._known[key])
        return np.array([value for value, _ in found]), np.array([slopes for _, slopes in found])

    @functools.cached_property
    def _differentiable(self) -> tuple[System, Any, InputPort | None]:
        """The system of AutoDiffXd, its Context and its port; made only where no closed form serves."""
        system = self.system.ToAutoDiffXd()
        context = system.CreateDefaultContext()
        context.SetTimeStateAndParametersFrom(self._given)
        system.FixInputPortsFrom(self.system, self._given, context)
        return system, context, None if self._port is None else system.get_input_port(self._port.get_index())

    def _by_autodiff(self, point: Array) -> tuple[Array, Array]:
        n, seeded = self.num_states, InitializeAutoDiff(point).ravel()
        system, context, port = self._differentiable
        if port is not None:
            port.FixValue(context, seeded[n:])
        if self.is_discrete:
            context.SetDiscreteState(seeded[:n])
            f = system.EvalUniquePeriodicDiscreteUpdate(context).get_vector(0).CopyToVector()
        else:
            context.SetContinuousState(seeded[:n])
            f = system.EvalTimeDerivatives(context).CopyToVector()
        value, slopes = ExtractValue(f).ravel(), ExtractGradient(f)
        if not slopes.size:  # nothing depends on anything
            slopes = np.zeros((n, len(point)))
        return value, slopes
