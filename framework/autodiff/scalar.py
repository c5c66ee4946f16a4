"""A float together with its partial derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn, overload

import numpy as np
import numpy.typing as npt

from merganser.framework.math.elementary import ELEMENTARY, OF_FLOATS, divide, power

_NUMBER = (float, int, np.floating, np.integer)
NO_DERIVATIVES = np.zeros(0)
NO_DERIVATIVES.setflags(write=False)

_log = ELEMENTARY["log"].value
_new: Any = object.__new__


def _chained(a: float, da: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """a da; 0 where da is 0, even if the slope a is infinite, as that of a root at 0."""
    if math.isinf(a):
        return np.where(da == 0.0, 0.0, a * np.where(da == 0.0, 1.0, da))
    return a * da if da.size else da


def _mixed(a: float, dx: npt.NDArray[np.float64], b: float, dy: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """a dx + b dy, where an empty vector means zeros.

    Raises:
        ValueError: both have derivatives, and not equally many.
    """
    if dx.size == dy.size:
        return a * dx + b * dy
    if not dy.size:
        return a * dx
    if not dx.size:
        return b * dy
    _refuse_sizes(dx.size, dy.size)


def _refuse_sizes(first: int, second: int) -> NoReturn:
    raise ValueError(
        f"AutoDiffXd: one operand has {first} derivatives and the other {second}. Differentiate both by the same "
        "variables (InitializeAutoDiffTuple), or make one a constant without derivatives."
    )


def _comparison(relation: Callable[[float, float], bool]) -> Any:
    def method(self: Any, other: Any) -> bool:
        if isinstance(other, AutoDiffXd):
            return relation(self._value, other._value)
        return relation(self._value, float(other)) if isinstance(other, _NUMBER) else NotImplemented

    return method


def _function(name: str) -> Callable[[Any], AutoDiffXd]:
    """The method for an elementary function f: f(x) and f'(x) dx."""
    of_number, slope = ELEMENTARY[name].value, ELEMENTARY[name].slope

    def method(self: Any) -> AutoDiffXd:
        x = self._value
        result = _new(AutoDiffXd)
        result._value = y = of_number(x)
        result._derivatives = _chained(slope(OF_FLOATS, x, y), self._derivatives)
        return result

    return method


class AutoDiffXd:
    """A value and its derivatives by n variables, carried through arithmetic by the chain rule.

    An empty derivative vector means a constant and fits operands with any number of derivatives. Comparisons
    look at values only. Values follow IEEE 754, as in Drake: sqrt(-1) is NaN, 1 / 0 infinite. At the kink of
    abs, max and min the derivative is one-sided, of the first operand for max and min. Where a slope is infinite, as
    that of sqrt at 0, it does not act on derivatives that are 0: the norm of a vector has the derivative 0 at 0.

    Objects do not change; derivative vectors are shared between them. There is no conversion to float, which
    would drop the derivatives without a word: use value(). Beyond pydrake there are `+x`, `x.real`, exponents
    with derivatives, truth (value != 0), and the derivative of x**0 is 0 everywhere.
    """

    # The last two only of scalars that were made together (blocks.py), unset in others.
    __slots__ = ("_block", "_derivatives", "_number", "_value")
    _value: float
    _derivatives: npt.NDArray[np.float64]
    _block: Any
    _number: int
    __hash__ = None  # type: ignore[assignment]

    @overload
    def __init__(self, value: float) -> None: ...
    @overload
    def __init__(self, value: float, derivatives: npt.ArrayLike) -> None: ...
    @overload
    def __init__(self, value: float, size: int, offset: int) -> None: ...
    def __init__(self, value: Any, *args: Any, **kwargs: Any) -> None:
        """Makes a scalar.

        Args:
            value: the value.
            derivatives: partial derivatives, shape [n]; none by default.
            size, offset: instead: `size` derivatives, all 0 but that at index `offset`, which is 1.

        Raises:
            TypeError: the value is not a number, or other arguments than these.
            ValueError: derivatives that are no vector, or an offset outside of 0 ... size - 1.
        """
        if not isinstance(value, _NUMBER):
            raise TypeError(f"AutoDiffXd: value must be a number, got {type(value).__name__} {value!r}.")
        self._value = float(value)
        self._derivatives = _derivatives_of(*args, **kwargs) if args or kwargs else NO_DERIVATIVES

    @staticmethod
    def _make(value: float, derivatives: npt.NDArray[np.float64]) -> AutoDiffXd:
        """Wraps a Python float and a float vector, unchecked; the caller must not write the vector later."""
        result: AutoDiffXd = _new(AutoDiffXd)
        result._value = value
        result._derivatives = derivatives
        return result

    @staticmethod
    def lift(constant: float) -> AutoDiffXd:
        """A number as a scalar of this type, without derivatives."""
        return AutoDiffXd(constant)

    @staticmethod
    def lift_all(constants: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
        """The numbers of an array as scalars of this type; where they are many, equal ones become one object.

        Most parameters of a model are 0 or 1. In small arrays it would take twice the time to look for that.
        """
        flat = np.ascontiguousarray(constants).ravel()
        if len(flat) <= _FEW:
            return np.fromiter(map(AutoDiffXd, flat.tolist()), object, len(flat)).reshape(constants.shape)
        result = np.full(flat.shape, _ZERO, object)
        bits = flat.view(np.int64)  # which differ for -0 and 0
        places = bits.nonzero()[0]
        all_bits = bits[places].tolist()
        lifted = {bits: AutoDiffXd(x) for bits, x in dict(zip(all_bits, flat[places].tolist())).items()}
        result[places] = np.fromiter(map(lifted.__getitem__, all_bits), object, len(all_bits))
        return result.reshape(constants.shape)

    def value(self) -> float:
        """The value."""
        return self._value

    @property
    def real(self) -> float:
        """The value, under the name of the real part of complex numbers, for code that compares both."""
        return self._value

    def derivatives(self) -> npt.NDArray[np.float64]:
        """A copy of the partial derivatives, shape [n]."""
        return self._derivatives.copy()

    # Arithmetic. An operand of another type (an array, an Expression) gets its turn by NotImplemented.

    def __add__(self, other: Any) -> AutoDiffXd:
        if isinstance(other, AutoDiffXd):
            dx, dy = self._derivatives, other._derivatives
            if dx.size == dy.size:
                return self._make(self._value + other._value, dx + dy)
            return self._make(self._value + other._value, _mixed(1.0, dx, 1.0, dy))
        if isinstance(other, _NUMBER):
            return self._make(self._value + float(other), self._derivatives)
        return NotImplemented

    __radd__ = __add__

    def __sub__(self, other: Any) -> AutoDiffXd:
        if isinstance(other, AutoDiffXd):
            dx, dy = self._derivatives, other._derivatives
            if dx.size == dy.size:
                return self._make(self._value - other._value, dx - dy)
            return self._make(self._value - other._value, _mixed(1.0, dx, -1.0, dy))
        if isinstance(other, _NUMBER):
            return self._make(self._value - float(other), self._derivatives)
        return NotImplemented

    def __rsub__(self, other: Any) -> AutoDiffXd:
        if isinstance(other, _NUMBER):
            return self._make(float(other) - self._value, -self._derivatives)
        return NotImplemented

    def __mul__(self, other: Any) -> AutoDiffXd:
        if isinstance(other, AutoDiffXd):
            x, y = self._value, other._value
            return self._make(x * y, _mixed(y, self._derivatives, x, other._derivatives))
        if isinstance(other, _NUMBER):
            factor = float(other)
            return self._make(self._value * factor, _chained(factor, self._derivatives))
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> AutoDiffXd:
        if isinstance(other, AutoDiffXd):
            # d(x/y) = (dx - (x/y) dy) / y
            quotient = divide(self._value, other._value)
            change = _mixed(1.0, self._derivatives, -quotient, other._derivatives)
            return self._make(quotient, change / other._value)
        if isinstance(other, _NUMBER):
            divisor = float(other)
            return self._make(divide(self._value, divisor), _chained(divide(1.0, divisor), self._derivatives))
        return NotImplemented

    def __rtruediv__(self, other: Any) -> AutoDiffXd:
        return self.lift(float(other)) / self if isinstance(other, _NUMBER) else NotImplemented

    def __pow__(self, other: Any) -> AutoDiffXd:
        x = self._value
        if isinstance(other, _NUMBER):
            n = float(other)
            slope = 0.0 if n == 0.0 else n * power(x, n - 1.0)
            return self._make(power(x, n), _chained(slope, self._derivatives))
        if isinstance(other, AutoDiffXd):
            # d(x^y) = y x^(y-1) dx + x^y log(x) dy
            if not other._derivatives.size:
                return self**other._value
            y, result = other._value, power(x, other._value)
            by_exponent = 0.0 if result == 0.0 else result * _log(x)
            by_base = 0.0 if y == 0.0 else y * power(x, y - 1.0)
            change = _mixed(1.0, _chained(by_base, self._derivatives), 1.0, _chained(by_exponent, other._derivatives))
            return self._make(result, change)
        return NotImplemented

    def __rpow__(self, other: Any) -> AutoDiffXd:
        return self.lift(float(other)) ** self if isinstance(other, _NUMBER) else NotImplemented

    def __neg__(self) -> AutoDiffXd:
        return self._make(-self._value, -self._derivatives)

    def __pos__(self) -> AutoDiffXd:
        return self

    def __abs__(self) -> AutoDiffXd:
        return self._make(abs(self._value), self._derivatives if self._value >= 0.0 else -self._derivatives)

    # Comparisons, of values.

    __lt__, __le__, __gt__, __ge__ = map(_comparison, (float.__lt__, float.__le__, float.__gt__, float.__ge__))
    __eq__, __ne__ = map(_comparison, (float.__eq__, float.__ne__))

    def __bool__(self) -> bool:
        return self._value != 0.0

    # Functions, under the names that numpy looks for in arrays of objects.

    sin, cos, tan, arcsin, arccos, arctan, sinh, cosh, tanh, exp, log, sqrt = map(
        _function, ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sqrt")
    )

    def arctan2(self, x: Any) -> AutoDiffXd:
        """Angle of the point (x, y), y being this scalar, in (-pi, pi] [rad]."""
        # d atan2(y, x) = (x dy - y dx) / (x^2 + y^2)
        x = x if isinstance(x, AutoDiffXd) else self.lift(x)
        y_value, x_value = self._value, x._value
        square = x_value * x_value + y_value * y_value
        slopes = divide(x_value, square), divide(-y_value, square)
        return self._make(math.atan2(y_value, x_value), _mixed(slopes[0], self._derivatives, slopes[1], x._derivatives))

    def pow(self, exponent: Any) -> AutoDiffXd:
        """This scalar to the power of `exponent`."""
        return self**exponent

    def max(self, other: Any) -> AutoDiffXd:
        """The greater scalar; this one if values are equal."""
        other = other if isinstance(other, AutoDiffXd) else self.lift(other)
        return self._like(other) if self._value >= other._value else other._like(self)

    def min(self, other: Any) -> AutoDiffXd:
        """The lesser scalar; this one if values are equal."""
        other = other if isinstance(other, AutoDiffXd) else self.lift(other)
        return self._like(other) if self._value <= other._value else other._like(self)

    def _like(self, other: AutoDiffXd) -> AutoDiffXd:
        """This scalar, with zero derivatives if it has none and the other operand has."""
        return self._make(self._value, _mixed(1.0, self._derivatives, 0.0, other._derivatives))

    def floor(self) -> float:
        return float(np.floor(self._value))

    def ceil(self) -> float:
        return float(np.ceil(self._value))

    def isnan(self) -> bool:
        """Whether the value is NaN."""
        return math.isnan(self._value)

    __floor__ = floor
    __ceil__ = ceil
    abs = __abs__
    asin = arcsin
    acos = arccos
    atan = arctan
    atan2 = arctan2

    def __copy__(self) -> AutoDiffXd:
        return self

    def __deepcopy__(self, memo: Any) -> AutoDiffXd:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return AutoDiffXd, (self._value, self._derivatives)

    def __str__(self) -> str:
        return f"AD{{{self._value}, nderiv={self._derivatives.size}}}"

    def __repr__(self) -> str:
        return f"<AutoDiffXd {self._value} nderiv={self._derivatives.size}>"


def _derivatives_of(*args: Any, **kwargs: Any) -> npt.NDArray[np.float64]:
    """The derivative vector that arguments of the constructor describe."""
    names = ("derivatives",) if len(args) + len(kwargs) == 1 else ("size", "offset")
    given = dict(zip(names, args)) | kwargs
    if len(args) + len(kwargs) > 2 or set(given) != set(names):
        raise TypeError(
            f"AutoDiffXd: after the value expected `derivatives`, or `size` and `offset`, got {len(args)} more "
            f"positional arguments and {sorted(kwargs)}."
        )
    if names[0] == "size":
        return _unit_vector(given["size"], given["offset"])
    vector = np.array(given["derivatives"], dtype=np.float64)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector.ravel()
    if vector.ndim != 1:
        raise ValueError(f"AutoDiffXd: derivatives must be a vector, got an array of shape {vector.shape}.")
    return vector


def _unit_vector(size: int, offset: int) -> npt.NDArray[np.float64]:
    if not 0 <= offset < size:
        raise ValueError(f"AutoDiffXd: expected an offset in 0 ... {size - 1} (size - 1), got {offset}.")
    vector = np.zeros(size)
    vector[offset] = 1.0
    return vector


_ZERO = AutoDiffXd(0.0)
_FEW = 32  # numbers
