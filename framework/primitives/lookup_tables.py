"""Look-up tables in one, two or more dimensions: nearest, linear or cubic, with exact derivatives.

In each cell of its grid a table is a polynomial in the distances from the cell's lower corner,

    y(s, t, ...) = sum over k, l, ... of c[cell, k, l, ...] s^k t^l ...,    k, l < p                 (1)

with p = 1 for the nearest point, 2 for linear and 4 for cubic interpolation. A cubic table is a tensor product of
not-a-knot splines (de Boor 1978, "A Practical Guide to Splines", chapters 4 and 17), twice differentiable; the others
have corners between cells, which steps of a simulation end at (piecewise.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.witness import WitnessFunction
from merganser.framework.primitives._arguments import checked_numbers, checked_vector
from merganser.framework.primitives.piecewise import PiecewiseBlock

Array = NDArray[Any]
_ORDERS = {"nearest": 1, "linear": 2, "cubic": 4}
_FAR = 1e300
_OUTSIDE = ("clip", "extrapolate", "error")


@native
def cell_of(u: Sequence[Array], breaks: Array, ends: Array, region: Array) -> None:
    """The number of the cell that the inputs are in, those of the last axis next to each other."""
    number, start = 0, 0
    for k in range(len(u)):
        count = ends[k] - start - 1
        low, high = 0, count
        while high - low > 1:
            middle = (low + high) // 2
            if u[k][0].real >= breaks[start + middle]:
                low = middle
            else:
                high = middle
        number, start = number * count + low, ends[k]
    for i in range(len(region)):
        region[i] = 1.0 * number


@native
def cell_margin(u: Sequence[Array], breaks: Array, ends: Array, region: Array, margin: Array) -> None:
    """The distance of the inputs from the nearest border to a neighbouring cell."""
    least, number = _FAR + 0.0 * u[0][0], int(region[0].real)
    for back in range(len(u)):
        k = len(u) - 1 - back
        start = ends[k - 1] if k > 0 else 0
        count = ends[k] - start - 1
        cell = number % count
        number = number // count
        if cell > 0 and (u[k][0] - breaks[start + cell]).real < least.real:
            least = u[k][0] - breaks[start + cell]
        if cell < count - 1 and (breaks[start + cell + 1] - u[k][0]).real < least.real:
            least = breaks[start + cell + 1] - u[k][0]
    for i in range(len(margin)):
        margin[i] = least


@native
def tabulated(
    u: Sequence[Array], breaks: Array, ends: Array, limits: Array, c: Array, p: int, region: Array, y: Array
) -> bool:
    """(1); returns whether an input is not a number, or outside of the limits."""
    d, number, num_terms = len(u), int(region[0].real), p ** len(u)
    for k in range(d):
        if not (limits[k, 0] <= u[k][0].real <= limits[k, 1]):
            return True
    for i in range(len(y)):
        y[i] = 0.0 * u[0][0]
    for term in range(num_terms):
        # The powers of this term, and the cell of each axis, are digits of two numbers.
        factor, powers, cells = 1.0 + 0.0 * u[0][0], term, number
        for back in range(d):
            k = d - 1 - back
            start = ends[k - 1] if k > 0 else 0
            count = ends[k] - start - 1
            s = u[k][0] - breaks[start + cells % count]
            for _ in range(powers % p):
                factor = factor * s
            powers, cells = powers // p, cells // count
        for i in range(len(y)):
            y[i] = y[i] + c[number * num_terms + term, i] * factor
    return False


class LookupTableND(PiecewiseBlock):
    """y = a table of the inputs u0, u1, ..., one for each axis of a grid; not for expressions.

    Args:
        axes: ascending points of each axis, shapes [N0], [N1], ...
        values: at the points of the grid, shape [N0, N1, ...], or [N0, N1, ..., m] for m outputs.
        method: "linear", "nearest" or "cubic".
        outside: of the grid: "clip" takes its border, "extrapolate" goes on as in the last cell, "error" raises an
            exception. The nearest point is a point of the grid in any case.

    Raises:
        ValueError: an axis is not ascending, values have another shape, or the method needs more points.
    """

    def __init__(
        self, axes: Sequence[ArrayLike], values: ArrayLike, method: str = "linear", outside: str = "clip"
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if method not in _ORDERS or outside not in _OUTSIDE:
            raise ValueError(
                f"{name}: method must be one of {list(_ORDERS)} and outside one of {list(_OUTSIDE)}; got {method!r} "
                f"and {outside!r}."
            )
        points = [_checked_axis(axis, f"{name}: axis {k}", _ORDERS[method]) for k, axis in enumerate(axes)]
        d, shape, c = len(points), tuple(len(axis) for axis in points), checked_numbers(values, f"{name}: values")
        c = c[..., np.newaxis] if c.shape == shape else c
        if d == 0 or c.shape[:-1] != shape:
            raise ValueError(f"{name}: values must have the shape {shape} or {(*shape, 'm')}, got {np.shape(values)}.")
        size, breaks = c.shape[-1], []
        for k, axis in enumerate(points):  # c: grid points or cells of each axis, powers of the axes before, outputs
            borders, found = _along(axis, np.moveaxis(c, k, 0), method, outside == "clip")
            breaks.append(borders)
            c = np.moveaxis(np.moveaxis(np.moveaxis(found, 0, -1), 0, k), -1, d + k)
        limits = [[axis[0], axis[-1]] if outside == "error" else [-_FAR, _FAR] for axis in points]
        self._limits = np.array(limits)
        u = [self.DeclareVectorInputPort(kUseDefaultName, 1) for _ in points]
        grid: dict[str, Any] = {"u": u, "breaks": np.concatenate(breaks), "ends": np.cumsum([len(b) for b in breaks])}
        law = tabulated.given(**grid, limits=self._limits, c=c.reshape(-1, size), p=_ORDERS[method])
        self._sys_is_piecewise = method != "cubic"  # which is smooth
        self._declare_law(size, cell_of.given(**grid), cell_margin.given(**grid), law.or_raise(self._explain))

    def DoGetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        return self._witnesses[:1] if self._sys_is_piecewise else []  # all elements have the same corners

    def _explain(self, context: Context) -> None:
        """Raises an exception for inputs that have no value."""
        where = f"System '{self.GetSystemPathname()}'"
        for k, (low, high) in enumerate(self._limits):
            value = self.get_input_port(k).Eval(context)[0]
            if not low <= value.real <= high:
                limits = f"outside of the table, from {low:g} to {high:g}" if high < _FAR else "not a finite number"
                raise ValueError(f"{where}: input port 'u{k}' is {value}, {limits}.")


class LookupTable1D(LookupTableND):
    """y = a table of the input u0; see LookupTableND.

    Args:
        x: ascending points, shape [N].
        y: values, shape [N], or [N, m] for m outputs.
        method, outside: see LookupTableND.
    """

    def __init__(self, x: ArrayLike, y: ArrayLike, method: str = "linear", outside: str = "clip") -> None:
        super().__init__([x], y, method, outside)


class LookupTable2D(LookupTableND):
    """z = a table of the inputs u0 and u1; see LookupTableND.

    Args:
        x, y: ascending points of the axes, shapes [N0] and [N1].
        z: values, shape [N0, N1], or [N0, N1, m] for m outputs.
        method, outside: see LookupTableND.
    """

    def __init__(
        self, x: ArrayLike, y: ArrayLike, z: ArrayLike, method: str = "linear", outside: str = "clip"
    ) -> None:
        super().__init__([x, y], z, method, outside)


def _checked_axis(values: ArrayLike, what: str, order: int) -> Array:
    axis = checked_vector(values, what)
    if len(axis) < max(2, order) or not np.isfinite(axis).all() or not (np.diff(axis) > 0.0).all():
        raise ValueError(f"{what} must have at least {max(2, order)} finite, ascending points; got {axis.tolist()}.")
    return axis


def _along(axis: Array, values: Array, method: str, is_clipped: bool) -> tuple[Array, Array]:
    """Borders of the cells of an axis, and coefficients along it, shape [p, cells, ...], from values [points, ...]."""
    if method == "nearest":
        return np.array([axis[0], *(0.5 * (axis[:-1] + axis[1:])), axis[-1]]), values[np.newaxis]
    if method == "linear":
        steps = np.diff(axis).reshape(-1, *[1] * (values.ndim - 1))
        c = np.stack([values[:-1], np.diff(values, axis=0) / steps])
    else:
        from scipy.interpolate import CubicSpline

        c = CubicSpline(axis, values, axis=0).c[::-1]
    if not is_clipped:
        return axis, c
    ends = np.zeros((len(c), 1, *values.shape[1:])), np.zeros((len(c), 1, *values.shape[1:]))
    ends[0][0, 0], ends[1][0, 0] = values[0], values[-1]
    return np.array([axis[0], *axis, axis[-1]]), np.concatenate([ends[0], c, ends[1]], axis=1)
