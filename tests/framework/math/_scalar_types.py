"""A scalar for tests that knows its derivative and refuses to be compared."""

from __future__ import annotations

import math


class Dual:
    """value + derivative e, e² = 0; any branch on it raises, as with a symbolic expression."""

    def __init__(self, value: float, derivative: float = 0.0) -> None:
        self.value, self.derivative = value, derivative

    @staticmethod
    def _of(other) -> Dual:
        return other if isinstance(other, Dual) else Dual(float(other))

    def __add__(self, other):
        other = Dual._of(other)
        return Dual(self.value + other.value, self.derivative + other.derivative)

    def __mul__(self, other):
        other = Dual._of(other)
        return Dual(self.value * other.value, self.derivative * other.value + self.value * other.derivative)

    def __truediv__(self, other):
        other = Dual._of(other)
        return self * Dual(1 / other.value, -other.derivative / other.value**2)

    def __neg__(self):
        return Dual(-self.value, -self.derivative)

    def __sub__(self, other):
        return self + -Dual._of(other)

    def __rsub__(self, other):
        return -self + other

    def __rtruediv__(self, other):
        return Dual._of(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def sin(self):
        return Dual(math.sin(self.value), math.cos(self.value) * self.derivative)

    def cos(self):
        return Dual(math.cos(self.value), -math.sin(self.value) * self.derivative)

    def sqrt(self):
        root = math.sqrt(self.value)
        return Dual(root, self.derivative / (2 * root))

    def _refuse(self, *_):
        raise AssertionError("a formula branched on the value of a scalar")

    __bool__ = __float__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __abs__ = _refuse
    __hash__ = None
