"""Linear and affine dynamics whose coefficients change in time, in continuous or discrete time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.context import Context
from merganser.framework.core.element_functions import left_to_right_product
from merganser.framework.core.indices import kUseDefaultName
from merganser.framework.core.inside import use_native_derivatives, use_native_event
from merganser.framework.core.leaf_system import LeafSystem
from merganser.framework.core.native_code import (
    CONTINUOUS_STATE,
    OUTPUT,
    DiscreteStateOf,
    InputOf,
    NativeCode,
    NextDiscreteStateOf,
)
from merganser.framework.core.state import ContinuousState, DiscreteValues
from merganser.framework.core.values import BasicVector
from merganser.framework.primitives._arguments import checked_period
from merganser.framework.primitives._linear_state import LinearStateMethods
from merganser.framework.primitives._updatable_code import UpdatableCode
from merganser.framework.trajectories import PiecewisePolynomial, Trajectory

__all__ = ["TrajectoryAffineSystem", "TrajectoryLinearSystem"]

Array = NDArray[Any]


class TrajectoryAffineSystem(LinearStateMethods, LeafSystem):
    """Affine dynamics with coefficients that are trajectories.

    In continuous time (time_period = 0)

        dx/dt = A(t) x + B(t) u + f0(t),        y = C(t) x + D(t) u + y0(t),        (1)

    in discrete time, at t = n time_period,

        x[n+1] = A(t) x[n] + B(t) u[n] + f0(t),  y[n] = C(t) x[n] + D(t) u[n] + y0(t).  (2)

    The input port is u0 and the output port y0; either is missing if its size is zero.

    Args:
        A: shape [num_states, num_states].
        B: shape [num_states, num_inputs].
        f0: shape [num_states, 1].
        C: shape [num_outputs, num_states].
        D: shape [num_outputs, num_inputs].
        y0: shape [num_outputs, 1].
        time_period: time between two updates of a discrete-time system [s]; 0 for continuous time.

    Raises:
        TypeError: a coefficient is no Trajectory.
        ValueError: sizes do not fit together.
    """

    def __init__(
        self,
        A: Trajectory,
        B: Trajectory,
        f0: Trajectory,
        C: Trajectory,
        D: Trajectory,
        y0: Trajectory,
        time_period: float = 0.0,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        given = {"A": A, "B": B, "f0": f0, "C": C, "D": D, "y0": y0}
        for what, coefficient in given.items():
            if not isinstance(coefficient, Trajectory):
                raise TypeError(f"{name}: {what} must be a Trajectory, got {type(coefficient).__name__}.")
        n, m, p = A.rows(), B.cols(), C.rows()
        expected = {"A": (n, n), "B": (n, m), "f0": (n, 1), "C": (p, n), "D": (p, m), "y0": (p, 1)}
        for what, coefficient in given.items():
            shape = coefficient.rows(), coefficient.cols()
            if shape != expected[what]:
                raise ValueError(f"{name}: {what} must have shape {expected[what]}, got {shape}.")
        self._coefficients = {what: coefficient.Clone() for what, coefficient in given.items()}
        self._time_period = checked_period(time_period, f"{name}: time_period")
        self._configure_state(n)
        self._declare(n, m, p)

    def _declare(self, num_states: int, num_inputs: int, num_outputs: int) -> None:
        if num_inputs:
            self.DeclareVectorInputPort(kUseDefaultName, num_inputs)
        if num_states and self._time_period == 0.0:
            self.DeclareContinuousState(num_states)
            use_native_derivatives(self, UpdatableCode(self._native_derivatives), of=TrajectoryAffineSystem)
        elif num_states:
            self.DeclareDiscreteState(num_states)
            self.DeclarePeriodicDiscreteUpdateEvent(self._time_period, 0.0, self._update)
            use_native_event(self, UpdatableCode(self._native_update))
            self.DeclareForcedDiscreteUpdateEvent(self._update)
        if num_outputs:
            prerequisites = {self.time_ticket(), self.all_state_ticket(), self.all_input_ports_ticket()}
            port = self.DeclareVectorOutputPort(kUseDefaultName, num_outputs, self._calc_output, prerequisites)
            port.cache_entry().use_native(UpdatableCode(self._native_output))

    def A(self, t: Any) -> Array:
        """Returns A at time t, shape [num_states, num_states]."""
        return self._coefficients["A"].value(t)

    def B(self, t: Any) -> Array:
        """Returns B at time t, shape [num_states, num_inputs]."""
        return self._coefficients["B"].value(t)

    def f0(self, t: Any) -> Array:
        """Returns f0 at time t, shape [num_states]."""
        return self._coefficients["f0"].value(t)[:, 0]

    def C(self, t: Any) -> Array:
        """Returns C at time t, shape [num_outputs, num_states]."""
        return self._coefficients["C"].value(t)

    def D(self, t: Any) -> Array:
        """Returns D at time t, shape [num_outputs, num_inputs]."""
        return self._coefficients["D"].value(t)

    def y0(self, t: Any) -> Array:
        """Returns y0 at time t, shape [num_outputs]."""
        return self._coefficients["y0"].value(t)[:, 0]

    def DoCalcTimeDerivatives(self, context: Context, derivatives: ContinuousState) -> None:
        if len(self._default_state):
            derivatives.SetFromVector(self._next(context))  # (1)

    def _update(self, context: Context, discrete_state: DiscreteValues) -> None:
        discrete_state.set_value(0, self._next(context))  # (2)

    def _next(self, context: Context) -> Array:
        t = context.get_time()
        return self._affine(context, self.f0(t), self.A(t), self.B(t))

    def _calc_output(self, context: Context, output: BasicVector) -> None:
        t = context.get_time()
        output.SetFromVector(self._affine(context, self.y0(t), self.C(t), self.D(t)))

    def _native_derivatives(self) -> NativeCode | None:
        return self._native_code("f0", "A", "B", OUTPUT)

    def _native_update(self) -> NativeCode | None:
        return self._native_code("f0", "A", "B", NextDiscreteStateOf(0))

    def _native_output(self) -> NativeCode | None:
        return self._native_code("y0", "C", "D", OUTPUT)

    def _native_code(self, offset: str, by_state: str, by_input: str, target: Any) -> NativeCode | None:
        """What `_affine` computes as an operation, for trajectories that are made of numbers."""
        from merganser.framework.trajectories._native_program import Program, Unsupported  # loads numba

        program, places, sizes = Program(), [], []
        try:
            for name in (offset, by_state, by_input):
                r = self._coefficients[name]
                places.append(program.room(r.rows() * r.cols()))
                sizes.append(r.cols())
                if r.cols():
                    program.evaluate(r, 0, places[-1])
        except Unsupported:
            return None
        state = CONTINUOUS_STATE if self._time_period == 0.0 else DiscreteStateOf(0)
        products = (places[1], sizes[1], state if sizes[1] else 0), (places[2], sizes[2], InputOf(0) if sizes[2] else 0)
        program.affine_to_output(self._coefficients[offset].rows(), places[0], *products)
        return program.code(target)

    def _affine(self, context: Context, offset: Array, by_state: Array, by_input: Array) -> Array:
        result = offset
        if by_state.shape[1]:
            result = result + left_to_right_product(by_state, self._state_of(context))
        if by_input.shape[1]:
            u = self.get_input_port(0).EvalBasicVector(context).value()
            result = result + left_to_right_product(by_input, u)
        return result


class TrajectoryLinearSystem(TrajectoryAffineSystem):
    """Linear dynamics with coefficients that are trajectories: a TrajectoryAffineSystem without offsets.

    Args:
        A: shape [num_states, num_states].
        B: shape [num_states, num_inputs].
        C: shape [num_outputs, num_states].
        D: shape [num_outputs, num_inputs].
        time_period: time between two updates of a discrete-time system [s]; 0 for continuous time.

    Raises:
        TypeError: a coefficient is no Trajectory.
        ValueError: sizes do not fit together.
    """

    def __init__(self, A: Trajectory, B: Trajectory, C: Trajectory, D: Trajectory, time_period: float = 0.0) -> None:
        f0, y0 = (_zeros_like_rows_of(M) for M in (A, C))
        super().__init__(A, B, f0, C, D, y0, time_period)


def _zeros_like_rows_of(matrix: Trajectory) -> PiecewisePolynomial:
    """A constant column of zeros; empty if the argument is no Trajectory, which is refused later."""
    rows = matrix.rows() if isinstance(matrix, Trajectory) else 0
    return PiecewisePolynomial(np.zeros((rows, 1)))
