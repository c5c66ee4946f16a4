"""TrajectorySource: gives the value of a trajectory, and its derivatives, at the current time."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import NativeCode
from merganser.framework.core.inside import declare_breaks
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.arguments import checked_size
from merganser.framework.core.values.values import BasicVector
from merganser.framework.primitives._updatable_code import UpdatableCode
from merganser.framework.trajectories import Trajectory
from merganser.framework.trajectories._breaks import break_times
from merganser.framework.trajectories._scalars import plain

__all__ = ["TrajectorySource"]


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
        declare_breaks(self, self._break_times)
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
