"""State estimators: the names of pydrake.systems.estimators, and two nonlinear Kalman filters of ours."""

from merganser.analysis.estimators.kalman_filter import ExtendedKalmanFilter, UnscentedKalmanFilter
from merganser.analysis.estimators.observer import (
    DiscreteTimeSteadyStateKalmanFilter,
    LuenbergerObserver,
    SteadyStateKalmanFilter,
)
from merganser.framework.core.scalars.templates import SystemTemplate as _SystemTemplate

LuenbergerObserver_ = _SystemTemplate(LuenbergerObserver)


__all__ = [
    "DiscreteTimeSteadyStateKalmanFilter",
    "ExtendedKalmanFilter",
    "LuenbergerObserver",
    "LuenbergerObserver_",
    "SteadyStateKalmanFilter",
    "UnscentedKalmanFilter",
]
