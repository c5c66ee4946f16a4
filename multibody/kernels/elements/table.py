"""The table of the kinds of force elements, and those that users bring."""

from __future__ import annotations

from typing import Any

from merganser.multibody.kernels.elements import bushing, door_hinge, joint_spring, spring_damper
from merganser.multibody.kernels.elements.kind import ForceElementKind

__all__ = ["ELEMENTS", "element_kind_of", "element_number_of"]

ELEMENTS: tuple[ForceElementKind, ...] = (joint_spring.KIND, spring_damper.KIND, door_hinge.KIND, bushing.KIND)

_kinds = list(ELEMENTS)  # by their numbers; those of users follow as they come


def element_kind_of(number: int) -> ForceElementKind:
    """The kind of force element that has this number in element records.

    Raises:
        RuntimeError: there is none.
    """
    if not 0 <= number < len(_kinds):
        known = ", ".join(f"{k} ({kind.name})" for k, kind in enumerate(_kinds))
        raise RuntimeError(f"There is no kind of force element with number {number}: known are {known}.")
    return _kinds[number]


def element_number_of(kind: Any) -> int:
    """The number of a kind in element records; one of a user gets its own when it is first asked for.

    Raises:
        TypeError: it is no ForceElementKind.
    """
    if not isinstance(kind, ForceElementKind):
        raise TypeError(
            f"The kind of a force element must be a ForceElementKind, not a {type(kind).__name__}: {kind!r}."
        )
    if kind.number is not None:
        return kind.number
    if kind not in _kinds:
        _kinds.append(kind)
    return _kinds.index(kind)
