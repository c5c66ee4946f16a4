"""What proximity queries return: plain records, whose fields may be changed and are given by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.registration.ids import GeometryId

Array = NDArray[Any]


# Where the fields of vectors stand among the numbers of `distance_dtype` (proximity/layout.py).
NHAT, P_WCA, P_WCB, P_ACA, P_BCB = 1, 4, 7, 10, 13
_NO_NUMBERS = np.zeros((1, 16))
_NO_NUMBERS.flags.writeable = False


class _Vector:
    """A field with a vector: that of an array of results, shape [num_results, >= 16], until another one is set.

    Many queries are asked for distances only; an array for each vector would take as long as the query itself.
    """

    def __init__(self, place: int, sign: float = 1.0) -> None:
        self._place = place
        self._sign = sign

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    def __get__(self, record: Any, owner: Any = None) -> Any:
        if record is None:
            return self
        own = record._own
        if own is None:
            own = record._own = {}
        if self._name not in own:
            numbers = record._numbers[record._row, self._place : self._place + 3]
            own[self._name] = 0.0 - numbers if self._sign < 0.0 else numbers.copy()
        return own[self._name]

    def __set__(self, record: Any, value: Any) -> None:
        if record._own is None:
            record._own = {}
        record._own[self._name] = np.asarray(value)


class _Record:
    """A record whose fields, all with defaults, are set by name."""

    __slots__ = ("_numbers", "_own", "_row")
    _fields: tuple[str, ...] = ()

    def _set(self, fields: dict[str, Any]) -> None:
        self._numbers, self._row, self._own = _NO_NUMBERS, 0, None
        for name, value in fields.items():
            if name not in self._fields:
                raise AttributeError(
                    f"{type(self).__name__} has no field '{name}'; its fields: {', '.join(self._fields)}."
                )
            setattr(self, name, value)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
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

    __slots__ = ("depth", "id_A", "id_B")
    _fields = ("depth", "id_A", "id_B", "nhat_BA_W", "p_WCa", "p_WCb")

    p_WCa = _Vector(P_WCA)
    p_WCb = _Vector(P_WCB)
    nhat_BA_W = _Vector(NHAT)

    def __init__(self, **fields: Any) -> None:
        self.id_A = self.id_B = GeometryId()
        self.depth: Any = -1.0
        self._set(fields)

    @classmethod
    def _of(cls, ids: Sequence[GeometryId], a: int, b: int, distance: float, numbers: Array, row: int) -> Self:
        """The result of geometries a and b from a row of numbers of `distance_dtype`."""
        self = cls.__new__(cls)
        self.id_A, self.id_B, self.depth = ids[a], ids[b], 0.0 - distance
        self._numbers, self._row, self._own = numbers, row, None
        return self

    def _swap(self) -> None:
        """Makes A of B, and B of A."""
        self.id_A, self.id_B = self.id_B, self.id_A
        self.p_WCa, self.p_WCb, self.nhat_BA_W = self.p_WCb, self.p_WCa, -self.nhat_BA_W


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

    __slots__ = ("distance", "id_A", "id_B")
    _fields = ("distance", "id_A", "id_B", "nhat_BA_W", "p_ACa", "p_BCb")

    p_ACa = _Vector(P_ACA)
    p_BCb = _Vector(P_BCB)
    nhat_BA_W = _Vector(NHAT)

    def __init__(self, **fields: Any) -> None:
        self.id_A = self.id_B = GeometryId()
        self.distance: Any = 0.0
        self._set(fields)

    @classmethod
    def _of(cls, ids: Sequence[GeometryId], a: int, b: int, distance: float, numbers: Array, row: int) -> Self:
        """The result of geometries a and b from a row of numbers of `distance_dtype`."""
        self = cls.__new__(cls)
        self.id_A, self.id_B, self.distance = ids[a], ids[b], distance
        self._numbers, self._row, self._own = numbers, row, None
        return self


class SignedDistanceToPoint(_Record):
    """How far a geometry G is from a point Q.

    Attributes:
        id_G: the geometry.
        p_GN: the point N of G's surface nearest to Q, in the frame of the geometry [m], shape [3].
        distance: positive if Q is outside G, negative inside [m].
        grad_W: gradient of the distance with respect to the position of Q, a unit vector, shape [3].
    """

    __slots__ = ("distance", "id_G")
    _fields = ("distance", "grad_W", "id_G", "p_GN")

    p_GN = _Vector(P_ACA)
    grad_W = _Vector(NHAT, -1.0)

    def __init__(self, **fields: Any) -> None:
        self.id_G = GeometryId()
        self.distance: Any = 0.0
        self._set(fields)

    @classmethod
    def _of(cls, id_G: GeometryId, distance: float, numbers: Array, row: int) -> Self:
        """The result of geometry G and the point from a row of numbers of `distance_dtype`."""
        self = cls.__new__(cls)
        self.id_G, self.distance = id_G, distance
        self._numbers, self._row, self._own = numbers, row, None
        return self
