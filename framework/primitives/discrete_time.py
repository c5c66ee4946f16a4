"""Blocks that sum up and delay samples of a signal: DiscreteTimeIntegrator and DiscreteTimeDelay."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import copy, native
from merganser.framework.core.declarations.native_wires import PartOf
from merganser.framework.core.scalars.element_functions import elements, put
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.state import State
from merganser.framework.core.values.values import AbstractValue, Value
from merganser.framework.primitives._arguments import checked_positive_period, checked_size, checked_vector

__all__ = ["DiscreteTimeDelay", "DiscreteTimeIntegrator"]

Array = NDArray[Any]


@native
def euler_step(x: Array, h: float, u: Array, next_x: Array) -> None:
    """x[n+1] = x[n] + h u[n]."""
    for i in elements(next_x):
        next_x[i] = x[i] + h * u[i]


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
            # The samples stand in a ring, so that an update copies only one: this says which is the oldest.
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
