"""Blocks without inputs: constants.

Sine: a sine wave with its first and second derivatives.

TrajectorySource: gives the value of a trajectory, and its derivatives, at the current time.

SharedPointerSystem: keeps an object alive for as long as the Diagram it is in.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import NativeCode, UpdatableCode
from merganser.framework.core.declarations.native_function import copy, native
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.scalars.copying import Shared
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.core.values.values import AbstractValue, BasicVector
from merganser.framework.math.element_functions import cos, sin
from merganser.framework.primitives._arguments import checked_size, checked_vector
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
