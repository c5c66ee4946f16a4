"""Decisions on scalar values, for the kinds of scalar that a kernel meets.

A kernel may not compare values: a complex number has no order and the truth of a symbolic expression is not
known. Where a decision cannot be avoided, it is taken here: on real parts, and in favour of going on when
there is no number, or with an error if there is no way to go on. Lanes (framework/native/memory/simd.py) decide
together; `clamped` decides for each.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from merganser.framework.native.compiler.extending import overload, types
from merganser.framework.native.memory.simd import where


def exceeds(value: Any, threshold: Any) -> bool:
    """Whether Re(value) > Re(threshold); False if either is NaN, True if either is symbolic."""
    if isinstance(value, numbers.Number) and isinstance(threshold, numbers.Number):
        return bool(value.real > threshold.real)  # type: ignore[attr-defined]
    return True


@overload(exceeds)
def _compile_exceeds(value: Any, threshold: Any) -> Callable[[Any, Any], bool]:
    def exceeds_compiled(value: Any, threshold: Any) -> bool:
        return value.real > threshold.real

    return exceeds_compiled


def equals(value: Any, number: float) -> bool:
    """Whether a value is exactly this number, with no derivative; False if it is symbolic."""
    return isinstance(value, numbers.Number) and bool(value == number)


@overload(equals)
def _compile_equals(value: Any, number: float) -> Callable[[Any, float], bool]:
    def equals_compiled(value: Any, number: float) -> bool:
        return value == number

    return equals_compiled


def real_part(value: Any) -> float:
    """Re(value) as a plain number, without derivatives, for choices that no formula can express.

    Raises:
        RuntimeError: the value is symbolic and not constant.
    """
    try:
        real: float = value.real  # of an AutoDiffXd, too
        return real
    except AttributeError:
        pass
    if hasattr(value, "GetVariables") and value.GetVariables():
        raise RuntimeError(
            "Paths of curvilinear joints, tendons around surfaces, springs that are slack, limits of tendons and "
            "ranges of actuators are made of pieces, so that they cannot be evaluated at symbolic positions and "
            f"inputs, here of {value}. Use numbers for these."
        )
    return float(value.Evaluate() if hasattr(value, "Evaluate") else value)


@overload(real_part)
def _compile_real_part(value: Any) -> Callable[[Any], float]:
    def real_part_compiled(value: Any) -> float:
        return value.real

    return real_part_compiled


def floor_of(value: float) -> float:
    """The largest integer not above a real number, as a number with a point."""
    return float(math.floor(value))


@overload(floor_of)
def _compile_floor_of(value: Any) -> Callable[[Any], float]:
    def floor_of_compiled(value: Any) -> float:
        return np.floor(value)

    return floor_of_compiled


def is_set(flag: Any) -> bool:
    """Whether a flag that is kept among scalars, as 0 or 1, is set."""
    if isinstance(flag, numbers.Number):
        return bool(flag.real > 0.5)  # type: ignore[attr-defined]
    return real_part(flag) > 0.5


@overload(is_set)
def _compile_is_set(flag: Any) -> Callable[[Any], bool]:
    def is_set_compiled(flag: Any) -> bool:
        return flag.real > 0.5

    return is_set_compiled


def clamped(value: Any, limit: float) -> Any:
    """max(-limit, min(limit, value)): the real part decides, the limit has no derivatives, what is NaN stays so."""
    if limit == math.inf:
        return value
    try:
        x = value.real
    except AttributeError:
        from merganser.framework import symbolic  # takes a while, and plants of numbers do not need it

        return symbolic.max(-limit, symbolic.min(limit, value))
    if -limit <= x <= limit or x != x:
        return value
    bound = limit if x > limit else -limit
    return bound if isinstance(value, (float, complex)) else bound + 0.0 * value


@overload(clamped)
def _compile_clamped(value: Any, limit: float) -> Callable[[Any, float], Any]:
    def clamped_real(value: Any, limit: float) -> Any:
        return where(value > limit, limit, where(value < -limit, -limit, value))

    def clamped_complex(value: Any, limit: float) -> Any:
        if value.real > limit.real:
            value = limit.real + 0.0j
        elif value.real < -limit.real:
            value = -limit.real + 0.0j
        return value

    return clamped_complex if isinstance(value, types.Complex) else clamped_real


def is_finite_number(value: Any) -> bool:
    """Whether a float is finite; True of all other scalars."""
    return not isinstance(value, float) or math.isfinite(value)


@overload(is_finite_number)
def _compile_is_finite_number(value: Any) -> Callable[[Any], bool]:
    def is_finite_real(value: Any) -> bool:
        return math.isfinite(value)

    def is_finite_other(value: Any) -> bool:
        return True

    return is_finite_other if isinstance(value, types.Complex) else is_finite_real


def arctangent(y: Any, x: Any) -> Any:
    """The angle of the point (x, y), from -pi to pi; its derivative by the complex step, which arctan2 has not."""
    if isinstance(y, numbers.Number) and isinstance(x, numbers.Number):
        return _complex_arctangent(y, x) if isinstance(y + x, complex) else math.atan2(y, x)  # type: ignore
    return np.arctan2(y, x) if hasattr(y, "arctan2") else np.arctan2(y + 0.0 * x, x)


def _complex_arctangent(y: Any, x: Any) -> complex:
    squared = x.real * x.real + y.real * y.real
    return complex(math.atan2(y.real, x.real), (x.real * y.imag - y.real * x.imag) / squared)


@overload(arctangent)
def _compile_arctangent(y: Any, x: Any) -> Callable[[Any, Any], Any]:
    def arctangent_real(y: Any, x: Any) -> Any:
        return math.atan2(y, x)

    def arctangent_complex(y: Any, x: Any) -> Any:
        squared = x.real * x.real + y.real * y.real
        return complex(math.atan2(y.real, x.real), (x.real * y.imag - y.real * x.imag) / squared)

    is_complex = isinstance(y, types.Complex) or isinstance(x, types.Complex)
    return arctangent_complex if is_complex else arctangent_real


def hyperbolic_tangent(x: Any) -> Any:
    """tanh(x); with the derivative by the complex step, and without overflow, of complex numbers."""
    if isinstance(x, complex):
        t = math.tanh(x.real)
        return complex(t, (1.0 - t * t) * x.imag)
    return np.tanh(x)


@overload(hyperbolic_tangent)
def _compile_hyperbolic_tangent(x: Any) -> Callable[[Any], Any]:
    def hyperbolic_tangent_real(x: Any) -> Any:
        return math.tanh(x)

    def hyperbolic_tangent_complex(x: Any) -> Any:
        t = math.tanh(x.real)
        return complex(t, (1.0 - t * t) * x.imag)

    return hyperbolic_tangent_complex if isinstance(x, types.Complex) else hyperbolic_tangent_real
