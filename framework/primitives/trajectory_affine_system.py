"""Linear and affine dynamics whose coefficients change in time, in continuous or discrete time."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import NativeCode, UpdatableCode
from merganser.framework.core.declarations.native_function import NativeFunction
from merganser.framework.core.declarations.native_wires import MatrixOf, PartOf
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.values import BasicVector
from merganser.framework.primitives._arguments import checked_period
from merganser.framework.primitives.linear_system import LinearStateMethods, affine_function
from merganser.framework.trajectories import PiecewisePolynomial, Trajectory
from merganser.framework.trajectories._breaks import break_times

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
        self._breaks: tuple[float, ...] | None = None
        if n and self._time_period == 0.0:
            self._sys_breaks = self._break_times

    def _break_times(self) -> tuple[float, ...]:
        """When one of the coefficients is not smooth."""
        if self._breaks is None:
            times = {time for trajectory in self._coefficients.values() for time in break_times(trajectory)}
            self._breaks = tuple(sorted(times))
        return self._breaks

    def _declare(self, num_states: int, num_inputs: int, num_outputs: int) -> None:
        u = self.DeclareVectorInputPort(kUseDefaultName, num_inputs) if num_inputs else None
        x: Any = None
        if num_states and self._time_period == 0.0:
            x = self.DeclareContinuousState(num_states)
            self._sys_declare_derivatives(self._affine("f0", A=x, B=u), of=TrajectoryAffineSystem)  # (1)
        elif num_states:
            x = self.DeclareDiscreteState(num_states)
            update = self._affine("f0", A=x, B=u)  # (2)
            self.DeclarePeriodicDiscreteUpdateEvent(self._time_period, 0.0, update)
            self.DeclareForcedDiscreteUpdateEvent(update)
        if num_outputs:
            self.DeclareVectorOutputPort(kUseDefaultName, num_outputs, self._affine("y0", C=x, D=u))

    def _affine(self, offset: str, **vectors: Any) -> NativeFunction:
        """offset + M v + ..., for the names M of coefficients and vectors v, which may be None.

        A cache entry has the coefficients at the present time, one after the other, each row by row.
        """
        names = [offset, *(name for name, vector in vectors.items() if vector is not None)]
        trajectories = [self._coefficients[name] for name in names]
        shapes = [(r.rows(), r.cols()) for r in trajectories]
        ends = np.cumsum([0, *(rows * columns for rows, columns in shapes)]).tolist()
        calc, room = functools.partial(_calc_values, trajectories), BasicVector(np.zeros(ends[-1]))
        entry = self._sys_declare_entry(f"coefficients {', '.join(names)}", room, calc, {self.time_ticket()})
        entry.use_native(UpdatableCode(functools.partial(_code_of_values, trajectories)))
        parts = [PartOf(entry, begin, end - begin) for begin, end in itertools.pairwise(ends)]
        matrices = zip(names[1:], parts[1:], shapes[1:])
        return affine_function(parts[0], *((MatrixOf(part, shape), vectors[name]) for name, part, shape in matrices))

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


def _calc_values(trajectories: list[Trajectory], context: Context, output: BasicVector) -> None:
    t = context.get_time()
    output.SetFromVector(np.concatenate([r.value(t).reshape(-1) for r in trajectories]))


def _code_of_values(trajectories: list[Trajectory]) -> NativeCode | None:
    from merganser.framework.trajectories._native_program import code_of_values  # loads numba

    return code_of_values([(r, 0) for r in trajectories])
