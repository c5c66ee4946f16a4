"""PiecewisePolynomials made from samples: the methods that make them, and the coefficients of their polynomials.

With h_i = t_(i+1) - t_i the length of segment i, y_i the sample at its start, d_i the slope there, m_i = (y_(i+1) -
y_i) / h_i and s = t - t_i, a cubic Hermite segment is

    y_i + d_i s + (3 m_i - 2 d_i - d_(i+1)) / h_i s^2 + (d_i + d_(i+1) - 2 m_i) / h_i^2 s^3,      (1)

and its second derivatives at both ends of segments agree (C. de Boor, 1978, "A Practical Guide to Splines", chapter
IV) where

    h_i d_(i-1) + 2 (h_(i-1) + h_i) d_i + h_(i-1) d_(i+1) = 3 (h_i m_(i-1) + h_(i-1) m_i).        (2)

Samples and slopes have shape [n + 1, rows, cols], coefficients shape [n, degree + 1, rows, cols], for n segments;
times have shape [n + 1]. All of them are floats or objects.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.math import inv
from merganser.framework.trajectories._scalars import Array, as_matrix, matrices_of, plain, scalar_of_list
from merganser.framework.trajectories.trajectory import EPSILON_TIME

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
        return _made(times, linear(times, y))

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
        slopes = shape_preserving_slopes(times, y, zero_end_point_derivatives)
        return _made(times, hermite(times, y, slopes))

    @staticmethod
    def CubicHermite(breaks: Sequence[Any], samples: Any, samples_dot: Any) -> PiecewisePolynomial:
        """Makes a trajectory of cubics with given first derivatives, `samples_dot`, at the breaks."""
        times, y = _checked("CubicHermite", breaks, samples)
        slopes = matrices_of(samples_dot, "CubicHermite: samples_dot")
        if slopes.shape != y.shape:
            raise RuntimeError(
                f"CubicHermite: samples_dot must be of the number and shape of samples, {y.shape}; got {slopes.shape}."
            )
        return _made(times, hermite(times, y, slopes))

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
            slopes = slopes_of_continuous_second_derivatives(times, y, ends)  # type: ignore[arg-type]
            return _made(times, hermite(times, y, slopes))
        last = "periodic_end" if "periodic_end" in kwargs else "periodic_end_condition"
        given = bind_overload(_SPLINE, ("breaks", "samples", last), {last: False}, args, kwargs)
        times, y = _checked(_SPLINE, given["breaks"], given["samples"], 3)
        slopes = slopes_of_continuous_second_derivatives(times, y, None, bool(given[last]))
        return _made(times, hermite(times, y, slopes))

    @staticmethod
    def LagrangeInterpolatingPolynomial(times: Sequence[Any], samples: Any) -> PiecewisePolynomial:
        """Makes the one polynomial of least degree through all samples, on a single segment."""
        checked, y = _checked("LagrangeInterpolatingPolynomial", times, samples)
        return _made([checked[0], checked[-1]], lagrange(checked, y))


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


_MANY = 100  # samples from which on most of the matrix of (2) is zeros


def linear(times: Sequence[Any], y: Array) -> Array:
    """Coefficients of straight lines from sample to sample."""
    return np.stack([y[:-1], np.diff(y, axis=0) / np.diff(_array(times))[:, np.newaxis, np.newaxis]], axis=1)


def hermite(times: Sequence[Any], y: Array, d: Array) -> Array:
    """Coefficients of cubics with given samples and slopes, by (1)."""
    h = np.diff(_array(times))[:, np.newaxis, np.newaxis]
    m = np.diff(y, axis=0) / h
    quadratic = (3.0 * m - 2.0 * d[:-1] - d[1:]) / h
    return np.stack([y[:-1], d[:-1], quadratic, (d[:-1] + d[1:] - 2.0 * m) / (h * h)], axis=1)


def shape_preserving_slopes(times: Sequence[Any], y: Array, zero_at_ends: bool) -> Array:
    """Slopes for cubics that are monotonic wherever the samples are.

    F. N. Fritsch and J. Butland, 1984, "A Method for Constructing Local Monotone Piecewise Cubic Interpolants",
    equation (5); at the ends, C. Moler, 2004, "Numerical Computing with Matlab", section 3.6.
    """
    h, m = np.diff(_array(times)), np.diff(y, axis=0) / np.diff(_array(times))[:, np.newaxis, np.newaxis]
    d = 0.0 * y
    for i in range(1, len(y) - 1):
        before, after = h[i] + 2.0 * h[i - 1], 2.0 * h[i] + h[i - 1]
        d[i] = _each(functools.partial(_weighted_harmonic_mean, p=after, q=before), m[i - 1], m[i])
    if not zero_at_ends:
        d[0] = _each(functools.partial(_slope_at_end, h0=h[0], h1=h[1]), m[0], m[1])
        d[-1] = _each(functools.partial(_slope_at_end, h0=h[-1], h1=h[-2]), m[-1], m[-2])
    return d


def slopes_of_continuous_second_derivatives(
    times: Sequence[Any], y: Array, ends: tuple[Array, Array] | None, periodic: bool = False
) -> Array:
    """Slopes for cubics with continuous second derivatives, by (2) and two conditions at the ends.

    Args:
        times, y: the samples.
        ends: the slopes at the start and at the end; or None.
        periodic: without given slopes, whether the slopes and second derivatives at both ends agree. Otherwise the
            third derivative is continuous at the breaks next to the ends; with three samples they lie on a parabola.
    """
    h, count = np.diff(_array(times)), len(y)
    m = np.diff(y, axis=0) / h[:, np.newaxis, np.newaxis]
    if ends is None and not periodic and count == 3:
        middle = (h[1] * m[0] + h[0] * m[1]) / (h[0] + h[1])
        return np.stack([2.0 * m[0] - middle, middle, 2.0 * m[1] - middle])
    right = 0.0 * y
    entries: list[tuple[int, int, Any]] = []
    for i in range(1, count - 1):  # (2)
        entries += [(i, i - 1, h[i]), (i, i, 2.0 * (h[i - 1] + h[i])), (i, i + 1, h[i - 1])]
        right[i] = 3.0 * (h[i] * m[i - 1] + h[i - 1] * m[i])
    last = count - 1
    if ends is not None:
        entries += [(0, 0, 1.0), (last, last, 1.0)]
        right[0], right[-1] = ends
    elif periodic:
        entries += [(0, 0, 1.0), (0, last, -1.0)]  # d_0 = d_n
        # The second derivatives of (1), of the first segment at its start and of the last one at its end, agree.
        entries += [(last, 0, 2.0 * h[-1]), (last, 1, h[-1]), (last, last - 1, h[0]), (last, last, 2.0 * h[0])]
        right[-1] = 3.0 * (h[-1] * m[0] + h[0] * m[-1])
    else:
        (first, second), right[0] = _not_a_knot(h[0], h[1], m[0], m[1])
        (final, before), right[-1] = _not_a_knot(h[-1], h[-2], m[-1], m[-2])
        entries += [(0, 0, first), (0, 1, second), (last, last, final), (last, last - 1, before)]
    if count > _MANY and object not in (h.dtype, right.dtype):
        return _solve_sparse(entries, right)
    M = np.zeros((count, count)) + 0.0 * h[0]
    for i, j, value in entries:
        M[i, j] += value
    return _solve(M, right)


def _solve_sparse(entries: list[tuple[int, int, float]], right: Array) -> Array:
    """The same as `_solve`; of 3000 numbers in 10 ms, not in 2 s."""
    from scipy.sparse import csc_matrix  # most programs need no sparse matrices
    from scipy.sparse.linalg import splu

    rows, columns, values = zip(*entries)
    M = csc_matrix((np.array(values, dtype=float), (rows, columns)), shape=(len(right), len(right)))
    found: Array = splu(M).solve(right.reshape(len(right), -1))
    return found.reshape(right.shape)


def lagrange(times: Sequence[Any], y: Array) -> Array:
    """Coefficients of the one polynomial of least degree through all samples, shape [1, n + 1, rows, cols]."""
    s = _array(times) - times[0]
    powers = np.stack([s**k if k else 0.0 * s + 1.0 for k in range(len(s))], axis=1)
    return _solve(powers, y)[np.newaxis]


def _not_a_knot(h0: Any, h1: Any, m0: Any, m1: Any) -> tuple[list[Any], Any]:
    """Factors of the slopes at an end and next to it, and the right-hand side (de Boor, chapter IV)."""
    return [h1, h0 + h1], ((h0 + 2.0 * (h0 + h1)) * h1 * m0 + h0 * h0 * m1) / (h0 + h1)


def _weighted_harmonic_mean(a: Any, b: Any, p: Any, q: Any) -> Any:
    """The mean with weights p of a and q of b, or zero where a and b do not have the same sign."""
    return (p + q) / (p / a + q / b) if plain(a) * plain(b) > 0.0 else 0.0


def _slope_at_end(m0: Any, m1: Any, h0: Any, h1: Any) -> Any:
    """The slope at an end from the mean slopes and lengths of the two segments there."""
    d = ((2.0 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    if plain(d) * plain(m0) <= 0.0:
        return 0.0 * d
    if plain(m0) * plain(m1) <= 0.0 and abs(plain(d)) > 3.0 * abs(plain(m0)):
        return 3.0 * m0
    return d


def _solve(M: Array, right: Array) -> Array:
    """X of M X = right; shapes [n, n] and [n, rows, cols]."""
    flat = right.reshape(len(right), -1)
    if M.dtype == object:
        with contextlib.suppress(RuntimeError):  # expressions of variables
            if not any(np.any(x.derivatives()) for x in M.ravel() if hasattr(x, "derivatives")):
                M = np.array([[plain(x) for x in row] for row in M])
    solution = np.linalg.solve(M, flat) if object not in (M.dtype, flat.dtype) else inv(M).dot(flat)
    return solution.reshape(right.shape)


def _each(function: Callable[[Any, Any], Any], a: Array, b: Array) -> Array:
    """function(a_ij, b_ij) of all elements."""
    values = [function(x, y) for x, y in zip(a.ravel().tolist(), b.ravel().tolist())]
    return np.array(values, dtype=a.dtype).reshape(a.shape)


def _array(times: Sequence[Any]) -> Array:
    if all(type(time) is float for time in times):
        return np.array(times)
    array = np.empty(len(times), dtype=object)
    array[:] = times
    return array
