"""A function of AutoDiffXd at many points in one call: each scalar has its values and derivatives at all of them.

    x at N points:  values [N], derivatives [p, N]           sums, products and functions act on arrays of numpy

So a Python function costs one call for all points, as long as what it computes does not depend on values. Where it
compares scalars, asks for a value, or gives them to a plant, there is no common answer: the points need a call each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from merganser.framework.autodiff.scalar import _NUMBER, AutoDiffXd
from merganser.framework.math.elementary import ELEMENTARY

Array = npt.NDArray[np.float64]
_SAME = 1e-9  # numbers that are found in two ways

_OF_ARRAYS = SimpleNamespace(
    reciprocal=lambda x: 1.0 / x, **{name: getattr(np, each.method) for name, each in ELEMENTARY.items()}
)


class _NoCommonAnswer(Exception):
    """A function asked for what differs from point to point; the run notes it, should the function catch this."""


class _Run:
    """One call of a function: whether it asked for what differs from point to point, and whether it has ended."""

    has_asked = has_ended = False


class ManyPoints:
    """A function of AutoDiffXd, called once for all points as long as it takes that; what it first says is checked.

    Args:
        function: of an array of AutoDiffXd, shape [p].
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function, self._is_checked, self.is_refused = function, False, False

    def at(self, points: Array, at_one: Callable[[Array], tuple[Array, Array]]) -> tuple[Array, Array] | None:
        """Values and derivatives at points of shape [N, p], shapes [N, m] and [N, m, p]; None if it needs a call each.

        Args:
            points: shape [N, p].
            at_one: values and derivatives at one of them, shapes [m] and [m, p].
        """
        found = None if self.is_refused else at_many_points(self._function, points)
        if found is not None and not self._is_checked:
            pairs = zip((each[-1] for each in found), at_one(points[-1]))
            is_right = all(a.shape == b.shape and np.allclose(a, b, _SAME, _SAME, equal_nan=True) for a, b in pairs)
            self._is_checked, found = is_right, found if is_right else None
        self.is_refused = found is None
        return found


def at_many_points(function: Callable[[Any], Any], points: Array) -> tuple[Array, Array] | None:
    """Values and derivatives at all points of a function from p scalars to m, by one call; None if it needs one each.

    Args:
        function: of an array of AutoDiffXd, shape [p].
        points: shape [N, p].

    Returns:
        Shapes [N, m] and [N, m, p].
    """
    (count, p), run = points.shape, _Run()
    seeds = np.broadcast_to(np.eye(p)[:, :, np.newaxis], (p, p, count))
    x = np.empty(p, dtype=object)
    x[:] = [_AtManyPoints._of(run, *each) for each in zip(np.ascontiguousarray(points.T), seeds)]
    try:
        with np.errstate(all="ignore"):
            y = np.ravel(np.asarray(function(x), dtype=object)).tolist()
    except Exception:  # the calls for each point raise what there is to be raised
        return None
    finally:
        run.has_ended = True
    values, slopes = np.empty((count, len(y))), np.zeros((count, len(y), p))
    for i, each in enumerate(y):
        if isinstance(each, _NUMBER):
            values[:, i] = each
        elif type(each) is _AtManyPoints and each._run is run:
            values[:, i], slopes[:, i] = each._values, each._slopes.T
        else:
            return None
    return None if run.has_asked else (values, slopes)


def _function(name: str) -> Any:
    """The method for an elementary function f: f(x) and f'(x) dx; 0 where dx is 0, even if the slope is infinite."""
    value, slope = getattr(np, ELEMENTARY[name].method), ELEMENTARY[name].slope

    def method(self: Any) -> Any:
        x, dx = self._values, self._slopes
        y = value(x)
        a = slope(_OF_ARRAYS, x, y)
        dy = a * dx
        return self._result(y, dy if np.isfinite(a).all() else np.where(dx == 0.0, 0.0, dy))

    return method


class _AtManyPoints(AutoDiffXd):
    """A scalar at N points. What is not defined here needs a value, so that there is no common answer."""

    __slots__ = ("_run", "_slopes", "_values")
    _values: Array  # shape [N]
    _slopes: Array  # by p variables, shape [p, N]
    _run: _Run

    @staticmethod
    def _of(run: _Run, values: Array, slopes: Array) -> _AtManyPoints:
        result: _AtManyPoints = object.__new__(_AtManyPoints)
        result._run, result._values, result._slopes = run, values, slopes
        return result

    def _result(self, values: Any, slopes: Any) -> Any:
        return self._of(self._run, values, slopes)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)  # numpy and copy() look for protocols
        self._refuse()

    def _refuse(self) -> NoReturn:
        if self._run.has_ended:
            raise RuntimeError(
                "This AutoDiffXd has values at many points, which a solver tried at once, and its search is over. Have "
                "the function keep what it needs of its argument, such as ExtractValue(x), rather than the argument."
            )
        self._run.has_asked = True
        raise _NoCommonAnswer

    def _operand(self, other: Any) -> tuple[Any, Any] | None:
        """Values and derivatives of another operand of this run; None for types that have their turn."""
        if type(other) is _AtManyPoints and other._run is self._run:
            return other._values, other._slopes
        if isinstance(other, _NUMBER) and math.isfinite(other):
            return float(other), 0.0
        return self._refuse() if isinstance(other, (AutoDiffXd, *_NUMBER)) else None

    def __add__(self, other: Any) -> Any:
        return self._combined(other, lambda x, dx, y, dy: (x + y, dx + dy))

    def __sub__(self, other: Any) -> Any:
        return self._combined(other, lambda x, dx, y, dy: (x - y, dx - dy))

    def __rsub__(self, other: Any) -> Any:
        return self._combined(other, lambda x, dx, y, dy: (y - x, dy - dx))

    def __mul__(self, other: Any) -> Any:
        return self._combined(other, lambda x, dx, y, dy: (x * y, y * dx + x * dy))

    def __truediv__(self, other: Any) -> Any:
        return self._combined(other, lambda x, dx, y, dy: _quotient(x, dx, y, dy))

    def __rtruediv__(self, other: Any) -> Any:
        return self._combined(other, lambda x, dx, y, dy: _quotient(y, dy, x, dx))

    __radd__, __rmul__ = __add__, __mul__

    def _combined(self, other: Any, rule: Callable[[Any, Any, Any, Any], tuple[Any, Any]]) -> Any:
        operand = self._operand(other)
        return NotImplemented if operand is None else self._result(*rule(self._values, self._slopes, *operand))

    def __pow__(self, other: Any) -> Any:
        if not isinstance(other, _NUMBER):
            self._refuse()
        x, n = self._values, float(other)
        slope = n * x ** (n - 1.0) if n else 0.0 * x
        dy = slope * self._slopes
        return self._result(x**n, dy if np.isfinite(slope).all() else np.where(self._slopes == 0.0, 0.0, dy))

    def __neg__(self) -> Any:
        return self._result(-self._values, -self._slopes)

    sin, cos, tan, arcsin, arccos, arctan, sinh, cosh, tanh, exp, log, sqrt = map(
        _function, ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sqrt")
    )
    asin, acos, atan = arcsin, arccos, arctan


def _quotient(x: Any, dx: Any, y: Any, dy: Any) -> tuple[Any, Any]:
    quotient = np.asarray(x) / y
    return quotient, (dx - quotient * dy) / y
