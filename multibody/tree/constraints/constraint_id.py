"""Identifiers of constraints."""

from __future__ import annotations

from merganser.geometry.ids import _Identifier

__all__ = ["MultibodyConstraintId"]


class MultibodyConstraintId(_Identifier):
    """Names a constraint of a plant; one and the same in copies of the plant and plants of other scalar types."""

    __slots__ = ()
