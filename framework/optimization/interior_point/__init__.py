"""A method for sparse nonlinear programs: primal-dual interior points with a filter line search."""

from merganser.framework.optimization.interior_point.problem import (
    NonlinearProblem,
    Progress,
    Result,
    Settings,
    Status,
)
from merganser.framework.optimization.interior_point.solve import solve

__all__ = ["NonlinearProblem", "Progress", "Result", "Settings", "Status", "solve"]
