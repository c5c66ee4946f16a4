"""The templates `Foo_` of the trajectories: `PiecewisePolynomial_[AutoDiffXd]`."""

from __future__ import annotations

from typing import Any

from merganser.framework.core.scalars.templates import ValueTemplate
from merganser.framework.trajectories.bezier_curve import BezierCurve
from merganser.framework.trajectories.bspline_trajectory import BsplineTrajectory
from merganser.framework.trajectories.composite_trajectory import CompositeTrajectory
from merganser.framework.trajectories.derivative_trajectory import DerivativeTrajectory
from merganser.framework.trajectories.discrete_time_trajectory import DiscreteTimeTrajectory
from merganser.framework.trajectories.exponential_plus_piecewise_polynomial import ExponentialPlusPiecewisePolynomial
from merganser.framework.trajectories.function_handle_trajectory import FunctionHandleTrajectory
from merganser.framework.trajectories.path_parameterized_trajectory import PathParameterizedTrajectory
from merganser.framework.trajectories.piecewise_polynomial import PiecewisePolynomial
from merganser.framework.trajectories.piecewise_pose import PiecewisePose
from merganser.framework.trajectories.piecewise_quaternion_slerp import PiecewiseQuaternionSlerp
from merganser.framework.trajectories.piecewise_trajectory import PiecewiseTrajectory
from merganser.framework.trajectories.polynomial import Polynomial
from merganser.framework.trajectories.stacked_trajectory import StackedTrajectory
from merganser.framework.trajectories.trajectory import Trajectory


def _scalar_of(thing: Any) -> Any:
    return thing._scalar_type()


def _template(cls: type[Any]) -> ValueTemplate:
    return ValueTemplate(cls, _scalar_of, lambda thing, T: thing._cast(T))


BezierCurve_ = _template(BezierCurve)
BsplineTrajectory_ = _template(BsplineTrajectory)
CompositeTrajectory_ = _template(CompositeTrajectory)
DerivativeTrajectory_ = _template(DerivativeTrajectory)
DiscreteTimeTrajectory_ = _template(DiscreteTimeTrajectory)
ExponentialPlusPiecewisePolynomial_ = ValueTemplate(ExponentialPlusPiecewisePolynomial, scalars=lambda: (float,))
FunctionHandleTrajectory_ = ValueTemplate(FunctionHandleTrajectory)  # a function computes with any scalars
PathParameterizedTrajectory_ = _template(PathParameterizedTrajectory)
PiecewisePolynomial_ = _template(PiecewisePolynomial)
PiecewisePose_ = _template(PiecewisePose)
PiecewiseQuaternionSlerp_ = _template(PiecewiseQuaternionSlerp)
PiecewiseTrajectory_ = ValueTemplate(PiecewiseTrajectory, _scalar_of)
Polynomial_ = _template(Polynomial)
StackedTrajectory_ = _template(StackedTrajectory)
Trajectory_ = ValueTemplate(Trajectory, _scalar_of)
