"""Shapes that a program brings: a lens by its support function, and a box with round edges by a core."""

from __future__ import annotations

import numpy as np

from merganser.geometry import Shape, ShapeKind
from merganser.geometry.shapes import Core


def lens_support(shape, n):
    """Of two spheres' common part: a sphere where the normal is one of it, else the rim."""
    up = np.sign(n[:, 2:]) + (n[:, 2:] == 0.0)
    on_sphere = shape.sphere() * n - up * [0.0, 0.0, shape.sphere() - 0.5 * shape.thickness()]
    across = np.hypot(n[:, :1], n[:, 1:2])
    radial = np.divide(n[:, :2], across, out=np.tile([1.0, 0.0], (len(n), 1)), where=across > 0.0)
    rim = np.column_stack([shape.radius() * radial, np.zeros(len(n))])
    return np.where(across * shape.sphere() < shape.radius(), on_sphere, rim)


class Lens(Shape):
    """The part that two balls have in common, around Gz."""

    kind = ShapeKind(support=lens_support)

    def __init__(self, radius, thickness):
        self._radius, self._thickness = radius, thickness

    def radius(self):
        return self._radius

    def thickness(self):
        return self._thickness

    def sphere(self):
        """The radius of the balls."""
        return (self._radius**2 + (0.5 * self._thickness) ** 2) / self._thickness

    def volume(self):
        """Of two caps."""
        height = 0.5 * self._thickness
        return 2.0 * np.pi * height**2 * (3.0 * self.sphere() - height) / 3.0

    def _arguments(self):
        return {"radius": self._radius, "thickness": self._thickness}


class RoundedBox(Shape):
    """A box with its sides along the axes of G, and edges and corners of a radius."""

    kind = ShapeKind(
        core=lambda shape: Core("box", shape.inner(), shape.inner(), radius=shape.radius()),
        support=lambda shape, n: np.sign(n) * shape.inner() + shape.radius() * n,
        volume=lambda shape: shape.exact_volume(),
    )

    def __init__(self, width, depth, height, radius):
        self._size, self._radius = (width, depth, height), radius

    def size(self):
        return np.array(self._size)

    def radius(self):
        return self._radius

    def inner(self):
        """Half the lengths without the radius."""
        return 0.5 * self.size() - self._radius

    def exact_volume(self):
        a, b, c = 2.0 * self.inner()
        r = self._radius
        return a * b * c + 2 * r * (a * b + b * c + c * a) + np.pi * r**2 * (a + b + c) + 4 / 3 * np.pi * r**3

    def _arguments(self):
        width, depth, height = self._size
        return {"width": width, "depth": depth, "height": height, "radius": self._radius}
