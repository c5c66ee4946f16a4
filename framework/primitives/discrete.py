"""Blocks that sum up, limit and delay samples of a signal.

ZeroOrderHold: samples a signal periodically and keeps the sample.

Velocities from samples of positions: DiscreteDerivative and StateInterpolatorWithDiscreteDerivative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import copy, native
from merganser.framework.core.declarations.native_wires import PartOf
from merganser.framework.core.diagram.diagram import Diagram
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.inside import scalar_of
from merganser.framework.core.scalars.element_functions import elements, put
from merganser.framework.core.scalars.templates import instantiate
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.state import State
from merganser.framework.core.values.values import AbstractValue, Value
from merganser.framework.math.element_functions import clamp
from merganser.framework.primitives._arguments import (
    checked_period,
    checked_positive_period,
    checked_size,
    checked_vector,
    vectors_of_one_size,
)
from merganser.framework.primitives.native_parts import if_at_most
from merganser.framework.primitives.routing import Multiplexer

Array = NDArray[Any]


@native
def euler_step(x: Array, h: float, u: Array, next_x: Array) -> None:
    """x[n+1] = x[n] + h u[n]."""
    for i in elements(next_x):
        next_x[i] = x[i] + h * u[i]


@native
def limited_step(x: Array, rise: Array, fall: Array, u: Array, next_x: Array) -> None:
    """x[n+1] = u[n], but no more than `rise` above x[n], or `fall` below it."""
    for i in elements(next_x):
        next_x[i] = clamp(u[i], x[i] - fall[i], x[i] + rise[i])


@native
def shifted(later: Array, u: Array, next_x: Array) -> None:
    """x[n+1] = (x[n] but for the oldest sample, u[n])."""
    put(later, next_x, 0)
    put(u, next_x, len(later))


class DiscreteTimeIntegrator(LeafSystem):
    """Sums its input over time steps h, x[n+1] = x[n] + h u[n], y[n] = x[n]: Euler's method.

    The first update is at time 0. The sum is zero by default.

    Args:
        size: number of elements, at least one.
        time_step: h [s].

    Raises:
        ValueError: there are no elements, or the step is not positive.
    """

    def __init__(self, size: int, time_step: float) -> None:
        super().__init__()
        size = checked_size(size, "DiscreteTimeIntegrator: size", 1)
        self._time_step = checked_positive_period(time_step, "DiscreteTimeIntegrator: time_step")
        self._u = self.DeclareVectorInputPort("u", size)
        x = self.DeclareDiscreteState(size)
        self.DeclareStateOutputPort("y", x)
        update = euler_step.given(x=x, h=self._time_step, u=self._u)
        self.DeclarePeriodicDiscreteUpdateEvent(self._time_step, 0.0, update)

    def time_step(self) -> float:
        """Returns the time between two updates [s]."""
        return self._time_step

    def set_integral_value(self, context: Context, value: ArrayLike) -> None:
        """Sets the sum in a context, shape [size].

        Raises:
            ValueError: wrong size.
        """
        self.ValidateContext(context)
        vector = checked_vector(value, f"System '{self.GetSystemPathname()}': integral value")
        if vector.size != self._u.size():
            raise ValueError(
                f"System '{self.GetSystemPathname()}' has size {self._u.size()}; got {vector.size} elements."
            )
        context.SetDiscreteState(0, vector)


class DiscreteRateLimiter(LeafSystem):
    """Follows the samples of its input, but changes by no more than a rate times the time step h between samples:

        x[n+1] = min(max(u[n], x[n] - h falling), x[n] + h rising),  y[n] = x[n].

    The first update is at time 0.

    Args:
        rising, falling: limits [1/s], positive, one number or shape [n].
        time_step: h [s].
        initial: x before the first update, one number or shape [n].

    Raises:
        ValueError: a limit or the step is not positive, or sizes differ.
    """

    def __init__(self, rising: ArrayLike, falling: ArrayLike, time_step: float, initial: ArrayLike = 0.0) -> None:
        super().__init__()
        h = self._time_step = checked_positive_period(time_step, "DiscreteRateLimiter: time_step")
        up, down, start = vectors_of_one_size("DiscreteRateLimiter", rising=rising, falling=falling, initial=initial)
        if not ((up > 0.0).all() and (down > 0.0).all()):
            raise ValueError(f"DiscreteRateLimiter: limits must be positive, got {up.tolist()} and {down.tolist()}.")
        u, x = self.DeclareVectorInputPort("u", up.size), self.DeclareDiscreteState(start)
        self.DeclareStateOutputPort("y", x)
        update = limited_step.given(x=x, rise=h * up, fall=h * down, u=u)
        self.DeclarePeriodicDiscreteUpdateEvent(h, 0.0, update)

    def time_step(self) -> float:
        """Returns the time between two updates [s]."""
        return self._time_step


class DiscreteTimeDelay(LeafSystem):
    """Gives the sample that it took of its input a number of updates ago.

    With N = delay_time_steps, the state holds the latest N + 1 samples x0, x1, ..., xN, and an update drops the oldest:

        x[n+1] = (x1[n], ..., xN[n], u[n]),  delayed_u[n] = x0[n].

    The first update is at time 0. Before it there are N + 1 samples of zeros, or of the model value.

    Args:
        update_sec: time between two updates [s].
        delay_time_steps: N, at least zero.
        vector_size: number of elements; or a box with the initial abstract value (also as
            `abstract_model_value=`).

    Raises:
        ValueError: the time is not positive, or a number is negative.
    """

    def __init__(
        self,
        update_sec: float,
        delay_time_steps: int,
        vector_size: int | AbstractValue | None = None,
        *,
        abstract_model_value: AbstractValue | None = None,
    ) -> None:
        super().__init__()
        if (vector_size is None) == (abstract_model_value is None):
            raise TypeError("DiscreteTimeDelay takes either a vector_size or an abstract_model_value.")
        period = checked_positive_period(update_sec, "DiscreteTimeDelay: update_sec")
        self._num_samples = checked_size(delay_time_steps, "DiscreteTimeDelay: delay_time_steps") + 1
        model = vector_size if abstract_model_value is None else abstract_model_value
        if isinstance(model, AbstractValue):
            self._model = model.Clone()
            self._u = self.DeclareAbstractInputPort("u", model)
            for _ in range(self._num_samples):
                self.DeclareAbstractState(model)
            # The samples form a ring, so that an update copies only one; this is the index of the oldest.
            self._oldest = self.DeclareAbstractState(Value(0))
            self.DeclarePeriodicUnrestrictedUpdateEvent(period, 0.0, self._store_abstract)
            prerequisites = {self.xa_ticket()}
            self.DeclareAbstractOutputPort("delayed_u", self._model.Clone, self._copy_abstract, prerequisites)
            return
        size = checked_size(model, "DiscreteTimeDelay: vector_size")
        self._u = self.DeclareVectorInputPort("u", size)
        x = self.DeclareDiscreteState(self._num_samples * size)
        update = shifted.given(later=PartOf(x, size, (self._num_samples - 1) * size), u=self._u)
        self.DeclarePeriodicDiscreteUpdateEvent(period, 0.0, update)
        self.DeclareVectorOutputPort("delayed_u", size, copy.given(source=PartOf(x, 0, size)))

    def _store_abstract(self, context: Context, state: State) -> None:
        oldest = context.get_abstract_state(self._oldest).get_value()
        state.get_mutable_abstract_state(oldest).SetFrom(self._u.EvalAbstract(context))
        state.get_mutable_abstract_state(self._oldest).set_value((oldest + 1) % self._num_samples)

    def _copy_abstract(self, context: Context, output: AbstractValue) -> None:
        oldest = context.get_abstract_state(self._oldest).get_value()
        output.SetFrom(context.get_abstract_state(oldest))


class ZeroOrderHold(LeafSystem):
    """Gives the value that its input had at the latest sample time: y(t) = u(offset + k period).

    Its output does not depend on its input at the same instant, so that it breaks algebraic loops.

    Args:
        period_sec: time between two samples [s].
        vector_size: number of elements; or a box with the initial abstract value (also as
            `abstract_model_value=`).
        offset_sec: time of the first sample [s].
    """

    def __init__(
        self,
        period_sec: float,
        vector_size: int | AbstractValue | None = None,
        offset_sec: float = 0.0,
        *,
        abstract_model_value: AbstractValue | None = None,
    ) -> None:
        super().__init__()
        if (vector_size is None) == (abstract_model_value is None):
            raise TypeError("ZeroOrderHold takes either a vector_size or an abstract_model_value.")
        self._period = checked_period(period_sec, "ZeroOrderHold: period_sec")
        self._offset = checked_period(offset_sec, "ZeroOrderHold: offset_sec")
        if self._period == 0.0:
            raise ValueError("ZeroOrderHold: period_sec must be positive, got 0.")
        model = vector_size if abstract_model_value is None else abstract_model_value
        if isinstance(model, AbstractValue):
            self._u = self.DeclareAbstractInputPort("u", model)
            self.DeclareStateOutputPort("y", self.DeclareAbstractState(model))
            self.DeclarePeriodicUnrestrictedUpdateEvent(self._period, self._offset, self._latch_abstract)
        else:
            size = checked_size(model, "ZeroOrderHold: vector_size")
            self._u = self.DeclareVectorInputPort("u", size)
            self.DeclareStateOutputPort("y", self.DeclareDiscreteState(np.zeros(size)))
            self.DeclarePeriodicDiscreteUpdateEvent(self._period, self._offset, copy.given(source=self._u))

    def period(self) -> float:
        """Returns the time between two samples [s]."""
        return self._period

    def offset(self) -> float:
        """Returns the time of the first sample [s]."""
        return self._offset

    def SetVectorState(self, context: Context, value: ArrayLike) -> None:
        """Sets the sample that is being held in a context, for vector-valued holds.

        Raises:
            ValueError: wrong size.
        """
        self.ValidateContext(context)
        context.SetDiscreteState(0, value)

    def _latch_abstract(self, context: Context, state: State) -> None:
        state.get_mutable_abstract_state(0).SetFrom(self._u.EvalAbstract(context))


_LATEST, _BEFORE, _COUNT = range(3)  # discrete state groups
_ENOUGH_SAMPLES = 2.0


@native
def sampled(u: Array, xd0: Array, next_xd0: Array, next_xd1: Array) -> None:
    """x0[n+1] = u[n], x1[n+1] = x0[n]."""
    for i in elements(u):
        next_xd0[i] = u[i]
        next_xd1[i] = xd0[i]


@native
def sampled_and_counted(
    u: Array, xd0: Array, xd2: Array, next_xd0: Array, next_xd1: Array, next_xd2: Array
) -> None:
    """x0[n+1] = u[n], x1[n+1] = x0[n], x2[n+1] = x2[n] + 1."""
    for i in elements(u):
        next_xd0[i] = u[i]
        next_xd1[i] = xd0[i]
    next_xd2[0] = xd2[0] + 1.0


@native
def difference_quotient(xd0: Array, xd1: Array, h: float, dudt: Array) -> None:
    """dudt = (x0 - x1) / h."""
    for i in elements(dudt):
        dudt[i] = (xd0[i] - xd1[i]) / h


@native
def quotient_of_enough_samples(xd0: Array, xd1: Array, xd2: Array, h: float, dudt: Array) -> None:
    """dudt = (x0 - x1) / h, but 0 until two samples have been taken."""
    for i in elements(dudt):
        dudt[i] = if_at_most(_ENOUGH_SAMPLES, xd2[0], (xd0[i] - xd1[i]) / h, 0.0 * xd2[0])


class DiscreteDerivative(LeafSystem):
    """Divides the difference of the latest two samples of its input by the time h between them.

    The state is x0, the latest sample, x1, the one before, and x2, how many samples have been taken:

        x0[n+1] = u[n],  x1[n+1] = x0[n],  x2[n+1] = x2[n] + 1,  dudt = (x0 - x1) / h.

    Both samples are zero by default, so that the first derivatives say more about the start than about the signal;
    they are left at zero while x2 < 2. Without `suppress_initial_transient` there is no x2, and they are shown.
    The first sample is taken at time 0.

    Args:
        num_inputs: number of elements, at least one.
        time_step: h [s].
        suppress_initial_transient: whether to give zero until two samples have been taken.

    Raises:
        ValueError: there are no elements, or the step is not positive.
    """

    def __init__(self, num_inputs: int, time_step: float, suppress_initial_transient: bool = True) -> None:
        super().__init__()
        size = checked_size(num_inputs, "DiscreteDerivative: num_inputs", 1)
        self._time_step = checked_positive_period(time_step, "DiscreteDerivative: time_step")
        self._suppresses = bool(suppress_initial_transient)
        self._u = self.DeclareVectorInputPort("u", size)
        self.DeclareDiscreteState(size)
        self.DeclareDiscreteState(size)
        if self._suppresses:
            self.DeclareDiscreteState(1)
        calc = quotient_of_enough_samples if self._suppresses else difference_quotient
        self.DeclareVectorOutputPort("dudt", size, calc.given(h=self._time_step))
        update = sampled_and_counted if self._suppresses else sampled
        self.DeclarePeriodicDiscreteUpdateEvent(self._time_step, 0.0, update)
        self.DeclareForcedDiscreteUpdateEvent(update)

    def time_step(self) -> float:
        """Returns the time between two samples [s]."""
        return self._time_step

    def suppress_initial_transient(self) -> bool:
        """Returns whether the output is zero until two samples have been taken."""
        return self._suppresses

    def set_input_history(self, state: State | Context, u_n: ArrayLike, u_n_minus_1: ArrayLike | None = None) -> None:
        """Sets the latest two samples, both to `u_n` if only that is given; from then on nothing is suppressed.

        Args:
            state: of this system, or its context.
            u_n: the latest sample, shape [num_inputs].
            u_n_minus_1: the one before, shape [num_inputs].

        Raises:
            ValueError: wrong size.
        """
        if isinstance(state, Context):
            self.ValidateContext(state)
        latest = self._checked_sample(u_n)
        before = latest if u_n_minus_1 is None else self._checked_sample(u_n_minus_1)
        groups = state.get_mutable_discrete_state()
        groups.get_mutable_vector(_LATEST).SetFromVector(latest)
        groups.get_mutable_vector(_BEFORE).SetFromVector(before)
        if self._suppresses:
            groups.get_mutable_vector(_COUNT).SetFromVector([_ENOUGH_SAMPLES])

    def _checked_sample(self, value: ArrayLike) -> Array:
        sample = checked_vector(value, f"System '{self.GetSystemPathname()}': sample")
        if sample.size != self._u.size():
            raise ValueError(
                f"System '{self.GetSystemPathname()}' takes samples of {self._u.size()} elements; got {sample.size}."
            )
        return sample


class StateInterpolatorWithDiscreteDerivative(Diagram):
    """Gives positions, passed through, and velocities, estimated from them by a DiscreteDerivative, as one vector.

    Args:
        num_positions: number of elements of input port 'position'; output port 'state' has twice as many.
        time_step: time between two samples [s].
        suppress_initial_transient: whether velocities are zero until two samples have been taken.

    Raises:
        ValueError: there are no positions, or the step is not positive.
    """

    def __init__(self, num_positions: int, time_step: float, suppress_initial_transient: bool = True) -> None:
        super().__init__()
        T = scalar_of(self)
        builder = instantiate(DiagramBuilder, T)()
        derivative = instantiate(DiscreteDerivative, T)(num_positions, time_step, suppress_initial_transient)
        self._derivative = builder.AddSystem(derivative)
        state = builder.AddSystem(instantiate(Multiplexer, T)([num_positions, num_positions]))
        builder.ExportInput(derivative.get_input_port(), "position")
        builder.ConnectInput("position", state.get_input_port(0))
        builder.Connect(derivative.get_output_port(), state.get_input_port(1))
        builder.ExportOutput(state.get_output_port(), "state")
        builder.BuildInto(self)

    def suppress_initial_transient(self) -> bool:
        """Returns whether velocities are zero until two samples have been taken."""
        return self._derivative.suppress_initial_transient()

    def set_initial_position(
        self,
        context: Context | State | None = None,
        position: ArrayLike | None = None,
        *,
        state: State | None = None,
    ) -> None:
        """Sets the samples that velocities are estimated from to one position, for zero velocity at the start.

        Args:
            context: of this Diagram, or its state (also as `state=`).
            position: shape [num_positions].

        Raises:
            ValueError: wrong size.
        """
        target = context if state is None else state
        if target is None or position is None or (context is not None and state is not None):
            raise TypeError("set_initial_position takes (context, position) or (state, position).")
        if isinstance(target, Context):
            self.ValidateContext(target)
            target = self.GetMutableSubsystemContext(self._derivative, target)
        # Nothing else in here has state, so that the state of the Diagram is that of the derivative.
        self._derivative.set_input_history(target, position)
