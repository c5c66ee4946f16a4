"""What a point cloud knows of its points."""

from __future__ import annotations

import enum
import operator


class BaseField(enum.IntEnum):
    """Something that a point cloud knows of each point; combined by `|`."""

    kNone = 0
    kXYZs = 2
    kNormals = 4
    kRGBs = 8

    __repr__ = enum.Enum.__repr__
    __str__ = enum.Enum.__str__


_ALL = sum(BaseField)


class Fields:
    """A set of fields: `Fields(BaseField.kXYZs | BaseField.kRGBs)`; it never changes.

    Args:
        base_fields: BaseFields, combined by `|`.

    Raises:
        RuntimeError: there is no such combination.
    """

    __slots__ = ("_base_fields",)

    def __init__(self, base_fields: int) -> None:
        number = operator.index(base_fields)
        if number & ~_ALL:
            known = ", ".join(f"{field.name} = {field.value}" for field in BaseField)
            raise RuntimeError(f"Fields({number}) is no combination of BaseFields ({known}).")
        self._base_fields = number

    def base_fields(self) -> int:
        """The BaseFields, combined by `|`."""
        return self._base_fields

    def has_base_fields(self) -> bool:
        """Whether there are any."""
        return self._base_fields != 0

    def __or__(self, other: Fields) -> Fields:
        return Fields(self._base_fields | other._base_fields) if isinstance(other, Fields) else NotImplemented

    def __and__(self, other: Fields) -> Fields:
        return Fields(self._base_fields & other._base_fields) if isinstance(other, Fields) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self._base_fields == other._base_fields if isinstance(other, Fields) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Fields(base_fields={self._base_fields})"
