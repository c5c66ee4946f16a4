"""Identifiers of constraints."""

from __future__ import annotations

from merganser.geometry.registration.ids import _Identifier


class MultibodyConstraintId(_Identifier):
    """Names a constraint of a plant; one and the same in copies of the plant and plants of other scalar types."""

    __slots__ = ()
