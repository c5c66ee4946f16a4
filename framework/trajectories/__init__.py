"""Trajectories: functions of a parameter, the names of pydrake.trajectories and pydrake.polynomial."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from merganser.framework.core.scalars.templates import ValueTemplate as _ValueTemplate
    from merganser.framework.trajectories.bezier_curve import (
        BezierCurve,
    )
    from merganser.framework.trajectories.bspline_trajectory import (
        BsplineTrajectory,
    )
    from merganser.framework.trajectories.composed_trajectories import (
        CompositeTrajectory,
        DerivativeTrajectory,
        ExponentialPlusPiecewisePolynomial,
        PathParameterizedTrajectory,
        StackedTrajectory,
    )
    from merganser.framework.trajectories.discrete_time_trajectory import (
        DiscreteTimeTrajectory,
    )
    from merganser.framework.trajectories.function_handle_trajectory import (
        FunctionHandleTrajectory,
    )
    from merganser.framework.trajectories.piecewise_constant_curvature_trajectory import (
        PiecewiseConstantCurvatureTrajectory,
    )
    from merganser.framework.trajectories.piecewise_polynomial import (
        PiecewisePolynomial,
    )
    from merganser.framework.trajectories.piecewise_pose import (
        PiecewisePose,
    )
    from merganser.framework.trajectories.piecewise_quaternion_slerp import (
        PiecewiseQuaternionSlerp,
    )
    from merganser.framework.trajectories.polynomial import (
        Polynomial,
        ToleranceType,
    )
    from merganser.framework.trajectories.trajectory import (
        PiecewiseTrajectory,
        Trajectory,
    )

    BezierCurve_ = _ValueTemplate(BezierCurve)
    BsplineTrajectory_ = _ValueTemplate(BsplineTrajectory)
    CompositeTrajectory_ = _ValueTemplate(CompositeTrajectory)
    DerivativeTrajectory_ = _ValueTemplate(DerivativeTrajectory)
    DiscreteTimeTrajectory_ = _ValueTemplate(DiscreteTimeTrajectory)
    ExponentialPlusPiecewisePolynomial_ = _ValueTemplate(ExponentialPlusPiecewisePolynomial, lambda: (float,))
    FunctionHandleTrajectory_ = _ValueTemplate(FunctionHandleTrajectory)
    PathParameterizedTrajectory_ = _ValueTemplate(PathParameterizedTrajectory)
    PiecewisePolynomial_ = _ValueTemplate(PiecewisePolynomial)
    PiecewisePose_ = _ValueTemplate(PiecewisePose)
    PiecewiseQuaternionSlerp_ = _ValueTemplate(PiecewiseQuaternionSlerp)
    PiecewiseTrajectory_ = _ValueTemplate(PiecewiseTrajectory)
    Polynomial_ = _ValueTemplate(Polynomial)
    StackedTrajectory_ = _ValueTemplate(StackedTrajectory)
    Trajectory_ = _ValueTemplate(Trajectory)
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "BezierCurve",
    "BezierCurve_",
    "BsplineTrajectory",
    "BsplineTrajectory_",
    "CompositeTrajectory",
    "CompositeTrajectory_",
    "DerivativeTrajectory",
    "DerivativeTrajectory_",
    "DiscreteTimeTrajectory",
    "DiscreteTimeTrajectory_",
    "ExponentialPlusPiecewisePolynomial",
    "ExponentialPlusPiecewisePolynomial_",
    "FunctionHandleTrajectory",
    "FunctionHandleTrajectory_",
    "PathParameterizedTrajectory",
    "PathParameterizedTrajectory_",
    "PiecewiseConstantCurvatureTrajectory",
    "PiecewisePolynomial",
    "PiecewisePolynomial_",
    "PiecewisePose",
    "PiecewisePose_",
    "PiecewiseQuaternionSlerp",
    "PiecewiseQuaternionSlerp_",
    "PiecewiseTrajectory",
    "PiecewiseTrajectory_",
    "Polynomial",
    "Polynomial_",
    "StackedTrajectory",
    "StackedTrajectory_",
    "ToleranceType",
    "Trajectory",
    "Trajectory_",
]
