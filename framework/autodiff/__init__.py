"""Forward-mode automatic differentiation (pydrake.autodiffutils and pydrake.forwarddiff)."""

from merganser.framework.autodiff.matrices import (
    ExtractGradient,
    ExtractValue,
    InitializeAutoDiff,
    InitializeAutoDiffTuple,
    autodiff_equal_to,
    derivative,
    gradient,
    jacobian,
)
from merganser.framework.autodiff.scalar import AutoDiffXd

__all__ = [
    "AutoDiffXd",
    "ExtractGradient",
    "ExtractValue",
    "InitializeAutoDiff",
    "InitializeAutoDiffTuple",
    "autodiff_equal_to",
    "derivative",
    "gradient",
    "jacobian",
]
