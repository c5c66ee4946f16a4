"""Velocities from samples of positions: DiscreteDerivative and StateInterpolatorWithDiscreteDerivative."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.diagram.diagram import Diagram
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.inside import scalar_of
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.scalars.templates import instantiate
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.state import State
from merganser.framework.primitives._arguments import checked_positive_period, checked_size, checked_vector
from merganser.framework.primitives.conditions import if_at_most
from merganser.framework.primitives.routing import Multiplexer

__all__ = ["DiscreteDerivative", "StateInterpolatorWithDiscreteDerivative"]

_LATEST, _BEFORE, _COUNT = range(3)  # discrete state groups
_ENOUGH_SAMPLES = 2.0

Array = NDArray[Any]


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
        """Sets the latest two samples, both to the same unless told otherwise; from then on nothing is suppressed.

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
