"""Checks of physical validity, for numbers of any type; what is symbolic cannot be judged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

# Shifts and rotations lose a few units in the last place of the largest element.
_RELATIVE_TOLERANCE = 64.0 * np.finfo(np.float64).eps


def real_values(values: Any) -> npt.NDArray[np.float64] | None:
    """Returns the real (undifferentiated) numbers behind `values`, or None if one depends on variables."""
    array = np.asarray(values)
    if array.dtype == np.float64:
        return array
    if array.dtype.kind == "c":
        return array.real
    if array.dtype.kind != "O":
        return array.astype(np.float64)
    try:
        return np.array([_real(entry) for entry in array.flat]).reshape(array.shape)
    except (TypeError, ValueError, RuntimeError):
        return None


def _real(entry: Any) -> float:
    for name in ("value", "Evaluate"):  # of an AutoDiffXd, of an Expression without variables
        number = getattr(entry, name, None)
        if callable(number):
            return float(number())
    return float(np.real(entry))


def is_zero(values: npt.NDArray[Any]) -> Any:
    """Returns whether all values are exactly zero; a Formula, if that depends on variables."""
    numbers = real_values(values)
    if numbers is not None:
        return not numbers.any()
    from merganser.framework.symbolic import Expression, logical_and  # the values are symbolic: it is there

    return logical_and(*(Expression(0.0) == entry for entry in values.flat))


def triangle_inequality_violation(moments: npt.NDArray[Any], scale: float) -> str | None:
    """Says in which way ascending principal moments cannot belong to a body, or None if they can.

    A distribution of mass has I1 >= 0 and I1 + I2 >= I3 about its principal axes.

    Args:
        moments: principal moments I1 <= I2 <= I3 [kg m^2].
        scale: largest element of the matrices from which they were computed, for the tolerance [kg m^2].
    """
    I1, I2, I3 = moments.tolist()
    slack = _RELATIVE_TOLERANCE * max(scale, abs(I1), abs(I3))
    if -slack > I1:
        return f"the principal moment I1 = {I1:.6g} is negative"
    if I3 - slack > I1 + I2:
        by = f"by {I3 - I1 - I2:.3g} kg m^2"
        return f"the triangle inequality I1 + I2 >= I3 fails: {I1:.6g} + {I2:.6g} < {I3:.6g}, {by}"
    return None


def check_positive(where: str, what: str, value: Any) -> None:
    """Raises RuntimeError unless `value` is positive and finite (or symbolic)."""
    real = real_values(value) if type(value) is not float else value
    if real is not None and not 0.0 < real < math.inf:
        raise RuntimeError(f"{where}(): {what} must be positive and finite, but is {value}.")


def check_not_negative(where: str, what: str, value: Any) -> None:
    """Raises RuntimeError unless `value` is finite and not negative (or symbolic)."""
    real = real_values(value) if type(value) is not float else value
    if real is not None and not 0.0 <= real < math.inf:
        raise RuntimeError(f"{where}(): {what} must be finite and not negative, but is {value}.")


def check_unit_vector(where: str, unit_vector: npt.NDArray[Any]) -> None:
    """Raises RuntimeError unless the three-vector has length 1 (or is symbolic)."""
    real = real_values(unit_vector)
    if real is not None and not abs(math.hypot(*real.tolist()) - 1.0) <= 1e-14:
        raise RuntimeError(
            f"{where}(): unit_vector must have length 1 within 1e-14, but {unit_vector} has length "
            f"{np.linalg.norm(real)}. Divide it by its norm."
        )
