"""A quaternion that turns with a constant angular velocity for some time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.optimization import Constraint
from merganser.framework.optimization.evaluators.evaluators import ClosedFormEvaluator

Array = NDArray[np.float64]


class QuaternionEulerIntegrationConstraint(ClosedFormEvaluator, Constraint):
    """The orientation z2 is that which z1 takes when it turns with the angular velocity w for the time h.

        z2 . (dz (x) z1) = 1,     dz = [cos(|w| h / 2), w / |w| sin(|w| h / 2)]                          (1)

    with the product (x) of quaternions; with `allow_quaternion_negation`, the square of the left-hand side is 1, as z2
    and -z2 are one orientation. Variables: x = [z1, z2, w, h], shape [12], of quaternions [w, x, y, z], w in the world
    frame [rad/s], and h [s]. By w = 0 and h = 0, where |w| has none, derivatives are those of the limit: dz is smooth.

    Args:
        allow_quaternion_negation: whether z2 may be -dz (x) z1.
    """

    def __init__(self, allow_quaternion_negation: bool) -> None:
        self._allow_negation = bool(allow_quaternion_negation)
        Constraint.__init__(self, 12, [1.0], [1.0], "quaternion Euler integration constraint")

    def allow_quaternion_negation(self) -> bool:
        """Whether z2 may be -dz (x) z1."""
        return self._allow_negation

    def ComposeVariable(self, quat1: Any, quat2: Any, angular_vel: Any, h: Any) -> NDArray[Any]:
        """x = [z1, z2, w, h], shape [12], of numbers, variables or expressions.

        Raises:
            ValueError: a part has another size.
        """
        parts = [np.ravel(np.asarray(part)) for part in (quat1, quat2, angular_vel, h)]
        for part, name, size in zip(parts, ("quat1", "quat2", "angular_vel", "h"), (4, 4, 3, 1)):
            if part.size != size:
                raise ValueError(
                    f"QuaternionEulerIntegrationConstraint.ComposeVariable: {name} must have size {size}, got "
                    f"{part.size}."
                )
        return np.concatenate(parts)

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        z1, z2, w, h = x[:4], x[4:8], x[8:11], float(x[11])
        cosine, sine_rate, by_speed = _half_turn(float(np.linalg.norm(w)), h)
        dz = np.array([cosine, *(sine_rate * w)])
        # z2 . (dz (x) z1) = dz . (z2 (x) conj(z1)) = z1 . (conj(dz) (x) z2)
        turned, wanted = _product(dz, z1), _product(z2, _conjugate(z1))
        value = float(z2 @ turned)
        by_w = -0.5 * h * sine_rate * w * wanted[0] + by_speed * w * (w @ wanted[1:]) + sine_rate * wanted[1:]
        by_h = 0.5 * (-sine_rate * (w @ w) * wanted[0] + cosine * (w @ wanted[1:]))
        jacobian = np.concatenate((_product(_conjugate(dz), z2), turned, by_w, [by_h]))
        if self._allow_negation:
            return np.array([value * value]), 2.0 * value * jacobian[np.newaxis]
        return np.array([value]), jacobian[np.newaxis]


def _half_turn(speed: float, h: float) -> tuple[float, float, float]:
    """cos(a), s = sin(a) / speed and ds/dspeed / speed of the half angle a = speed h / 2."""
    a = 0.5 * speed * h
    if abs(a) < 1e-3:  # by series, as the quotients lose all digits
        square, half = a * a, 0.5 * h
        return np.cos(a), half * (1.0 - square / 6.0 + square**2 / 120.0), half**3 * (-1.0 / 3.0 + square / 30.0)
    sine_rate = np.sin(a) / speed
    return np.cos(a), sine_rate, (0.5 * h * np.cos(a) - sine_rate) / speed**2


def _product(a: Array, b: Array) -> Array:
    """The product a (x) b of quaternions [w, x, y, z]."""
    return np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])


def _conjugate(a: Array) -> Array:
    return a * np.array([1.0, -1.0, -1.0, -1.0])
