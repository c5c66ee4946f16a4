"""What proximity queries return: plain records, whose fields may be changed and are given by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.geometry.ids import GeometryId

__all__ = ["PenetrationAsPointPair", "SignedDistancePair", "SignedDistanceToPoint"]


class _Record:
    """A record whose fields, all with defaults, are set by name."""

    __slots__: tuple[str, ...] = ()

    def _set(self, fields: dict[str, Any]) -> None:
        for name, value in fields.items():
            if name not in self.__slots__:
                raise AttributeError(
                    f"{type(self).__name__} has no field '{name}'; its fields: {', '.join(self.__slots__)}."
                )
            setattr(self, name, np.asarray(value) if name.startswith(("p_", "nhat_", "grad_")) else value)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"


class PenetrationAsPointPair(_Record):
    """Two geometries that overlap, and the shortest way out.

    Attributes:
        id_A: geometry A.
        id_B: geometry B.
        p_WCa: the point of A that is deepest in B [m], shape [3].
        p_WCb: the point of B that is deepest in A [m], shape [3].
        nhat_BA_W: unit normal from B into A, shape [3].
        depth: (p_WCb - p_WCa) . nhat_BA_W, not negative [m]: the least distance by which A must move, along nhat_BA_W,
            to be out of B.
    """

    __slots__ = ("depth", "id_A", "id_B", "nhat_BA_W", "p_WCa", "p_WCb")

    def __init__(self, **fields: Any) -> None:
        self.id_A: GeometryId | None = None
        self.id_B: GeometryId | None = None
        self.p_WCa: Any = np.zeros(3)
        self.p_WCb: Any = np.zeros(3)
        self.nhat_BA_W: Any = np.zeros(3)
        self.depth: Any = -1.0
        self._set(fields)


class SignedDistancePair(_Record):
    """How far two geometries are from each other.

    Attributes:
        id_A: geometry A.
        id_B: geometry B.
        p_ACa: the nearest point of A's surface, in the frame of geometry A [m], shape [3].
        p_BCb: the nearest point of B's surface, in the frame of geometry B [m], shape [3].
        distance: positive if they are apart, minus the penetration depth if they overlap [m].
        nhat_BA_W: unit vector along which A's motion increases the distance the most, shape [3];
            p_WCa - p_WCb = distance nhat_BA_W.
    """

    __slots__ = ("distance", "id_A", "id_B", "nhat_BA_W", "p_ACa", "p_BCb")

    def __init__(self, **fields: Any) -> None:
        self.id_A: GeometryId | None = None
        self.id_B: GeometryId | None = None
        self.p_ACa: Any = np.zeros(3)
        self.p_BCb: Any = np.zeros(3)
        self.distance: Any = 0.0
        self.nhat_BA_W: Any = np.zeros(3)
        self._set(fields)


class SignedDistanceToPoint(_Record):
    """How far a geometry G is from a point Q.

    Attributes:
        id_G: the geometry.
        p_GN: the point N of G's surface nearest to Q, in the frame of the geometry [m], shape [3].
        distance: positive if Q is outside G, negative inside [m].
        grad_W: gradient of the distance with respect to the position of Q, a unit vector, shape [3].
    """

    __slots__ = ("distance", "grad_W", "id_G", "p_GN")

    def __init__(self, **fields: Any) -> None:
        self.id_G: GeometryId | None = None
        self.p_GN: Any = np.zeros(3)
        self.distance: Any = 0.0
        self.grad_W: Any = np.zeros(3)
        self._set(fields)
