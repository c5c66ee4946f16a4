"""The static methods that make a PiecewisePolynomial from samples."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.trajectories import _interpolation as interpolation
from merganser.framework.trajectories._scalars import Array, as_matrix, matrices_of, plain, scalar_of_list
from merganser.framework.trajectories.piecewise_trajectory import EPSILON_TIME

if TYPE_CHECKING:
    from merganser.framework.trajectories.piecewise_polynomial import PiecewisePolynomial

_SPLINE = "CubicWithContinuousSecondDerivatives"


class PiecewiseConstructors:
    """Ways to make a PiecewisePolynomial.

    Each takes breaks, increasing, shape [n + 1], and samples there: a list of n + 1 matrices of the same shape, or a
    matrix whose columns are the samples. Each raises a RuntimeError if there are not as many samples as breaks, too few
    for the method, or breaks do not increase.
    """

    @staticmethod
    def ZeroOrderHold(breaks: Sequence[Any], samples: Any) -> PiecewisePolynomial:
        """Makes the trajectory that keeps each sample until the next break; the last one is not used."""
        times, y = _checked("ZeroOrderHold", breaks, samples)
        return _made(times, y[:-1, None].copy())

    @staticmethod
    def FirstOrderHold(breaks: Sequence[Any], samples: Any) -> PiecewisePolynomial:
        """Makes the trajectory of straight lines from sample to sample."""
        times, y = _checked("FirstOrderHold", breaks, samples)
        return _made(times, interpolation.linear(times, y))

    @staticmethod
    def CubicShapePreserving(
        breaks: Sequence[Any], samples: Any, zero_end_point_derivatives: bool = False
    ) -> PiecewisePolynomial:
        """Makes a trajectory of cubics that is monotonic where the samples are; Matlab calls it pchip.

        Args:
            breaks, samples: at least three, or two if the end point derivatives are zero.
            zero_end_point_derivatives: whether the first derivatives at both ends are zero, rather than those of a
                parabola through three samples, within limits.
        """
        times, y = _checked("CubicShapePreserving", breaks, samples, 2 if zero_end_point_derivatives else 3)
        slopes = interpolation.shape_preserving_slopes(times, y, zero_end_point_derivatives)
        return _made(times, interpolation.hermite(times, y, slopes))

    @staticmethod
    def CubicHermite(breaks: Sequence[Any], samples: Any, samples_dot: Any) -> PiecewisePolynomial:
        """Makes a trajectory of cubics with given first derivatives, `samples_dot`, at the breaks."""
        times, y = _checked("CubicHermite", breaks, samples)
        slopes = matrices_of(samples_dot, "CubicHermite: samples_dot")
        if slopes.shape != y.shape:
            raise RuntimeError(
                f"CubicHermite: samples_dot must be of the number and shape of samples, {y.shape}; got {slopes.shape}."
            )
        return _made(times, interpolation.hermite(times, y, slopes))

    @staticmethod
    def CubicWithContinuousSecondDerivatives(*args: Any, **kwargs: Any) -> PiecewisePolynomial:
        """Makes a trajectory of cubics with continuous first and second derivatives.

        Called with one of

            (breaks, samples, sample_dot_at_start, sample_dot_at_end)
            (breaks, samples, periodic_end_condition=False)

        where the first one gives the first derivatives at both ends, shape [rows, cols]. With the second one, third
        derivatives are continuous at the breaks next to the ends; or, if periodic, first and second derivatives are
        the same at both ends, though the values may differ. It takes at least three samples. The last argument may
        also be called `periodic_end`.

        Raises:
            RuntimeError: breaks and samples do not go together, or a derivative has another shape.
        """
        if len(args) > 3 or {"sample_dot_at_start", "sample_dot_at_end"} & kwargs.keys():
            names = ("breaks", "samples", "sample_dot_at_start", "sample_dot_at_end")
            given = bind_overload(_SPLINE, names, {}, args, kwargs)
            times, y = _checked(_SPLINE, given["breaks"], given["samples"])
            ends = tuple(_end_slope(given, name, y) for name in names[2:])
            slopes = interpolation.slopes_of_continuous_second_derivatives(times, y, ends)  # type: ignore[arg-type]
            return _made(times, interpolation.hermite(times, y, slopes))
        last = "periodic_end" if "periodic_end" in kwargs else "periodic_end_condition"
        given = bind_overload(_SPLINE, ("breaks", "samples", last), {last: False}, args, kwargs)
        times, y = _checked(_SPLINE, given["breaks"], given["samples"], 3)
        slopes = interpolation.slopes_of_continuous_second_derivatives(times, y, None, bool(given[last]))
        return _made(times, interpolation.hermite(times, y, slopes))

    @staticmethod
    def LagrangeInterpolatingPolynomial(times: Sequence[Any], samples: Any) -> PiecewisePolynomial:
        """Makes the one polynomial of least degree through all samples, on a single segment."""
        checked, y = _checked("LagrangeInterpolatingPolynomial", times, samples)
        return _made([checked[0], checked[-1]], interpolation.lagrange(checked, y))


def _made(times: list[Any], coefficients: Array) -> PiecewisePolynomial:
    from merganser.framework.trajectories.piecewise_polynomial import PiecewisePolynomial  # derived from this module

    return PiecewisePolynomial._of(times, coefficients)


def _checked(method: str, breaks: Sequence[Any], samples: Any, at_least: int = 2) -> tuple[list[Any], Array]:
    """Breaks and samples, shape [n + 1, rows, cols]."""
    y = matrices_of(samples, f"{method}: samples")
    times = list(breaks)
    numbers = [plain(time) for time in times]
    if scalar_of_list(times) is float:
        times = numbers
    if len(times) != len(y):
        raise RuntimeError(f"{method}: there must be as many samples as breaks; got {len(y)} and {len(times)}.")
    if len(times) < at_least:
        raise RuntimeError(f"{method}: this takes at least {at_least} samples, got {len(times)}.")
    for before, after in itertools.pairwise(numbers):
        if not after - before >= EPSILON_TIME:
            raise RuntimeError(
                f"{method}: breaks must increase, by at least {EPSILON_TIME} each; {after} follows {before}."
            )
    return times, y


def _end_slope(given: dict[str, Any], name: str, y: Array) -> Array:
    slope = as_matrix(given[name], f"{_SPLINE}: {name}")
    if slope.shape != y.shape[1:]:
        raise RuntimeError(f"{_SPLINE}: samples have shape {y.shape[1:]}, but {name} has shape {slope.shape}.")
    return slope
