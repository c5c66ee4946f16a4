"""Motion along a planar path of lines and arcs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.trajectories import PiecewiseConstantCurvatureTrajectory
from merganser.multibody.kernels.mobilizers import curvilinear
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints.joint import PathSegment
from merganser.multibody.tree.joints.one_dof_joint import OneDofJoint
from merganser.multibody.tree.multibody_forces import MultibodyForces

if TYPE_CHECKING:
    from merganser.framework import Context


class CurvilinearJoint(OneDofJoint):
    """M moves in F along a path by the distance q [m]: X_FM(q) = curvilinear_path.CalcPose(q).

    Mx is the tangent of the path, Mz its normal. M need not coincide with F at q = 0.

    Args:
        name: unique among the joints of the child's model instance.
        frame_on_parent: F.
        frame_on_child: M.
        curvilinear_path: the path, which must have at least one segment.
        limits_and_damping: by position: (damping), (pos_lower_limit, pos_upper_limit), or all three.
        pos_lower_limit: lower limit of q [m]; by default where the path starts, or none if it is periodic.
        pos_upper_limit: upper limit of q [m]; by default where the path ends, or none if it is periodic.
        damping: viscous damping, not negative [N s/m].

    Raises:
        RuntimeError: if the damping is negative.
        ValueError: if the limits are NaN or out of order, or the path is empty.
        TypeError: if a frame is not a Frame, the path of another type, or there are too many arguments.
    """

    kTypeName = "curvilinear"
    kind = curvilinear.KIND

    def __init__(
        self,
        name: str,
        frame_on_parent: Frame,
        frame_on_child: Frame,
        curvilinear_path: PiecewiseConstantCurvatureTrajectory,
        *limits_and_damping: float,
        pos_lower_limit: float | None = None,
        pos_upper_limit: float | None = None,
        damping: float = 0.0,
    ) -> None:
        if not isinstance(curvilinear_path, PiecewiseConstantCurvatureTrajectory):
            raise TypeError(
                f"CurvilinearJoint({name!r}): the path must be a PiecewiseConstantCurvatureTrajectory, not a "
                f"{type(curvilinear_path).__name__}."
            )
        if curvilinear_path.get_number_of_segments() == 0:
            raise ValueError(f"CurvilinearJoint({name!r}): the path is empty; give it a segment.")
        if len(limits_and_damping) > 3:
            raise TypeError(f"CurvilinearJoint({name!r}): too many arguments after the path: {limits_and_damping}.")
        if len(limits_and_damping) in (1, 3):
            damping = limits_and_damping[-1]
        if len(limits_and_damping) >= 2:
            pos_lower_limit, pos_upper_limit = limits_and_damping[:2]
        ends = (-np.inf, np.inf) if curvilinear_path.is_periodic() else (0.0, curvilinear_path.length())
        lower = ends[0] if pos_lower_limit is None else pos_lower_limit
        upper = ends[1] if pos_upper_limit is None else pos_upper_limit
        # The velocity is along Mx; no kernel reads the axis of this kind of mobilizer.
        super().__init__(name, frame_on_parent, frame_on_child, (1.0, 0.0, 0.0), lower, upper, damping)
        self._path = curvilinear_path

    def _mobilizer_pitch(self) -> float:
        return self._path.length() if self._path.is_periodic() else 0.0

    def _mobilizer_path(self) -> list[PathSegment]:
        starts, rates = self._path.get_segment_times(), self._path.get_turning_rates()
        return [PathSegment(s, rate, self._path.CalcPose(s)) for s, rate in zip(starts, rates)]

    def get_trajectory(self) -> PiecewiseConstantCurvatureTrajectory:
        """Returns the path."""
        return self._path

    def get_default_distance(self) -> float:
        """Returns the distance that new Contexts start with [m]."""
        return float(self._default_positions[0])

    def set_default_distance(self, distance: float) -> None:
        """Sets the distance that new Contexts start with [m].

        Raises:
            ValueError: if it is not finite.
        """
        self.set_default_positions([distance])

    def set_random_distance_distribution(self, distance: Any) -> None:
        """Sets the distribution of the distance in random Contexts, as an expression."""
        self._set_random_positions("set_random_distance_distribution", distance)

    def get_distance(self, context: Context) -> Any:
        """Returns the distance along the path in the Context [m]."""
        return self._q(context)[0]

    def set_distance(self, context: Context, distance: Any) -> CurvilinearJoint:
        """Sets the distance along the path in the Context [m], and returns this joint."""
        self._set_q(context, distance)
        return self

    def get_tangential_velocity(self, context: Context) -> Any:
        """Returns the velocity along the path in the Context [m/s]."""
        return self._v(context)[0]

    def set_tangential_velocity(self, context: Context, tangential_velocity: Any) -> CurvilinearJoint:
        """Sets the velocity along the path in the Context [m/s], and returns this joint."""
        self._set_v(context, tangential_velocity)
        return self

    def AddInForce(self, context: Context, force: Any, forces: MultibodyForces) -> None:
        """Adds a force along the tangent of the path [N] to `forces`."""
        self.AddInOneForce(context, 0, force, forces)
